"""What a run from outside must expect to lose for not having been in a pool."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.judge.events import MAIN
from cranfield.workflows.qrels_of import qrels_now
from cranfield.workflows.stored_runs import StoredRuns
from cranfield.store import Store
from cranfield.store.opinions import has_grades
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.pool.pool import Pool

MEASURE = "AP"
FEWEST_GROUPS = 3
"""With fewer groups, leaving one out tells little about an outsider."""


@dataclass(frozen=True, slots=True)
class OutsiderLoss:
    """What contributing runs lose when their own group is left out: shares of their score, below 0 for a gain."""

    measure: str
    mean: float
    largest: float
    worst: str
    topics: int


def is_depth_pool(pool: "Pool") -> bool:
    """Say whether holding a group out of the pool is taking away what it alone brought."""
    return all(getattr(step, "name", "") == "depth" for step in pool.plan.steps)


def outsider_loss(store: Store, pool: "Pool") -> OutsiderLoss | None:
    """Score each run of a depth pool as if its group had not been in it; None before anything is judged.

    What only its group brought then counts as unjudged (leave-out-uniques). None too for every other plan: without
    the group it would have chosen other documents, and has to be played again (`cranfield reuse` does).
    """
    from cranfield.evaluate.align import align
    from cranfield.evaluate.expression import parse_measure
    from cranfield.reuse.leave_out import hold_out_own
    from cranfield.reuse.provenance import Contributor, kept_prefixes

    stored = StoredRuns(store)
    here = [source for source in pool.sources if source.name in stored]
    if (
        not is_depth_pool(pool)
        or not has_grades(store, MAIN)
        or len({source.group for source in here}) < FEWEST_GROUPS
    ):
        return None
    qrels, runs = qrels_now(store), [stored.fetched(source.name)() for source in here]
    if not set(qrels.topics).intersection(pool.topics):
        return None
    aligned = align(qrels, runs)
    contributors = [Contributor(source.name, source.group) for source in here]
    entries = ((one.topic, one.document, brought.run) for one in pool for brought in one.contributions)
    group = kept_prefixes(aligned, qrels, runs, contributors, entries=entries).by("group")
    measure = parse_measure(MEASURE, threshold=current_scale(store)[1].relevant_from)
    spread = hold_out_own(aligned, group, [measure]).relative_spread(measure)
    if not spread.runs:
        return None
    return OutsiderLoss(str(measure), spread.mean, spread.largest, spread.worst, len(aligned.topic_ids))
