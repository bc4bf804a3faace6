"""LaTeX tables, ready for a paper."""

from cranfield.report.rendering import renderers
from cranfield.report.table import Table, printed
from cranfield.text import visible_line

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "…": r"\ldots{}",
    "°": r"\textdegree{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
}
"""A bracket at the start of a row would be read as an option of the line end before it."""


@renderers.register("latex", "tex")
def render_latex(table: Table) -> str:
    """A booktabs table inside a table float."""
    alignment = "".join("r" if column.numeric else "l" for column in table.columns)
    body = [_row([_escaped(column.title) for column in table.columns]), r"\midrule"]
    body += [_row(_cells(table, number)) for number in range(len(table.rows))]
    caption = [rf"\caption{{{_escaped(table.caption)}}}"] if table.caption else []
    notes = [rf"\\[0.5ex] \footnotesize {_escaped(note)}" for note in table.notes]
    lines = [r"\begin{table}", r"\centering", *caption, rf"\begin{{tabular}}{{{alignment}}}", r"\toprule"]
    lines += [*body, r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _cells(table: Table, number: int) -> list[str]:
    texts = [printed(value, column) for column, value in zip(table.columns, table.rows[number], strict=True)]
    cells = [_escaped(text) for text in texts]
    return [
        rf"\textbf{{{cell.strip()}}}" if (number, place) in table.bold else cell for place, cell in enumerate(cells)
    ]


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in visible_line(text))
