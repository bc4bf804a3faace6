"""How far each score can be trusted, also where it is not that of the list as it stands: by ties, by novelty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.base.files import Progress, silent
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Values
from cranfield.evaluate.measure import ForeignMeasure
from cranfield.evaluate.scores import Scores
from cranfield.runs.columns import Mask
from cranfield.store import Store
from cranfield.workflows import reading
from cranfield.workflows.evaluate.evaluate import Evaluation, evaluate
from cranfield.workflows.reading import Request
from cranfield.workflows.reuse import field as fields
from cranfield.workflows.reuse.field import Field, Trusted

Hidden = dict[int, Mask]
"""By measure, the requested runs that are shown without interval and expected loss."""

UNJUDGED_FIRST = "with unjudged documents first within ties"
OF_PLAIN = "of the plain score"

_NOISE = 1e-9


def evaluate_with_verdicts(
    request: Request, field: Callable[[], Field], *, store: Store | None, progress: Progress = silent
) -> Evaluation:
    """Score, and give a verdict on each score."""
    measures = reading.parse_measures(request.measures, store)
    if not measures or any(isinstance(one, ForeignMeasure) for one in measures):
        found = evaluate(request, store=store, progress=progress)
        note = "no verdicts: the effect of unjudged documents on measures of ir_measures is not known"
        return replace(found, facts=(*found.facts, note))
    known = field()
    found = evaluate(request, store=store, read=lambda: known.read.first(known.asked))
    # The measures of the scores, not those that were requested: rounding as trec_eval 9 is part of a measure.
    trusting = partial(fields.trusted, measures=found.scores.measures, store=store, learn="where unjudged")
    trust = trusting(known)
    notes = list(trust.notes)
    if request.duplicates == "novelty" or request.ties != "trec":
        by = _by_novelty if request.duplicates == "novelty" else partial(_by_ties, again=trusting)
        other, hidden, said, note = by(trust, found.scores)
        trust = _as_shown(trust, other, found.scores, hidden, said)
        if any(runs.any() for runs in hidden.values()):
            notes.append(note)
    return replace(found, trust=trust, facts=(*found.facts, *notes))


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
