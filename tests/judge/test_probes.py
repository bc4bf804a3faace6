"""When an earlier document comes back, and which."""

import pytest

from cranfield.errors import UsageError
from cranfield.judge.probes import Probes, choose_probe, falls_due

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
