"""Language models: query likelihood under smoothed document models, and relevance models on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from cranfield.base.registry import Option, deferred
from cranfield.runs import baseline as systems
from cranfield.runs.baseline import Scorer, TermMatrix

with deferred:
    import numpy as np

Smoothing = Annotated[float, Option("the smoothing parameter μ, in words", at_least=0.1, at_most=1e9)]


@systems.term_system("dirichlet", summary="query likelihood with Dirichlet smoothing", family="lexical")
def dirichlet(matrix: TermMatrix, *, mu: Smoothing = 1000.0) -> Scorer:
    """The likelihood of the query under a language model of the document with Dirichlet smoothing.

        score(q, d) = Σ over words w of q: log(1 + tf / (μ · p(w))) + |q| · log(μ / (μ + |d|))

    tf is the frequency of w in d, p(w) its share of all words of the collection, |d| and |q| the lengths in
    words. This is log P(q | d) without Σ log p(w), which is the same for all documents. A repeated query word
    counts as often as it occurs in the query; a word that occurs in no document is ignored, also in |q|. Only
    documents with a query word are ranked; their scores may be negative.

    Source: Zhai and Lafferty, "A study of smoothing methods for language models applied to ad hoc information
    retrieval", SIGIR 2001.
    """
    return DocumentModels(matrix, mu).likelihoods


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
        """The score of each document for a query of weighted words, and which documents have one of them."""
        postings, words = self.matrix.postings, self.lengths.sum()
        scores = sum(weights.values()) * np.log(self.mu / (self.mu + self.lengths))
        found = np.zeros(len(scores), dtype=bool)
        for column, weight in weights.items():
            here = slice(postings.indptr[column], postings.indptr[column + 1])
            rows, counts = postings.indices[here], postings.data[here]
            scores[rows] += weight * np.log1p(counts * (words / (self.mu * counts.sum())))
            found[rows] = True
        return scores, found


@systems.term_system("rm3", summary="pseudo-relevance feedback: relevance model RM3 on dirichlet", family="feedback")
def rm3(
    matrix: TermMatrix,
    *,
    fb_docs: systems.FeedbackDocuments = 10,
    fb_terms: systems.FeedbackTerms = 20,
    original: Annotated[float, Option("weight of the original query", at_least=0, at_most=1)] = 0.5,
    mu: Smoothing = 1000.0,
) -> Scorer:
    """Query likelihood for a query expanded with words of its top-ranked documents.

        P(w | R)  = Σ over the top fb_docs documents d: (tf / |d|) · P(q | d) / Σ P(q | d')
        P(w | q') = original · P(w | q) + (1 − original) · P(w | R)
        score     = Σ over words w: P(w | q') · log(1 + tf / (μ · p(w))) + log(μ / (μ + |d|))

    The feedback documents and their P(q | d) come from query likelihood with Dirichlet smoothing (the system
    dirichlet with the same mu, stemmer and stop words). Of P(w | R) the fb_terms most probable words are kept (ties
    in alphabetical order) and normalised to a sum of 1. P(w | q) is the relative frequency of the word in the query.
    With original = 1 the ranking is that of dirichlet.

    Source: Lavrenko and Croft, "Relevance-based language models", SIGIR 2001; Abdul-Jaleel et al., "UMass at TREC
    2004: Novelty and HARD".
    """
    models = DocumentModels(matrix, mu)

    def score(query: dict[int, int]) -> tuple[Any, Any]:
        relevant: dict[int, float] = {}
        if query:  # P(w | R) of the most probable words, by column
            scores, found = models.likelihoods(query)
            rows = systems.best_rows(scores, found, fb_docs)
            likelihoods = np.exp(scores[rows] - scores[rows].max())
            shares = likelihoods / likelihoods.sum() / models.lengths[rows]
            words = np.asarray(models.matrix.values[rows].T @ shares).ravel()
            columns = np.argsort(-words, kind="stable")[:fb_terms]
            columns = columns[words[columns] > 0]
            relevant = dict(zip(columns.tolist(), (words[columns] / words[columns].sum()).tolist(), strict=True))
        weights = dict.fromkeys(sorted({*query, *relevant}), 0.0)
        for column, times in query.items():
            weights[column] += original * times / sum(query.values())
        for column, share in relevant.items():
            weights[column] += (1 - original) * share
        return models.likelihoods({column: weight for column, weight in weights.items() if weight > 0})

    return score
