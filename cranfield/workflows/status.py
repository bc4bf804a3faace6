"""Say where the collection stands, and the next thing to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cranfield.base.records import GradeScale
from cranfield.base.text import counted
from cranfield.judge.events import MAIN
from cranfield.store import engine
from cranfield.store.documents import clusters_of, document_count, topic_count
from cranfield.store.events import assessors
from cranfield.store.judging import (
    PacketFacts,
    answered_in_packet,
    assigned,
    judged_pairs,
    older_now,
    open_pairs,
    packet_facts,
    refused_topics,
    release_count,
)
from cranfield.store.live_pools import ends
from cranfield.store.pools import PoolFacts, pool_facts, pool_number, pool_topics, pooled_pairs, pooled_runs
from cranfield.store.runs import RunFacts, run_facts
from cranfield.store.scales import current_guidelines, current_scale
from cranfield.store.store import Store, settings


@dataclass(frozen=True, slots=True)
class Status:
    """Where a collection stands.

    `older` grades were given under an older scale or older guidelines; `unfinished` topics of live pools will have
    more documents; `unpooled` runs may feed a pool and are in none of those there are; a packet is for one assessor,
    and what is `pooled` is its queue.
    """

    name: str
    settings: dict[str, Any]
    scale: GradeScale
    guidelines_version: int
    documents: int
    topics: int
    duplicate_clusters: int
    runs: tuple[RunFacts, ...]
    withdrawn: int
    pools: tuple[PoolFacts, ...]
    pooled: int
    judged: int
    unjudged: int
    assessors: int
    assigned_topics: int
    refused_topics: tuple[str, ...]
    releases: int
    troubles: tuple[str, ...]
    unpooled: tuple[str, ...] = ()
    older: int = 0
    unfinished: int = 0
    packet_for: str = ""

    @property
    def groups(self) -> int:
        """How many groups have a run here."""
        return len({run.group_name for run in self.runs})

    @property
    def contributing(self) -> int:
        """How many runs may feed a pool."""
        return sum(run.role == "contributing" for run in self.runs)

    @property
    def next_step(self) -> tuple[str, str]:
        """The next thing to do, and the command for it."""
        if self.packet_for:
            return self._next_in_packet
        if not self.documents:
            return "add documents", "corpus add FILE…"
        if not self.topics:
            return "add topics", "corpus topics FILE"
        if not self.runs:
            return "submit runs (or make some with cranfield runs make)", "runs submit FILE…"
        if not self.contributing:
            return "no run contributes to a pool yet; submit one", "runs submit --contributing FILE…"
        if not self.pools:
            return "build a pool", "pool build 'depth 10'"
        return self._next_when_pooled

    @property
    def _next_when_pooled(self) -> tuple[str, str]:
        if not self.judged and not self.assigned_topics:
            return "judge; for several people give out the topics first (cranfield judge assign)", "judge"
        if self.unjudged:
            return f"judge: {counted(self.unjudged, 'pooled document')} without a grade", "judge"
        if self.unfinished:
            more = f"judge on: {counted(self.unfinished, 'topic')} of a live pool will get more documents"
            return more, "judge"
        if not self.releases:
            return "everything is judged; freeze the qrels under a name", "qrels release NAME"
        return "score the runs (then cranfield reuse and cranfield report)", "evaluate"

    @property
    def _next_in_packet(self) -> tuple[str, str]:
        if self.unjudged:
            return (
                f"judge: {self.judged:,} of {counted(self.pooled, 'document')} judged; then send the file back",
                "judge",
            )
        return "everything is judged; send the file back to whoever made it, who takes it in with", "judge merge FILE"


def collection_status(store: Store) -> Status:
    """Read everything the status needs, as of one moment."""
    with store.snapshot():
        everything = run_facts(store, withdrawn=True)
        standing = tuple(run for run in everything if run.withdrawn is None)
        all_settings, packet = settings(store), packet_facts(store)
        people = [name for name, kind in assessors(store).items() if kind == "person"]
        layer = MAIN if packet is None else packet.layer
        found = Status(
            name=all_settings.get("name", ""),
            settings=all_settings,
            scale=current_scale(store)[1],
            guidelines_version=current_guidelines(store)[0],
            documents=document_count(store),
            topics=topic_count(store),
            duplicate_clusters=len(clusters_of(store)),
            runs=standing,
            withdrawn=len(everything) - len(standing),
            pools=tuple(pool_facts(store)),
            pooled=pooled_pairs(store),
            judged=judged_pairs(store, layer),
            unjudged=open_pairs(store, layer),
            assessors=len(people),
            assigned_topics=len({one.topic for one in assigned(store)}),
            refused_topics=tuple(refused_topics(store)),
            releases=release_count(store),
            troubles=tuple(_troubles(store, len(people))),
            unpooled=tuple(unpooled_runs(store, standing)),
            older=older_now(store, layer=layer),
        )
        # Reading plans takes long; it is asked only where all that is pooled so far is judged.
        found = found if found.unjudged else replace(found, unfinished=_unfinished(store))
        return found if packet is None else _of_packet(store, found, packet)


def _troubles(store: Store, people: int) -> list[str]:
    """Give what is risky here; what is so only where several write at once is told where several judge."""
    library = engine.troubles_of_library() if people > 1 else []
    return [*library, *engine.troubles_of_place(store.path)]


def unpooled_runs(store: Store, runs: Sequence[RunFacts]) -> list[str]:
    """Give those of the runs that may feed a pool and are in none; nothing where there is no pool."""
    pools = pool_facts(store)
    pooled = {run.content_hash for pool in pools for run in pooled_runs(store, pool.name)}
    waiting = [run.name for run in runs if run.role == "contributing" and run.content_hash not in pooled]
    return waiting if pools else []


def _unfinished(store: Store) -> int:
    """Count the topics of live pools that have not come to their end."""
    facts_of_all = pool_facts(store)
    if not facts_of_all:
        return 0
    from cranfield.pool.plan import parse_stored

    live = [facts.name for facts in facts_of_all if parse_stored(facts.plan_in_full).is_live]
    over = refused_topics(store)
    return sum(
        topic not in over and topic not in ended
        for name in live
        for ended in [ends(store, pool_number(store, name))]
        for topic in pool_topics(store, name)
    )


def _of_packet(store: Store, found: Status, packet: PacketFacts) -> Status:
    """Give where a packet stands: its queue is what there is to judge."""
    queued, judged = answered_in_packet(store, packet)
    return replace(found, pooled=queued, judged=judged, unjudged=queued - judged, packet_for=packet.assessor)
