"""Query likelihood under smoothed document models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from cranfield.base.registry import Option, deferred
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
    term_matrix,
)

with deferred:
    import numpy as np

Smoothing = Annotated[
    float, Option("how many words of the collection each document is smoothed with", at_least=0.1, at_most=1e9)
]


@baseline("dirichlet", summary="query likelihood with Dirichlet smoothing", family="lexical")
def dirichlet(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    mu: Smoothing = 1000.0,
    stemmer: Stemmer = "english",
    stopwords: Stopwords = "english",
) -> Iterator[Ranking]:
    """The likelihood of the query under a language model of the document with Dirichlet smoothing.

        score(q, d) = Σ over words w of q: log(1 + tf / (μ · p(w))) + |q| · log(μ / (μ + |d|))

    tf is how often w stands in d, p(w) its share of all words of the collection, |d| and |q| the lengths in
    words. This is log P(q | d) without what is the same for all documents, Σ log p(w). A word that the query
    repeats counts as often as it stands there; a word that no document has does not count at all, neither in |q|.
    Only documents with a word of the query are ranked, and their scores may be negative.

    Source: Zhai and Lafferty, "A study of smoothing methods for language models applied to ad hoc information
    retrieval", SIGIR 2001.
    """
    analyser = Analyser("dirichlet", stemmer, stopwords)
    models = DocumentModels(term_matrix(corpus, analyser.terms, system="dirichlet"), mu)
    for query in queries:
        scores, found = models.likelihoods(models.matrix.known(analyser.terms(query.text)))
        yield best(query.topic, models.matrix.documents, scores, found, depth)


@dataclass(frozen=True)
class DocumentModels:
    """A language model of each document, smoothed with `mu` words of the collection."""

    matrix: TermMatrix
    mu: float

    @cached_property
    def lengths(self) -> Any:
        """How many words each document has."""
        return np.asarray(self.matrix.values.sum(axis=1)).ravel()

    def likelihoods(self, weights: Mapping[int, float]) -> tuple[Any, Any]:
        """Give the score of each document for a query of weighted words, and which documents have one of them."""
        postings, words = self.matrix.postings, self.lengths.sum()
        scores = sum(weights.values()) * np.log(self.mu / (self.mu + self.lengths))
        found = np.zeros(len(scores), dtype=bool)
        for column, weight in weights.items():
            here = slice(postings.indptr[column], postings.indptr[column + 1])
            rows, counts = postings.indices[here], postings.data[here]
            scores[rows] += weight * np.log1p(counts * (words / (self.mu * counts.sum())))
            found[rows] = True
        return scores, found
