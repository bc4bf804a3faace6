"""Verdicts: how far the score of a run can be trusted, by which rule, and with the number that triggered it.

The rules are tried in this order, and the first that applies decides:

    PROVISIONAL   the pool is not fully judged
    POOLED        the run fed the pool down to k on all topics, so that all of it is judged
    SAFE          by interval: nothing unjudged within k, or no labels could move the score beyond the tolerance
    UNRELIABLE    a minority is judged, on the whole or in many topics, or the expected loss is several tolerances
    UNTESTABLE    nothing can be learned about unjudged documents here: only the interval is known
    CAUTION       the expected loss or its upper end is too high, or too little is judged
    SAFE          otherwise

Direct evidence stands before indirect: what is judged counts more than what the collection is like. Losses are
compared without their sign: a score that flatters misleads as much as one that wrongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any, Literal

from cranfield.base.errors import Problem, ProblemsFound, UnknownName, quoted
from cranfield.base.text import counted

# The numbers that decide a verdict: one table, with what each of them means.


def _number(default: float, meaning: str, *, highest: float = 1.0) -> Any:
    return field(default=default, metadata={"meaning": meaning, "highest": highest})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All thresholds of the verdicts, as shares or as multiples of the tolerance; set per collection where wanted."""

    tolerance: float = _number(0.01, "how many points of a measure from 0 to 1 a reader forgives")
    unreliable_judged: float = _number(0.5, "UNRELIABLE where a smaller share of the first k is judged")
    topic_judged: float = _number(0.5, "a topic is mostly unjudged where a smaller share of its first k is judged")
    unreliable_topics: float = _number(0.2, "UNRELIABLE where a larger share of the topics is mostly unjudged")
    unreliable_loss: float = _number(3, "UNRELIABLE where the expected loss exceeds so many tolerances", highest=1e6)
    caution_loss: float = _number(1, "CAUTION where the expected loss exceeds so many tolerances", highest=1e6)
    caution_upper: float = _number(
        3, "CAUTION where the upper end of the loss exceeds so many tolerances", highest=1e6
    )
    caution_judged: float = _number(0.8, "CAUTION where a smaller share of the first k is judged")
    fewest_groups: float = _number(3, "UNTESTABLE with fewer contributing groups", highest=1e6)
    fewest_unjudged: float = _number(
        10, "UNTESTABLE where holding groups out makes fewer holes with known labels", highest=1e6
    )
    largest_share: float = _number(
        0.5, "UNTESTABLE where one group owns a larger share of the unique relevant documents"
    )
    fitting_share: float = _number(
        0.9, "UNTESTABLE where a smaller share of what is said to have been pooled is in the qrels"
    )
    fair: float = _number(0.02, "the pool is fair to outsiders where contributors lose a smaller share on average")
    unfair: float = _number(0.06, "the pool is unfair where they lose this share or more; between the two: with care")
    enough_groups: float = _number(10, "with fewer contributing groups it is said that they are few", highest=1e6)
    fewest_unique: float = _number(
        5, "the pool is untestable where fewer judged documents came from one group alone", highest=1e6
    )
    told_orphans: float = _number(
        0.05, "a larger share of judged documents that no contributor at hand explains is told"
    )
    most_orphans: float = _number(0.5, "the pool is untestable where that share is larger than this")

    def rows(self) -> Iterator[tuple[str, float, float, str]]:
        """Give (name, value in force, default, meaning) of each threshold, in the order of the table."""
        for name, one in zip(_NAMES, fields(self), strict=True):
            default = one.default
            yield name, getattr(self, one.name), float(default), one.metadata["meaning"]  # type: ignore[arg-type]

    def with_values(self, values: Mapping[str, float]) -> Thresholds:
        """Give the table with some values set otherwise; whatever is wrong with them is said all at once."""
        known = dict(zip(_NAMES, fields(self), strict=True))
        problems = []
        for name, value in values.items():
            if name not in known:
                problems.append(str(UnknownName("threshold", name, known)))
                continue
            highest = known[name].metadata["highest"]
            is_number = type(value) in (int, float) and isfinite(value)
            if not is_number or not 0 <= value <= highest:
                problems.append(f"{name} is a number from 0 to {highest:g}, not {quoted(value)}")
        fair, unfair = values.get("fair", self.fair), values.get("unfair", self.unfair)
        if not problems and fair > unfair:
            problems.append(f"fair ({fair:g}) must not lie above unfair ({unfair:g})")
        if problems:
            raise ProblemsFound(
                "these thresholds cannot be used", [Problem("bad-threshold", problem) for problem in problems]
            )
        return replace(self, **{known[name].name: float(value) for name, value in values.items()})


_NAMES = (
    *("tolerance", "unreliable_judged", "topic_judged", "unreliable_topics", "unreliable_loss", "caution_loss"),
    *("caution_upper", "caution_judged", "fewest_groups", "fewest_holes", "largest_share", "fitting_share"),
    *("fair", "unfair", "enough_groups", "fewest_unique", "told_orphans", "most_orphans"),
)
"""What users write and collections keep, in the order of the fields."""


Level = Literal["PROVISIONAL", "POOLED", "SAFE", "UNRELIABLE", "UNTESTABLE", "CAUTION"]

MARKS: dict[Level, str] = {
    "UNRELIABLE": "!",
    "UNTESTABLE": "~",
    "PROVISIONAL": "…",
    "CAUTION": "?",
    "SAFE": "",
    "POOLED": "",
}
"""What stands behind a score in a table: nothing where it can be trusted. The worst comes first."""

WORST_FIRST = tuple(MARKS)

INFERRED = " (guessed)"
"""Stands behind every reason that rests on an inferred pool: on who seems to have fed it, or how deep."""

_BY_CONTRIBUTORS = ("contributed", "kappa-unknown", "large-loss", "loss", "upper-loss", "small-loss")
_BY_POOL = ("pool-unfinished", "plan-unfinished")
_NOISE = 1e-12


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict on one run and measure looks at.

    `low` and `high` are the exact interval down to k; None where it was not computed. `judged` is the mean of
    judged@k, `low_topics` of `topics` are mostly unjudged, `unjudged` counts the unjudged documents within k.
    `pooled` says that the run fed the pool down to k on all topics that it has, `missing` are those it has not,
    `pool_judged` is the share of the pool that is judged, and `finished` that of the topics for which a live plan has
    chosen everything. `loss` and `upper` are None where nothing could be learned: `untestable` then says why.
    `tolerance` is in points of the measure. The `score` may lie outside the interval, for measures that pass unjudged
    documents over. `inferred` says that nobody told who fed the pool or how deep, and `inferred_depth` that the depth
    that matters follows from that.
    """

    judged: float
    topics: int
    low_topics: int
    unjudged: int
    low: float | None = None
    high: float | None = None
    score: float | None = None
    pooled: bool = False
    missing: int = 0
    pool_judged: float = 1.0
    finished: float = 1.0
    loss: float | None = None
    upper: float | None = None
    upper_is_maximum: bool = False
    groups: int = 0
    untestable: str = ""
    tolerance: float = 0.01
    inferred: bool = False
    inferred_depth: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A level, the name of the rule that decided, its reason as a phrase, and the number that triggered it."""

    level: Level
    rule: str
    reason: str
    number: float

    @property
    def mark(self) -> str:
        """What stands behind the score in a table."""
        return MARKS[self.level]

    def __str__(self) -> str:
        return f"{self.level} ({self.reason})"


def verdict_of(evidence: Evidence, thresholds: Thresholds | None = None) -> Verdict:
    """The verdict by the first rule that applies. Where it rests on an inferred pool, its reason says so."""
    found = next(_verdicts(evidence, thresholds or Thresholds()))
    rests = evidence.inferred_depth or (evidence.inferred and found.rule in _BY_CONTRIBUTORS)
    return replace(found, reason=f"{found.reason}{INFERRED}") if rests and found.rule not in _BY_POOL else found


def _verdicts(evidence: Evidence, table: Thresholds) -> Iterator[Verdict]:
    """All verdicts that apply, in the order of the rules."""
    if evidence.pool_judged < 1:
        reason = f"{_share(evidence.pool_judged)} of the pool judged"
        yield Verdict("PROVISIONAL", "pool-unfinished", reason, evidence.pool_judged)
    if evidence.finished < 1:
        reason = f"the plan has chosen everything for {_share(evidence.finished)} of its topics"
        yield Verdict("PROVISIONAL", "plan-unfinished", reason, evidence.finished)
    if evidence.pooled:
        reason = f"it {'seems to have fed' if evidence.inferred else 'fed'} the pool down to the depth that matters"
        if evidence.missing:
            reason += f", on the {evidence.topics:,} topics it has; {evidence.missing:,} count as 0"
        yield Verdict("POOLED", "contributed", reason, evidence.judged)
    if evidence.unjudged == 0:
        yield Verdict("SAFE", "no-holes", "no unjudged document within the depth that matters", 0.0)
    if evidence.low is not None and evidence.high is not None:
        score = evidence.low if evidence.score is None else evidence.score
        width = max(evidence.high, score) - min(evidence.low, score)
        if not _exceeds(width, evidence.tolerance):
            most = _points(max(width, 0.0005))
            reason = f"no labels within the depth that matters could move it by more than {most}"
            yield Verdict("SAFE", "narrow-interval", reason, width)
    if _exceeds(table.unreliable_judged, evidence.judged):
        reason = f"only {_share(evidence.judged)} judged, below {_share(table.unreliable_judged)}"
        yield Verdict("UNRELIABLE", "minority-judged", reason, evidence.judged)
    share = evidence.low_topics / max(evidence.topics, 1)
    if _exceeds(share, table.unreliable_topics):
        topics = f"{evidence.low_topics:,} of {counted(evidence.topics, 'topic')}"
        reason = f"{topics} mostly unjudged, above {_share(table.unreliable_topics)}"
        yield Verdict("UNRELIABLE", "topics-unjudged", reason, share)
    loss, upper = evidence.loss or 0.0, evidence.upper or 0.0
    expected = f"expected loss {_points(loss)}" if loss >= 0 else f"expected to be {_points(-loss)} too high,"
    limit = table.unreliable_loss * evidence.tolerance
    if _exceeds(abs(loss), limit):
        yield Verdict("UNRELIABLE", "large-loss", f"{expected} above {_points(limit)}", loss)
    known = evidence.loss is not None and evidence.upper is not None and isfinite(loss + upper)
    if evidence.untestable or not known:
        reason = evidence.untestable or "nothing is known about holes in this pool"
        yield Verdict("UNTESTABLE", "kappa-unknown", reason, float(evidence.groups))
    limit = table.caution_loss * evidence.tolerance
    if _exceeds(abs(loss), limit):
        yield Verdict("CAUTION", "loss", f"{expected} above {_points(limit)}", loss)
    upper_limit = table.caution_upper * evidence.tolerance
    if _exceeds(abs(upper), upper_limit):
        of = f"the highest of {counted(evidence.groups, 'group')}" if evidence.upper_is_maximum else "95 %"
        reason = f"loss may reach {_points(upper)} ({of}), above {_points(upper_limit)}"
        yield Verdict("CAUTION", "upper-loss", reason, upper)
    if _exceeds(table.caution_judged, evidence.judged):
        reason = f"{_share(evidence.judged)} judged, below {_share(table.caution_judged)}"
        yield Verdict("CAUTION", "coverage", reason, evidence.judged)
    yield Verdict("SAFE", "small-loss", f"{expected} within {_points(limit)}", loss)


def _exceeds(value: float, limit: float) -> bool:
    """Say whether a value is above a limit, and not by the noise of adding shares up."""
    return value > limit + _NOISE


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


# Verdicts in sentences: what the score is, why it is doubtful, what stands, and what to judge to settle it.

_NAMED = 6
"""How many runs are named in a sentence; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Account:
    """What there is to tell of one run by one measure.

    `depth` is the k of judged@k in words; "" for RBP, whose weight has none. `open_defeats` are runs above it that
    it may beat all the same, `standing_defeats` those it does not, `standing_wins` those it surely beats, by measure;
    `settled_by` says how many documents to judge to settle a pair. `contributed` says whether it fed the pool at all,
    None where nobody knows. `to_pool` says that the measure has no depth of its own, and `depth` is the pool's.
    """

    run: str
    measure: str
    score: float
    depth: str
    evidence: Evidence
    verdict: Verdict
    contributed: bool | None = False
    to_pool: bool = False
    open_defeats: Sequence[str] = ()
    standing_defeats: Sequence[str] = ()
    standing_wins: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settled_by: Mapping[str, int] = field(default_factory=dict)


def account(told: Account) -> str:
    """The sentences of an account, as in

    dense-v2 nDCG@10 .610 (unjudged = not relevant), possible .571-.835, judged@10 .74, 4 of 50 topics mostly
    unjudged. Not in the pool. Its 130 holes are expected to be worth .043 (up to .071): UNRELIABLE, expected loss
    .043 above .030. Its defeats by A and B are open; P@10: its win over C stands. Judging 58 documents settles A, if
    none of them is relevant.
    """
    evidence = told.evidence
    facts = [f"{told.run} {told.measure} {_bare(told.score)} (unjudged = not relevant)"]
    if evidence.low is not None and evidence.high is not None:
        to_there = f" down to rank {told.depth}" if told.to_pool and told.depth.isdecimal() else ""
        facts.append(f"possible {_bare(evidence.low)}-{_bare(evidence.high)}{to_there}")
    # What is not all never looks like all.
    share = _bare(min(evidence.judged, 0.99) if evidence.judged < 1 else 1, digits=2)
    facts.append(f"{f'judged@{told.depth}' if told.depth else 'judged weight'} {share}")
    if evidence.low_topics:
        facts.append(f"{evidence.low_topics} of {counted(evidence.topics, 'topic')} mostly unjudged")
    sentences = [", ".join(facts) + "."]
    if told.contributed is not None:
        place = "in the pool, but not down to there" if told.contributed else "not in the pool"
        place = "in the pool down to there" if evidence.pooled else place
        sentences.append(f"Seemingly {place}." if evidence.inferred else f"{place.capitalize()}.")
    sentences.append(f"{_worth(evidence)}{told.verdict.level}, {told.verdict.reason}.")
    facts = _standing("", "defeat", "by", told.open_defeats, "open")
    facts += _standing("", "defeat", "by", told.standing_defeats, "stand")
    for measure, beaten in told.standing_wins.items():
        facts += _standing("" if measure == told.measure else f"{measure}: ", "win", "over", beaten, "stand")
    if facts:
        first = facts[0].replace("its", "Its", 1) if facts[0].startswith("its") else facts[0]
        sentences.append("; ".join([first, *facts[1:]]) + ".")
    for other, count in told.settled_by.items():
        none = "it is not" if count == 1 else "none of them is"
        sentences.append(f"Judging {counted(count, 'document')} settles {other}, if {none} relevant.")
    return " ".join(sentences)


def _worth(evidence: Evidence) -> str:
    """What the unjudged documents are expected to add, before the verdict; nothing where there are none."""
    count = evidence.unjudged
    if not count:
        return ""
    its, are = ("its one hole", "is") if count == 1 else (f"its {count:,} holes", "are")
    if evidence.loss is None or evidence.upper is None:
        return f"What {its} {are} worth cannot be told: "
    of = f", the highest of {counted(evidence.groups, 'group')}" if evidence.upper_is_maximum else ""
    sign = 1 if evidence.loss >= 0 else -1
    loss, upper = (_bare(sign * value) for value in (evidence.loss, evidence.upper))
    rises = f"{f'{its} {are}'.capitalize()} expected to be worth {loss}"
    worth = rises if sign > 0 else f"With {its} judged it is expected to fall by {loss}"
    return f"{worth} (up to {upper}{of}): "


def _standing(by: str, noun: str, preposition: str, names: Sequence[str], state: str) -> list[str]:
    """Wins or defeats that are open or stand, with the runs they are against; nothing where there are none."""
    if not names:
        return []
    many = len(names) > 1
    verb = f"{'are' if many else 'is'} open" if state == "open" else f"stand{'' if many else 's'}"
    last = f"{len(names) - _NAMED:,} more" if len(names) > _NAMED else names[-1]
    listed = ", ".join(names[: min(_NAMED, len(names) - 1)])
    runs = f"{listed} and {last}" if many else names[0]
    return [f"{by}its {noun}{'s' * many} {preposition} {runs} {verb}"]


def _bare(value: float, *, digits: int = 3) -> str:
    """A number without the 0 before its point."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
