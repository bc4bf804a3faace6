"""What an assessor is told of scale and guidelines that were changed, before and during the sitting."""

from fakes import FakeJudging, HandClock
from kept import Kept

from assessor_ui.session import TOLD_AGAIN_AFTER, Session
from cranfield.base.errors import CollectionBusy


def test_a_sitting_begins_with_what_waits_to_be_judged_again(kept: Kept):
    assert Session(FakeJudging()).start().text == ""
    told = Session(FakeJudging(older_answers=3)).start()
    kept((told.kind, told.text))


def test_a_change_during_the_sitting_is_told_and_told_again(kept: Kept):
    judging, clock = FakeJudging(), HandClock()
    session = Session(judging, clock=clock)
    session.start()
    assert session.tick() is None
    judging.changed = "the scale"
    told = session.tick()
    assert told is not None
    kept((told.kind, told.text))
    kept(told.words)
    clock.now += TOLD_AGAIN_AFTER - 1
    assert session.tick() is None
    clock.now += 1
    assert session.tick() == told


def test_a_busy_collection_only_means_that_it_is_told_later():
    class Busy(FakeJudging):
        def older(self) -> int:
            raise CollectionBusy("busy")

        def outdated(self) -> str:
            raise CollectionBusy("busy")

    session = Session(Busy())
    assert session.start().text == ""
    assert session.tick() is None
