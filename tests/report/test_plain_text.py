"""Without a terminal a table is written without rich, and the bytes are the same."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.text import Column, Table, plain_text, table_of
from cranfield.cli import console

WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
VALUES = st.one_of(WORDS, st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(0, 1))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    columns = draw(
        st.lists(st.builds(Column, name=WORDS, kind=st.sampled_from(["text", "number"])), min_size=1, max_size=5)
    )
    rows = draw(st.lists(st.tuples(*(VALUES for _ in columns)), max_size=5))
    return table_of(columns, rows, caption=draw(WORDS), notes=draw(st.lists(WORDS, max_size=2)))


def by_rich(table: Table, monkeypatch: pytest.MonkeyPatch) -> str:
    out = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", out)
        patched.setattr("cranfield.base.text.plain_text", lambda table: None)
        for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            patched.delenv(name, raising=False)
        console.put_table(table)
    return out.getvalue()


@given(table=tables())
def test_plain_text_is_what_rich_writes(table: Table):
    assert plain_text(table) == by_rich(table, pytest.MonkeyPatch())


def test_other_letters_are_left_to_rich(monkeypatch: pytest.MonkeyPatch):
    table = table_of(["run", "AP"], [("日本", 1.0), ("b", 0.5)])
    assert plain_text(table) is None
    assert "日本  1.0000" in by_rich(table, monkeypatch)
