"""Scores together with how far each of them can be trusted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cranfield.base.progress import Progress, silent
from cranfield.base.text import counted
from cranfield.store.store import Store
from cranfield.workflows.evaluate.evaluate import Evaluated, evaluate_and_tell
from cranfield.workflows.evaluate.inputs import Asked, Read, measures_asked
from cranfield.workflows.reuse.field import WORST_FIRST, Field, PoolTold, Trusted, field_of, trusted
from cranfield.workflows.reuse.reuse import MARKS, told_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from cranfield.base.tables import Value
    from cranfield.evaluate.align import Alignment
    from cranfield.evaluate.scores import Scores
    from cranfield.reuse.assess import Assessment
    from cranfield.reuse.expected_loss import Loss
    from cranfield.reuse.verdict import Evidence, Verdict
    from cranfield.workflows.reuse.field import Trust


TOLD_AT_MOST = 6
"""How many runs are described in sentences below a table; the rest is counted."""

COLUMNS = ("low", "high", "judged", "loss", "loss_upper", "verdict", "reason")


def evaluate_with_trust(
    asked: Asked,
    told: PoolTold,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    reading: Callable[[], Field] | None = None,
) -> tuple[Evaluated, Trusted | None]:
    """Score, and give a verdict on each score; None where a measure is not ours, and nothing can be said.

    Whoever asks about the same runs again and again hands in `reading`, which gives their field.
    """
    from cranfield.evaluate.expression import Measure

    measures = measures_asked(asked.measures, store)
    if not measures or not all(isinstance(measure, Measure) for measure in measures):
        found = evaluate_and_tell(asked, store=store, progress=progress)
        note = "no verdicts: measures of ir_measures see documents, and nothing is known about their holes"
        return replace(found, notes=(*found.notes, note)) if measures else found, None
    field = field_of(asked, told, store=store, progress=progress) if reading is None else reading()
    found = evaluate_and_tell(asked, store=store, read=first_runs(field.read, field.asked))
    # The measures of the scores, not those that were asked for: rounding as trec_eval 9 is part of a measure.
    trusting = partial(trusted, measures=found.scores.measures, store=store, learn="where there are holes")
    trust, note = _of_shown(asked, found, trusting(field), trusting)
    return replace(found, notes=(*found.notes, *trust.notes, *([note] if note else []))), trust


def _of_shown(
    asked: Asked, found: Evaluated, trust: Trusted, trusting: Callable[[Field], Trusted]
) -> tuple[Trusted, str]:
    """Give what can be said of the scores that are shown, and a note where they are not those of plain lists."""

    if asked.duplicates == "novelty":
        return trust_by_novelty(trust, found.scores)
    return trust_by_ties(trust, found.scores, trusting) if asked.ties != "trec" else (trust, "")


def first_runs(read: Read, count: int) -> Read:
    """Give what was read of the first runs only."""
    if count == len(read.runs):
        return read
    return Read(read.qrels, read.runs[:count], _first_of(read.aligned, count))


def _first_of(aligned: Alignment, count: int) -> Alignment:
    cells = count * len(aligned.topic_ids)
    lists = aligned.lists
    rows = int(lists.offsets[cells])
    return replace(
        aligned,
        run_names=aligned.run_names[:count],
        lists=replace(
            lists,
            grades=lists.grades[:rows],
            offsets=lists.offsets[: cells + 1],
            topics=lists.topics[:cells],
            _relevant={},
        ),
        present=aligned.present[:count],
        scored=aligned.scored[:count],
        extra_topics=aligned.extra_topics[:count],
        tied=aligned.tied[:rows],
        qrels_row=None if aligned.qrels_row is None else aligned.qrels_row[:rows],
    )


def added_to_rows(trust: Trusted, rows: list[tuple[str, str, str, float]]) -> dict[str, list[Value]]:
    """Give the columns about trust beside long rows: of a run as a whole, and of its topics as far as it goes."""
    cells = {key: value for one in trust.trusts for key, value in _cells(trust, one)}
    nothing: tuple[Value, ...] = (None,) * len(COLUMNS)
    found = [cells.get(row[:3], nothing) for row in rows]
    return {name: [row[place] for row in found] for place, name in enumerate(COLUMNS)}


def _cells(trust: Trusted, one: Trust) -> Iterator[tuple[tuple[str, str, str], tuple[Value, ...]]]:
    place, measure, assessment = trust.trusts.index(one), str(one.measure), one.assessment
    aligned = trust.field.read.aligned
    for run in range(trust.field.asked):
        evidence, verdict = assessment.evidence[run], assessment.verdicts[run]
        said = (None, None) if verdict is None else (verdict.level, verdict.reason)
        name = aligned.run_names[run]
        yield (name, "all", measure), (
            evidence.low, evidence.high, evidence.judged, evidence.loss, evidence.upper, *said
        )  # fmt: skip
        for topic, identifier in enumerate(aligned.topic_ids):
            ends = (float(side[place, run, topic]) for side in (trust.bounds.lower, trust.bounds.upper))
            low, high = (value if value == value else None for value in ends)
            covered = float(assessment.holes.judged[run, topic])
            lost = float("nan") if assessment.loss is None else float(assessment.loss.by_topic[run, topic])
            share, loss = (value if value == value else None for value in (covered, lost))
            yield (name, identifier, measure), (low, high, share, loss, None, None, None)


def sentences(trust: Trusted) -> Iterator[str]:
    """Say what the marks mean, and of the runs that are marked what is wrong with their scores."""
    flagged = []
    for run in range(trust.field.asked):
        doubtful = [one for one in trust.trusts if (said := one.verdict(run)) is not None and MARKS[said.level]]
        if doubtful:
            worst = min(doubtful, key=lambda one: WORST_FIRST.index(_level(one, run)))
            flagged.append((WORST_FIRST.index(_level(worst, run)), run, worst))
    if not flagged:
        return
    used = {_level(one, run) for _, run, one in flagged}
    yield "; ".join(f"{MARKS[level]} {level}" for level in WORST_FIRST if level in used)
    for _, run, one in sorted(flagged, key=lambda item: item[:2])[:TOLD_AT_MOST]:
        yield told_of(trust, one, run)
    if len(flagged) > TOLD_AT_MOST:
        yield f"… and {counted(len(flagged) - TOLD_AT_MOST, 'run')} more; cranfield reuse --describe tells of all"


def _level(trust: Trust, run: int) -> str:
    verdict = trust.verdict(run)
    return "POOLED" if verdict is None else verdict.level


# How far scores can be trusted that are not those of the lists as they stand: by other orders of ties, by novelty.


if TYPE_CHECKING:
    Hidden = dict[int, NDArray[np.bool_]]
    """By the place of a measure in what is trusted: the runs asked for that are shown without interval and loss."""

HOLES_FIRST = "with unjudged documents first among tied ones"
OF_PLAIN = "of the plain score"

_NOISE = 1e-9


def trust_by_ties(trust: Trusted, shown: Scores, again: Callable[[Field], Trusted]) -> tuple[Trusted, str]:
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


def trust_by_novelty(trust: Trusted, shown: Scores) -> tuple[Trusted, str]:
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


def _any(hidden: Hidden) -> bool:
    return any(bool(runs.any()) for runs in hidden.values())


def _holes_first(aligned: Alignment, asked: int) -> Alignment | None:
    """Give the first runs with unjudged documents first among tied ones; None where that changes nothing."""
    import numpy as np

    from cranfield.evaluate.ties import with_rows

    end = int(aligned.lists.offsets[asked * len(aligned.topic_ids)])
    rows = np.arange(len(aligned.tied))
    rows[:end] = np.lexsort((aligned.lists.grades[:end] >= 0, np.cumsum(~aligned.tied[:end])))
    if (rows == np.arange(len(rows))).all():
        return None
    known = None if aligned.qrels_row is None else aligned.qrels_row[rows]
    return replace(aligned, lists=with_rows(aligned.lists, rows), qrels_row=known)


def _moved(trust: Trusted, shown: Scores) -> Hidden:
    """Say of which runs a score that is shown, of whatever topic, is not that of the list as it stands."""
    places = {str(measure): place for place, measure in enumerate(shown.measures)}
    asked = len(shown.run_names)
    found: Hidden = {}
    for place, one in enumerate(trust.trusts):
        values, plain = shown.values[places[str(one.measure)]], trust.bounds.values[place, :asked]
        found[place] = ~_alike(values, plain)
    return found


def _differs(trust: Trusted, other: Trusted, place: int) -> NDArray[np.bool_]:
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


def _alike(first: NDArray[np.generic], second: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Say which runs have the same numbers on all topics; the noise of adding up aside."""
    import numpy as np

    close: NDArray[np.bool_] = np.isclose(first, second, rtol=0.0, atol=_NOISE, equal_nan=True).all(axis=1)
    return close


def _as_shown(trust: Trusted, other: Trusted, shown: Scores, hidden: Hidden, said: str) -> Trusted:
    """Give the scores as they are shown; hidden runs without interval and loss, and with the verdict of `other`."""
    lower, upper = trust.bounds.lower.copy(), trust.bounds.upper.copy()
    for place, runs in hidden.items():
        for side in (lower, upper):
            side[place, : len(runs)][runs] = float("nan")
    trusts = tuple(
        _one(one, other.trusts[place], shown, hidden[place], said) for place, one in enumerate(trust.trusts)
    )
    return replace(trust, trusts=trusts, bounds=replace(trust.bounds, lower=lower, upper=upper))


def _one(one: Trust, other: Trust, shown: Scores, hidden: NDArray[np.bool_], said: str) -> Trust:
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


def _without_interval(evidence: Evidence) -> Evidence:
    return replace(evidence, low=None, high=None, loss=None, upper=None)


def _said(verdict: Verdict | None, said: str) -> Verdict | None:
    return None if verdict is None else replace(verdict, reason=f"{said}: {verdict.reason}")


def _without(loss: Loss | None, hidden: NDArray[np.bool_]) -> Loss | None:
    """Give losses with none of the hidden runs."""
    if loss is None:
        return None
    by_topic, mean, upper = (values.copy() for values in (loss.by_topic, loss.mean, loss.upper))
    for values in (by_topic, mean, upper):
        values[: len(hidden)][hidden] = float("nan")
    return replace(loss, by_topic=by_topic, mean=mean, upper=upper)
