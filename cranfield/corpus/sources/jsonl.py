"""A file of JSON lines with an offset index beside it, or in the user's cache where its folder cannot be written.

The index is a line of JSON about the file, then 64 bits of a hash of each id in rising order, then where the line of
each begins. It is searched where it lies; the id on the line decides, so that hashes may collide.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from cranfield.base.errors import InputError, quoted
from cranfield.base.files import LONGEST_LINE, UTF8_BOM, Progress, silent
from cranfield.base.records import Document
from cranfield.base.registry import deferred
from cranfield.base.tables import Schema, object_in
from cranfield.base.text import storable
from cranfield.base.writing import whole_file
from cranfield.corpus.outside import document_of, document_sources, here

with deferred:
    import numpy as np

_HEAD = 512
_FIRST = re.compile(rb'\{\s*"([^"\\]{1,40})"\s*:\s*"([^"\\]+)"')
_TOLD_AFTER = 1 << 26
_MOST_ALIKE = 8
"""How many lines are read for one id: hashes of 64 bits hardly ever collide, unless somebody wrote the index."""


class Index(NamedTuple):
    """The columns of an index, where they lie, and what is known of the file it is of."""

    about: Mapping[str, Any]
    keys: np.ndarray
    offsets: np.ndarray


@document_sources.register("jsonl")
class JsonLines:
    """JSON lines that are looked up by their offsets."""

    summary = "a file of JSON lines, not compressed; an index of 16 bytes per document is made for it"
    located = staticmethod(here)

    def __init__(self, place: str, schema: Schema) -> None:
        self._path, self._schema = Path(place), schema
        cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cranfield" / "offsets"
        name = blake2b(os.fsencode(self._path), digest_size=16).hexdigest()
        self._places = self._path.with_name(f"{self._path.name}.offsets"), cached / name
        self._index: Index | None = None

    def prepare(self, progress: Progress = silent) -> int:
        """Make the index, unless there is one of the file as it is now."""
        keys, offsets = array("Q"), array("Q")
        file, about = self._opened()
        with file:
            if (index := self._indexed(about)) is not None:
                return len(index.keys)
            for offset, id in self._ids(file, progress, about["bytes"]):
                keys.append(_key(id))
                offsets.append(offset)
        order = np.argsort(np.frombuffer(keys, "<u8"), kind="stable")
        head = json.dumps({**about, "documents": len(keys)}).encode().ljust(_HEAD - 1) + b"\n"
        beside, cached = self._places
        place = beside if os.access(beside.parent, os.W_OK) else cached
        with suppress(OSError):  # what is wrong is said when the file is written
            place.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(place, replace=True) as unfinished, unfinished.open("wb") as stream:
            stream.write(head)
            for column in (keys, offsets):
                np.frombuffer(column, "<u8")[order].tofile(stream)
        return len(keys)

    def fetch(self, id: str) -> Document | None:
        """The document on the line that the index leads to."""
        file, about = self._opened()
        with file:
            if (index := self._indexed(about)) is None:
                raise InputError(
                    "its index is missing, or older than the file; make it with: cranfield corpus outside --approve"
                )
            key = np.uint64(_key(id))  # as the column has it: a number of Python would make a copy of all of it
            first = int(np.searchsorted(index.keys, key))
            for place in range(first, min(first + _MOST_ALIKE, len(index.keys))):
                if index.keys[place] != key:
                    break
                file.seek(int(index.offsets[place]))
                document = document_of(file.readline(LONGEST_LINE + 1), self._schema)
                if document.id == id:
                    return document
        return None

    def _indexed(self, about: Mapping[str, Any]) -> Index | None:
        """The index of the file as it is now, mapped; None where there is none."""
        if self._index is not None and self._index.about == about:
            return self._index
        for place in self._places:
            if not place.is_file():
                continue
            with place.open("rb") as stream:
                head = object_in(stream.read(_HEAD).decode("utf-8", "replace")) or {}
            count = head.pop("documents", None)
            if head == about and isinstance(count, int) and place.stat().st_size == _HEAD + 16 * count:
                columns = np.memmap(place, "<u8", "r", _HEAD, (2, count)) if count else np.zeros((2, 0), "<u8")
                self._index = Index(about, columns[0], columns[1])
                return self._index
        return None

    def _opened(self) -> tuple[BinaryIO, dict[str, Any]]:
        """The file, and what an index says of it as it is now."""
        if self._path.exists() and not self._path.is_file():
            raise InputError("not an ordinary file")
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise InputError(f"the file cannot be opened: {error.strerror}") from None
        facts, spellings = os.fstat(file.fileno()), list(self._schema.columns["id"])
        about = {"cranfield_offsets": 1, "bytes": facts.st_size, "modified": facts.st_mtime_ns, "id": spellings}
        return file, about

    def _ids(self, file: BinaryIO, progress: Progress, size: int) -> Iterator[tuple[int, str]]:
        """(offset, id) of each line. Where the id is the first field, the rest of the line is not parsed."""
        spellings = [word.encode() for word in self._schema.columns["id"]]
        better = {word: [b'"%b"' % other for other in spellings[:place]] for place, word in enumerate(spellings)}
        what, offset, told = f"indexing {storable(self._path.name)}, MB", 0, 0
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
            if number == 1 and line.startswith(UTF8_BOM):
                offset, line = len(UTF8_BOM), line.removeprefix(UTF8_BOM)
            first = _FIRST.match(line)
            if first and first[1] in better and not any(word in line for word in better[first[1]]):
                yield offset, first[2].decode("utf-8", "replace").strip()
            elif not line.isspace():
                try:
                    yield offset, document_of(line, self._schema).id
                except InputError as error:
                    checked = f"cranfield corpus add lists all that is wrong with {quoted(self._path.name)}"
                    raise InputError(f"line {number:,} is no document: {error}; {checked}") from None
            offset += len(line)
            if offset - told >= _TOLD_AFTER:
                told = offset
                progress(what, offset >> 20, size >> 20)


def _key(id: str) -> int:
    return int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
