"""Pseudo-relevance feedback by relevance models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from cranfield.runs.baseline import (
    Analyser,
    Corpus,
    Option,
    Query,
    Ranking,
    Stemmer,
    Stopwords,
    best,
    best_rows,
    check_depth,
    check_options,
    term_matrix,
)
from cranfield.runs.baselines import systems
from cranfield.runs.baselines.dirichlet import DocumentModels, Smoothing


@systems.register("rm3")
@dataclass(frozen=True)
class Rm3:
    """Query likelihood for a query that has grown by the words of its own first results.

        P(w | R)  = Σ over the first fb_docs documents d: (tf / |d|) · P(q | d) / Σ P(q | d')
        P(w | q') = original · P(w | q) + (1 − original) · P(w | R)
        score     = Σ over words w: P(w | q') · log(1 + tf / (μ · p(w))) + log(μ / (μ + |d|))

    The first results and their P(q | d) come from query likelihood with Dirichlet smoothing (the system
    dirichlet with the same mu, stemmer and stop words). Of P(w | R) the fb_terms likeliest words are kept, ties
    by alphabet, and brought to a sum of 1. P(w | q) is the word's share of the query. With original = 1 the
    order is that of dirichlet.

    Source: Lavrenko and Croft, "Relevance-based language models", SIGIR 2001; Abdul-Jaleel et al., "UMass at TREC
    2004: Novelty and HARD".
    """

    fb_docs: Annotated[int, Option("how many of the first results are believed", at_least=1)] = 10
    fb_terms: Annotated[int, Option("how many of their words the query takes over", at_least=1)] = 20
    original: Annotated[float, Option("the share the user's own words keep", at_least=0, at_most=1)] = 0.5
    mu: Smoothing = 1000.0
    stemmer: Stemmer = "english"
    stopwords: Stopwords = "english"

    summary: ClassVar[str] = "pseudo-relevance feedback: relevance model RM3 on dirichlet"
    family: ClassVar[str] = "feedback"

    def __post_init__(self) -> None:
        check_options(self)

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking for each query."""
        check_depth(depth)
        analyser = Analyser("rm3", self.stemmer, self.stopwords)
        models = DocumentModels(term_matrix(corpus, analyser.terms, system="rm3"), self.mu)
        for query in queries:
            scores, found = models.likelihoods(self.expanded(models, analyser.terms(query.text)))
            yield best(query.topic, models.matrix.documents, scores, found, depth)

    def expanded(self, models: DocumentModels, terms: Sequence[str]) -> dict[int, float]:
        """Give P(w | q') by column. A query that no document answers stays empty."""
        known = models.matrix.known(terms)
        if not known:
            return {}
        relevant = self._relevance_model(models, *models.likelihoods(known))
        weights = dict.fromkeys(sorted({*known, *relevant}), 0.0)
        for column, times in known.items():
            weights[column] += self.original * times / sum(known.values())
        for column, share in relevant.items():
            weights[column] += (1 - self.original) * share
        return {column: weight for column, weight in weights.items() if weight > 0}

    def _relevance_model(self, models: DocumentModels, scores: Any, found: Any) -> dict[int, float]:
        import numpy

        rows = best_rows(scores, found, self.fb_docs)
        likelihoods = numpy.exp(scores[rows] - scores[rows].max())
        shares = likelihoods / likelihoods.sum() / models.lengths[rows]
        words = numpy.asarray(models.matrix.values[rows].T @ shares).ravel()
        columns = numpy.argsort(-words, kind="stable")[: self.fb_terms]
        columns = columns[words[columns] > 0]
        return dict(zip(columns.tolist(), (words[columns] / words[columns].sum()).tolist(), strict=True))
