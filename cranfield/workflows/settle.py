"""The few documents whose judging decides between two runs, as a judging queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

import numpy as np

from cranfield.base.errors import InputError, quoted
from cranfield.base.text import Column, Number, Result, Shown, Surface, Table, Value, counted, table_of
from cranfield.evaluate import measure as measuring
from cranfield.evaluate.reading import Request, without_pipes
from cranfield.judge.queue import Speed
from cranfield.qrels.qrels import qrels_of
from cranfield.reuse import assess, labels, pairs
from cranfield.reuse import settle as settling
from cranfield.reuse.pairs import Claim, OpenScore, QueuedDocument
from cranfield.store import documents as stored_documents
from cranfield.store import judging as stored_judging
from cranfield.store.store import Store
from cranfield.workflows.inputs import Inputs, refuse_unknown
from cranfield.workflows.judge.queue import split_notes
from cranfield.workflows.pool.show import ASSUMED_SECONDS, judging_speed
from cranfield.workflows.reuse.field import Documents, Trusted, claim_of, open_score, with_documents

_COLUMNS = (
    *(Column("topic"), Column("document"), Number("weight"), Column("run", "favours")),
    *(Number("rank"), Number("other_rank", "rank in other run"), Column("measure")),
    *(Number("expected", digits=1), *map(Number, ("expected_low", "expected_high", "worst_case"))),
)

ROWS_SHOWN = 12
"""How many documents a screen of 24 lines has room for beside the notes."""


@dataclass(frozen=True)
class Queue(Result):
    """The documents to judge, in the order in which they decide soonest, and how the runs stand.

    A row also says which measure its document is listed for, and how many judgments are expected to decide.
    `kept` are those that were queued. Of many, a screen has the first, unless `everything` was wanted.
    """

    rows: Sequence[tuple[Value, ...]]
    kept: int | None
    everything: bool
    notes: Sequence[str]

    def table(self) -> Table:
        """Give one row for each document; the expected number of judgments is the same in all rows of a measure."""
        caption = "Documents to judge, in order" if self.rows else "Nothing to judge"
        return table_of(_COLUMNS, self.rows, caption=caption)

    def tables(self) -> Sequence[Table]:
        """Give people the documents alone: the notes tell the numbers."""
        return [self.table().select(range(_COLUMNS.index(Column("measure"))))]

    def on(self, surface: Surface) -> Shown:
        """All documents, or on a screen the first of many."""
        shown, more = super().on(surface), len(self.rows) - ROWS_SHOWN
        if surface != "terminal" or self.everything or more <= 0:
            return shown
        (table,) = shown.tables
        told = f"… and {counted(more, 'more document')}; --format csv lists all"
        return Shown(shown.notes, [replace(table, rows=table.rows[:ROWS_SHOWN])], [told])


def settle(
    inputs: Inputs,
    first: str,
    second: str,
    measures: str | Sequence[str] | None,
    *,
    until: settling.Goal,
    everything: bool,
    queue: str,
    into: str,
) -> Queue:
    """Find what to judge to decide between two runs; keep it as a queue where one is named.

    The documents are those that suffice if labels fall as expected; with `everything` all that could matter.
    """
    refuse_unknown({"until": until})
    store = inputs.collection("a queue") if queue else inputs.store
    with inputs.requested(measures, [first, second], default=("nDCG@10",)) as given:
        asked = without_pipes(given)  # the runs are looked at twice
        wanted = measuring.own_measures(measuring.parse_by_scale(asked.measures, asked.scale))
        runs = tuple(inputs.in_full(asked.runs))
        field = inputs.field(asked)
        trust = field.trusted(wanted)
        request = replace(asked, qrels=field.read.qrels, runs=runs)
        read = with_documents(request, topics=field.read.aligned.topic_ids)
        speed = Speed(ASSUMED_SECONDS) if store is None else judging_speed(store)
        notes, contests, every = [*given.notes, *field.notes], list[settling.Contest](), list[QueuedDocument]()
        found: list[list[tuple[Value, ...]]] = []
        for measure in wanted:
            pair = open_score(field, read, measure, 0, 1)
            contest = _contest(trust, request, read, pair, until)
            judging = contest.after({})[1]
            if queue and contest.needed({}):
                contests.append(contest)
                every += pair.queued(pair.order)
            settled = settling.settle(pair, judging, until)
            if settled.queue and np.isfinite(pair.difference.ends).all():
                expected = judging.expected_number(until, np.random.default_rng(assess.SEED))
                settled = replace(settled, expected=expected)
            # As many are listed as any draw took, for certain also those that do if none is relevant.
            enough = settled.if_not_relevant
            if settled.expected is not None:
                enough = max(settled.expected.high, 0 if until == "likely" else enough or 0)
            plan = str(measure), *(settled.expected or (None,) * 3), settled.for_certain
            found.append([(*one, *plan) for one in settled.queue[: None if everything else enough]])
            claim = claim_of(pair, trust.of(measure), 0, 1, inferred=field.knowledge.inferred)
            notes += _pair_notes(contest, claim, settled, judging, speed)
    # Of several measures their first documents come first, then their second ones, and so on.
    in_turn: dict[tuple[Value, ...], tuple[Value, ...]] = {}
    for row in filter(None, chain.from_iterable(zip_longest(*found))):
        in_turn.setdefault(row[:2], row)
    kept = None
    if queue and store is not None:
        # A live queue has all that could matter: after each judgment it hands out what is needed then.
        kept = _keep_queue(store, queue, every, contests, why=f"settles {first} against {second}", layer=into)
        notes += split_notes(store, queue)
        notes.append(
            "judgments chosen for a run favour it: after judging the qrels have another hash, and other runs are at a"
            " disadvantage"
        )
    return Queue([*in_turn.values()], kept, everything, notes)


def _contest(
    trust: Trusted, request: Request, read: Documents, pair: OpenScore, goal: settling.Goal
) -> settling.Contest:
    """A pair with the chances of its documents; labels that were chosen to settle runs only come in afterwards.

    They are no sample: what is learned of the unjudged documents is learned without them.
    """
    field, known = trust.field, trust.of(pair.measure)
    everyone, chosen = field.read.aligned, field.settled
    if chosen:
        others = [row for row in field.read.qrels if row[:2] not in chosen]
        read = with_documents(replace(request, qrels=qrels_of(others)), topics=everyone.topic_ids)
        pair = pairs.open_score(*read, pair.measure, 0, 1, depth=pair.depth, highest=pair.highest)
    unjudged, expected = pair.unjudged, None
    if known is not None and known.model is not None:
        depth, popularity, provenance = known.coverage.depth, None, field.knowledge.provenance
        if known.model.popular is not None and provenance is not None and everyone.pair_keys is not None:
            run, place = np.nonzero(unjudged.ranks)
            cell = run * len(everyone.topic_ids) + unjudged.topic[place]
            rows = everyone.lists.offsets[cell] + unjudged.ranks[run, place] - 1
            popularity = labels.Retrieved(everyone, provenance, depth).popularity[rows]
        expected = settling.learned_chances(pair, known.model, depth, popularity)
    return settling.Contest(pair, expected or settling.flat_chances(pair), goal, chosen, trust.thresholds)


def _pair_notes(
    contest: settling.Contest, claim: Claim, found: settling.Settlement, judging: settling.Judging, speed: Speed
) -> Iterator[str]:
    (low, high), measure, names = claim.ends, contest.pair.measure, contest.pair.alignment.run_names
    until, likely = contest.goal, contest.table.likely
    if not claim.winner:
        yield f"{measure}: the two runs are equal; judging could change the difference to {low:+.4f} to {high:+.4f}"
    else:
        lead = f"{claim.winner} leads {claim.loser} by {claim.lead:.4f} ({low:+.4f} to {high:+.4f})"
        reason = claim.reason.removeprefix(f"{claim.winner} leads by {claim.lead:.4f}, ")
        yield f"{measure}: {lead}: {claim.level.upper()}, {reason}"
    if not found.queue:
        return
    if found.expected is not None:
        ahead, gap = judging.ahead(judging.expected), judging.difference(judging.expected)[0]
        better, share, gap = (names[0], ahead, gap) if ahead >= 0.5 else (names[1], 1 - ahead, -gap)
        sure = f"is ahead with a probability of {min(share, 0.999):.1%} (expected lead {gap:+.4f})"
        yield f"once all of them are judged {better} {sure}"
        decides = "decides for certain" if until == "certain" else f"makes this {likely:.0%}"
        if until == "likely" and share >= likely:
            yield "this is likely enough without judging"
        else:
            mean, fewest, most = found.expected
            about = f"about {counted(round(mean), 'document')} ({fewest:,} to {most:,})"
            about = counted(most, "document") if fewest == most else about
            yield f"judging {about} {decides}; judging time: {speed.cost(round(mean))}"
    if judging.chances.flat:
        yield (
            "no model of unjudged documents: each is given the same chance to be relevant"
            f" ({float(judging.chances.expected.mean()):.0%}), and these numbers are rough"
        )
    if found.if_not_relevant is None:
        yield "no number of judgments is certain to decide"
        return
    certain = "" if found.for_certain is None else f"; {found.for_certain:,} decide whatever their grades"
    yield f"judging {counted(found.if_not_relevant, 'document')} decides if none of them is relevant{certain}"


def _keep_queue(
    store: Store,
    name: str,
    documents: Sequence[QueuedDocument],
    contests: Sequence[settling.Contest],
    *,
    why: str,
    layer: str,
) -> int:
    """Keep documents as a queue that `cranfield judge --queue NAME` hands out; gives how many there are."""
    if not documents:
        raise InputError("nothing to judge: which run is ahead is decided, or as likely as is wanted")
    if absent := stored_documents.unknown(store, {one.document for one in documents}):
        raise InputError(f"document {quoted(min(absent))} is not in the collection and cannot be judged")
    queued = {
        (one.topic, one.document): stored_judging.Queued(
            one.topic, one.document, f"{why}: weight {one.weight:.4f}, {one.run} rank {one.rank}"
        )
        for one in documents
    }
    decides = [one.to_json() for one in contests]
    with store.write():
        stored_judging.add_queue(store, name, queued.values(), purpose="settle", layer=layer, contests=decides)
    return len(queued)
