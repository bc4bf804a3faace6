"""BM25 in its variants, and by the collection's own full-text index."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Annotated, Any, Literal

from cranfield.base.registry import Option, deferred
from cranfield.runs import baseline as systems
from cranfield.runs.baseline import Corpus, Query, Ranking, Scorer, TermMatrix

with deferred:
    import numpy as np

_DELTA = {"bm25l": 0.5, "bm25plus": 1.0}
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


@systems.term_system("bm25", summary="BM25 with stemming, in five variants", family="lexical", library="bm25s")
def bm25(
    matrix: TermMatrix,
    *,
    k1: Annotated[float, Option("term frequency saturation", at_least=0.001, at_most=1000)] = 1.2,
    b: Annotated[float, Option("length normalisation", at_least=0, at_most=1)] = 0.75,
    variant: Annotated[
        Literal["lucene", "robertson", "atire", "bm25l", "bm25plus"], Option("the formula")
    ] = "lucene",
) -> Scorer:
    """BM25 by bm25s, with a choice of formula, stemmer and stop words.

        score(q, d) = Σ over the words w of q that occur in d:  idf(w) · tf / (tf + k1 · (1 − b + b · |d| / avgdl))

    for a word in n of N documents, with

        lucene     idf = log(1 + (N − n + 0.5) / (n + 0.5))
        robertson  idf = log((N − n + 0.5) / (n + 0.5)), 0 where that is negative
        atire      idf = log(N / n), and the fraction times (k1 + 1)
        bm25l      idf = log((N + 1) / (n + 0.5)), and (k1 + 1) · (c + δ) / (k1 + c + δ) for the fraction,
                   where c = tf / (1 − b + b · |d| / avgdl) and δ = 0.5
        bm25plus   idf = log((N + 1) / n), and the fraction times (k1 + 1), plus δ = 1

    A repeated query word counts as often as it occurs in the query. A document whose matching words all have idf 0
    is not retrieved. In bm25l and bm25plus, δ counts only for words that occur in the document, as published.

    Source: Robertson et al., "Okapi at TREC-3", 1994; the variants as compared in Kamphuis et al.,
    "Which BM25 Do You Mean?", ECIR 2020; Lv and Zhai, SIGIR 2011 (bm25l) and CIKM 2011 (bm25plus).
    """
    method, delta = "bm25+" if variant == "bm25plus" else variant, _DELTA.get(variant, 0.0)
    index = import_module("bm25s").BM25(k1=k1, b=b, delta=delta, method=method, dtype="float64", backend="numpy")
    if matrix.vocabulary:
        counts = matrix.values
        words = np.repeat(counts.indices, counts.data)
        documents = np.split(words, np.cumsum(np.asarray(counts.sum(axis=1)).ravel())[:-1])
        index.scores = index.build_index_from_ids(range(counts.shape[1]), documents, show_progress=False)
        if index.nonoccurrence_array is not None:
            # bm25s gives δ also for words that are absent from a document. That adds the same to every document, so
            # δ would change nothing; it is moved to where the papers have it.
            index.scores["data"] += np.repeat(index.nonoccurrence_array, np.diff(index.scores["indptr"]))
            index.nonoccurrence_array = None

    def score(query: dict[int, int]) -> tuple[Any, Any]:
        columns = [column for column, times in query.items() for _ in range(times)]
        scores = index.get_scores_from_ids(columns) if columns else np.zeros(len(matrix.documents))
        return scores, scores > 0

    return score


@systems.baseline("fts5", summary="BM25 by SQLite's full-text index; needs no extra", family="lexical")
def fts5(corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
    """BM25 by SQLite's FTS5, over the index that every collection carries.

        score(q, d) = Σ over words w of q:  idf(w) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avgdl))

    tf is the frequency of w in d, |d| the length of d in words, avgdl the mean length; k1 = 1.2 and b = 0.75 are
    fixed, and idf(w) = log((N − n + 0.5) / (n + 0.5)) for a word in n of N documents, at least 0.000001. Each
    word counts once, even if the query repeats it. Punctuation only separates words; there is no phrase search.

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
        yield systems.best(query.topic, tuple(document for document, _ in hits), scores, scores > 0, depth)
