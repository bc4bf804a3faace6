"""When to stop judging a topic, and which rule said so.

A rule is a decorated function with one number as its option; it looks at what has been judged so far and answers with
a sentence, or with None to go on. In a plan: `stop=nonrelevant:50,too-rich`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import Option, Registry
from cranfield.base.text import counted
from cranfield.pool.strategy import Label, Part, register

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

    @cached_property
    def judged(self) -> int:
        """How many got a label."""
        return sum(label is not None for label in self.labels)


@dataclass(frozen=True)
class StoppingRule(Part):
    """A reason to stop; one that `needs_sample` looks for documents of a sample that was judged before."""

    needs_sample: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """The rule as it stands in a plan, without a number that is the default."""
        (number,) = self.options.values()
        return self.name if self.options == self.defaults else f"{self.name}:{number}"


stopping_rules: Registry[StoppingRule] = Registry(
    "stopping rule", package="cranfield.pool.stopping", group="cranfield.stopping"
)


stopping = partial(register, stopping_rules, StoppingRule)
"""Registers a function that gives the reason to stop, or None, from a `Review`."""


def parsed_rule(text: str) -> StoppingRule:
    """The rule that `name` or `name:number` means."""
    name, colon, number = text.partition(":")
    rule = stopping_rules.get(name)
    if colon and not _NUMBER.fullmatch(number):
        wanted = f"the stopping rule {quoted(name)} needs an integer of at most 9 digits"
        raise UsageError(f"{wanted}, not {quoted(number)}")
    return rule.configured(dict.fromkeys(rule.options, number)) if colon else rule


@stopping("nonrelevant", summary="n non-relevant documents in a row")
def nonrelevant_in_a_row(
    review: Review, *, documents: Annotated[int, Option("non-relevant documents in a row", at_least=1)] = 50
) -> str | None:
    """Stops after n non-relevant documents in a row.

    Documents without a label neither count nor interrupt. The warm-up does not count. Source: common practice, with
    50 or 100.
    """
    labelled = [label for label in review.late if label is not None]
    if len(labelled) < documents or any(labelled[-documents:]):
        return None
    return f"the last {documents} judged documents were not relevant"


@stopping("dry", summary="no relevant document in n steps")
def nothing_in_steps(
    review: Review, *, steps: Annotated[int, Option("steps without a relevant document", at_least=1)] = 20
) -> str | None:
    """Stops after n steps without a relevant document; a document without a label is a step too.

    The warm-up does not count. Source: NIST's continuous-active-learning notes, where n is 20.
    """
    if len(review.late) < steps or any(label is True for label in review.late[-steps:]):
        return None
    return f"nothing relevant in the last {steps} steps"


@stopping("too-rich", summary="drop a topic in which more than half of more than n documents are relevant")
def too_rich(
    review: Review, *, documents: Annotated[int, Option("documents that are judged in any case", at_least=1)] = 300
) -> str | None:
    """Drops a topic when more than half of more than n judged documents are relevant.

    Such a topic would need too much judging. Source: NIST's practice, where n is 300.
    """
    if review.judged <= documents or 2 * review.relevant <= review.judged:
        return None
    return f"the topic is too rich: {review.relevant} of {review.judged} judged documents are relevant"


@stopping("knee", summary="the gain curve has a knee")
def knee(
    review: Review, *, documents: Annotated[int, Option("documents that are judged in any case", at_least=2)] = 150
) -> str | None:
    """Stops when the curve of relevant found against judged has a clear knee.

    With R(i) relevant among the first i of s judged, the knee is the i farthest above the line from the origin to
    (s, R(s)), and the slope ratio is  ρ = (R(i) / i) / ((1 + R(s) − R(i)) / (s − i)).  Stop when
    ρ ≥ 156 − min(R(s), 150), and at least n documents were judged.

    Source: Cormack and Grossman, "Engineering quality and reliability in technology-assisted review", SIGIR 2016: the
    bound falls from 156 to 6 as 150 relevant documents are found. The default of n is ours.
    """
    gains = np.array([label is True for label in review.labels if label is not None], dtype=np.int64)
    judged, found = len(gains), int(gains.sum())
    if judged < documents or not found:
        return None
    curve = np.cumsum(gains)[:-1]
    places = np.arange(1, judged)
    bend = int(np.argmax(curve - places * (found / judged)))
    before, after = curve[bend] / places[bend], (1 + found - curve[bend]) / (judged - places[bend])
    if before / after < 156 - min(found, 150):
        return None
    return f"the gain curve has its knee at {places[bend]} of {judged} documents (slope ratio {before / after:.1f})"


@stopping("target", summary="the first n relevant documents of a sample were found again", needs_sample=True)
def target(
    review: Review, *, documents: Annotated[int, Option("relevant documents of the sample", at_least=1)] = 10
) -> str | None:
    """Stops when the strategy has found, by itself, the first n relevant documents of a sample judged before.

    The plan draws the sample first (`sample 100; mtf stop=target:10`). The n that were judged relevant first are the
    targets, and all of them have to be found. The labels of the sample are hidden from the strategy until it selects
    the document, which is not judged again. Where the sample has fewer than n relevant documents the rule never
    applies.

    Source: the target method of Cormack and Grossman, "Engineering quality and reliability in technology-assisted
    review", SIGIR 2016, which samples until n = 10 relevant documents are found.
    """
    if len(review.targets) < documents or not all(review.targets[:documents]):
        return None
    return f"found again: the first {counted(documents, 'relevant document')} of the sample"


@stopping("total-recall", summary="judged at least 1.5 × relevant + n")
def total_recall(
    review: Review, *, documents: Annotated[int, Option("documents beyond 1.5 times the relevant", at_least=0)] = 1000
) -> str | None:
    """Stops when the judged are at least 1.5 times the relevant, plus n.

    Source: TREC 2016 Total Recall track, where n is 1000.
    """
    if review.judged < math.ceil(1.5 * review.relevant + documents):
        return None
    return f"{review.judged} documents judged, {review.relevant} of them relevant"
