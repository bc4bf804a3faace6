"""From text to terms: how the baseline systems see documents and queries.

Text is made comparable (NFKC, case folded) and cut into words: runs of letters, digits and the marks that belong
to them. Scripts written without spaces (Han, Hiragana, Katakana) give one word per character. Then stop words go
and a Snowball stemmer cuts endings. Queries and documents take the same way.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, Literal

from cranfield.errors import MissingExtra, UnknownName
from cranfield.records import Document
from cranfield.runs.options import Option

Stemmer = Annotated[str, Option("Snowball stemmer by its language: english, german, russian …; none for whole words")]
Stopwords = Annotated[Literal["none", "english"], Option("function words that are left out")]

_STOPWORDS = {
    "none": "",
    "english": """
        a about above after again against all also although am among an and any are aren as at be became because
        become been before being below between both but by can cannot could couldn d did didn do does doesn doing
        don done down during each either else ever every few for from further get had has hasn have haven having
        he hence her here hers herself him himself his how however i if in into is isn it its itself just ll m may
        me might mine more most must my myself neither no nor not now of off on once one only or other others
        ought our ours ourselves out over own per quite rather re s same shall she should shouldn since so some
        still such t than that the their theirs them themselves then there therefore these they this those through
        thus to too under until up upon us ve very was wasn we were weren what when where whether which while who
        whom whose why will with within without won would wouldn yet you your yours yourself yourselves
    """,
}
"""Words without a subject of their own, and what is left of don't, they're and the like after cutting."""

_UNSPACED = ("CJK ", "HIRAGANA ", "KATAKANA ")


@dataclass(frozen=True)
class Analyser:
    """Turns text into terms. `system` names the system that asks, for the message when a library is missing."""

    system: str
    stemmer: str = "none"
    stopwords: str = "none"

    def terms(self, text: str) -> list[str]:
        """Give the terms of `text` in order, with repetitions."""
        kept = [word for word in self.words(text) if word not in self._left_out]
        return self._stems(kept)

    def words(self, text: str) -> list[str]:
        """Give the words of `text`, folded, before stop words and stemming."""
        return unicodedata.normalize("NFKC", text).casefold().translate(self._cuts).split()

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return frozenset(_STOPWORDS[self.stopwords].split())

    @cached_property
    def _cuts(self) -> "_Cuts":
        return _Cuts()

    @cached_property
    def _stems(self) -> Callable[[list[str]], list[str]]:
        if self.stemmer == "none":
            return list
        library = library_for(self.system, "Stemmer")
        if self.stemmer not in library.algorithms():
            raise UnknownName("stemmer", self.stemmer, ["none", *library.algorithms()])
        stems: Callable[[list[str]], list[str]] = library.Stemmer(self.stemmer).stemWords
        return stems


class _Cuts(dict[int, str]):
    """What each character becomes before text is split at blanks. It fills itself: texts use few characters."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.category(letter)[0] not in "LNM":
            cut = " "
        elif unicodedata.name(letter, "").startswith(_UNSPACED):
            cut = f" {letter} "
        else:
            cut = letter
        self[code] = cut
        return cut


def full_text(document: Document) -> str:
    """Give what of a document is indexed: title and text."""
    return f"{document.title}\n{document.text}"


def library_for(system: str, module: str) -> Any:
    """Import a library of the extra `baselines`, or say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"the system {system!r}", "baselines") from None
