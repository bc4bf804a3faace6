"""The collection's own full-text index."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence

from cranfield.base.registry import deferred
from cranfield.runs.baseline import Corpus, Query, Ranking, baseline, best

with deferred:
    import numpy as np

_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


@baseline("fts5", summary="BM25 by SQLite's full-text index; needs nothing else", family="lexical")
def fts5(corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
    """BM25 by SQLite's FTS5, over the index that every collection carries.

        score(q, d) = Σ over words w of q:  idf(w) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avgdl))

    tf is how often w stands in d, |d| the length of d in words, avgdl the mean length; k1 = 1.2 and b = 0.75 are
    fixed, and idf(w) = log((N − n + 0.5) / (n + 0.5)) for a word in n of N documents, at least 0.000001. Each
    word counts once, however often the query repeats it. Punctuation only separates words: nothing is searched
    as a phrase.

    Source: SQLite's documentation of FTS5, section "The bm25() function".
    """
    for query in queries:
        words = " ".join(dict.fromkeys(query.text.translate(_PUNCTUATION).lower().split()))
        limit = depth + 1
        hits = corpus.search(words, limit) if words else []
        # As far as a tie at `depth` goes: the index cuts by 64-bit scores, and we round to 32.
        while len(hits) == limit and np.float32(hits[-1][1]) >= np.float32(hits[depth - 1][1]):
            limit *= 2
            hits = corpus.search(words, limit)
        hits = sorted(hits, reverse=True)
        scores = np.array([score for _, score in hits], dtype=float)
        yield best(query.topic, tuple(document for document, _ in hits), scores, scores > 0, depth)
