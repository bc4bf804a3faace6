"""What a typed line means."""

import pytest

from assessor_ui.plain import grade_of


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("2", (2, "")),
        ("10", (10, "")),
        ("2: only the title fits", (2, "only the title fits")),
        ("2 note only the title fits", (2, "only the title fits")),
        ("2: 3 would be too much", (2, "3 would be too much")),
    ],
)
def test_a_grade_stands_alone_or_before_a_colon_or_the_word_note(line: str, meant: tuple[int, str]):
    assert grade_of(line) == meant


@pytest.mark.parametrize(
    "line",
    ["2 or 3: hard to say", "2:30 in the oven", "2 notes", "2 note", "2:", "2 3", "3 a full method", "2, I think"],
)
def test_a_remark_that_begins_with_a_digit_is_no_grade(line: str):
    assert grade_of(line) is None


@pytest.mark.parametrize("line", ["", "yes", "-1", "²", "2x", "later", "1.5 l of water"])
def test_other_lines_are_none_either(line: str):
    assert grade_of(line) is None
