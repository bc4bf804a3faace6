"""The field of runs that a verdict needs: those asked for, those that fed the pool, and how the pool was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import CollectionError, InputError, UsageError
from cranfield.base.files import Progress, Source, silent
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.store import runs as stored_runs
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import (
    TOPIC_SETS,
    Read,
    Request,
    StoredName,
    read_aligned,
    without_pipes,
)

with deferred:
    from cranfield.workflows.pool import inputs as pool_inputs  # all of pooling: scores without verdicts need none

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.expression import AnyMeasure, Measure
    from cranfield.evaluate.lists import Counts, GradeGains
    from cranfield.reuse.assess import Assessment, Knowledge, Learn
    from cranfield.reuse.card import Card
    from cranfield.reuse.expected_loss import ModelCache
    from cranfield.reuse.intervals import Closure, Intervals
    from cranfield.reuse.pairs import RankIntervals
    from cranfield.reuse.provenance import Contributor, Level, Prefixes, Provenance
    from cranfield.reuse.verdict import Thresholds, Verdict
    from cranfield.runs.run import Member
    from cranfield.workflows.pool.inputs import KnownPool


_WHO = ("which runs fed the pool", "--groups and --pool-depth")


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """What is told about the pool beside the runs.

    `groups` says which runs fed it, as a file or as it is; `depth` down to which rank; `card` is what a published
    collection says of itself; `pool` names one of several pools of a collection.
    """

    groups: Path | Sequence[Member] | None = None
    depth: int | None = None
    card: Path | None = None
    pool: str = ""


@dataclass(frozen=True, eq=False)
class Field:
    """All runs that a verdict looks at, aligned: the first `asked` of them were asked for, the others only teach.

    `prefixes` is what the contributors brought, None where nobody knows. `depth` is the depth of the pool, one number
    per topic, and `finished` the share of its topics for which everything has been chosen. `inferred` says that who
    fed the pool, or how deep, is a guess, and `notes` is what should be known about all this. `words` are the runs as
    they were asked for: names, paths, or runs.
    """

    read: Read
    words: tuple[str | AnyRun, ...]
    prefixes: Prefixes | None
    levels: dict[Level, Provenance]
    depth: Counts
    families: tuple[str, ...]
    relevant_from: int
    gains: GradeGains = ()
    finished: float = 1.0
    card: Card | None = None
    inferred: bool = False
    notes: tuple[str, ...] = ()

    @property
    def asked(self) -> int:
        """How many runs were asked for: they come first."""
        return len(self.words)

    @property
    def knowledge(self) -> Knowledge:
        """What verdicts are made from."""
        from cranfield.reuse.assess import Knowledge

        return Knowledge(
            pool_depth=self.depth,
            provenance=self.levels.get("group"),
            card=self.card,
            families=self.families,
            relevant_from=self.relevant_from,
            ended=self.finished,
            inferred=self.inferred,
        )

    @property
    def positives_only(self) -> bool:
        """Whether the qrels have nothing that was judged not relevant."""
        lists = self.read.aligned.lists
        return not lists.level_counts[:, lists.levels < self.relevant_from].sum()

    def fed_pool(self, run: int) -> bool | None:
        """Say whether a run fed the pool, at whatever depth; None where nobody knows who did."""
        provenance = self.levels.get("group")
        return None if provenance is None else bool(provenance.group_of_run[run] >= 0)

    def fed_topics(self, run: int) -> Counts | None:
        """Give the places of the topics for which a run brought documents into the pool; None where nobody knows."""
        import numpy as np

        if self.prefixes is None:
            return None
        topics = self.prefixes.topic_of_row[self.prefixes.rows[self.prefixes.brought_by == run]]
        return np.unique(topics[topics >= 0]).astype(np.int64)

    def group_of(self, run: int) -> str:
        """Give the group of a contributing run; nothing for an outsider, or where nobody knows."""
        provenance = self.levels.get("group")
        place = -1 if provenance is None else int(provenance.group_of_run[run])
        return "" if provenance is None or place < 0 else provenance.groups[place]


def field_of(asked: Request, told: PoolOptions, *, store: Store | None = None, progress: Progress = silent) -> Field:
    """Read and align what was asked for together with the runs that fed the pool."""
    stored = pool_inputs.known_pool(store, told.pool) if store is not None and told.groups is None else None
    teachers = _teachers(store, stored) if told.groups is None and told.card is None else ()
    words = (*asked.runs, *(name for name in teachers if name not in asked.runs))
    read = _read(asked, words, store, progress)
    card = _card(told.card)
    if card is not None:
        card.refuse_others(read.aligned)
    rel = 1 if store is None else store.scale().relevant_from
    contributors, depth, notes, inferred = _contributors(read, told, stored, _submitted(read, store, teachers))
    prefixes, levels = _brought(read, contributors, depth, stored, store)
    pool_depth = prefixes.depth if prefixes is not None else _without_pool(read, card, told.depth)
    return Field(
        read=read,
        words=tuple(asked.runs),
        prefixes=prefixes,
        levels=levels,
        depth=pool_depth,
        families=_families(read, store, contributors),
        relevant_from=rel,
        gains=() if store is None else store.scale().own_gains,
        finished=1.0 if stored is None else stored.finished,
        card=card,
        inferred=inferred,
        notes=tuple(notes),
    )


def _teachers(store: Store | None, stored: KnownPool | None) -> tuple[str, ...]:
    """Give the stored runs that fed the pool: of the pool itself, else those submitted as contributing."""
    if stored is not None:
        return tuple(StoredName(one.run) for one in stored.contributors)
    if store is None:
        return ()
    return tuple(StoredName(facts.name) for facts in stored_runs.facts(store) if facts.role == "contributing")


def _read(asked: Request, words: Sequence[str | AnyRun], store: Store | None, progress: Progress) -> Read:
    """Align everything over the topics that the runs asked for are scored on."""
    if len(words) == len(asked.runs) or asked.topics in ("qrels", "run") or asked.topics not in TOPIC_SETS:
        chosen = replace(asked, runs=tuple(words))
        return read_aligned(chosen, store, progress, keep_rows=True)
    kept = without_pipes(asked)
    common = read_aligned(kept, store).aligned.topic_ids
    chosen = replace(kept, runs=(*kept.runs, *words[len(kept.runs) :]), topics=common)
    return read_aligned(chosen, store, progress, keep_rows=True)


def _contributors(
    read: Read, told: PoolOptions, stored: KnownPool | None, submitted: list[Contributor]
) -> tuple[list[Contributor], int | None, list[str], bool]:
    """Give who fed the pool, its depth where it is one of equal depth, notes, and whether all that is a guess."""
    from cranfield.reuse.provenance import infer_contributors, infer_depth

    if stored is not None:
        return list(stored.contributors), stored.depth, list(stored.notes), False
    members = _members(told.groups)
    notes: list[str] = []
    known = _named(read, members, notes) if members else submitted
    if told.depth is not None and known:
        return known, told.depth, notes, False
    if told.card is not None and not known:
        return [], None, notes, False  # what a card says is known, and better than any guess
    if known:
        guess = infer_depth(read.aligned, _contributing(read, known))
    else:
        guess = infer_contributors(read.aligned, depth=told.depth)
    if guess.refusal:
        unknown, tell = ("the depth of the pool", "--pool-depth") if known else _WHO
        return [], None, [*notes, f"{unknown} is not known: {guess.refusal}; tell it with {tell}"], False
    if known:
        notes.append(f"the depth of the pool was not told; from what is judged it looks like {guess.depth}")
        return known, guess.depth, notes, True
    fed = sum(one.contributing for one in guess.contributors)
    depth = f"down to rank {guess.depth}{', as told' * (told.depth is not None)}"
    notes.append(
        f"a guess, from what is judged: {counted(fed, 'run')} fed the pool {depth};"
        " each counts as a group of its own, which makes losses look smaller; tell who did with --groups"
    )
    return list(guess.contributors), guess.depth, notes, True


def _contributing(read: Read, known: Sequence[Contributor]) -> NDArray[np.bool_]:
    import numpy as np

    named = {one.run for one in known if one.contributing}
    return np.array([run in named for run in read.aligned.run_names])


def _members(groups: Path | Sequence[Member] | None) -> Sequence[Member]:
    from cranfield.runs.run import read_groups

    return read_groups(Source(groups)) if isinstance(groups, Path) else groups or ()


def _named(read: Read, members: Sequence[Member], notes: list[str]) -> list[Contributor]:
    from cranfield.reuse.provenance import Contributor

    here = set(read.aligned.run_names)
    absent = [one.run for one in members if one.pooled and one.run not in here]
    if absent:
        notes.append(f"{counted(len(absent), 'run')} of the groups fed the pool and are not here: {absent[0]} …")
    found = [Contributor(one.run, one.group, contributing=one.pooled) for one in members if one.run in here]
    if not found:
        raise InputError("the groups name none of these runs: a group file has run tags in its first column")
    return found


def _submitted(read: Read, store: Store | None, teachers: Sequence[str]) -> list[Contributor]:
    """Give the stored runs that were submitted as contributing, with their groups."""
    from cranfield.reuse.provenance import Contributor

    known = {facts.name: facts for facts in stored_runs.facts(store)} if store is not None else {}
    return [
        Contributor(run, known[run].group_name, known[run].family)
        for run in read.aligned.run_names
        if run in teachers and run in known
    ]


def _brought(
    read: Read,
    contributors: list[Contributor],
    depth: int | None,
    stored: KnownPool | None,
    store: Store | None,
) -> tuple[Prefixes | None, dict[Level, Provenance]]:
    """Give what the contributors brought, by run, group and family."""
    from cranfield.reuse.collection import levels_of
    from cranfield.reuse.provenance import prefixes_of

    if not any(one.contributing for one in contributors):
        return None, {}
    qrels, runs, aligned = read.qrels, read.runs, read.aligned
    if stored is None or stored.depth is not None:
        if depth is None:
            return None, {}
        prefixes = prefixes_of(aligned, qrels, runs, contributors, depth=depth)
        return prefixes, levels_of(prefixes)
    prefixes = prefixes_of(aligned, qrels, runs, contributors, entries=stored.entries)
    levels = levels_of(prefixes)
    if store is None:
        raise UsageError("a stored pool is of a collection")
    again = pool_inputs.replayed_without_groups(store, stored, levels, qrels)
    return prefixes, again


def _without_pool(read: Read, card: Card | None, depth: int | None) -> Counts:
    """Give the depth of a pool that nobody knows: what the card says, what is told, else the longest list."""
    import numpy as np

    topics = read.aligned.topic_ids
    if card is not None:
        known = dict(card.topic_depths)
        return np.array([known.get(topic, card.pool_depth) for topic in topics], dtype=np.int64)
    longest = int(read.aligned.lists.length.max(initial=1))
    return np.full(len(topics), depth or max(longest, 1), dtype=np.int64)


def _families(read: Read, store: Store | None, contributors: Sequence[Contributor]) -> tuple[str, ...]:
    known = {one.run: one.family for one in contributors}
    if store is not None:
        known |= {facts.name: facts.family for facts in stored_runs.facts(store)}
    return tuple(known.get(run, "") for run in read.aligned.run_names)


def _card(path: Path | None) -> Card | None:
    if path is None:
        return None
    from cranfield.reuse.card import read_card

    return read_card("".join(line + "\n" for _, line in Source(path).lines()), file=str(path))


# How far scores can be trusted: the verdict of each run under each measure, with its interval and expected loss.

SEED = 1
"""Where the drawn labels of holes begin, so that a verdict comes out the same every time."""

SETTING = "thresholds"

WORST_FIRST = ("UNRELIABLE", "UNTESTABLE", "PROVISIONAL", "CAUTION", "SAFE", "POOLED")


@dataclass(frozen=True, eq=False)
class Trust:
    """All runs of a field under one measure. The place of a run is its place in the field.

    `rank` is 1 + the runs that are better; `ranks` are its best and worst places by exact intervals, `likely_ranks`
    by [score, score + upper end of the expected loss].
    """

    measure: Measure
    assessment: Assessment
    kind: str
    why_no_interval: str
    rank: NDArray[np.int64]
    ranks: RankIntervals
    likely_ranks: RankIntervals

    def verdict(self, run: int) -> Verdict | None:
        """Give the verdict of a run; None where the measure takes none."""
        return self.assessment.verdicts[run]


@dataclass(frozen=True, eq=False)
class Trusted:
    """What was found out about a field of runs, measure by measure, and the thresholds in force."""

    field: Field
    trusts: tuple[Trust, ...]
    thresholds: Thresholds
    bounds: Intervals

    def of(self, measure: AnyMeasure) -> Trust | None:
        """Give what was found under a measure; None for one that takes no verdict."""
        return next((trust for trust in self.trusts if trust.measure == measure), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known about all verdicts: who fed the pool, and measures that look deeper than it went."""
        changed = [
            f"{name} {value:g} ({default:g})"
            for name, value, default, _ in self.thresholds.rows()
            if value != default
        ]
        told: tuple[str, ...] = (f"thresholds that are not the usual ones: {', '.join(changed)}",) if changed else ()
        if self.trusts and self.field.positives_only:
            told += ("no document is judged not relevant: what was judged cannot be told from what was not",)
        deepest = int(self.field.depth.max(initial=0))
        deeper = [
            str(one.measure)
            for one in self.trusts
            if isinstance(one.measure.cutoff, int)
            and one.measure.cutoff > deepest
            and self.field.prefixes is not None
        ]
        if not deeper:
            return (*self.field.notes, *told)
        said = f"the pool goes to rank {deepest}, and {', '.join(deeper)} deeper: contributors have holes there too"
        return (*self.field.notes, *told, f"{said}, and what they are worth is learned from the ranks above")

    def worst(self, run: int) -> Verdict | None:
        """Give the worst verdict of a run under all measures."""
        found = [verdict for trust in self.trusts if (verdict := trust.verdict(run)) is not None]
        return min(found, key=lambda verdict: WORST_FIRST.index(verdict.level), default=None)


def trusted(
    field: Field,
    measures: Sequence[AnyMeasure],
    *,
    store: Store | None = None,
    thresholds: Mapping[str, float] | None = None,
    closure: Closure = "at-k",
    further: int = 0,
    learn: Learn = "always",
) -> Trusted:
    """Give the verdicts of all runs of a field. `learn` says whether kappa is wanted where no run has a hole."""
    from cranfield.evaluate.expression import own_measures
    from cranfield.reuse.expected_loss import ModelCache
    from cranfield.reuse.intervals import interval_depth, intervals_of_runs

    table = thresholds_in_force(store, thresholds)
    chosen = [measure for measure in own_measures(measures) if measure.takes_verdict]
    found = intervals_of_runs(
        field.read.aligned,
        chosen,
        depth={measure: interval_depth(measure, pool_depth=field.depth) for measure in chosen},
        closure=closure,
        further=further,
        highest=None,
    )
    provenance = field.knowledge.provenance
    cache = None if provenance is None else ModelCache(field.read.aligned, provenance)
    trusts = tuple(_trust(field, measure, found, place, table, cache, learn) for place, measure in enumerate(chosen))
    return Trusted(field, trusts, table, found)


def _trust(
    field: Field,
    measure: Measure,
    found: Intervals,
    place: int,
    table: Thresholds,
    cache: ModelCache | None,
    learn: Learn,
) -> Trust:
    import numpy as np

    from cranfield.reuse.assess import assess_runs
    from cranfield.reuse.pairs import rank_interval

    assessment = assess_runs(
        field.read.aligned,
        measure,
        field.knowledge,
        low=found.lowest[place],
        high=found.highest[place],
        rng=np.random.default_rng(SEED),
        thresholds=table,
        cache=cache,
        learn=learn,
    )
    score = assessment.score
    upper = score if assessment.loss is None else score + np.nan_to_num(np.maximum(assessment.loss.upper, 0.0))
    low = np.where(np.isnan(assessment.low), score, np.minimum(assessment.low, score))
    high = np.where(np.isnan(assessment.high), score, np.maximum(assessment.high, score))
    return Trust(
        measure=measure,
        assessment=assessment,
        kind=found.kinds[place],
        why_no_interval=found.reasons[place],
        rank=1 + (score[np.newaxis, :] > score[:, np.newaxis]).sum(axis=1),
        ranks=rank_interval(low, high),
        likely_ranks=rank_interval(score, upper),
    )


def thresholds_in_force(store: Store | None, values: Mapping[str, float] | None = None) -> Thresholds:
    """Give the thresholds: what was asked for, then what the collection says, then the defaults."""
    from cranfield.reuse.verdict import Thresholds

    kept = store.setting(SETTING, {}) if store is not None else {}
    try:
        table = Thresholds().with_values(kept)
    except InputError as error:
        raise CollectionError(f"the collection's thresholds cannot be used: {error}") from error
    return table.with_values(values or {})


def keep_thresholds(store: Store, values: Mapping[str, float]) -> Thresholds:
    """Set thresholds for this collection, beside those that are set already."""
    from cranfield.reuse.verdict import Thresholds

    kept = {**store.setting(SETTING, {}), **values}
    table = Thresholds().with_values(kept)
    with store.write():
        store.set(SETTING, kept)
    return table
