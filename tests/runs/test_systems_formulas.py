"""Each system against its formula: worked by hand, or written out slowly."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.records import Document
from cranfield.runs.baseline import Query, search

PLAIN = {"stemmer": "none", "stopwords": "none"}
THREE = {"d1": "wing flow wing", "d2": "flow plate", "d3": "heat"}
MORE = THREE | {"d4": "heat plate heat wing", "d5": "flow heat flow slab", "d6": ""}

words = st.sampled_from(["wing", "flow", "plate", "heat", "slab"])
corpora = st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=7).map(
    lambda texts: {f"d{number}": text for number, text in enumerate(texts)}
)
queries = st.lists(words, min_size=1, max_size=4).map(" ".join)


class Texts:
    """Documents without an index of their own."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def documents(self) -> Iterator[Document]:
        return (Document(name, text) for name, text in self.texts.items())

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        raise AssertionError("only fts5 asks the collection")


def scores(system: str, texts: dict[str, str], query: str, **options: str) -> dict[str, float]:
    [ranking] = search(system, Texts(texts), [Query("1", query)], 1000, options)
    return dict(zip(ranking.documents, ranking.scores, strict=True))


def close(expected: dict[str, float]) -> object:
    return pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_dirichlet_worked_by_hand():
    # p(wing) = p(flow) = 1/3. For d1 (2 + 2/3)/5 · (1 + 2/3)/5 · 9 is 8/5; for d2 (2/3)/4 · (5/3)/4 · 9 is 5/8.
    expected = {"d1": log(8 / 5), "d2": log(5 / 8)}
    assert scores("dirichlet", THREE, "wing flow", mu="2", **PLAIN) == close(expected)


def test_dirichlet_ignores_words_that_no_document_has():
    assert scores("dirichlet", THREE, "wing flow zebra", mu="2", **PLAIN) == close(
        {"d1": log(8 / 5), "d2": log(5 / 8)}
    )


@given(corpora, queries)
def test_dirichlet_is_the_likelihood_of_the_query_up_to_a_constant(texts, query):
    split = {name: text.split() for name, text in texts.items()}
    collection = [word for text in split.values() for word in text]
    known = [word for word in query.split() if word in collection]

    def likelihood(text: list[str]) -> float:
        share = {word: collection.count(word) / len(collection) for word in known}
        return sum(log((text.count(word) + 5 * share[word]) / (len(text) + 5) / share[word]) for word in known)

    expected = {name: likelihood(text) for name, text in split.items() if set(text) & set(known)}
    assert scores("dirichlet", texts, query, mu="5", **PLAIN) == close(expected)


def test_rm3_worked_by_hand():
    # "flow" finds d1 with likelihood 1/3 and d2 with 5/12, so they are believed by 4/9 and 5/9. Of
    # wing 16/54, flow 23/54, plate 15/54 the first two stay: 23/39 and 16/39, halved and added to half of "flow".
    flow, wing = 1 / 2 + 23 / 78, 16 / 78
    expected = {"d1": flow * log(5 / 2) + wing * log(4) + log(2 / 5), "d2": flow * log(5 / 2) + log(2 / 4)}
    assert scores("rm3", THREE, "flow", mu="2", fb_docs="2", fb_terms="2", original="0.5", **PLAIN) == close(expected)


def test_rm3_finds_documents_through_the_words_of_its_first_results():
    assert list(scores("dirichlet", MORE, "slab", **PLAIN)) == ["d5"]
    assert set(scores("rm3", MORE, "slab", **PLAIN)) == {"d1", "d2", "d3", "d4", "d5"}


@given(corpora, queries)
def test_rm3_that_keeps_only_the_users_words_is_dirichlet_by_the_word(texts, query):
    plain = scores("dirichlet", texts, query, mu="7", **PLAIN)
    known = sum(word in " ".join(texts.values()).split() for word in query.split())
    expected = {name: score / known for name, score in plain.items()}
    assert scores("rm3", texts, query, mu="7", original="1", **PLAIN) == close(expected)


def test_tfidf_worked_by_hand():
    # idf: wing 1 + log(4/2) = 1.6931, flow 1 + log(4/3) = 1.2877. d1 = (1.6931 · 1.6931, 1.2877) has length 3.1432;
    # the query (1.6931, 1.2877) has length 2.1272; d2 = (flow 1.2877, plate 1.6931) has the same length.
    expected = {"d1": (2.8667 * 1.6931 + 1.2877**2) / (3.1426 * 2.1272), "d2": 1.2877**2 / 2.1272**2}
    assert scores("tfidf", THREE, "wing flow", **PLAIN) == pytest.approx(expected, rel=1e-4)


def weights(terms: Sequence[str], documents: dict[str, list[str]]) -> dict[str, float]:
    """A tf-idf vector of length 1, written out."""
    vector = {}
    for term, times in Counter(terms).items():
        holders = sum(term in text for text in documents.values())
        if holders:
            vector[term] = (1 + log(times)) * (1 + log((len(documents) + 1) / (holders + 1)))
    length = math.sqrt(sum(weight**2 for weight in vector.values()))
    return {term: weight / length for term, weight in vector.items()}


def dot(one: dict[str, float], other: dict[str, float]) -> float:
    return sum(weight * other.get(term, 0) for term, weight in one.items())


@given(corpora, queries)
def test_tfidf_is_the_cosine_of_the_weights(texts, query):
    split = {name: text.split() for name, text in texts.items()}
    cosines = {name: dot(weights(query.split(), split), weights(text, split)) for name, text in split.items()}
    assert scores("tfidf", texts, query, **PLAIN) == close({n: cosine for n, cosine in cosines.items() if cosine > 0})


def pieces(text: str, lengths: Sequence[int]) -> list[str]:
    padded = [f" {word} " for word in text.split()]
    return [
        word[start : start + length]
        for length in lengths
        for word in padded
        for start in range(max(len(word) - length, 0) + 1)
        if len(word) >= length or length == lengths[0]
    ]


@given(corpora, queries)
def test_chargrams_is_the_cosine_of_the_weights_of_pieces(texts, query):
    split = {name: pieces(text, [3, 4, 5]) for name, text in texts.items()}
    query_weights = weights(pieces(query, [3, 4, 5]), split)
    cosines = {name: dot(query_weights, weights(text, split)) for name, text in split.items()}
    assert scores("chargrams", texts, query) == close(
        {name: cosine for name, cosine in cosines.items() if cosine > 0}
    )


def test_chargrams_finds_related_and_misspelled_words():
    texts = {"d1": "aeroelasticity of wings", "d2": "heat conduction"}
    assert list(scores("tfidf", texts, "aeroelastik", **PLAIN)) == []
    assert list(scores("chargrams", texts, "aeroelastik")) == ["d1"]


def test_rocchio_written_out():
    split = {name: text.split() for name, text in MORE.items()}
    vectors = {name: weights(text, split) for name, text in split.items() if text}
    query = weights(["flow", "plate"], split)
    first = sorted(vectors, key=lambda name: -dot(query, vectors[name]))[:2]
    middle = Counter[str]()
    for name in first:
        middle.update({term: weight / 2 for term, weight in vectors[name].items()})
    moved = Counter(query)
    moved.update({term: 0.5 * weight for term, weight in sorted(middle.items(), key=lambda item: -item[1])[:3]})
    length = math.sqrt(sum(weight**2 for weight in moved.values()))
    cosines = {name: dot(moved, vector) / length for name, vector in vectors.items()}
    expected = {name: cosine for name, cosine in cosines.items() if cosine > 0}
    assert first == ["d2", "d5"]
    assert scores("rocchio", MORE, "flow plate", fb_docs="2", fb_terms="3", beta="0.5", **PLAIN) == close(expected)


@given(corpora, queries)
def test_rocchio_that_does_not_move_is_tfidf(texts, query):
    assert scores("rocchio", texts, query, beta="0", **PLAIN) == close(scores("tfidf", texts, query, **PLAIN))


def bm25_of_a_word(variant: str, k1: float, *, tf: int, n: int, total: int, norm: float) -> float:
    ratio = (total - n + 0.5) / (n + 0.5)
    c = tf / norm + 0.5
    return {
        "lucene": log(1 + ratio) * tf / (tf + k1 * norm),
        "robertson": max(log(ratio), 0) * tf / (tf + k1 * norm),
        "atire": log(total / n) * tf * (k1 + 1) / (tf + k1 * norm),
        "bm25l": log((total + 1) / (n + 0.5)) * (k1 + 1) * c / (k1 + c),
        "bm25plus": log((total + 1) / n) * (tf * (k1 + 1) / (tf + k1 * norm) + 1),
    }[variant]


def bm25_written_out(texts: dict[str, str], query: str, variant: str, k1: float, b: float) -> dict[str, float]:
    split = {name: text.split() for name, text in texts.items()}
    mean = sum(map(len, split.values())) / len(split)
    found = dict.fromkeys(split, 0.0)
    for name, text in split.items():
        for word in query.split():
            if tf := text.count(word):
                n = sum(word in other for other in split.values())
                norm = 1 - b + b * len(text) / mean
                found[name] += bm25_of_a_word(variant, k1, tf=tf, n=n, total=len(split), norm=norm)
    return {name: score for name, score in found.items() if score > 0}


@given(
    corpora,
    queries,
    st.sampled_from(["lucene", "robertson", "atire", "bm25l", "bm25plus"]),
    st.sampled_from([0.001, 0.9, 2.0]),
    st.sampled_from([0.0, 0.4, 0.9]),
)
def test_every_bm25_is_its_formula(texts, query, variant, k1, b):
    expected = bm25_written_out(texts, query, variant, k1, b)
    assert scores("bm25", texts, query, variant=variant, k1=str(k1), b=str(b), **PLAIN) == close(expected)


def test_bm25_worked_by_hand():
    # N = 3, mean length 2, k1 = 1, b = 0.5: wing is in one document, idf = log(1 + 2.5/1.5); d1 is 3 long and has it
    # twice: 2 / (2 + 0.5 + 0.5 · 3/2).
    expected = {"d1": log(1 + 2.5 / 1.5) * 2 / 3.25}
    assert scores("bm25", THREE, "wing", k1="1", b="0.5", **PLAIN) == close(expected)


@pytest.mark.parametrize("variant", ["robertson", "atire"])
def test_a_word_that_every_document_has_is_no_evidence_for_some_bm25(variant):
    assert scores("bm25", {"d1": "wing", "d2": "wing flow"}, "wing", variant=variant, **PLAIN) == {}


def lsa_written_out(texts: dict[str, str], query: str, dims: int) -> dict[str, float]:
    split = {name: text.split() for name, text in texts.items()}
    terms = sorted({term for text in split.values() for term in text})

    def vector(text: list[str]) -> numpy.ndarray:
        weighted = weights(text, split) if text else {}
        return numpy.array([weighted.get(term, 0) for term in terms])

    matrix = numpy.array([vector(text) for text in split.values()])
    axes = numpy.linalg.svd(matrix)[2][:dims].T
    asked = vector(query.split()) @ axes
    found = {}
    for name, row in zip(split, matrix @ axes, strict=True):
        lengths = numpy.linalg.norm(row) * numpy.linalg.norm(asked)
        found[name] = float(row @ asked / lengths) if lengths > 1e-6 else 0.0
    return {name: cosine for name, cosine in found.items() if cosine > 1e-6}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("query", ["wing", "flow plate", "slab heat"])
def test_lsa_is_the_cosine_along_the_largest_axes(dims, query):
    expected = lsa_written_out(MORE, query, dims)
    assert scores("lsa", MORE, query, dims=str(dims), **PLAIN) == pytest.approx(expected, rel=1e-5)


def test_lsa_has_a_quarter_of_the_documents_as_dimensions():
    texts = {f"d{number}": f"wing slab{number % 7} flow{number % 5} heat{number}" for number in range(48)}
    quarter, usual, all_of_them = (scores("lsa", texts, "wing", dims=dims, **PLAIN) for dims in ("12", "0", "48"))
    assert usual == quarter
    assert usual != all_of_them


def test_lsa_finds_a_document_that_has_no_word_of_the_query():
    texts = {"d1": "car engine", "d2": "engine automobile", "d3": "automobile wheel engine", "d4": "bread oven"}
    found = scores("lsa", texts, "car", dims="2", **PLAIN)
    assert set(found) == {"d1", "d2", "d3"}


def test_lsa_leaves_out_directions_in_which_no_document_lies():
    texts = {"d1": "wing flow", "d2": "flow wing"}
    assert scores("lsa", texts, "wing", dims="2", **PLAIN) == close({"d1": 1.0, "d2": 1.0})


def test_lsa_does_not_take_noise_for_likeness():
    texts = {"d1": "wing flow", "d2": "wing flow plate", "d3": "flow wing heat plate", "d4": "bread oven"}
    assert scores("lsa", texts, "bread", dims="1", **PLAIN) == {}
    assert set(scores("lsa", texts, "wing", dims="1", **PLAIN)) == {"d1", "d2", "d3"}


@given(corpora, queries)
def test_lsa_with_more_dimensions_than_there_are_orders_as_tfidf(texts, query):
    plain = scores("tfidf", texts, query, **PLAIN)
    latent = scores("lsa", texts, query, dims="500", **PLAIN)
    assert set(latent) == set(plain)
    ratios = [latent[name] / plain[name] for name in plain]
    assert ratios == pytest.approx(ratios[:1] * len(ratios), rel=1e-4)


def test_a_repeated_word_of_the_query_counts_again():
    for system in ("bm25", "dirichlet", "tfidf"):
        once, twice = (scores(system, MORE, query, **PLAIN) for query in ("wing heat", "wing wing heat"))
        assert twice["d1"] / twice["d3"] != pytest.approx(once["d1"] / once["d3"])
