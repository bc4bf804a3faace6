"""Text out of markup: tags, comments, entities, fields. Tolerant, and linear in time whatever comes.

A `<` that starts no tag stays as it is (`10^8 < 2^27`). Attributes need a value, so that `a<b and c>d` is text.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[A-Za-z][\w.:-]*+)
        (?P<attributes>(?:\s++[\w.:-]++\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s<>"']++))*+)
        \s*+/?>""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""([\w.:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']++))""")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TREC_ENTITIES = {"&blank;": " ", "&hyph;": "-"}
_SPECIAL = (("<!--", "-->"), ("<?", "?>"), ("<!DOCTYPE", ">"), ("<!doctype", ">"))
_BLANK_LINES = re.compile(r"\n{3,}")


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


PARAGRAPHS = _words("p div h1 h2 h3 h4 h5 h6 ul ol table pre blockquote center")
LINES = _words("br hr li tr td th")
INLINE = _words("a b big code em font i img small span strong sub sup tt u")
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


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of a record: its markup is still in it. The name is in small letters; loose text has none."""

    name: str
    attributes: str
    raw: str


def without_specials(text: str) -> str:
    """Give `text` without comments, processing instructions and DOCTYPE; CDATA becomes escaped text."""
    if "<!" not in text and "<?" not in text:
        return text
    text = _without_cdata(text)
    for start, end in _SPECIAL:
        text = "".join(_between(text, start, end))
    return text


def plain(raw: str) -> str:
    """Give the text of markup: tags gone, paragraphs kept, entities resolved, blanks at line ends gone."""
    text = TAG.sub(_gap, raw) if "<" in raw else raw
    return tidied(unescaped(text))


def unescaped(text: str) -> str:
    """Resolve entities that end with a semicolon (so that `AT&T` and `?a=1&copy=2` stay as they are)."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def escaped(text: str) -> str:
    """Give `text` so that reading it as markup gives it back."""
    return _ENTITY.sub(lambda match: "&amp;" + match.group()[1:], text).replace("<", "&lt;").replace(">", "&gt;")


def tidied(text: str) -> str:
    """Give `text` without blanks at line ends, with at most one blank line in a row, and none around it."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if " \n" in text or "\t\n" in text:
        text = "\n".join([line.rstrip(" \t") for line in text.split("\n")])
    if "\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n", text)
    return text.rstrip(" \t\n").lstrip("\n")


def attributes(raw: str) -> dict[str, str]:
    """Give the attributes of a tag by name, in small letters."""
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
        until = next(later for later in range(index + 1, len(tags)) if _ends(tags[later], name))
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


def _ends(tag: tuple[re.Match[str], str], name: str) -> bool:
    return tag[1] == name and bool(tag[0]["end"])


def _gap(tag: re.Match[str]) -> str:
    name = tag["name"].lower()
    if name in PARAGRAPHS:
        return "\n\n"
    if name in INLINE:
        return ""
    return "\n" if name in LINES else " "


def _character(entity: re.Match[str]) -> str:
    return _TREC_ENTITIES.get(entity.group()) or html.unescape(entity.group())


def _between(text: str, start: str, end: str) -> Iterator[str]:
    """Give the pieces of `text` outside of start … end. A start without an end is text."""
    done = 0
    while (begun := text.find(start, done)) >= 0 and (ended := text.find(end, begun + len(start))) >= 0:
        yield text[done:begun]
        done = ended + len(end)
    yield text[done:]


def _without_cdata(text: str) -> str:
    pieces, done = [], 0
    while (begun := text.find("<![CDATA[", done)) >= 0 and (ended := text.find("]]>", begun)) >= 0:
        pieces += [text[done:begun], html.escape(text[begun + 9 : ended], quote=False)]
        done = ended + 3
    return "".join([*pieces, text[done:]])
