"""Markdown tables."""

from cranfield.report.rendering import renderers
from cranfield.report.table import Column, Table, Value, printed
from cranfield.text import visible_line


@renderers.register("markdown", "md")
def render_markdown(table: Table) -> str:
    """A pipe table as GitHub reads it, with caption and notes around it."""
    lines = [f"**{_cell(table.caption)}**", ""] if table.caption else []
    lines.append(_line([_cell(column.title) for column in table.columns]))
    lines.append(_line(["---:" if column.numeric else "---" for column in table.columns]))
    lines.extend(_line(_cells(table.columns, row)) for row in table.rows)
    if table.notes:
        lines.extend(["", *(f"- {_cell(note)}" for note in table.notes)])
    return "\n".join(lines) + "\n"


def _cells(columns: tuple[Column, ...], row: tuple[Value, ...]) -> list[str]:
    return [_cell(printed(value, column)) for column, value in zip(columns, row, strict=True)]


def _cell(text: str) -> str:
    shown = visible_line(text)
    for letter in "\\|*_`<>[]":
        shown = shown.replace(letter, f"\\{letter}")
    return shown


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
