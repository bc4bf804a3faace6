"""When to stop judging a topic, and which rule said so.

A rule is a frozen dataclass with at most one number; it looks at what has been judged so far and answers with a
sentence, or with None to go on. In a plan: `stop=nonrelevant:50,too-rich`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Protocol

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import Registry
from cranfield.base.text import counted
from cranfield.pool.strategy import Label
from cranfield.runs.baseline import Option, check_options, configured

_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Review:
    """What has happened in one topic: labels in the order of judging, and how the target sample stands.

    The first `warm_up` labels came before the adaptive step. `targets` says of each relevant document of the sample
    that was judged before, in the order of judging, whether the strategy has found it again by itself.
    """

    labels: Sequence[Label]
    warm_up: int = 0
    targets: Sequence[bool] = ()

    @property
    def late(self) -> Sequence[Label]:
        """The labels of the adaptive step itself."""
        return self.labels[self.warm_up :]

    @cached_property
    def relevant(self) -> int:
        """How many were relevant."""
        return sum(label is True for label in self.labels)


class StoppingRule(Protocol):
    """A reason to stop."""

    summary: ClassVar[str]

    def says(self, review: Review) -> str | None:
        """Give the reason to stop now, or None."""
        ...


stopping_rules: Registry[type[StoppingRule]] = Registry(
    "stopping rule", package="cranfield.pool.stopping", group="cranfield.stopping"
)


@stopping_rules.register("nonrelevant")
@dataclass(frozen=True)
class NonRelevantInARow:
    """Stops after n non-relevant documents in a row.

    Documents without a label neither count nor interrupt. The warm-up does not count. Source: common practice; 50 or
    100 are usual.
    """

    documents: Annotated[int, Option("non-relevant documents in a row", at_least=1)] = 50
    summary: ClassVar[str] = "n non-relevant documents in a row"

    def __post_init__(self) -> None:
        check_options(self)

    def says(self, review: Review) -> str | None:
        """Look at the last labels."""
        labelled = [label for label in review.late if label is not None]
        if len(labelled) < self.documents or any(labelled[-self.documents :]):
            return None
        return f"the last {self.documents} judged documents were not relevant"


@stopping_rules.register("dry")
@dataclass(frozen=True)
class NothingInSteps:
    """Stops after n steps without a relevant document; a document that got no label is a step too.

    The warm-up does not count. Source: NIST's continuous-active-learning notes, where n is 20.
    """

    steps: Annotated[int, Option("steps without a relevant document", at_least=1)] = 20
    summary: ClassVar[str] = "no relevant document in n steps"

    def __post_init__(self) -> None:
        check_options(self)

    def says(self, review: Review) -> str | None:
        """Look at the last steps."""
        if len(review.late) < self.steps or any(label is True for label in review.late[-self.steps :]):
            return None
        return f"nothing relevant in the last {self.steps} steps"


@stopping_rules.register("too-rich")
@dataclass(frozen=True)
class TooRich:
    """Drops a topic of which more than half is relevant after more than n documents.

    Such a topic would need more judging than it can repay. Source: NIST's practice, where n is 300.
    """

    documents: Annotated[int, Option("documents that are judged in any case", at_least=1)] = 300
    summary: ClassVar[str] = "topic dropped: more than half of more than n documents is relevant"

    def __post_init__(self) -> None:
        check_options(self)

    def says(self, review: Review) -> str | None:
        """Compare the relevant with the judged."""
        judged = sum(label is not None for label in review.labels)
        if judged <= self.documents or 2 * review.relevant <= judged:
            return None
        return f"the topic is too rich: {review.relevant} of {judged} judged documents are relevant"


@stopping_rules.register("knee")
@dataclass(frozen=True)
class Knee:
    """Stops when the curve of relevant found against judged has a clear knee.

    With R(i) relevant among the first i of s judged, the knee is the i farthest above the line from the origin to
    (s, R(s)), and the slope ratio is  ρ = (R(i) / i) / ((1 + R(s) − R(i)) / (s − i)).  Stop when
    ρ ≥ 156 − min(R(s), 150), and at least n documents were judged.

    Source: Cormack and Grossman, SIGIR 2016, from memory of the literature: the bound falls from 156 to 6 as 150
    relevant documents are found. The least number of documents is ours to choose.
    """

    documents: Annotated[int, Option("documents that are judged in any case", at_least=2)] = 150
    summary: ClassVar[str] = "the gain curve has a knee"

    def __post_init__(self) -> None:
        check_options(self)

    def says(self, review: Review) -> str | None:
        """Find the knee and compare the slopes before and after it."""
        gains = np.array([label is True for label in review.labels if label is not None], dtype=np.int64)
        judged, found = len(gains), int(gains.sum())
        if judged < self.documents or not found:
            return None
        curve = np.cumsum(gains)[:-1]
        places = np.arange(1, judged)
        knee = int(np.argmax(curve - places * (found / judged)))
        before, after = curve[knee] / places[knee], (1 + found - curve[knee]) / (judged - places[knee])
        if before / after < 156 - min(found, 150):
            return None
        return (
            f"the gain curve has its knee at {places[knee]} of {judged} documents (slope ratio {before / after:.1f})"
        )


@stopping_rules.register("target")
@dataclass(frozen=True)
class Target:
    """Stops when the strategy has found again, by itself, the first n relevant documents of a sample judged before.

    The plan draws the sample first (`sample 100; mtf stop=target:10`). The n that were judged relevant first are the
    targets, and all of them have to be found. The labels of the sample are kept from the strategy until it asks for
    the document, and asking again costs nothing. Where the sample holds fewer than n relevant documents the rule
    never speaks. Source: Cormack and Grossman's target method, which samples until n are found (n = 10), from memory
    of the literature.
    """

    documents: Annotated[int, Option("relevant documents of the sample", at_least=1)] = 10
    summary: ClassVar[str] = "the first n relevant documents of a sample were found again"

    def __post_init__(self) -> None:
        check_options(self)

    def says(self, review: Review) -> str | None:
        """Compare what was found again with the first relevant ones of the sample."""
        if len(review.targets) < self.documents or not all(review.targets[: self.documents]):
            return None
        return f"found again: the first {counted(self.documents, 'relevant document')} of the sample"


@stopping_rules.register("total-recall")
@dataclass(frozen=True)
class TotalRecall:
    """Stops when the judged are at least 1.5 times the relevant, plus n.

    Source: TREC 2016 Total Recall track, where n is 1000.
    """

    documents: Annotated[int, Option("documents beyond 1.5 times the relevant", at_least=0)] = 1000
    summary: ClassVar[str] = "judged at least 1.5 × relevant + n"

    def __post_init__(self) -> None:
        check_options(self)

    def says(self, review: Review) -> str | None:
        """Compare the judged with the relevant."""
        judged = sum(label is not None for label in review.labels)
        if judged < math.ceil(1.5 * review.relevant + self.documents):
            return None
        return f"{judged} documents judged, {review.relevant} of them relevant"


def parsed_rule(text: str) -> StoppingRule:
    """Give the rule that `name` or `name:number` means."""
    name, colon, number = text.partition(":")
    part = stopping_rules.get(name)
    if not colon:
        return part()
    if not _NUMBER.fullmatch(number):
        raise UsageError(
            f"the stopping rule {quoted(name)} takes a whole number of at most 9 digits, not {quoted(number)}"
        )
    return configured(part, {dataclasses.fields(part)[0].name: number})  # type: ignore[arg-type]


def spelled_rule(rule: StoppingRule) -> str:
    """Give the rule as it stands in a plan, without a number that is the default."""
    (number,) = dataclasses.fields(rule)  # type: ignore[arg-type]
    name = next(name for name, part in stopping_rules.items() if part is type(rule))
    value = getattr(rule, number.name)
    return name if value == number.default else f"{name}:{value}"
