"""What holds for every system: the awkward corpora and queries, the order, and sameness."""

import math
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import MissingExtra, UsageError
from cranfield.base.records import Document
from cranfield.runs.baseline import Query, Ranking, best, search, systems

EVERY = pytest.mark.parametrize("name", systems.names())
LEXICAL = pytest.mark.parametrize("name", [name for name, system in systems.items() if system.family == "lexical"])

DOCUMENTS = [
    Document("d1", "The wings of an aircraft in a heated flow.", "Aircraft wings"),
    Document("d2", "Heat flows through composite slabs; heating of slabs."),
    Document("d3", "Shear flow past a flat plate."),
    Document("d4", "A boundary layer grows along the plate.", "Boundary layers"),
    Document("d5", "Bread is baked in an oven."),
]


class Shelf:
    """A corpus in memory, with an FTS5 index like the collection's."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._index = sqlite3.connect(":memory:")
        self._index.execute("CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, title, text)")
        rows = [(document.id, document.title, document.text) for document in documents]
        self._index.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)

    def documents(self) -> Iterator[Document]:
        return iter(self._documents)

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        words = re.findall(r"[^\W_]+", query)
        expression = " OR ".join(f'"{word}"' for word in words)
        ranked = "SELECT id, -bm25(texts) FROM texts WHERE texts MATCH ? ORDER BY 2 DESC, 1 DESC LIMIT ?"
        return self._index.execute(ranked, (expression, limit)).fetchall() if words else []


def rank(name: str, documents: Sequence[Document], *texts: str, depth: int = 1000, **options: str) -> list[Ranking]:
    queries = [Query(f"t{number}", text) for number, text in enumerate(texts, start=1)]
    return list(search(name, Shelf(documents), queries, depth, options))


def first(name: str, documents: Sequence[Document], text: str, **options: str) -> str:
    [ranking] = rank(name, documents, text, **options)
    return ranking.documents[0]


def test_there_are_eight_systems_in_three_families():
    assert {name: system.family for name, system in systems.items()} == {
        "bm25": "lexical",
        "chargrams": "lexical",
        "dirichlet": "lexical",
        "fts5": "lexical",
        "lsa": "latent",
        "rm3": "feedback",
        "rocchio": "feedback",
        "tfidf": "lexical",
    }


@EVERY
def test_the_obvious_document_comes_first(name):
    assert first(name, DOCUMENTS, "composite slabs") == "d2"
    assert first(name, DOCUMENTS, "bread") == "d5"


@EVERY
def test_the_title_of_a_document_is_searched_too(name):
    assert first(name, [*DOCUMENTS, Document("d6", "Nothing else.", "Zebra crossings")], "zebra") == "d6"


@EVERY
def test_every_query_has_its_ranking_in_order_and_an_empty_one_an_empty_ranking(name):
    rankings = rank(name, DOCUMENTS, "", "bread", "?!", " \n ", "zebra", "\x00\x1b")
    assert [ranking.topic for ranking in rankings] == ["t1", "t2", "t3", "t4", "t5", "t6"]
    assert [rankings[number] for number in (0, 2, 3, 4, 5)] == [
        Ranking(topic, (), ()) for topic in ("t1", "t3", "t4", "t5", "t6")
    ]
    assert rankings[1].documents[0] == "d5"


@pytest.mark.parametrize("name", ["bm25", "dirichlet", "lsa", "rm3", "rocchio", "tfidf"])
def test_a_query_of_stop_words_only_has_an_empty_ranking(name):
    assert rank(name, DOCUMENTS, "the of and") == [Ranking("t1", (), ())]


@LEXICAL
def test_a_document_without_a_word_of_the_query_is_left_out(name):
    [ranking] = rank(name, DOCUMENTS, "bread oven")
    assert ranking.documents == ("d5",)


@EVERY
def test_no_queries_give_no_rankings(name):
    assert rank(name, DOCUMENTS) == []


@EVERY
def test_a_corpus_without_documents_has_empty_rankings(name):
    assert rank(name, [], "wing", "") == [Ranking("t1", (), ()), Ranking("t2", (), ())]


@EVERY
def test_documents_without_text_are_never_found(name):
    empty = [Document("e1", ""), Document("e2", " . "), Document("e3", "", "")]
    assert rank(name, empty, "wing") == [Ranking("t1", (), ())]
    [ranking] = rank(name, [*empty, *DOCUMENTS], "bread")
    assert ranking.documents[0] == "d5"
    assert not {"e1", "e2", "e3"} & set(ranking.documents)


@EVERY
def test_a_corpus_of_one_document_works(name):
    [ranking] = rank(name, [Document("d1", "Wing flutter.")], "flutter", depth=10)
    assert ranking.documents == ("d1",)
    assert math.isfinite(ranking.scores[0])


@EVERY
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("обтекание крыла самолёта", "КРЫЛА"),
        ("πτέρυγα αεροσκάφους", "ΑΕΡΟΣΚΆΦΟΥΣ"),
        ("جناح الطائرة", "جناح"),
        ("Glatte Straße", "Straße"),
    ],
)
def test_other_scripts_are_searched(name, text, query):
    assert first(name, [*DOCUMENTS, Document("x", text)], query) == "x"


@pytest.mark.parametrize("name", [name for name in systems.names() if name != "fts5"])
def test_scripts_without_spaces_are_searched_by_character(name):
    assert first(name, [*DOCUMENTS, Document("x", "翼の風洞実験"), Document("y", "熱伝導")], "風洞") == "x"


@EVERY
def test_a_depth_beyond_the_corpus_gives_what_there_is(name):
    assert rank(name, DOCUMENTS, "flow plate", depth=10**9) == rank(name, DOCUMENTS, "flow plate", depth=5)


@EVERY
@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_below_one_is_an_error(name, depth, kept: Kept):
    with kept.raises(UsageError):
        rank(name, DOCUMENTS, "wing", depth=depth)


@EVERY
def test_equal_documents_are_tied_and_go_by_id_descending(name):
    twins = [Document(number, "burnt pan") for number in ("a", "c", "B", "10", "9")]
    [ranking] = rank(name, [*twins, *DOCUMENTS], "burnt pan", depth=4)
    assert ranking.documents == ("c", "a", "B", "9")
    assert len(set(ranking.scores)) == 1


vocabulary = st.sampled_from(
    ["wing", "wings", "flow", "the", "heat", "plate", "Ωμέγα", "крыло", "風洞", "x", "-", "'"]
)
texts = st.lists(vocabulary, max_size=10).map(" ".join)


@EVERY
@settings(max_examples=min(settings.default.max_examples, 1_000))
@given(st.lists(texts, max_size=8), st.lists(texts, max_size=3), st.randoms(use_true_random=False))
def test_rankings_are_sound_and_do_not_depend_on_the_order_of_documents(
    name: str, stored: list[str], asked: list[str], shuffler: random.Random
):
    documents = [Document(f"d{number}", text) for number, text in enumerate(stored)]
    rankings = rank(name, documents, *asked)
    shuffled = list(documents)
    shuffler.shuffle(shuffled)
    assert rank(name, shuffled, *asked) == rankings
    assert [ranking.topic for ranking in rankings] == [f"t{number}" for number in range(1, len(asked) + 1)]
    for ranking in rankings:
        assert set(ranking.documents) <= {document.id for document in documents}
        assert all(map(math.isfinite, ranking.scores))
        pairs = list(zip(ranking.scores, ranking.documents, strict=True))
        assert pairs == sorted(set(pairs), reverse=True)
    cut = [Ranking(ranking.topic, ranking.documents[:2], ranking.scores[:2]) for ranking in rankings]
    assert rank(name, documents, *asked, depth=2) == cut


@EVERY
def test_scores_are_the_shortest_decimals_of_32_bit_numbers(name):
    many = [Document(f"d{number}", f"wing {'flow ' * number} plate heat" * (number % 7)) for number in range(60)]
    [ranking] = rank(name, many, "wing flow heat")
    assert ranking.scores == tuple(float(str(numpy.float32(score))) for score in ranking.scores)
    assert len(set(numpy.float32(ranking.scores))) == len(set(ranking.scores)) > 1


def test_scores_that_differ_only_beyond_32_bits_are_ties():
    scores = numpy.array([1.0, 1.0 + 1e-12, 0.1, 1.0 - 1e-12, -5.0])
    found = numpy.array([True, True, True, True, False])
    assert best("1", ("e", "d", "c", "b", "a"), scores, found, 3) == Ranking("1", ("e", "d", "b"), (1.0, 1.0, 1.0))
    assert best("1", ("e", "d", "c", "b", "a"), scores, found, 9).scores == (1.0, 1.0, 1.0, 0.1)


LIBRARIES = {
    "bm25": "bm25s",
    "chargrams": "sklearn.feature_extraction.text",
    "dirichlet": "scipy.sparse",
    "lsa": "sklearn.feature_extraction.text",
    "rm3": "scipy.sparse",
    "rocchio": "sklearn.feature_extraction.text",
    "tfidf": "sklearn.feature_extraction.text",
}


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_a_missing_library_is_told_before_any_document_is_read(name, monkeypatch, kept: Kept):
    class Unread(Shelf):
        def documents(self) -> Iterator[Document]:
            raise AssertionError("read")

    monkeypatch.setitem(sys.modules, LIBRARIES[name], None)
    with kept.raises(MissingExtra):
        list(search(name, Unread([]), [Query("1", "wing")], 10, {}))


def test_listing_the_systems_imports_nothing_heavy(kept: Kept):
    program = (
        "import sys; from cranfield.runs.baseline import systems; print(*systems.names());"
        "print(*sorted({'numpy', 'scipy', 'sklearn', 'bm25s', 'Stemmer', 'sqlite3'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    kept(shown.stdout)


@EVERY
def test_a_system_says_nothing_while_it_works(name, capfd, caplog):
    rank(name, DOCUMENTS, "wing flow")
    assert (*capfd.readouterr(), caplog.messages) == ("", "", [])


def test_fts5_asks_for_single_words_and_sorts_what_it_gets():
    class Recorder:
        asked: list[tuple[str, int]] = []  # noqa: RUF012

        def documents(self) -> Iterator[Document]:
            raise AssertionError("fts5 has its own index")

        def search(self, query: str, limit: int) -> list[tuple[str, float]]:
            self.asked.append((query, limit))
            return [("a", 2.5), ("b", 2.5), ("c", 1e-7), ("d", 0.0)]

    [ranking] = search("fts5", Recorder(), [Query("1", '"Heat-conduction", heat OR wing*')], 7, {})
    assert Recorder.asked == [("heat conduction or wing", 8)]
    assert ranking == Ranking("1", ("b", "a", "c"), (2.5, 2.5, 1e-7))


def test_fts5_sees_ties_of_32_bits_that_the_index_would_cut():
    class Nearly:
        def documents(self) -> Iterator[Document]:
            raise AssertionError("fts5 has its own index")

        def search(self, query: str, limit: int) -> list[tuple[str, float]]:
            return [(f"d{number}", 1 - number * 1e-12) for number in range(9)][:limit]

    assert list(search("fts5", Nearly(), [Query("1", "wing")], 2, {})) == [Ranking("1", ("d8", "d7"), (1.0, 1.0))]
