"""How far each score can be trusted, also where it is not that of the list as it stands: by ties, by novelty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.base.tables import Value
from cranfield.base.text import counted
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Values
from cranfield.evaluate.scores import Scores
from cranfield.reuse.tables import completeness_columns
from cranfield.reuse.verdict import MARKS, WORST_FIRST, account, shown_ends
from cranfield.runs.columns import Mask
from cranfield.store import Store
from cranfield.workflows.evaluate import evaluate as evaluation
from cranfield.workflows.reading import ALL, Request
from cranfield.workflows.reuse import field as fields
from cranfield.workflows.reuse import reuse
from cranfield.workflows.reuse.field import Field, Trusted

Hidden = dict[int, Mask]
"""By the place of a measure in what is trusted: the runs asked for that are shown without interval and loss."""

COLUMNS = (
    *("low", "high", "judged", "loss", "loss_upper", "verdict", "reason"),
    *("to_rank", "complete", "complete_low", "complete_high", "complete_to"),
)
TOLD_AT_MOST = 6
"""How many runs are described in sentences below a table; the rest is counted."""

UNJUDGED_FIRST = "with unjudged documents first within ties"
OF_PLAIN = "of the plain score"

_NOISE = 1e-9


def with_verdicts(request: Request, field: Field, *, store: Store | None) -> evaluation.Evaluation:
    """Score, and give a verdict on each score."""
    found = evaluation.evaluate(request, store=store, read=lambda: field.read.first(field.asked))
    # The measures of the scores, not those that were asked for: rounding as trec_eval 9 is part of a measure.
    trusting = partial(fields.trusted, measures=found.scores.measures, store=store, learn="where unjudged")
    trust = trusting(field)
    notes = list(trust.notes)
    if request.duplicates == "novelty" or request.ties != "trec":
        by = _by_novelty if request.duplicates == "novelty" else partial(_by_ties, again=trusting)
        other, hidden, said, note = by(trust, found.scores)
        trust = _as_shown(trust, other, found.scores, hidden, said)
        if any(runs.any() for runs in hidden.values()):
            notes.append(note)
    return replace(found, trust=trust, facts=(*found.facts, *notes))


def columns_beside(trust: Trusted, rows: list[tuple[str, str, str, float]]) -> dict[str, list[Value]]:
    """The columns about trust beside long rows: of a run as a whole, and of its topics as far as it goes."""
    cells: dict[tuple[str, ...], tuple[Value, ...]] = {}
    aligned = trust.field.read.aligned
    for place, one in enumerate(trust.trusts):
        measure, nothing = str(one.measure), float("nan")
        for run, name in enumerate(aligned.run_names[: trust.field.asked]):
            evidence, verdict = one.evidence[run], one.verdicts[run]
            known = *evidence.interval, evidence.judged, evidence.loss, evidence.upper
            cells[name, ALL, measure] = (*known, verdict.level, verdict.reason, *completeness_columns(evidence))
            for topic, identifier in enumerate(aligned.topic_ids):
                ends = (float(end[place, run, topic]) for end in (trust.bounds.lower, trust.bounds.upper))
                goes_on = one.coverage.first[run, topic] <= one.coverage.length[run, topic]
                numbers = (
                    *shown_ends(*ends, goes_on=bool(evidence.interval_to) and bool(goes_on)),
                    float(one.coverage.judged[run, topic]),
                    nothing if one.loss is None else float(one.loss.by_topic[run, topic]),
                )
                given = [None if value != value else value for value in numbers]
                to_rank = str(one.coverage.depth[topic]) if evidence.to_rank else None
                cells[name, identifier, measure] = (*given, None, None, None, to_rank, *(None,) * 4)
    found = [cells.get(row[:3], (None,) * len(COLUMNS)) for row in rows]
    return {name: [row[place] for row in found] for place, name in enumerate(COLUMNS)}


def sentences(trust: Trusted) -> Iterator[str]:
    """What the marks mean, and of the runs that are marked what is wrong with their scores."""
    flagged = []
    for run in range(trust.field.asked):
        levels = [(WORST_FIRST.index(one.verdicts[run].level), one) for one in trust.trusts]
        marked = [(rank, one) for rank, one in levels if MARKS[WORST_FIRST[rank]]]
        if marked:
            rank, one = min(marked, key=lambda item: item[0])
            flagged.append((rank, run, one))
    if not flagged:
        return
    yield "; ".join(f"{MARKS[WORST_FIRST[rank]]} {WORST_FIRST[rank]}" for rank in sorted({one[0] for one in flagged}))
    for _, run, one in sorted(flagged, key=lambda item: item[:2])[:TOLD_AT_MOST]:
        yield account(reuse.account_of(trust, one, run))
    if len(flagged) > TOLD_AT_MOST:
        yield f"… and {counted(len(flagged) - TOLD_AT_MOST, 'more run')}; cranfield reuse --describe lists all"


# Scores that are not those of the lists as they stand.


def _by_ties(trust: Trusted, shown: Scores, *, again: Callable[[Field], Trusted]) -> tuple[Trusted, Hidden, str, str]:
    """Whose verdicts hold of scores with ties in another order, of which runs, in words, and a note on it.

    Nobody knows which of the tied documents a user sees first, so the verdict is that of the order in which the
    unjudged ones stand first, worked out by `again`. A run keeps its interval where neither that order nor the score
    that is shown differs from the lists as they stand.
    """
    field, count = trust.field, trust.field.asked
    aligned = _unjudged_first(field.read.aligned, count)
    other = trust if aligned is None else again(replace(field, read=replace(field.read, aligned=aligned)))
    hidden = _moved(trust, shown)
    for place, (one, two) in enumerate(zip(trust.trusts, other.trusts, strict=True)):
        for first, second in (
            (one.coverage.count, two.coverage.count),
            (one.coverage.judged, two.coverage.judged),
            (trust.bounds.lower[place], other.bounds.lower[place]),
            (trust.bounds.upper[place], other.bounds.upper[place]),
        ):
            hidden[place] = hidden[place] | _differ(first[:count], second[:count])
    note = (
        f"ties {shown.ties}: where the tie order matters, interval and expected loss are omitted, and the verdict is"
        f" that {UNJUDGED_FIRST}"
    )
    return other, hidden, UNJUDGED_FIRST, note


def _by_novelty(trust: Trusted, shown: Scores) -> tuple[Trusted, Hidden, str, str]:
    """The same of scores by novelty.

    Labels of unjudged documents could make other documents copies, or be those of copies, which no interval reckons
    with. A run keeps its interval where it has none of them and its score is the plain one.
    """
    hidden = {
        place: moved | np.array([one.unjudged > 0 for one in trust.trusts[place].evidence[: len(moved)]])
        for place, moved in _moved(trust, shown).items()
    }
    note = (
        "novelty: verdicts are those of the plain scores; interval and expected loss are omitted where copies or"
        " unjudged documents could change a score"
    )
    return trust, hidden, OF_PLAIN, note


def _unjudged_first(aligned: Alignment, count: int) -> Alignment | None:
    """The first runs with unjudged documents first among tied ones; None where that changes nothing."""
    end = int(aligned.lists.offsets[count * len(aligned.topic_ids)])
    rows = np.arange(len(aligned.tied))
    rows[:end] = np.lexsort((aligned.lists.grades[:end] >= 0, np.cumsum(~aligned.tied[:end])))
    if (rows == np.arange(len(rows))).all():
        return None
    known = None if aligned.qrels_row is None else aligned.qrels_row[rows]
    return replace(aligned, lists=aligned.lists.with_rows(rows), qrels_row=known)


def _moved(trust: Trusted, shown: Scores) -> Hidden:
    """Of which runs a score that is shown, of whatever topic, is not that of the list as it stands."""
    places, count = {str(measure): place for place, measure in enumerate(shown.measures)}, len(shown.run_names)
    return {
        place: _differ(shown.values[places[str(one.measure)]], trust.bounds.values[place, :count])
        for place, one in enumerate(trust.trusts)
    }


def _differ(first: NDArray[np.generic], second: NDArray[np.generic]) -> Mask:
    """Which runs have other numbers on some topic; the noise of adding up aside."""
    same: Mask = np.isclose(first, second, rtol=0.0, atol=_NOISE, equal_nan=True).all(axis=1)
    return ~same


def _as_shown(trust: Trusted, other: Trusted, shown: Scores, hidden: Hidden, said: str) -> Trusted:
    """The scores as they are shown; hidden runs without interval and loss, and with the verdict of `other`.

    Ranks stay those of the plain scores.
    """
    summary = dict(zip(map(str, shown.measures), shown.summary, strict=True))
    bounds = replace(trust.bounds, lower=trust.bounds.lower.copy(), upper=trust.bounds.upper.copy())
    trusts = []
    for place, (one, instead) in enumerate(zip(trust.trusts, other.trusts, strict=True)):
        without = partial(_without, hidden=hidden[place])
        bounds.lower[place], bounds.upper[place] = without(bounds.lower[place]), without(bounds.upper[place])
        score, loss = one.score.copy(), one.loss
        score[: len(hidden[place])] = summary[str(one.measure)]
        evidence, verdicts = list(one.evidence), list(one.verdicts)
        for run in hidden[place].nonzero()[0].tolist():
            evidence[run] = replace(instead.evidence[run], low=None, high=None, loss=None, upper=None)
            verdicts[run] = replace(instead.verdicts[run], reason=f"{said}: {instead.verdicts[run].reason}")
        if loss is not None:
            by_topic, mean, upper = map(without, (loss.by_topic, loss.mean, loss.upper))
            loss = replace(loss, by_topic=by_topic, mean=mean, upper=upper)
        known = replace(one, score=score, low=without(one.low), high=without(one.high), loss=loss)
        trusts.append(replace(known, coverage=instead.coverage, evidence=tuple(evidence), verdicts=tuple(verdicts)))
    return replace(trust, trusts=tuple(trusts), bounds=bounds)


def _without(values: Values, hidden: Mask) -> Values:
    """Numbers of runs, with none of the hidden ones, which are among the first."""
    fewer = values.copy()
    fewer[: len(hidden)][hidden] = float("nan")
    return fewer
