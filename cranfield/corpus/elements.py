"""Records between tags, cut out of a stream: `<DOC> … </DOC>`, `<top> … </top>`.

Old collections are SGML at best: no root, no declared entities, bare ampersands. So this is no XML parser (and
nothing here ever expands a DTD or fetches an entity); it knows the tags of the records, and nothing else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from cranfield.corpus.decoding import decoded, is_error
from cranfield.errors import Problem, quoted
from cranfield.source import UTF8_BOM, Source

LARGEST_RECORD = 1 << 26
"""A record of more than 64 MB is refused: an end tag is missing somewhere."""

_BLOCK = 1 << 20
_LONGEST_TAG = 2048
_INNER = frozenset(bytes([byte]) for byte in range(0x80, 0xC0))
_ANY_TAG = re.compile(rb"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Element:
    """A record as it lies between its tags, still bytes, with the line its start tag is on."""

    line: int
    tag: bytes
    body: bytes


@dataclass(slots=True)
class _Open:
    """A record whose end tag has not been met yet."""

    line: int
    tag: bytes
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if self.size <= LARGEST_RECORD:
            self.parts.append(part)

    def finished(self) -> Element | Problem:
        if self.size > LARGEST_RECORD:
            message = f"a record of more than {LARGEST_RECORD >> 20} MB; is an end tag missing?"
            return Problem("too-long", message, lines=(self.line,))
        return Element(self.line, self.tag, b"".join(self.parts))


def tag_pattern(*names: str) -> re.Pattern[bytes]:
    """Give the pattern of the start and end tags with these names, whatever the case."""
    either = "|".join("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in names)
    return re.compile(f"</?(?:{either})(?:\\s[^<>]{{0,{_LONGEST_TAG - 100}}})?>".encode())


def elements(source: Source, pattern: re.Pattern[bytes]) -> Iterator[Element | Problem]:
    """Give the records between the tags of `pattern`, and what is wrong around them.

    A record without an end tag ends where the next one starts, with a warning; at the end of the file it is an
    error, because then the file is probably cut off.
    """
    line, opened = 1, None
    for text, tag in _pieces(source, pattern):
        if opened:
            opened.add(text)
        elif problem := _outside(text, line):
            yield problem
        line += text.count(b"\n")
        if not tag:
            continue
        if opened:
            if not tag.startswith(b"</"):
                yield _unclosed(opened, "warning")
            yield opened.finished()
        elif tag.startswith(b"</"):
            yield Problem(
                "no-start",
                f"an end tag {quoted(tag.decode('utf-8', 'replace'), limit=40)} without its start",
                lines=(line,),
            )
        opened = None if tag.startswith(b"</") else _Open(line, tag)
        line += tag.count(b"\n")
    if opened:
        yield _unclosed(opened, "error")


def _pieces(source: Source, pattern: re.Pattern[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Give (what stands before a tag, the tag). Where no tag comes for long, the tag is empty, as at the end."""
    with source.open() as stream:
        rest = stream.read(_BLOCK).removeprefix(UTF8_BOM)
        while rest:
            done = 0
            for match in pattern.finditer(rest):
                yield rest[done : match.start()], match.group()
                done = match.end()
            block = stream.read(_BLOCK)
            # What may be the start of a tag stays for the next round.
            safe = max(done, len(rest) - _LONGEST_TAG) if block else len(rest)
            # No character is cut in two: a byte 10…… belongs to what stands before it.
            safe = next((at for at in range(safe, max(safe - 4, done), -1) if rest[at : at + 1] not in _INNER), safe)
            if safe > done:
                yield rest[done:safe], b""
            rest = rest[safe:] + block


def _outside(text: bytes, line: int) -> Problem | None:
    if text.isspace() or not text:
        return None
    if error := next(filter(is_error, decoded(text, line)[1]), None):
        return error
    seen = _ANY_TAG.sub(b" ", text).strip()
    if not seen:
        return None
    message = f"text outside of any record, passed over: {quoted(seen[:100].decode('utf-8', 'replace'), limit=40)}"
    at = line + text.count(b"\n", 0, max(text.find(seen[:10]), 0))
    return Problem("outside", message, "warning", lines=(at,))


def _unclosed(opened: _Open, severity: str) -> Problem:
    tag = quoted(opened.tag.decode("utf-8", "replace"), limit=40)
    if severity == "warning":
        return Problem("unclosed", f"{tag} has no end tag before the next record", "warning", lines=(opened.line,))
    message = f"{tag} has no end tag; the file may be incomplete"
    return Problem("unclosed", message, lines=(opened.line,))
