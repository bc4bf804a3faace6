"""Say where the collection stands, and the next thing to do."""

from dataclasses import dataclass
from typing import Any

from cranfield.judge.events import MAIN
from cranfield.records import GradeScale
from cranfield.store import Store, engine
from cranfield.store.assignments import assigned
from cranfield.store.documents import document_count
from cranfield.store.drafts import refused_topics
from cranfield.store.duplicates import clusters_of
from cranfield.store.events import assessors
from cranfield.store.pace import judged_pairs, open_pairs, release_count
from cranfield.store.pools import PoolFacts, pool_facts, pooled_pairs
from cranfield.store.runs import RunFacts, run_facts
from cranfield.store.scales import current_guidelines, current_scale
from cranfield.store.settings import settings
from cranfield.store.topics import topic_count
from cranfield.text import counted


@dataclass(frozen=True, slots=True)
class Status:
    """Where a collection stands."""

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
        if not self.judged and not self.assigned_topics:
            return "judge; for several people give out the topics first (cranfield judge assign)", "judge"
        if self.unjudged:
            return f"judge: {counted(self.unjudged, 'pooled document')} without a grade", "judge"
        if not self.releases:
            return "everything is judged; freeze the qrels under a name", "qrels release NAME"
        return "score the runs", "evaluate"


def collection_status(store: Store) -> Status:
    """Read everything the status needs, as of one moment."""
    with store.snapshot():
        everything = run_facts(store, withdrawn=True)
        standing = tuple(run for run in everything if run.withdrawn is None)
        all_settings = settings(store)
        return Status(
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
            judged=judged_pairs(store, MAIN),
            unjudged=open_pairs(store, MAIN),
            assessors=sum(kind == "person" for kind in assessors(store).values()),
            assigned_topics=len({one.topic for one in assigned(store)}),
            refused_topics=tuple(refused_topics(store)),
            releases=release_count(store),
            troubles=tuple(engine.known_troubles(store.path)),
        )
