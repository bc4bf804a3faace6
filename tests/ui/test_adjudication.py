"""Deciding between assessors, on the screen and over plain lines."""

import io

from fakes import CASES, FakeAdjudication
from kept import Kept
from seat import Chair, seated

from assessor_ui.plain import Lines
from assessor_ui.session import Session
from cranfield.base.errors import CollectionError


def decide(judging: FakeAdjudication, *keys: str, size: tuple[int, int] = (80, 24)) -> str:
    """Press keys on the screen; give what stands there in the end."""
    screens: list[str] = []

    @seated(judging=lambda: judging, size=size)
    async def press(chair: Chair) -> None:
        await chair.press(*keys)
        screens.append(chair.text)

    press()
    return screens[0]


def test_document_grades_notes_and_evidence_are_side_by_side_without_names(kept: Kept):
    said = decide(FakeAdjudication())
    kept(said)


def test_a_digit_decides_and_goes_on_and_u_takes_it_back(kept: Kept):
    judging = FakeAdjudication()
    said = decide(judging, "2", "u", "c", "h", "m", "enter", "3")
    assert judging.log == [("decide", "d1", 2, ""), ("undo", "d1"), ("decide", "d1", 3, "hm")]
    kept(said)


def test_after_an_undo_the_case_that_was_open_comes_back_with_its_note():
    deciding = Session(FakeAdjudication())
    deciding.start()
    deciding.judge(2)
    deciding.read_on()
    deciding.set_note("hm")
    deciding.undo()
    deciding.read_on()
    deciding.judge(3)
    assert (deciding.open, deciding.note) == (CASES[1], "hm")


def test_a_case_put_off_comes_after_the_others(kept: Kept):
    judging = FakeAdjudication()
    said = decide(judging, "l", "2")
    assert judging.log == [("postpone", "d1"), ("decide", "d3", 2, "")]
    kept(said)
    kept(decide(judging, "2"))


def test_a_decision_that_is_not_in_the_file_is_not_called_saved(kept: Kept):
    judging = FakeAdjudication()
    deciding = Session(judging)
    deciding.start()
    judging.trouble = CollectionError("the disk is full")
    kept(deciding.judge(2).text)
    assert deciding.open is CASES[0]


def test_evidence_is_that_of_each_opinion():
    deciding = Session(FakeAdjudication())
    deciding.start()
    start = deciding.reading.page.body_start
    assert deciding.reading.others == [[(start + 13, start + 41)], [(start, start + 24)]]


def test_the_screen_works_at_sixty_columns(kept: Kept):
    said = decide(FakeAdjudication(), size=(60, 20))
    kept(said)


def test_cases_are_decided_over_plain_lines(kept: Kept):
    judging, out = FakeAdjudication(), io.StringIO()
    status = Lines(Session(judging), io.StringIO("2: as B says\nu\nl\nwhat\n3\ng\n0\n"), out).run()
    said = out.getvalue()
    assert status == 1  # a line was not understood
    assert judging.log == [
        ("decide", "d1", 2, "as B says"),
        ("undo", "d1"),
        ("postpone", "d1"),
        ("decide", "d3", 3, ""),
        ("decide", "d1", 0, ""),
    ]
    kept(said)


def test_a_remark_that_begins_with_a_digit_decides_nothing(kept: Kept):
    judging, out = FakeAdjudication(), io.StringIO()
    assert Lines(Session(judging), io.StringIO("2 or 3\n"), out).run() == 1
    assert judging.log == []
    kept(out.getvalue())


def test_a_decision_refused_over_plain_lines_is_the_exit_status(kept: Kept):
    judging, out = FakeAdjudication(), io.StringIO()
    lines = io.StringIO("2\n")
    judging.judge = lambda *_, **__: (_ for _ in ()).throw(CollectionError("full"))  # type: ignore[method-assign]
    assert Lines(Session(judging), lines, out).run() == 1
    kept(out.getvalue())
