"""A table for people as plain text, where there is no terminal that it would have to fit."""

from cranfield.report.table import Table, printed
from cranfield.text import visible_line

_GAP = "  "
_RULE = "─"


def plain_text(table: Table) -> str | None:
    """Give the text that is drawn on a terminal wide enough, without colours.

    None where not everything is ASCII: how much room other letters take is for whoever draws them to know.
    """
    cells = [
        [visible_line(column.title) for column in table.columns],
        *(
            [visible_line(printed(value, column)) for column, value in zip(table.columns, row, strict=True)]
            for row in table.rows
        ),
    ]
    around = [visible_line(text) for text in ([table.caption] if table.caption else [])]
    notes = [visible_line(note) for note in table.notes]
    if not all(text.isascii() for row in (*cells, around, notes) for text in row):
        return None
    lines = [*around, *(_drawn(table, cells) if table.rows else ()), *notes]
    return "".join(f"{line}\n" for line in lines)


def _drawn(table: Table, cells: list[list[str]]) -> list[str]:
    widths = [max(1, *(len(row[place]) for row in cells)) for place in range(len(table.columns))]
    head, *rows = [
        _GAP.join(
            text.rstrip().rjust(width) if column.numeric else text.ljust(width)
            for text, width, column in zip(row, widths, table.columns, strict=True)
        )
        for row in cells
    ]
    return [f"{head} ", _RULE * (len(head) + 1), *(f"{row} " for row in rows)]
