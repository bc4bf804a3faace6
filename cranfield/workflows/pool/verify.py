"""Prove a pool: build every version again from the stored runs, and make every choice again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cranfield.base.tables import Result, Table, table_of
from cranfield.judge.events import Event
from cranfield.pool import build, extend
from cranfield.pool.candidates import PooledRuns
from cranfield.pool.extend import Chosen
from cranfield.pool.live import LivePool
from cranfield.pool.plan import parse_stored
from cranfield.pool.pool import NO_PROBABILITY, Pool, Stratum
from cranfield.store import live_pools, pools
from cranfield.store.live_pools import RecordedChoice, RecordedEnd
from cranfield.store.store import Store
from cranfield.workflows.pool import inputs

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
    differences: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """Give the differences."""
        return table_of(["difference"], [(difference,) for difference in self.differences])


def verify_pool(store: Store, name: str = "") -> Verified:
    """Build a pool again from the stored runs, every version and every choice, and compare.

    The notes say what cannot be proved: manifests of an earlier program do not cover everything.
    """
    facts = pools.facts_of_pool(store, name)
    number, versions = pools.pool_number(store, facts.name), pools.versions_of_pool(store, facts.name)
    recorded, ends = live_pools.choices(store, number), live_pools.ends(store, number)
    differences = [*_broken_record(recorded), *_changed_facts(store, facts)]
    happened = inputs.events_by_topic(store) if recorded or ends else {}
    pool: Pool | None = None
    for version in versions:
        runs = inputs.with_ids(store, inputs.runs_of_version(store, facts.name, version.version))
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
        differences += _changed_manifest(facts, version, pool, pools.inputs_hash(store, number, version.version))
        if pool.plan.is_live:
            replayed = ReplayedChoices(
                pool,
                runs,
                clusters=clusters,
                earlier=[one for one in recorded if one.version < pool.version],
                ends=ends,
                happened=happened,
                relevant_from=live_pools.thresholds(store),
            )
            replayed.go_through([one for one in recorded if one.version == pool.version])
            differences += replayed.wrong
            pool = extend.with_chosen(
                pool, runs, replayed.chosen, passed_over=replayed.passed_over, clusters=clusters
            )
    assert pool is not None  # a pool has a version
    if facts.content_hash != versions[-1].content_hash:
        differences.append("the hash of the pool is not that of its latest version")
    notes = tuple(
        f"version {one.version} was made by a program that kept no hash of groups and priorities: that they are"
        " unchanged is not proved"
        for one in versions
        if not one.inputs_hash
    )
    return Verified(facts, (*differences, *_content_differences(store, facts.name, pool)), notes)


def _broken_record(recorded: Sequence[RecordedChoice]) -> list[str]:
    """Say where the record of choices first has a gap or was changed."""
    before = ""
    for place, one in enumerate(recorded, start=1):
        if one.number != place or one.hash != one.hash_after(before):
            return [f"choice {one.number} ({one.topic} {one.document}) does not follow from the record before it"]
        before = one.hash
    return []


def _changed_facts(store: Store, facts: pools.PoolFacts) -> list[str]:
    """Compare what is said of the pool beside its versions with the plan in full, and with the clusters."""
    plan = parse_stored(facts.plan_in_full)
    compared = (
        ("plan", facts.plan, str(plan)),
        ("version of the grammar", facts.grammar, plan.grammar),
        (
            "option --one-per-cluster",
            bool(facts.one_per_cluster),
            bool(pools.clusters_of_version(store, facts.name, 1)),
        ),
    )
    return [
        f"the {noun} is {stored!r}, and by what the pool was made from {found!r}"
        for noun, stored, found in compared
        if stored != found
    ]


def _changed_manifest(facts: pools.PoolFacts, version: pools.PoolVersion, pool: Pool, inputs_hash: str) -> list[str]:
    what, changed = f"version {version.version}: the", []
    if version.inputs_hash and version.inputs_hash != inputs_hash:
        changed.append(
            f"{what} plan, the options or the runs (name, group, priority, content) were changed: their hash is"
            f" {inputs_hash}, and {version.inputs_hash} is recorded"
        )
    if pool.content_hash != version.content_hash:
        changed.append(f"{what} hash is {pool.content_hash}, and {version.content_hash} is recorded")
    if (version.plan_in_full, version.seed) != (facts.plan_in_full, facts.seed):
        changed.append(f"{what} plan or the seed is not that of the pool")
    return changed


def _content_differences(store: Store, name: str, pool: Pool) -> list[str]:
    """Say which rows are on one side alone, and which say something else; a few of each."""
    all_built, all_stored, differences = pools.rows_of_content(pool), pools.rows_as_stored(store, name), []
    for table, (noun, key_columns, columns) in _TABLES.items():
        # What rows say, by what they are of. A stratum without a document says nothing about its topic.
        built, stored = (
            {row[:key_columns]: row[key_columns:] for row in rows[table] if table != "pool_strata" or row[3]}
            for rows in (all_built, all_stored)
        )
        changed = [
            f"{_key(key)}: {column} is {was!r}, by the plan it is {is_!r}"
            for key in sorted(built.keys() & stored.keys(), key=str)
            for column, was, is_ in zip(columns, stored[key], built[key], strict=True)
            if was != is_
        ]
        extra = [
            f"{_key(key)} is stored and not in the rebuilt pool" for key in sorted(stored.keys() - built, key=str)
        ]
        missing = [f"{_key(key)} is missing from the store" for key in sorted(built.keys() - stored, key=str)]
        for found in (changed, extra, missing):
            some = found[:ALIKE_SHOWN]
            if len(found) > ALIKE_SHOWN:
                some[-1] += f" (and {len(found) - ALIKE_SHOWN:,} more)"
            differences += [f"{noun} {difference}" for difference in some]
    return differences


def _key(key: tuple[object, ...]) -> str:
    return " ".join(str(word) for word in key)


# Prove the choices of a live pool by making them again, from what was known and under judgment then.


class ReplayedChoices:
    """One version of a live pool, gone through choice by choice.

    `pool` is the version as it was made, `earlier` what was chosen in versions before it, `ends` the topics that have
    ended, in this version or before. `wrong` says what differs; `chosen` is what came into each topic since, as the
    plan has it, and `passed_over` what samples after the end passed over.
    """

    def __init__(
        self,
        pool: Pool,
        runs: PooledRuns,
        *,
        clusters: Mapping[str, int] | None,
        earlier: Sequence[RecordedChoice],
        ends: Mapping[str, RecordedEnd],
        happened: Mapping[str, Sequence[Event]],
        relevant_from: Mapping[int, int],
    ) -> None:
        self.wrong: list[str] = []
        self.chosen: dict[str, list[Chosen]] = {}
        self.passed_over: dict[str, dict[Stratum, list[str]]] = {}
        self._pool, self._happened, self._relevant_from = pool, happened, relevant_from
        before = {end.topic: end.rule for end in ends.values() if end.final and end.version < pool.version}
        self._ends = {end.topic: end for end in ends.values() if end.version == pool.version}
        self._is_reproducible = pool.plan.is_reproducible
        self._live = LivePool(build.without_model(pool.plan), runs, pool=pool, clusters=clusters, ended=before)
        self._handed_out = inputs.HandedOut.of(pool, earlier)

    def go_through(self, recorded: Sequence[RecordedChoice]) -> None:
        """Make every choice again and look at every end: topic by topic, or at once where they share a budget."""
        topics = self._live.topics
        self.wrong += [
            f"{_words_of(one)} is not of a topic of the pool" for one in recorded if one.topic not in topics
        ]
        for some in [topics] if self._live.spreads else [[topic] for topic in topics]:
            mine = [one for one in recorded if one.topic in some]
            over = [self._ends[topic] for topic in some if topic in self._ends]
            if mine or over:
                self._walk(some, mine, over)
            for topic in some:
                if topic in self._ends and self._ends[topic].final:
                    later = self._live.later(topic)
                    self.passed_over[topic] = {
                        stratum: documents for stratum, documents in later.items() if documents
                    }
                if not self._live.spreads:
                    self._live.drop(topic)  # topics are large

    def _walk(self, topics: Sequence[str], recorded: Sequence[RecordedChoice], over: Sequence[RecordedEnd]) -> None:
        happened = [event for topic in topics for event in self._happened.get(topic, ())]
        history = inputs.LabelHistory(happened, self._relevant_from)
        moments: list[RecordedChoice | RecordedEnd] = sorted([*recorded, *over], key=lambda one: one.known)
        for moment in moments:
            for topic in (history.advance(moment.known) | {moment.topic}).intersection(topics):
                self._stand(topic, history)
            if isinstance(moment, RecordedEnd):
                found = self._live.ended.get(moment.topic)
                if found != moment.rule:
                    by_plan = f"by the plan it was {found!r}" if found else "by the plan it had not ended"
                    self.wrong.append(f"topic {moment.topic} is said to have ended ({moment.rule}); {by_plan}")
            else:
                self._choose_again(moment)
                self._stand(moment.topic, history)

    def _stand(self, topic: str, history: inputs.LabelHistory) -> None:
        self._live.set_judgments(topic, self._handed_out.judgments(topic, history.labels(topic)))

    def _choose_again(self, recorded: RecordedChoice) -> None:
        pending = [(recorded.topic, document) for document in recorded.elsewhere]
        again = self._live.offer(1, under_judgment=pending, topics=[recorded.topic])
        if recorded.document not in self._live.candidates(recorded.topic).numbers:
            self.wrong.append(f"{_words_of(recorded)} is in none of the runs")
            return
        if not again:
            self.wrong.append(f"{_words_of(recorded)}: by the plan nothing was to be chosen")
        elif not self._is_as_recorded(recorded, again[0].document, again[0].step):
            self.wrong.append(f"{_words_of(recorded)}: by the plan it was {again[0].document}")
        self.chosen.setdefault(recorded.topic, []).append(self._story(recorded))
        self._live.hand_out(recorded.topic, recorded.document)
        self._handed_out.add(recorded.topic, recorded.document, (recorded.known, recorded.number))

    def _is_as_recorded(self, recorded: RecordedChoice, document: str, step: int) -> bool:
        """A model that cannot be trained again to the last bit is only checked for having had the choice."""
        if step != recorded.step:
            return False
        if self._is_reproducible or recorded.step > self._live.number:
            return document == recorded.document
        return self._live.is_free(recorded.topic, recorded.document, recorded.elsewhere)

    def _story(self, recorded: RecordedChoice) -> Chosen:
        if recorded.step > self._live.number:
            return Chosen(recorded.document, *self._live.story(recorded.topic, recorded.document))
        step = self._pool.plan.steps[self._live.number - 1]
        return Chosen(recorded.document, Stratum(self._live.number, str(step)), NO_PROBABILITY)


def _words_of(recorded: RecordedChoice) -> str:
    return f"choice {recorded.number} ({recorded.topic} {recorded.document})"
