"""Qrels files of any known format become qrels."""

from cranfield.errors import Problem, ProblemsFound
from cranfield.qrels.format import QrelsFormat, qrels_formats
from cranfield.qrels.qrels import Qrels
from cranfield.source import Source
from cranfield.text import counted

_COLUMNS_OF_A_RUN = 6


def read_qrels(source: Source, *, format: str | None = None) -> Qrels:
    """Read a qrels file in the named format, or in the one its first bytes look like.

    Whatever is wrong with it is raised at once as `ProblemsFound`, each problem with its lines.
    """
    return format_of(source, format=format).read(source).qrels()


def format_of(source: Source, *, format: str | None = None) -> type[QrelsFormat]:
    """Give the named format, or the one that recognises the file. An empty file is read as TREC and refused there."""
    if format is not None:
        return qrels_formats.get(format)
    head = source.head()
    if not head.strip():
        return qrels_formats.get("trec")
    known = qrels_formats.first(lambda format: format.sniff(head, source.name))
    if known is not None:
        return known
    expected = "; ".join(f"{name}: {one.summary}" for name, one in qrels_formats.items())
    unknown = Problem(
        "unknown-format",
        f"the format was not recognised: {_first_row(head)}; expected one of: {expected}",
        file=source.name,
    )
    raise ProblemsFound(f"{source.name}: this is not a qrels file of a known format", [unknown])


def _first_row(head: bytes) -> str:
    """Say what the first row looks like, and what it would be in a run."""
    columns = len(head.strip().split(b"\n", 1)[0].split())
    said = f"its first row has {counted(columns, 'column')}"
    return f"{said}, as a run has: were qrels and run mixed up" if columns == _COLUMNS_OF_A_RUN else said
