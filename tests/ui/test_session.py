"""The sitting as a state machine, without any screen."""

from dataclasses import replace

import pytest
from fakes import FakeJudging, HandClock
from kept import Kept

from assessor_ui.session import Session
from cranfield.base.errors import CollectionBusy, CollectionError
from cranfield.base.records import Document
from cranfield.judge.events import Evidence
from cranfield.judge.session import Held, Item, SearchHit


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def judging() -> FakeJudging:
    return FakeJudging()


@pytest.fixture
def session(judging: FakeJudging, clock: HandClock) -> Session:
    made = Session(judging, clock=clock)
    made.start()
    return made


def open_document(session: Session) -> str:
    return session.open.document.id if session.open else ""


def wait(session: Session, clock: HandClock, seconds: float) -> None:
    clock.now += seconds
    session.watch.touch()


def test_attention_leaves_idle_time_out(session: Session, judging: FakeJudging, clock: HandClock):
    wait(session, clock, 10)
    wait(session, clock, 3600)
    clock.now += 5
    session.judge(1)
    assert judging.log == [("judge", "T1", "d1", 1, 75.0, "", ())]


def test_each_document_has_its_own_time(session: Session, judging: FakeJudging, clock: HandClock):
    clock.now += 7
    session.judge(1)
    clock.now += 9
    session.judge(1)
    assert [call[4] for call in judging.log] == [7.0, 9.0]


def test_time_in_the_search_belongs_to_no_document(session: Session, judging: FakeJudging, clock: HandClock):
    clock.now += 10
    (hit,) = session.search("vinegar")
    clock.now += 20
    session.take(hit)
    clock.now += 7
    session.judge(3)
    session.search("vinegar")
    clock.now += 4
    session.end_search()
    clock.now += 5
    session.judge(0)
    assert [(call[2], call[4]) for call in judging.log if call[0] == "judge"] == [("d5", 7.0), ("d1", 15.0)]


def test_a_found_document_that_the_desk_refuses_leaves_the_one_in_turn_open(session: Session, judging: FakeJudging):
    (hit,) = session.search("vinegar")
    judging.trouble = CollectionError("somebody else is judging it")
    notice = session.take(hit)
    assert (notice.kind, notice.text) == ("trouble", "somebody else is judging it")
    assert (open_document(session), judging.log) == ("d1", [])


def test_a_document_put_aside_keeps_its_note_marks_and_time(session: Session, judging: FakeJudging, clock: HandClock):
    session.judge(2)
    session.set_note("not yet")
    session.begin_mark(0)
    session.end_mark("keep")
    clock.now += 11
    session.reopen("T1", "d1")
    clock.now += 3
    session.judge(3)
    assert (open_document(session), session.note) == ("d2", "not yet")
    clock.now += 1
    session.judge(0)
    evidence = (Evidence(0, 29, "A pan is a Greek god as well."),)
    assert judging.log[-2:] == [
        ("judge", "T1", "d1", 3, 3.0, "", ()),
        ("judge", "T1", "d2", 0, 12.0, "not yet", evidence),
    ]


def test_undo_gives_note_and_evidence_of_the_answer_back(session: Session, judging: FakeJudging):
    session.set_note("why")
    session.begin_mark(0)
    session.end_mark("keep")
    session.judge(2)
    session.undo()
    assert (open_document(session), session.note) == ("d1", "why")
    session.judge(3)
    judged = [call for call in judging.log if call[0] == "judge"]
    assert judged[0][5:] == judged[1][5:] == ("why", (Evidence(0, 24, "Soda cleans a burnt pan."),))


def test_the_reason_of_an_undone_refusal_is_no_note_of_the_next_answer(session: Session, judging: FakeJudging):
    session.cannot("cannot read")
    session.undo()
    assert session.note == ""
    session.judge(0)
    assert [call[5] for call in judging.log if call[0] == "judge"] == [""]


def test_after_undo_the_documents_come_in_their_old_order(session: Session):
    session.judge(0)
    session.judge(0)
    session.undo()
    session.undo()
    order = []
    for _ in range(4):
        order.append(open_document(session))
        session.read_on()
        session.judge(1)
    assert order == ["d1", "d2", "d3", "d4"]
    assert session.open is None


def test_undo_keeps_what_was_written_about_the_document_that_was_open(session: Session):
    session.judge(0)
    session.set_note("half a thought")
    session.undo()
    session.judge(1)
    assert (open_document(session), session.note) == ("d2", "half a thought")


def test_an_answer_that_the_desk_refuses_is_never_called_saved_and_the_document_stays(
    session: Session, judging: FakeJudging, clock: HandClock, kept: Kept
):
    judging.trouble = CollectionError("the disk is full: nothing was written")
    clock.now += 5
    for notice in (session.judge(2), session.later(), session.cannot("why")):
        kept((notice.kind, notice.text))
    assert (open_document(session), judging.log) == ("d1", [])
    judging.trouble = None
    kept(session.judge(2).text)
    assert judging.log == [("judge", "T1", "d1", 2, 5.0, "", ())]


def test_an_answer_is_told_as_saved_even_where_the_next_document_fails(
    session: Session, judging: FakeJudging, kept: Kept
):
    judging.trouble, judging.trouble_in = CollectionBusy("busy"), {"next_item"}
    notice = session.judge(2)
    kept((notice.kind, notice.text))
    assert (session.open, session.stuck) == (None, True)
    assert session.enter().text == "busy"
    judging.trouble = None
    session.enter()
    assert (open_document(session), session.stuck) == ("d2", False)


@pytest.mark.parametrize("act", ["undo", "topics", "history", "search", "choose", "reopen", "leave"])
def test_trouble_anywhere_is_a_sentence_and_the_sitting_goes_on(
    session: Session, judging: FakeJudging, act: str, kept: Kept
):
    judging.trouble = CollectionBusy("somebody is writing")
    calls = {
        "undo": session.undo,
        "topics": session.topics,
        "history": session.history,
        "search": lambda: session.search("pan"),
        "choose": lambda: session.choose_topic("T2"),
        "reopen": lambda: session.reopen("T1", "d1"),
        "leave": session.leave,
    }
    calls[act]()
    kept((session.notice.kind, session.notice.text))
    assert open_document(session) == "d1"


def test_a_late_grade_is_told_as_a_second_opinion_and_a_late_postponement_is_none(
    session: Session, judging: FakeJudging, kept: Kept
):
    judging.late = True
    kept(session.judge(1).text)
    kept(session.later().text)
    kept(session.cannot("torn").text)


def test_a_note_without_an_answer_is_saved_when_the_document_is_put_off_or_left(
    session: Session, judging: FakeJudging
):
    session.set_note("look again")
    session.later()
    session.set_note("and here")
    session.leave()
    assert [call[:4] for call in judging.log] == [
        ("note", "T1", "d1", "look again"),
        ("postpone", "T1", "d1", None),
        ("note", "T1", "d2", "and here"),
        ("leave",),
    ]


def test_a_judged_hit_is_opened_again_and_not_taken_into_the_pool(session: Session, judging: FakeJudging):
    session.judge(2)
    session.take(SearchHit("d1", "", "", "judged", 2))
    assert [call[0] for call in judging.log] == ["judge"]
    assert session.open is not None
    assert session.open.before is not None


def test_another_topic_is_gone_on_with_at_once(session: Session, kept: Kept):
    kept(session.choose_topic("T2").text)
    assert open_document(session) == "d3"


def test_the_lease_is_kept_while_somebody_reads_and_not_over_lunch(
    session: Session, judging: FakeJudging, clock: HandClock
):
    clock.now += 60
    session.tick()
    clock.now += 3600
    session.tick()
    assert judging.log == [("keep", "d1")]


def test_where_nothing_is_left_every_action_still_answers(session: Session):
    for _ in range(4):
        session.judge(0)
        session.read_on()
    assert session.open is None
    for act in (
        lambda: session.judge(1),
        session.later,
        lambda: session.cannot("no"),
        lambda: session.set_note("x"),
        lambda: session.jump(1),
        lambda: session.find("x"),
        lambda: session.begin_mark(0),
        session.back,
    ):
        assert act().kind == "hint"
    assert [hit.document for hit in session.search("vinegar")] == ["d5"]


def left(session: Session) -> str:
    return session.status[0]


def test_what_is_left_of_a_topic_is_counted_anew_when_a_document_is_taken_up_again(session: Session, kept: Kept):
    kept(left(session))
    pooled = next(hit for hit in session.search("pan") if hit.document == "d2")
    session.take(pooled)
    session.judge(1)
    kept(left(session))
    session.undo()
    kept((open_document(session), left(session)))
    session.judge(0)
    kept((open_document(session), left(session)))


def test_what_is_left_is_true_after_going_back_too(session: Session, kept: Kept):
    (hit,) = session.search("vinegar")
    session.take(hit)
    kept(left(session))
    session.back()
    kept((open_document(session), left(session)))


def test_a_session_says_what_it_is_doing_while_the_desk_is_asked(session: Session, judging: FakeJudging):
    seen: dict[str, str] = {}
    for name in ("judge", "next_item", "progress", "undo", "topics", "history", "search", "reopen", "leave"):
        asked = getattr(judging, name)

        def noting(*words: object, name: str = name, asked=asked, **more: object):
            seen.setdefault(name, session.doing)
            return asked(*words, **more)

        setattr(judging, name, noting)
    session.judge(1)
    for act in (session.topics, session.history, lambda: session.search("pan"), session.undo):
        act()
    session.reopen("T1", "d1")
    session.leave()
    assert seen == {
        **dict.fromkeys(("judge", "undo", "leave"), "saving"),
        **dict.fromkeys(("next_item", "progress", "reopen"), "opening"),
        **dict.fromkeys(("topics", "history", "search"), "looking"),
    }


def test_an_answer_counts_as_given_before_the_next_document_is_opened(
    session: Session, judging: FakeJudging, kept: Kept
):
    given = []
    following = judging.next_item
    judging.next_item = lambda: given.append(session.last.text) or following()  # type: ignore[func-returns-value,method-assign]
    session.judge(2)
    kept(given)


def test_notes_and_marks_are_not_called_saved_before_the_answer(session: Session, kept: Kept):
    session.begin_mark(0)
    told = [session.set_note("why").text, session.end_mark("keep").text]
    kept(told)


def test_progress_is_read_after_each_answer(session: Session):
    session.judge(1)
    assert session.progress is not None
    assert (session.progress.done, session.progress.of) == (1, 4)


@pytest.mark.parametrize("end", ["later", "cannot", "leave"])
def test_the_note_of_an_answer_that_was_taken_back_is_kept(session: Session, judging: FakeJudging, end: str):
    session.set_note("a full method")
    session.judge(3)
    session.undo()
    assert session.note == "a full method"
    {"later": session.later, "cannot": lambda: session.cannot("torn"), "leave": session.leave}[end]()
    assert [call for call in judging.log if call[0] == "note"] == [("note", "T1", "d1", "a full method")]


def test_the_note_of_an_answer_that_stands_is_not_saved_a_second_time(session: Session, judging: FakeJudging):
    session.set_note("a full method")
    session.judge(3)
    session.reopen("T1", "d1")
    session.later()
    session.reopen("T1", "d1")
    session.leave()
    assert [call for call in judging.log if call[0] == "note"] == []


@pytest.mark.parametrize(
    "held", [{"T1": Held(1, 540.0)}, {"T1": Held(2, 60.0, own=2)}, {"T1": Held(1, 3.0, own=1), "T2": Held(1, 90.0)}]
)
def test_documents_that_others_hold_are_not_called_done(held: dict[str, Held], kept: Kept):
    judging = FakeJudging(held=held, held_documents={"d1", "d2", "d3", "d4"})
    session = Session(judging)
    session.start()
    kept(session.nothing[0])


def test_what_is_left_but_held_by_nobody_is_not_called_done(kept: Kept):
    session = Session(FakeJudging(held_documents={"d1", "d2", "d3", "d4"}))
    session.start()
    kept(session.nothing[0])


def test_a_desk_that_holds_nothing_back_is_done_when_it_is_done(session: Session, kept: Kept):
    for _ in range(4):
        session.judge(0)
        session.read_on()
    kept(session.nothing[0])


class Slow(FakeJudging):
    """A seat whose first document comes with the second request."""

    asked = 0

    def next_item(self) -> Item | None:
        self.asked += 1
        item = super().next_item()
        if item is None or self.asked > 1:
            return item
        return replace(item, document=Document("d1", ""), remark="it is still on its way\x1b[2J", missing=True)


def test_a_document_that_is_missing_says_why_and_enter_tries_again(kept: Kept):
    session = Session(Slow())
    session.start()
    assert session.reading is not None
    kept(session.reading.page.text)
    session.switch_reflow()
    kept(session.reading.page.text)
    session.enter()
    assert session.reading.document.text.startswith("Soda")
    session.enter()
    assert (session.judging.asked, open_document(session)) == (2, "d1")
