"""LaTeX tables, ready for a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from cranfield.base.tables import Table
from cranfield.base.text import visible_line
from cranfield.report.rendering import renderers

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
    "*": "{*}",
}
"""A bracket or a star at the start of a row would be read as an option of the line end before it."""

_LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=`)(?=`)|(?<=,)(?=,)|(?<=[?!])(?=`)")
"""Where two letters would become another one: two hyphens are a dash."""

_MINUS = re.compile(r"(?<!\S)-(?=[\d.])")
_INTERVAL = re.compile(r"-?[\d.,]+ to -?[\d.,]+")

_ONE_PAGE = 40
"""How many rows a float has; more are a table that goes on over pages."""

_TITLES_NAMED, _LABEL_LETTERS = 6, 40


@renderers.register("latex", "tex")
def render_latex(table: Table) -> str:
    """A booktabs table inside a table float, or a longtable where it has many rows.

    Its first line is a comment that names the packages it needs.
    """
    long = len(table.rows) > _ONE_PAGE
    lines = _over_pages(table) if long else _floating(table)
    return "\n".join([rf"% \usepackage{{booktabs{',longtable' if long else ''}}}", *lines]) + "\n"


def _floating(table: Table) -> list[str]:
    notes = [rf"\\[0.5ex] \footnotesize {_escaped(note)}" for note in table.notes]
    return [
        r"\begin{table}",
        r"\centering",
        *_caption(table),
        rf"\begin{{tabular}}{{{_alignment(table)}}}",
        *_head(table),
        *_body(table),
        r"\bottomrule",
        r"\end{tabular}",
        *notes,
        r"\end{table}",
    ]


def _over_pages(table: Table) -> list[str]:
    *caption, label = _caption(table)
    notes = [rf"\par\noindent{{\footnotesize {_escaped(note)}\par}}" for note in table.notes]
    return [
        rf"\begin{{longtable}}{{{_alignment(table)}}}",
        *caption,
        rf"{label} \\",
        *_head(table),
        r"\endfirsthead",
        *_head(table),
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *_body(table),
        r"\end{longtable}",
        *notes,
    ]


def _caption(table: Table) -> list[str]:
    """Give caption and label; of a table without caption the names of its numbers: a label alone has no number."""
    numbers = [column.title for column in table.columns if column.numeric]
    titles = numbers or [column.title for column in table.columns]
    more = ", …" if len(titles) > _TITLES_NAMED else ""
    said = table.caption or f"{', '.join(titles[:_TITLES_NAMED])}{more}"
    return [rf"\caption{{{_escaped(said)}}}", rf"\label{{tab:{_label(said)}}}"]


def _label(said: str) -> str:
    """Give the first words of a caption as the name of a label."""
    words = re.findall(r"[a-z0-9]+", said.lower())
    lengths = accumulate(len(word) + 1 for word in words)
    return "-".join(word for word, length in zip(words, lengths, strict=True) if length <= _LABEL_LETTERS) or "table"


def _alignment(table: Table) -> str:
    return "".join("r" if column.numeric else "l" for column in table.columns)


def _head(table: Table) -> list[str]:
    return [r"\toprule", _row([_escaped(column.title) for column in table.columns]), r"\midrule"]


def _body(table: Table) -> Iterator[str]:
    for cells in table.cells(_escaped):
        texts = []
        for cell in cells:
            is_number = cell.column.numeric or _INTERVAL.fullmatch(cell.text)
            text = _MINUS.sub("$-$", cell.text) if is_number else cell.text
            texts.append(rf"\textbf{{{text.strip()}}}" if cell.bold else text)
        yield _row(texts)


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    parted = _LIGATURES.split(visible_line(text))
    return "{}".join("".join(_ESCAPES.get(letter, letter) for letter in part) for part in parted)
