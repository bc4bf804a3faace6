"""Which documents of a topic are an assessor's, which are open, and in which order."""

import pytest

from cranfield.judge.queue import NOTHING, Answers, Entry, draw, may_lease, state_of
from cranfield.pool.candidates import document_draws

ONE, TWO = Entry("d"), Entry("d", "overlap", 2)
BEN, CLEO = frozenset({"ben"}), frozenset({"ben", "cleo"})


@pytest.mark.parametrize(
    ("entry", "answers", "role", "state"),
    [
        (ONE, NOTHING, "primary", "open"),
        (ONE, NOTHING, "share", "open"),
        (ONE, NOTHING, "anyone", "open"),
        (ONE, NOTHING, "second", "not theirs"),
        (TWO, NOTHING, "second", "open"),
        (ONE, Answers("judged", 5), "primary", "done"),
        (ONE, Answers("judged", 5), "second", "done"),
        (ONE, Answers("cannot-judge", 5), "primary", "done"),
        (ONE, Answers("postponed", 5), "primary", "postponed"),
        (ONE, Answers(graded=BEN), "primary", "done"),
        (TWO, Answers(graded=BEN), "primary", "open"),
        (TWO, Answers(graded=CLEO), "primary", "done"),
        (TWO, Answers("postponed", 5, graded=CLEO), "primary", "done"),
        (ONE, Answers(refused=BEN), "second", "open"),
        (ONE, Answers(refused=frozenset({"ana"}), graded=BEN), "second", "done"),
        (TWO, Answers(decided=True), "primary", "done"),
    ],
)
def test_how_a_document_stands_for_an_assessor(entry, answers, role, state):
    assert state_of(entry, answers, role) == state


@pytest.mark.parametrize(
    ("answers", "state"),
    [
        (NOTHING, "not theirs"),
        (Answers("postponed", 1, (1, 1)), "not theirs"),
        (Answers("cannot-judge", 1, (1, 1)), "not theirs"),
        (Answers("judged", 1, (1, 1)), "open"),
        (Answers("judged", 1, (2, 1)), "open"),
        (Answers("judged", 1, (2, 2)), "done"),
    ],
)
def test_what_is_judged_again_is_what_was_judged_under_older_versions(answers, state):
    assert state_of(ONE, answers, "primary", (2, 2)) == state


@pytest.mark.parametrize(
    ("entry", "answers", "holders", "free"),
    [
        (ONE, NOTHING, [], True),
        (ONE, NOTHING, ["ben"], False),
        (TWO, NOTHING, ["ben"], True),
        (TWO, NOTHING, ["ben", "cleo"], False),
        (TWO, Answers(graded=BEN), ["ben"], True),
        (TWO, Answers(graded=BEN), ["cleo"], False),
        (Entry("d", "rejudge"), Answers(graded=CLEO), ["ben"], True),
    ],
)
def test_those_who_have_judged_and_those_who_are_judging_count_once_each(entry, answers, holders, free):
    assert may_lease(entry, answers, holders) is free


def test_a_draw_is_that_of_pools():
    ours = [draw(3, "overlap", "t1", name) for name in ("d1", "d2", "ü")]
    theirs = document_draws(3, "overlap", "t1", ["d1", "d2", "ü"]) / 2.0**64
    assert ours == list(theirs)
