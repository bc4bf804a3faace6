"""A folder of text, Markdown and HTML files, one document per file, compressed or not.

The id is the path within the folder, so it is unique and says where the document came from; blanks in it are
written %20, because ids are single words. The title is the title or first heading, else the first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cranfield.base.errors import Problem, SourceError
from cranfield.base.files import Source
from cranfield.base.text import shortened
from cranfield.corpus import reading
from cranfield.corpus.markup import html_to_text, tidied

LARGEST_FILE = 1 << 26
LONGEST_TITLE = 200
ALONE = (
    "convert the file to UTF-8; or load the others with --keep-going and this file separately with --encoding latin-1"
)
LINK_OUT = "a symbolic link to a file or folder outside was not followed"
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_UNFIT = re.compile(r"[\s%\x00-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")


@reading.document_formats.register("folder")
class FolderDocuments:
    """Documents as the files of a folder."""

    summary = "a folder of .txt, .md and .html files, searched recursively; the id is the path within it"
    suffixes: tuple[str, ...] = ()

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise nothing: a folder is one before files are looked into, and a text may be something else."""
        return False

    @staticmethod
    def read(source: Source) -> Iterator[Any]:
        """One document per file, in the order of the paths. Hidden files and other kinds are passed over."""
        if not source.is_folder:
            raise SourceError(source.name, "this is not a folder")
        for path in reading.links_out_of(source.path):
            yield Problem("link-out", LINK_OUT, "warning", file=str(path), remedy=f"to load it, add {path.resolve()}")
        for path in reading.files_in(source.path):
            try:
                for record in document_in(Source(path, source.encoding), id_of(path.relative_to(source.path))):
                    # Where one of many files is not UTF-8, it is said how the others can be had.
                    if isinstance(record, Problem) and record.code == "not-utf-8":
                        record = replace(record, remedy=ALONE)
                    yield record
            except SourceError as error:
                yield error.problem


@reading.document_formats.register("text")
class TextDocument(FolderDocuments):
    """One file as one document, as it would be read in a folder."""

    summary = "a single .txt, .md or .html file as one document; the id is the name of the file"
    suffixes = reading.TEXTS

    @staticmethod
    def read(source: Source) -> Iterator[Any]:
        """The document, or the problem with it."""
        yield from document_in(source, id_of(Path(source.path.name if not source.is_stdin else source.bare_name)))


def id_of(path: Path) -> str:
    """The id of the file at this path within the folder: what no id may hold is percent-encoded."""
    return _UNFIT.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogateescape")),
        path.as_posix(),
    )


def document_in(file: Source, id: str) -> Iterator[Any]:
    """The one document that a file is, or the problems with it."""
    data = file.head(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        yield Problem("too-long", f"a file of more than {LARGEST_FILE >> 20} MB", file=file.name)
        return
    content, problems = reading.decoded(data, 1)
    yield from (problem.at(file.name) for problem in problems)
    if any(one.is_error for one in problems):
        return
    name = file.bare_name.lower()
    if name.endswith(reading.PAGES):
        title, text = html_to_text(content)
    else:
        text = tidied(content)
        heading = _HEADING.search(text) if name.endswith(reading.MARKDOWN) else None
        first = heading.group(1).rstrip("# \t") if heading else text.lstrip().split("\n", 1)[0]
        title = shortened(reading.one_line(first), LONGEST_TITLE)
    for record in reading.checked(reading.DOCUMENT, {"id": id, "title": title, "text": text}, {}, 1):
        yield record.at(file.name) if isinstance(record, Problem) else record
