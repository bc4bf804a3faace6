"""How bytes from outside enter: files, pipes, URLs, four kinds of compression, lines with their numbers.

Compression is recognised by the first bytes, never by the name. Whatever goes wrong below (a truncated gzip, a
folder where a file was expected, bytes that are not UTF-8) leaves here as a `SourceError` with file and line.
"""

from __future__ import annotations

import bz2
import codecs
import hashlib
import io
import lzma
import os
import re
import shutil
import stat
import sys
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PosixPath
from typing import Any, BinaryIO, TypeGuard, cast

from cranfield.base.errors import MissingExtra, SourceError, UsageError, quoted, reason_of
from cranfield.base.registry import deferred

with deferred:
    import tempfile
    from concurrent import futures

    import fsspec
    import zstandard

HEAD = 1 << 16
"""How many (decompressed) bytes a format may look at to recognise itself."""

LONGEST_LINE = 1 << 26
"""The longest line that is taken for a line (64 MB): a guard against files that are not text at all."""

MOST_BLANK = 1 << 24
"""How many bytes of white space may stand in a row (16 MB): no file has so many blank lines."""

GROWN, GROWTH = 1 << 27, 100
"""A compressed file may grow to 128 MB, and beyond that to 100 times its size: runs and texts reach 5 to 30 times."""

LARGEST_PIPE = 1 << 34
"""How much is taken from a pipe or a URL (16 GB), or half of what is free where it is kept, if that is less."""

LINES_AT_ONCE = 1 << 23
"""How many bytes are parsed at once: enough work for all threads, little beside the columns of a large run."""

UTF8_BOM = b"\xef\xbb\xbf"

_SUFFIXES = {"csv", "json", "jsonl", "ndjson", "parquet", "res", "run", "sgml", "trec", "tsv", "txt", "xml"}
_BLOCK = 1 << 20
_FEED = 1 << 12
_BROKEN = (OSError, zlib.error, lzma.LZMAError)
_XZ_MEMORY = 1 << 29


_URL = re.compile(r"[a-z][a-z0-9+.:-]*://", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/?#]*:[^/?#]*@|://[^/?#]*:(?![0-9]+/)[^?#]*@|https?://[^/?#]*@", re.IGNORECASE)
"""A password, one with a slash in it, which no URL may have, or the token that stands for one."""
_ONE_OF_A_SET = re.compile(r"(.*?(?:\.parquet|/))#(.+)", re.IGNORECASE | re.DOTALL)

DATA_SET = "irds:"  # how the name of a data set of ir_datasets begins


@dataclass(frozen=True)
class Source:
    """One file from outside, readable as often as needed, always decompressed. The path `-` is standard input.

    With another `encoding` than UTF-8 the bytes that leave are UTF-8 all the same. `watch` is called with
    how many bytes of the file, compressed as it is, have been read: enough for a progress bar.
    """

    path: Path
    encoding: str = "utf-8"
    watch: Callable[[int], None] | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What messages call it: the path as it was given."""
        return "standard input" if self.is_stdin else str(self.path)

    @property
    def is_stdin(self) -> bool:
        """Whether the bytes come from standard input."""
        return str(self.path) == "-"

    @property
    def data_set(self) -> str:
        """The name of the data set of ir_datasets that is meant, if one is: it has no bytes of its own."""
        return str(getattr(self.path, "data_set", ""))

    @property
    def is_piped(self) -> bool:
        """Whether the bytes come only once: from standard input, or through a pipe such as `<(zcat …)`.

        They are kept on disk with this very source, so another source for the same path would find nothing.
        """
        return self.is_stdin or self.path.is_fifo()

    @property
    def run(self) -> str:
        """Which run of a set this is; empty for a file by itself."""
        return str(getattr(self.path, "run", ""))

    @property
    def whole(self) -> str:
        """The file or folder of a set, by its path or URL."""
        return str(getattr(self.path, "whole", self.path))

    @property
    def is_folder(self) -> bool:
        """Whether the path is a folder."""
        return not self.is_stdin and self.path.is_dir()

    @property
    def bare_name(self) -> str:
        """The file name without its folder and compression suffix; standard input is `stdin`."""
        name = "stdin" if self.is_stdin else self.path.name
        for suffix in (".gz", ".bz2", ".xz", ".zst"):
            name = name.removesuffix(suffix) or name
        return name

    @property
    def stem(self) -> str:
        """The file name without its folder, compression suffix and format suffix; `input.bm25` has none."""
        if self.run:
            return self.run
        stem, dot, suffix = self.bare_name.rpartition(".")
        return stem if dot and stem and suffix.lower() in _SUFFIXES else self.bare_name

    @property
    def is_utf8(self) -> bool:
        """Whether nothing is to be decoded; an encoding that does not exist is a `UsageError`."""
        try:
            known = codecs.lookup(self.encoding)
            "".encode(self.encoding)
        except (LookupError, ValueError):
            there_are = "utf-8, utf-16, latin-1, cp1252 and any other Python encoding"
            raise UsageError(f"unknown encoding {quoted(self.encoding)}; known are {there_are}") from None
        return known.name == "utf-8"

    @property
    def size(self) -> int | None:
        """The bytes of the file as it lies there; None for what comes through a pipe or from a URL."""
        return None if self.is_stdin or not (file := Path(self.whole)).is_file() else file.stat().st_size

    def open(self) -> BinaryIO:
        """Open a fresh stream of decompressed bytes from the start."""
        is_utf8, raw = self.is_utf8, self._raw()
        with _translated(self.name):
            begin = _decompressor_for(raw.read(6))
            raw.seek(0)
        blocks = iter(partial(raw.read, _FEED if begin else _BLOCK), b"")
        blocks = _members(blocks, begin) if begin else blocks
        blocks = blocks if is_utf8 else _transcoded(blocks, self)
        blocks = self._bounded(blocks, raw, is_compressed=begin is not None)
        return cast(BinaryIO, io.BufferedReader(_Stream(raw, self.name, blocks), buffer_size=_BLOCK))

    def open_as_it_lies(self) -> BinaryIO | None:
        """Open the file without anything between, if nothing is to be decompressed, decoded or watched; else None."""
        if self.watch is not None or not self.is_utf8:
            return None
        raw = self._raw(buffering=0)
        with _translated(self.name):
            plain = _decompressor_for(raw.read(6)) is None
            raw.seek(0)
        if plain:
            return cast(BinaryIO, _Stream(raw, self.name))
        raw.close()
        return None

    def head(self, size: int = HEAD) -> bytes:
        """The first decompressed bytes, or with -1 all of them, without a byte order mark."""
        with self.open() as stream:
            return stream.read(size).removeprefix(UTF8_BOM)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each (line number from 1, text without its line end). Bytes that are not UTF-8 are an error."""
        for number, line in self.byte_lines():
            if len(line) > LONGEST_LINE:
                message = f"a line of more than {LONGEST_LINE >> 20} MB; is this a text file?"
                raise SourceError(self.name, message, number)
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                message = f"byte 0x{line[error.start]:02x} is not UTF-8; convert the file to UTF-8 first"
                raise SourceError(self.name, message, number) from None
            yield number, text.rstrip("\r\n")

    def byte_lines(self) -> Iterator[tuple[int, bytes]]:
        """Each (line number from 1, bytes with their line end), without a byte order mark.

        Of a line longer than `LONGEST_LINE` one byte more than that is given, and the rest is passed over.
        """
        with self.open() as stream:
            read = partial(stream.readline, LONGEST_LINE + 1)
            for number, line in enumerate(iter(read, b""), start=1):
                yield number, line.removeprefix(UTF8_BOM) if number == 1 else line
                while len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                    line = read()

    def text(self) -> str:
        """All of a short file, such as settings or a card; each line with a line feed."""
        lines, size = list[str](), 0
        for number, line in self.lines():
            size += len(line) + 1
            if size > LONGEST_LINE:
                message = f"more than {LONGEST_LINE >> 20} MB, where a short file is expected"
                raise SourceError(self.name, message, number)
            lines.append(f"{line}\n")
        return "".join(lines)

    def blocks(self) -> Iterator[bytes]:
        """The decompressed file in blocks of whole lines, without a byte order mark; the last may lack a line feed.

        The next block is read while the caller works on the one it has.
        """
        with self.open() as stream, futures.ThreadPoolExecutor(1) as reader:
            block, rest = stream.read(LINES_AT_ONCE).removeprefix(UTF8_BOM), b""
            while block:
                coming = reader.submit(stream.read, LINES_AT_ONCE)
                end = block.rfind(b"\n") + 1
                if end:
                    yield b"".join([rest, memoryview(block)[:end]])
                    rest = b""
                rest += block[end:]
                if len(rest) > LONGEST_LINE:
                    raise SourceError(self.name, f"a line of more than {LONGEST_LINE >> 20} MB; is this a text file?")
                block = coming.result()
            if rest:
                yield rest

    @cached_property
    def file_sha256(self) -> str:
        """SHA-256 of the file itself, compressed as it lies there; empty for one run of a set, and for a data set."""
        if self.run or self.data_set:
            return ""
        digest = hashlib.sha256()
        with _translated(self.name), self._raw() as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest()

    @property
    def spooled(self) -> Path:
        """A copy on disk of what comes through a pipe or from a URL, so that it can be read more than once.

        No `cached_property`: before Python 3.12 that has one lock for all sources, and two pipes that one process
        fills in turns would wait for each other.
        """
        if "_copy" not in self.__dict__:
            with _translated(self.name), tempfile.NamedTemporaryFile(prefix="cranfield-", delete=False) as copy:
                forget = weakref.finalize(self, Path(copy.name).unlink, missing_ok=True)
                try:
                    most = min(LARGEST_PIPE, shutil.disk_usage(copy.name).free // 2)
                    if isinstance(self.path, Place):
                        self.path.fetch(copy.name, most)
                    else:
                        with nullcontext(sys.stdin.buffer) if self.is_stdin else self.path.open("rb") as stream:
                            while block := stream.read(_BLOCK):
                                copy.write(block)
                                if copy.tell() > most:
                                    size = f"more than {most >> 20:,} MB"
                                    message = f"{size} came through the pipe; save it to a file first"
                                    raise SourceError(self.name, message)
                except BaseException:
                    forget()
                    raise
            self.__dict__["_copy"] = Path(copy.name)
        copied: Path = self.__dict__["_copy"]
        return copied

    def _raw(self, *, buffering: int = -1) -> BinaryIO:
        try:
            if is_remote(self.path):  # kept as a pipe is, but can be fetched again
                return self.spooled.open("rb", buffering=buffering)
            mode = 0 if str(self.path) in ("-", "/dev/stdin") else self.path.stat().st_mode
            if stat.S_ISDIR(mode):
                raise SourceError(self.name, "this is a folder; a file is expected")
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise SourceError(self.name, "this is a device; a file or a pipe is expected")
            return (self.spooled if self.is_piped else self.path).open("rb", buffering=buffering)
        except FileNotFoundError:
            raise SourceError(self.name, "no such file") from None
        except (OSError, ValueError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else error
            raise SourceError(self.name, f"cannot be opened: {reason}") from None

    def _bounded(self, blocks: Iterator[bytes], raw: BinaryIO, *, is_compressed: bool) -> Iterator[bytes]:
        """The blocks of a file, watched, as long as it neither grows too large nor is blank for too long."""
        size, blank, outside = 0, 0, os.fstat(raw.fileno()).st_size
        for block in blocks:
            size += len(block)
            blank = blank + len(block) if block.isspace() else len(block) - len(block.rstrip())
            if is_compressed:
                refuse_growth(self.name, size, outside)
            if blank > MOST_BLANK:
                raise SourceError(self.name, f"more than {MOST_BLANK >> 20} MB of blank lines; is this file damaged?")
            if self.watch is not None:
                self.watch(raw.tell())
            yield block


def refuse_growth(name: str, size: int, outside: int) -> None:
    """Refuse a compressed file of `outside` bytes that holds far more: `size`, or as much so far."""
    most = max(GROWN, GROWTH * outside)
    if size > most:
        grown = f"it decompresses to more than {most >> 20:,} MB, over {GROWTH} times its size"
        raise SourceError(name, f"{grown}; if that is right, decompress it first")


@contextmanager
def _translated(name: str) -> Iterator[None]:
    """Turn what opening and decompressing raise into a `SourceError` that names the file."""
    try:
        yield
    except EOFError:
        raise SourceError(name, "the compressed data is truncated") from None
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise SourceError(name, f"cannot be read: {reason_of(error)}") from None
        if isinstance(error, _BROKEN) or type(error).__name__ == "ZstdError":
            damage = f"the compressed data is damaged or followed by other data ({error})"
            raise SourceError(name, damage) from None
        raise


class _Stream(io.RawIOBase):
    """A raw stream over blocks of bytes, or without any over the file as it lies; its failures name the file."""

    def __init__(self, raw: BinaryIO, name: str, blocks: Iterator[bytes] | None = None) -> None:
        self._raw, self._name, self._blocks = raw, name, blocks
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        with _translated(self._name):
            if self._blocks is None:
                return self._raw.readinto(buffer)  # type: ignore[attr-defined,no-any-return]
            while not self._ready:
                block = next(self._blocks, None)
                if block is None:
                    return 0
                self._ready = memoryview(block)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


def _decompressor_for(magic: bytes) -> Callable[[], Any] | None:
    """What makes a decompressor; those of all four libraries have `decompress`, `eof` and `unused_data`."""
    if magic.startswith(b"\x1f\x8b"):
        return partial(zlib.decompressobj, wbits=31)
    if magic.startswith(b"BZh"):
        return bz2.BZ2Decompressor
    if magic.startswith(b"\xfd7zXZ\x00"):
        return partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    skippable = magic[1:4] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5
    if magic.startswith(b"\x28\xb5\x2f\xfd") or skippable:
        return zstandard.ZstdDecompressor().decompressobj
    return None


def _members(blocks: Iterator[bytes], begin: Callable[[], Any]) -> Iterator[bytes]:
    """Decompress one member after the other (what `cat a.gz b.gz` makes), padding with zeros between them.

    The libraries' own file readers each forgive something: zstandard a truncated file, bz2 and xz whatever
    follows the first member. Here both are errors. The input is fed in small bites, because a hostile one can
    grow by a factor of 30,000.
    """
    member, fresh = begin(), True
    for block in blocks:
        rest = block
        while rest := rest.lstrip(b"\0") if fresh else rest:
            yield member.decompress(rest)
            fresh, rest = member.eof, member.unused_data if member.eof else b""
            if fresh:
                member = begin()
    if not fresh:
        raise EOFError


def _transcoded(blocks: Iterator[bytes], source: Source) -> Iterator[bytes]:
    line = 1
    try:
        for text in codecs.iterdecode(blocks, source.encoding):
            line += text.count("\n")
            yield text.encode("utf-8", "replace")
    except UnicodeDecodeError as error:
        at = line + error.object.count(b"\n", 0, error.start)
        seen = error.object[error.start : error.start + 1].hex()
        raise SourceError(source.name, f"byte 0x{seen} is not {source.encoding}", at) from None
    except UnicodeError as error:  # UTF-16 without a byte order mark
        raise SourceError(source.name, f"not {source.encoding}: {error}; try {source.encoding}-le", line) from None


# Only words that a user typed, in a command or in Python, become a `Place`. What stands in a collection, a bundle, a
# card or a list of runs is a path and nothing else: no file from elsewhere makes this machine contact an address.


class Place(PosixPath):
    """A URL, or one run of a set of runs, such as `runs.parquet#bm25`, where a path is expected.

    `word` is what the user typed, `whole` the file or folder, by its path or its URL, and `data_set` the name of a
    data set of ir_datasets, if one is meant. As a path and in messages a URL has no query, which may
    hold a key. The network is asked nothing before the file is read: until then a URL is believed to be a file.
    """

    def __new__(cls, word: str) -> Place:
        """The place that a word names."""
        return super().__new__(cls, _without_query(word))

    def __init__(self, word: str) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(_without_query(word))
        one = _ONE_OF_A_SET.fullmatch(word)
        self.word = word
        self.whole, self.run = (one[1], one[2]) if one else (word, "")
        self.data_set = word.removeprefix(DATA_SET) if word.startswith(DATA_SET) else ""
        if _PASSWORD.search(word):
            raise UsageError("a password in a URL is seen by everyone who sees the command: use the environment")

    def __reduce__(self) -> Any:
        return Place, (self.word,)

    def __str__(self) -> str:
        return _without_query(self.whole) + (f"#{self.run}" if self.run else "")

    __fspath__ = __str__

    @property
    def parent(self) -> Path:  # type: ignore[override]
        """What would be beside a file; of a URL that is nothing that can be read."""
        return Path(str(self)).parent

    def exists(self, **options: Any) -> bool:
        """Whether there is something; a URL is believed."""
        return is_remote(self) or bool(self.data_set) or Path(self.whole).exists()

    def is_file(self, **options: Any) -> bool:
        """Whether a run can be read there, and is a file."""
        return self.exists() and not self.data_set

    def fetch(self, copy: str, most: int) -> None:
        """Copy the file to this machine; it is refused where it has more than `most` bytes."""
        size = 0

        def count(inc: int = 1) -> None:
            nonlocal size
            size += inc
            if size > most:
                raise SourceError(str(self), f"more than {most >> 20:,} MB; make the file smaller, or copy it first")

        with self.opened() as (files, path):
            callback = fsspec.callbacks.Callback()
            callback.relative_update = count
            try:
                files.get_file(path, copy, callback=callback)
            except FileNotFoundError:
                if not files.isdir(path):
                    raise
                inside = quoted(f"{str(self).rstrip('/')}/*")
                raise SourceError(str(self), f"this is a folder; its files are {inside}") from None

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, str]]:
        """The file system of fsspec, and the path in it.

        What goes wrong there becomes one sentence without the library's own, which may hold an access key.
        """
        try:
            yield fsspec.url_to_fs(self.whole)
            return
        except ImportError:
            raise MissingExtra(quoted(str(self)), "remote") from None
        except (SourceError, MemoryError):
            raise
        except FileNotFoundError:
            reason = "no such file"
        except Exception as error:  # noqa: BLE001 (each library behind fsspec has errors of its own)
            kind = type(error).__name__
            denied = isinstance(error, PermissionError) or getattr(error, "status", None) in (401, 403)
            reason = f"cannot be read, or the connection broke ({kind}); try again, or copy it here first"
            reason = "access denied; are the credentials in the environment right?" if denied else reason
            reason = "no credentials; they belong into the environment" if "Credentials" in kind else reason
            reason = "fsspec knows no such kind of address" if str(error).startswith("Protocol not known") else reason
        raise SourceError(str(self), reason) from None


def is_remote(path: Path) -> TypeGuard[Place]:
    """Whether a path is a URL."""
    return isinstance(path, Place) and _URL.match(path.whole) is not None


def _without_query(word: str) -> str:
    return re.split("[?#]", word, maxsplit=1)[0] if _URL.match(word) else word


def located(word: str | os.PathLike[str]) -> Path:
    """The place that a user's word names: a path, unless it is a URL, one run of a set, or a data set."""
    if isinstance(word, Place):
        return word
    text = os.fspath(word)
    is_place = _URL.match(text) or _ONE_OF_A_SET.fullmatch(text) or text.startswith(DATA_SET)
    return Place(text) if is_place else Path(text)


def matching(word: str | os.PathLike[str]) -> list[str]:
    """The files that a URL with * or [ matches, in order; any other word as it is."""
    place = located(word)
    if not is_remote(place) or not {"*", "["} & set(str(place)):
        return [place.word if isinstance(place, Place) else os.fspath(word)]
    with place.opened() as (files, path):
        files.invalidate_cache()
        found = sorted(files.unstrip_protocol(one) for one in files.glob(path))
    if not found:
        raise SourceError(str(place), "no file matches")
    return found


# How a step tells whoever started it what it is doing, without knowing who that is.

Progress = Callable[[str, int, int | None], None]
"""Called as (what is being done, how much is done, how much there is or None)."""


def silent(what: str, done: int, total: int | None) -> None:
    """Tell nobody."""


# Threads that read files, and that nobody has to wait for.


@contextmanager
def reading_threads(count: int) -> Iterator[futures.ThreadPoolExecutor]:
    """Some threads to read in; where something goes wrong here they are left alone.

    A thread that reads from a pipe can wait for ever, and whoever presses Ctrl-C does not want to wait with it.
    """
    threads = futures.ThreadPoolExecutor(count)
    try:
        yield threads
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()
