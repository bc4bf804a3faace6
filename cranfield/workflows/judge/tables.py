"""What is known of agreement, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.base.tables import Column, Table, Value, table_of

if TYPE_CHECKING:
    from cranfield.judge.agreement import Estimate
    from cranfield.workflows.judge.agreement import AgreementReport, Compared, Group


KINDS = ("overall", "pair", "topic", "time", "probes", "confusion")
"""The tables there are: what `--by` takes."""

_SHOWN = ("raw", "positive", "kappa", "kappa-quadratic", "alpha-ordinal")
_LONG: tuple[Column | str, ...] = (
    *("of", "and", "coefficient"),
    *(Column(name, kind="number", digits=3) for name in ("value", "low", "high")),
    "items",
)


def long_table(report: AgreementReport, kind: str) -> Table:
    """Give one row per coefficient, with its interval: for data formats."""
    if kind == "confusion":
        return confusion_table(report)
    if kind in ("pair", "probes"):
        compared = report.pairs if kind == "pair" else report.probes
        rows = [_cells(one.first, one.second, estimate) for one in compared for estimate in one.estimates]
        return table_of(_LONG, rows)
    rows = [
        _cells(group.name, f"{group.start}/{group.end}" if group.start else "", estimate)
        for group in _groups(report, kind)
        for estimate in group.estimates
    ]
    return table_of(_LONG, rows)


def long_estimates(of: str, other: str, estimates: Sequence[Estimate]) -> Table:
    """Give the coefficients of one comparison, each with the ends of its interval as numbers: for data formats."""
    return table_of(_LONG, [_cells(of, other, estimate) for estimate in estimates])


def _cells(of: str, other: str, estimate: Estimate) -> tuple[Value, ...]:
    return of, other, estimate.coefficient, estimate.value, estimate.low, estimate.high, estimate.items


def _groups(report: AgreementReport, kind: str) -> Sequence[Group]:
    return {"overall": (report.overall,), "topic": report.topics, "time": report.periods}[kind]


def shown_table(report: AgreementReport, kind: str) -> Table:
    """Give a table for people: one row per coefficient for all, else one row per pair, topic or stretch of time."""
    if kind == "confusion":
        return _confusion_matrix(report)
    if kind == "overall":
        return overall_table(report.overall.estimates, "Agreement of all assessors, with 95 % intervals")
    if kind in ("pair", "probes"):
        return _compared_table(report, kind)
    return _groups_table(report, kind)


def overall_table(estimates: Sequence[Estimate], caption: str) -> Table:
    """Give one row per coefficient, with what it is."""
    from cranfield.judge.agreement import COEFFICIENTS

    rows = [
        (one.coefficient, one.value, _interval(one), one.items, COEFFICIENTS[one.coefficient]) for one in estimates
    ]
    value = Column("value", kind="number", digits=3)
    columns: list[Column | str] = ["coefficient", value, "interval", "items", Column("what", "what it is")]
    uneven = len({one.items for one in estimates}) > 1
    notes = ["fleiss: the items with the commonest number of opinions"] if uneven else []
    return table_of(columns, rows, caption=caption, notes=notes)


def _interval(one: Estimate) -> str:
    return "not defined" if one.low is None or one.high is None else f"{one.low:.3f} to {one.high:.3f}"


def _compared_table(report: AgreementReport, kind: str) -> Table:
    compared: Sequence[Compared] = report.pairs if kind == "pair" else report.probes
    head = ["first", "second"] if kind == "pair" else ["assessor"]
    columns: list[Column | str] = [*head, "items", *_numbers(_SHOWN), Column("shift", kind="number", digits=3)]
    rows = [
        (*((one.first, one.second) if kind == "pair" else (one.first,)), *_values(one.estimates), one.shift)
        for one in compared
    ]
    said = "Pairs of assessors" if kind == "pair" else "The first answer and the one to the same document seen again"
    return table_of(columns, rows, caption=said, notes=["shift: by how much the second gives more, in the mean"])


def _groups_table(report: AgreementReport, kind: str) -> Table:
    shown = ("raw", "positive", "fleiss", "alpha-ordinal")
    relevant = Column("relevant", "share relevant", kind="number", digits=3)
    groups = _groups(report, kind)
    if kind == "topic":
        rows = [(one.name, *_values(one.estimates, shown), one.share_relevant) for one in groups]
        return table_of(["topic", "items", *_numbers(shown), relevant], rows, caption="Topics")
    rows = [(one.start[:16], one.end[:16], *_values(one.estimates, shown), one.share_relevant) for one in groups]
    return table_of(["from", "to", "items", *_numbers(shown), relevant], rows, caption="Over time")


def _numbers(names: Sequence[str]) -> list[Column]:
    return [Column(name, kind="number", digits=3) for name in names]


def _values(estimates: Sequence[Estimate], names: Sequence[str] = _SHOWN) -> tuple[Value, ...]:
    by_name = {one.coefficient: one for one in estimates}
    items = max((one.items for one in estimates), default=0)
    return items, *(by_name[name].value for name in names)


def confusion_table(report: AgreementReport) -> Table:
    """Give the pairs of opinions on the same document by their two grades."""
    grades = report.steps.names
    rows = [
        (low, high, int(report.confusion[row, column]))
        for row, low in enumerate(grades)
        for column, high in enumerate(grades)
        if row <= column
    ]
    return table_of(["grade", "other", "pairs"], rows, caption="Pairs of opinions by their grades")


def _confusion_matrix(report: AgreementReport) -> Table:
    grades = report.steps.names
    columns = [Column("grade"), *(Column(str(grade), kind="number") for grade in grades)]
    rows = [
        (str(grade), *(int(count) if place >= row else None for place, count in enumerate(report.confusion[row])))
        for row, grade in enumerate(grades)
    ]
    caption = "Pairs of opinions on the same document: the lower grade by rows, the higher by columns"
    return table_of(columns, rows, caption=caption)
