"""Markdown tables."""

from __future__ import annotations

import re

from cranfield.base.text import Table, visible_line
from cranfield.report.rendering import renderers


@renderers.register("markdown", "md")
def render_markdown(table: Table) -> str:
    """A pipe table as GitHub reads it, with caption and notes around it."""
    lines = [f"**{escaped(table.caption)}**", ""] if table.caption else []
    lines.append(_line([escaped(column.title) for column in table.columns]))
    lines.append(_line(["---:" if column.numeric else "---" for column in table.columns]))
    lines += [
        _line([f"**{cell.text.strip()}**" if cell.bold else cell.text for cell in cells])
        for cells in table.cells(escaped)
    ]
    if table.notes:
        lines.extend(["", *(f"- {escaped(note)}" for note in table.notes)])
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Foreign text as one line of Markdown in which nothing is markup."""
    shown = visible_line(text)
    for letter in "\\|*_`<>[]~$":
        shown = shown.replace(letter, f"\\{letter}")
    return re.sub(r"&(?=#?\w+;)", r"\\&", shown)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
