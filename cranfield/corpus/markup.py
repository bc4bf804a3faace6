"""Text out of markup: tags, comments, entities, fields. Tolerant, and linear in time whatever comes.

A `<` that starts no tag stays as it is (`10^8 < 2^27`). Attributes need a value, so that `a<b and c>d` is text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cranfield.base.errors import Problem, Severity, quoted
from cranfield.base.files import UTF8_BOM, Source
from cranfield.corpus.reading import decoded, one_line

TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[A-Za-z][\w.:-]*+)
        (?P<attributes>(?:\s++[\w.:-]++\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s<>"']++))*+)
        \s*+/?>""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""([\w.:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']++))""")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TREC_ENTITIES = {"&blank;": " ", "&hyph;": "-"}
_CDATA = "<![CDATA["
_SPECIAL = ((_CDATA, "]]>"), ("<!--", "-->"), ("<?", "?>"), ("<!DOCTYPE", ">"), ("<!doctype", ">"))
_BLANK_LINES = re.compile(r"\n{3,}")


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


PARAGRAPHS = _words("p div h1 h2 h3 h4 h5 h6 ul ol table pre blockquote center")
LINES = _words("br hr li tr td th")
INLINE = _words("a b big code em font i img small span strong sub sup tt u")
_GAPS = {**dict.fromkeys(PARAGRAPHS, "\n\n"), **dict.fromkeys(LINES, "\n"), **dict.fromkeys(INLINE, "")}
MARKUP = PARAGRAPHS | LINES | INLINE
"""The tags that are never fields: they shape text."""

HTML = MARKUP | _words(
    """abbr acronym address area article aside base basefont body button caption cite col colgroup dd del dfn dir dl
    dt embed fieldset footer form frame frameset head header html iframe input ins kbd label legend link main map
    menu meta nav nobr noframes noscript object optgroup option param q s samp section select strike tbody textarea
    tfoot thead var wbr"""
)
"""The tags that shape text where the record is a page of HTML."""

DROPPED = frozenset({"script", "style"})
"""The elements whose content is no text."""


class Field(NamedTuple):
    """A named part of a record: its markup is still in it. The name is in small letters; loose text has none."""

    name: str
    attributes: str
    raw: str


def without_specials(text: str) -> str:
    """`text` without comments, processing instructions and DOCTYPE; CDATA becomes escaped text."""
    if "<!" not in text and "<?" not in text:
        return text
    for start, end in _SPECIAL:
        pieces, done = [], 0
        # A start without an end is text.
        while (begun := text.find(start, done)) >= 0 and (ended := text.find(end, begun + len(start))) >= 0:
            kept = html.escape(text[begun + len(start) : ended], quote=False) if start == _CDATA else ""
            pieces += [text[done:begun], kept]
            done = ended + len(end)
        text = "".join([*pieces, text[done:]])
    return text


def plain(raw: str) -> str:
    """The text of markup: tags gone, paragraphs kept, entities resolved, blanks at line ends gone."""
    text = TAG.sub(lambda tag: _GAPS.get(tag["name"].lower(), " "), raw) if "<" in raw else raw
    return tidied(unescaped(text))


def unescaped(text: str) -> str:
    """Resolve entities that end with a semicolon (so that `AT&T` and `?a=1&copy=2` stay as they are)."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda one: _TREC_ENTITIES.get(one.group()) or html.unescape(one.group()), text)


def escaped(text: str) -> str:
    """`text` so that reading it as markup gives it back."""
    return _ENTITY.sub(lambda match: "&amp;" + match.group()[1:], text).replace("<", "&lt;").replace(">", "&gt;")


def tidied(text: str) -> str:
    """`text` without blanks at line ends, with at most one blank line in a row, and none around it."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if " \n" in text or "\t\n" in text:
        text = "\n".join([line.rstrip(" \t") for line in text.split("\n")])
    if "\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n", text)
    return text.rstrip(" \t\n").lstrip("\n")


def attributes(raw: str) -> dict[str, str]:
    """The attributes of a tag by name, in small letters."""
    if "=" not in raw:
        return {}
    return {
        match.group(1).lower(): unescaped(match.group(2) or match.group(3) or match.group(4) or "").strip()
        for match in _ATTRIBUTE.finditer(raw)
    }


def closed_fields(text: str) -> Iterator[Field]:
    """Take a record apart whose fields have end tags. What is in no field comes out as loose text.

    A tag that is never closed is no field: it is left in the loose text, and `plain` removes it there.
    """
    tags = [(tag, tag["name"].lower()) for tag in TAG.finditer(text)]
    last_end = {name: index for index, (tag, name) in enumerate(tags) if tag["end"]}
    markup = HTML if {"html", "body", "dochdr"} & last_end.keys() else MARKUP
    loose, until = 0, -1
    for index, (tag, name) in enumerate(tags):
        if index <= until or tag["end"] or name in markup or last_end.get(name, -1) < index:
            continue
        rest = range(index + 1, len(tags))
        until = next(later for later in rest if tags[later][1] == name and tags[later][0]["end"])
        if text[loose : tag.start()].strip():
            yield Field("", "", text[loose : tag.start()])
        end = tags[until][0]
        yield Field(name, tag["attributes"], text[tag.end() : end.start()])
        loose = end.end()
    if text[loose:].strip():
        yield Field("", "", text[loose:])


def open_fields(text: str) -> Iterator[Field]:
    """Take a record apart whose fields may lack end tags: a field ends where any other starts."""
    start, name, given = 0, "", ""
    for tag in TAG.finditer(text):
        found = tag["name"].lower()
        if found in MARKUP:
            continue
        if tag.start() > start:
            yield Field(name, given, text[start : tag.start()])
        start = tag.end()
        name, given = ("", "") if tag["end"] or tag.group().endswith("/>") else (found, tag["attributes"])
    if start < len(text):
        yield Field(name, given, text[start:])


# Records between tags, cut out of a stream: `<DOC> … </DOC>`, `<top> … </top>`.

LARGEST_RECORD = 1 << 26
"""A record of more than 64 MB is rejected: an end tag is missing somewhere."""

_BLOCK = 1 << 20
_LONGEST_TAG = 2048
_INNER = frozenset(bytes([byte]) for byte in range(0x80, 0xC0))
_ANY_TAG = re.compile(rb"<[^<>]*>")


@dataclass(slots=True)
class Element:
    """A record as it lies between its tags, still bytes, with the line its start tag is on."""

    line: int
    tag: bytes
    body: bytearray = field(default_factory=bytearray)
    size: int = 0

    def unclosed(self, severity: Severity, where: str) -> Problem:
        message = f"{quoted(self.tag.decode('utf-8', 'replace'), limit=40)} has no end tag{where}"
        return Problem("unclosed", message, severity, lines=(self.line,))


def tag_pattern(*names: str) -> re.Pattern[bytes]:
    """The pattern of the start and end tags with these names, whatever the case."""
    either = "|".join("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in names)
    return re.compile(f"</?(?:{either})(?:\\s[^<>]{{0,{_LONGEST_TAG - 100}}})?>".encode())


def elements(source: Source, pattern: re.Pattern[bytes]) -> Iterator[Element | Problem]:
    """The records between the tags of `pattern`, and what is wrong around them.

    A record without an end tag ends where the next one starts, with a warning; at the end of the file it is an
    error, because then the file is probably cut off.
    """
    line, opened = 1, None
    for text, tag in _pieces(source, pattern):
        if opened:
            opened.size += len(text)
            if opened.size <= LARGEST_RECORD:
                opened.body += text
        elif problem := _outside(text, line):
            yield problem
        line += text.count(b"\n")
        if not tag:
            continue
        is_end = tag.startswith(b"</")
        if opened and not is_end:
            yield opened.unclosed("warning", " before the next record")
        if opened and opened.size > LARGEST_RECORD:
            message = f"a record of more than {LARGEST_RECORD >> 20} MB; is an end tag missing?"
            yield Problem("too-long", message, lines=(opened.line,))
        elif opened:
            yield opened
        elif is_end:
            message = f"an end tag {quoted(tag.decode('utf-8', 'replace'), limit=40)} without a start tag"
            yield Problem("no-start", message, lines=(line,))
        opened = None if is_end else Element(line, tag)
        line += tag.count(b"\n")
    if opened:
        yield opened.unclosed("error", "; the file may be incomplete")


def _pieces(source: Source, pattern: re.Pattern[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """(what stands before a tag, the tag). Where no tag comes for long, the tag is empty, as at the end."""
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
    if error := next((one for one in decoded(text, line)[1] if one.is_error), None):
        return error
    seen = _ANY_TAG.sub(b" ", text).strip()
    if not seen:
        return None
    message = f"text outside any record was skipped: {quoted(seen[:100].decode('utf-8', 'replace'), limit=40)}"
    at = line + text.count(b"\n", 0, max(text.find(seen[:10]), 0))
    return Problem("outside", message, "warning", lines=(at,))


# Title and text of a page of HTML.

_TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[A-Za-z][\w:-]*+)(?=[\s/>])
        (?:(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+|[^<>]*+)>""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s++")
_BLOCKS = PARAGRAPHS | LINES | {"article", "aside", "dd", "dl", "dt", "footer", "header", "main", "nav", "section"}
_SILENT = frozenset({"noscript", "script", "style", "template", "textarea", "title"})
_HEADINGS = frozenset({"h1", "h2", "h3"})


def html_to_text(page: str) -> tuple[str, str]:
    """(title, text) of a page: scripts and styles gone, blocks on lines of their own.

    The title is that of the page, else its first heading; the heading stays in the text.
    """
    title: list[str] = []
    heading: list[str] = []
    text: list[str] = []
    heading_is_over = False
    for inside, piece in _html_pieces(without_specials(page)):
        if not piece:
            continue
        if inside == "title":
            title.append(piece)
        elif inside not in _SILENT:
            text.append(piece.lstrip(" ") if inside != "pre" and (not text or text[-1].endswith("\n")) else piece)
            if inside in _HEADINGS and not heading_is_over:
                heading.append(piece)
            heading_is_over = bool(heading) and inside not in _HEADINGS
    found = one_line(unescaped("".join(title))) or one_line(unescaped("".join(heading)))
    return found, tidied(unescaped("".join(text)).replace("\xa0", " "))


def _html_pieces(page: str) -> Iterator[tuple[str, str]]:
    """(the element that matters here: silent, heading, pre or none; a piece of text or the gap of a tag)."""
    inside, done = "", 0
    for tag in _TAG.finditer(page):
        name, is_end = tag["name"].lower(), bool(tag["end"])
        if inside in _SILENT and not (is_end and name == inside):
            continue
        yield inside, _folded(page[done : tag.start()], inside)
        done = tag.end()
        if name in _BLOCKS:
            yield "", "\n\n" if name in PARAGRAPHS else "\n"
        if is_end and name == inside:
            inside = ""
        elif not is_end and (name in _SILENT or (not inside and (name in _HEADINGS or name == "pre"))):
            inside = name
    yield inside, _folded(page[done:], inside)


def _folded(text: str, inside: str) -> str:
    return text if inside == "pre" else _SPACE.sub(" ", text)
