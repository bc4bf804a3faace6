"""The collection's own full-text index."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cranfield.runs.baseline import Corpus, Query, Ranking, best, check_depth
from cranfield.runs.baselines import systems

_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


@systems.register("fts5")
@dataclass(frozen=True)
class Fts5:
    """BM25 by SQLite's FTS5, over the index that every collection carries.

        score(q, d) = Σ over words w of q:  idf(w) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avgdl))

    tf is how often w stands in d, |d| the length of d in words, avgdl the mean length; k1 = 1.2 and b = 0.75 are
    fixed, and idf(w) = log((N − n + 0.5) / (n + 0.5)) for a word in n of N documents, at least 0.000001. Each
    word counts once, however often the query repeats it. Punctuation only separates words: nothing is searched
    as a phrase.

    Source: SQLite's documentation of FTS5, section "The bm25() function".
    """

    summary: ClassVar[str] = "BM25 by SQLite's full-text index; needs nothing else"
    family: ClassVar[str] = "lexical"

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking for each query."""
        import numpy

        check_depth(depth)
        for query in queries:
            words = dict.fromkeys(query.text.translate(_PUNCTUATION).lower().split())
            hits = sorted(_hits(corpus, " ".join(words), depth) if words else [], reverse=True)
            scores = numpy.array([score for _, score in hits], dtype=float)
            yield best(query.topic, tuple(document for document, _ in hits), scores, scores > 0, depth)


def _hits(corpus: Corpus, words: str, depth: int) -> list[tuple[str, float]]:
    """Search as far as a tie at `depth` goes: the index cuts by 64-bit scores, and we round to 32."""
    import numpy

    limit = depth + 1
    while True:
        hits = corpus.search(words, limit)
        if len(hits) < limit or numpy.float32(hits[-1][1]) < numpy.float32(hits[depth - 1][1]):
            return hits
        limit *= 2
