"""Markdown tables."""

from __future__ import annotations

import re

from cranfield.base.tables import Table, printed
from cranfield.base.text import visible_line
from cranfield.report.rendering import renderers


@renderers.register("markdown", "md")
def render_markdown(table: Table) -> str:
    """A pipe table as GitHub reads it, with caption and notes around it."""
    lines = [f"**{escaped(table.caption)}**", ""] if table.caption else []
    lines.append(_line([escaped(column.title) for column in table.columns]))
    lines.append(_line(["---:" if column.numeric else "---" for column in table.columns]))
    lines.extend(_line(_cells(table, number)) for number in range(len(table.rows)))
    if table.notes:
        lines.extend(["", *(f"- {escaped(note)}" for note in table.notes)])
    return "\n".join(lines) + "\n"


def _cells(table: Table, number: int) -> list[str]:
    texts = [printed(value, column) for column, value in zip(table.columns, table.rows[number], strict=True)]
    cells = [escaped(text) for text in texts]
    return [f"**{cell.strip()}**" if (number, place) in table.bold else cell for place, cell in enumerate(cells)]


def escaped(text: str) -> str:
    """Give foreign text as one line of Markdown in which nothing is markup."""
    shown = visible_line(text)
    for letter in "\\|*_`<>[]~$":
        shown = shown.replace(letter, f"\\{letter}")
    return re.sub(r"&(?=#?\w+;)", r"\\&", shown)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
