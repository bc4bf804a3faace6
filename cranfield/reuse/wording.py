"""Verdicts in sentences: what the score is, why it is doubtful, what stands, and what to judge to settle it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cranfield.reuse.verdict import Evidence, Verdict
from cranfield.text import counted

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
    verdict: Verdict | None
    contributed: bool | None = False
    to_pool: bool = False
    open_defeats: Sequence[str] = ()
    standing_defeats: Sequence[str] = ()
    standing_wins: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settled_by: Mapping[str, int] = field(default_factory=dict)


def account(told: Account) -> str:
    """Give the sentences of an account, as in

    dense-v2 nDCG@10 .610 (unjudged = not relevant), possible .571-.835, judged@10 .74, 4 of 50 topics mostly
    unjudged. Not in the pool. Its 130 holes are expected to be worth .043 (up to .071): UNRELIABLE, expected loss
    .043 above .030. Its defeats by A and B are open; P@10: its win over C stands. Judging 58 documents settles A, if
    none of them is relevant.
    """
    parts = [_score(told), _pool(told), _holes(told), _pairs(told), _settling(told)]
    return " ".join(part for part in parts if part)


def _score(told: Account) -> str:
    evidence = told.evidence
    facts = [f"{told.run} {told.measure} {_point(told.score)} (unjudged = not relevant)"]
    if evidence.low is not None and evidence.high is not None:
        to_there = f" down to rank {told.depth}" if told.to_pool and told.depth.isdecimal() else ""
        facts.append(f"possible {_point(evidence.low)}-{_point(evidence.high)}{to_there}")
    at = f"judged@{told.depth}" if told.depth else "judged weight"
    facts.append(f"{at} {_hundredths(evidence.judged)}")
    if evidence.low_topics:
        facts.append(f"{evidence.low_topics} of {counted(evidence.topics, 'topic')} mostly unjudged")
    return ", ".join(facts) + "."


def _pool(told: Account) -> str:
    if told.contributed is None:
        return ""
    place = "in the pool, but not down to there" if told.contributed else "not in the pool"
    if told.evidence.pooled:
        place = "in the pool down to there"
    return f"Seemingly {place}." if told.evidence.guessed else f"{place.capitalize()}."


def _holes(told: Account) -> str:
    evidence = told.evidence
    decided = "" if told.verdict is None else f"{told.verdict.level}, {told.verdict.reason}"
    if not evidence.holes:
        return f"{decided}." if decided else ""
    if evidence.loss is None or evidence.upper is None:
        worth = f"What {_its_holes(evidence.holes)} worth cannot be told"
    elif evidence.loss >= 0:
        worth = f"{_its_holes(evidence.holes).capitalize()} expected to be worth {_point(evidence.loss)}"
        worth += f" (up to {_point(evidence.upper)}{_of_groups(evidence)})"
    else:
        worth = (
            f"With {_its_holes(evidence.holes, verb='')} judged it is expected to fall by {_point(-evidence.loss)}"
        )
        worth += f" (up to {_point(-evidence.upper)}{_of_groups(evidence)})"
    return f"{worth}: {decided}." if decided else f"{worth}."


def _its_holes(count: int, *, verb: str = "are") -> str:
    if count == 1:
        return f"its one hole {verb.replace('are', 'is')}".rstrip()
    return f"its {count:,} holes {verb}".rstrip()


def _of_groups(evidence: Evidence) -> str:
    return f", the highest of {counted(evidence.groups, 'group')}" if evidence.upper_is_maximum else ""


def _pairs(told: Account) -> str:
    facts = []
    if told.open_defeats:
        many = len(told.open_defeats) > 1
        facts.append(f"Its {'defeats' if many else 'defeat'} by {_listed(told.open_defeats)} {_are(many)} open")
    if told.standing_defeats:
        many = len(told.standing_defeats) > 1
        its, (defeats, stand) = "its" if facts else "Its", ("defeats", "stand") if many else ("defeat", "stands")
        facts.append(f"{its} {defeats} by {_listed(told.standing_defeats)} {stand}")
    for measure, beaten in told.standing_wins.items():
        if beaten:
            many = len(beaten) > 1
            by = "" if measure == told.measure else f"{measure}: "
            its = "its" if by or facts else "Its"
            wins, stand = ("wins", "stand") if many else ("win", "stands")
            facts.append(f"{by}{its} {wins} over {_listed(beaten)} {stand}")
    return "; ".join(facts) + "." if facts else ""


def _settling(told: Account) -> str:
    return " ".join(
        f"Judging {counted(count, 'document')} settles {other}, if {'it is not' if count == 1 else 'none of them is'}"
        " relevant."
        for other, count in told.settled_by.items()
    )


def _listed(names: Sequence[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _are(many: bool) -> str:  # noqa: FBT001
    return "are" if many else "is"


def _point(value: float) -> str:
    """Give a score with three digits and without the 0 before the point."""
    return _bare(f"{value:.3f}")


def _hundredths(value: float) -> str:
    """Give a share with two digits; what is not all never looks like all."""
    return _bare(f"{min(value, 0.99) if value < 1 else 1:.2f}")


def _bare(text: str) -> str:
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
