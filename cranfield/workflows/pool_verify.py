"""Prove a pool: build every version again from the stored runs, and make every choice again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from cranfield.errors import CollectionError, quoted
from cranfield.judge.events import Event
from cranfield.workflows.pool_inputs import entrants_of_version, with_ids
from cranfield.workflows.pool_labels import events_by_topic
from cranfield.store import Store
from cranfield.store.pools import PoolFacts, facts_of_pool, pool_number, pool_topics
from cranfield.store.pools_content import (
    PoolVersion,
    clusters_of_version,
    rows_as_stored,
    rows_of_content,
    versions_of_pool,
)
from cranfield.store.pools_inputs import inputs_hash
from cranfield.store.pools_live import RecordedChoice, RecordedEnd, choices, ends, thresholds

if TYPE_CHECKING:
    from cranfield.pool.entrants import PooledRuns
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

    def rebuilt(self) -> "Pool":
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

    def _first(self, version: PoolVersion, runs: "PooledRuns", clusters: Mapping[str, int] | None) -> "Pool":
        from cranfield.pool.build import build
        from cranfield.pool.parsing import parse_stored

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
        from cranfield.pool.parsing import parse_stored

        plan, name = parse_stored(self.facts.plan_in_full), self.facts.name
        has_clusters = bool(clusters_of_version(self.store, name, 1))
        for noun, stored, found in (
            ("plan", self.facts.plan, str(plan)),
            ("version of the grammar", self.facts.grammar, plan.grammar),
            ("option --one-per-cluster", bool(self.facts.one_per_cluster), has_clusters),
        ):
            if stored != found:
                self.differences.append(f"the {noun} is {stored!r}, and by what the pool was made from {found!r}")

    def _compare_manifest(self, version: PoolVersion, pool: "Pool") -> None:
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
        pool: "Pool",
        runs: "PooledRuns",
        clusters: Mapping[str, int] | None,
        recorded: Sequence[RecordedChoice],
        over: Mapping[str, RecordedEnd],
    ) -> "Pool":
        from cranfield.pool.joining import with_chosen
        from cranfield.workflows.pool_proof import ChoiceProof

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


def _content_differences(store: Store, name: str, pool: "Pool") -> list[str]:
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
