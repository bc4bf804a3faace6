"""The vector space with tf-idf weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cranfield.runs.baseline import (
    Analyser,
    Corpus,
    Query,
    Ranking,
    Stemmer,
    Stopwords,
    TermMatrix,
    baseline,
    best,
    library_for,
    term_matrix,
)


@baseline("tfidf", summary="cosine of tf-idf vectors", family="lexical")
def tfidf(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    stemmer: Stemmer = "english",
    stopwords: Stopwords = "english",
) -> Iterator[Ranking]:
    """The cosine between query and document as tf-idf vectors, by scikit-learn.

        weight(w, d) = (1 + log tf) · (1 + log((N + 1) / (n + 1)))
        score(q, d)  = Σ over words w: weight(w, q) · weight(w, d) / (‖q‖ · ‖d‖)

    for a word that stands tf times in d and in n of N documents; ‖d‖ is the length of the vector of d. Words of
    the query that no document has do not count.

    Source: Salton and Buckley, "Term-weighting approaches in automatic text retrieval", IP&M 24, 1988; the
    smoothing of idf is scikit-learn's.
    """
    return rank_by_cosine(corpus, queries, depth, Analyser("tfidf", stemmer, stopwords).terms, system="tfidf")


@dataclass(frozen=True)
class VectorSpace:
    """Documents as rows of length 1, and the weighting that makes such a row of a query."""

    matrix: TermMatrix
    weighting: Any

    def vector(self, terms: Sequence[str]) -> Any:
        """Give a query as a sparse row of length 1, or of length 0 when no document has any of its terms."""
        row = self.matrix.row(self.matrix.known(terms))
        return self.weighting.transform(row) if row.nnz else row

    def cosines(self, row: Any) -> Any:
        """Give the cosine of each document with a row of length 1."""
        return self.matrix.postings[:, row.indices] @ row.data


def vector_space(corpus: Corpus, terms: Callable[[str], list[str]], *, system: str) -> VectorSpace:
    """Count the terms of the documents and weight them by tf-idf."""
    text = library_for(system, "sklearn.feature_extraction.text")
    counts = term_matrix(corpus, terms, system=system)
    weighting = text.TfidfTransformer(sublinear_tf=True)
    vectors = weighting.fit_transform(counts.values) if counts.vocabulary else counts.values
    return VectorSpace(replace(counts, values=vectors), weighting)


def rank_by_cosine(
    corpus: Corpus, queries: Sequence[Query], depth: int, terms: Callable[[str], list[str]], *, system: str
) -> Iterator[Ranking]:
    """Rank documents by the cosine of their tf-idf vector and the query's."""
    space = vector_space(corpus, terms, system=system)
    for query in queries:
        scores = space.cosines(space.vector(terms(query.text)))
        yield best(query.topic, space.matrix.documents, scores, scores > 0, depth)
