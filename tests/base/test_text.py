"""Text from outside, made fit to be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.text import begins_with, counted, shortened, visible, visible_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\tnaïve שלום 🦊", "plain\n\tnaïve שלום 🦊"),
        ("\x1b[2J\x07\x00\x7f", "␛[2J␇␀␡"),
        ("a\rb", "a␍b"),
        ("\x9b31m", "<U+009B>31m"),
        ("gpj\u202eexe", "gpj<U+202E>exe"),
        ("\u2066x\u2069\u200f", "<U+2066>x<U+2069><U+200F>"),
        ("\u2028\ufeff\ud800", "<U+2028><U+FEFF><U+D800>"),
    ],
)
def test_what_a_terminal_would_act_on_becomes_visible(text, shown):
    assert visible(text) == shown


def test_a_visible_line_has_no_line_ends_or_tabs():
    assert visible_line("a\nb\tc\x1b") == "a␊b␉c␛"


@given(st.text(st.characters()))
def test_visible_text_is_harmless_and_stays_as_it_is(text):
    shown = visible(text)
    assert visible(shown) == shown
    shown.encode("utf-8")
    assert not any(ord(letter) < 0x20 and letter not in "\n\t" for letter in shown)
    assert "\n" not in visible_line(text)


def test_shortened_text_is_folded_and_cut_with_an_ellipsis():
    assert shortened("  a \n b  ", 10) == "a b"
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"
    assert shortened("abc", 0) == "…"


def test_numbers_of_things_have_their_plural():
    assert [counted(number, "run") for number in (0, 1, 2, 1000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]
    assert counted(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize(
    ("text", "title", "begins"),
    [
        ("A title\nrest", "A title", True),
        ("\n  A \t title\nrest", "A title", True),
        ("# A title #\nrest", "A title", True),
        ("a long first line", "a long…", True),
        ("A title and more", "A title", False),
        ("", "", False),
        ("rest", "", False),
    ],
)
def test_a_text_may_begin_with_its_title(text, title, begins):
    assert begins_with(text, title) is begins
