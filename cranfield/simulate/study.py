"""What each plan would have cost, what it would have found, and what it would have done to the ranking of systems.

The truth that a plan is held against is all that is known: shares are of the known relevant documents, and rankings
are compared with the one by all known judgments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import UsageError
from cranfield.base.spread import HERE, Workers
from cranfield.evaluate.align import Alignment, AnyRun
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists
from cranfield.evaluate.measure import Measure, own_measures
from cranfield.evaluate.scores import Scores, score
from cranfield.pool.build import build
from cranfield.pool.candidates import PooledRuns
from cranfield.pool.plan import Amount, Plan, Selection, full_depth, parse
from cranfield.pool.pool import levels
from cranfield.pool.replay import Labels, labels_of, replay
from cranfield.pool.strategy import RankAmount, Words, strategies
from cranfield.qrels.qrels import Qrels
from cranfield.reuse import correlation, provenance
from cranfield.reuse.hold_out import OwnHoldOut
from cranfield.reuse.unjudged_model import Spread

# What a simulation starts from: known judgments, the runs that are ranked, and the contributing runs among them.

Rows = NDArray[np.bool_]
"""Says of each row of the known qrels whether it is meant."""


@dataclass(frozen=True, eq=False)
class Known:
    """Judgments that play the assessor, and the runs.

    All `runs` are ranked; `pooled` are the contributing ones, by the same names, with their groups. `alignment` is of
    judgments and runs over all topics of the qrels, with its rows kept. A grade from `relevant_from` up is relevant.
    `words` are for the strategies that read.
    """

    qrels: Qrels
    runs: Sequence[AnyRun]
    pooled: PooledRuns
    alignment: Alignment
    relevant_from: int = 1
    words: Words | None = None

    @property
    def qrels_row(self) -> provenance.Numbers:
        """The row of the qrels at each rank of each list."""
        return cast("provenance.Numbers", self.alignment.qrels_row)

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The topics that are played, in byte order: those with judgments that some contributing run has."""
        return tuple(topic for topic in self.labels if topic in self.pooled.codes_by_topic)

    @cached_property
    def labels(self) -> Labels:
        """Relevant or not, by topic and document; what has no grade from 0 up has no label."""
        return labels_of(self.qrels, self.relevant_from)

    @cached_property
    def judged(self) -> Rows:
        """The rows that have a grade."""
        return np.asarray(self.qrels.grades >= 0)

    @cached_property
    def relevant(self) -> Rows:
        """The rows that are relevant."""
        return np.asarray(self.qrels.grades >= self.relevant_from)

    @cached_property
    def reachable(self) -> int:
        """How many known relevant documents some contributing run has: no plan finds more."""
        contributing = np.flatnonzero(np.isin(self.alignment.run_names, self.pooled.names))
        _, rows = self.part(contributing)
        return int(self.relevant[np.unique(rows[rows >= 0])].sum())

    def part(self, runs: Counts) -> tuple[Lists, provenance.Numbers]:
        """The lists of some runs, by their places in the alignment, and the row of the qrels at each rank."""
        lists, topics = self.alignment.lists, len(self.alignment.topic_ids)
        cells = (runs[:, np.newaxis] * topics + np.arange(topics)).ravel()
        ends = lists.offsets[::topics]
        rows = [self.qrels_row[ends[run] : ends[run + 1]] for run in runs.tolist()]
        return lists.chosen(cells), np.concatenate([self.qrels_row[:0], *rows])

    def scores(self, kept: Rows, measures: Sequence[Measure], runs: Counts | None = None) -> Scores:
        """Score runs (default: all) by some of the judgments alone, as if nothing else had been judged."""
        lists, rows = (self.alignment.lists, self.qrels_row) if runs is None else self.part(runs)
        runs = np.arange(len(self.runs)) if runs is None else runs
        judged = np.flatnonzero(kept & self.judged)
        topics, levels = lists.level_counts.shape
        level = np.searchsorted(lists.levels, self.qrels.grades[judged])
        cells = self.qrels.topic_of_row[judged].astype(np.int64) * levels + level
        lists = replace(
            lists,
            grades=np.where(np.append(kept, False)[rows], lists.grades, NOT_POOLED),
            level_counts=np.bincount(cells, minlength=topics * levels).reshape(topics, levels),
            highest_grade=int(self.qrels.grades[judged].max(initial=0)),
            pooled_count=np.bincount(self.qrels.topic_of_row[kept], minlength=topics),
            stratified=None,
        )
        shape = (len(measures), len(runs), len(self.alignment.topic_ids))
        values = np.array([measure.values(lists) for measure in measures]).reshape(shape)
        names = tuple(self.alignment.run_names[run] for run in runs.tolist())
        return Scores(tuple(measures), names, self.alignment.topic_ids, values, self.alignment.scored[runs])


# A plan played against known judgments, by itself or at several budgets.


@dataclass(frozen=True, eq=False)
class Play:
    """The documents that a plan selects, in the order of judging.

    `topics` are those that were played; `topic` gives for each document its place there, and `row` its judgment as a
    row of the known qrels, -1 where it is unjudged.
    """

    plan: str
    topics: tuple[str, ...]
    topic: Counts
    row: provenance.Numbers

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def sizes(self) -> Counts:
        """How many documents each topic got."""
        return np.bincount(self.topic, minlength=len(self.topics))

    def kept(self, known: Known) -> Rows:
        """Say which of the known judgments the plan would have made."""
        rows = np.zeros(len(known.qrels), dtype=bool)
        rows[self.row[self.row >= 0]] = True
        return rows

    @cached_property
    def place(self) -> Counts:
        """The place of each document among those of its topic."""
        in_turn = np.argsort(self.topic, kind="stable")
        place = np.empty(len(self.topic), dtype=np.int64)
        starts = np.cumsum(self.sizes) - self.sizes
        place[in_turn] = np.arange(len(self.topic)) - starts[self.topic[in_turn]]
        return place

    def first(self, sizes: Counts, *, plan: str) -> Play:
        """The first documents of each topic alone, in the same order."""
        kept = self.place < sizes[self.topic]
        return Play(plan, self.topics, self.topic[kept], self.row[kept])

    @staticmethod
    def joined(parts: Sequence[Play]) -> Play:
        """A play out of those of some topics each: the first document of every topic, then the second and so on."""
        whole, *others = parts
        if not others:
            return whole
        topic, row, place = map(np.concatenate, zip(*((one.topic, one.row, one.place) for one in parts), strict=True))
        order = np.lexsort((topic, place))
        return Play(whole.plan, whole.topics, topic[order], row[order])


def play(known: Known, plan: Plan, *, seed: int = 0, only: Collection[str] | None = None) -> Play:
    """Play a plan; with `only` no more than the documents of these topics."""
    judged = replay(
        plan, known.pooled, known.labels, topics=known.topics, seed=seed, words=known.words, unknown=False, only=only
    )
    place = {topic: number for number, topic in enumerate(known.topics)}
    row = provenance.rows_of_pairs(known.qrels, [one.topic for one in judged], [one.document for one in judged])
    row[~np.append(known.judged, False)[row]] = -1
    return Play(str(plan), known.topics, np.array([place[one.topic] for one in judged], dtype=np.int64), row)


def open_ended(plan: Plan) -> Plan:
    """The plan with its last step going on for ever, to be played at budgets.

    A last step by depth becomes `take`, which goes as deep as a budget allows, and in part into the next rank.
    """
    last = plan.steps[-1]
    if not isinstance(last, Selection):
        raise UsageError(f"'{plan}' ends with '{last}', and a budget needs a step that chooses documents")
    step = replace(last, amount=Amount())
    if isinstance(last.strategy.amount, RankAmount):
        scope = replace(last.scope, by="run" if last.scope.by == "topic" else last.scope.by)
        step = Selection(strategies.get("take"), scope=scope)
    return Plan((*plan.steps[:-1], step))


def with_budget(plan: Plan, budget: int) -> Plan:
    """The plan with its last step going on until all topics together have `budget` documents."""
    *before, last = open_ended(plan).steps
    step = replace(last, amount=Amount("budget", budget)) if isinstance(last, Selection) else last
    return parse(str(Plan((*before, step))))  # which refuses what no plan may say


def least_budget(known: Known, plan: Plan) -> Counts:
    """The documents that each topic has before the last step: no budget can be smaller than these together."""
    before = plan.steps[:-1]
    if not before:
        return np.zeros(len(known.topics), dtype=np.int64)
    if Plan(before).adaptive:
        raise UsageError(f"'{plan}': a budget for all topics cannot follow an adaptive step: topics end one by one")
    sizes = build(Plan(before), known.pooled, topics=known.topics).sizes
    return np.array([sizes[topic] for topic in known.topics], dtype=np.int64)


def played_alone(plan: Plan, budgets: Sequence[int]) -> list[Plan]:
    """The plans that have to be played for some budgets, or for none as it stands.

    Where the documents of a smaller budget are the first of a larger one, topic by topic, the largest is enough.
    """
    if not budgets:
        return [plan]
    # Not so for samples, which are drawn for their size; for budgets across topics, whose floor hangs on the budget;
    # nor where a rule can end a topic, since its share is not given to others.
    last = plan.steps[-1]
    is_fixed_order = isinstance(last, Selection) and last.strategy.kind != "sampling"
    if not isinstance(last, Selection) or not is_fixed_order or last.scope.across_topics or last.scope.stop:
        return [with_budget(plan, budget) for budget in budgets]
    return [with_budget(plan, max(budgets))]


def play_at(known: Known, plan: Plan, budgets: Sequence[int], plays: Mapping[str, Play]) -> list[Play]:
    """A plan at several budgets, none below its `least_budget`; without any, as it stands.

    `plays` has what was played of `played_alone`, by the text of each plan.
    """
    alone = played_alone(plan, budgets)
    if len(alone) >= len(budgets):
        return [plays[str(one)] for one in alone]
    largest, have = plays[str(alone[0])], least_budget(known, plan)
    return [
        largest.first(levels(have, largest.sizes - have, budget), plan=str(with_budget(plan, budget)))
        for budget in budgets
    ]


# The expected loss of a non-contributing run: every contributing run, scored as if its own group had not been there.

FEWEST_GROUPS = 3
"""With fewer groups, leaving one out tells little about a new run."""


def own_hold_out(known: Known, full: Scores, kept: Rows, depth: int) -> OwnHoldOut:
    """Score every contributing run by what would have been judged to a depth without its own group.

    `kept` are the judgments with all groups there, `full` the scores by them.
    """
    contributors = [provenance.Contributor(run.name, run.team, run.family) for run in known.pooled.runs]
    owned = provenance.provenance_of(known.alignment, known.qrels, known.runs, contributors, depth=depth)
    values = full.values.copy()
    for group in range(len(owned.groups)):
        runs = np.flatnonzero(owned.group_of_run == group)
        values[:, runs] = known.scores(kept & (owned.owner != group), own_measures(full.measures), runs).values
    return OwnHoldOut.of(full, replace(full, values=values).summary, owned.group_of_run)


class Cost(NamedTuple):
    """What a plan asks for and what it finds.

    `mean`, `least` and `most` are documents for a topic. `unknown` documents are unjudged: they cost, and count as
    not relevant. `known_relevant` is all that could be found, `share` how much of it is found (NaN where none is
    known), `empty` how many topics have known relevant documents, of which the plan finds none.
    """

    documents: int
    topics: int
    mean: float
    least: int
    most: int
    unknown: int
    relevant: int
    known_relevant: int
    share: float
    empty: int


class Effect(NamedTuple):
    """The ranking of all runs by a plan's judgments against the one by all known judgments.

    `fall` is by how many ranks the run `falling` falls, the one that falls most. Everything is NaN, and `fall` None,
    where fewer than two runs have a score.
    """

    measure: Measure
    tau_b: float
    tau_ap: float
    fall: int | None
    falling: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """A plan and what came of it; `strategy` is the plan before it got its `budget`, None where it has none.

    `held_out` has every contributing run as if its own group had not been there; None where that was not played.
    """

    strategy: str
    budget: int | None
    play: Play
    cost: Cost
    scores: Scores
    effects: Sequence[Effect]
    held_out: OwnHoldOut | None = None

    @property
    def plan(self) -> str:
        """The plan that was played."""
        return self.play.plan

    def loss(self, measure: Measure) -> Spread | None:
        """How much of its score a run loses when its own group is not there; None where it was not played."""
        return None if self.held_out is None else self.held_out.spreads(measure)[1]


REPLAYED = 2**22
"""The rows of contributing runs, times plans, from which on plans are replayed by several processes."""

TOPICS_AT_ONCE = 10
"""How many topics of an adaptive plan are one piece of work: each of them is played by itself."""


def study(
    known: Known,
    plans: Sequence[Plan],
    measures: Sequence[Measure],
    *,
    budgets: Sequence[int] = (),
    seed: int = 0,
    hold_out: bool = True,
    workers: Workers = HERE,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Outcome]:
    """Play every plan, at every budget that is not below what its first steps take; without budgets as it stands.

    With `hold_out` plans that are `depth k` and nothing else are also scored without each group: of them it is enough
    to take away what the group alone contributed. `progress` is called with how many pieces of the work are done, and
    how many there are.
    """
    wanted = sorted(set(budgets))
    is_large = len(plans) * sum(len(run.ranking.documents) for run in known.pooled.runs) >= REPLAYED
    # Texts come from a file that is open here, and nowhere else.
    reads = any(step.strategy.reads_text for plan in plans for _, step in plan.selections)
    by_others = workers if is_large and not reads else HERE
    shared = known if reads else replace(known, words=None), seed
    chosen: list[tuple[Plan, list[int]]] = []
    pieces: list[tuple[Plan, tuple[str, ...]]] = []
    for plan in map(open_ended, plans) if wanted else plans:
        least = int(least_budget(known, plan).sum()) if wanted else 0
        enough = [budget for budget in wanted if budget >= least]
        if wanted and not enough:
            continue
        chosen.append((plan, enough))
        for one in played_alone(plan, enough):
            # An adaptive plan in a large study is played some topics at a time, if each is alone.
            is_cut = is_large and one.adaptive is not None and not one.adaptive[1].scope.across_topics
            width = TOPICS_AT_ONCE if is_cut else len(known.topics)
            pieces += [(one, known.topics[first : first + width]) for first in range(0, len(known.topics), width)]
    parts: dict[str, list[Play]] = {}
    total = len(pieces) + len(chosen)
    for done, played in enumerate(by_others.map(_played, pieces, shared), start=1):
        parts.setdefault(played.plan, []).append(played)
        progress(done, total)
    plays = {plan: Play.joined(some) for plan, some in parts.items()}
    judged = [(plan, enough, play_at(known, plan, enough, plays)) for plan, enough in chosen]
    held = shared[0], score(known.alignment, measures), hold_out and len(known.pooled.teams) >= FEWEST_GROUPS
    for done, outcomes in enumerate(by_others.map(_judged, judged, held), start=len(pieces) + 1):
        progress(done, total)
        yield from outcomes


def _played(piece: tuple[Plan, tuple[str, ...]], shared: tuple[Known, int]) -> Play:
    (plan, topics), (known, seed) = piece, shared
    return play(known, plan, seed=seed, only=topics)


def _judged(piece: tuple[Plan, Sequence[int], Sequence[Play]], shared: tuple[Known, Scores, bool]) -> list[Outcome]:
    """What came of a plan at each of its budgets, or as it stands."""
    (plan, budgets, plays), (known, full, hold_out) = piece, shared
    measures, outcomes = own_measures(full.measures), []
    depth = full_depth(str(plan), alone=True) if hold_out and not budgets else 0
    asked: Sequence[int | None] = budgets or [None]
    for one, budget in zip(plays, asked, strict=True):
        kept = one.kept(known)
        scores = known.scores(kept, measures)
        outcome = Outcome(
            strategy=str(plan),
            budget=budget,
            play=one,
            cost=cost_of(known, one),
            scores=scores,
            effects=[effect_of(full, scores, measure) for measure in measures],
            held_out=own_hold_out(known, scores, kept, depth) if depth else None,
        )
        outcomes.append(outcome)
    return outcomes


def cost_of(known: Known, played: Play) -> Cost:
    """Count what a play judges and what it finds."""
    sizes, topic, topics = played.sizes, known.qrels.topic_of_row, len(known.qrels.topic_ids)
    relevant = np.bincount(topic[known.relevant], minlength=topics)
    found = np.bincount(topic[known.relevant & played.kept(known)], minlength=topics)
    return Cost(
        documents=len(played),
        topics=len(sizes),
        mean=len(played) / len(sizes),
        least=int(sizes.min()),
        most=int(sizes.max()),
        unknown=int(np.count_nonzero(played.row < 0)),
        relevant=int(found.sum()),
        known_relevant=int(relevant.sum()),
        share=int(found.sum()) / int(relevant.sum()) if relevant.any() else float("nan"),
        empty=int(np.count_nonzero((relevant > 0) & (found == 0))),
    )


def effect_of(full: Scores, reduced: Scores, measure: Measure) -> Effect:
    """Compare the ranking of the runs by one measure; a run without any topic has no score, and no rank."""
    place = full.measures.index(measure)
    before, after = full.summary[place], reduced.summary[place]
    ranked = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    old, new = before[ranked], after[ranked]
    names = [full.run_names[run] for run in ranked.tolist()]
    if len(names) < 2:
        return Effect(measure, np.nan, np.nan, None, "")
    worst, fall = correlation.max_rank_drop(old, new)
    return Effect(
        measure=measure,
        tau_b=correlation.tau_b(old, new),
        tau_ap=correlation.tau_ap(old, new, names=names),
        fall=fall,
        falling=names[worst] if fall > 0 else "",
    )
