"""The same sitting over plain lines."""

import io

import pytest
from command import Terminal
from fakes import FakeJudging
from kept import Kept

from assessor_ui import keymap, plain
from assessor_ui.session import Session
from cranfield.base.errors import CollectionError
from cranfield.base.records import Document
from cranfield.judge.session import Held


def sit(judging: FakeJudging, *lines: str) -> tuple[int, str]:
    out = io.StringIO()
    status = plain.Lines(Session(judging), io.StringIO("".join(f"{line}\n" for line in lines)), out).run()
    return status, out.getvalue()


def calls(judging: FakeJudging) -> list[tuple[object, ...]]:
    return [call[:4] for call in judging.log if call[0] != "keep"]


def test_a_sitting_reads_as_question_document_and_answer(kept: Kept):
    status, said = sit(FakeJudging(queues={"T1": ["d1"], "T2": []}), "2")
    assert status == 0
    kept(said)


def test_that_nothing_is_left_is_not_repeated_for_each_surplus_grade():
    _, said = sit(FakeJudging(queues={"T1": ["d1"], "T2": []}), "2", "2", "1: so so", "")
    assert said.count("no document is open") == 2
    assert said.count("Nothing is left to judge") == 2  # after the last document, and on Enter


def test_words_and_letters_do_the_same():
    by_words, by_letters = FakeJudging(), FakeJudging()
    sit(by_words, "later", "2", "undo", "cannot read this", "topics T2", "note so so", "3", "quit", "1")
    sit(by_letters, "l", "2", "u", "x read this", "t T2", "c so so", "3", "q", "1")
    expected = [
        ("postpone", "T1", "d1", None),
        ("judge", "T1", "d2", 2),
        ("undo", "T1", "d2"),
        ("cannot", "T1", "d2", "read this"),
        ("judge", "T2", "d3", 3),
        ("leave",),
    ]
    assert calls(by_words) == calls(by_letters) == expected


def test_a_note_given_with_the_grade_is_saved_and_confirmed(kept: Kept):
    for line in ("3: a full method", "3 note a full method"):
        judging = FakeJudging()
        _, said = sit(judging, line)
        assert judging.log[0][:6] == ("judge", "T1", "d1", 3, judging.log[0][4], "a full method")
        kept(said)


def test_a_remark_that_begins_with_a_digit_never_judges(kept: Kept):
    judging = FakeJudging()
    status, said = sit(judging, "2 or 3: it depends on the pan")
    assert calls(judging) == [("leave",)]
    assert status == 1  # through a pipe nobody can be asked
    kept(said)


def test_on_a_terminal_a_remark_that_was_asked_back_is_no_failure():
    lines = Terminal("2 or 3: it depends\n2\n")
    judging = FakeJudging()
    assert plain.Lines(Session(judging), lines, io.StringIO()).run() == 0
    assert calls(judging) == [("judge", "T1", "d1", 2), ("leave",)]


def test_long_lines_are_wrapped_at_blanks_on_a_terminal_and_left_alone_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    monkeypatch.setenv("COLUMNS", "40")
    text = "Soda cleans a burnt pan. Wait an hour. Then scrub the pans with salt."
    terminal, pipe = Terminal(), io.StringIO()
    for out in (terminal, pipe):
        plain.Lines(Session(FakeJudging()), io.StringIO(""), out).run()
    assert f"\n{text}\n" in pipe.getvalue()
    kept(terminal.getvalue())
    assert max(len(line) for line in terminal.getvalue().splitlines() if not line.startswith("answer>")) <= 40


def test_what_others_hold_is_told_with_the_time_and_enter_looks_again(kept: Kept):
    judging = FakeJudging(
        queues={"T1": ["d1"], "T2": []}, held_documents={"d1"}, held={"T1": Held(documents=1, seconds=61)}
    )

    class Typed(Terminal):
        def __iter__(self):
            yield from ("t\n", "\n")
            judging.held_documents.clear()
            judging.held.clear()
            yield from ("\n", "2\n")

    out = io.StringIO()
    assert plain.Lines(Session(judging), Typed(), out).run() == 0
    sentence = "Nothing for you now: 1 document of T1 is leased to another assessor; try again in up to 2 minutes\n"
    assert out.getvalue().count(sentence) == 3
    kept(out.getvalue())
    assert calls(judging) == [("judge", "T1", "d1", 2), ("leave",)]


def test_help_lists_every_command(kept: Kept):
    _, said = sit(FakeJudging(), "?")
    told = said.split("answer> \n")[1].split("answer> ")[0]
    kept(told)
    listed = [line.split(" ")[0].rstrip(":") for line in told.splitlines()[1:]]
    assert listed == [command.word for command in keymap.PLAIN]
    for command in keymap.PLAIN:
        assert not (command.plain or command.help).startswith(f"{command.word}:")


def test_the_history_shows_the_latest_twenty_and_the_others_by_words():
    names = [f"d{number}" for number in range(45)]
    judging = FakeJudging(documents=tuple(Document(name, "pan") for name in names), queues={"T1": names, "T2": []})
    _, said = sit(judging, *["1"] * 45, "h", "h d3", "take 1")
    pages = said.split("answer> \n")[46:]
    assert [len([line for line in page.splitlines() if ". 1 marginal:" in line]) for page in pages] == [20, 11, 0]
    assert "the latest 20; history WORDS finds others; take NUMBER reopens one\n" in pages[0]
    assert "\ntake NUMBER reopens one\n" in pages[1]
    assert "\nd39\n" in pages[2]


def test_the_end_of_the_lines_ends_the_sitting():
    judging = FakeJudging()
    assert sit(judging)[0] == 0
    assert calls(judging) == [("leave",)]


def test_what_is_not_understood_saves_nothing_and_says_so(kept: Kept):
    judging = FakeJudging()
    status, said = sit(judging, "yes", "9", "-1", "²", "2x", "2 or 3: hard to say", "take 1", "x", "")
    assert (status, calls(judging)) == (1, [("leave",)])
    kept(said)


def test_an_answer_that_could_not_be_saved_is_told_and_is_the_exit_status(kept: Kept):
    judging = FakeJudging(trouble=CollectionError("the disk is full"), trouble_in={"judge"})
    status, said = sit(judging, "2")
    assert status == 1
    kept(said)


def test_words_are_found_read_and_marked(kept: Kept):
    judging = FakeJudging()
    _, said = sit(
        judging, "find hour", "n", "/ scrub", "mark soda cleans", "mark nowhere", "unmark", "v an hour.", "2"
    )
    kept(said)
    judged = next(call for call in judging.log if call[0] == "judge")
    assert [piece.text for piece in judged[6]] == ["an hour."]  # type: ignore[attr-defined]


def test_a_search_lists_what_it_finds_and_opens_it_by_number(kept: Kept):
    judging = FakeJudging()
    _, said = sit(judging, "search vinegar", "take 1", "3", "s vinegar", "take 1", "back", "h", "take 1", "0")
    kept(said)
    assert calls(judging) == [
        ("take", "T1", "d5", "vinegar"),
        ("judge", "T1", "d5", 3),
        ("judge", "T1", "d5", 0),
        ("leave",),
    ]


def test_guidelines_topics_history_and_help_are_told(kept: Kept):
    _, said = sit(FakeJudging(), "2", "g", "t", "h", "help", "f", "read")
    kept(said)
    assert all(f"\n{command.word}" in said for command in keymap.PLAIN)


def test_every_command_with_a_word_is_obeyed(kept: Kept):
    for command in keymap.PLAIN:
        _, said = sit(FakeJudging(), f"{command.word} x")
        kept(said)


def test_escape_sequences_never_reach_the_stream():
    judging = FakeJudging(documents=(Document("d1\x1b[2J", "a\x1b]0;x\x07 \u202e", "\x1bt", {"k": "\x9b"}),))
    judging.queues = {"T1": ["d1\x1b[2J"], "T2": []}
    judging.guidelines = "\x1b[31mred"
    _, said = sit(judging, "g", "note \x1b[1m", "find \x1b", "foo\x1b", "2", "h", "search a", "u")
    assert not set(said) & set("\x1b\x07\x9b\u202e")


def test_plain_lines_speak_of_words_and_never_of_keys_they_have_not(kept: Kept):
    _, said = sit(FakeJudging(), "find pan", "search vinegar", "take 1", "back", "2", "history", "take 1", "w", "q")
    begun = ("2 places", "found by", "you said 2", "no hard-wrapped")
    kept([line for line in said.splitlines() if line.startswith(begun)])
    assert [key for key in ("Esc", "Home", "Enter reads") if key in said] == []


def test_a_title_that_is_a_whole_paragraph_is_cut_in_lists(kept: Kept):
    judging = FakeJudging(documents=(Document("d1", "pan", "word " * 60),), queues={"T1": ["d1"], "T2": []})
    _, said = sit(judging, "2", "history")
    kept(said)
