"""The systems that only the calibration page uses: scores by hand, and the product's own baselines as witnesses."""

import sys
from collections import Counter
from dataclasses import replace
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from cranfield.base.records import Document
from cranfield.evaluate.align import align
from cranfield.reuse.provenance import Contributor
from cranfield.runs.baseline import Query, best, search, term_matrix, words_and_stems

sys.path.append(str(Path(__file__).parents[2] / "docs"))
systems, left_out, script = (import_module(name) for name in ("more_systems", "left_out", "calibration"))

WORDS = ["wing", "flow", "heat", "shock", "layer", "jet", "plate", "sound", "drag", "lift", "cone", "wave"]
QUERY = Query("1", "wing flow heat wing")


def made(size=60):
    """Documents of three subjects, whose words are drawn from different halves of the vocabulary."""
    rng = np.random.default_rng(3)
    texts = [rng.choice(WORDS[3 * (place % 3) : 3 * (place % 3) + 6], size=8 + place % 7) for place in range(size)]
    return [Document(f"d{place:02}", " ".join(text)) for place, text in enumerate(texts)]


def ranked(words, texts, query=QUERY, depth=20):
    (found,) = systems.ranked_by(words, systems.FullText(texts), [query], depth)
    return found


EVERY = list(chain.from_iterable(left_out.SYSTEMS.values()))
SMALL = {"topics": "count=3", "clusters": "count=3", "ppmi": "dims=4", "lsa": "dims=4"}
"""Of sixty documents."""


@pytest.mark.parametrize("name", sorted({words.split()[0] for words in EVERY}))
def test_each_system_answers_the_same_whatever_the_order_of_the_documents(name):
    words = f"{name} {SMALL.get(name, '')}"
    found = ranked(words, made())
    assert found == ranked(words, made()[::-1])
    assert 0 < len(found.documents) <= 20
    assert list(found.scores) == sorted(found.scores, reverse=True)


def test_what_matches_no_word_is_not_ranked_by_systems_that_match_words():
    texts = [*made(12), Document("e", "")]
    for name in ("overlap", "pivoted", "jelinek", "dfr", "axiomatic", "bo1", "dependence", "fts5"):
        assert "e" not in ranked(name, texts, depth=100).documents
        assert ranked(name, texts, Query("1", "zebra")).documents == ()


def test_bm25_that_others_build_on_is_the_system_of_the_product():
    corpus = systems.FullText(made())
    (known,) = search("bm25", corpus, [QUERY], 20, {})
    matrix = term_matrix(corpus, cut := words_and_stems("test"))
    found = best("1", matrix.documents, *systems.okapi(matrix)(matrix.known(cut(QUERY.text))), 20)
    assert found.documents == known.documents
    assert found.scores == pytest.approx(known.scores)


def scored(worth):
    """Scores of the documents by the worth of each word of the query, by hand."""
    texts = {one.id: one.text.split() for one in made()}
    every, size = list(chain.from_iterable(texts.values())), len(texts)
    found = {}
    for document, words in texts.items():
        for word, times in Counter(QUERY.text.split()).items():
            if word in words:
                having = sum(word in other for other in texts.values())
                facts = (
                    words.count(word),
                    len(words),
                    len(every) / size,
                    having,
                    every.count(word),
                    size,
                    len(every),
                )
                found[document] = found.get(document, 0.0) + times * worth(*facts)
    return found


@pytest.mark.parametrize(
    ("words", "worth"),
    [
        (
            "jelinek smoothing=0.4",
            lambda tf, length, mean, n, often, size, every: np.log(1 + 0.6 * tf / length / (0.4 * often / every)),
        ),
        (
            "pivoted slope=0.3",
            lambda tf, length, mean, n, often, size, every: (
                (1 + np.log(1 + np.log(tf))) / (0.7 + 0.3 * length / mean) * np.log((size + 1) / n)
            ),
        ),
        (
            "axiomatic s=0.2 k=0.5",
            lambda tf, length, mean, n, often, size, every: (size / n) ** 0.5 * tf / (tf + 0.2 + 0.2 * length / mean),
        ),
        (
            "dfr model=inl2 c=2",
            lambda tf, length, mean, n, often, size, every: (
                (tfn := tf * np.log2(1 + 2 * mean / length)) / (tfn + 1) * np.log2((size + 1) / (n + 0.5))
            ),
        ),
        (
            "dfr",
            lambda tf, length, mean, n, often, size, every: (
                (
                    (tfn := tf * np.log2(1 + mean / length)) * np.log2(tfn * size / often)
                    + (often / size - tfn) * np.log2(np.e)
                    + np.log2(2 * np.pi * tfn) / 2
                )
                / (tfn + 1)
            ),
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_scores_are_those_of_the_formula(words, worth):
    found = ranked(f"{words} stemmer=none stopwords=none", made(), depth=100)
    assert dict(zip(found.documents, found.scores, strict=True)) == pytest.approx(scored(worth), rel=1e-6)


def test_dependence_prefers_the_words_of_the_query_in_its_order():
    texts = [
        Document("a", "flow x y z u v w r s wing"),
        Document("b", "x y z u v w r s wing flow"),
        Document("c", "x y z u v w r s flow wing"),
    ]
    assert ranked("dependence", texts, Query("1", "wing flow")).documents == ("b", "c", "a")


def test_fused_lists_add_reciprocal_ranks():
    corpus, scores = systems.FullText(made()), Counter()
    for name in ("bm25", "tfidf"):
        (part,) = search(name, corpus, [QUERY], 100, {})
        scores.update({document: 1 / (60 + rank) for rank, document in enumerate(part.documents, start=1)})
    found = ranked("fused of=bm25+tfidf", made(), depth=10)
    assert dict(zip(found.documents, found.scores, strict=True)) == pytest.approx(
        {document: scores[document] for document in found.documents}
    )
    others = [score for document, score in scores.items() if document not in found.documents]
    assert max(others) <= min(found.scores) + 1e-9


def test_a_pool_of_some_groups_is_that_of_their_runs_alone():
    texts, names = made(), ("bm25", "tfidf", "lsa dims=4", "overlap")
    runs = [left_out.made_run(name, systems.FullText(texts), [QUERY]) for name in names]
    contributors = [Contributor(name, name.split()[0]) for name in names]
    grades = {("1", one.id): place % 2 for place, one in enumerate(texts)}
    every = left_out.Collection("made", (5,), runs, contributors, grades, 0)
    some = every.only(("lsa", "bm25"))
    assert [run.tag for run in some.runs] == [one.run for one in some.contributors] == ["bm25", "lsa dims=4"]
    assert set(some.qrels(5)) == set(replace(every, runs=[runs[0], runs[2]]).qrels(5))
    assert align(some.qrels(5), some.runs).run_names == ("bm25", "lsa dims=4")
