"""Retrieval systems beyond the baselines of the product, so that small collections have as many groups as a track.

Each is a function of the term matrix and of its options and gives a scorer, as the baselines do; words are cut,
scores rounded and ties broken as there. `left_out.py` makes their runs. None but `fused` knows what another
retrieves.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from cranfield.base.records import Document
from cranfield.base.registry import configured
from cranfield.runs.baseline import (
    Corpus,
    Query,
    Ranking,
    Scorer,
    TermMatrix,
    Terms,
    best,
    best_rows,
    search,
    term_matrix,
    words_and_stems,
    words_of,
)
from cranfield.runs.baselines.language_models import DocumentModels
from cranfield.runs.baselines.vector_space import VectorSpace, vector_space

Weights = Mapping[int, float]
Scores = tuple[Any, Any]
"""Of all documents, and which are retrieved."""

SEED = 0
_NOTHING = 1e-9


def lengths_of(matrix: TermMatrix) -> Any:
    """How many words each document has."""
    return np.asarray(matrix.values.sum(axis=1), dtype=np.float64).ravel()


def added(matrix: TermMatrix, weights: Weights, worth: Callable[[Any, Any, int], Any]) -> Scores:
    """The sum over the words of a query of weight · worth(counts, rows, column), over the documents with the word."""
    scores, found = np.zeros(len(matrix.documents)), np.zeros(len(matrix.documents), dtype=bool)
    postings = matrix.postings
    for column, weight in weights.items():
        here = slice(postings.indptr[column], postings.indptr[column + 1])
        rows = postings.indices[here]
        scores[rows] += weight * worth(postings.data[here].astype(np.float64), rows, column)
        found[rows] = True
    return scores, found


def okapi(matrix: TermMatrix, k1: float = 1.2, b: float = 0.75) -> Callable[[Weights], Scores]:
    """BM25 of weighted words, as the system bm25 has it by default, for systems that build on it."""
    length, size = lengths_of(matrix), len(matrix.documents)
    norm = k1 * (1 - b + b * length / length.mean())

    def worth(counts: Any, rows: Any, column: int) -> Any:
        return np.log1p((size - len(rows) + 0.5) / (len(rows) + 0.5)) * counts / (counts + norm[rows])

    return lambda weights: added(matrix, weights, worth)


def unit(rows: Any) -> Any:
    """Rows of length 1; those that are nothing stay so."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > _NOTHING)


def largest(weights: Any, count: int) -> dict[int, float]:
    """The columns of the largest positive weights."""
    columns = np.argsort(-weights, kind="stable")[:count]
    return {int(column): float(weights[column]) for column in np.sort(columns[weights[columns] > 0])}


# Words that match, weighted in other ways.


def overlap(matrix: TermMatrix) -> Scorer:
    """The sum of idf over the words that query and document share, however often they stand there.

    Source: the binary independence model without relevance information: Robertson and Sparck Jones, "Relevance
    weighting of search terms", JASIS 27, 1976.
    """
    size = len(matrix.documents)
    return lambda query: added(
        matrix,
        dict.fromkeys(query, 1.0),
        lambda counts, rows, column: np.full(len(rows), np.log1p((size - len(rows) + 0.5) / (len(rows) + 0.5))),
    )


def pivoted(matrix: TermMatrix, *, slope: float = 0.2) -> Scorer:
    """Pivoted length normalisation.

        Σ (1 + log(1 + log tf)) / (1 − slope + slope · |d| / avgdl) · tf in q · log((N + 1) / n)

    Source: Singhal, Buckley and Mitra, "Pivoted document length normalization", SIGIR 1996, in the form of Fang, Tao
    and Zhai, SIGIR 2004.
    """
    length, size = lengths_of(matrix), len(matrix.documents)
    norm = 1 - slope + slope * length / length.mean()

    def worth(counts: Any, rows: Any, column: int) -> Any:
        return (1 + np.log1p(np.log(counts))) / norm[rows] * np.log((size + 1) / len(rows))

    return lambda query: added(matrix, query, worth)


def jelinek(matrix: TermMatrix, *, smoothing: float = 0.7) -> Scorer:
    """Query likelihood with Jelinek-Mercer smoothing: Σ log(1 + (1 − λ) · tf / |d| / (λ · p(w))).

    Source: Zhai and Lafferty, "A study of smoothing methods for language models", SIGIR 2001.
    """
    length = lengths_of(matrix)
    every = length.sum()

    def worth(counts: Any, rows: Any, column: int) -> Any:
        return np.log1p((1 - smoothing) / smoothing * counts / length[rows] * every / counts.sum())

    return lambda query: added(matrix, query, worth)


def dfr(matrix: TermMatrix, *, model: str = "pl2", c: float = 1.0) -> Scorer:
    """Divergence from randomness: PL2, InL2 and, without parameters, DPH.

        tfn = tf · log2(1 + c · avgdl / |d|);  PL2 and InL2 with the gain 1 / (tfn + 1)
        PL2   tfn · log2(tfn / λ) + (λ − tfn) · log2 e + log2(2π · tfn) / 2,  λ = F / N
        InL2  tfn · log2((N + 1) / (n + 0.5))
        DPH   (1 − f)² / (tf + 1) · (tf · log2(tf · avgdl / |d| · N / F) + log2(2π · tf · (1 − f)) / 2), f = tf / |d|

    Source: Amati and van Rijsbergen, TOIS 20, 2002; for DPH Amati et al., "FUB, IASI-CNR and University of Tor
    Vergata at TREC 2007 Blog Track".
    """
    worth = randomness(matrix, model, c)
    return lambda query: added(matrix, query, worth)


def randomness(matrix: TermMatrix, model: str, c: float = 1.0) -> Callable[[Any, Any, int], Any]:
    """What a word is worth by a model of divergence from randomness."""
    length, size = lengths_of(matrix), len(matrix.documents)
    mean = length.mean()

    def worth(counts: Any, rows: Any, column: int) -> Any:
        if model == "dph":
            share = np.minimum(counts / length[rows], 1 - 1e-6)
            told = counts * np.log2(counts * mean / length[rows] * size / counts.sum())
            return (1 - share) ** 2 / (counts + 1) * (told + 0.5 * np.log2(2 * np.pi * counts * (1 - share)))
        normal = counts * np.log2(1 + c * mean / length[rows])
        if model == "inl2":
            return normal * np.log2((size + 1) / (len(rows) + 0.5)) / (normal + 1)
        usual = counts.sum() / size
        told = normal * np.log2(normal / usual) + (usual - normal) * np.log2(np.e) + 0.5 * np.log2(2 * np.pi * normal)
        return told / (normal + 1)

    return worth


def axiomatic(matrix: TermMatrix, *, s: float = 0.5, k: float = 0.35) -> Scorer:
    """F2-EXP: Σ tf in q · (N / n)^k · tf / (tf + s + s · |d| / avgdl).

    Source: Fang and Zhai, "An exploration of axiomatic approaches to information retrieval", SIGIR 2005.
    """
    length, size = lengths_of(matrix), len(matrix.documents)
    norm = s + s * length / length.mean()

    def worth(counts: Any, rows: Any, column: int) -> Any:
        return (size / len(rows)) ** k * counts / (counts + norm[rows])

    return lambda query: added(matrix, query, worth)


# Feedback, expansion, neighbours.


def bo1(matrix: TermMatrix, *, fb_docs: int = 3, fb_terms: int = 10, model: str = "bo1") -> Scorer:
    """BM25 with words of the first documents, by the Bose-Einstein statistics Bo1 or by Kullback and Leibler.

        Bo1  w = tf · log2((1 + P) / P) + log2(1 + P),  P = F / N, tf in the first documents together
        KL   w = p · log2(p / (F / all words)),  p = tf / the words of the first documents
        a word of the new query: tf in q / the largest + 0.4 · w / the largest w

    Source: Amati, "Probabilistic models for information retrieval based on divergence from randomness", PhD thesis,
    Glasgow 2003; Carpineto et al., TOIS 19, 2001.
    """
    score, every = okapi(matrix), lengths_of(matrix).sum()
    collected = np.asarray(matrix.values.sum(axis=0), dtype=np.float64).ravel()

    def expanded(query: dict[int, int]) -> Scores:
        scores, found = score(query)
        rows = best_rows(scores, found, fb_docs)
        if not len(rows):
            return scores, found
        counts = np.asarray(matrix.values[rows].sum(axis=0), dtype=np.float64).ravel()
        if model == "bo1":
            usual = collected / len(matrix.documents)
            weights = counts * np.log2((1 + usual) / usual) + np.log2(1 + usual)
        else:
            share = counts / counts.sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                weights = share * np.log2(share * every / collected)
        new = largest(np.where(counts > 0, weights, 0.0), fb_terms)
        most, top = max(query.values()), max(new.values(), default=1.0)
        words = sorted({*query, *new})
        return score({word: query.get(word, 0) / most + 0.4 * new.get(word, 0.0) / top for word in words})

    return expanded


def thesaurus(matrix: TermMatrix, *, terms: int = 20, weight: float = 0.3) -> Scorer:
    """The cosine with a query to which the words are added that are most like it in the documents they stand in.

    The similarity of two words is the cosine of their rows in the collection; a word is added by the sum over the
    query's words, weighted as there.

    Source: Qiu and Frei, "Concept based query expansion", SIGIR 1993.
    """
    space = vector_space(matrix)
    columns = space.matrix.values.tocsc()
    norms = np.sqrt(np.asarray(columns.multiply(columns).sum(axis=0)).ravel())
    words = columns @ sparse.diags(1 / np.maximum(norms, _NOTHING))

    def score(query: dict[int, int]) -> Scores:
        vector = space.vector(query)
        if not vector.nnz:
            return space.cosines(vector)
        likeness = np.asarray((words.T @ (words @ vector.T)).todense()).ravel()
        likeness[vector.indices] = 0.0
        new = largest(likeness, terms)
        total = np.sqrt(sum(one**2 for one in new.values())) or 1.0
        moved = (vector + weight / total * matrix.row(new)).tocsr() if new else vector
        moved.sort_indices()
        return space.cosines(moved / np.sqrt(moved.multiply(moved).sum()))

    return score


def neighbours_of(space: VectorSpace, count: int) -> Any:
    """The nearest documents of each by the cosine, itself left out, with their cosines: a sparse matrix."""
    vectors, rows, columns, values = space.matrix.values, [], [], []
    for first in range(0, vectors.shape[0], 1000):
        near = (vectors[first : first + 1000] @ vectors.T).toarray()
        near[np.arange(len(near)), first + np.arange(len(near))] = 0.0
        chosen = np.argsort(-near, axis=1, kind="stable")[:, :count]
        rows.append(np.repeat(first + np.arange(len(near)), chosen.shape[1]))
        columns.append(chosen.ravel())
        values.append(np.take_along_axis(near, chosen, axis=1).ravel())
    value, row, column = (np.concatenate(one) for one in (values, rows, columns))
    return sparse.csr_matrix((value, (row, column)), shape=(vectors.shape[0],) * 2)


def expanded(matrix: TermMatrix, *, nearest: int = 10, own: float = 0.5, mu: float = 500.0) -> Scorer:
    """Query likelihood with documents expanded by their neighbours: counts are own · tf + (1 − own) · those of the
    nearest documents, weighted by their cosine.

    Source: Tao, Wang, Mei and Zhai, "Language model information retrieval with document expansion", HLT-NAACL 2006.
    """
    near = neighbours_of(vector_space(matrix), nearest)
    share = sparse.diags(1 / np.maximum(np.asarray(near.sum(axis=1)).ravel(), _NOTHING)) @ near
    values = (own * matrix.values + (1 - own) * (share @ matrix.values)).tocsr()
    values.sort_indices()
    return DocumentModels(replace(matrix, values=values), mu).likelihoods


def regularized(matrix: TermMatrix, *, nearest: int = 10, own: float = 0.6) -> Scorer:
    """BM25 with scores that are drawn towards those of the neighbours: own · score + (1 − own) · the mean score of
    the nearest documents, weighted by their cosine.

    Source: Diaz, "Regularizing ad hoc retrieval scores", CIKM 2005, with one step.
    """
    score, near = okapi(matrix), neighbours_of(vector_space(matrix), nearest)
    share = sparse.diags(1 / np.maximum(np.asarray(near.sum(axis=1)).ravel(), _NOTHING)) @ near

    def smoothed(query: dict[int, int]) -> Scores:
        scores, _ = score(query)
        moved = own * scores + (1 - own) * (share @ scores)
        return moved, moved > 0

    return smoothed


def clusters(matrix: TermMatrix, *, count: int = 50, own: float = 0.6, mu: float = 500.0) -> Scorer:
    """Query likelihood with documents smoothed by their cluster, and that by the collection.

        p(w | d) = |d| / (|d| + μ) · tf / |d| + μ / (|d| + μ) · (own · p(w | cluster) + (1 − own) · p(w))

    Clusters are those of k-means on tf-idf vectors in 50 dimensions of LSA.

    Source: Liu and Croft, "Cluster-based retrieval using language models", SIGIR 2004.
    """
    space = vector_space(matrix)
    dims = min(50, *matrix.values.shape)
    left, strength, _ = randomized_svd(space.matrix.values, dims, n_iter=7, random_state=SEED)
    place = KMeans(count, n_init=3, random_state=SEED).fit_predict(unit(left * strength))
    length = lengths_of(matrix)
    member = sparse.csr_matrix((np.ones(len(place)), (place, np.arange(len(place)))), shape=(count, len(place)))
    of_cluster = (member @ matrix.values).tocsc()
    size = np.maximum(np.asarray(of_cluster.sum(axis=1)).ravel(), 1.0)
    of_all = np.asarray(matrix.values.sum(axis=0), dtype=np.float64).ravel() / length.sum()
    postings = matrix.postings

    def score(query: dict[int, int]) -> Scores:
        scores, found = np.zeros(len(length)), np.zeros(len(length), dtype=bool)
        for column, times in query.items():
            counts = np.zeros(len(length))
            here = slice(postings.indptr[column], postings.indptr[column + 1])
            counts[postings.indices[here]] = postings.data[here]
            smooth = own * (of_cluster[:, [column]].toarray().ravel() / size)[place] + (1 - own) * of_all[column]
            scores += times * np.log((counts + mu * smooth) / (length + mu) / of_all[column])
            found |= counts > 0
        return scores, found

    return score


# Few dimensions.


def dense(documents: Any, query: Callable[[dict[int, int]], Any]) -> Scorer:
    """The cosine of rows with a query's."""
    rows = unit(documents)

    def score(words: dict[int, int]) -> Scores:
        scores = rows @ unit(query(words))
        return scores, scores > 1e-6

    return score


def ppmi(matrix: TermMatrix, *, dims: int = 100, power: float = 0.5) -> Scorer:
    """Word vectors from positive pointwise mutual information within documents; texts are their idf-weighted means.

    The words' vectors are the first singular vectors of the PPMI matrix, times their singular values to a power.

    Source: Levy, Goldberg and Dagan, "Improving distributional similarity with lessons learned from word embeddings",
    TACL 3, 2015.
    """
    binary = matrix.values.astype(bool).astype(np.float64)
    together = (binary.T @ binary).tocoo()
    often = np.asarray(binary.sum(axis=0)).ravel()
    size = len(matrix.documents)
    kept = (together.row != together.col) & (together.data >= 2)
    row, column, data = together.row[kept], together.col[kept], together.data[kept]
    told = np.maximum(np.log(data * size / (often[row] * often[column])), 0.0)
    square = sparse.csr_matrix((told, (row, column)), shape=together.shape)
    left, strength, _ = randomized_svd(square, dims, n_iter=4, random_state=SEED)
    return means_of_words(matrix, left * strength**power)


def means_of_words(matrix: TermMatrix, words: Any) -> Scorer:
    """Texts as means of the vectors of their words, each of length 1, weighted by (1 + log tf) · idf."""
    often = np.asarray((matrix.values > 0).sum(axis=0)).ravel()
    words = unit(words) * np.log((len(matrix.documents) + 1) / (often + 0.5))[:, None]
    counts = matrix.values.astype(np.float64)
    counts.data = 1 + np.log(counts.data)

    def of_query(query: dict[int, int]) -> Any:
        return sum(((1 + np.log(times)) * words[column] for column, times in query.items()), np.zeros(words.shape[1]))

    return dense(counts @ words, of_query)


def indexing(matrix: TermMatrix, *, dims: int = 1000, rounds: int = 1) -> Scorer:
    """Random indexing: each document has a random vector; a word's is the sum of those of its documents, and a text's
    the mean of those of its words; with two rounds the documents start from what they got.

    Source: Kanerva, Kristoferson and Holst, "Random indexing of text samples for latent semantic analysis", CogSci
    2000; Cohen, Schvaneveldt and Widdows, "Reflective random indexing", JBI 43, 2010, for more rounds.
    """
    rng = np.random.default_rng(SEED)
    vectors = vector_space(matrix).matrix.values
    start = rng.choice([-1.0, 0.0, 1.0], size=(vectors.shape[0], dims), p=[0.05, 0.9, 0.05])
    for _ in range(rounds):
        words = unit(vectors.T @ start)
        start = unit(vectors @ words)
    return means_of_words(matrix, words)


def topics(matrix: TermMatrix, *, count: int = 50, own: float = 0.0) -> Scorer:
    """The cosine of texts as mixtures of topics, of a non-negative factorisation of the tf-idf vectors, and own times
    the cosine of words.

    Source: Lee and Seung, Nature 401, 1999; Xu, Liu and Gong, SIGIR 2003.
    """
    space = vector_space(matrix)
    model = NMF(count, init="nndsvd", max_iter=100, tol=1e-3, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rows = unit(model.fit_transform(space.matrix.values))

    def score(query: dict[int, int]) -> Scores:
        vector = space.vector(query)
        scores = rows @ unit(model.transform(vector).ravel())
        if own:
            scores = own * space.cosines(vector)[0] + (1 - own) * scores
        return scores, scores > 1e-6

    return score


MADE: dict[str, Callable[..., Scorer]] = {
    "overlap": overlap,
    "pivoted": pivoted,
    "jelinek": jelinek,
    "dfr": dfr,
    "axiomatic": axiomatic,
    "bo1": bo1,
    "thesaurus": thesaurus,
    "expanded": expanded,
    "regularized": regularized,
    "clusters": clusters,
    "ppmi": ppmi,
    "indexing": indexing,
    "topics": topics,
}

# What needs more than the counts of words: their order, the text, or other systems.

PAIRS_WITHIN = 8
"""Two words are near each other within so many."""


def _pairs(words: Sequence[str], within: int) -> Iterator[str]:
    """Pairs of words that stand near each other, in either order."""
    for place, word in enumerate(words):
        for other in words[place + 1 : place + within]:
            yield " ".join(sorted((word, other)))


def dependence(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    single: float = 0.85,
    adjacent: float = 0.1,
    mu: float = 1000.0,
    stemmer: str = "english",
    stopwords: str = "english",
) -> Iterator[Ranking]:
    """Sequential dependence: query likelihood of words, of adjacent words and of the same within eight words.

        single · Σ log p(w | d) + adjacent · Σ log p(w w' | d) + (1 − single − adjacent) · Σ log p(w and w' near | d)

    Source: Metzler and Croft, "A Markov random field model for term dependencies", SIGIR 2005.
    """
    cut = _cut(stemmer, stopwords)
    asked = [cut(query.text) for query in queries]
    wanted = {pair for words in asked for pair in _pairs(words, 2)}
    in_order = {f"{one} {two}" for words in asked for one, two in pairwise(words)}

    def ordered(text: str) -> list[str]:
        words = cut(text)
        return [pair for one, two in pairwise(words) if (pair := f"{one} {two}") in in_order]

    def near(text: str) -> list[str]:
        return [pair for pair in _pairs(cut(text), PAIRS_WITHIN) if pair in wanted]

    parts: list[tuple[float, TermMatrix, Callable[[str], list[str]]]] = [
        (single, term_matrix(corpus, cut), cut),
        (adjacent, term_matrix(corpus, ordered), ordered),
        (1 - single - adjacent, term_matrix(corpus, near), lambda text: list(_pairs(cut(text), 2))),
    ]
    length = lengths_of(parts[0][1])
    every = length.sum()
    for query in queries:
        scores, found = np.zeros(len(length)), np.zeros(len(length), dtype=bool)
        for weight, matrix, terms in parts:

            def worth(counts: Any, rows: Any, column: int) -> Any:
                return np.log1p(counts * every / (mu * counts.sum()))

            known = matrix.known(terms(query.text))
            if known:
                total, here = added(matrix, known, worth)
                scores += weight * (total + sum(known.values()) * np.log(mu / (mu + length)))
                found |= here
        yield best(query.topic, parts[0][1].documents, scores, found, depth)


TOKENIZER = "porter unicode61 remove_diacritics 2"
"""As the full-text index of a collection has it."""


class FullText:
    """Documents, and SQLite's full-text index of them for the system fts5."""

    def __init__(self, texts: Sequence[Document]) -> None:
        self._texts, self._index = texts, sqlite3.connect(":memory:")
        self._index.execute(f"CREATE VIRTUAL TABLE d USING fts5(id UNINDEXED, title, text, tokenize='{TOKENIZER}')")
        rows = ((one.id, one.title, one.text) for one in texts)
        self._index.executemany("INSERT INTO d VALUES (?, ?, ?)", rows)

    def documents(self) -> Sequence[Document]:
        """All of them."""
        return self._texts

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """The best documents with any word of the query."""
        words = " OR ".join(f'"{word}"' for word in words_of(query))
        found = "SELECT id, -bm25(d) FROM d WHERE d MATCH ? ORDER BY 2 DESC, 1 DESC LIMIT ?"
        return list(self._index.execute(found, (words, limit))) if words else []


def fused(
    corpus: Corpus, queries: Sequence[Query], depth: int, *, of: str = "bm25+lsa", each: int = 100
) -> Iterator[Ranking]:
    """Reciprocal rank fusion of the first documents of two systems with their usual options: Σ 1 / (60 + rank).

    Source: Cormack, Clarke and Büttcher, SIGIR 2009.
    """
    parts = [list(ranked_by(one, corpus, queries, each)) for one in of.split("+")]
    for place, query in enumerate(queries):
        scores: dict[str, float] = {}
        for part in parts:
            for rank, document in enumerate(part[place].documents, start=1):
                scores[document] = scores.get(document, 0.0) + 1 / (60 + rank)
        documents = tuple(sorted(scores, reverse=True))
        values = np.array([scores[one] for one in documents])
        yield best(query.topic, documents, values, values > 0, depth)


def _cut(stemmer: str, stopwords: str) -> Terms:
    return words_and_stems("more_systems", stemmer=stemmer, stopwords=stopwords)  # type: ignore[arg-type]


def ranked_by(words: str, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
    """What a system of this module or of the product answers; it is given by its name and options."""
    name, *rest = words.split()
    options = dict(one.split("=") for one in rest)
    if name in MADE:
        terms = _cut(options.pop("stemmer", "english"), options.pop("stopwords", "english"))
        matrix = term_matrix(corpus, terms)
        score = configured(MADE[name], options)(matrix)
        for query in queries:
            yield best(query.topic, matrix.documents, *score(matrix.known(terms(query.text))), depth)
    elif name in ("dependence", "fused"):
        yield from configured({"dependence": dependence, "fused": fused}[name], options)(corpus, queries, depth)
    else:
        yield from search(name, corpus, queries, depth, options)
