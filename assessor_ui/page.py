"""A document as it is shown: one text with title, metadata and body, and the way back to the document's characters.

What is shown is harmless (`visible`), so it can be longer than what the document holds. Evidence is kept in
characters of the document: `to_document` and `from_document` translate.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from cranfield.records import Document
from cranfield.text import begins_with, shortened, visible, visible_line

Span = tuple[int, int]

TAB = "    "
LONGEST_FACT = 200
NO_TEXT = "(This document has no text.)"


@dataclass(frozen=True, slots=True)
class Page:
    """A document made fit to be shown. The title ends at `title_end`; the body lies from `body_start` to `body_end`.

    `origins` gives for each character of the body the document's character it stands for; None where they agree.
    """

    text: str
    title_end: int
    body_start: int
    body_end: int
    origins: Sequence[int] | None = None

    def to_document(self, span: Span) -> Span | None:
        """Give the part of the document's text that a span of the page shows; None where it shows none."""
        start, end = max(span[0], self.body_start) - self.body_start, min(span[1], self.body_end) - self.body_start
        if start >= end:
            return None
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1

    def from_document(self, span: Span) -> Span:
        """Give the part of the page that shows a span of the document's text."""
        start, end = span
        if self.origins is not None:
            start, end = bisect_left(self.origins, start), bisect_left(self.origins, end)
        length = self.body_end - self.body_start
        return self.body_start + min(start, length), self.body_start + min(end, length)


def page_of(document: Document) -> Page:
    """Give the page of a document: title, id and metadata, an empty line, the text.

    A title that is the first line of the text is not shown twice: it is where it stands in the text.
    """
    title = "" if begins_with(document.text, document.title) else visible_line(document.title).strip()
    head = f"{title}\n{_facts(document)}\n\n" if title else f"{_facts(document)}\n\n"
    body, origins = _shown(document.text)
    text = head + (body if body.strip() else NO_TEXT)
    return Page(text, len(title), len(head), len(head) + (len(body) if body.strip() else 0), origins)


def _facts(document: Document) -> str:
    facts = [f"{visible_line(name)}: {_fact(value)}" for name, value in document.metadata.items()]
    return " · ".join([visible_line(document.id), *facts])


def _fact(value: object) -> str:
    return visible_line(shortened(str(value), LONGEST_FACT))


def _shown(text: str) -> tuple[str, Sequence[int] | None]:
    pieces = {letter: TAB if letter == "\t" else visible(letter) for letter in set(text)}
    if all(letter == piece for letter, piece in pieces.items()):
        return text, None
    origins = [position for position, letter in enumerate(text) for _ in pieces[letter]]
    return "".join(pieces[letter] for letter in text), origins
