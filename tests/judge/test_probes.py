"""When an earlier document comes back, and which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.errors import UsageError
from cranfield.judge.queue import Probes, choose_probe, falls_due, probes_to_come

JUDGED = [f"d{number:02}" for number in range(20)]


def test_what_comes_back_was_judged_long_enough_ago_and_never_twice():
    probes = Probes(0.1, 5, 2)
    back: list[str] = []
    while (chosen := choose_probe(probes, "t", JUDGED, probed=back)) is not None:
        back.append(chosen)
    assert sorted(back) == JUDGED[:-5]
    assert back != sorted(back)


def test_nothing_comes_back_too_early():
    assert choose_probe(Probes(0.1, 20), "t", JUDGED) is None


def test_probes_fall_due_at_about_their_rate():
    answers = [f"d{number}" for number in range(2_000)]
    due = sum(falls_due(Probes(0.1, 5, 1), "ana", "t", name) for name in answers)
    assert 150 < due < 250
    assert not any(falls_due(Probes(), "ana", "t", name) for name in answers)


@pytest.mark.parametrize(("share", "after"), [(0.6, 5), (-0.1, 5), (0.1, 0)])
def test_probes_that_are_not_possible_are_refused(share, after):
    with pytest.raises(UsageError):
        Probes(share, after)


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 6), st.integers(0, 12), st.integers(0, 3))
def test_the_probes_to_come_are_those_that_come(due: list[bool], after: int, judged: int, owed: int):
    probes, before = Probes(0.5, after, 1), [f"old{number}" for number in range(judged)]
    expected = probes_to_come(probes, due, owed=owed, judged=judged, probed=0)
    seen: list[str] = []
    for number, makes_due in enumerate([False, *due]):
        owed += makes_due
        while owed and (chosen := choose_probe(probes, "t", before, probed=seen)) is not None:
            seen.append(chosen)
            owed -= 1
        before.append(f"new{number}")
    assert len(seen) == expected
