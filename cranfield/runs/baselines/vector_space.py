"""The vector space with tf-idf weights: words, pieces of words, feedback, and few dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from cranfield.base.errors import UsageError
from cranfield.base.registry import Option, deferred
from cranfield.base.text import counted
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
    best_rows,
    library_for,
    term_matrix,
)

with deferred:
    import numpy as np


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


@baseline("chargrams", summary="cosine of character n-grams: forgives endings and misspellings", family="lexical")
def chargrams(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    shortest: Annotated[int, Option("characters in the shortest piece", at_least=1, at_most=20)] = 3,
    longest: Annotated[int, Option("characters in the longest piece", at_least=1, at_most=20)] = 5,
) -> Iterator[Ranking]:
    """The cosine between query and document as tf-idf vectors of character n-grams instead of words.

    Every word, with a blank before and after, is cut into all its pieces of `shortest` to `longest` characters:
    " wing " gives " wi", "win", "ing", "ng ", " win", "wing", "ing ", " wing", "wing ". Pieces are weighted and
    compared as the system tfidf does with words. No stemmer and no stop words: related forms and misspellings
    share pieces, in any language, and idf makes little of frequent ones. A word with its blanks that is shorter
    than a piece is a piece itself. The matrix is ten times as large as one of words.

    Source: McNamee and Mayfield, "Character n-gram tokenization for European language text retrieval",
    Information Retrieval 7, 2004; the pieces are those of scikit-learn's char_wb.
    """
    if shortest > longest:
        raise UsageError(f"option 'shortest' must be at most 'longest', but {shortest} > {longest}")
    text = library_for("chargrams", "sklearn.feature_extraction.text")
    cut = text.CountVectorizer(analyzer="char_wb", ngram_range=(shortest, longest)).build_analyzer()
    words = Analyser("chargrams").words
    return rank_by_cosine(corpus, queries, depth, lambda text: cut(" ".join(words(text))), system="chargrams")


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
