"""Where the words of the topic stand in a document."""

from itertools import pairwise
from typing import Literal

import pytest
from fakes import FakeJudging
from hypothesis import given
from hypothesis import strategies as st

from assessor_ui.page import find, hits_of, stemmer, terms_of
from assessor_ui.reader import sentences
from assessor_ui.session import Session
from cranfield.base.errors import UnknownName
from cranfield.base.records import Document, Topic

STEMS = stemmer("english")


def seen(topic: Topic, text: str) -> list[tuple[str, str]]:
    of_title, of_description = hits_of(text, terms_of(topic, STEMS), STEMS)
    hits = [*((hit, "title") for hit in of_title), *((hit, "description") for hit in of_description)]
    return [(text[start:end], source) for (start, end), source in sorted(hits)]


def test_words_are_found_in_all_their_forms_and_cases():
    assert seen(Topic("1", "burning pans"), "Burnt? The PAN burns; pan's, panel.") == [
        ("PAN", "title"),
        ("burns", "title"),
        ("pan's", "title"),
    ]


def test_words_of_the_description_are_weaker_and_function_words_nothing():
    topic = Topic("1", "pans", "How can the pans be cleaned?")
    assert seen(topic, "How can pans be clean?") == [("pans", "title"), ("clean", "description")]


def test_composed_and_decomposed_letters_are_the_same():
    assert seen(Topic("1", "cafe\u0301"), "Un café, un CAFE\u0301.") == [("café", "title"), ("CAFE\u0301", "title")]


def test_scripts_without_blanks_are_found_by_pairs_of_characters():
    assert seen(Topic("1", "焦げた鍋"), "鍋が焦げた。鍋") == [("焦げ", "title")]


def test_words_with_vowel_signs_are_whole_words():
    assert seen(Topic("1", "हिन्दी"), "यह हिन्दी है") == [("हिन्दी", "title")]


def test_another_language_has_its_own_stems_and_an_unknown_one_is_named():
    german = stemmer("german")
    assert german("Pfannen") == german("pfanne")
    with pytest.raises(UnknownName, match="did you mean 'german'"):
        stemmer("germn")


def test_find_takes_letters_as_they_are_and_blanks_for_any_white_space():
    text = "A (b)\n c. a (B) C"
    assert [text[start:end] for start, end in find(text, "(b) c")] == ["(b)\n c", "(B) C"]
    assert find(text, " ") == []


@given(st.text(max_size=80), st.text(max_size=20), st.text(max_size=20))
def test_hits_are_in_order_and_never_overlap(text: str, title: str, description: str):
    hits = hits_of(text, terms_of(Topic("1", title, description), STEMS), STEMS)
    hits = sorted([*hits[0], *hits[1]])
    assert all(start < end <= len(text) for start, end in hits)
    assert all(one[1] <= other[0] for one, other in pairwise(hits))


def test_sentences_end_at_stops_and_line_ends():
    text = 'One. "Two!" Three… 3.5 of\nfour 五。六'
    assert [text[start:end] for start, end in sentences(text)] == [
        "One.",
        '"Two!"',
        "Three…",
        "3.5 of",
        "four 五。",
        "六",
    ]


def test_a_marker_moves_by_sentences():
    document = Document("d", "One two. Three four five. Six.")

    def after(*moves: Literal["next", "previous", "more", "less"]) -> str:
        session = Session(FakeJudging(documents=(document,), queues={"T1": ["d"], "T2": []}))
        session.start()
        session.begin_mark(0)
        for move in moves:
            session.move_mark(move)
        assert session.reading.marker is not None
        return session.reading.page.text[slice(*session.reading.marker.span)]

    assert after() == "One two."
    assert after("previous") == "One two."
    assert after("next") == "Three four five."
    assert after("next", "next", "next") == "Six."
    assert after("more") == "One two. Three four five."
    assert after("more", "less") == "One two."
    assert after("less") == "One two."
    assert after("more", "more", "more") == "One two. Three four five. Six."
    assert after("more", "next") == "Three four five."
