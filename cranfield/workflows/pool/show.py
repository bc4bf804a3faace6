"""A pool in numbers: its size, the contribution of each run, its cost, and how long judging takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from cranfield.base.errors import Problem, UnknownName
from cranfield.base.registry import deferred
from cranfield.base.text import Column, Number, Result, Table, Value, counted, table_of
from cranfield.judge.queue import Speed
from cranfield.pool import plan as plans
from cranfield.pool import pool as pooling
from cranfield.store import Store, live_pools, pools

with deferred:
    from cranfield.pool import extend
    from cranfield.workflows.pool import inputs

if TYPE_CHECKING:
    import pandas as pd

# How long judging takes: measured where something was judged, else assumed, and which of the two.

ASSUMED_SECONDS = 30.0
"""Two documents a minute: an assumption, where too little has been measured."""

FEWEST_TIMED = 20
"""From how many judgments with a measured time their median is told: that of fewer is easily off by half."""


def judging_speed(store: Store | None) -> Speed:
    """The speed of judging: the median of enough judgments, else the assumption."""
    measured = [] if store is None else live_pools.seconds_of_judging(store)
    is_enough = len(measured) >= FEWEST_TIMED
    return Speed(round(median(measured), 1), len(measured)) if is_enough else Speed(ASSUMED_SECONDS)


# Whether one group supplies most of a pool.

MOST = 0.5
"""The share of all unique documents from which on a group is said to dominate a pool."""

FEWEST_UNIQUE = 10
"""Of fewer unique documents no share is told."""


def dominant_group(groups: Sequence[tuple[str, int, int, int]]) -> Problem | None:
    """Warn where one of at least three groups contributed most of the documents that only one group contributed.

    Groups are given with their runs, documents and unique documents, most of these first.

    Such a pool judges that group's documents and few others, and may be unfair to other groups and to new runs.
    """
    total = sum(unique for *_, unique in groups)
    if len(groups) < 3 or total < FEWEST_UNIQUE or groups[0][3] <= MOST * total:
        return None
    most, runs, _, own = groups[0]
    message = f"{most} contributed {counted(own, 'unique document')}, {own / total:.0%} of all"
    remedy = f"{'pool by group (by=group), or ' if runs > 1 else ''}collect more diverse runs"
    return Problem("one-group-dominates", f"{message} unique documents", severity="warning", remedy=remedy)


# A pool in numbers, with one declared table per view.

_DEPTHS = (*range(1, 11), 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)
"""At which depths it is shown what a deeper pool would add; beyond, every thousand."""


class PoolView(Result):
    """A pool (the latest, unless it is named) in numbers, and one table of it.

    Each number is read when it is asked for: the store must be open.
    """

    def __init__(self, store: Store, name: str = "", *, by: str = "run") -> None:
        if by not in VIEWS:
            raise UnknownName("table of a pool", by, VIEWS)
        self.facts, self.speed = pools.facts_of_pool(store, name), judging_speed(store)
        self.by, self.store = by, store

    @cached_property
    def pool(self) -> pooling.Pool:
        """The whole pool, with every run and rank."""
        return pools.stored_pool(self.store, self.facts.name)

    @cached_property
    def topics(self) -> list[tuple[str, int, int, str]]:
        """The topics: documents, judged documents, and the rule that has ended the topic, if one has."""
        return pools.sizes_of_topics(self.store, self.facts.name)

    @property
    def documents(self) -> int:
        """How many documents are in it."""
        return sum(documents for _, documents, _, _ in self.topics)

    @property
    def judged(self) -> int:
        """How many of them are judged."""
        return sum(judged for _, _, judged, _ in self.topics)

    @cached_property
    def runs(self) -> list[tuple[str, str, int, int]]:
        """The runs: name, group, documents, and how many of these no other group has; most of those first."""
        return pools.contributions_of_runs(self.store, self.facts.name)

    @cached_property
    def groups(self) -> list[tuple[str, int, int, int]]:
        """The groups: name, runs, documents, and how many of these no other group has; most of those first."""
        return pools.contributions_of_groups(self.store, self.facts.name)

    def table(self) -> Table:
        """The table of the view."""
        columns, rows = VIEWS[self.by]
        return table_of(columns, rows(self))

    @property
    def remarks(self) -> Sequence[str]:  # type: ignore[override]
        """How large the pool is, what is judged, what it costs, and what a new run must expect."""
        facts, sizes = self.facts, [documents for _, documents, _, _ in self.topics]
        left = self.documents - self.judged
        cost = f"{left:,} to judge: {self.speed.cost(left)}" if left else "nothing left to judge"
        size = f"{counted(self.documents, 'document')} for {counted(len(sizes), 'topic')}"
        fewest, most = min(sizes, default=0), max(sizes, default=0)
        size += f" ({fewest:,} each)" if fewest == most else f" ({fewest:,} to {most:,} each)"
        made = f"plan: {facts.plan}; seed {facts.seed}; built {facts.made[:10]} by {facts.made_by}"
        remarks = [f"{facts.name}: {size}; {made}", f"{self.judged:,} judged, {cost}"]
        ended = Counter(rule for *_, rule in self.topics if rule)
        is_live = plans.parse_stored(facts.plan_in_full).adaptive
        if is_live and (going_on := len(sizes) - ended.total()):
            more = "more documents are selected as judgments come in"
            remarks.append(f"{counted(going_on, 'topic')} still open: {more}")
        remarks += [f"ended: {counted(count, 'topic')}: {rule}" for rule, count in ended.most_common()]
        if (warning := dominant_group(self.groups)) is not None:
            remarks += [f"{warning.severity}: {warning} [{warning.code}]", f"    {warning.remedy}"]
        if self.judged:
            remarks.append("expected loss of a non-contributing run: see cranfield reuse")
        return remarks

    def frame(self) -> pd.DataFrame:
        """The rows as a frame, with name, plan, seed and hash in its attributes."""
        frame, facts = super().frame(), self.facts
        frame.attrs.update(name=facts.name, plan=facts.plan, seed=facts.seed, content_hash=facts.content_hash)
        return frame


def _depths(view: PoolView) -> list[tuple[Value, ...]]:
    """What a deeper pool would add: depth, documents more than at the depth before, in all, hours."""
    store, name, version = view.store, view.facts.name, view.pool.version
    runs = inputs.pooled_runs(store, pool=name, version=version)
    clusters = pools.clusters_of_version(store, name, version)
    missing = extend.missing_by_depth(view.pool, runs, clusters=clusters)
    rows: list[tuple[Value, ...]] = []
    deepest, last = len(missing), 0
    depths = [depth for depth in (*_DEPTHS, *range(2000, deepest, 1000)) if depth < deepest]
    for depth in [*depths, deepest] if deepest else []:
        total = int(missing[:depth].sum())
        rows.append((depth, total - last, total, view.speed.hours(total)))
        last = total
    return rows


_NUMBERS = ("position", "probability", "version", "runs", "best_rank")
_DOCUMENT = ("topic", "document", "position", "stratum", "probability", "version", "runs", "best_rank", "best_run")
_HOURS = Number("hours", digits=1)

VIEWS: Mapping[str, tuple[Sequence[Column | str], Callable[[PoolView], Sequence[Sequence[Value]]]]] = {
    "document": (
        [Column(name, kind="number" if name in _NUMBERS else "text") for name in _DOCUMENT],
        lambda view: pools.documents_in_full(view.store, view.facts.name),
    ),
    "run": (["run", "group", "documents", "only_this_group"], lambda view: view.runs),
    "group": (["group", "runs", "documents", "only_this_group"], lambda view: view.groups),
    "topic": (["topic", "documents", "judged", "ended"], lambda view: view.topics),
    "depth": (["depth", "more", "more_in_all", _HOURS], _depths),
    "version": (
        ["version", "made", "made_by", "runs", "documents", "content_hash"],
        lambda view: pools.versions_in_numbers(view.store, view.facts.name),
    ),
}
"""The tables of a pool: the columns of each, and its rows."""
