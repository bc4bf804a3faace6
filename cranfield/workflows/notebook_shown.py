"""How what was opened shows itself: in a word, as rich text, as HTML."""

from typing import TYPE_CHECKING

from cranfield.report.table import Table, facts_table
from cranfield.workflows.notebook_work import Work

if TYPE_CHECKING:
    from rich.console import RenderableType


def in_short(work: Work) -> str:
    """Give one line."""
    if work.is_closed:
        return "Opened(closed)"
    known = work.material.facts()
    where = f"collection {known['collection']!r}" if "collection" in known else f"files, qrels {known['qrels']}"
    many = str(known["runs"]).partition(":")[0]
    return f"Opened({where}, {'no' if many == 'none' else many} runs)"


def as_html(work: Work) -> str:
    """Give a small table for a notebook."""
    from cranfield.report.snippet import snippet

    return snippet([_table(work)])


def as_rich(work: Work) -> "RenderableType":
    """Give a small table for a terminal."""
    from cranfield.workflows.rich_table import grouped

    return grouped([_table(work)])


def _table(work: Work) -> Table:
    return facts_table({"closed": "yes"} if work.is_closed else work.material.facts(), caption="Opened")
