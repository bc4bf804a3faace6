"""Latent semantic analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from cranfield.base.text import counted
from cranfield.runs.baseline import (
    Analyser,
    Corpus,
    Option,
    Query,
    Ranking,
    Stemmer,
    Stopwords,
    best,
    check_depth,
    check_options,
    library_for,
)
from cranfield.runs.baselines import systems
from cranfield.runs.baselines.tfidf import vector_space

_NOTHING = 1e-6
"""A cosine, or a share of the largest singular value, that is only the noise of the arithmetic."""


@systems.register("lsa")
@dataclass(frozen=True)
class Lsa:
    """The cosine of query and document in a space of few dimensions, where words that occur together are near.

        X ≈ U · S · Vᵀ        X has the tf-idf vectors of the system tfidf as rows; only the `dims` largest
                              singular values are kept
        score(q, d) = cosine of q · V and d · V

    A document can be found without having a word of the query. Documents whose cosine is not above 0 are not
    retrieved. More dimensions than documents or words (strictly: than the rank of X) change nothing: the order
    is then that of tfidf. In a small collection give clearly fewer dimensions than it has documents, such as a
    quarter: with about as many, little more is found than tfidf finds. The decomposition is randomised with a fixed
    seed, so it comes out the same each time.

    Source: Deerwester et al., "Indexing by latent semantic analysis", JASIS 41, 1990; Halko et al., "Finding
    structure with randomness", SIAM Review 53, 2011, for the decomposition (scikit-learn's randomized_svd).
    """

    dims: Annotated[int, Option("how many dimensions are kept", at_least=1, at_most=1000)] = 100
    stemmer: Stemmer = "english"
    stopwords: Stopwords = "english"

    summary: ClassVar[str] = "latent semantic analysis: finds documents without the query's words"
    family: ClassVar[str] = "latent"

    def __post_init__(self) -> None:
        check_options(self)

    def doubt(self, documents: int) -> str:
        """Say that so many dimensions bring nothing together in so few documents; empty up to half as many."""
        fewer = max(documents // 4, 1)
        if self.dims * 2 <= documents or self.dims <= fewer:
            return ""
        return (
            f"lsa keeps {counted(self.dims, 'dimension')} of {counted(documents, 'document')}, and so finds little"
            f" more than tfidf; fewer dimensions bring words together that occur together: -s dims={fewer}"
        )

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking for each query."""
        import numpy

        check_depth(depth)
        analyser = Analyser("lsa", self.stemmer, self.stopwords)
        space = vector_space(corpus, analyser.terms, system="lsa")
        axes = self._axes(space.matrix.values) if space.matrix.vocabulary else numpy.zeros((0, 0))
        documents = _unit(space.matrix.values @ axes)
        for query in queries:
            scores = documents @ _unit(space.vector(analyser.terms(query.text)) @ axes)[0]
            yield best(query.topic, space.matrix.documents, scores, scores > _NOTHING, depth)

    def _axes(self, vectors: Any) -> Any:
        """Give V: a column for each dimension that is kept and is more than noise."""
        decompose = library_for("lsa", "sklearn.utils.extmath").randomized_svd
        _, strengths, axes = decompose(vectors, min(self.dims, *vectors.shape), n_iter=7, random_state=0)
        return axes[strengths > _NOTHING * strengths.max()].T


def _unit(rows: Any) -> Any:
    """Give the rows with length 1; rows that are only noise become 0."""
    import numpy

    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return numpy.divide(rows, lengths, out=numpy.zeros_like(rows), where=lengths > _NOTHING)
