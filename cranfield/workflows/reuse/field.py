"""The field of runs that verdicts need: the requested runs, the contributing runs, and how the pool was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

import numpy as np

from cranfield.base.errors import CollectionError, InputError
from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.text import Value, counted
from cranfield.compare.significance import student
from cranfield.evaluate import align
from cranfield.evaluate.align import AnyRun
from cranfield.evaluate.lists import GradeGains
from cranfield.evaluate.measure import AnyMeasure, Measure
from cranfield.evaluate.reading import Read, Request, StoredName, read_aligned, read_in_full, without_pipes
from cranfield.evaluate.scores import ALL
from cranfield.qrels.qrels import Qrels
from cranfield.reuse import assess, card, intervals, pairs, provenance, tables, verdict
from cranfield.reuse.intervals import Intervals
from cranfield.runs import reading as runs_reading
from cranfield.store import judging, pools, releases
from cranfield.store import runs as stored_runs
from cranfield.store.store import Store
from cranfield.workflows.inputs import PoolOptions

with deferred:  # what verdicts on files do without
    from cranfield.pool import plan as plans
    from cranfield.pool import replay
    from cranfield.store import live_pools
    from cranfield.workflows import status
    from cranfield.workflows.judge import queue as queues
    from cranfield.workflows.pool import inputs as pool_inputs

SETTING = "thresholds"
TRUST_COLUMNS = (
    *("low", "high", "judged", "loss", "loss_upper", "verdict", "reason"),
    *("to_rank", "complete", "complete_low", "complete_high", "complete_to"),
)
TOLD_AT_MOST = 6
"""How many runs are described in sentences below a table; the rest is counted."""


@dataclass(frozen=True, eq=False)
class Field:
    """All runs that verdicts need, aligned: the requested runs first, then those that only contributed to the pool.

    `words` are the requested runs as they were named: names, paths, or runs. `levels` says who alone contributed
    what, by group, run and family; nothing where the contributing runs are not known. `notes` is what should be known
    about all this. `settled` are the grades that were given to decide between runs, by topic and document: no sample
    of the unjudged documents. `highest` is the highest grade of the collection's scale. The contributing runs of a
    bundle, which are not here, are judged down to `plain_depth`.
    """

    read: Read
    words: tuple[str | AnyRun, ...]
    levels: provenance.Levels
    knowledge: assess.Knowledge
    thresholds: verdict.Thresholds
    gains: GradeGains = ()
    notes: tuple[str, ...] = ()
    settled: Mapping[tuple[str, str], int] = field(default_factory=dict)
    highest: int | None = None
    plain_depth: int = 0

    @property
    def asked(self) -> int:
        """How many runs were requested: they come first."""
        return len(self.words)

    def requested(self) -> Read:
        """What was read of the requested runs alone."""
        read = self.read
        if self.asked == len(read.runs):
            return read
        return replace(read, runs=read.runs[: self.asked], aligned=read.aligned.chosen([*range(self.asked)]))

    def contributed(self, run: int) -> bool | None:
        """Whether a run contributed to the pool, at whatever depth; None where that is not known."""
        known, lists, topics = self.knowledge.provenance, self.read.aligned.lists, len(self.read.aligned.topic_ids)
        if known is not None:
            return bool(known.group_of_run[run] >= 0)
        cells = slice(run * topics, (run + 1) * topics)
        is_open = lists.first_unjudged[cells] <= np.minimum(lists.length[cells], self.plain_depth)
        return False if is_open.any() else None

    def trusted(
        self,
        measures: Sequence[AnyMeasure],
        *,
        thresholds: Mapping[str, float] | None = None,
        learn: assess.Learn = "always",
    ) -> Trusted:
        """Assess all runs. `learn` says whether models are wanted where no run has an unjudged document."""
        table, aligned = self.thresholds.with_values(thresholds or {}), self.read.aligned
        bounds, found = assess.assess_measures(aligned, measures, self.knowledge, thresholds=table, learn=learn)
        return Trusted(self, found, table, bounds)


def field_of(request: Request, options: PoolOptions, *, store: Store | None = None) -> Field:
    """Read and align the requested runs together with the contributing ones."""
    facts = {one.name: one for one in stored_runs.facts(store)} if store is not None else {}
    stored = known_pool(store, facts, options.pool) if store is not None and options.groups is None else None
    names: list[str] = []
    if options.groups is None and options.card is None:
        submitted = [name for name, one in facts.items() if one.role == "contributing"]
        names = submitted if stored is None else [one.run for one in stored.contributors]
    # They are aligned over the topics that the requested runs are scored on.
    more, topics = [StoredName(name) for name in names if name not in request.runs], request.topics
    whole = request
    if more and topics == "common":
        whole = without_pipes(request)
        topics = read_aligned(whole).aligned.topic_ids
    read = read_aligned(replace(whole, runs=(*whole.runs, *more), topics=topics), keep_rows=True)
    aligned, known_card, bundle = read.aligned, None, options.bundle
    judged = bundle.judged if bundle else (1.0, 1.0)
    if options.card is not None:
        known_card = card.read_card(Source(options.card).text(), file=str(options.card))
        known_card.refuse_others(aligned)
    here = [
        provenance.Contributor(name, facts[name].group_name, facts[name].family, contributing=name in names)
        for name in aligned.run_names
        if name in facts
    ]
    if stored is not None:
        others = [one for one in here if not one.contributing]
        pool = replace(stored, contributors=(*stored.contributors, *others))
        # A release leaves out what was pooled and not judged, unless it was made with --unjudged.
        if store is not None and stored.facts is not None:
            for pooled, graded, least in releases.pool_judged(store, stored.facts.name, read.qrels.content_hash):
                judged = graded / max(pooled, 1), least
    else:
        pool = _pool_without_store(read, options, [one for one in here if one.contributing])
    levels: provenance.Levels = {}
    if any(one.contributing for one in pool.contributors) and (pool.facts is not None or pool.depth is not None):
        levels = provenance.provenance_of(
            aligned, read.qrels, read.runs, pool.contributors, depth=pool.depth, entries=pool.entries
        ).levels()
        if store is not None and pool.facts is not None and pool.depth is None:  # it depends on who takes part
            levels = replayed_without_groups(store, pool, pool.facts, levels, read.qrels)
    if levels:
        depth = levels["group"].depth
    elif known_card is not None:
        depth = known_card.depths(aligned.topic_ids)
    else:
        longest = max(int(aligned.lists.length.max(initial=1)), 1)
        depth = np.full(len(aligned.topic_ids), options.depth or longest, dtype=np.int64)
    families = {one.run: one.family for one in pool.contributors} | {name: one.family for name, one in facts.items()}
    knowledge = assess.Knowledge(
        pool_depth=depth,
        provenance=levels.get("group"),
        card=known_card,
        families=tuple(families.get(run, "") for run in aligned.run_names),
        relevant_from=request.scale.relevant_from,
        judged=judged,
        finished=pool.finished,
        inferred=pool.inferred,
        depth_known=bool(levels) or known_card is not None or options.depth is not None,
    )
    chosen = set(judging.settled_pairs(store)) if store is not None else set()
    rows = read.qrels if chosen else ()
    settled = {(topic, name): grade for topic, name, grade in rows if grade >= 0 and (topic, name) in chosen}
    notes = list(pool.notes)
    if to_settle := len(settled) or (bundle.settled if bundle else 0):
        notes.append(
            f"{counted(to_settle, 'judgment')} of documents that settle queued: such judgments favour the runs they"
            " were chosen for, and other runs are at a disadvantage"
        )
    return Field(
        *(read, tuple(request.runs), levels, knowledge, thresholds_in_force(store)),
        *(request.scale.own_gains, tuple(notes), settled),
        highest=None if store is None else request.scale.highest,
        plain_depth=bundle.plain_depth if bundle else 0,
    )


def _pool_without_store(read: Read, options: PoolOptions, submitted: Sequence[provenance.Contributor]) -> KnownPool:
    """Take the pool from the options, and infer from the judgments what they do not say."""
    aligned, notes, known = read.aligned, list[str](), submitted
    groups = options.groups or ()
    members = runs_reading.read_groups(Source(groups)) if isinstance(groups, Path) else groups
    if members:
        here = set(aligned.run_names)
        absent = [one.run for one in members if one.pooled and one.run not in here]
        if absent:
            notes.append(f"{counted(len(absent), 'contributing run')} not among the runs: {absent[0]} …")
        known = [
            provenance.Contributor(one.run, one.group, contributing=one.pooled) for one in members if one.run in here
        ]
        if not known:
            raise InputError("the groups list none of these runs; the first column of a groups file is the run tag")
    if options.depth is not None and known:
        return KnownPool(known, options.depth, notes=notes)
    if options.card is not None and not known:
        return KnownPool(notes=notes)  # what a card says is known, and better than any inference
    contributing = {one.run for one in known if one.contributing}
    named = np.array([run in contributing for run in aligned.run_names]) if known else None
    inferred = provenance.infer_pool(aligned, contributing=named, depth=options.depth)
    if inferred.refusal:
        unknown = "contributing runs are not known"
        remedy = "name the contributing runs with --groups and give the depth with --pool-depth"
        if known:
            unknown, remedy = "pool depth is not known", "set it with --pool-depth"
        return KnownPool(notes=[*notes, f"{unknown}: {inferred.refusal}; {remedy}"])
    if known:
        notes.append(f"pool depth inferred from the judgments: {inferred.depth}")
        return KnownPool(known, inferred.depth, notes=notes, inferred=True)
    notes.append(
        f"pool inferred from the judgments: {counted(int(inferred.fed.sum()), 'contributing run')}, depth"
        f" {inferred.depth}; each run counts as its own group, which on TREC-2 changes expected losses by 1% and"
        " makes their upper ends 9 to 10% too high; name the groups with --groups"
    )
    return KnownPool(inferred.contributors, inferred.depth, notes=notes, inferred=True)


# What a collection knows about the contributing runs of its pool, as verdicts need it.


@dataclass(frozen=True, eq=False)
class KnownPool:
    """Who contributed to a pool, and where it is stored what is known of it.

    `depth` is set where the pool is the first so many documents of each run and nothing else: then holding a group
    out is deleting what it alone contributed. Any other plan is replayed without the group; its `entries` are topics,
    documents and runs. `finished` is the share of the topics for which a live plan has chosen everything. `inferred`
    says that contributors or depth were inferred.
    """

    contributors: Sequence[provenance.Contributor] = ()
    depth: int | None = None
    facts: pools.PoolFacts | None = None
    entries: Sequence[tuple[str, str, str]] = ()
    finished: float = 1.0
    notes: Sequence[str] = ()
    inferred: bool = False


def known_pool(store: Store, here: Mapping[str, stored_runs.RunFacts], name: str) -> KnownPool | None:
    """The pool of this name, or the latest; None where there is none. `here` are the facts of the runs."""
    if not name and not pools.pool_facts(store):
        return None
    facts = pools.facts_of_pool(store, name)
    pooled = pools.pooled_runs(store, facts.name)
    gone = [one.run for one in pooled if one.run not in here]
    finished = 1.0
    entries: Sequence[tuple[str, str, str]] = ()
    if facts.depth is None:
        entries = pools.entries_by_run(store, facts.name)
        if plans.parse_stored(facts.plan_in_full).adaptive and (topics := pools.pool_topics(store, facts.name)):
            finished = len(live_pools.ends(store, pools.pool_number(store, facts.name))) / len(topics)
    return KnownPool(
        contributors=tuple(
            provenance.Contributor(one.run, one.group_name, here[one.run].family) for one in pooled if one.run in here
        ),
        depth=facts.depth,
        facts=facts,
        entries=entries,
        finished=finished,
        notes=(f"withdrawn since the pool was built, and not held out: {', '.join(gone)}",) if gone else (),
    )


def replayed_without_groups(
    store: Store, pool: KnownPool, facts: pools.PoolFacts, levels: provenance.Levels, qrels: Qrels
) -> provenance.Levels:
    """Replay the plan without each group and each family; labels are looked up in the qrels.

    Single runs are not held out so: their siblings stay, and it would take a replay for each of them.
    """
    labels = replay.labels_of(qrels, store.scale().relevant_from)
    plan = plans.parse_stored(facts.plan_in_full)
    everything = pool_inputs.pooled_runs(store, pool=facts.name)
    topics = pools.pool_topics(store, facts.name)
    replayed: provenance.Levels = {}
    for level, known in levels.items():
        if level == "run":
            continue
        chosen: dict[str, list[tuple[str, str]]] = {group: [] for group in known.groups}
        for group, pairs_without in chosen.items():
            names = {one.run for one in pool.contributors if one.contributing and one.member_of(level) == group}
            runs = everything.chosen(set(everything.names) - names)
            if runs.runs:
                judged = replay.replay(
                    plan.within(runs.depth),
                    runs,
                    labels,
                    topics=[topic for topic in topics if topic in runs.codes_by_topic],
                    seed=facts.seed,
                    words=pool_inputs.words(store),
                )
                pairs_without += [(one.topic, one.document) for one in judged]
        replayed[level] = provenance.replayed(known, qrels, chosen)
    return replayed


# How far scores can be trusted: the verdict of each run under each measure, with its interval and expected loss.


@dataclass(frozen=True, eq=False)
class Trusted:
    """The assessments of a field of runs, measure by measure, with the intervals and thresholds they rest on."""

    field: Field
    trusts: tuple[assess.Assessment, ...]
    thresholds: verdict.Thresholds
    bounds: Intervals

    def of(self, measure: AnyMeasure) -> assess.Assessment | None:
        """The assessment by a measure; None for one that takes no verdict."""
        return next((one for one in self.trusts if one.measure == measure), None)

    def worst(self, run: int) -> verdict.Verdict | None:
        """The worst verdict of a run under all measures."""
        # Of equal levels one that holds down to a rank alone, or of an inferred pool.
        return min(
            (one.verdicts[run] for one in self.trusts),
            key=lambda one: (verdict.WORST_FIRST.index(one.level), not one.to_rank, not one.inferred),
            default=None,
        )

    def short(self, measure: str) -> dict[str, str]:
        """The verdict on each run under a measure, in short; nothing for a measure that takes none."""
        known = [one for one in self.trusts if one.name == measure]
        return {name: one.verdicts[run].short for one in known for run, name in enumerate(one.run_names)}

    def marks(self, one: assess.Assessment) -> dict[int, str]:
        """The marks behind the scores of requested runs, of those that have one."""
        given = enumerate(one.verdicts[: self.field.asked])
        return {run: mark for run, of_run in given if (mark := verdict.MARKS[of_run.level])}

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known about all verdicts: which runs contributed, and measures deeper than the pool."""
        notes = list(self.field.notes)
        changed = [
            f"{name} {value:g} ({default:g})"
            for name, value, default, _ in self.thresholds.rows()
            if value != default
        ]
        if changed:
            notes.append(f"thresholds changed from their default: {', '.join(changed)}")
        deepest, deeper = self._below_the_pool()
        if deeper and self.field.levels:
            notes.append(
                f"the pool depth {deepest} is less than the cutoff of {', '.join(deeper)}: contributing runs have"
                " unjudged documents there too, and their loss is estimated from the ranks above"
            )
        below: dict[str, list[str]] = {}
        for one in self.trusts:
            if one.completed is not None:
                known = f"complete to rank {one.completed.depth}: the score expected in a pool of that depth"
                unknown = f"completeness to rank {one.completed.depth} is unknown: {one.completed.unknown}"
                said = f"judged to rank {one.coverage.depth_in_words}; {unknown if one.completed.unknown else known}"
                below.setdefault(said, []).append(one.name)
        notes += [f"{', '.join(measures)}: {said}" for said, measures in below.items()]
        return tuple(notes)

    def columns_beside(self, rows: list[tuple[str, str, str, float]]) -> dict[str, list[Value]]:
        """The columns about trust beside long rows: of a run as a whole, and of its topics as far as it goes."""
        aligned = self.field.read.aligned
        by_name = {one.name: (place, one) for place, one in enumerate(self.trusts)}
        runs, topics = (
            {name: place for place, name in enumerate(names)} for names in (aligned.run_names, aligned.topic_ids)
        )
        found: list[dict[str, Value]] = []
        for name, identifier, measure, _ in rows:
            known: dict[str, Value] = {}
            if measure in by_name:
                (place, one), run = by_name[measure], runs[name]
                evidence, coverage = one.evidence[run], one.coverage
                if identifier == ALL:
                    (whole,) = tables.trust_rows(one, [run])
                    known = {column.name: value for column, value in zip(tables.RUNS, whole, strict=True)}
                else:
                    topic = topics[identifier]
                    ends = (float(end[place, run, topic]) for end in (self.bounds.lower, self.bounds.upper))
                    goes_on = bool(evidence.interval_to and coverage.first[run, topic])
                    low, high = verdict.shown_ends(*ends, goes_on=goes_on)
                    loss = None if one.loss is None else float(one.loss.by_topic[run, topic])
                    numbers = {"low": low, "high": high, "judged": float(coverage.judged[run, topic]), "loss": loss}
                    known = {name: None if value != value else value for name, value in numbers.items()}
                    known["to_rank"] = str(coverage.depth[topic]) if evidence.to_rank else None
            found.append(known)
        return {name: [known.get(name) for known in found] for name in TRUST_COLUMNS}

    def doubtful(self) -> dict[int, assess.Assessment]:
        """The marked runs, worst first, each with the assessment by the measure under which it is worst."""
        marked = sorted(
            (verdict.WORST_FIRST.index(one.verdicts[run].level), run, place)
            for place, one in enumerate(self.trusts)
            for run in self.marks(one)
        )
        worst: dict[int, assess.Assessment] = {}
        for _, run, place in marked:
            worst.setdefault(run, self.trusts[place])
        return worst

    def _below_the_pool(self) -> tuple[int, dict[str, int]]:
        """The depth of the pool, and the measures with a cutoff below it."""
        deepest = int(self.field.knowledge.pool_depth.max(initial=0))
        cutoffs = {one.name: one.measure.cutoff for one in self.trusts}
        return deepest, {name: cut for name, cut in cutoffs.items() if isinstance(cut, int) and cut > deepest}

    def next_step(self, store: Store) -> tuple[str, str] | None:
        """What helps the score of a collection that is most in doubt, and the command; None where nothing does."""
        run, one = next(iter(self.doubtful().items()), (0, None))
        if one is not None and one.verdicts[run].level == "PROVISIONAL":
            return status.status(store).next_step
        if one is None or not one.evidence[run].unjudged:
            return None
        deepest, deeper = self._below_the_pool()
        if deepest and deeper and self.field.contributed(run):
            names = [
                f"{one.name.removesuffix(str(deeper[one.name]))}{deepest}" if one.name in deeper else one.name
                for one in self.trusts
            ]
            return "score to the depth of the pool", f"evaluate -m {' -m '.join(map(quote, names))}"
        depth, unjudged = int(one.coverage.depth.max()), counted(one.evidence[run].unjudged, "unjudged document")
        what = f"judge the {unjudged} in the top {depth} of {one.run_names[run]}"
        # A queue that is open may have the same documents: only when it is judged another one is worth making.
        waiting = judging.unjudged_queues(store)  # few have any, and whether one is decided takes a while to say
        for queue in queues.open_queues(store) if waiting else ():
            return f"judge the open queue {queue}", f"judge --queue {quote(queue)}"
        return what, f"pool top-up {quote(str(self.field.words[run]))} --depth {depth}"

    def sentences(self) -> Iterator[str]:
        """What the marks mean, and what is wrong with the scores of the marked runs, by the worst measure of each."""
        worst = self.doubtful()
        if not worst:
            return
        marked = {one.verdicts[run].level for one in self.trusts for run in self.marks(one)}
        levels = sorted(marked, key=verdict.WORST_FIRST.index)
        yield "; ".join(f"{verdict.MARKS[level]} {level}" for level in levels)
        for run, one in list(worst.items())[:TOLD_AT_MOST]:
            known = float(one.score[run]), one.coverage.judged_name, one.evidence[run], one.verdicts[run]
            skips = one.measure.kind.unjudged == "skipped"
            did = self.field.contributed(run)
            yield verdict.account(one.run_names[run], one.name, *known, contributed=did, skips_unjudged=skips)
        if len(worst) > TOLD_AT_MOST:
            yield f"… and {counted(len(worst) - TOLD_AT_MOST, 'more run')}; cranfield reuse lists all"


# Two runs, or one, with the ids of their documents: what may be claimed while documents are unjudged.

Documents = tuple["align.Alignment", "intervals.Identities"]
"""Aligned runs with the ids of their documents."""


def with_documents(asked: Request, *, topics: align.TopicSet) -> Documents:
    """Align runs with the ids of their documents: a document that two runs share has one label."""
    qrels, runs = read_in_full(asked)
    aligned = align.align(qrels, runs, topics=topics)
    return aligned, intervals.identities(aligned, runs)


def open_score(field: Field, read: Documents, measure: Measure, first: int, second: int) -> pairs.OpenScore:
    """The difference between two runs while documents within the depth of a field are unjudged.

    An unjudged document may have the highest grade of the collection's scale even where no other has.
    """
    depth = intervals.interval_depth(measure, pool_depth=field.knowledge.pool_depth)
    return pairs.open_score(*read, measure, first, second, depth=depth, highest=field.highest)


def claim_of(
    pair: pairs.OpenScore,
    known: assess.Assessment | None,
    first: int,
    second: int,
    *,
    inferred: bool,
    p: float | None = None,
    **options: bool,
) -> pairs.Claim:
    """What may be said of a pair by the losses of its runs and p, which is that of a t-test if none is given.

    `first` and `second` are the places of the runs in what is known of them; `inferred` says that the pool was.
    """
    loss = None if known is None or known.loss is None else known.loss.upper
    upper = None if loss is None else (float(loss[first]), float(loss[second]))
    values, rng = pair.difference.values, np.random.default_rng(assess.SEED)
    if p is None and len(values) > 1:
        p = float(student.student(values, np.zeros_like(values), rng=rng).p)
    claim = pairs.claim_of(pair, loss95=upper, p_value=p, **options)
    return replace(claim, reason=f"{claim.reason}{verdict.INFERRED}") if inferred else claim


def thresholds_in_force(
    store: Store | None, values: Mapping[str, float] | None = None, *, keep: bool = False
) -> verdict.Thresholds:
    """The thresholds: the requested ones, then those of the collection, then the defaults; `keep` sets the former."""
    kept = store.setting(SETTING, {}) if store is not None else {}
    kept.pop("fewest_unique", None)  # a limit that older versions had
    try:
        table = verdict.Thresholds().with_values(kept)
    except InputError as error:
        raise CollectionError(f"the thresholds of the collection are invalid: {error}") from error
    table = table.with_values(values or {})
    if keep and store is not None:
        with store.write():
            store.set(SETTING, {**kept, **(values or {})})
    return table
