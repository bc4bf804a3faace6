"""Title and text of a page of HTML.

This is not the standard library's parser: that one takes quadratic time on pages made for it, and raises on some
that are merely broken. Here every tag ends before the next `<`, so the time is linear.
"""

import re
from collections.abc import Iterator

from cranfield.corpus.checked import one_line
from cranfield.corpus.markup import LINES, PARAGRAPHS, tidied, unescaped, without_specials

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
    """Give (title, text) of a page: scripts and styles gone, blocks on lines of their own.

    The title is that of the page, else its first heading; the heading stays in the text.
    """
    title: list[str] = []
    heading: list[str] = []
    text: list[str] = []
    heading_is_over = False
    for inside, piece in filter(_has_text, _pieces(without_specials(page))):
        if inside == "title":
            title.append(piece)
        elif inside not in _SILENT:
            text.append(piece.lstrip(" ") if inside != "pre" and (not text or text[-1].endswith("\n")) else piece)
            if inside in _HEADINGS and not heading_is_over:
                heading.append(piece)
            heading_is_over = bool(heading) and inside not in _HEADINGS
    found = one_line(unescaped("".join(title))) or one_line(unescaped("".join(heading)))
    return found, tidied(unescaped("".join(text)).replace("\xa0", " "))


def _pieces(page: str) -> Iterator[tuple[str, str]]:
    """Give (the element that matters here: silent, heading, pre or none; a piece of text or the gap of a tag)."""
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


def _has_text(piece: tuple[str, str]) -> bool:
    return piece[1] != ""


def _folded(text: str, inside: str) -> str:
    return text if inside == "pre" else _SPACE.sub(" ", text)
