"""Prove a pool: build every version again from the stored runs, and make every choice again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from cranfield.base.errors import CollectionError, quoted
from cranfield.judge.events import Event
from cranfield.pool.build import without_model
from cranfield.pool.extend import Chosen, Later
from cranfield.pool.live import LivePool
from cranfield.pool.pool import NO_PROBABILITY, Stratum
from cranfield.store.live_pools import RecordedChoice, RecordedEnd, choices, ends, thresholds
from cranfield.store.pools import (
    PoolFacts,
    PoolVersion,
    clusters_of_version,
    facts_of_pool,
    inputs_hash,
    pool_number,
    pool_topics,
    rows_as_stored,
    rows_of_content,
    versions_of_pool,
)
from cranfield.store.store import Store
from cranfield.workflows.pool.inputs import Chronicle, HandedOut, entrants_of_version, events_by_topic, with_ids

if TYPE_CHECKING:
    from cranfield.pool.candidates import PooledRuns
    from cranfield.pool.pool import Pool


ALIKE_SHOWN = 5
_TABLES = {
    "pool_entries": ("entry", 2, ("position", "step", "stratum", "probability", "version")),
    "pool_ranks": ("contribution", 3, ("rank",)),
    "pool_duplicates": ("near-duplicate", 2, ("representative",)),
    "pool_strata": ("stratum", 3, ("population", "drawn")),
    "pool_undrawn": ("passed-over document", 4, ()),
}
"""What a row of each table is, how many of its columns say which one it is, and what the others say of it."""


def verify_pool(store: Store, name: str = "") -> tuple[PoolFacts, list[str]]:
    """Build a pool again from the stored runs; give its facts and what differs (nothing, if it is what it says)."""
    facts = facts_of_pool(store, name)
    proof = _Proof(store, facts)
    pool = proof.rebuilt()
    return facts, [*proof.differences, *_content_differences(store, facts.name, pool)]


def not_proved(store: Store, name: str = "") -> list[str]:
    """Say what cannot be proved of a pool: manifests of an earlier program do not cover everything."""
    facts = facts_of_pool(store, name)
    return [
        f"version {one.version} was made by a program that kept no hash of groups and priorities: that they are"
        " unchanged is not proved"
        for one in versions_of_pool(store, facts.name)
        if not one.inputs_hash
    ]


@dataclass
class _Proof:
    """A pool while it is built again, version by version, and what was found to differ."""

    store: Store
    facts: PoolFacts
    differences: list[str] = field(default_factory=list)

    def rebuilt(self) -> Pool:
        """Build the first version, and each later one from the one before and what was chosen in it."""
        from cranfield.pool.extend import extend

        name = self.facts.name
        recorded = choices(self.store, pool_number(self.store, name))
        over = ends(self.store, pool_number(self.store, name))
        self.differences += _broken_record(recorded)
        self._compare_facts()
        pool: Pool | None = None
        for version in versions_of_pool(self.store, name):
            runs = with_ids(self.store, entrants_of_version(self.store, name, version.version))
            clusters = clusters_of_version(self.store, name, version.version) or None
            if pool is None:
                pool = self._first(version, runs, clusters)
            else:
                topics = pool_topics(self.store, name, version=version.version)
                pool = extend(pool, runs, topics=topics, clusters=clusters)
            self._compare_manifest(version, pool)
            if pool.plan.is_live:
                pool = self._with_choices(pool, runs, clusters, recorded, over)
        if pool is None:
            raise CollectionError(f"pool {quoted(name)} has no version")
        if self.facts.content_hash != versions_of_pool(self.store, name)[-1].content_hash:
            self.differences.append("the hash of the pool is not that of its latest version")
        return pool

    @cached_property
    def _happened(self) -> Mapping[str, Sequence[Event]]:
        return events_by_topic(self.store)

    def _first(self, version: PoolVersion, runs: PooledRuns, clusters: Mapping[str, int] | None) -> Pool:
        from cranfield.pool.build import build
        from cranfield.pool.plan import parse_stored

        return build(
            parse_stored(self.facts.plan_in_full),
            runs,
            topics=pool_topics(self.store, self.facts.name, version=version.version),
            seed=self.facts.seed,
            order=self.facts.judging_order,  # type: ignore[arg-type]
            clusters=clusters,
        )

    def _compare_facts(self) -> None:
        """Compare what is said of the pool beside its versions with the plan in full, and with the clusters."""
        from cranfield.pool.plan import parse_stored

        plan, name = parse_stored(self.facts.plan_in_full), self.facts.name
        has_clusters = bool(clusters_of_version(self.store, name, 1))
        for noun, stored, found in (
            ("plan", self.facts.plan, str(plan)),
            ("version of the grammar", self.facts.grammar, plan.grammar),
            ("option --one-per-cluster", bool(self.facts.one_per_cluster), has_clusters),
        ):
            if stored != found:
                self.differences.append(f"the {noun} is {stored!r}, and by what the pool was made from {found!r}")

    def _compare_manifest(self, version: PoolVersion, pool: Pool) -> None:
        what = f"version {version.version}: the"
        inputs = inputs_hash(self.store, pool_number(self.store, self.facts.name), version.version)
        if version.inputs_hash and version.inputs_hash != inputs:
            self.differences.append(
                f"{what} plan, the options or the runs (name, group, priority, content) were changed: their hash is"
                f" {inputs}, and {version.inputs_hash} is recorded"
            )
        if pool.content_hash != version.content_hash:
            self.differences.append(f"{what} hash is {pool.content_hash}, and {version.content_hash} is recorded")
        if (version.plan_in_full, version.seed) != (self.facts.plan_in_full, self.facts.seed):
            self.differences.append(f"{what} plan or the seed is not that of the pool")

    def _with_choices(
        self,
        pool: Pool,
        runs: PooledRuns,
        clusters: Mapping[str, int] | None,
        recorded: Sequence[RecordedChoice],
        over: Mapping[str, RecordedEnd],
    ) -> Pool:
        from cranfield.pool.extend import with_chosen

        proof = ChoiceProof(
            pool,
            runs,
            clusters=clusters,
            earlier=[one for one in recorded if one.version < pool.version],
            over=over,
            happened=self._happened,
            relevant_from=thresholds(self.store),
        )
        proof.go_through([one for one in recorded if one.version == pool.version])
        self.differences += proof.wrong
        return with_chosen(pool, runs, proof.later, clusters=clusters)


def _broken_record(recorded: Sequence[RecordedChoice]) -> list[str]:
    """Say where the record of choices has a gap or was changed."""
    before, wrong = "", []
    for place, one in enumerate(recorded, start=1):
        if one.number != place or one.hash != one.hash_after(before):
            wrong.append(
                f"choice {one.number} ({one.topic} {one.document}) does not follow from the record before it"
            )
            break
        before = one.hash
    return wrong


def _content_differences(store: Store, name: str, pool: Pool) -> list[str]:
    built, stored = rows_of_content(pool), rows_as_stored(store, name)
    return [
        difference
        for table in _TABLES
        for difference in _told(table, _that_count(table, built[table]), _that_count(table, stored[table]))
    ]


def _that_count(table: str, rows: Sequence[tuple[object, ...]]) -> dict[tuple[object, ...], tuple[object, ...]]:
    """Give what rows say, by what they are of. A stratum without a document says nothing about its topic."""
    _, key, _ = _TABLES[table]
    return {row[:key]: row[key:] for row in rows if table != "pool_strata" or row[3]}


def _told(
    table: str,
    built: Mapping[tuple[object, ...], tuple[object, ...]],
    stored: Mapping[tuple[object, ...], tuple[object, ...]],
) -> list[str]:
    """Say which rows are on one side alone, and which say something else; a few of each."""
    noun, _, columns = _TABLES[table]
    changed = [
        f"{_key(key)}: {column} is {was!r}, by the plan it is {is_!r}"
        for key in sorted(built.keys() & stored.keys(), key=str)
        for column, was, is_ in zip(columns, stored[key], built[key], strict=True)
        if was != is_
    ]
    extra = [f"{_key(key)} is stored and not in the rebuilt pool" for key in sorted(stored.keys() - built, key=str)]
    missing = [f"{_key(key)} is missing from the store" for key in sorted(built.keys() - stored, key=str)]
    return [f"{noun} {said}" for found in (changed, extra, missing) for said in _some(found)]


def _key(key: tuple[object, ...]) -> str:
    return " ".join(str(word) for word in key)


def _some(found: Sequence[str]) -> list[str]:
    """Give the first of many, the last of them with how many more there are."""
    if len(found) <= ALIKE_SHOWN:
        return list(found)
    *shown, last = found[:ALIKE_SHOWN]
    return [*shown, f"{last} (and {len(found) - ALIKE_SHOWN:,} more)"]


# Prove the choices of a live pool by making them again, from what was known and under judgment then.


class ChoiceProof:
    """One version of a live pool, gone through choice by choice.

    `pool` is the version as it was made, `earlier` what was chosen in versions before it, `over` the topics that have
    ended, in this version or before. `wrong` says what differs; `later` is what came into each topic since, as the
    plan has it.
    """

    def __init__(
        self,
        pool: Pool,
        runs: PooledRuns,
        *,
        clusters: Mapping[str, int] | None,
        earlier: Sequence[RecordedChoice],
        over: Mapping[str, RecordedEnd],
        happened: Mapping[str, Sequence[Event]],
        relevant_from: Mapping[int, int],
    ) -> None:
        self.wrong: list[str] = []
        self.later: dict[str, Later] = {}
        self._pool, self._happened, self._relevant_from = pool, happened, relevant_from
        before = {end.topic: end.rule for end in over.values() if end.final and end.version < pool.version}
        self._over = {end.topic: end for end in over.values() if end.version == pool.version}
        self._is_reproducible = pool.plan.is_reproducible
        self._live = LivePool(without_model(pool.plan), runs, pool=pool, clusters=clusters, ended=before)
        self._chosen: dict[str, list[Chosen]] = {}
        self._handed_out = HandedOut()
        for topic in pool.topics:
            for document in pool.documents_of(topic):
                self._handed_out.add(topic, document)
        for one in earlier:
            self._handed_out.add(one.topic, one.document, (one.known, one.number))

    def go_through(self, recorded: Sequence[RecordedChoice]) -> None:
        """Make every choice again and look at every end: topic by topic, or at once where they share a budget."""
        topics = self._live.topics
        self.wrong += [
            f"{_words_of(one)} is not of a topic of the pool" for one in recorded if one.topic not in topics
        ]
        for some in [topics] if self._live.spreads else [[topic] for topic in topics]:
            mine = [one for one in recorded if one.topic in some]
            over = [self._over[topic] for topic in some if topic in self._over]
            if mine or over:
                self._walk(some, mine, over)
            for topic in some:
                self._close(topic)

    def _walk(self, topics: Sequence[str], recorded: Sequence[RecordedChoice], over: Sequence[RecordedEnd]) -> None:
        happened = [event for topic in topics for event in self._happened.get(topic, ())]
        chronicle = Chronicle(happened, self._relevant_from)
        moments: list[RecordedChoice | RecordedEnd] = sorted([*recorded, *over], key=lambda one: one.known)
        for moment in moments:
            for topic in (chronicle.advance(moment.known) | {moment.topic}).intersection(topics):
                self._stand(topic, chronicle)
            if isinstance(moment, RecordedEnd):
                self._look_at_end(moment)
            else:
                self._choose_again(moment)
                self._stand(moment.topic, chronicle)

    def _stand(self, topic: str, chronicle: Chronicle) -> None:
        self._live.set_judgments(topic, self._handed_out.told(topic, chronicle.labels(topic)))

    def _look_at_end(self, end: RecordedEnd) -> None:
        found = self._live.ended.get(end.topic)
        if found != end.rule:
            said = f"by the plan it was {found!r}" if found else "by the plan it had not ended"
            self.wrong.append(f"topic {end.topic} is said to have ended ({end.rule}); {said}")

    def _choose_again(self, recorded: RecordedChoice) -> None:
        pending = [(recorded.topic, document) for document in recorded.elsewhere]
        again = self._live.offer(1, under_judgment=pending, topics=[recorded.topic]).choices
        if recorded.document not in self._live.candidates(recorded.topic).numbers:
            self.wrong.append(f"{_words_of(recorded)} is in none of the runs")
            return
        if not again:
            self.wrong.append(f"{_words_of(recorded)}: by the plan nothing was to be chosen")
        elif not self._is_as_recorded(recorded, again[0].document, again[0].step):
            self.wrong.append(f"{_words_of(recorded)}: by the plan it was {again[0].document}")
        self._chosen.setdefault(recorded.topic, []).append(self._story(recorded))
        self._live.hand_out(recorded.topic, [recorded.document])
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

    def _close(self, topic: str) -> None:
        """Keep what came into a topic, and let go of what is large."""
        passed_over = {}
        if topic in self._over and self._over[topic].final:
            ids = self._live.candidates(topic).ids
            passed_over = {one.stratum: [ids[number] for number in one.undrawn] for one in self._live.later(topic)}
        self.later[topic] = Later(
            self._chosen.get(topic, ()), {name: some for name, some in passed_over.items() if some}
        )
        if not self._live.spreads:
            self._live.drop(topic)


def _words_of(recorded: RecordedChoice) -> str:
    return f"choice {recorded.number} ({recorded.topic} {recorded.document})"
