"""The few documents whose judging decides between two runs, or makes one score safe, as a judging queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np

from cranfield.base.errors import InputError, quoted
from cranfield.base.tables import Column, Result, Table, table_of
from cranfield.base.text import counted, now
from cranfield.compare.significance import student
from cranfield.evaluate import align
from cranfield.evaluate.measure import Measure
from cranfield.reuse import assess, intervals, pairs, verdict
from cranfield.reuse import settle as settling
from cranfield.reuse.assess import Assessment
from cranfield.reuse.pairs import Claim, OpenScore, QueuedDocument
from cranfield.store import documents as stored_documents
from cranfield.store import judging
from cranfield.store.store import Store
from cranfield.workflows.inputs import Inputs, refuse_unknown
from cranfield.workflows.pool.show import ASSUMED_SECONDS, Speed, judging_speed
from cranfield.workflows.reading import Request, read_in_full, without_pipes
from cranfield.workflows.reuse.field import Field, Trusted, trusted
from cranfield.workflows.reuse.reuse import account_of

Documents = tuple["align.Alignment", "intervals.Identities"]
"""Aligned runs with the ids of their documents."""

NEIGHBOURS = 10
"""With how many runs next above and next below a run is compared: farther ones are seldom in doubt."""


@dataclass(frozen=True)
class Queue(Result):
    """The documents to judge, the heaviest first, and how the runs stand. `kept` are those that were queued."""

    documents: Sequence[QueuedDocument]
    kept: int | None
    notes: Sequence[str]

    def table(self) -> Table:
        """Give one row for each document."""
        rows = [(one.topic, one.document, one.weight, one.run, one.rank, one.other_rank) for one in self.documents]
        columns = [
            Column("topic"),
            Column("document"),
            Column("weight", kind="number"),
            Column("run", "favours"),
            Column("rank", kind="number"),
            Column("other_rank", "rank in other run", "number"),
        ]
        return table_of(columns, rows, caption="Documents to judge, by weight" if rows else "Nothing to judge")


def settle(
    inputs: Inputs,
    first: str,
    second: str | None,
    measures: str | Sequence[str],
    closure: intervals.Closure,
    *,
    everything: bool,
    queue: str,
    into: str,
) -> Queue:
    """Find what to judge to decide between two runs, or to make one safe; keep it as a queue where one is named.

    The documents are those that suffice if none of them is relevant; with `everything` all that could matter.
    """
    refuse_unknown({"closure": closure})
    store = inputs.collection("a queue") if queue else inputs.store
    asked = inputs.request(measures, [first] if second is None else [first, second])
    asked = without_pipes(asked)  # the runs are looked at twice
    wanted, runs = inputs.own_measures(measures), tuple(inputs.in_full(asked.runs))
    with inputs.progress() as progress:
        field = inputs.field(asked, progress)
        trust = trusted(field, wanted, store=store)
        read = with_documents(Request(qrels=field.read.qrels, runs=runs), store)
        speed = Speed(ASSUMED_SECONDS) if store is None else judging_speed(store)
        notes: list[str] = []
        found: list[Sequence[QueuedDocument]] = []
        for measure in wanted if second else [one.measure for one in trust.trusts]:
            if second:
                pair = open_score(field, read, measure, 0, 1, store=store, closure=closure)
                settled = settling.settle(pair)
                found.append(settled.queue if everything else settled.queue[: settled.if_not_relevant])
                notes += _pair_notes(measure, claim_of(pair, trust.of(measure), 0, 1), settled, speed)
            else:
                tolerance = cast("Assessment", trust.of(measure)).tolerance
                score = open_score(field, read, measure, 0, store=store, tail="residual")
                safe = settling.make_safe(score, tolerance=tolerance)
                found.append(safe.queue[: safe.for_certain if everything else safe.if_not_relevant])
                notes += _safe_notes(score, safe, tolerance, speed)
    heaviest: dict[tuple[str, str], QueuedDocument] = {}  # of several measures
    for one in sorted((one for part in found for one in part), key=lambda one: -abs(one.weight)):
        heaviest.setdefault((one.topic, one.document), one)
    documents = sorted(heaviest.values(), key=lambda one: (-abs(one.weight), one.topic, one.document))
    kept = None
    if queue and store is not None:
        why = f"settles {first} against {second}" if second else f"makes {first} safe"
        kept = _keep_queue(store, queue, documents, why=why, layer=into)
    return Queue(documents, kept, notes)


def _pair_notes(measure: Measure, claim: Claim, found: settling.Settlement, speed: Speed) -> Iterator[str]:
    low, high = claim.ends
    if not claim.winner:
        yield f"{measure}: the two runs are equal; judging could change the difference to {low:+.4f} to {high:+.4f}"
        return
    lead = f"{claim.winner} leads {claim.loser} by {claim.lead:.4f} ({low:+.4f} to {high:+.4f})"
    yield f"{measure}: {lead}: {claim.level.upper()}, {claim.reason}"
    likely = found.if_not_relevant
    if not found.queue:
        return
    if likely is None:
        yield "no number of judgments is certain to decide; documents are ordered by weight"
        return
    certain = "" if found.for_certain is None else f"; {found.for_certain:,} decide whatever their grades"
    yield f"judging {counted(likely, 'document')} decides if none of them is relevant{certain}"
    yield f"judging time: {speed.cost(likely)}"


def _safe_notes(score: OpenScore, safe: settling.Settlement, tolerance: float, speed: Speed) -> Iterator[str]:
    width = score.difference.width
    yield f"{score.measure} of {score.alignment.run_names[0]}: judging could change it by {width:.4f}"
    likely, sure = safe.if_not_relevant, safe.for_certain
    if width <= tolerance:
        yield "within the tolerance: nothing to judge"
    elif likely is None:
        yield "judging cannot narrow this to the tolerance: it depends on documents beyond the end of the rankings"
    else:
        certain = "" if sure is None or sure == likely else f"; {sure:,} whatever their grades"
        yield f"judging {counted(likely, 'document')} narrows this to {tolerance:g} if none is relevant{certain}"
        yield f"judging time: {speed.cost(likely)}"


def _keep_queue(store: Store, name: str, documents: Sequence[QueuedDocument], *, why: str, layer: str) -> int:
    """Keep documents as a queue that `cranfield judge --queue NAME` hands out; gives how many there are."""
    if not documents:
        raise InputError("nothing to judge: the queue would be empty")
    known = stored_documents.known(store, [one.document for one in documents])
    unknown = [one.document for one in documents if one.document not in known]
    if unknown:
        raise InputError(f"document {quoted(unknown[0])} is not in the collection and cannot be judged")
    queued = [
        judging.Queued(one.topic, one.document, f"{why}: weight {one.weight:.4f}, {one.run} rank {one.rank}")
        for one in documents
    ]
    with store.write():
        judging.add_queue(store, name, queued, purpose="settle", layer=layer, now=now())
    return len(queued)


def with_documents(asked: Request, store: Store | None, *, topics: align.TopicSet = "qrels") -> Documents:
    """Align runs with the ids of their documents: a document that two runs share has one label."""
    qrels, runs = read_in_full(asked, store)
    aligned = align.align(qrels, runs, topics=topics, reference=asked.like or "10")
    return aligned, intervals.identities(aligned, runs)


def open_score(
    field: Field, read: Documents, measure: Measure, *runs: int, store: Store | None, **options: Any
) -> OpenScore:
    """The score of one run, or the difference between two, while documents within the depth of a field are unjudged.

    An unjudged document may have the highest grade of the collection's scale even where no other has.
    """
    depth = intervals.interval_depth(measure, pool_depth=field.knowledge.pool_depth)
    highest = None if store is None else store.scale().highest
    return pairs.open_score(*read, measure, *runs, depth=depth, highest=highest, **options)


def claim_of(
    pair: OpenScore, known: Assessment | None, first: int, second: int, *, p: float | None = None, **options: bool
) -> Claim:
    """What may be said of a pair by the losses of its runs and p, which is that of a t-test if none is given.

    `first` and `second` are the places of the runs in what is known of them.
    """
    loss = None if known is None or known.loss is None else known.loss.upper
    upper = None if loss is None else (float(loss[first]), float(loss[second]))
    values, rng = pair.difference.values, np.random.default_rng(assess.SEED)
    if p is None and len(values) > 1:
        p = float(student.student(values, np.zeros_like(values), rng=rng).p)
    return pairs.claim_of(pair, loss95=upper, p_value=p, **options)


def accounts(found: Trusted, *, store: Store | None) -> Iterator[str]:
    """Give every run under every measure in sentences: its score, which wins and defeats stand, and what settles it.

    Documents are read when the first pair is looked at.
    """
    field = found.field

    @cache
    def read() -> Documents:
        asked = Request(qrels=field.read.qrels, runs=field.words)
        return with_documents(asked, store, topics=field.read.aligned.topic_ids)

    def pair_of(one: Assessment, run: int, other: int) -> OpenScore:
        limits = {"closure": found.bounds.closure, "further": found.bounds.further}
        return open_score(field, read(), one.measure, run, other, store=store, **limits)

    def standing(trust: Assessment, run: int) -> dict[str, Any]:
        """Give the runs it beats for good, that beat it for good, that it may yet beat, and what settles one."""
        names, score = trust.run_names, trust.score
        others = [other for other in range(field.asked) if other != run]
        above = sorted((other for other in others if score[other] > score[run]), key=lambda other: score[other])
        below = sorted((other for other in others if score[other] <= score[run]), key=lambda other: -score[other])
        wins, lost, open_defeats = list[int](), list[int](), list[int]()
        for other in above[:NEIGHBOURS] + below[:NEIGHBOURS]:
            claim = claim_of(pair_of(trust, run, other), trust, run, other, name_documents=False)
            if claim.winner == names[other]:
                (open_defeats if claim.level == "open" else lost).append(other)
            elif claim.winner == names[run] and claim.level != "open":
                wins.append(other)
        needed = None
        if open_defeats:
            nearest = pair_of(trust, run, open_defeats[0])
            needed = None if nearest.interval.missing else settling.settle(nearest).if_not_relevant
        return {
            "standing_wins": {str(trust.measure): [names[other] for other in wins]},
            "standing_defeats": [names[other] for other in lost],
            "open_defeats": [names[other] for other in open_defeats],
            "settled_by": {} if needed is None else {names[open_defeats[0]]: needed},
        }

    for run in range(field.asked):
        for trust in found.trusts:
            told = account_of(found, trust, run)
            if trust.evidence[run].unjudged:
                told = replace(told, **standing(trust, run))
            yield verdict.account(told)
