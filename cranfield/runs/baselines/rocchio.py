"""Pseudo-relevance feedback in the vector space."""

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
)
from cranfield.runs.baselines.tfidf import vector_space

with deferred:
    import numpy as np


@baseline("rocchio", summary="pseudo-relevance feedback: Rocchio on tfidf", family="feedback")
def rocchio(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    fb_docs: Annotated[int, Option("how many of the first results are believed", at_least=1)] = 5,
    fb_terms: Annotated[int, Option("how many of their words the query takes over", at_least=1)] = 50,
    alpha: Annotated[float, Option("the weight of the user's own words", at_least=0.001, at_most=1000)] = 1.0,
    beta: Annotated[float, Option("the weight of the first results", at_least=0, at_most=1000)] = 1.0,
    stemmer: Stemmer = "english",
    stopwords: Stopwords = "english",
) -> Iterator[Ranking]:
    """The cosine with a query that has moved towards the middle of its own first results.

        q' = alpha · q + beta · (mean of the first fb_docs document vectors)

    q and the documents are the tf-idf vectors of the system tfidf, of length 1. Of the mean the fb_terms heaviest
    words are kept, ties by alphabet. The score is the cosine of q' and d. With beta = 0 the order is that of
    tfidf.

    Source: Rocchio, "Relevance feedback in information retrieval", in The SMART Retrieval System, 1971, without
    its term for documents known not to be relevant.
    """
    analyser = Analyser("rocchio", stemmer, stopwords)
    space = vector_space(corpus, analyser.terms, system="rocchio")
    for query in queries:
        vector = space.vector(analyser.terms(query.text))
        scores = space.cosines(vector)
        rows = best_rows(scores, scores > 0, fb_docs)
        if len(rows):
            middle = np.asarray(space.matrix.values[rows].mean(axis=0)).ravel()
            columns = np.sort(np.argsort(-middle, kind="stable")[:fb_terms])
            weights = dict(zip(columns.tolist(), middle[columns].tolist(), strict=True))
            moved = alpha * vector + beta * space.matrix.row(weights)
            scores = space.cosines(moved / np.sqrt(moved.multiply(moved).sum()))
        yield best(query.topic, space.matrix.documents, scores, scores > 0, depth)
