"""Verdicts: how far the score of a run can be trusted, by which rule, and with the number that triggered it.

The rules are tried in this order, and the first that applies decides:

    PROVISIONAL   the pool is still being judged, or pooled documents of the run are that could change its score
    POOLED        the top k of the run were pooled on all topics, so that all of them are judged
    SAFE          by interval: the top k are judged, or judging could not change the score beyond the tolerance
    UNRELIABLE    a minority is judged, on the whole or in many topics (by a measure of the whole list only if the
                  loss may be several tolerances too), or the expected loss is several tolerances
    UNTESTABLE    nothing can be estimated about unjudged documents here: only the interval is known
    CAUTION       the expected loss or its upper end is too high, or too little is judged
    SAFE          otherwise

Direct evidence comes first: what is judged counts more than the properties of the collection. Losses are compared by
their absolute value: a score that is too high misleads as much as one that is too low.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any, Literal

from cranfield.base.errors import UnknownName, quoted, refuse
from cranfield.base.text import counted

# The numbers that decide a verdict: one table, with what each of them means.


def _number(default: float, meaning: str) -> Any:
    """A share, or where the default is none a count or a multiple."""
    return field(default=default, metadata={"meaning": meaning, "highest": 1.0 if default < 1 else 1e6})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All thresholds of the verdicts, as shares or as multiples of the tolerance; set per collection where wanted."""

    tolerance: float = _number(0.01, "tolerated error of a score, as a share of the range of the measure")
    finished_pool: float = _number(0.99, "PROVISIONAL if a smaller share of the pool is judged")
    finished_topic: float = _number(
        0.99, "PROVISIONAL if a smaller share of the pool of any topic is judged and more than one document is not"
    )
    unreliable_judged: float = _number(0.5, "UNRELIABLE if a smaller share of the top k is judged")
    topic_judged: float = _number(0.5, "a topic is mostly unjudged if a smaller share of its top k is judged")
    unreliable_topics: float = _number(0.2, "UNRELIABLE if a larger share of the topics is mostly unjudged")
    unreliable_loss: float = _number(3, "UNRELIABLE if the expected loss exceeds this many tolerances")
    caution_loss: float = _number(1, "CAUTION if the expected loss exceeds this many tolerances")
    caution_upper: float = _number(3, "CAUTION if the upper end of the expected loss exceeds this many tolerances")
    caution_drift: float = _number(
        1, "CAUTION if a deeper pool is expected to change the score by so many tolerances more than the usual run's"
    )
    caution_judged: float = _number(0.8, "CAUTION if a smaller share of the top k is judged")
    fewest_groups: float = _number(3, "UNTESTABLE with fewer contributing groups")
    fewest_unjudged: float = _number(
        10, "UNTESTABLE if holding groups out leaves fewer unjudged documents with known grades"
    )
    largest_share: float = _number(
        0.5, "UNTESTABLE if one group contributed a larger share of the unique relevant documents"
    )
    fitting_share: float = _number(
        0.9, "UNTESTABLE if a smaller share of the contributors' documents within the pool depth is in the qrels"
    )
    fair: float = _number(
        0.02, "the pool is fair if contributing runs, held out, lose a smaller share of their score on average"
    )
    unfair: float = _number(0.06, "the pool is unfair if they lose this share or more; in between: with care")
    enough_groups: float = _number(10, "warning with fewer contributing groups")
    told_orphans: float = _number(
        0.05, "warning if a larger share of the judged documents is not within the pool depth of any contributing run"
    )
    most_orphans: float = _number(0.5, "the pool is untestable if that share is larger than this")
    unlike: float = _number(
        0.05, "unlike all contributors is a run with unjudged documents less popular than those of all but this share"
    )
    unlike_groups: float = _number(
        0.5, "and less popular than a document that this share of the contributing groups retrieves"
    )
    completed_error: float = _number(
        0.25, "completeness is unknown if it is off by more from half of the pool depth to the whole"
    )
    likely: float = _number(0.95, "settle calls a lead likely from this probability")
    clear: float = _number(0.9, "settle takes it as known from this probability which run is ahead")
    decisive: float = _number(
        0.5, "settle asks first for a document that makes a lead likely with more than this probability"
    )

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
            is_number = type(value) in (int, float)
            if not is_number or not 0 <= value <= highest:
                problems.append(f"{name} must be a number between 0 and {highest:g}, not {quoted(value)}")
        fair, unfair = values.get("fair", self.fair), values.get("unfair", self.unfair)
        if not problems and fair > unfair:
            problems.append(f"fair ({fair:g}) must not exceed unfair ({unfair:g})")
        if problems:
            refuse("invalid thresholds", "bad-threshold", problems)
        return replace(self, **{known[name].name: float(value) for name, value in values.items()})


_NAMES = (
    *("tolerance", "finished_pool", "finished_topic", "unreliable_judged", "topic_judged", "unreliable_topics"),
    *("unreliable_loss", "caution_loss", "caution_upper", "caution_drift", "caution_judged", "fewest_groups"),
    *("fewest_holes", "largest_share", "fitting_share", "fair", "unfair", "enough_groups"),
    *("told_orphans", "most_orphans", "unlike", "unlike_groups", "completed_error", "likely", "clear", "decisive"),
)
"""What users write and collections keep, in the order of the fields."""

DEFAULTS = Thresholds()

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

INFERRED = " (pool inferred)"
"""Stands behind every reason that rests on an inferred pool: on its contributing runs, or its depth."""

REMEDY = "; use --groups and --pool-depth, or --pool CARD"
"""What would help where too little is known of the pool."""

_BY_CONTRIBUTORS = ("contributed", "kappa-unknown", "large-loss", "loss", "upper-loss", "coverage", "small-loss")
_NOISE = 1e-12


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict on one run and measure considers.

    `depth` is k in words. `low` and `high` are the exact interval down to k; None where it was not computed.
    `judged` is the mean of judged@k, `low_topics` of `topics` are mostly unjudged, `unjudged` counts the unjudged
    documents within k. `pooled` says that the top k of the run were pooled on all topics that it has, `missing` are
    those it has not, `pool_judged` is the share of the pool that is judged, `topic_pool_judged` the smallest share
    of a topic's pool, and `finished` that of the topics for which a live plan has chosen everything.
    `pooled_unjudged` is by how much the run's own pooled but unjudged documents could change its score. `loss` and
    `upper` are None where nothing could be estimated: `untestable` then says why. `upper_blind` is the upper end
    without popularity, where contributing groups are known and the measure looks at the whole list; None elsewhere.
    `depth_known` is false where such a measure has no pool depth to look down to. `tolerance` is in points of the
    measure. The `score` may lie outside the interval, for measures that pass unjudged documents over. `unlike` says
    that its unjudged documents are retrieved by so few contributors that the upper end is that of the model without
    popularity. `inferred` says that the contributing runs or the pool depth were inferred, and `inferred_depth` that
    k follows from that. `to_rank` is k where the measure looks below the pool, `interval_to` the same where the
    interval does not, and `goes_on` says that unjudged documents follow below. `completed` are a rank and the score
    completed down to it, with the ends of an 80% interval; None where unknown. `uneven` is by how much its expected
    change differs from that of the usual contributing run.
    """

    judged: float
    topics: int
    low_topics: int
    unjudged: int
    depth: str = ""
    low: float | None = None
    high: float | None = None
    score: float | None = None
    pooled: bool = False
    missing: int = 0
    pool_judged: float = 1.0
    topic_pool_judged: float = 1.0
    finished: float = 1.0
    pooled_unjudged: float = 0.0
    loss: float | None = None
    upper: float | None = None
    upper_blind: float | None = None
    depth_known: bool = True
    upper_is_maximum: bool = False
    unlike: bool = False
    groups: int = 0
    untestable: str = ""
    tolerance: float = 0.01
    inferred: bool = False
    inferred_depth: bool = False
    to_rank: str = ""
    interval_to: str = ""
    goes_on: bool = False
    completed: tuple[int, float, float, float] | None = None
    uneven: float = 0.0

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The exact interval as it is shown: none without width where the list goes on unjudged below its rank."""
        return shown_ends(self.low, self.high, goes_on=self.goes_on and bool(self.interval_to))


def shown_ends(low: float | None, high: float | None, *, goes_on: bool) -> tuple[float | None, float | None]:
    """The ends of an interval as they are shown: none without width where what follows is unjudged."""
    known = low is not None and high is not None and low == low and high == high
    return (low, high) if known and not (goes_on and low == high) else (None, None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A level, the name of the rule that decided, and its reason as a phrase with the number that triggered it.

    `to_rank` is there where the measure looks below the pool, and the level holds down to this rank alone. `inferred`
    says that it rests on an inferred pool, as its reason does.
    """

    level: Level
    rule: str
    reason: str
    to_rank: str = ""
    inferred: bool = False

    @property
    def title(self) -> str:
        """The level as people read it beside its reason."""
        return f"{self.level} to rank {self.to_rank}" if self.to_rank and not MARKS[self.level] else self.level

    @property
    def short(self) -> str:
        """The level as people read it without a reason."""
        return f"{self.title} (inferred)" if self.inferred else self.title

    def __str__(self) -> str:
        return f"{self.title} ({self.reason})"


def verdict_of(evidence: Evidence, thresholds: Thresholds = DEFAULTS) -> Verdict:
    """The verdict by the first rule that applies. Where it rests on an inferred pool, its reason says so."""
    found = replace(next(_verdicts(evidence, thresholds)), to_rank=evidence.to_rank)
    rests = evidence.inferred_depth or (evidence.inferred and found.rule in _BY_CONTRIBUTORS)
    if not rests or found.level == "PROVISIONAL":  # that rests on what is pooled, not on who contributed
        return found
    remedy = REMEDY if found.level == "UNTESTABLE" else ""
    return replace(found, reason=f"{found.reason}{remedy}{INFERRED}", inferred=True)


def _verdicts(evidence: Evidence, table: Thresholds) -> Iterator[Verdict]:
    """All verdicts that apply, in the order of the rules."""
    top = f"its top {evidence.depth}" if evidence.depth else "its top documents"
    below = "; the list goes on unjudged" if evidence.to_rank and evidence.goes_on else ""
    if evidence.pool_judged < table.finished_pool:
        reason = f"{_share(evidence.pool_judged, table.finished_pool)} of the pool judged"
        yield Verdict("PROVISIONAL", "pool-unfinished", reason)
    if evidence.topic_pool_judged < table.finished_topic:
        reason = f"only {_share(evidence.topic_pool_judged, table.finished_topic)} of the pool judged in some topic"
        yield Verdict("PROVISIONAL", "topic-unfinished", reason)
    if evidence.finished < 1:
        reason = f"the plan is complete for {_share(evidence.finished)} of its topics"
        yield Verdict("PROVISIONAL", "plan-unfinished", reason)
    if _exceeds(evidence.pooled_unjudged, evidence.tolerance):
        reason = f"its pooled but unjudged documents could change the score by {_points(evidence.pooled_unjudged)}"
        yield Verdict("PROVISIONAL", "pooled-unjudged", reason)
    # Below the pool runs may not be comparable: some gain from what a deeper pool would find, and others lose.
    uneven = list[Verdict]()
    width, limit = float("inf"), table.caution_drift * evidence.tolerance
    if evidence.low is not None and evidence.high is not None:
        score = evidence.low if evidence.score is None else evidence.score
        width = max(evidence.high, score) - min(evidence.low, score)
    is_narrow = not _exceeds(width, evidence.tolerance)
    if _exceeds(abs(evidence.uneven), limit) and evidence.completed is not None:
        depth, complete, *_ = evidence.completed
        drift = complete - (evidence.score or 0.0)
        own, usual = _points(drift), _points(drift - evidence.uneven)
        reason = f"complete to rank {depth} it would change by {own}, the usual run by {usual}"
        reason += f" (limit {_points(limit)} apart)"
        uneven.append(Verdict("CAUTION", "uneven-drift", reason))
    if evidence.unjudged == 0 or is_narrow:
        yield from uneven
    if evidence.pooled and evidence.unjudged == 0:
        reason = f"{top} were all pooled"
        if evidence.missing:
            missing = counted(evidence.missing, "missing topic")
            reason += f" on the {evidence.topics:,} topics it covers; {missing} count as 0"
        yield Verdict("POOLED", "contributed", reason + below)
    if evidence.unjudged == 0:
        yield Verdict("SAFE", "no-holes", f"{top} are all judged{below}")
    if is_narrow:
        reason = f"judging {top} could change the score by at most {_points(max(width, 0.0005))}"
        yield Verdict("SAFE", "narrow-interval", reason)
    # Of a measure of the whole list coverage alone says little: most such alarms were false.
    condemns = evidence.depth_known
    if evidence.upper_blind is not None:
        condemns = _exceeds(abs(evidence.upper_blind), table.caution_upper * evidence.tolerance)
    if condemns and _exceeds(table.unreliable_judged, evidence.judged):
        limit = table.unreliable_judged
        reason = f"only {_share(evidence.judged, limit)} judged (limit {_share(limit)})"
        yield Verdict("UNRELIABLE", "minority-judged", reason)
    share = evidence.low_topics / max(evidence.topics, 1)
    if condemns and _exceeds(share, table.unreliable_topics):
        topics = f"{evidence.low_topics:,} of {counted(evidence.topics, 'topic')}"
        reason = f"{topics} mostly unjudged (limit {_share(table.unreliable_topics)})"
        yield Verdict("UNRELIABLE", "topics-unjudged", reason)
    loss, upper = evidence.loss or 0.0, evidence.upper or 0.0
    limit = table.unreliable_loss * evidence.tolerance
    if _exceeds(abs(loss), limit):
        yield Verdict("UNRELIABLE", "large-loss", _expected_loss(loss, limit))
    known = evidence.loss is not None and evidence.upper is not None and isfinite(loss + upper)
    if evidence.untestable or not known:
        reason = evidence.untestable or "nothing is known about unjudged documents in this pool"
        yield Verdict("UNTESTABLE", "kappa-unknown", reason)
    limit = table.caution_loss * evidence.tolerance
    if _exceeds(abs(loss), limit):
        yield Verdict("CAUTION", "loss", _expected_loss(loss, limit))
    upper_limit = table.caution_upper * evidence.tolerance
    if _exceeds(abs(upper), upper_limit):
        of = _most_extreme(evidence) if evidence.upper_is_maximum else "95%"
        far = _points(abs(upper), upper_limit)
        may = f"loss may reach {far}" if upper >= 0 else f"the score may fall by {far}"
        yield Verdict("CAUTION", "upper-loss", f"{may} ({of}; limit {_points(upper_limit)})")
    if _exceeds(table.caution_judged, evidence.judged):
        reason = f"{_share(evidence.judged, table.caution_judged)} judged (limit {_share(table.caution_judged)})"
        yield Verdict("CAUTION", "coverage", reason)
    yield from uneven
    yield Verdict("SAFE", "small-loss", _expected_loss(loss, limit))


def _expected_loss(loss: float, limit: float) -> str:
    """The expected loss beside its limit."""
    shown = _points(abs(loss), limit)
    said = f"expected loss {shown}" if loss >= 0 else f"expected to fall by {shown} once judged"
    return f"{said} (limit {_points(limit)})"


def _most_extreme(evidence: Evidence) -> str:
    """What the upper end follows where there are too few groups for 95%."""
    return f"as in the most extreme of {counted(evidence.groups, 'held-out group')}"


def _exceeds(value: float, limit: float) -> bool:
    """Say whether a value is above a limit, and not by the noise of adding shares up."""
    return value > limit + _NOISE


def _points(value: float, limit: float = 0.0) -> str:
    """Give a difference of scores with three digits, as scores are printed here: .043; more beside such a limit."""
    if 0 < abs(value) < 0.0005:
        return "less than .001"
    text = f"{abs(value):.3f}"
    text = f"{abs(value):.4f}" if text == f"{limit:.3f}" and value != limit else text
    shown = text[1:] if text.startswith("0.") else text
    return f"-{shown}" if value < 0 and float(text) else shown


def _share(value: float, limit: float = 0.0) -> str:
    """Give a share in per cent, with more digits beside a limit that would look the same.

    What is not all never looks like all, nor a little like nothing.
    """
    text = f"{100 * value:.0f}%"
    if text == f"{100 * limit:.0f}%" and value != limit:
        return f"{100 * value:.4g}%"
    if (text == "100%" and value < 1) or (text == "0%" and value > 0):
        return f"{100 * value:.2g}%" if value < 0.5 else "more than 99%"
    return text


# Verdicts in sentences: the score, and why it is doubtful.


def account(
    run: str,
    measure: str,
    score: float,
    judged: str,
    evidence: Evidence,
    verdict: Verdict,
    *,
    contributed: bool | None = False,
    skips_unjudged: bool = False,
) -> str:
    """What there is to say of one run by one measure, as in

    dense-v2 nDCG@10 .610 (unjudged = not relevant), interval .571–.835, judged@10 .74, 4 of 50 topics mostly
    unjudged. It did not contribute to the pool. Its 130 unjudged documents are expected to add .043 (up to .071):
    UNRELIABLE, expected loss .043 (limit .030).

    `judged` is the name of the share of judged documents: judged@k, or judged weight for RBP. `contributed` says
    whether the run contributed to the pool at all, None where that is not known. `skips_unjudged` says that the
    measure passes unjudged documents over, as Bpref does.
    """
    scored = "unjudged ignored" if skips_unjudged else "unjudged = not relevant"
    if evidence.to_rank:
        scored += f"; judged to rank {evidence.to_rank}" if evidence.depth_known else "; pool depth unknown"
        known = evidence.completed and f"complete to rank {evidence.completed[0]}: {completed_score(evidence)}"
        scored += f"; {known or 'completeness unknown'}"
    facts = [f"{run} {measure} {_bare(score)} ({scored})"]
    low, high = evidence.interval
    if low is not None and high is not None:
        to_rank = f" to rank {evidence.interval_to}" if evidence.interval_to else ""
        facts.append(f"interval {_bare(low)}–{_bare(high)}{to_rank}")
    # What is not all never looks like all.
    share = _bare(min(evidence.judged, 0.99) if evidence.judged < 1 else 1, digits=2)
    facts.append(f"{judged} {share}")
    if evidence.low_topics:
        facts.append(f"{evidence.low_topics} of {counted(evidence.topics, 'topic')} mostly unjudged")
    sentences = [", ".join(facts) + "."]
    if contributed is not None:
        did = "contributed to the pool" if contributed else "did not contribute to the pool"
        depth = ", but not to this depth" if contributed and not evidence.pooled else ""
        sentences.append(f"It {'probably ' if evidence.inferred else ''}{did}{depth}.")
    sentences.append(f"{_expected(evidence)}{verdict.title}, {verdict.reason}.")
    return " ".join(sentences)


def completed_score(evidence: Evidence) -> str:
    """The completed score with its ends, as in .24, .22–.27; nothing where it is unknown."""
    if evidence.completed is None:
        return ""
    for digits in (2, 4):  # ends that differ look different
        value, low, high = (_bare(one, digits=digits) for one in evidence.completed[1:])
        if low != high:
            break
    return f"{value}, {low}–{high}"


def _expected(evidence: Evidence) -> str:
    """What the unjudged documents are expected to add, before the verdict; nothing where there are none."""
    count = evidence.unjudged
    if not count:
        return ""
    its, are = ("its one unjudged document", "is") if count == 1 else (f"its {count:,} unjudged documents", "are")
    if evidence.loss is None or evidence.upper is None:
        return f"What {its} would add cannot be estimated: "
    of = f", {_most_extreme(evidence)}" if evidence.upper_is_maximum else ""
    is_gain, loss, end = evidence.loss >= 0, _bare(abs(evidence.loss)), f"up to {_bare(abs(evidence.upper))}"
    if evidence.loss * evidence.upper < 0:
        end = f"or to {'take away' if is_gain else 'add'} {end}"
    adds = f"{f'{its} {are}'.capitalize()} expected to add {loss}"
    unlike = ""
    if evidence.unlike:
        unlike = "; few contributing runs rank them high, so the upper end does not rest on their popularity"
    lowers = f"Judging {its} is expected to lower the score by {loss}"
    return f"{adds if is_gain else lowers} ({end}{of}{unlike}): "


def _bare(value: float, *, digits: int = 3) -> str:
    """A number without the 0 before its point."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
