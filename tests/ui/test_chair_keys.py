"""Every key of the judging screen does what the help says."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from fakes import BREAD, PANS, FakeJudging
from kept import Kept
from seat import Chair, seated

from assessor_ui import keymap
from assessor_ui.app import AssessorApp
from assessor_ui.plain import Lines
from assessor_ui.screens.judge import HELD, SEEN, JudgeScreen
from assessor_ui.session import Session
from cranfield.base.records import Document, Grade, GradeScale, Topic
from cranfield.judge.session import Held

LONG = Document(
    "long", "\n".join(f"Line {number} of a long text." for number in range(60)) + "\nThe pan is last.", "Long"
)


def long_document() -> FakeJudging:
    return FakeJudging(documents=(LONG,), queues={"T1": ["long"], "T2": []})


def judged(judging: FakeJudging) -> list[tuple[object, ...]]:
    return [call[:4] for call in judging.log if call[0] in ("judge", "postpone", "cannot", "undo")]


@seated()
async def test_a_digit_judges_saves_and_moves_on(chair: Chair, kept: Kept):
    kept(chair.text)
    await chair.press("2")
    assert judged(chair.judging) == [("judge", "T1", "d1", 2)]
    kept(chair.text)


@seated()
async def test_a_digit_that_is_not_on_the_scale_saves_nothing_and_says_so(chair: Chair, kept: Kept):
    await chair.press("7")
    assert chair.judging.log == []
    kept(chair.text)


@seated(
    judging=lambda: FakeJudging(scale=GradeScale(tuple(Grade(n, f"g{n}", n) for n in (1, 2, 3)), relevant_from=2))
)
async def test_on_a_scale_from_one_to_three_the_key_is_the_grade(chair: Chair):
    await chair.press("0", "3")
    assert judged(chair.judging) == [("judge", "T1", "d1", 3)]


@seated(
    judging=lambda: FakeJudging(scale=GradeScale(tuple(Grade(n, f"g{n}", n) for n in range(11)), relevant_from=1))
)
async def test_a_grade_of_two_digits_waits_for_the_second_one_or_for_enter(chair: Chair, kept: Kept):
    await chair.press("1")
    assert chair.judging.log == []
    kept(chair.text)
    await chair.press("0", "1", "enter", "1", "escape", "4")
    assert judged(chair.judging) == [("judge", "T1", "d1", 10), ("judge", "T1", "d2", 1), ("judge", "T2", "d3", 4)]


@seated()
async def test_u_takes_the_answers_back_one_by_one_down_to_the_start_of_the_sitting(chair: Chair, kept: Kept):
    await chair.press("2", "1", "u")
    kept(chair.text)
    await chair.press("u")
    kept(chair.text)
    await chair.press("u")
    kept(chair.text)
    await chair.press("0", "0", "0")
    assert [call[:4] for call in chair.judging.log if call[0] == "judge"][2:] == [
        ("judge", "T1", "d1", 0),
        ("judge", "T1", "d2", 0),
        ("judge", "T2", "d3", 0),
    ]


@seated()
async def test_l_puts_a_document_off_and_it_comes_again_at_the_end(chair: Chair, kept: Kept):
    await chair.press("l")
    kept(chair.text)
    await chair.press("0")
    assert chair.session.open is not None
    assert chair.session.open.document.id == "d1"


@seated()
async def test_x_asks_for_a_reason_before_it_says_that_a_document_cannot_be_judged(chair: Chair, kept: Kept):
    await chair.press("x")
    await chair.press("enter")
    assert chair.judging.log == []
    kept(chair.text)
    await chair.press("x")
    await chair.type("it is 100 % Dutch")
    await chair.press("enter")
    assert judged(chair.judging) == [("cannot", "T1", "d1", "it is 100 % Dutch")]


@seated()
async def test_while_a_note_is_typed_no_digit_judges(chair: Chair):
    await chair.press("c")
    await chair.type("12 uxl")
    assert chair.judging.log == []
    await chair.press("enter", "3")
    assert [(*call[:4], call[5]) for call in chair.judging.log] == [("judge", "T1", "d1", 3, "12 uxl")]


@seated()
async def test_escape_leaves_a_prompt_as_if_it_had_not_been_opened(chair: Chair):
    await chair.press("c")
    await chair.type("no")
    await chair.press("escape", "3")
    assert [call[5] for call in chair.judging.log] == [""]


@seated()
async def test_g_shows_topic_scale_and_guidelines_and_no_digit_judges_meanwhile(chair: Chair, kept: Kept):
    await chair.press("g")
    kept(chair.text)
    await chair.press("2", "end")
    kept(chair.text)
    await chair.press("escape")
    assert chair.judging.log == []
    kept(chair.text)


@seated()
async def test_t_shows_topics_with_progress_and_goes_on_with_the_chosen_one(chair: Chair, kept: Kept):
    await chair.press("2", "l", "t")
    assert "1/2, 1 postponed" in chair.text
    assert "0/2" in chair.text
    await chair.press("down", "enter")
    kept(chair.text)
    await chair.press("t", "up", "enter")
    kept(chair.text)


@seated()
async def test_h_finds_an_earlier_answer_and_a_new_grade_replaces_it(chair: Chair, kept: Kept):
    await chair.press("2", "1", "h")
    assert "2 relevant" in chair.text
    await chair.press("slash")
    await chair.type("rice")
    assert "Pan\n" not in chair.text
    await chair.press("enter", "enter")
    kept(chair.text)
    await chair.press("0")
    assert judged(chair.judging)[-1] == ("judge", "T1", "d1", 0)
    kept(chair.text)


@seated()
async def test_escape_leads_back_to_the_document_in_turn_with_its_note(chair: Chair, kept: Kept):
    await chair.press("2", "c")
    await chair.type("hm")
    await chair.press("enter", "h", "enter")
    kept(chair.text)
    await chair.press("escape")
    kept(chair.text)
    await chair.press("1")
    assert chair.judging.log[-1][1:] == ("T1", "d2", 1, chair.judging.log[-1][4], "hm", ())


@seated()
async def test_question_mark_lists_all_keys(chair: Chair):
    await chair.press("question_mark")
    seen = chair.text
    for _ in range(12):
        await chair.press("space")
        seen += chair.text
    missing = [command.help for command in keymap.COMMANDS if command.help.split(";")[0][:30] not in seen]
    assert missing == []


@seated()
async def test_s_searches_the_collection_and_tells_judged_pooled_and_new_apart(chair: Chair):
    await chair.press("2", "s")
    await chair.type("pan")
    await chair.press("enter")
    assert "● judged 2" in chair.text
    assert "○ pooled" in chair.text
    assert "+ new" in chair.text


@seated()
async def test_a_found_document_can_be_read_first_and_the_way_leads_back(chair: Chair, kept: Kept):
    await chair.press("s")
    await chair.type("vinegar")
    await chair.press("enter", "enter")
    kept(chair.text)
    await chair.press("1")
    kept(chair.text)


@seated()
async def test_digits_typed_in_the_search_judge_nothing(chair: Chair):
    await chair.press("s")
    await chair.type("2 pans")
    await chair.press("enter", "2", "slash", "1")
    assert judged(chair.judging) == []


@seated()
async def test_the_search_goes_on_with_what_was_found_for_the_topic(chair: Chair, kept: Kept):
    await chair.press("s")
    await chair.type("vinegar")
    await chair.press("enter", "enter", "3", "s")
    kept(chair.text)
    await chair.press("down", "enter")
    assert chair.session.open is not None
    assert (chair.session.open.document.id, chair.session.searched) == ("d5", ("T1", "vinegar"))
    await chair.press("escape", "s")
    await chair.type("bread")
    await chair.press("enter")
    assert chair.session.searched == ("T1", "bread")


@seated(size=(80, 20), judging=long_document)
async def test_a_long_document_says_how_much_is_left_and_scrolls_by_keys(chair: Chair, kept: Kept):
    kept(chair.text)
    await chair.press("down", "j", "up", "k", "space", "pagedown", "pageup")
    kept(chair.text)
    await chair.press("end")
    kept(chair.text)
    await chair.press("home")
    kept(chair.text)


@seated(size=(80, 20), judging=long_document)
async def test_n_and_N_go_from_hit_to_hit(chair: Chair, kept: Kept):
    await chair.press("n")
    kept(chair.text)


@seated()
async def test_n_goes_on_and_N_goes_back_round_the_ends(chair: Chair, kept: Kept):
    await chair.press("n", "n")
    kept(chair.text)
    await chair.press("N", "N")
    kept(chair.text)


@seated(size=(80, 20), judging=long_document)
async def test_slash_finds_words_and_n_goes_through_them(chair: Chair, kept: Kept):
    await chair.press("slash")
    await chair.type("line 5")
    await chair.press("enter")
    kept(chair.text)
    await chair.press("n")
    kept(chair.text)
    await chair.press("slash")
    await chair.type("nowhere")
    await chair.press("enter")
    kept(chair.text)


@seated()
async def test_f_folds_the_topic_to_less_and_back(chair: Chair, kept: Kept):
    kept(chair.text)
    await chair.press("f")
    assert ("Advice on prevention" in chair.text, "How can a burnt pan" in chair.text) == (False, True)
    await chair.press("f")
    assert ("burnt pans" in chair.text, "How can a burnt pan" in chair.text) == (True, False)
    await chair.press("f")
    kept(chair.text)


@seated(judging=lambda: FakeJudging(topic_list=(Topic("T1", "pans", "d", "word " * 130), Topic("T2", "b"))))
async def test_brackets_scroll_a_topic_that_is_too_long(chair: Chair):
    assert "] more" in chair.text
    await chair.press(*["right_square_bracket"] * 5)
    assert "] more" not in chair.text
    await chair.press("left_square_bracket")
    assert "] more" in chair.text


@seated()
async def test_v_marks_a_sentence_as_evidence_that_is_saved_with_the_grade(chair: Chair, kept: Kept):
    await chair.press("v")
    assert "marking:" in chair.text
    await chair.press("2", "down", "shift+down", "enter")
    assert judged(chair.judging) == []
    kept(chair.text)
    await chair.press("2")
    (evidence,) = chair.judging.log[-1][6]  # type: ignore[misc]
    text = chair.judging.documents[0].text
    assert (evidence.text, text[evidence.start : evidence.end]) == (
        "Wait an hour. Then scrub the pans with salt.",
    ) * 2


@seated()
async def test_a_mark_is_taken_away_with_d_and_left_alone_with_escape(chair: Chair):
    await chair.press("v", "enter", "v", "escape")
    assert len(chair.session.reading.marked) == 1  # type: ignore[union-attr]
    await chair.press("v", "d")
    assert chair.session.reading.marked == []  # type: ignore[union-attr]


@seated()
async def test_d_changes_between_dark_and_light(chair: Chair):
    before = chair.app.theme
    await chair.press("d")
    after = chair.app.theme
    await chair.press("d")
    assert (before, after, chair.app.theme) == ("cranfield-dark", "cranfield-light", "cranfield-dark")


@seated()
async def test_q_ends_the_sitting_and_gives_the_leases_back(chair: Chair):
    await chair.press("2")
    await chair.pilot.press("q")
    await chair.pilot.pause()
    await chair.app.workers.wait_for_complete()
    assert chair.judging.log[-1] == ("leave",)
    assert chair.app.return_value == 0


@seated(held=1000.0)
async def test_a_key_held_down_answers_once(chair: Chair, kept: Kept):
    await chair.press("2", "2", "2")
    assert judged(chair.judging) == [("judge", "T1", "d1", 2)]
    kept(chair.text)
    await chair.press("1", "l", "l", "u", "u", "u")
    assert judged(chair.judging)[1:] == [
        ("judge", "T1", "d2", 1),
        ("postpone", "T2", "d3", None),
        ("undo", "T2", "d3"),
    ]


@seated(seen=1000.0)
async def test_no_key_answers_for_a_document_that_nobody_can_have_seen_yet(chair: Chair, kept: Kept):
    await chair.press("2", "l", "0")
    assert chair.judging.log == []
    kept(chair.text)


@pytest.mark.parametrize(("gap", "grades"), [(0.033, [1]), (0.085, [1]), (0.14, [1]), (0.25, [1, 1, 1, 1])])
def test_a_repeating_key_judges_one_document_and_a_quick_finger_all(
    gap: float, grades: list[int], monkeypatch: pytest.MonkeyPatch
):
    now = [1000.0]
    monkeypatch.setattr("assessor_ui.screens.judge.time", SimpleNamespace(monotonic=lambda: now[0]))

    @seated(
        held=HELD, seen=SEEN, judging=lambda: FakeJudging(queues={"T1": ["d1", "d2", "d3", "d4", "d5"], "T2": []})
    )
    async def press(chair: Chair) -> None:
        now[0] += 10
        for _ in range(4):
            await chair.press("1")
            now[0] += gap
        assert [call[3] for call in judged(chair.judging)] == grades

    press()


def test_no_key_means_two_things_and_no_digit_is_taken():
    for commands in (list(keymap.COMMANDS), list(keymap.MARKING)):
        keys = [key for command in commands for key in command.keys.split(",")]
        assert len(keys) == len(set(keys))
        assert [key for key in keys if key in "0123456789" or key == "enter"] in ([], ["enter"])


def test_every_action_of_the_keymap_exists():
    def missing(commands: list[keymap.Command], front: type, session: type) -> list[str]:
        actions = [command.action for command in commands]
        known = {*dir(front), *dir(AssessorApp)}
        return [name for name in actions if f"do_{name}" not in known and not hasattr(session, name)]

    assert missing([*keymap.COMMANDS, *keymap.MARKING], JudgeScreen, Session) == []
    deciding = [command for _, group in keymap.ADJUDICATION for command in group]
    assert missing(deciding, JudgeScreen, Session) == []
    assert missing([*keymap.PLAIN], Lines, Session) == []
    assert missing([*keymap.PLAIN_ADJUDICATION], Lines, Session) == []


def crowded() -> FakeJudging:
    return FakeJudging(topic_list=(replace(PANS, narrative="Prevention alone is marginal. " * 30), BREAD))


def lengthy() -> FakeJudging:
    made = crowded()
    long = replace(made.documents[0], id="clueweb09-en0000-00-00000-and-still-more")
    return replace(made, documents=(long, *made.documents[1:]), queues={"T1": [long.id, "d2"], "T2": []})


@seated(judging=lengthy)
async def test_where_there_is_no_room_for_both_what_was_saved_stays(chair: Chair, kept: Kept):
    await chair.press("3")
    kept(chair.text)
    await chair.press("n")
    kept(chair.text)


@seated(judging=lambda: FakeJudging(late=True))
async def test_a_long_confirmation_is_seen_whole(chair: Chair, kept: Kept):
    await chair.press("1")
    shown = " ".join(chair.text.split())
    kept(shown)
    await chair.press("n")
    kept(chair.text)


def held_back() -> FakeJudging:
    return FakeJudging(held={"T2": Held(1, 500.0)}, held_documents={"d4"})


@seated(judging=held_back)
async def test_the_last_document_before_somebody_else_is_told_and_enter_looks_again(chair: Chair, kept: Kept):
    await chair.press("1", "1", "1")
    shown = " ".join(chair.text.split())
    kept(shown)
    kept(chair.rows[0])
    await chair.press("t")
    kept(chair.text)
    await chair.press("escape")
    chair.judging.held_documents.clear()
    await chair.press("enter")
    assert "The baker" in chair.text


WRAPPED = Document(
    "wrapped",
    "The pan was left on the\nstove over night, and the\nrice burnt. What helps is\nvinegar.\n\n- soda\n- salt",
    "Wrapped",
)


@seated(judging=lambda: FakeJudging(documents=(WRAPPED,), queues={"T1": ["wrapped"], "T2": []}))
async def test_w_joins_hard_wrapped_lines_and_back_and_what_was_found_and_marked_stays(chair: Chair, kept: Kept):
    await chair.press("v", "enter", "slash")
    await chair.type("the rice")
    await chair.press("enter", "w")
    kept(chair.text)
    assert [chair.session.reading.page.text[slice(*span)] for span in chair.session.reading.found] == ["the rice"]
    await chair.press("w")
    kept(chair.text)
    await chair.press("w", "2")
    assert chair.judging.log[-1][6][0].text == "The pan was left on the"


@seated()
async def test_a_change_of_topic_fills_the_screen_until_enter_and_no_grade_is_taken_there(chair: Chair, kept: Kept):
    await chair.press("2", "1")
    kept(chair.text)
    for key in ("3", "0", "l", "x", "space"):
        await chair.press_on_card(key)
    assert judged(chair.judging) == [("judge", "T1", "d1", 2), ("judge", "T1", "d2", 1)]
    kept(chair.text)
    await chair.press_on_card("enter")
    kept(chair.text)


@seated()
async def test_u_where_another_topic_is_shown_takes_the_answer_before_back(chair: Chair, kept: Kept):
    await chair.press("2", "1")
    await chair.press_on_card("u")
    assert judged(chair.judging)[-1] == ("undo", "T1", "d2")
    kept(chair.text)
    await chair.press("0", "3")
    assert judged(chair.judging)[3:] == [("judge", "T1", "d2", 0), ("judge", "T2", "d3", 3)]


def test_the_document_behind_another_topic_must_be_seen_before_it_is_judged(monkeypatch: pytest.MonkeyPatch):
    now = [1000.0]
    for module in ("judge", "sheets"):
        monkeypatch.setattr(f"assessor_ui.screens.{module}.time", SimpleNamespace(monotonic=lambda: now[0]))

    @seated(held=HELD, seen=SEEN)
    async def press(chair: Chair) -> None:
        for _ in range(2):
            now[0] += 10
            await chair.press("1")
        await chair.press_on_card("enter")  # nobody has seen the topic yet
        for _ in range(9):
            now[0] += 0.1
            await chair.press_on_card("enter")  # a key that is held down
        assert "CHANGE" in chair.text.upper()
        now[0] += 10
        await chair.press_on_card("enter")
        await chair.press("3")
        assert len(judged(chair.judging)) == 2
        now[0] += SEEN
        await chair.press("2")
        assert judged(chair.judging)[2:] == [("judge", "T2", "d3", 2)]

    press()
