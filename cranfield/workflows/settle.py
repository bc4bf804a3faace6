"""The few documents whose judging decides between two runs, or makes one score safe, as a judging queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.base.progress import now
from cranfield.base.tables import Column, Result, Table, table_of
from cranfield.base.text import counted
from cranfield.store import documents as stored_documents
from cranfield.store.judging import Queued, add_queue
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import Asked, read_in_full, runs_without_pipes
from cranfield.workflows.inputs import Inputs, refuse_unknown
from cranfield.workflows.pool.show import ASSUMED_SECONDS, Speed, judging_speed
from cranfield.workflows.reuse.field import SEED, Field, Trust, Trusted, trusted
from cranfield.workflows.reuse.reuse import account_of

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment, AnyRun, TopicSet
    from cranfield.evaluate.expression import Measure
    from cranfield.reuse.intervals import Closure, Identities
    from cranfield.reuse.pairs import Claim, OpenScore, QueuedDocument
    from cranfield.reuse.settle import SafeQueue, Settlement


@dataclass(frozen=True, eq=False)
class Settled:
    """What decides between two runs under a measure: what may be said now, and what to judge."""

    measure: Measure
    claim: Claim
    settlement: Settlement
    speed: Speed


class Queue(Result):
    """The documents to judge, the heaviest first, and how the runs stand. `kept` are those that were queued."""

    def __init__(self, documents: Sequence[QueuedDocument], notes: Sequence[str], kept: int | None) -> None:
        self.documents, self.notes, self.kept = documents, notes, kept

    def table(self) -> Table:
        """Give one row for each document."""
        rows = [(one.topic, one.document, one.weight, one.run, one.rank, one.other_rank) for one in self.documents]
        columns = [
            Column("topic"),
            Column("document"),
            Column("weight", kind="number"),
            Column("run", "good for"),
            Column("rank", "at rank", "number"),
            Column("other_rank", "other's rank", "number"),
        ]
        return table_of(columns, rows, caption="What to judge, the heaviest first" if rows else "Nothing to judge")


def settle(
    inputs: Inputs,
    first: str,
    second: str | None,
    measures: str | Sequence[str],
    closure: Closure,
    *,
    everything: bool,
    queue: str,
    into: str,
) -> Queue:
    """Find what to judge to decide between two runs, or to make one safe; keep it as a queue where one is named."""
    refuse_unknown({"closure": closure})
    store = inputs.collection("a queue") if queue else inputs.store
    asked = inputs.request(measures, [first] if second is None else [first, second])
    problems: list[Problem] = []
    asked = replace(asked, runs=runs_without_pipes(asked.runs, problems))  # they are looked at twice
    if problems:
        raise ProblemsFound("these runs cannot be read", problems)
    wanted, runs = inputs.own_measures(measures), inputs.in_full(asked.runs)
    with inputs.progress() as progress:
        field = inputs.field(asked, progress)
        if second is None:
            said, documents = narrowed(made_safe(field, wanted, runs, store=store), everything=everything)
        else:
            found = settled(field, wanted, runs, store=store, closure=closure)
            said, documents = decided(found, everything=everything)
    kept = None
    if queue and store is not None:
        why = f"settles {first} against {second}" if second else f"makes {first} safe"
        kept = keep_queue(store, queue, documents, purpose="settle", why=why, layer=into)
    return Queue(documents, said, kept)


def settled(
    field: Field,
    measures: Sequence[Measure],
    runs: Sequence[str | AnyRun],
    *,
    store: Store | None,
    closure: Closure = "at-k",
) -> list[Settled]:
    """Find what to judge to decide between the first two runs of a field, which are named or given with their ids."""
    from cranfield.reuse.intervals import interval_depth
    from cranfield.reuse.pairs import open_score
    from cranfield.reuse.settle import settle

    speed = Speed(ASSUMED_SECONDS) if store is None else judging_speed(store)
    trust = trusted(field, measures, store=store)
    aligned, documents = with_documents(Asked(qrels=field.read.qrels, runs=tuple(runs)), store)
    found = []
    for measure in measures:
        pair = open_score(
            aligned,
            documents,
            measure,
            0,
            1,
            depth=interval_depth(measure, pool_depth=field.depth),
            closure=closure,
            highest=highest_grade(store),
        )
        found.append(Settled(measure, claim_with_test(pair, trust.of(measure), 0, 1), settle(pair), speed))
    return found


def with_documents(asked: Asked, store: Store | None, *, topics: TopicSet = "qrels") -> tuple[Alignment, Identities]:
    """Align runs with the ids of their documents: a document that two runs share has one label."""
    from cranfield.evaluate.align import align
    from cranfield.reuse.intervals import identities

    qrels, runs = read_in_full(asked, store)
    aligned = align(qrels, runs, topics=topics, reference=asked.like or "10")
    return aligned, identities(aligned, runs)


def highest_grade(store: Store | None) -> int | None:
    """Give the highest grade of the collection's scale: a hole may have it even where no document has."""
    from cranfield.store import scales

    return None if store is None else scales.current(store)[1].highest


def claim_with_test(
    pair: OpenScore, known: Trust | None, first: int, second: int, *, name_documents: bool = True
) -> Claim:
    """Give what may be said of two runs, the first and the second of a pair, by their losses and a paired t-test.

    `first` and `second` are their places among the runs of which something is known.
    """
    import numpy as np

    from cranfield.compare.significance.student import student
    from cranfield.reuse.pairs import claim_of

    loss = None if known is None or known.assessment.loss is None else known.assessment.loss.upper
    upper = None if loss is None else (float(loss[first]), float(loss[second]))
    values = pair.difference.values
    rng = np.random.default_rng(SEED)
    p_value = float(student(values, np.zeros_like(values), rng=rng).p) if len(values) > 1 else None
    return claim_of(pair, loss95=upper, p_value=p_value, name_documents=name_documents)


def made_safe(
    field: Field, measures: Sequence[Measure], runs: Sequence[str | AnyRun], *, store: Store | None
) -> list[tuple[SafeQueue, Speed]]:
    """Find what to judge to bring the first run of a field to SAFE; it is named or given with its ids."""
    from cranfield.reuse.intervals import interval_depth
    from cranfield.reuse.settle import make_safe

    aligned, documents = with_documents(Asked(qrels=field.read.qrels, runs=tuple(runs)), store)
    speed = Speed(ASSUMED_SECONDS) if store is None else judging_speed(store)
    return [
        (
            make_safe(
                aligned,
                documents,
                trust.measure,
                0,
                tolerance=trust.assessment.tolerance,
                depth=interval_depth(trust.measure, pool_depth=field.depth),
                highest=highest_grade(store),
            ),
            speed,
        )
        for trust in trusted(field, measures, store=store).trusts
    ]


def keep_queue(
    store: Store, name: str, documents: Sequence[QueuedDocument], *, purpose: str, why: str, layer: str = "main"
) -> int:
    """Keep documents as a queue that `cranfield judge --queue NAME` hands out; gives how many there are."""
    if not documents:
        raise InputError("there is nothing to judge: the queue would be empty")
    known = stored_documents.known(store, [one.document for one in documents])
    unknown = [one.document for one in documents if one.document not in known]
    if unknown:
        raise InputError(f"{quoted(unknown[0])} is not in the collection, and cannot be shown to an assessor")
    queued = [
        Queued(one.topic, one.document, f"{why}: weight {one.weight:.4f}, {one.run} rank {one.rank}")
        for one in documents
    ]
    with store.write():
        add_queue(store, name, queued, purpose=purpose, layer=layer, now=now())
    return len(queued)


def first_of(settled: Settled) -> tuple[QueuedDocument, ...]:
    """Give the documents that suffice if none of them is relevant; all where that is not known."""
    count = settled.settlement.if_not_relevant
    return settled.settlement.queue if count is None else settled.settlement.queue[:count]


# What settles a pair of runs, or makes one safe, in sentences and as a table.


def decided(found: Sequence[Settled], *, everything: bool) -> tuple[list[str], list[QueuedDocument]]:
    """Say how two runs stand, and give the documents that probably decide between them, or everything that could."""
    said = [sentence for one in found for sentence in _told(one)]
    return said, _merged([one.settlement.queue if everything else first_of(one) for one in found])


def _told(one: Settled) -> list[str]:
    claim, found = one.claim, one.settlement
    if not claim.winner:
        low, high = claim.ends
        return [
            f"{one.measure}: the two runs are equal, and labels could make the difference {low:+.4f} to {high:+.4f}"
        ]
    low, high = claim.ends
    lead = f"{claim.winner} leads {claim.loser} by {claim.lead:.4f} ({low:+.4f} to {high:+.4f})"
    said = [f"{one.measure}: {lead}: {claim.level.upper()}, {claim.reason}"]
    if found.is_decided:
        return said
    likely = found.if_not_relevant
    if likely is None:
        said.append("no number of judgments is known to decide it for certain; the heaviest documents come first")
        return said
    certain = "" if found.for_certain is None else f"; {found.for_certain:,} decide it whatever they are"
    said.append(f"judging {counted(likely, 'document')} decides it if none of them is relevant{certain}")
    said.append(f"that takes {one.speed.cost(likely)}")
    return said


def narrowed(found: Sequence[tuple[SafeQueue, Speed]], *, everything: bool) -> tuple[list[str], list[QueuedDocument]]:
    """Say what makes a run safe, and give the documents that probably do, or those that do whatever they are."""
    queues = []
    for narrowing, _ in found:
        count = narrowing.for_certain if everything else narrowing.if_not_relevant
        queues.append(narrowing.queue[:count] if count is not None else narrowing.queue)
    return [sentence for one in found for sentence in _narrowing(*one)], _merged(queues)


def _narrowing(narrowing: SafeQueue, speed: Speed) -> Iterator[str]:
    yield f"{narrowing.measure} of {narrowing.run}: labels can move it by {narrowing.width:.4f}"
    if narrowing.width <= narrowing.tolerance:
        yield "that is safe already: there is nothing to judge"
    elif narrowing.if_not_relevant is None:
        yield "judging alone cannot make it safe: what it lacks lies beyond its lists"
    else:
        likely, sure = narrowing.if_not_relevant, narrowing.for_certain
        many = counted(likely, "document")
        certain = "" if sure is None or sure == likely else f"; {sure:,} whatever they are"
        yield f"judging {many} brings that to {narrowing.tolerance:g} if none is relevant{certain}"
        yield f"that takes {speed.cost(likely)}"


def _merged(queues: Sequence[Sequence[QueuedDocument]]) -> list[QueuedDocument]:
    """Give the documents of several measures once each, the heaviest first."""
    best: dict[tuple[str, str], QueuedDocument] = {}
    for queue in queues:
        for one in queue:
            known = best.get((one.topic, one.document))
            if known is None or abs(one.weight) > abs(known.weight):
                best[one.topic, one.document] = one
    return sorted(best.values(), key=lambda one: (-abs(one.weight), one.topic, one.document))


# Runs in sentences: what each score is, why it is doubtful, what of its wins and defeats stands, what settles it.

NEIGHBOURS = 10
"""With how many runs next above and next below a run is compared: farther ones are seldom in doubt."""


@dataclass(frozen=True, eq=False)
class _Described:
    """A field of runs whose pairs can be looked at; documents are read when the first pair is."""

    found: Trusted
    store: Store | None

    @cached_property
    def _aligned(self) -> tuple[Alignment, Identities]:
        field = self.found.field
        asked = Asked(qrels=field.read.qrels, runs=field.words)
        return with_documents(asked, self.store, topics=field.read.aligned.topic_ids)

    def pair(self, trust: Trust, run: int, other: int) -> OpenScore:
        """Give two runs to be compared."""
        from cranfield.reuse.intervals import interval_depth
        from cranfield.reuse.pairs import open_score

        depth = interval_depth(trust.measure, pool_depth=self.found.field.depth)
        highest = highest_grade(self.store)
        closure, further = self.found.bounds.closure, self.found.bounds.further
        return open_score(
            *self._aligned,
            trust.measure,
            run,
            other,
            depth=depth,
            closure=closure,
            further=further,
            highest=highest,
        )

    def claim(self, trust: Trust, run: int, other: int) -> Claim:
        """Give what may be said of two runs."""
        return claim_with_test(self.pair(trust, run, other), trust, run, other, name_documents=False)

    def settled_by(self, trust: Trust, run: int, other: int) -> int | None:
        """Give how many documents settle a pair if none is relevant; None where judging is not known to settle it."""
        from cranfield.reuse.settle import settle

        pair = self.pair(trust, run, other)
        return None if pair.interval.kind == "none" else settle(pair).if_not_relevant


def accounts(found: Trusted, *, store: Store | None) -> Iterator[str]:
    """Give every run under every measure in sentences."""
    from cranfield.reuse.verdict import account

    described = _Described(found, store)
    for run in range(found.field.asked):
        for trust in found.trusts:
            told = account_of(found, trust, run)
            if trust.assessment.evidence[run].unjudged:
                told = replace(told, **_pairs(described, trust, run))
            yield account(told)


def _pairs(described: _Described, trust: Trust, run: int) -> dict[str, Any]:
    """Give the runs it beats for good, those that beat it for good, those it may yet beat, and what settles one."""
    names = trust.assessment.run_names
    wins, lost, defeats, nearest = [], [], [], None
    for other in _neighbours(described.found, trust, run):
        claim = described.claim(trust, run, other)
        if claim.winner == names[run] and claim.level != "open":
            wins.append(names[other])
        elif claim.winner == names[other] and claim.level == "open":
            defeats.append(names[other])
            nearest = other if nearest is None else nearest
        elif claim.winner == names[other]:
            lost.append(names[other])
    needed = None if nearest is None else described.settled_by(trust, run, nearest)
    return {
        "standing_wins": {str(trust.measure): wins},
        "standing_defeats": lost,
        "open_defeats": defeats,
        "settled_by": {} if needed is None or nearest is None else {names[nearest]: needed},
    }


def _neighbours(found: Trusted, trust: Trust, run: int) -> list[int]:
    """Give the runs next to one by score: those above it from the nearest on, then those below."""
    score = trust.assessment.score
    others = [other for other in range(found.field.asked) if other != run]
    above = sorted((other for other in others if score[other] > score[run]), key=lambda other: score[other])
    below = sorted((other for other in others if score[other] <= score[run]), key=lambda other: -score[other])
    return above[:NEIGHBOURS] + below[:NEIGHBOURS]
