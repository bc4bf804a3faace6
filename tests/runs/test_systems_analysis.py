"""From text to terms, and from topics to queries."""

import sys

import pytest
from kept import Kept

from cranfield.base.errors import MissingExtra, UnknownName
from cranfield.base.records import Topic
from cranfield.runs.baseline import query_text, words_and_stems, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Heat-conduction in COMPOSITE slabs.", ["heat", "conduction", "in", "composite", "slabs"]),
        ("don't, O’Brien; a_b", ["don", "t", "o", "brien", "a", "b"]),
        ("Straße ﬁne １２", ["strasse", "fine", "12"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("風洞の実験", ["風", "洞", "の", "実", "験"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("обтекание крыла", ["обтекание", "крыла"]),
        ("a\x00b\x1b[31mc\ud800d", ["a", "b", "31mc", "d"]),
        (" \n\t .,;!? ", []),
        ("", []),
    ],
)
def test_words_are_folded_runs_of_letters_digits_and_marks(text, words):
    assert words_of(text) == words


def test_stop_words_go_before_endings_are_cut():
    assert words_and_stems("test")("The wings of this flying body") == ["wing", "fli", "bodi"]


def test_without_stop_list_and_stemmer_words_stay():
    assert words_and_stems("test", stemmer="none", stopwords="none")("The Wings") == ["the", "wings"]


def test_other_languages_have_their_own_stemmer():
    assert words_and_stems("test", stemmer="german")("Häuser Häusern") == ["haus", "haus"]


def test_an_unknown_stemmer_names_the_nearest(kept: Kept):
    with kept.raises(UnknownName):
        words_and_stems("test", stemmer="englisch")


def test_a_missing_stemmer_says_what_to_install(monkeypatch, kept: Kept):
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with kept.raises(MissingExtra):
        words_and_stems("bm25")


def test_a_query_is_the_wanted_fields_in_the_wanted_order(kept: Kept):
    topic = Topic("1", "wing flutter", " at high speed \n", "Only experiments.")
    kept(query_text(topic, ["title"]))
    kept(query_text(topic, ["narrative", "title", "description"]))


def test_a_topic_without_title_is_an_empty_query():
    assert query_text(Topic("1", "", "described"), ["title"]) == ""
    assert query_text(Topic("1", "", "described"), ["title", "description"]) == "described"


def test_an_unknown_topic_field_names_the_known(kept: Kept):
    with kept.raises(UnknownName):
        query_text(Topic("1", "wing"), ["desc"])  # type: ignore[list-item]
