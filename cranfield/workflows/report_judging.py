"""What a report says about judging: progress, speed, agreement, drift."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cranfield.workflows.report_material import Material

if TYPE_CHECKING:
    from cranfield.judge.agreement import Estimate
    from cranfield.report.reports.collection_facts import JudgingPart
    from cranfield.report.table import Table, Value
    from cranfield.workflows.judge_agreement import AgreementReport, Group

_SHOWN = ("raw", "positive", "kappa", "kappa-quadratic", "alpha-ordinal")
_OF_GROUPS = ("raw", "positive", "fleiss", "alpha-ordinal")


def judging_part(material: Material) -> "JudgingPart | None":
    """Give what is known of judging; None where there is no pool to judge."""
    from cranfield.report.reports.collection_facts import JudgingPart

    found = material.judging
    if found is None:
        return None
    names = material.names
    return JudgingPart(
        documents=found.documents,
        judged=found.judged,
        missing=found.missing,
        seconds=found.seconds,
        assessors=tuple(
            (names.get(one.assessor, "?"), one.judged, one.cannot, one.postponed, one.seconds, one.last[:10])
            for one in found.assessors
        ),
        agreement=dict(_tables(material)),
        no_agreement=material.no_agreement,
    )


def _tables(material: Material) -> "Iterator[tuple[str, Table]]":
    report = material.agreement
    if report is None:
        return
    if report.overall.estimates and report.pairs:
        yield "agreement", _overall(report.overall.estimates)
        yield "agreement-pairs", _compared(material, report, probes=False)
        yield "agreement-topics", _groups(report.topics, "Agreement topic by topic", ("topic",))
        yield "agreement-over-time", _drift(report.periods)
    if report.probes:
        yield "agreement-with-oneself", _compared(material, report, probes=True)


def _overall(estimates: "Sequence[Estimate]") -> "Table":
    from cranfield.judge.agreement import COEFFICIENTS
    from cranfield.report.table import Column, table_of

    numbers = [Column(name, digits=3, numeric=True) for name in ("value", "low", "high")]
    columns = [Column("coefficient"), *numbers, Column("items", numeric=True), Column("what", "what it is")]
    rows = [
        (one.coefficient, one.value, one.low, one.high, one.items, COEFFICIENTS[one.coefficient]) for one in estimates
    ]
    return table_of(columns, rows, caption="Agreement of all assessors, with 95 % intervals")


def _compared(material: Material, report: "AgreementReport", *, probes: bool) -> "Table":
    from cranfield.report.table import Column, table_of

    head = ("assessor",) if probes else ("first", "second")
    rows = [
        (
            *(material.names.get(name, "?") for name in (one.first, one.second)[: len(head)]),
            *_values(one.estimates, _SHOWN),
            one.shift,
        )
        for one in (report.probes if probes else report.pairs)
    ]
    numbers = [Column(name, digits=3, numeric=True) for name in (*_SHOWN, "shift")]
    columns = [*(Column(name) for name in head), Column("items", numeric=True), *numbers]
    caption = "The same document seen again: how far assessors agree with themselves"
    note = "shift: by how much the second gives higher grades, in the mean"
    return table_of(columns, rows, caption=caption if probes else "Agreement of two", notes=[note])


def _groups(groups: "Sequence[Group]", caption: str, head: tuple[str, ...], notes: Sequence[str] = ()) -> "Table":
    from cranfield.report.table import Column, table_of

    rows = [
        (
            *((one.name,) if len(head) == 1 else (one.start[:16], one.end[:16])),
            *_values(one.estimates, _OF_GROUPS),
            one.share_relevant,
        )
        for one in groups
    ]
    numbers = [Column(name, digits=3, numeric=True) for name in _OF_GROUPS]
    share = Column("relevant", "share relevant", digits=3, numeric=True)
    columns = [*(Column(name) for name in head), Column("items", numeric=True), *numbers, share]
    return table_of(columns, rows, caption=caption, notes=notes)


def _drift(periods: "Sequence[Group]") -> "Table":
    note = "a share of relevant documents that rises or falls from block to block means that the standard drifted"
    return _groups(periods, "Over time: did the standard drift?", ("from", "to"), [note])


def _values(estimates: "Sequence[Estimate]", names: Sequence[str]) -> "tuple[Value, ...]":
    by_name = {one.coefficient: one.value for one in estimates}
    return max((one.items for one in estimates), default=0), *(by_name.get(name) for name in names)
