"""Say where the collection stands, and the next thing to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from cranfield.base.records import MAIN, GradeScale, OutsideSource
from cranfield.base.text import Result, Table, Value, counted, facts_table, shortened
from cranfield.judge.queue import Overlap
from cranfield.pool import plan
from cranfield.store import Store, documents, events, files, judging, live_pools, pools, questions
from cranfield.store import runs as stored_runs
from cranfield.store.pools import PoolFacts
from cranfield.workflows import collection as collections
from cranfield.workflows import outside
from cranfield.workflows.judge.queue import choose_source, open_queues

FEWEST_GROUPS = 3
"""With fewer groups nothing is learnt from holding one out, and verdicts on later runs are UNTESTABLE."""

_WITH = {
    **dict.fromkeys(("duplicate clusters", "documents outside"), "documents"),
    **dict.fromkeys(("contributing runs", "groups", "withdrawn runs"), "runs"),
    **dict.fromkeys(("pooled documents", "pooled, not judged"), "pools"),
    "assessors": "judged documents",
}
"""The rows in which people find further facts: all fit a terminal of 24 lines then."""


@dataclass(frozen=True)
class Status(Result):
    """Where a collection stands.

    `queries` are those behind the `counts`, by the names of the facts. `unfinished` topics of live pools will have
    more documents; `missing` judgments, second ones included, are counted where all is judged but for refused
    answers (cannot judge), else None; `queues` are open, each with what is missing; a packet is for one assessor, and
    what is pooled is its queue. `outside` is where documents stay that are not in the file. `known` are sentences.
    """

    path: str
    name: str
    scale: GradeScale
    guidelines_version: int
    queries: Mapping[str, str]
    counts: questions.Counts
    runs: tuple[stored_runs.RunFacts, ...]
    pools: tuple[PoolFacts, ...]
    assigned: bool
    unfinished: int
    missing: int | None
    packet_for: str
    queues: Mapping[str, str]
    outside: tuple[OutsideSource, ...]
    known: tuple[str, ...]

    @property
    def documents_outside(self) -> int:
        """How many documents stay outside, as far as their sources say."""
        return sum(one.documents or 0 for one in self.outside)

    @property
    def next_step(self) -> tuple[str, str]:
        """The next thing to do, and the command for it."""
        queue = next(iter(self.queues), "")
        to_queue = f"judge the queue {queue}", f"judge --queue {quote(queue)}"
        if self.packet_for:
            if not self.counts.unjudged:
                send = "everything is judged; send the file back to the organiser, who merges it with"
                return send, "judge merge FILE"
            judged = f"{self.counts.judged:,} of {counted(self.counts.pooled, 'document')} judged"
            return f"judge, then send the file back ({judged})", "judge"
        if self.counts.releases and not self.pools:  # qrels that were made elsewhere
            if queue:
                return to_queue
            return ("score the runs", "evaluate") if self.runs else ("score a run", "evaluate FILE…")
        if not self.counts.documents and not self.outside:
            return "add documents", "corpus add FILE…"
        if not self.counts.topics:
            return "add topics", "corpus topics FILE"
        if not self.runs:
            make = " (or make some with cranfield runs make)" if self.counts.documents else ""
            return f"submit runs{make}", "runs submit FILE…"
        if not self.counts.contributing:
            return "no run contributes to a pool yet; submit one", "runs submit --contributing FILE…"
        if not self.pools:
            # No deeper than the mean length of a ranking, which is never more than the longest has.
            longest = max(run.rows // max(run.topics, 1) for run in self.runs if run.role == "contributing")
            return "build a pool", f"pool build depth {max(1, min(10, longest))}"
        if not self.counts.judged and not self.assigned:
            return "judge; with several assessors, assign topics first (cranfield judge assign)", "judge"
        if self.counts.unjudged and self.missing != 0:
            return f"judge {counted(self.counts.unjudged, 'unjudged pooled document')}", "judge"
        if self.unfinished:
            more = f"continue judging: {counted(self.unfinished, 'topic')} of a live pool will get more documents"
            return more, "judge"
        if self.missing:
            return f"{counted(self.missing, 'second judgment')} missing", "judge"
        if queue:
            return to_queue
        if not self.counts.releases:
            return "everything is judged; release the qrels under a name", "qrels release NAME"
        more = "then put them on a page (report), and publish (qrels release NAME --bundle FOLDER)"
        return f"everything is judged and released; score the runs, or a new one, {more}", "evaluate [FILE…]"

    def table(self) -> Table:
        """The facts."""
        scale = ", ".join(f"{step.grade} {step.label}" for step in self.scale.grades)
        facts: dict[str, Value] = {
            "name": self.name,
            "scale": f"{scale} (relevant from {self.scale.relevant_from})",
            "guidelines": f"version {self.guidelines_version}" if self.guidelines_version else "none",
        }
        facts |= zip(self.queries, self.counts, strict=True)
        if not self.counts.older:
            del facts[[*self.queries][-1]]
        if self.outside:
            facts["documents outside"] = self.documents_outside
        if self.packet_for:
            facts["packet for"] = self.packet_for
        return facts_table(facts, caption=self.path)

    def tables(self) -> list[Table]:
        """The facts for people: what there is some of, each with what is known more closely in the same row."""
        facts: dict[str, str] = {}
        for fact, value in self.table().rows:
            name, told = str(fact), f"{value:,}" if isinstance(value, int) else str(value)
            if (main := _WITH.get(name, "")) in facts:
                facts[main] += f"; {name}: {told}" if value else ""
            elif value:
                facts[name] = told
        return [facts_table(facts, caption=self.path)]

    def sql(self) -> str:
        """The query behind each count, as a script for SQLite."""
        rows = zip(self.queries.items(), self.counts, strict=True)
        return "\n".join(f"-- {name}: {count:,}\n{query};\n" for (name, query), count in rows)

    @property
    def remarks(self) -> list[str]:  # type: ignore[override]
        """What to know, and the next thing to do."""
        what, command = self.next_step
        return [*self.known, f"next: {what}: cranfield {command}"]


def status(store: Store) -> Status:
    """Read everything the status needs, as of one moment."""
    with store.snapshot():
        standing = tuple(stored_runs.facts(store))
        packet = judging.packet_facts(store)
        layer, packet_for = (packet.layer, packet.assessor) if packet else (MAIN, "")
        queries = questions.counting(layer, packet_for=packet_for)
        counts, known = questions.counts(store, queries), pools.pool_facts(store)
        refused, cannot = judging.refused_topics(store), len(judging.refusals(store, layer))
        unfinished, missing = 0, None
        if counts.unjudged <= cannot:
            # Reading plans takes long; it matters only where all that is pooled so far is judged.
            for facts in known:
                if plan.parse_stored(facts.plan_in_full).adaptive:
                    over = {*refused, *live_pools.ends(store, pools.pool_number(store, facts.name))}
                    unfinished += sum(topic not in over for topic in pools.pool_topics(store, facts.name))
            if known and packet is None and (cannot or judging.planned(store, Overlap).share):
                sources = [choose_source(store, pool=facts.name) for facts in known]
                missing = max(sum(map(one.missing, one.topics())) for one in sources)
        queues = {} if packet else open_queues(store)
        notes = outside.notes(store)
        notes += [f"note: {one}" for one in collections.rejudging(counts.older)]
        if cannot:
            answers = f"note: {counted(cannot, 'answer')} “cannot judge”"
            notes.append(f"{answers}; see who answered so, and why, with: cranfield judge progress --by cannot")
        if refused:
            notes.append(f"note: refused topics, not judged: {', '.join(refused)}")
        if unpooled := unpooled_runs(store, standing):
            runs, names = counted(len(unpooled), "contributing run"), shortened(", ".join(unpooled), 80)
            notes.append(f"note: {runs} in no pool ({names}); extend the pool with: cranfield pool extend")
        if disputed := 0 if packet else len(events.disputed_pairs(store, layer, across=True)):
            differ = f"{counted(disputed, 'document')} that one assessor finds relevant and another does not"
            notes.append(f"note: {differ}; decide on them with: cranfield judge adjudicate --across")
        if counts.contributing and counts.groups < FEWEST_GROUPS and not counts.judged:
            few = f"note: runs of {counted(counts.groups, 'group')}; verdicts on later runs need {FEWEST_GROUPS}"
            notes.append(f"{few}, each of which is held out in turn (cranfield runs make makes baselines)")
        notes += [f"note: open queue {name}: {left}" for name, left in queues.items()]
        # What is risky only where several write at once is said once, by `judge assign`, and by `check`.
        notes += [f"note: {trouble}" for trouble in files.known_troubles(store.path, shared=False)]
        return Status(
            path=str(store.path),
            name=store.setting("name", ""),
            scale=store.scale(),
            guidelines_version=store.versions()[1],
            queries=queries,
            counts=counts,
            runs=standing,
            pools=tuple(known),
            assigned=bool(store.row("SELECT 1 FROM assignments")),
            unfinished=unfinished,
            missing=missing,
            packet_for=packet_for,
            queues=queues,
            outside=tuple(documents.outside_sources(store)),
            known=tuple(notes),
        )


def unpooled_runs(store: Store, runs: Sequence[stored_runs.RunFacts]) -> list[str]:
    """Those of the runs that may contribute to a pool and are in none; nothing where there is no pool."""
    known = pools.pool_facts(store)
    pooled = {run.content_hash for pool in known for run in pools.pooled_runs(store, pool.name)}
    waiting = [run.name for run in runs if run.role == "contributing" and run.content_hash not in pooled]
    return waiting if known else []
