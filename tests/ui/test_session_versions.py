"""What an assessor is told of scale and guidelines that were changed during the sitting."""

from fakes import FakeJudging, HandClock
from kept import Kept

from assessor_ui.session import TOLD_AGAIN_AFTER, Session
from cranfield.base.errors import CollectionBusy
from cranfield.judge.session import Item


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
        def keep(self, item: Item | None) -> str:
            raise CollectionBusy("busy")

    session = Session(Busy())
    assert session.start().text == ""
    assert session.tick() is None
