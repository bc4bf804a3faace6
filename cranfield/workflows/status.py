"""Say where the collection stands, and the next thing to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from shlex import quote

from cranfield.base.records import MAIN, GradeScale
from cranfield.base.tables import Result, Table, facts_table
from cranfield.base.text import counted, shortened
from cranfield.pool import plan
from cranfield.store import Store, events, judging, live_pools, pools, releases
from cranfield.store import runs as stored_runs
from cranfield.store.files import known_troubles
from cranfield.store.pools import PoolFacts
from cranfield.workflows.judge.queue import open_queues

FEWEST_GROUPS = 3
"""With fewer groups nothing is learnt from holding one out, and verdicts on later runs are UNTESTABLE."""


@dataclass(frozen=True)
class Status(Result):
    """Where a collection stands.

    `older` grades were assigned under an older scale or older guidelines; `unfinished` topics of live pools will have
    more documents; `unpooled` runs may contribute to a pool and are in none of those there are; `queues` are open,
    each with what is missing; a packet is for one assessor, and what is `pooled` is its queue. `reported` says that a
    report lies beside the collection that is not older than the latest release. `hint` makes of the words of a
    command what can be typed.
    """

    path: str
    name: str
    scale: GradeScale
    guidelines_version: int
    counts: judging.Counts
    runs: tuple[stored_runs.RunFacts, ...]
    withdrawn: int
    pools: tuple[PoolFacts, ...]
    assessors: int
    refused_topics: tuple[str, ...]
    troubles: tuple[str, ...]
    unpooled: tuple[str, ...] = ()
    older: int = 0
    unfinished: int = 0
    reported: bool = False
    packet_for: str = ""
    queues: Mapping[str, str] = field(default_factory=dict)
    disputed: int = 0
    hint: Callable[[str], str] = "cranfield {}".format

    @property
    def groups(self) -> int:
        """How many groups have a run here."""
        return len({run.group_name for run in self.runs})

    @property
    def contributing(self) -> int:
        """How many runs may contribute to a pool."""
        return sum(run.role == "contributing" for run in self.runs)

    @property
    def next_step(self) -> tuple[str, str]:
        """The next thing to do, and the command for it."""
        if self.packet_for:
            if not self.counts.unjudged:
                send = "everything is judged; send the file back to the organiser, who merges it with"
                return send, "judge merge FILE"
            judged = f"{self.counts.judged:,} of {counted(self.counts.pooled, 'document')} judged"
            return f"judge: {judged}; then send the file back", "judge"
        if not self.counts.documents:
            return "add documents", "corpus add FILE…"
        if not self.counts.topics:
            return "add topics", "corpus topics FILE"
        if not self.runs:
            return "submit runs (or make some with cranfield runs make)", "runs submit FILE…"
        if not self.contributing:
            return "no run contributes to a pool yet; submit one", "runs submit --contributing FILE…"
        if not self.pools:
            # No deeper than the mean length of a ranking, which is never more than the longest has.
            longest = max(run.rows // max(run.topics, 1) for run in self.runs if run.role == "contributing")
            return "build a pool", f"pool build depth {max(1, min(10, longest))}"
        if not self.counts.judged and not self.counts.assigned_topics:
            return "judge; with several assessors, assign topics first (cranfield judge assign)", "judge"
        if self.counts.unjudged:
            return f"judge: {counted(self.counts.unjudged, 'unjudged pooled document')}", "judge"
        if self.unfinished:
            more = f"continue judging: {counted(self.unfinished, 'topic')} of a live pool will get more documents"
            return more, "judge"
        for name in self.queues:
            return f"judge the queue {name}", f"judge --queue {quote(name)}"
        if not self.counts.releases:
            return "everything is judged; release the qrels under a name", "qrels release NAME"
        if not self.reported:
            return "score the runs (cranfield evaluate), and put scores and verdicts on a page", "report"
        done = "everything is judged, released and reported; publish it (or score new runs: cranfield evaluate FILE…)"
        return done, "qrels release NAME --bundle FOLDER"

    def table(self) -> Table:
        """The facts."""
        scale = ", ".join(f"{step.grade} {step.label}" for step in self.scale.grades)
        facts: dict[str, str | int | float | bool | tuple[int, ...] | None] = {
            "name": self.name,
            "scale": f"{scale} (relevant from {self.scale.relevant_from})",
            "guidelines": f"version {self.guidelines_version}" if self.guidelines_version else "none",
            "documents": self.counts.documents,
            "duplicate clusters": self.counts.clusters,
            "topics": self.counts.topics,
            "runs": len(self.runs),
            "contributing runs": self.contributing,
            "groups": self.groups,
            "withdrawn runs": self.withdrawn,
            "pools": len(self.pools),
            "pooled documents": self.counts.pooled,
            "judged documents": self.counts.judged,
            "pooled, not judged": self.counts.unjudged,
            "assessors": self.assessors,
            "releases": self.counts.releases,
        }
        if self.older:
            facts["judged under an older scale or guidelines"] = self.older
        if self.packet_for:
            facts["packet for"] = self.packet_for
        return facts_table(facts, caption=self.path)

    @property
    def remarks(self) -> list[str]:  # type: ignore[override]
        """What to know, and the next thing to do."""
        notes = []
        if self.older:
            grades, again = counted(self.older, "grade"), self.hint("judge --rejudge")
            notes.append(
                f"note: {grades} assigned under an older scale or older guidelines; judge again with: {again}"
            )
        if self.refused_topics:
            notes.append(f"note: refused topics, not judged: {', '.join(self.refused_topics)}")
        if self.unpooled:
            runs, names = counted(len(self.unpooled), "contributing run"), shortened(", ".join(self.unpooled), 80)
            notes.append(f"note: {runs} in no pool ({names}); extend the pool with: {self.hint('pool extend')}")
        if self.disputed and not self.counts.releases:
            differ = f"{counted(self.disputed, 'document')} that one assessor finds relevant and another does not"
            notes.append(f"note: {differ}; decide on them with: {self.hint('judge adjudicate')}")
        if self.contributing and self.groups < FEWEST_GROUPS and not self.counts.judged:
            few = f"note: runs of {counted(self.groups, 'group')}; verdicts on later runs need {FEWEST_GROUPS}"
            notes.append(f"{few}, each of which is held out in turn ({self.hint('runs make')} makes baselines)")
        notes += [f"note: open queue {name}: {missing}" for name, missing in self.queues.items()]
        what, command = self.next_step
        return [*notes, *(f"note: {trouble}" for trouble in self.troubles), f"next: {what}: {self.hint(command)}"]


def status(store: Store, *, hint: Callable[[str], str] = "cranfield {}".format) -> Status:
    """Read everything the status needs, as of one moment."""
    with store.snapshot():
        everything = stored_runs.facts(store, withdrawn=True)
        standing = tuple(run for run in everything if run.withdrawn is None)
        packet = judging.packet_facts(store)
        people = [name for name, kind in events.assessors(store).items() if kind == "person"]
        layer = MAIN if packet is None else packet.layer
        now = Status(
            path=str(store.path),
            name=store.setting("name", ""),
            scale=store.scale(),
            guidelines_version=store.versions()[1],
            counts=judging.counts(store, layer),
            runs=standing,
            withdrawn=len(everything) - len(standing),
            pools=tuple(pools.pool_facts(store)),
            assessors=len(people),
            refused_topics=tuple(judging.refused_topics(store)),
            # What is risky only where several write at once is reported where several judge.
            troubles=tuple(known_troubles(store.path, shared=len(people) > 1)),
            unpooled=tuple(unpooled_runs(store, standing)),
            older=judging.older_than(store, layer=layer),
            queues={} if packet else open_queues(store),
            disputed=0 if packet else len(events.disputed_pairs(store, layer, across=True)),
            hint=hint,
        )
        if not now.counts.unjudged:
            # Reading plans takes long; it matters only where all that is pooled so far is judged.
            live = [facts.name for facts in now.pools if plan.parse_stored(facts.plan_in_full).adaptive]
            unfinished = 0
            for name in live:
                over = {*now.refused_topics, *live_pools.ends(store, pools.pool_number(store, name))}
                unfinished += sum(topic not in over for topic in pools.pool_topics(store, name))
            now = replace(now, unfinished=unfinished)
        if now.counts.releases:
            *_, latest = releases.known(store).values()
            report, made = store.path.with_name("report.html"), datetime.fromisoformat(latest.made).timestamp()
            now = replace(now, reported=report.is_file() and report.stat().st_mtime >= made)
        if packet is None:
            return now
        [(queued, judged)] = judging.answered_in_packet(store, packet.layer, packet.assessor)
        counts = now.counts._replace(pooled=queued, judged=judged, unjudged=queued - judged)
        return replace(now, counts=counts, packet_for=packet.assessor)


def unpooled_runs(store: Store, runs: Sequence[stored_runs.RunFacts]) -> list[str]:
    """Those of the runs that may contribute to a pool and are in none; nothing where there is no pool."""
    known = pools.pool_facts(store)
    pooled = {run.content_hash for pool in known for run in pools.pooled_runs(store, pool.name)}
    waiting = [run.name for run in runs if run.role == "contributing" and run.content_hash not in pooled]
    return waiting if known else []
