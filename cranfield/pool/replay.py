"""A plan played against judgments that are known already: what would it have found, and at what cost?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from cranfield.pool.build import build
from cranfield.pool.candidates import PooledRuns
from cranfield.pool.live import Judged, LivePool
from cranfield.pool.plan import Plan
from cranfield.pool.strategy import Label, Words

Labels = Mapping[str, Mapping[str, bool]]
"""Known labels: by topic, then by document."""


def labels_of(grades: Iterable[tuple[str, str, int]], relevant_from: int) -> dict[str, dict[str, bool]]:
    """The labels of (topic, document, grade); a grade below 0 is none."""
    labels: dict[str, dict[str, bool]] = {}
    for topic, document, grade in grades:
        if grade >= 0:
            labels.setdefault(topic, {})[document] = grade >= relevant_from
    return labels


def replay(
    plan: Plan,
    runs: PooledRuns,
    labels: Labels,
    *,
    topics: Sequence[str] | None = None,
    seed: int = 0,
    words: Words | None = None,
    unknown: Label = None,
    only: Collection[str] | None = None,
) -> list[Judged]:
    """What a plan would have judged, in order, with the known labels.

    A document without a known label gets the label `unknown`: None costs its place in the order, and teaches nothing.
    With `only` the documents of these topics alone are judged: the others have their share of a budget all the same.

    A plan that looks at each topic by itself goes topic by topic: the first document of every topic, then the second
    of every topic and so on, so that equal places mean equal cost. With a budget across topics the order is the one
    in which the documents are chosen.
    """

    def labelled(topic: str, document: str) -> Judged:
        return Judged(topic, document, labels.get(topic, {}).get(document, unknown))

    def judge(live: LivePool, topic: str | None) -> list[Judged]:
        """Judge one document after the other, of one topic or of all, until nothing is offered."""
        done: list[Judged] = []
        while choice := live.offer(topics=None if topic is None else [topic]):
            done.append(labelled(choice.topic, choice.document))
            live.learn(done[-1])
        return done

    if plan.adaptive:
        live = LivePool(plan, runs, topics=topics, seed=seed, words=words)
        if live.spreads:
            return judge(live, None)
        by_topic = [judge(live, topic) for topic in live.topics if only is None or topic in only]
    else:
        pool = build(plan, runs, topics=topics, seed=seed)
        chosen = [topic for topic in pool.topics if only is None or topic in only]
        by_topic = [[labelled(topic, document) for document in pool.documents_of(topic)] for topic in chosen]
    longest = max(map(len, by_topic), default=0)
    return [some[place] for place in range(longest) for some in by_topic if place < len(some)]
