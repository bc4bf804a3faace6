"""How a document becomes lines on a screen, and the way back."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from assessor_ui.page import _lines_of, cells_of, index_at, page_of, unbroken, wrap
from cranfield.base.records import Document

TEXTS = st.text(alphabet=st.sampled_from("ab \n\t\x1b\u202e\u0301e漢字。👩\u200d👩אבج"), max_size=60)


def shown(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in wrap(text, width)]


def test_lines_break_at_blanks_and_keep_their_words():
    assert shown("the quick brown fox", 10) == ["the quick", "brown fox"]


def test_a_word_wider_than_the_line_is_cut():
    assert shown("ab abcdefghij c", 4) == ["ab", "abcd", "efgh", "ij c"]


def test_empty_lines_and_indentation_stay():
    assert shown("a\n\n  b", 10) == ["a", "", "  b"]


def test_wide_characters_break_anywhere_but_not_before_a_full_stop():
    assert shown("鍋を洗う。終", 8) == ["鍋を洗", "う。終"]


def test_a_combining_mark_stays_with_its_letter():
    assert shown("e\u0301" * 5, 3) == ["e\u0301" * 3, "e\u0301" * 2]


def test_a_family_is_not_torn_apart():
    family = "👩\u200d👩\u200d👧"
    assert shown(family * 2, 3) == [family, family]


def test_what_some_terminals_do_not_join_has_room_to_stand_side_by_side():
    family, hand = "👩\u200d👩\u200d👧", "👍🏽"
    assert (cells_of(family), cells_of(hand), cells_of(f"❤\ufe0f{family}"), cells_of("e\u0301")) == (6, 4, 8, 1)
    assert shown(f"{family} {hand} pan", 12) == [f"{family} {hand}", "pan"]
    assert shown(family * 3, 12) == [family * 2, family]
    assert shown(f"{hand}{hand}", 3) == [hand, hand]


@given(TEXTS, st.integers(4, 30))
def test_no_line_is_too_wide_and_nothing_but_white_space_is_lost(text: str, width: int):
    page = page_of(Document("d", text))
    lines = wrap(page.text, width)
    assert all(cell_len(page.text[start:end]) <= width for start, end in lines)
    kept = "".join(page.text[start:end] for start, end in lines)
    assert "".join(kept.split()) == "".join(page.text.split())
    assert all(index_at(lines, start) == number for number, (start, end) in enumerate(lines) if start < end)


def test_hard_wrapped_lines_are_joined_only_where_they_do_not_fit():
    wrapped = "one two three four five\nsix seven eight nine\nten\n\n- a\n- b\n\na poem\nfits here"
    assert unbroken(wrapped, 23) == wrapped
    assert unbroken(wrapped, 22) == wrapped.replace("five\n", "five ").replace("nine\n", "nine ")
    paragraphs = f"{'word ' * 30}\n{'word ' * 30}"
    assert unbroken(paragraphs, 22) == paragraphs


@given(st.text(alphabet="ab   c", max_size=80), st.integers(2, 20))
def test_the_fast_way_for_plain_letters_wraps_like_the_usual_one(text: str, width: int):
    assert wrap(text, width) == list(_lines_of(text, 0, width))


def test_a_page_has_title_facts_and_text():
    page = page_of(Document("d1", "The text.", "A title", {"kind": "tip", "year": "1999"}))
    assert page.text == "A title\nd1 · kind: tip · year: 1999\n\nThe text."
    assert page.text[: page.title_end] == "A title"
    assert page.text[page.body_start : page.body_end] == "The text."


def test_a_document_without_title_or_text_is_a_page_too():
    page = page_of(Document("d1", " "))
    assert page.text == "d1\n\n(This document has no text.)"
    assert page.to_document((0, len(page.text))) is None


def test_escape_sequences_and_overrides_are_shown_and_harmless():
    page = page_of(Document("d\x1b", "a\x1b[2Jb\u202ec\td", "t\x07\ni", {"k\x00": "v\x1b"}))
    assert page.text == "t␇␊i\nd␛ · k␀: v␛\n\na␛[2Jb<U+202E>c    d"


@given(TEXTS, st.data())
def test_a_span_of_the_text_survives_the_way_to_the_screen_and_back(text: str, data: st.DataObject):
    page = page_of(Document("d", text))
    if not text.strip():
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert page.to_document(page.from_document((start, end))) == (start, end)


def test_a_title_that_is_the_first_line_of_the_text_is_shown_once():
    text = "A title\n\nand the rest"
    page = page_of(Document("d", text, "A title"))
    assert (page.text, page.title_end, page.body_start) == (f"d\n\n{text}", 0, 3)
    other = page_of(Document("d", text, "Another"))
    assert (other.text, other.title_end) == (f"Another\nd\n\n{text}", 7)


def test_paragraphs_of_one_line_each_are_not_joined():
    text = f"{'long ' * 30}\n{'also long ' * 15}"
    assert page_of(Document("d", text), reflow=True).text == page_of(Document("d", text)).text
