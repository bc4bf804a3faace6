"""Where a document speaks the words of the topic: terms, hits, the densest passage.

A term is one word, or several that must stand together, each cut to its stem. Words of the topic's title weigh most,
those of the description less; the assessor's own terms weigh as much as the title's. In scripts without blanks
neighbouring pairs of characters are the words.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from assessor_ui.page import Span
from assessor_ui.wrapping import UNSPACED
from cranfield.errors import UnknownName
from cranfield.records import Topic

Source = Literal["title", "description", "own"]
WEIGHTS: dict[Source, float] = {"title": 1.0, "description": 0.3, "own": 1.0}
WINDOW = 400
"""Characters of the passage that `densest` looks for: about five lines."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20f0\ufe20-\ufe2f\u200c\u200d"
)
_WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{_MARKS}]|['’](?=\w))*")
_ONE_UNSPACED = re.compile(rf"[{UNSPACED}]")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_STOPWORDS = """
    a about above after again against all also although am among an and any are as at be because been before being
    below between both but by can cannot could did do does doing done down during each either else ever every few for
    from further get give gives had has have having he hence her here hers him his how however i if in into is it its
    itself just may me might mine more most must my neither no nor not of off on once one only or other others ought
    our ours out over own per quite rather same shall she should since so some still such than that the their theirs
    them then there therefore these they this those through thus to too under until up upon us very was we were what
    when where whether which while who whom whose why will with within without would yet you your yours best way
    find document documents relevant information
"""
"""Words without a subject of their own, and those every description uses."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word, or several that must stand together, cut to their stems."""

    stems: tuple[str, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a term stands."""

    start: int
    end: int
    term: Term

    @property
    def source(self) -> Source:
        """Where its term comes from."""
        return self.term.source


class Stems:
    """Cuts words of one language to their stems, and remembers them: texts repeat themselves."""

    def __init__(self, language: str = "english") -> None:
        self._cut = _stemmer(language)
        self._known: dict[str, str] = {}

    def __call__(self, word: str) -> str:
        """Give the stem of a word, whatever its case and its form of writing."""
        known = self._known.get(word)
        if known is None:
            folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
            known = self._known[word] = self._cut(folded.removesuffix("'s"))
        return known


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    if language == "none":
        return str
    import snowballstemmer

    if language not in snowballstemmer.algorithms():
        raise UnknownName("language", language, ["none", *snowballstemmer.algorithms()])
    cut: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return cut


@cache
def _left_out() -> frozenset[str]:
    return frozenset(_STOPWORDS.split())


def words_of(text: str) -> Iterator[re.Match[str]]:
    """Give the words of a text with their places; a character of a script without blanks is a word of its own."""
    return _WORD.finditer(text)


def terms_of(topic: Topic, own: Iterable[str], stems: Stems) -> tuple[Term, ...]:
    """Give the terms of a topic and the assessor's own, the heavier source first where they agree."""
    found: dict[tuple[str, ...], Source] = {}
    for phrase in own:
        words = tuple(stems(word.group()) for word in words_of(phrase))
        if words:
            found.setdefault(words, "own")
    for words in _topic_terms(topic.title, stems):
        found.setdefault(words, "title")
    for words in _topic_terms(topic.description, stems):
        found.setdefault(words, "description")
    return tuple(Term(words, source) for words, source in found.items())


def _topic_terms(text: str, stems: Stems) -> Iterator[tuple[str, ...]]:
    previous: re.Match[str] | None = None
    for word in words_of(text):
        if _ONE_UNSPACED.fullmatch(word.group()):
            pair = f"{previous.group()}{word.group()}" if previous and previous.end() == word.start() else ""
            if pair and not _HIRAGANA.fullmatch(pair):
                yield tuple(pair)
            previous = word
            continue
        previous = None
        if word.group().casefold() not in _left_out() and (len(word.group()) > 1 or word.group().isdigit()):
            yield (stems(word.group()),)


def hits_of(text: str, terms: Sequence[Term], stems: Stems) -> tuple[Hit, ...]:
    """Give where the terms stand in `text`, in order; where two overlap, the longer term stays."""
    longest = max((len(term.stems) for term in terms), default=1)
    by_first: dict[str, list[Term]] = {}
    for term in sorted(terms, key=lambda term: -len(term.stems)):
        by_first.setdefault(term.stems[0], []).append(term)
    hits: list[Hit] = []
    for place, word in enumerate(words := list(words_of(text)) if longest > 1 else words_of(text)):
        for term in by_first.get(stems(word.group()), ()):
            run = words[place : place + len(term.stems)] if isinstance(words, list) else [word]
            if tuple(stems(each.group()) for each in run) == term.stems:
                hits.append(Hit(word.start(), run[-1].end(), term))
                break
    return tuple(_without_overlap(hits))


def _without_overlap(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Join what overlaps: pairs of characters do, in scripts without blanks."""
    last: Hit | None = None
    for hit in hits:
        if last is not None and hit.start < last.end:
            last = Hit(last.start, max(last.end, hit.end), last.term)
            continue
        if last is not None:
            yield last
        last = hit
    if last is not None:
        yield last


def densest(hits: Sequence[Hit], *, window: int = WINDOW) -> Span | None:
    """Give the passage with the most of the topic in it: from its first hit to its last; None without hits.

    Different terms count by their weight, further hits of the same term a tenth of it; the earliest passage wins.
    """
    best, passage, worth, last = 0.0, None, 0.0, 0
    seen: Counter[Term] = Counter()
    for opening in hits:
        while last < len(hits) and hits[last].end <= max(opening.start + window, opening.end):
            worth += _worth(hits[last].term, seen[hits[last].term])
            seen[hits[last].term] += 1
            last += 1
        if worth > best + 1e-9:
            best, passage = worth, (opening.start, hits[last - 1].end)
        seen[opening.term] -= 1
        worth -= _worth(opening.term, seen[opening.term])
    return passage


def _worth(term: Term, before: int) -> float:
    """Give what one more hit of a term adds to a passage that has it `before` times."""
    return WEIGHTS[term.source] * (0.1 if before else 1.1)


def find(text: str, words: str) -> tuple[Span, ...]:
    """Give where `words` stand in `text`, letter for letter but whatever the case; a blank finds any white space."""
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    if not pattern:
        return ()
    return tuple(match.span() for match in re.finditer(pattern, text, re.IGNORECASE))
