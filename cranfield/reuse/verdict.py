"""Verdicts: how far the score of a run can be trusted, by which rule, and with the number that triggered it.

The rules are tried in this order, and the first that applies decides:

    PROVISIONAL   the pool is not fully judged
    POOLED        the run fed the pool down to k on all topics, so that all of it is judged
    SAFE          by interval: no hole within k, or no labels of its holes could move the score beyond the tolerance
    UNRELIABLE    a minority is judged, on the whole or in many topics, or the expected loss is several tolerances
    UNTESTABLE    nothing can be learned about holes in this pool: only the interval is known
    CAUTION       the expected loss or its upper end is too high, or too little is judged
    SAFE          otherwise

Direct evidence stands before indirect: what is judged counts more than what the collection is like. Losses are
compared without their sign: a score that flatters misleads as much as one that wrongs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

from cranfield.evaluate.expression import AnyMeasure, Measure
from cranfield.reuse.thresholds import Thresholds
from cranfield.text import counted

Level = Literal["PROVISIONAL", "POOLED", "SAFE", "UNRELIABLE", "UNTESTABLE", "CAUTION"]

SAMPLED = ("infAP", "xinfAP", "infNDCG", "statP", "statAP")
"""Estimators that count on unjudged documents: an interval over their labels means nothing."""


GUESSED = " (guessed)"
"""Stands behind every reason that rests on a guess at the pool: at who fed it, or how deep."""

_BY_CONTRIBUTORS = ("contributed", "kappa-unknown", "large-loss", "loss", "upper-loss", "small-loss")
_BY_POOL = ("pool-unfinished", "plan-unfinished")
_NOISE = 1e-12


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict on one run and measure looks at.

    `low` and `high` are the exact interval down to k; None where it was not computed. `judged` is the mean of
    judged@k, `low_topics` of `topics` are mostly unjudged, `holes` is their number within k. `pooled` says that the
    run fed the pool down to k on all topics that it has, `missing` are those it has not, `pool_judged` is the share
    of the pool that is judged, and `ended` that of the topics for which a live plan has chosen everything. `loss` and
    `upper` are None where nothing could be learned: `untestable` then says why. `tolerance` is in points of the
    measure. The `score` may lie outside the interval, for measures that pass holes over. `guessed` says that nobody
    told who fed the pool or how deep, and `guessed_depth` that the depth that matters follows from that guess.
    """

    judged: float
    topics: int
    low_topics: int
    holes: int
    low: float | None = None
    high: float | None = None
    score: float | None = None
    pooled: bool = False
    missing: int = 0
    pool_judged: float = 1.0
    ended: float = 1.0
    loss: float | None = None
    upper: float | None = None
    upper_is_maximum: bool = False
    groups: int = 0
    untestable: str = ""
    tolerance: float = 0.01
    guessed: bool = False
    guessed_depth: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A level, the name of the rule that decided, its reason as a phrase, and the number that triggered it."""

    level: Level
    rule: str
    reason: str
    number: float

    def __str__(self) -> str:
        return f"{self.level} ({self.reason})"


def takes_verdict(measure: AnyMeasure) -> bool:
    """Say whether a verdict can be given: not on facts such as counts, nor on estimates from samples."""
    if not isinstance(measure, Measure) or not measure.quality or measure.name in SAMPLED:
        return False
    return not dict(measure.settings).get("judged_only") and measure.aggregate != "sum"


def verdict_of(evidence: Evidence, thresholds: Thresholds | None = None) -> Verdict:
    """Give the verdict by the first rule that applies. Where it rests on a guess at the pool, its reason says so."""
    table = thresholds or Thresholds()
    found = next(found for rule in _RULES for found in rule(evidence, table))
    rests = evidence.guessed_depth or (evidence.guessed and found.rule in _BY_CONTRIBUTORS)
    return replace(found, reason=f"{found.reason}{GUESSED}") if rests and found.rule not in _BY_POOL else found


def _provisional(evidence: Evidence, _: Thresholds) -> Iterator[Verdict]:
    if evidence.pool_judged < 1:
        yield Verdict(
            "PROVISIONAL",
            "pool-unfinished",
            f"{_share(evidence.pool_judged)} of the pool judged",
            evidence.pool_judged,
        )
    elif evidence.ended < 1:
        reason = f"the plan has chosen everything for {_share(evidence.ended)} of its topics"
        yield Verdict("PROVISIONAL", "plan-unfinished", reason, evidence.ended)


def _pooled(evidence: Evidence, _: Thresholds) -> Iterator[Verdict]:
    if evidence.pooled:
        said = f"it {'seems to have fed' if evidence.guessed else 'fed'} the pool down to the depth that matters"
        if evidence.missing:
            said += f", on the {evidence.topics:,} topics it has; {evidence.missing:,} count as 0"
        yield Verdict("POOLED", "contributed", said, evidence.judged)


def _by_interval(evidence: Evidence, _: Thresholds) -> Iterator[Verdict]:
    if evidence.holes == 0:
        yield Verdict("SAFE", "no-holes", "no unjudged document within the depth that matters", 0.0)
    elif evidence.low is not None and evidence.high is not None:
        score = evidence.low if evidence.score is None else evidence.score
        width = max(evidence.high, score) - min(evidence.low, score)
        if not _exceeds(width, evidence.tolerance):
            most = _points(max(width, 0.0005))
            yield Verdict(
                "SAFE",
                "narrow-interval",
                f"no labels within the depth that matters could move it by more than {most}",
                width,
            )


def _unreliable(evidence: Evidence, table: Thresholds) -> Iterator[Verdict]:
    if _exceeds(table.unreliable_judged, evidence.judged):
        reason = f"only {_share(evidence.judged)} judged, below {_share(table.unreliable_judged)}"
        yield Verdict("UNRELIABLE", "minority-judged", reason, evidence.judged)
    share = evidence.low_topics / max(evidence.topics, 1)
    if _exceeds(share, table.unreliable_topics):
        reason = (
            f"{evidence.low_topics:,} of {counted(evidence.topics, 'topic')} mostly unjudged, above"
            f" {_share(table.unreliable_topics)}"
        )
        yield Verdict("UNRELIABLE", "topics-unjudged", reason, share)
    if evidence.loss is not None and _exceeds(abs(evidence.loss), table.unreliable_loss * evidence.tolerance):
        limit = _points(table.unreliable_loss * evidence.tolerance)
        yield Verdict("UNRELIABLE", "large-loss", f"{_named_loss(evidence.loss)} above {limit}", evidence.loss)


def _untestable(evidence: Evidence, _: Thresholds) -> Iterator[Verdict]:
    known = evidence.loss is not None and evidence.upper is not None and isfinite(evidence.loss + evidence.upper)
    if evidence.untestable or not known:
        reason = evidence.untestable or "nothing is known about holes in this pool"
        yield Verdict("UNTESTABLE", "kappa-unknown", reason, float(evidence.groups))


def _caution(evidence: Evidence, table: Thresholds) -> Iterator[Verdict]:
    loss, upper = evidence.loss or 0.0, evidence.upper or 0.0
    if _exceeds(abs(loss), table.caution_loss * evidence.tolerance):
        limit = _points(table.caution_loss * evidence.tolerance)
        yield Verdict("CAUTION", "loss", f"{_named_loss(loss)} above {limit}", loss)
    if _exceeds(abs(upper), table.caution_upper * evidence.tolerance):
        limit = _points(table.caution_upper * evidence.tolerance)
        of = f"the highest of {counted(evidence.groups, 'group')}" if evidence.upper_is_maximum else "95 %"
        yield Verdict("CAUTION", "upper-loss", f"loss may reach {_points(upper)} ({of}), above {limit}", upper)
    if _exceeds(table.caution_judged, evidence.judged):
        reason = f"{_share(evidence.judged)} judged, below {_share(table.caution_judged)}"
        yield Verdict("CAUTION", "coverage", reason, evidence.judged)


def _safe(evidence: Evidence, table: Thresholds) -> Iterator[Verdict]:
    loss = evidence.loss or 0.0
    limit = _points(table.caution_loss * evidence.tolerance)
    yield Verdict("SAFE", "small-loss", f"{_named_loss(loss)} within {limit}", loss)


def _exceeds(value: float, limit: float) -> bool:
    """Say whether a value is above a limit, and not by the noise of adding shares up."""
    return value > limit + _NOISE


def _named_loss(loss: float) -> str:
    return f"expected loss {_points(loss)}" if loss >= 0 else f"expected to be {_points(-loss)} too high,"


def _points(value: float) -> str:
    """Give a difference of scores with three digits, as scores are printed here: .043."""
    if 0 < abs(value) < 0.0005:
        return "less than .001"
    text = f"{abs(value):.3f}"
    shown = text[1:] if text.startswith("0.") else text
    return f"-{shown}" if value < 0 and float(text) else shown


def _share(value: float) -> str:
    """Give a share in per cent; what is not all never looks like all, nor a little like nothing."""
    text = f"{100 * value:.0f} %"
    if (text == "100 %" and value < 1) or (text == "0 %" and value > 0):
        return f"{100 * value:.2g} %" if value < 0.5 else "more than 99 %"
    return text


_Rule = Callable[[Evidence, Thresholds], Iterator[Verdict]]
_RULES: tuple[_Rule, ...] = (_provisional, _pooled, _by_interval, _unreliable, _untestable, _caution, _safe)
