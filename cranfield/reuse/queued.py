"""The unjudged documents of a comparison, each with what judging it is good for."""

from dataclasses import dataclass

import numpy as np

from cranfield.evaluate.lists import Counts, Values
from cranfield.reuse.bounds_freedom import Mask
from cranfield.reuse.narrowing import narrowings
from cranfield.reuse.pairs import TOLERANCE, Contest


@dataclass(frozen=True, slots=True)
class QueuedDocument:
    """An unjudged document, and how much of the doubt hangs on it.

    `weight` is by how much the difference of the summaries can move by its label, or the interval narrows if it is
    not relevant. `run` is the run that gains if it is relevant (where it stands at `rank`); the other run has it at
    `other_rank`, None where it does not rank it.
    """

    topic: str
    document: str
    weight: float
    run: str
    rank: int
    other_rank: int | None = None


def leanings(contest: Contest) -> Values:
    """Give for each hole of a contest its weight in the difference; above 0 where it is good for the first run.

    For sums of weights by how much its label can move the difference; for RR and Success by how much it does so when
    no other is relevant; else by how much its being not relevant narrows the two intervals.
    """
    holes, weighing = contest.holes, contest.weighing
    share = 1.0 / max(len(contest.topics), 1) if contest.measure.aggregate == "mean" else 1.0
    if weighing is None:
        first, second = (_narrowed(contest, run) for run in range(2))
        return np.where(first >= second, 1.0, -1.0) * (first + second) * share
    mine, other = weighing.at(holes.first_rank), weighing.at(holes.second_rank)
    if weighing.kind == "sum":
        return (weighing.most - weighing.least) * (mine - other) * share
    here = np.searchsorted(contest.topics, holes.topic)
    first, second = (contest.ends_of(run)[0][here] for run in range(2))
    moved: Values = np.maximum(first, mine) - first - (np.maximum(second, other) - second)
    return moved * weighing.most * share


def can_matter(contest: Contest) -> Mask:
    """Say of each hole of a contest whether its label can have to do with the difference, now or later.

    In a sum one that weighs the same for both runs cannot. For RR and Success a document that helps both alike may
    still matter once another is known, unless both runs have something better already.
    """
    holes, weighing = contest.holes, contest.weighing
    if weighing is None or contest.measure.aggregate not in ("mean", "sum"):
        return np.ones(len(holes), dtype=bool)
    mine, other = weighing.at(holes.first_rank), weighing.at(holes.second_rank)
    if weighing.kind == "sum":
        return np.abs(mine - other) * (weighing.most - weighing.least) > TOLERANCE
    here = np.searchsorted(contest.topics, holes.topic)
    first, second = (contest.ends_of(run)[0][here] for run in range(2))
    return ((mine > first + TOLERANCE) | (other > second + TOLERANCE)) & (weighing.most > 0)


def _narrowed(contest: Contest, run: int) -> Values:
    """Give by how much the interval of one run narrows with each hole; 0 where it does not rank it."""
    ranks = contest.holes.first_rank if run == 0 else contest.holes.second_rank
    here = np.flatnonzero(ranks > 0)
    narrowed = np.zeros(len(ranks))
    narrowed[here] = narrowings(
        contest.alignment,
        contest.measure,
        run * len(contest.alignment.topic_ids) + contest.holes.topic[here],
        ranks[here],
        depth=contest.reach,
        closure=contest.closure,
        further=contest.further,
        highest=contest.highest,
    )
    return np.maximum(narrowed, 0.0)


def by_weight(weights: Values, contest: Contest) -> Counts:
    """Give the holes in order: the heaviest first, equal ones by topic and document."""
    return np.lexsort((contest.holes.document, contest.holes.topic, -np.abs(weights).round(12)))


def queued(contest: Contest, order: Counts, weights: Values) -> tuple[QueuedDocument, ...]:
    """Give some holes as documents to be judged."""
    holes, names = contest.holes, contest.alignment.run_names
    found = []
    for place, document in zip(order.tolist(), contest.documents.names(holes.document[order]), strict=True):
        ranks = (int(holes.first_rank[place]), int(holes.second_rank[place]))
        mine = 0 if (weights[place] > 0 and ranks[0]) or not ranks[1] else 1
        found.append(
            QueuedDocument(
                topic=contest.alignment.topic_ids[int(holes.topic[place])],
                document=document,
                weight=abs(float(weights[place])),
                run=names[mine],
                rank=ranks[mine],
                other_rank=ranks[1 - mine] or None,
            )
        )
    return tuple(found)
