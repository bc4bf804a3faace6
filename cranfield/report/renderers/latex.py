"""LaTeX tables, ready for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import shorten

from cranfield.base.text import Table, visible_line
from cranfield.report.rendering import renderers

_ESCAPES = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "…": r"\ldots{}",
    "°": r"\textdegree{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",
    "*": "{*}",
}
"""A bracket or a star at the start of a row would be read as an option of the line end before it."""

_LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=`)(?=`)|(?<=,)(?=,)|(?<=[?!])(?=`)")
"""Where two letters would become another one: two hyphens are a dash."""

_MINUS = re.compile(r"(?<!\S)-(?=[\d.])")
_INTERVAL = re.compile(r"-?[\d.,]+ to -?[\d.,]+")

_ONE_PAGE = 40
"""How many rows a float has; more are a table that goes on over pages."""

_TITLES_NAMED, _LABEL_LETTERS = 6, 39


@renderers.register("latex", "tex")
def render_latex(table: Table) -> str:
    """A booktabs table inside a table float, or a longtable where it has many rows.

    Its first line is a comment that names the packages it needs.
    """
    alignment = "".join("r" if column.numeric else "l" for column in table.columns)
    titles = [column.title for column in table.columns]
    head = [r"\toprule", _row(map(_escaped, titles)), r"\midrule"]
    body = []
    for cells in table.cells(_escaped):
        texts = []
        for cell in cells:
            is_number = cell.column.numeric or _INTERVAL.fullmatch(cell.text)
            number = _MINUS.sub("$-$", cell.text) if is_number else cell.text
            texts.append(rf"\textbf{{{number.strip()}}}" if cell.bold else number)
        body.append(_row(texts))
    notes = [_escaped(note) for note in table.notes]
    # A label alone has no number: a table without caption is called by the names of its numbers.
    named = [column.title for column in table.columns if column.numeric] or titles
    more = ", …" if len(named) > _TITLES_NAMED else ""
    text = table.caption or f"{', '.join(named[:_TITLES_NAMED])}{more}"
    # A label is made of the first words of the caption.
    words = shorten(re.sub(r"[^a-z0-9]+", " ", text.lower()), _LABEL_LETTERS, placeholder="")
    caption, label = rf"\caption{{{_escaped(text)}}}", rf"\label{{tab:{words.replace(' ', '-') or 'table'}}}"
    if len(table.rows) <= _ONE_PAGE:
        lines = [
            r"% \usepackage{booktabs}",
            *(r"\begin{table}", r"\centering", caption, label, rf"\begin{{tabular}}{{{alignment}}}"),
            *(*head, *body, r"\bottomrule", r"\end{tabular}"),
            *(*(rf"\\[0.5ex] \footnotesize {note}" for note in notes), r"\end{table}"),
        ]
    else:
        lines = [
            r"% \usepackage{booktabs,longtable}",
            *(rf"\begin{{longtable}}{{{alignment}}}", caption, rf"{label} \\"),
            *(*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot", *body, r"\end{longtable}"),
            *(rf"\par\noindent{{\footnotesize {note}\par}}" for note in notes),
        ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    parted = _LIGATURES.split(visible_line(text))
    return "{}".join("".join(_ESCAPES.get(letter, letter) for letter in part) for part in parted)
