"""Tables on narrow terminals: they are cut into several, or names fold; numbers are never cut."""

import re
from collections import Counter

import pytest
from command import Terminal
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.text import Column, Table, cell_width, printed, shortened_in_the_middle, table_of
from cranfield.cli import console
from cranfield.workflows.display import fitted

WIDE = "日本語検索システム名前が長い"
LONG = [f"anserini-bm25-rm3-title-k0.9-b0.4-{seed}" for seed in ("one", "two", "three")]


def on_terminal(table: Table, width: int, *, wide: bool = True) -> str:
    """Give what a terminal of this width gets, without colours."""
    out = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setenv("TERM", "xterm")
        patch.setattr("sys.stdout", out)
        console.put_table(table, wide=wide)
    return re.sub("\x1b\\[[0-9;]*m", "", out.getvalue())


def pairs(names: list[str]) -> Table:
    columns = ["run", "against", "difference", Column("low", "95% from", kind="number"), "p", "claim"]
    met = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    return table_of(columns, [(one, other, -0.0252, -0.017, 0.384, f"open: {one}") for one, other in met])


def test_a_wide_letter_takes_two_cells_and_a_mark_upon_a_letter_none():
    assert [cell_width(text) for text in ("abc", WIDE, "e\u0301a", "ｆ", "…", "a\u200db")] == [3, 28, 2, 2, 1, 2]


def test_a_name_is_cut_in_the_middle_by_cells():
    assert shortened_in_the_middle("abcdefghij", 7) == "abc…hij"
    assert shortened_in_the_middle("abcdefghij", 10) == "abcdefghij"
    assert shortened_in_the_middle(WIDE, 9) == "日本…長い"


def test_a_table_whose_names_leave_no_room_for_a_number_stays_whole_and_folds():
    assert fitted(pairs(LONG), 80) == [pairs(LONG)]
    lines = on_terminal(pairs(LONG), 80).splitlines()
    assert max(map(cell_width, lines)) <= 80


def test_names_that_leave_room_for_the_numbers_are_repeated():
    columns = ["run", "against", "difference", "p"]
    table = table_of(columns, [("a-name-of-eighteen", "b-name-of-eighteen", 0.25, 0.5)])
    parts = fitted(table, 55)
    assert [[column.name for column in part.columns] for part in parts] == [
        ["run", "against", "difference"],
        ["run", "against", "p"],
    ]


def test_a_first_column_of_numbers_is_repeated_and_never_cut():
    table = table_of(["depth", *(f"measure{number}" for number in range(6))], [(10**9, *[0.5] * 6)] * 7)
    parts = fitted(table, 40)
    assert len(parts) > 1
    assert all(part.columns[0].name == "depth" for part in parts)
    assert all(part.rows[0][0] == 10**9 for part in parts)


@pytest.mark.parametrize("width", [20, 30, 40, 46, 50, 52, 60, 80])
def test_no_column_is_lost_where_names_are_of_wide_letters(width: int):
    table = table_of(["run", "AP", "P@10", "nDCG@10"], [(WIDE, 0.1566, 0.3125, 0.2513), ("b", 0.1, 0.2, 0.3)] * 3)
    words = on_terminal(table, width).split()
    assert all(words.count(number) == 3 for number in ("0.1566", "0.3125", "0.2513", "0.1000"))
    assert all(name in words for name in ("AP", "P@10", "nDCG@10"))


def test_a_table_of_wide_letters_is_as_wide_as_it_is_drawn():
    table = table_of(["run", "AP", "P"], [(WIDE, 0.1566, 0.5)])
    width = max(map(cell_width, on_terminal(table, 80).splitlines()))
    assert (len(fitted(table, width)), len(fitted(table, width - 1))) == (1, 2)


NAMES = st.one_of(st.text("abcXYZ-日本é", min_size=1, max_size=80), st.just("x" * 90))
NUMBERS = st.one_of(st.floats(-1, 1), st.integers(-(10**9), 10**9), st.none(), st.just(float("nan")))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=8))
    titles = [draw(st.text("abcd ef", max_size=12)) or "t" for _ in kinds]
    columns = [
        Column(title, title, kind="number" if kind else "text") for title, kind in zip(titles, kinds, strict=True)
    ]
    row = st.tuples(*(NUMBERS if kind else NAMES for kind in kinds))
    return table_of(columns, draw(st.lists(row, min_size=1, max_size=4)))


@given(table=tables(), width=st.integers(10, 120), wide=st.booleans())
def test_a_number_is_never_cut_and_never_lost(table: Table, width: int, wide: bool):
    expected: Counter[str] = Counter()
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        expected.update(printed(value, column) for value, column in cells if column.numeric and value is not None)
    expected.pop("-", None)
    # Where a table is cut into several, a column of numbers before the others may be repeated.
    found = Counter(word for word in on_terminal(table, width, wide=wide).split() if re.search(r"^-?\d", word))
    assert set(found) == set(expected)
    assert all(found[number] >= count for number, count in expected.items())


def test_words_fold_before_anything_is_longer_than_the_terminal():
    table = table_of(["run", "rows", "note"], [("a-run", 1000, "some words that are many, and more of them")])
    lines = on_terminal(table, 40, wide=False).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[2].split()[:2] == ["a-run", "1,000"]


def test_the_name_of_a_row_folds_last():
    table = table_of(["run", "note", "AP"], [("n" * 30, "w" * 20, 0.5)])
    assert "n" * 30 in on_terminal(table, 60, wide=False).split()
    folded = on_terminal(table, 40, wide=False)
    assert "n" * 30 not in folded.split()
    assert folded.count("n") == 30 + 2  # run, note
    assert "0.5000" in folded.split()
