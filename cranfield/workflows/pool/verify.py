"""Prove a pool: build every version again from the stored runs, and make every choice again."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cranfield.base.records import MAIN, Pair
from cranfield.base.text import Result, Table, table_of
from cranfield.judge.events import Event, fold
from cranfield.pool import build, extend
from cranfield.pool.candidates import PooledRuns
from cranfield.pool.extend import Chosen
from cranfield.pool.plan import GRAMMAR, parse_stored
from cranfield.pool.pool import NO_PROBABILITY, Pool, Stratum
from cranfield.store import Store, live_pools, pools
from cranfield.store.events import events
from cranfield.store.live_pools import RecordedChoice, RecordedEnd, StandingAnswer
from cranfield.workflows.pool import inputs
from cranfield.workflows.pool import live as live_workflow

ALIKE_SHOWN = 5
_TABLES = {
    "pool_entries": ("entry", 2, ("position", "step", "stratum", "probability", "version")),
    "pool_ranks": ("contribution", 3, ("rank",)),
    "pool_duplicates": ("near-duplicate", 2, ("representative",)),
    "pool_strata": ("stratum", 3, ("population", "drawn")),
    "pool_undrawn": ("passed-over document", 4, ()),
}
"""What a row of each table is, how many of its columns say which one it is, and what the others say of it."""


@dataclass(frozen=True)
class Verified(Result):
    """What differs between a stored pool and the one that is built again: nothing, if it is what it says."""

    facts: pools.PoolFacts
    differences: Sequence[str]
    notes: Sequence[str] = ()

    def table(self) -> Table:
        """The differences."""
        return table_of(["difference"], [(difference,) for difference in self.differences])


def verify_pool(store: Store, name: str = "") -> Verified:
    """Build a pool again from the stored runs, every version and every choice, and compare.

    The notes say what cannot be proved: manifests of an earlier program do not cover everything.
    """
    facts = pools.facts_of_pool(store, name)
    number, versions = pools.pool_number(store, facts.name), pools.versions_of_pool(store, facts.name)
    recorded, ends = live_pools.choices(store, number), live_pools.ends(store, number)
    differences = _changed_records(store, facts, recorded)
    # What happened in the main layer; an undo belongs to the document of what it undoes.
    everything = list(events(store, layers=[MAIN])) if recorded or ends else []
    by_uuid = {event.uuid: event for event in everything}
    happened = [(by_uuid.get(event.undoes, event).pair, event) for event in everything]
    pool: Pool | None = None
    for version in versions:
        runs = inputs.pooled_runs(store, pool=facts.name, version=version.version)
        clusters = pools.clusters_of_version(store, facts.name, version.version) or None
        topics = pools.pool_topics(store, facts.name, version=version.version)
        if pool is None:
            pool = build.build(
                parse_stored(facts.plan_in_full),
                runs,
                topics=topics,
                seed=facts.seed,
                order=facts.judging_order,  # type: ignore[arg-type]
                clusters=clusters,
            )
        else:
            pool = extend.extend(pool, runs, topics=topics, clusters=clusters)
        what, inputs_hash = f"version {version.version}: the", pools.inputs_hash(store, number, version.version)
        if version.inputs_hash and version.inputs_hash != inputs_hash:
            differences.append(
                f"{what} plan, options or runs (name, group, priority, content) have changed: their hash is"
                f" {inputs_hash}, but {version.inputs_hash} is recorded"
            )
        if pool.content_hash != version.content_hash:
            differences.append(f"{what} hash is {pool.content_hash}, but {version.content_hash} is recorded")
        if (version.plan_in_full, version.seed) != (facts.plan_in_full, facts.seed):
            differences.append(f"{what} plan or seed differs from that of the pool")
        if pool.plan.adaptive:
            replayed = ReplayedChoices(
                pool,
                runs,
                recorded,
                ends,
                clusters=clusters,
                happened=happened,
                relevant_from=live_pools.thresholds(store),
            )
            replayed.go_through()
            differences += replayed.wrong
            pool = extend.with_chosen(
                pool, runs, replayed.chosen, passed_over=replayed.passed_over, clusters=clusters
            )
    assert pool is not None  # a pool has a version
    if facts.content_hash != versions[-1].content_hash:
        differences.append("the hash of the pool differs from that of its latest version")
    notes = [
        f"version {one.version} was built by an earlier program without a hash of groups and priorities; these cannot"
        " be verified"
        for one in versions
        if not one.inputs_hash
    ]
    return Verified(facts, differences + _content_differences(store, facts.name, pool), notes)


def _changed_records(store: Store, facts: pools.PoolFacts, recorded: Sequence[RecordedChoice]) -> list[str]:
    """Where the record of choices first has a gap or was changed, and which facts of the pool are wrong."""
    changed, before = [], ""
    for place, one in enumerate(recorded, start=1):
        if one.number != place or one.hash != one.hash_after(before):
            changed.append(f"{_words_of(one)} does not follow from the record before it")
            break
        before = one.hash
    plan = parse_stored(facts.plan_in_full)
    clusters = pools.clusters_of_version(store, facts.name, 1)
    compared = {
        "plan": (facts.plan, str(plan)),
        "version of the grammar": (facts.grammar, GRAMMAR),
        "option --one-per-cluster": (bool(facts.one_per_cluster), bool(clusters)),
    }
    for noun, (stored, rebuilt) in compared.items():
        if stored != rebuilt:
            changed.append(f"the {noun} is {stored!r}, but the inputs of the pool give {rebuilt!r}")
    return changed


def _content_differences(store: Store, name: str, pool: Pool) -> list[str]:
    """Which rows are on one side alone, and which say something else; a few of each."""
    all_built, all_stored, differences = pools.rows_of_content(pool), pools.rows_as_stored(store, name), []
    for table, (noun, key_columns, columns) in _TABLES.items():
        # What rows say, by what they are of. A stratum without a document says nothing about its topic.
        built, stored = (
            {
                " ".join(map(str, row[:key_columns])): row[key_columns:]
                for row in rows[table]
                if table != "pool_strata" or row[3]
            }
            for rows in (all_built, all_stored)
        )
        changed = [
            f"{key}: {column} is {was!r}, but {is_!r} by the plan"
            for key in sorted(built.keys() & stored.keys())
            for column, was, is_ in zip(columns, stored[key], built[key], strict=True)
            if was != is_
        ]
        extra = [f"{key} is stored but not in the rebuilt pool" for key in sorted(stored.keys() - built)]
        missing = [f"{key} is missing from the store" for key in sorted(built.keys() - stored)]
        for found in (changed, extra, missing):
            some = found[:ALIKE_SHOWN]
            if len(found) > ALIKE_SHOWN:
                some[-1] += f" (and {len(found) - ALIKE_SHOWN:,} more)"
            differences += [f"{noun} {difference}" for difference in some]
    return differences


# Prove the choices of a live pool by making them again, from what was known and under judgment then.


class ReplayedChoices:
    """One version of a live pool, gone through choice by choice.

    `pool` is the version as it was made, `recorded` what was chosen in it and the versions before it, `ends` the
    topics that have ended. `wrong` says what differs; `chosen` is what came into each topic since, as the
    plan has it, and `passed_over` what samples after the end passed over.
    """

    def __init__(
        self,
        pool: Pool,
        runs: PooledRuns,
        recorded: Sequence[RecordedChoice],
        ends: Mapping[str, RecordedEnd],
        *,
        clusters: Mapping[str, int] | None,
        happened: Sequence[tuple[Pair, Event]],
        relevant_from: Mapping[int, int],
    ) -> None:
        self.wrong: list[str] = []
        self.chosen: dict[str, list[Chosen]] = {}
        self.passed_over: dict[str, dict[Stratum, list[str]]] = {}
        self._pool, self._happened, self._relevant_from = pool, happened, relevant_from
        before = {end.topic: end.rule for end in ends.values() if end.final and end.version < pool.version}
        self._ends = {end.topic: end for end in ends.values() if end.version == pool.version}
        chosen_before = [one for one in recorded if one.version < pool.version]
        self._live = live_workflow.FollowedPool(
            pool, chosen_before, build.without_model(pool.plan), runs, clusters=clusters, ended=before
        )
        self._recorded = [one for one in recorded if one.version == pool.version]

    def go_through(self) -> None:
        """Make every choice again and look at every end: topic by topic, or at once where they share a budget."""
        topics = self._live.topics
        self.wrong += [
            f"{_words_of(one)} is for a topic that is not in the pool"
            for one in self._recorded
            if one.topic not in topics
        ]
        for some in [topics] if self._live.spreads else [[topic] for topic in topics]:
            mine = [one for one in self._recorded if one.topic in some]
            over = [self._ends[topic] for topic in some if topic in self._ends]
            if mine or over:
                self._walk(some, mine, over)
            for topic in some:
                if topic in self._ends and self._ends[topic].final:
                    later = self._live.at(topic).later()
                    self.passed_over[topic] = {
                        stratum: documents for stratum, documents in later.items() if documents
                    }
                if not self._live.spreads:
                    self._live.drop(topic)  # topics are large

    def _walk(self, topics: Sequence[str], recorded: Sequence[RecordedChoice], over: Sequence[RecordedEnd]) -> None:
        """Go through choices and ends as they came, with the judgments that stood at each moment."""
        waiting = deque(one for one in self._happened if one[0][0] in topics)
        of_pair: dict[Pair, list[Event]] = {}
        labels: dict[str, dict[str, live_workflow.Label]] = {topic: {} for topic in topics}
        moments: list[RecordedChoice | RecordedEnd] = sorted([*recorded, *over], key=lambda one: one.known)
        for moment in moments:
            touched: set[Pair] = set()
            while waiting and waiting[0][1].sequence <= moment.known:
                pair, event = waiting.popleft()
                of_pair.setdefault(pair, []).append(event)
                touched.add(pair)
            for topic, document in touched:
                answers = [
                    StandingAnswer(document, key.adjudicated, event.grade, event.scale, event.sequence)
                    for key, event in fold(of_pair[topic, document]).items()
                    if key.layer == MAIN and (event.grade is not None or event.kind == "cannot-judge")
                ]
                labels[topic].pop(document, None)
                labels[topic] |= live_workflow.labels_of(answers, self._relevant_from)
            for topic in {moment.topic, *(topic for topic, _ in touched)}:
                self._live.set_labels(topic, labels[topic])
            if isinstance(moment, RecordedEnd):
                found = self._live.ended.get(moment.topic)
                if found != moment.rule:
                    by_plan = f"by the plan: {found!r}" if found else "by the plan it has not ended"
                    self.wrong.append(f"topic {moment.topic} is recorded as ended ({moment.rule}); {by_plan}")
            else:
                self._choose_again(moment)
                self._live.set_labels(moment.topic, labels[moment.topic])

    def _choose_again(self, recorded: RecordedChoice) -> None:
        topic, live = recorded.topic, self._live
        known = live.at(topic).candidates.numbers
        again = live.offer(under_judgment=[(topic, one) for one in recorded.elsewhere], topics=[topic])
        if recorded.document not in known:
            self.wrong.append(f"{_words_of(recorded)} was retrieved by none of the runs")
            return
        is_later = recorded.step > live.number
        if again is None:
            self.wrong.append(f"{_words_of(recorded)}: the plan selects nothing")
        else:
            is_same = again.document == recorded.document
            # A model that cannot be trained again to the last bit is only checked for having had the choice.
            if not self._pool.plan.is_reproducible and not is_later:
                is_same = live.at(topic).is_free(recorded.document, recorded.elsewhere)
            if again.step != recorded.step or not is_same:
                self.wrong.append(f"{_words_of(recorded)}: the plan selects {again.document}")
        stratum, probability = Stratum(live.number, str(self._pool.plan.steps[live.number - 1])), NO_PROBABILITY
        if is_later:
            stratum, probability = live.at(topic).story(known[recorded.document])
        self.chosen.setdefault(topic, []).append((recorded.document, stratum, probability))
        live.follow(recorded)


def _words_of(recorded: RecordedChoice) -> str:
    return f"choice {recorded.number} ({recorded.topic} {recorded.document})"
