"""The frozen nouns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import InputError, ProblemsFound
from cranfield.base.records import BINARY, Document, Grade, GradeScale, Topic


def scale(*grades: tuple[int, str, float], relevant_from: int) -> GradeScale:
    return GradeScale(tuple(Grade(*grade) for grade in grades), relevant_from)


def test_the_content_hash_is_of_what_was_shown_and_of_its_name():
    document = Document("1", "text", "title", {"a": "1", "b": "2"})
    assert document.content_hash == Document("1", "text", "title", {"b": "2", "a": "1"}).content_hash
    others = [
        Document("2", "text", "title", {"a": "1", "b": "2"}),
        Document("1", "text ", "title", {"a": "1", "b": "2"}),
        Document("1", "title", "text", {"a": "1", "b": "2"}),
        Document("1", "text", "title", {"a": "1"}),
    ]
    assert len({other.content_hash for other in [document, *others]}) == 5


def test_the_content_hash_never_changes_between_versions():
    assert Document("1", "é", "t", {"k": "v"}).content_hash == (
        "60f86503b88ccbeb9e409e2bf943d942c73c9559f929f63c759e6475c91ba125"
    )
    assert (
        Topic("1", "t", "d", "n").content_hash == "ed137a083e1467018f12bc1a2c3191f96aede99ff933c83161a73cb267339e0e"
    )


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_has_a_content_hash(title, text):
    assert len(Document("1", text, title).content_hash) == 64
    assert len(Topic("1", title, text).content_hash) == 64


def test_the_binary_scale_is_zero_and_one():
    assert (BINARY.lowest, BINARY.highest, BINARY.relevant_from) == (0, 1, 1)
    assert BINARY.named(1).label == "relevant"


def test_a_scale_need_not_start_at_zero():
    three = scale((1, "no", 0), (2, "partly", 1), (3, "yes", 3), relevant_from=2)
    assert (three.lowest, three.highest) == (1, 3)


def test_a_grade_that_is_not_on_the_scale_says_which_are(kept: Kept):
    with kept.raises(InputError):
        BINARY.named(2)


@pytest.mark.parametrize(
    ("grades", "relevant_from"),
    [
        ([(0, "no", 0)], 0),
        ([(1, "yes", 1), (0, "no", 0)], 1),
        ([(0, "no", 0), (0, "yes", 1)], 0),
        ([(-1, "no", 0), (1, "yes", 1)], 1),
        ([(0, "no", 0), (1, "no", 1)], 1),
        ([(0, "", 0), (1, "yes", 1)], 1),
        ([(0, "no", 1), (1, "yes", 0)], 1),
        ([(0, "no", 0), (1, "yes", float("inf"))], 1),
        ([(0, "no", 0), (1, "yes", float("nan"))], 1),
        ([(0, "no", -1), (1, "yes", 1)], 1),
        ([(0, "no", 0), (1, "yes", 1)], 0),
        ([(0, "no", 0), (1, "yes", 1)], 2),
    ],
)
def test_what_is_no_scale_is_refused_with_the_reason(grades, relevant_from, kept: Kept):
    with kept.raises(ProblemsFound):
        scale(*grades, relevant_from=relevant_from)


def test_all_that_is_wrong_with_a_scale_is_said_at_once():
    with pytest.raises(ProblemsFound) as caught:
        scale((-1, "a", 0), (-1, "a", -1), relevant_from=5)
    assert len(caught.value.problems) == 6
