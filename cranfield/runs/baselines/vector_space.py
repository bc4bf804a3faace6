"""The vector space with tf-idf weights: words, pieces of words, feedback, and few dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Annotated, Any

from cranfield.base.errors import UsageError
from cranfield.base.registry import Option, deferred
from cranfield.runs import baseline as systems
from cranfield.runs.baseline import Scorer, TermMatrix

with deferred:
    import numpy as np


_FEATURES = "sklearn.feature_extraction.text"
_vector_system = partial(systems.term_system, library=_FEATURES)


@_vector_system("tfidf", summary="cosine of tf-idf vectors", family="lexical")
def tfidf(matrix: TermMatrix) -> Scorer:
    """The cosine between query and document as tf-idf vectors, by scikit-learn.

        weight(w, d) = (1 + log tf) · (1 + log((N + 1) / (n + 1)))
        score(q, d)  = Σ over words w: weight(w, q) · weight(w, d) / (‖q‖ · ‖d‖)

    for a word that occurs tf times in d and in n of N documents; ‖d‖ is the length of the vector of d. Query words
    that occur in no document are ignored.

    Source: Salton and Buckley, "Term-weighting approaches in automatic text retrieval", IP&M 24, 1988; the
    smoothing of idf is scikit-learn's.
    """
    space = vector_space(matrix)
    return lambda query: space.cosines(space.vector(query))


@dataclass(frozen=True)
class VectorSpace:
    """Documents as rows of length 1, and the weighting that makes such a row of a query."""

    matrix: TermMatrix
    weighting: Any

    def vector(self, query: dict[int, int]) -> Any:
        """A query as a sparse row of length 1, or of length 0 when no document has any of its terms."""
        row = self.matrix.row(query)
        return self.weighting.transform(row) if row.nnz else row

    def cosines(self, row: Any) -> tuple[Any, Any]:
        """The cosine of each document with a row of length 1, and which are above 0."""
        cosines = self.matrix.postings[:, row.indices] @ row.data
        return cosines, cosines > 0


def vector_space(matrix: TermMatrix) -> VectorSpace:
    """The documents of a matrix of counts, weighted by tf-idf."""
    weighting = import_module(_FEATURES).TfidfTransformer(sublinear_tf=True)
    vectors = weighting.fit_transform(matrix.values) if matrix.vocabulary else matrix.values
    return VectorSpace(replace(matrix, values=vectors), weighting)


def _n_grams(
    system: str,
    *,
    shortest: Annotated[int, Option("length of the shortest n-gram", at_least=1, at_most=20)] = 3,
    longest: Annotated[int, Option("length of the longest n-gram", at_least=1, at_most=20)] = 5,
) -> systems.Terms:
    if shortest > longest:
        raise UsageError(f"option 'shortest' must be at most 'longest', but {shortest} > {longest}")
    counter = import_module(_FEATURES).CountVectorizer
    cut = counter(analyzer="char_wb", ngram_range=(shortest, longest)).build_analyzer()
    return lambda text: list(cut(" ".join(systems.words_of(text))))


@_vector_system(
    "chargrams",
    summary="cosine of character n-grams: robust to inflection and misspelling",
    family="lexical",
    analysis=_n_grams,
)
def chargrams(matrix: TermMatrix) -> Scorer:
    """The cosine between query and document as tf-idf vectors of character n-grams instead of words.

    Every word, with a blank before and after, is split into all its n-grams of `shortest` to `longest` characters:
    " wing " gives " wi", "win", "ing", "ng ", " win", "wing", "ing ", " wing", "wing ". N-grams are weighted and
    compared as words are in the system tfidf. There is no stemmer and no stop word list: inflected forms and
    misspellings share n-grams, in any language, and frequent ones have a low idf. A word that with its blanks is
    shorter than an n-gram is an n-gram itself. The matrix is about ten times as large as one of words.

    Source: McNamee and Mayfield, "Character n-gram tokenization for European language text retrieval",
    Information Retrieval 7, 2004; the n-grams are those of scikit-learn's char_wb.
    """
    space = vector_space(matrix)
    return lambda query: space.cosines(space.vector(query))


@_vector_system("rocchio", summary="pseudo-relevance feedback: Rocchio on tfidf", family="feedback")
def rocchio(
    matrix: TermMatrix,
    *,
    fb_docs: systems.FeedbackDocuments = 5,
    fb_terms: systems.FeedbackTerms = 50,
    alpha: Annotated[float, Option("weight of the original query", at_least=0.001, at_most=1000)] = 1.0,
    beta: Annotated[float, Option("weight of the feedback documents", at_least=0, at_most=1000)] = 1.0,
) -> Scorer:
    """The cosine with a query that is moved towards the centroid of its top-ranked documents.

        q' = alpha · q + beta · (mean of the top fb_docs document vectors)

    q and the documents are the tf-idf vectors of the system tfidf, of length 1. Of the mean the fb_terms words of
    the highest weight are kept, ties in alphabetical order. The score is the cosine of q' and d. With beta = 0 the
    ranking is that of tfidf.

    Source: Rocchio, "Relevance feedback in information retrieval", in The SMART Retrieval System, 1971, without
    the term for non-relevant documents.
    """
    space = vector_space(matrix)

    def score(query: dict[int, int]) -> tuple[Any, Any]:
        vector = space.vector(query)
        scores, found = space.cosines(vector)
        rows = systems.best_rows(scores, found, fb_docs)
        if not len(rows):
            return scores, found
        centroid = np.asarray(space.matrix.values[rows].mean(axis=0)).ravel()
        # In the order of the columns, as all rows are: sums of the same numbers are then equal to the last bit.
        columns = np.sort(np.argsort(-centroid, kind="stable")[:fb_terms])
        weights = dict(zip(columns.tolist(), centroid[columns].tolist(), strict=True))
        moved = alpha * vector + beta * space.matrix.row(weights)
        return space.cosines(moved / np.sqrt(moved.multiply(moved).sum()))

    return score


_NOTHING = 1e-6
"""A cosine, or a share of the largest singular value, that is only the noise of the arithmetic."""


@_vector_system(
    "lsa", summary="latent semantic analysis: retrieves documents without the query's words", family="latent"
)
def lsa(
    matrix: TermMatrix,
    *,
    dims: Annotated[
        int, Option("number of dimensions; 0: a quarter of the documents, 10 to 100", at_least=0, at_most=1000)
    ] = 0,
) -> Scorer:
    """The cosine of query and document in a space of few dimensions, in which words that occur together are close.

        X ≈ U · S · Vᵀ        X has the tf-idf vectors of the system tfidf as rows; only the `dims` largest
                              singular values are kept
        score(q, d) = cosine of q · V and d · V

    A document can be retrieved without containing a query word. Documents whose cosine is not above 0 are not
    retrieved. With more dimensions than documents or words (strictly: than the rank of X) the ranking is that of
    tfidf, and with about as many lsa retrieves little more. The decomposition is randomised with a fixed seed and
    therefore reproducible.

    Source: Deerwester et al., "Indexing by latent semantic analysis", JASIS 41, 1990; Halko et al., "Finding
    structure with randomness", SIAM Review 53, 2011, for the decomposition (scikit-learn's randomized_svd).
    """
    space = vector_space(matrix)
    vectors, axes = space.matrix.values, np.zeros((0, 0))
    if matrix.vocabulary:
        decompose = import_module("sklearn.utils.extmath").randomized_svd
        wanted = dims or min(100, max(vectors.shape[0] // 4, 10))
        _, strengths, directions = decompose(vectors, min(wanted, *vectors.shape), n_iter=7, random_state=0)
        axes = directions[strengths > _NOTHING * strengths.max()].T
    documents = _unit(vectors @ axes)

    def score(query: dict[int, int]) -> tuple[Any, Any]:
        scores = documents @ _unit(space.vector(query) @ axes)[0]
        return scores, scores > _NOTHING

    return score


def _unit(rows: Any) -> Any:
    """The rows with length 1; rows that are only noise become 0."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > _NOTHING)
