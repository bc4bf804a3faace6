"""The few documents whose judging decides between two runs, or makes one score safe, as a judging queue."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.errors import InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.evaluate_reading import read_in_full, runs_without_pipes
from cranfield.workflows.pool_speed import ASSUMED_SECONDS, Speed, judging_speed
from cranfield.workflows.reuse_asking import Doubt, asked_field
from cranfield.workflows.reuse_field import Field
from cranfield.workflows.trust import SEED, Trust, trusted
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.documents import known_among
from cranfield.store.queues import Queued, add_queue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.evaluate.align import Alignment, AnyRun, TopicSet
    from cranfield.evaluate.expression import Measure
    from cranfield.reuse.bounds import Closure
    from cranfield.reuse.claims import Claim
    from cranfield.reuse.identities import Identities
    from cranfield.reuse.pairs import Contest
    from cranfield.reuse.queued import QueuedDocument
    from cranfield.reuse.settling import Narrowing, Settlement


@dataclass(frozen=True, eq=False)
class Settled:
    """What decides between two runs under a measure: what may be said now, and what to judge."""

    measure: "Measure"
    claim: "Claim"
    settlement: "Settlement"
    speed: Speed


def settle_runs(doubt: Doubt, *, store: Store | None, closure: "Closure" = "at-k") -> list[Settled]:
    """Find what to judge to decide between two runs, measure by measure."""
    if len(doubt.runs) != 2:
        raise UsageError("settle takes two runs")
    doubt = _without_pipes(doubt)
    return settled(*asked_field(doubt, store=store), doubt.runs, store=store, closure=closure)


def settled(
    field: Field,
    measures: "Sequence[Measure]",
    runs: "Sequence[str | AnyRun]",
    *,
    store: Store | None,
    closure: "Closure" = "at-k",
) -> list[Settled]:
    """Find what to judge to decide between the first two runs of a field, which are named or given with their ids."""
    from cranfield.reuse.bounds import depth_that_matters
    from cranfield.reuse.pairs import contest_of
    from cranfield.reuse.settling import settle

    speed = Speed(ASSUMED_SECONDS) if store is None else judging_speed(store)
    trust = trusted(field, measures, store=store)
    aligned, documents = with_documents(Asked(qrels=field.read.qrels, runs=tuple(runs)), store)
    found = []
    for measure in measures:
        contest = contest_of(
            aligned,
            documents,
            measure,
            0,
            1,
            depth=depth_that_matters(measure, pool_depth=field.depth),
            closure=closure,
            highest=highest_grade(store),
        )
        found.append(Settled(measure, claim_with_test(contest, trust.of(measure), 0, 1), settle(contest), speed))
    return found


def with_documents(
    asked: Asked, store: Store | None, *, topics: "TopicSet" = "qrels"
) -> "tuple[Alignment, Identities]":
    """Align runs with the ids of their documents: a document that two runs share has one label."""
    from cranfield.evaluate.align import align
    from cranfield.reuse.identities import identities

    qrels, runs = read_in_full(asked, store)
    aligned = align(qrels, runs, topics=topics, reference=asked.like or "10")
    return aligned, identities(aligned, runs)


def highest_grade(store: Store | None) -> int | None:
    """Give the highest grade of the collection's scale: a hole may have it even where no document has."""
    from cranfield.store.scales import current_scale

    return None if store is None else current_scale(store)[1].highest


def claim_with_test(
    contest: "Contest", known: Trust | None, first: int, second: int, *, name_documents: bool = True
) -> "Claim":
    """Give what may be said of two runs, the first and the second of a contest, by their losses and a paired t-test.

    `first` and `second` are their places among the runs of which something is known.
    """
    import numpy as np

    from cranfield.compare.significance.student import student
    from cranfield.reuse.claims import claim_of
    from cranfield.reuse.pairs import difference_of

    loss = None if known is None or known.assessment.loss is None else known.assessment.loss.upper
    upper = None if loss is None else (float(loss[first]), float(loss[second]))
    values = difference_of(contest).values
    rng = np.random.default_rng(SEED)
    p_value = float(student(values, np.zeros_like(values), rng=rng).p) if len(values) > 1 else None
    return claim_of(contest, loss95=upper, p_value=p_value, name_documents=name_documents)


def safe_run(doubt: Doubt, *, store: Store | None) -> "list[tuple[Narrowing, Speed]]":
    """Find what to judge to bring a run to SAFE, measure by measure that takes a verdict."""
    doubt = _without_pipes(doubt)
    return made_safe(*asked_field(doubt, store=store), doubt.runs, store=store)


def _without_pipes(doubt: Doubt) -> Doubt:
    """Give the same doubt with the runs read that come through pipes: they are looked at twice."""
    problems: list[Problem] = []
    runs = runs_without_pipes(doubt.runs, problems)
    if problems:
        raise ProblemsFound("these runs cannot be read", problems)
    return replace(doubt, runs=runs)


def made_safe(
    field: Field, measures: "Sequence[Measure]", runs: "Sequence[str | AnyRun]", *, store: Store | None
) -> "list[tuple[Narrowing, Speed]]":
    """Find what to judge to bring the first run of a field to SAFE; it is named or given with its ids."""
    from cranfield.reuse.bounds import depth_that_matters
    from cranfield.reuse.settling import to_safe

    aligned, documents = with_documents(Asked(qrels=field.read.qrels, runs=tuple(runs)), store)
    speed = Speed(ASSUMED_SECONDS) if store is None else judging_speed(store)
    return [
        (
            to_safe(
                aligned,
                documents,
                trust.measure,
                0,
                tolerance=trust.assessment.tolerance,
                depth=depth_that_matters(trust.measure, pool_depth=field.depth),
                highest=highest_grade(store),
            ),
            speed,
        )
        for trust in trusted(field, measures, store=store).trusts
    ]


def keep_queue(
    store: Store, name: str, documents: "Sequence[QueuedDocument]", *, purpose: str, why: str, layer: str = "main"
) -> int:
    """Keep documents as a queue that `cranfield judge --queue NAME` hands out; gives how many there are."""
    if not documents:
        raise InputError("there is nothing to judge: the queue would be empty")
    known = known_among(store, [one.document for one in documents])
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


def first_of(settled: Settled) -> "tuple[QueuedDocument, ...]":
    """Give the documents that suffice if none of them is relevant; all where that is not known."""
    count = settled.settlement.if_not_relevant
    return settled.settlement.queue if count is None else settled.settlement.queue[:count]
