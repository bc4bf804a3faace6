"""Lists laid open, for people side by side and as data one below the other."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from cranfield.cli import console

if TYPE_CHECKING:
    from cranfield.evaluate.explain import Step
    from cranfield.report.table import Table, Value
    from cranfield.workflows.evaluate_asked import Asked
    from cranfield.workflows.explaining import Explained
    from cranfield.workflows.opening import Store

_LONG_FORMATS = ("csv", "json", "jsonl")
_NUMBERS = ("P", "R", "DCG")
_DIGITS, _FEWER_DIGITS = 4, 3


def refuse_beside_explain(words: Sequence[str], given: Mapping[str, object]) -> None:
    """Refuse a call that does not name a run and a topic, and options that would change nothing."""
    if len(words) not in (2, 3):
        raise typer.BadParameter("--explain takes RUN TOPIC, or RUN TOPIC RUN")
    idle = [name for name, value in given.items() if value]
    if idle:
        raise typer.BadParameter(
            f"--explain lays open the lists of one topic; {', '.join(idle)} would change nothing"
        )


def lay_open(asked: "Asked", topic: str, depth: int, store: "Store | None", format: str) -> None:
    """Write the lists of runs for one topic."""
    from cranfield.workflows.explaining import explain_lists

    _put(explain_lists(asked, topic, depth=depth, store=store), format)


def _put(found: "Explained", format: str) -> None:
    """Write lists side by side, a little narrower where that makes them fit; else one below the other."""
    from cranfield.cli.evaluated import with_notes
    from cranfield.workflows.evaluate_notes import short_hash

    if format in _LONG_FORMATS:
        console.put_table(_long(found), format)
        return
    worth = ", ".join(f"{grade}: {gain:g}" for grade, gain in found.gains)
    scale = f"relevant from grade {found.rel} on" + (f"; gains in DCG {worth}" if worth else "")
    note = f"{scale}; qrels {short_hash(found.qrels_hash)}, order of ties as in {found.order}"
    lists = list(found)
    whole = next(
        (table for digits in (_DIGITS, _FEWER_DIGITS) if console.fits(table := _beside(found, lists, digits))), None
    )
    tables = [whole] if whole is not None else [_beside(found, [one], _DIGITS) for one in lists]
    for place, table in enumerate(tables):
        is_last = console.goes_elsewhere(format) and place == len(tables) - 1
        notes = [note, *(found.unseen if format != "table" else ())] if is_last else []
        console.put_table(with_notes(table, notes), format)
    for said in () if format != "table" else found.unseen:
        console.say(said)
    if not console.goes_elsewhere(format):
        console.say(note)


def _long(found: "Explained") -> "Table":
    """Give one row for each run and rank, with what it was made with."""
    from cranfield.report.table import table_of
    from cranfield.workflows.evaluate_notes import short_hash

    made = (short_hash(found.qrels_hash), found.order)
    rows = [
        (run, found.topic, step.rank, step.document, step.state, step.precision, step.recall, step.dcg, *made)
        for run, steps in found
        for step in steps
    ]
    return table_of(["run", "topic", "rank", "document", "grade", *_NUMBERS, "qrels", "reference"], rows)


def _beside(found: "Explained", lists: "list[tuple[str, list[Step]]]", digits: int) -> "Table":
    from cranfield.report.table import Column, table_of

    columns: list[Column] = [Column("rank", "rank" if digits == _DIGITS else "#", numeric=True)]
    for number, _ in enumerate(lists):
        mark = f"_{number + 1}" if len(lists) > 1 else ""
        columns += [Column(f"document{mark}", "document"), Column(f"grade{mark}", "grade")]
        columns += [Column(f"{name}{mark}", name, digits, numeric=True) for name in _NUMBERS]
    longest = max(len(steps) for _, steps in lists)
    rows = [(place + 1, *(cell for _, steps in lists for cell in _cells(steps, place))) for place in range(longest)]
    return table_of(columns, rows, caption=f"topic {found.topic}: {' | '.join(name for name, _ in lists)}")


def _cells(steps: "list[Step]", place: int) -> "tuple[Value, ...]":
    if place >= len(steps):
        return "", "", None, None, None
    step = steps[place]
    return step.document, step.state, step.precision, step.recall, step.dcg
