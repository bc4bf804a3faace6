"""Run files of any known format become rows."""

from cranfield.errors import Problem, ProblemsFound
from cranfield.runs.format import RunFormat, run_formats
from cranfield.runs.problems import problem
from cranfield.runs.run import Rows
from cranfield.source import Source


def read_rows(source: Source, *, format: str | None = None) -> Rows:
    """Read a run file in the named format, or in the one its first bytes look like.

    A file with nothing in it is read as TREC, and found empty there.
    """
    return format_of(source, format=format).read(source)


def format_of(source: Source, *, format: str | None = None) -> type[RunFormat]:
    """Give the named format, or the one that recognises the file."""
    if format is not None:
        return run_formats.get(format)
    head = source.head()
    if not head.strip():
        return run_formats.get("trec")
    known = run_formats.first(lambda format: format.sniff(head, source.name))
    if known is not None:
        return known
    raise ProblemsFound("this is not a run file of a known format", [_unknown(source)])


def _unknown(source: Source) -> Problem:
    expected = "; ".join(f"{name}: {known.summary}" for name, known in run_formats.items())
    return problem("unknown-format", f"the format was not recognised; expected one of: {expected}").at(source.name)
