"""Latent semantic analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from cranfield.base.registry import Option, deferred
from cranfield.base.text import counted
from cranfield.runs.baseline import (
    Analyser,
    Corpus,
    Query,
    Ranking,
    Stemmer,
    Stopwords,
    baseline,
    best,
    library_for,
)
from cranfield.runs.baselines.tfidf import vector_space

with deferred:
    import numpy as np

_NOTHING = 1e-6
"""A cosine, or a share of the largest singular value, that is only the noise of the arithmetic."""


def _warn(documents: int, *, dims: int = 100, **_: Any) -> str:
    """Say that so many dimensions bring nothing together in so few documents; empty up to half as many."""
    fewer = max(documents // 4, 1)
    if dims * 2 <= documents or dims <= fewer:
        return ""
    return (
        f"lsa keeps {counted(dims, 'dimension')} of {counted(documents, 'document')}, and so finds little"
        f" more than tfidf; fewer dimensions bring words together that occur together: -s dims={fewer}"
    )


@baseline(
    "lsa",
    summary="latent semantic analysis: finds documents without the query's words",
    family="latent",
    warn=_warn,
)
def lsa(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    dims: Annotated[int, Option("how many dimensions are kept", at_least=1, at_most=1000)] = 100,
    stemmer: Stemmer = "english",
    stopwords: Stopwords = "english",
) -> Iterator[Ranking]:
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
    analyser = Analyser("lsa", stemmer, stopwords)
    space = vector_space(corpus, analyser.terms, system="lsa")
    vectors, axes = space.matrix.values, np.zeros((0, 0))
    if space.matrix.vocabulary:
        decompose = library_for("lsa", "sklearn.utils.extmath").randomized_svd
        _, strengths, directions = decompose(vectors, min(dims, *vectors.shape), n_iter=7, random_state=0)
        axes = directions[strengths > _NOTHING * strengths.max()].T
    documents = _unit(vectors @ axes)
    for query in queries:
        scores = documents @ _unit(space.vector(analyser.terms(query.text)) @ axes)[0]
        yield best(query.topic, space.matrix.documents, scores, scores > _NOTHING, depth)


def _unit(rows: Any) -> Any:
    """Give the rows with length 1; rows that are only noise become 0."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > _NOTHING)
