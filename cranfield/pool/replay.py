"""A plan played against judgments that are known already: what would it have found, and at what cost?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.pool.build import build
from cranfield.pool.candidates import PooledRuns
from cranfield.pool.live import Judged, LivePool
from cranfield.pool.plan import Plan
from cranfield.pool.strategy import Label, Texts
from cranfield.runs.run import Places

Labels = Mapping[str, Mapping[str, bool]]
"""Known labels: by topic, then by document."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What a plan would have judged, in order, with the known labels; None where no label is known.

    A document without a known label stays unjudged, unless another answer was asked for: it costs its place in the
    order, and teaches nothing.
    """

    judged: tuple[Judged, ...]

    @cached_property
    def found(self) -> Places:
        """How many relevant documents are found with the first 0, 1, 2 … documents: one longer than `judged`."""
        return np.concatenate([[0], np.cumsum([one.relevant is True for one in self.judged])]).astype(np.int64)

    @property
    def unknown(self) -> int:
        """How many documents have no known label."""
        return sum(one.relevant is None for one in self.judged)

    def found_with(self, documents: int) -> int:
        """Give how many relevant documents are found with so many documents, or with all where there are fewer."""
        return int(self.found[min(documents, len(self.judged))])

    def by_topic(self) -> dict[str, list[Label]]:
        """Give the labels of each topic in the order of judging."""
        labels: dict[str, list[Label]] = {}
        for one in self.judged:
            labels.setdefault(one.topic, []).append(one.relevant)
        return labels


def replay(
    plan: Plan,
    runs: PooledRuns,
    labels: Labels,
    *,
    topics: Sequence[str] | None = None,
    seed: int = 0,
    texts: Texts | None = None,
    queries: Mapping[str, str] | None = None,
    unknown: Label = None,
) -> Replay:
    """Play a plan against known labels; `unknown` is what is said of a document without one.

    A plan that looks at each topic by itself is told in rounds: the first document of every topic, then the second
    of every topic and so on, so that equal places mean equal cost. With a budget across topics the order is the one
    in which the documents are chosen.
    """
    if not plan.is_live:
        pool = build(plan, runs, topics=topics, seed=seed)
        return Replay(
            tuple(_in_rounds([_labelled(topic, pool.documents_of(topic), labels, unknown) for topic in pool.topics]))
        )
    live = LivePool(plan, runs, topics=topics, seed=seed, texts=texts, queries=queries)
    if live.spreads:
        return Replay(tuple(_judged(live, None, labels, unknown)))
    return Replay(tuple(_in_rounds([_judged(live, topic, labels, unknown) for topic in live.topics])))


def _judged(live: LivePool, topic: str | None, labels: Labels, unknown: Label) -> list[Judged]:
    """Judge one document after the other, of one topic or of all, until nothing is offered."""
    done = []
    while choices := live.offer(1, topics=None if topic is None else [topic]).choices:
        done += _labelled(choices[0].topic, [choices[0].document], labels, unknown)
        live.told(done[-1])
    return done


def _labelled(topic: str, documents: Sequence[str], labels: Labels, unknown: Label) -> list[Judged]:
    known = labels.get(topic, {})
    return [Judged(topic, document, known.get(document, unknown)) for document in documents]


def _in_rounds(topics: Sequence[Sequence[Judged]]) -> list[Judged]:
    longest = max(map(len, topics), default=0)
    return [judged[place] for place in range(longest) for judged in topics if place < len(judged)]
