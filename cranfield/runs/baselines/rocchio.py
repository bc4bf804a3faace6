"""Pseudo-relevance feedback in the vector space."""

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
)
from cranfield.runs.baselines import systems
from cranfield.runs.baselines.tfidf import VectorSpace, vector_space


@systems.register("rocchio")
@dataclass(frozen=True)
class Rocchio:
    """The cosine with a query that has moved towards the middle of its own first results.

        q' = alpha · q + beta · (mean of the first fb_docs document vectors)

    q and the documents are the tf-idf vectors of the system tfidf, of length 1. Of the mean the fb_terms heaviest
    words are kept, ties by alphabet. The score is the cosine of q' and d. With beta = 0 the order is that of
    tfidf.

    Source: Rocchio, "Relevance feedback in information retrieval", in The SMART Retrieval System, 1971, without
    its term for documents known not to be relevant.
    """

    fb_docs: Annotated[int, Option("how many of the first results are believed", at_least=1)] = 5
    fb_terms: Annotated[int, Option("how many of their words the query takes over", at_least=1)] = 50
    alpha: Annotated[float, Option("the weight of the user's own words", at_least=0.001, at_most=1000)] = 1.0
    beta: Annotated[float, Option("the weight of the first results", at_least=0, at_most=1000)] = 1.0
    stemmer: Stemmer = "english"
    stopwords: Stopwords = "english"

    summary: ClassVar[str] = "pseudo-relevance feedback: Rocchio on tfidf"
    family: ClassVar[str] = "feedback"

    def __post_init__(self) -> None:
        check_options(self)

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking for each query."""
        check_depth(depth)
        analyser = Analyser("rocchio", self.stemmer, self.stopwords)
        space = vector_space(corpus, analyser.terms, system="rocchio")
        for query in queries:
            scores = space.cosines(self._moved(space, space.vector(analyser.terms(query.text))))
            yield best(query.topic, space.matrix.documents, scores, scores > 0, depth)

    def _moved(self, space: VectorSpace, query: Any) -> Any:
        import numpy

        scores = space.cosines(query)
        rows = best_rows(scores, scores > 0, self.fb_docs)
        if not len(rows):
            return query
        middle = numpy.asarray(space.matrix.values[rows].mean(axis=0)).ravel()
        columns = numpy.sort(numpy.argsort(-middle, kind="stable")[: self.fb_terms])
        weights = dict(zip(columns.tolist(), middle[columns].tolist(), strict=True))
        moved = self.alpha * query + self.beta * space.matrix.row(weights)
        return moved / numpy.sqrt(moved.multiply(moved).sum())
