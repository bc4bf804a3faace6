"""BM25 in its variants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from cranfield.runs.baseline import (
    Analyser,
    Corpus,
    Option,
    Query,
    Ranking,
    Stemmer,
    Stopwords,
    TermMatrix,
    best,
    check_depth,
    check_options,
    library_for,
    term_matrix,
)
from cranfield.runs.baselines import systems

Variant = Literal["lucene", "robertson", "atire", "bm25l", "bm25plus"]

_DELTA = {"bm25l": 0.5, "bm25plus": 1.0}


@systems.register("bm25")
@dataclass(frozen=True)
class Bm25:
    """BM25 by bm25s, with a choice of formula, stemmer and stop words.

        score(q, d) = Σ over the words w of q that stand in d:  idf(w) · tf / (tf + k1 · (1 − b + b · |d| / avgdl))

    for a word in n of N documents, with

        lucene     idf = log(1 + (N − n + 0.5) / (n + 0.5))
        robertson  idf = log((N − n + 0.5) / (n + 0.5)), 0 where that is negative
        atire      idf = log(N / n), and the fraction times (k1 + 1)
        bm25l      idf = log((N + 1) / (n + 0.5)), and (k1 + 1) · (c + δ) / (k1 + c + δ) for the fraction,
                   where c = tf / (1 − b + b · |d| / avgdl) and δ = 0.5
        bm25plus   idf = log((N + 1) / n), and the fraction times (k1 + 1), plus δ = 1

    A word that the query repeats counts as often as it stands there. A document whose words are all worth
    nothing (idf 0) is not retrieved. In bm25l and bm25plus δ counts only for words that stand in the document,
    as published.

    Source: Robertson et al., "Okapi at TREC-3", 1994; the variants as set side by side in Kamphuis et al.,
    "Which BM25 Do You Mean?", ECIR 2020; Lv and Zhai, SIGIR 2011 (bm25l) and CIKM 2011 (bm25plus).
    """

    k1: Annotated[float, Option("how long a repeated word goes on counting", at_least=0.001, at_most=1000)] = 1.2
    b: Annotated[float, Option("how much long documents are held back", at_least=0, at_most=1)] = 0.75
    variant: Annotated[Variant, Option("the formula")] = "lucene"
    stemmer: Stemmer = "english"
    stopwords: Stopwords = "english"

    summary: ClassVar[str] = "BM25 with stemming, in five variants"
    family: ClassVar[str] = "lexical"

    def __post_init__(self) -> None:
        check_options(self)

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking for each query."""
        check_depth(depth)
        library = library_for("bm25", "bm25s")
        analyser = Analyser("bm25", self.stemmer, self.stopwords)
        matrix = term_matrix(corpus, analyser.terms, system="bm25")
        index = self._index(library, matrix) if matrix.vocabulary else None
        for query in queries:
            columns = [
                column for column, times in matrix.known(analyser.terms(query.text)).items() for _ in range(times)
            ]
            if index is None or not columns:
                yield Ranking(query.topic, (), ())
                continue
            scores = index.get_scores_from_ids(columns)
            yield best(query.topic, matrix.documents, scores, scores > 0, depth)

    def _index(self, library: Any, matrix: TermMatrix) -> Any:
        """Index the documents.

        bm25s gives δ also for words that are absent from a document. That adds the same to every document, so δ
        would change nothing; it is moved to where the papers have it.
        """
        import numpy

        method = "bm25+" if self.variant == "bm25plus" else self.variant
        delta = _DELTA.get(self.variant, 0.0)
        index = library.BM25(k1=self.k1, b=self.b, delta=delta, method=method, dtype="float64", backend="numpy")
        counts = matrix.values
        words = numpy.repeat(counts.indices, counts.data)
        lengths = numpy.asarray(counts.sum(axis=1)).ravel()
        documents = numpy.split(words, numpy.cumsum(lengths)[:-1])
        index.scores = index.build_index_from_ids(range(counts.shape[1]), documents, show_progress=False)
        if index.nonoccurrence_array is not None:
            index.scores["data"] += numpy.repeat(index.nonoccurrence_array, numpy.diff(index.scores["indptr"]))
            index.nonoccurrence_array = None
        return index
