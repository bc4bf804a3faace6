"""What settles a pair of runs, or makes one safe, in sentences and as a table."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cranfield.workflows.settling import Settled, first_of
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.report.table import Table
    from cranfield.reuse.queued import QueuedDocument
    from cranfield.reuse.settling import Narrowing
    from cranfield.workflows.pool_speed import Speed


def decided(found: Sequence[Settled], *, everything: bool) -> "tuple[list[str], list[QueuedDocument]]":
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


def narrowed(
    found: "Sequence[tuple[Narrowing, Speed]]", *, everything: bool
) -> "tuple[list[str], list[QueuedDocument]]":
    """Say what makes a run safe, and give the documents that probably do, or those that do whatever they are."""
    queues = []
    for narrowing, _ in found:
        count = narrowing.for_certain if everything else narrowing.if_not_relevant
        queues.append(narrowing.queue[:count] if count is not None else narrowing.queue)
    return [sentence for one in found for sentence in _narrowing(*one)], _merged(queues)


def _narrowing(narrowing: "Narrowing", speed: "Speed") -> Iterator[str]:
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


def _merged(queues: "Sequence[Sequence[QueuedDocument]]") -> "list[QueuedDocument]":
    """Give the documents of several measures once each, the heaviest first."""
    best: dict[tuple[str, str], QueuedDocument] = {}
    for queue in queues:
        for one in queue:
            known = best.get((one.topic, one.document))
            if known is None or abs(one.weight) > abs(known.weight):
                best[one.topic, one.document] = one
    return sorted(best.values(), key=lambda one: (-abs(one.weight), one.topic, one.document))


def queue_table(documents: "Sequence[QueuedDocument]") -> "Table":
    """Give documents to judge as a table, the heaviest first."""
    from cranfield.report.table import Column, table_of

    rows = [(one.topic, one.document, one.weight, one.run, one.rank, one.other_rank) for one in documents]
    columns = [Column("topic"), Column("document"), Column("weight", numeric=True), Column("run", "good for")]
    columns += [Column("rank", "at rank", numeric=True), Column("other_rank", "other's rank", numeric=True)]
    return table_of(columns, rows, caption="What to judge, the heaviest first" if rows else "Nothing to judge")


def purpose_of(run: str, other: str | None) -> str:
    """Say what a queue is for."""
    return f"settles {run} against {other}" if other else f"makes {run} safe"
