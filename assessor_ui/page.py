"""A document as it is shown: one text with title, metadata and body, and the way back to the document's characters.

What is shown is harmless (`visible`), so it can be longer than what the document holds. Evidence is kept in
characters of the document: `to_document` and `from_document` translate.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import snowballstemmer
from rich.cells import cell_len, get_character_cell_size, split_graphemes

from cranfield.base.errors import UnknownName
from cranfield.base.records import Document, Topic
from cranfield.base.text import begins_with, shortened, visible, visible_line

Span = tuple[int, int]

TAB = "    "
LONGEST_FACT = 200
HARD_WRAPPED = 100
"""How long lines are at most that an editor or a mail program has broken: a longer one is a paragraph."""
NO_TEXT = "(This document has no text.)"


@dataclass(frozen=True)
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
        """The part of the document's text that a span of the page shows; None where it shows none."""
        start, end = max(span[0], self.body_start) - self.body_start, min(span[1], self.body_end) - self.body_start
        if start >= end:
            return None
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1

    def from_document(self, span: Span) -> Span:
        """The part of the page that shows a span of the document's text."""
        start, end = span
        if self.origins is not None:
            start, end = bisect_left(self.origins, start), bisect_left(self.origins, end)
        length = self.body_end - self.body_start
        return self.body_start + min(start, length), self.body_start + min(end, length)


def page_of(document: Document, *, remark: str = "", reflow: bool = False) -> Page:
    """The page of a document: title, id and metadata, a remark, an empty line, the text, with `reflow` in paragraphs.

    A title that is the first line of the text is not shown twice: it is where it stands in the text.
    """
    title = "" if begins_with(document.text, document.title) else visible_line(document.title).strip()
    facts = [visible_line(document.id)]
    for name, value in document.metadata.items():
        facts.append(f"{visible_line(name)}: {visible_line(shortened(str(value), LONGEST_FACT))}")
    head = f"{title}\n" * bool(title) + " · ".join(facts) + f"\nnote: {visible_line(remark)}" * bool(remark) + "\n\n"
    body, origins = document.text, None
    pieces = {letter: TAB if letter == "\t" else visible(letter) for letter in set(body)}
    if any(letter != piece for letter, piece in pieces.items()):
        origins = [position for position, letter in enumerate(body) for _ in pieces[letter]]
        body = "".join(pieces[letter] for letter in body)
    body = unbroken(body, 0) if reflow else body
    text = head + (body if body.strip() else NO_TEXT * (not remark))
    return Page(text, len(title), len(head), len(head) + (len(body) if body.strip() else 0), origins)


_BLOCK = re.compile(r"[^\n]+(?:\n[^\n]+)+")
_NEW_LINE = re.compile(r"\s|[-*•·>|#]|[0-9]+[.)]")
"""How a line begins that stays one of its own: indented text, items of lists, quotations, tables, headings."""


def unbroken(text: str, width: int) -> str:
    """A text whose hard-wrapped lines are as they are where they fit, else joined: broken again they are ragged.

    Lines without an empty one between them become a paragraph: line breaks become blanks, so that no place changes.
    A line of less than half the longest ends its paragraph. Lines that are paragraphs themselves stay as they are.
    """

    def joined(block: re.Match[str]) -> str:
        lines = block.group().split("\n")
        longest = max(map(len, lines))
        if not width < longest <= HARD_WRAPPED:
            return block.group()
        joins = (2 * len(line) >= longest and not _NEW_LINE.match(after) for line, after in pairwise(lines))
        return lines[0] + "".join((" " if join else "\n") + line for join, line in zip(joins, lines[1:], strict=True))

    return _BLOCK.sub(joined, text)


# Text cut into lines that fit a width, measured in the cells of a terminal.

UNSPACED = "\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\U00020000-\U0003fffd"
_CLOSING = "\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3d\uff5d"
_JOINED = re.compile("[\u200d\U0001f3fb-\U0001f3ff]")
"""What makes one picture of several: the joiner, and the skin tones."""

_CHUNK = re.compile(rf"[ ]+|[{UNSPACED}](?:[{_CLOSING}]|[\u0300-\u036f\u3099\u309a\ufe00-\ufe0f])*|[^ {UNSPACED}]+")


def wrap(text: str, width: int) -> list[Span]:
    """The lines of `text` at this width. Blanks at which a line was broken belong to no line."""
    lines: list[Span] = []
    start, width = 0, max(width, 2)
    # As many whole words as fit, else the beginning of one that does not.
    fitting = re.compile(rf"[^ ](?:.{{0,{width - 2}}}[^ ])?(?= |$)|[^ ]{{{width}}}")
    for paragraph in text.split("\n"):
        if paragraph.isascii() and paragraph.isprintable() and paragraph[:1] not in ("", " "):
            # The same as `_lines_of`, ten times as fast, where every character is one cell wide.
            lines += [(start + line.start(), start + line.end()) for line in fitting.finditer(paragraph)]
        else:
            lines += _lines_of(paragraph, start, width)
        start += len(paragraph) + 1
    return lines


def index_at(spans: Sequence[Span], position: int) -> int:
    """The number of the line, or of the sentence, that a character is in."""
    return max(bisect_right(spans, position, key=lambda span: span[0]) - 1, 0)


def _lines_of(paragraph: str, offset: int, width: int) -> Iterator[Span]:
    line_start = line_end = used = 0
    for start, end, cells in _pieces(paragraph, width):
        if paragraph[start] == " ":
            used += cells
            continue
        if used + cells > width:
            if line_end > line_start:
                yield offset + line_start, offset + line_end
            line_start, used = start, 0
        line_end, used = end, used + cells
    yield offset + line_start, offset + max(line_end, line_start)


def _pieces(paragraph: str, width: int) -> Iterator[tuple[int, int, int]]:
    """The chunks of a paragraph with their width; a chunk wider than the line comes in parts that fit."""
    measure = cells_of if _JOINED.search(paragraph) else cell_len
    for chunk in _CHUNK.finditer(paragraph):
        text, offset = chunk.group(), chunk.start()
        cells = measure(text)
        if cells <= width:
            yield offset, chunk.end(), cells
            continue
        start = used = 0
        for first, end, _ in split_graphemes(text)[0]:
            cells = cells_of(text[first:end])
            if used and used + cells > width:
                yield offset + start, offset + first, used
                start, used = first, 0
            used += cells
        yield offset + start, offset + len(text), used


def cells_of(text: str) -> int:
    """The most cells that a text may take.

    Many terminals do not join what belongs together: a family of three is two cells wide in one and six in another,
    and a skin tone stands beside its hand. What fits in both is never cut off.
    """
    if not _JOINED.search(text):
        return cell_len(text)
    total = 0
    for start, end, joined in split_graphemes(text)[0]:
        cluster = text[start:end]
        alone = (2 if "\U0001f3fb" <= one <= "\U0001f3ff" else get_character_cell_size(one) for one in cluster)
        total += max(joined, sum(alone))
    return total


# Where a document has the words of the topic.

Stem = Callable[[str], str]

_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20f0\ufe20-\ufe2f\u200c\u200d"
)
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{_MARKS}]|['’](?=\w))*")
"""A word of a text; a character of a script without blanks is one of its own."""
_ONE_UNSPACED = re.compile(rf"[{UNSPACED}]")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_UNINFORMATIVE = """
    a about above after again against all also although am among an and any are as at be because been before being
    below between both but by can cannot could did do does doing done down during each either else ever every few for
    from further get give gives had has have having he hence her here hers him his how however i if in into is it its
    itself just may me might mine more most must my neither no nor not of off on once one only or other others ought
    our ours out over own per quite rather same shall she should since so some still such than that the their theirs
    them then there therefore these they this those through thus to too under until up upon us very was we were what
    when where whether which while who whom whose why will with within without would yet you your yours best way
    find document documents relevant information
"""
_STOPWORDS = frozenset(_UNINFORMATIVE.split())
"""Words without a subject of their own, and those every description uses."""


Terms = Mapping[tuple[str, ...], bool]
"""A word, or characters that must stand together, cut to their stems: whether the title of the topic has it."""


def stemmer(language: str = "english") -> Stem:
    """Cuts words of one language to their stems, whatever their case and their form of writing."""
    known = ["none", *snowballstemmer.algorithms()]
    if language not in known:
        raise UnknownName("language", language, known)
    cut: Stem = str if language == "none" else snowballstemmer.stemmer(language).stemWord

    @cache  # texts repeat themselves
    def stem(word: str) -> str:
        folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
        return cut(folded.removesuffix("'s"))

    return stem


def terms_of(topic: Topic, stem: Stem) -> Terms:
    """The terms of a topic: those of its description, and those of its title, which weigh more."""
    terms: dict[tuple[str, ...], bool] = {}
    for text, of_title in ((topic.description, False), (topic.title, True)):
        unspaced_end, before = -1, ""  # of the character of a script without blanks that was the last word
        for match in WORD.finditer(text):
            word = match.group()
            if _ONE_UNSPACED.fullmatch(word):
                if match.start() == unspaced_end and not _HIRAGANA.fullmatch(before + word):
                    terms[before, word] = of_title
                unspaced_end, before = match.end(), word
            elif word.casefold() not in _STOPWORDS and (len(word) > 1 or word.isdigit()):
                terms[(stem(word),)] = of_title
    return terms


def hits_of(text: str, terms: Terms, stem: Stem) -> tuple[list[Span], list[Span]]:
    """Where the terms of the title stand in `text`, and those of the description; what overlaps is one hit.

    In scripts without blanks pairs of characters do overlap.
    """
    words, hits = list(WORD.finditer(text)), list[tuple[int, int, bool]]()
    stems, firsts = [stem(word.group()) for word in words], {term[0] for term in terms}
    for place in [place for place, first in enumerate(stems) if first in firsts]:
        for length in (2, 1):
            term = tuple(stems[place : place + length])
            if term in terms:
                start, end, of_title = words[place].start(), words[place + len(term) - 1].end(), terms[term]
                if hits and start < hits[-1][1]:
                    start, _, of_title = hits.pop()
                hits.append((start, end, of_title))
                break
    titles, others = ([hit[:2] for hit in hits if hit[2] is of_title] for of_title in (True, False))
    return titles, others


def find(text: str, words: str) -> list[Span]:
    """Where `words` stand in `text`, letter for letter but whatever the case; a blank finds any white space."""
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    if not pattern:
        return []
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
