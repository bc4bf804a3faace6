"""The vector space with tf-idf weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cranfield.runs.baseline import (
    Analyser,
    Corpus,
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


@systems.register("tfidf")
@dataclass(frozen=True)
class TfIdf:
    """The cosine between query and document as tf-idf vectors, by scikit-learn.

        weight(w, d) = (1 + log tf) · (1 + log((N + 1) / (n + 1)))
        score(q, d)  = Σ over words w: weight(w, q) · weight(w, d) / (‖q‖ · ‖d‖)

    for a word that stands tf times in d and in n of N documents; ‖d‖ is the length of the vector of d. Words of
    the query that no document has do not count.

    Source: Salton and Buckley, "Term-weighting approaches in automatic text retrieval", IP&M 24, 1988; the
    smoothing of idf is scikit-learn's.
    """

    stemmer: Stemmer = "english"
    stopwords: Stopwords = "english"

    summary: ClassVar[str] = "cosine of tf-idf vectors"
    family: ClassVar[str] = "lexical"

    def __post_init__(self) -> None:
        check_options(self)

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking for each query."""
        check_depth(depth)
        analyser = Analyser("tfidf", self.stemmer, self.stopwords)
        space = vector_space(corpus, analyser.terms, system="tfidf")
        for query in queries:
            scores = space.cosines(space.vector(analyser.terms(query.text)))
            yield best(query.topic, space.matrix.documents, scores, scores > 0, depth)


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
