"""How far scores can be trusted that are not those of the lists as they stand: by other orders of ties, by novelty.

Intervals and losses are worked out on the lists as they stand. Where a score is another one they say nothing of it,
and are left out; the verdict is then one on the holes alone.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from cranfield.evaluate.align import Alignment
    from cranfield.evaluate.scores import Scores
    from cranfield.reuse.assess import Assessment
    from cranfield.reuse.loss import Loss
    from cranfield.reuse.verdict import Evidence, Verdict
    from cranfield.workflows.reuse_field import Field
    from cranfield.workflows.trust import Trust, Trusted

    Hidden = dict[int, NDArray[np.bool_]]
    """By the place of a measure in what is trusted: the runs asked for that are shown without interval and loss."""

HOLES_FIRST = "with unjudged documents first among tied ones"
OF_PLAIN = "of the plain score"

_NOISE = 1e-9


def trust_by_ties(trust: "Trusted", shown: "Scores", again: "Callable[[Field], Trusted]") -> "tuple[Trusted, str]":
    """Give what can be said of scores with ties in another order, and a note on it.

    Nobody knows which of the tied documents a user sees first, so the verdict is that of the order in which the
    unjudged ones stand first, worked out by `again`. A run keeps its interval where neither that order nor the score
    that is shown differs from the lists as they stand.
    """
    aligned = _holes_first(trust.field.read.aligned, trust.field.asked)
    field = trust.field
    other = trust if aligned is None else again(replace(field, read=replace(field.read, aligned=aligned)))
    hidden = {place: _differs(trust, other, place) | moved for place, moved in _moved(trust, shown).items()}
    note = (
        f"ties {shown.ties}: where the order of ties matters there is no interval and no expected loss, and the"
        f" verdict is one {HOLES_FIRST}"
    )
    return _as_shown(trust, other, shown, hidden, HOLES_FIRST), note if _any(hidden) else ""


def trust_by_novelty(trust: "Trusted", shown: "Scores") -> "tuple[Trusted, str]":
    """Give what can be said of scores by novelty, and a note on it.

    Labels of holes could make other documents copies, or be those of copies, which no interval reckons with. A run
    keeps its interval where it has no holes and its score is the plain one.
    """
    import numpy as np

    hidden = {
        place: moved | np.array([trust.trusts[place].assessment.holes.total(run) > 0 for run in range(len(moved))])
        for place, moved in _moved(trust, shown).items()
    }
    note = (
        "novelty: verdicts are those of the plain scores; there is no interval and no expected loss where copies or"
        " unjudged documents could change a score"
    )
    return _as_shown(trust, trust, shown, hidden, OF_PLAIN), note if _any(hidden) else ""


def _any(hidden: "Hidden") -> bool:
    return any(bool(runs.any()) for runs in hidden.values())


def _holes_first(aligned: "Alignment", asked: int) -> "Alignment | None":
    """Give the first runs with unjudged documents first among tied ones; None where that changes nothing."""
    import numpy as np

    from cranfield.evaluate.tied_lists import with_rows

    end = int(aligned.lists.offsets[asked * len(aligned.topic_ids)])
    rows = np.arange(len(aligned.tied))
    rows[:end] = np.lexsort((aligned.lists.grades[:end] >= 0, np.cumsum(~aligned.tied[:end])))
    if (rows == np.arange(len(rows))).all():
        return None
    known = None if aligned.qrels_row is None else aligned.qrels_row[rows]
    return replace(aligned, lists=with_rows(aligned.lists, rows), qrels_row=known)


def _moved(trust: "Trusted", shown: "Scores") -> "Hidden":
    """Say of which runs a score that is shown, of whatever topic, is not that of the list as it stands."""
    places = {str(measure): place for place, measure in enumerate(shown.measures)}
    asked = len(shown.run_names)
    found: Hidden = {}
    for place, one in enumerate(trust.trusts):
        values, plain = shown.values[places[str(one.measure)]], trust.bounds.values[place, :asked]
        found[place] = ~_alike(values, plain)
    return found


def _differs(trust: "Trusted", other: "Trusted", place: int) -> "NDArray[np.bool_]":
    """Say which runs have other holes or another interval in another order, on whatever topic."""
    import numpy as np

    asked = trust.field.asked
    holes, others = trust.trusts[place].assessment.holes, other.trusts[place].assessment.holes
    bounds, moved = trust.bounds, other.bounds
    same = np.ones(asked, dtype=bool)
    for first, second in (
        (holes.count, others.count),
        (holes.judged, others.judged),
        (bounds.lower[place], moved.lower[place]),
        (bounds.upper[place], moved.upper[place]),
    ):
        same &= _alike(first[:asked], second[:asked])
    return ~same


def _alike(first: "NDArray[np.generic]", second: "NDArray[np.generic]") -> "NDArray[np.bool_]":
    """Say which runs have the same numbers on all topics; the noise of adding up aside."""
    import numpy as np

    close: NDArray[np.bool_] = np.isclose(first, second, rtol=0.0, atol=_NOISE, equal_nan=True).all(axis=1)
    return close


def _as_shown(trust: "Trusted", other: "Trusted", shown: "Scores", hidden: "Hidden", said: str) -> "Trusted":
    """Give the scores as they are shown; hidden runs without interval and loss, and with the verdict of `other`."""
    lower, upper = trust.bounds.lower.copy(), trust.bounds.upper.copy()
    for place, runs in hidden.items():
        for side in (lower, upper):
            side[place, : len(runs)][runs] = float("nan")
    trusts = tuple(
        _one(one, other.trusts[place], shown, hidden[place], said) for place, one in enumerate(trust.trusts)
    )
    return replace(trust, trusts=trusts, bounds=replace(trust.bounds, lower=lower, upper=upper))


def _one(one: "Trust", other: "Trust", shown: "Scores", hidden: "NDArray[np.bool_]", said: str) -> "Trust":
    """Give what is known under one measure; ranks stay those of the plain scores."""
    assessment: Assessment = one.assessment
    score, low, high = (values.copy() for values in (assessment.score, assessment.low, assessment.high))
    place = [str(measure) for measure in shown.measures].index(str(one.measure))
    score[: len(hidden)] = shown.summary[place]
    for values in (low, high):
        values[: len(hidden)][hidden] = float("nan")
    evidence, verdicts = list(assessment.evidence), list(assessment.verdicts)
    for run in hidden.nonzero()[0].tolist():
        evidence[run] = _without_interval(other.assessment.evidence[run])
        verdicts[run] = _said(other.assessment.verdicts[run], said)
    found = replace(
        assessment,
        score=score,
        low=low,
        high=high,
        holes=other.assessment.holes,
        loss=_without(assessment.loss, hidden),
        evidence=tuple(evidence),
        verdicts=tuple(verdicts),
    )
    return replace(one, assessment=found)


def _without_interval(evidence: "Evidence") -> "Evidence":
    return replace(evidence, low=None, high=None, loss=None, upper=None)


def _said(verdict: "Verdict | None", said: str) -> "Verdict | None":
    return None if verdict is None else replace(verdict, reason=f"{said}: {verdict.reason}")


def _without(loss: "Loss | None", hidden: "NDArray[np.bool_]") -> "Loss | None":
    """Give losses with none of the hidden runs."""
    if loss is None:
        return None
    by_topic, mean, upper = (values.copy() for values in (loss.by_topic, loss.mean, loss.upper))
    for values in (by_topic, mean, upper):
        values[: len(hidden)][hidden] = float("nan")
    return replace(loss, by_topic=by_topic, mean=mean, upper=upper)
