"""Tables as a piece of HTML that stands in somebody else's page, a notebook; what came from outside is escaped."""

from collections.abc import Iterable
from html import escape

from cranfield.report.table import Column, Table, printed
from cranfield.text import visible_line

ROWS_SHOWN = 60
"""How many rows of a table are shown; the frames have all."""


def snippet(tables: Iterable[Table], *, heading: str = "", notes: Iterable[str] = ()) -> str:
    """Give tables one below the other, with a heading and sentences. There is no script, and no style that leaks."""
    parts = [f"<p><strong>{_line(heading)}</strong></p>"] if heading else []
    parts += [_table(table) for table in tables]
    parts += [f"<p>{_line(note)}</p>" for note in notes]
    return f"<div>{''.join(parts)}</div>"


def _table(table: Table) -> str:
    rows = []
    for number, row in enumerate(table.rows[:ROWS_SHOWN]):
        cells = []
        for place, (column, value) in enumerate(zip(table.columns, row, strict=True)):
            text = _line(printed(value, column))
            stands_out = (number, place) in table.bold or (column.kind == "verdict" and value)
            shown = f"<strong>{text}</strong>" if stands_out else text
            cells.append(f"<td{_side(column)}>{shown}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f'<th scope="col"{_side(column)}>{_line(column.title)}</th>' for column in table.columns)
    caption = f"<caption>{_line(table.caption)}</caption>" if table.caption else ""
    notes = [*table.notes]
    if len(table.rows) > ROWS_SHOWN:
        notes.append(f"the first {ROWS_SHOWN} of {len(table.rows):,} rows")
    said = "".join(f"<p>{_line(note)}</p>" for note in notes)
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table class="dataframe">{caption}{body}</table>{said}'


def _side(column: Column) -> str:
    """Give the side that words stand at: notebooks put everything to the right, as numbers."""
    return "" if column.numeric else ' style="text-align: left"'


def _line(text: str) -> str:
    return escape(visible_line(text))
