"""Bytes to text, for files in which one bad record must not hide the others.

Bytes that are not UTF-8 make an error, NUL characters a warning; both carry the line. NUL becomes U+FFFD, because
neither a terminal nor an SQLite shell shows what stands behind it.
"""

import codecs
from collections.abc import Iterator

from cranfield.errors import Problem, SourceError
from cranfield.source import LONGEST_LINE, Source

_BLOCK = 1 << 20
REMEDY = "convert the file to UTF-8, or name its encoding: --encoding latin-1 (the usual one of old files)"


def decoded(data: bytes, line: int) -> tuple[str, list[Problem]]:
    """Give the text of `data`, which starts on `line`, and what is wrong with it."""
    try:
        text, problems = data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        text = data.decode("utf-8", "replace")
        problems = [Problem("not-utf-8", message, lines=(at,), remedy=REMEDY)]
    if "\0" in text:
        at = line + text.count("\n", 0, text.index("\0"))
        problems.append(nul_problem(text.count("\0"), at))
        text = text.replace("\0", "\ufffd")
    return text, problems


def nul_problem(count: int, line: int) -> Problem:
    """Say that NUL characters were replaced."""
    characters = "a NUL character" if count == 1 else f"{count:,} NUL characters"
    return Problem("nul", f"{characters}, replaced by U+FFFD", "warning", lines=(line,))


def lone_carriage_return(line: int) -> Problem:
    """Say that a carriage return stands alone: old Macs ended lines so, and records would run into each other."""
    message = "a carriage return stands alone, not before a line feed"
    return Problem("lone-carriage-return", message, lines=(line,), remedy="end lines with a line feed")


def is_utf8_beyond_ascii(source: Source) -> bool:
    """Say whether a file, as it lies there, is UTF-8 with characters of several bytes.

    Text in another encoding hardly ever passes for that. A file that cannot be read does not.
    """
    decoder, is_ascii = codecs.getincrementaldecoder("utf-8")(), True
    try:
        with source.open() as stream:
            while block := stream.read(_BLOCK):
                is_ascii = is_ascii and block.isascii()
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except (UnicodeDecodeError, SourceError):
        return False
    return not is_ascii


def utf8_after_all(files: int, encoding: str) -> Problem:
    """Warn that this file (and others beside it) was read in an encoding that it does not have."""
    what = "this file is UTF-8 already and was" if files == 1 else f"this and {files - 1:,} more are UTF-8 and were"
    remedy = "load what is UTF-8 again without --encoding and with --update (--keep-going passes the others over)"
    message = f"{what} read as {encoding}: é has become Ã©, or the like"
    return Problem("utf-8-after-all", message, "warning", count=files, remedy=remedy)


def is_error(problem: Problem) -> bool:
    """Whether the record that a problem is about cannot be taken."""
    return problem.severity == "error"


class Lines:
    """The decoded lines of a file, each with its line end as LF, and the problems met on the way.

    `number` is the line that was given last. `take_problems` empties the list of problems; whoever reads asks for
    it after each record, and drops the record if an error is among them.
    """

    def __init__(self, source: Source) -> None:
        self._lines = source.byte_lines()
        self._problems: list[Problem] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, data = next(self._lines)
        if len(data) > LONGEST_LINE:
            message = f"a line of more than {LONGEST_LINE >> 20} MB"
            self._problems.append(Problem("too-long", message, lines=(self.number,)))
            return "\n"
        text, problems = decoded(data, self.number)
        self._problems += problems
        text = text[:-2] + "\n" if text.endswith("\r\n") else text
        if "\r" in text:
            self._problems.append(lone_carriage_return(self.number))
        return text

    def take_problems(self) -> list[Problem]:
        """Give the problems since the last time."""
        taken, self._problems = self._problems, []
        return taken
