"""Pseudo-relevance feedback by relevance models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from cranfield.base.registry import Option, deferred
from cranfield.runs.baseline import (
    Analyser,
    Corpus,
    Query,
    Ranking,
    Stemmer,
    Stopwords,
    baseline,
    best,
    best_rows,
    term_matrix,
)
from cranfield.runs.baselines.dirichlet import DocumentModels, Smoothing

with deferred:
    import numpy as np


@baseline("rm3", summary="pseudo-relevance feedback: relevance model RM3 on dirichlet", family="feedback")
def rm3(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    fb_docs: Annotated[int, Option("how many of the first results are believed", at_least=1)] = 10,
    fb_terms: Annotated[int, Option("how many of their words the query takes over", at_least=1)] = 20,
    original: Annotated[float, Option("the share the user's own words keep", at_least=0, at_most=1)] = 0.5,
    mu: Smoothing = 1000.0,
    stemmer: Stemmer = "english",
    stopwords: Stopwords = "english",
) -> Iterator[Ranking]:
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
    analyser = Analyser("rm3", stemmer, stopwords)
    models = DocumentModels(term_matrix(corpus, analyser.terms, system="rm3"), mu)
    for query in queries:
        known = models.matrix.known(analyser.terms(query.text))
        relevant = _relevance_model(models, known, fb_docs, fb_terms) if known else {}
        weights = dict.fromkeys(sorted({*known, *relevant}), 0.0)
        for column, times in known.items():
            weights[column] += original * times / sum(known.values())
        for column, share in relevant.items():
            weights[column] += (1 - original) * share
        expanded = {column: weight for column, weight in weights.items() if weight > 0}
        yield best(query.topic, models.matrix.documents, *models.likelihoods(expanded), depth)


def _relevance_model(models: DocumentModels, known: dict[int, int], fb_docs: int, fb_terms: int) -> dict[int, float]:
    """Give P(w | R) of the likeliest words, by column."""
    scores, found = models.likelihoods(known)
    rows = best_rows(scores, found, fb_docs)
    likelihoods = np.exp(scores[rows] - scores[rows].max())
    shares = likelihoods / likelihoods.sum() / models.lengths[rows]
    words = np.asarray(models.matrix.values[rows].T @ shares).ravel()
    columns = np.argsort(-words, kind="stable")[:fb_terms]
    columns = columns[words[columns] > 0]
    return dict(zip(columns.tolist(), (words[columns] / words[columns].sum()).tolist(), strict=True))
