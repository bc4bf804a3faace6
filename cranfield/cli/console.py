"""The one owner of standard output and standard error: data goes to the first, narration to the second."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cranfield.errors import CranfieldError, Problem, ProblemsFound
from cranfield.report.rendering import renderers
from cranfield.report.table import Table, printed, table_of
from cranfield.text import counted, visible, visible_line

if TYPE_CHECKING:
    from cranfield.records import Document
    from cranfield.steps.opening import Store
    from cranfield.steps.runs_check import Checked
    from cranfield.steps.watching import Progress

PROBLEMS_SHOWN = 200
WARNINGS_SHOWN = 10


def say(text: str = "") -> None:
    """Narrate: one line on standard error."""
    print(visible(text), file=sys.stderr)  # noqa: T201


def put(text: str) -> None:
    """Write data to standard output as it is."""
    sys.stdout.write(text)
    sys.stdout.flush()


def put_table(table: Table, format: str = "table") -> None:
    """Write a table to standard output in the format asked for."""
    if format == "table":
        _put_rich(table)
    else:
        put(renderers.get(format)(table))


def table_formats() -> list[str]:
    """Give the names that `--format` takes."""
    return ["table", *renderers.names()]


def _put_rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 100_000
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title=None, header_style="bold")
    for column in table.columns:
        drawn.add_column(Text(visible_line(column.title)), justify="right" if column.numeric else "left")
    for row in table.rows:
        cells = (printed(value, column) for column, value in zip(table.columns, row, strict=True))
        drawn.add_row(*(Text(visible_line(cell)) for cell in cells))
    if table.caption:
        console.print(Text(visible_line(table.caption), style="bold"))
    if table.rows:
        console.print(drawn)
    for note in table.notes:
        console.print(Text(visible_line(note)))
    sys.stdout.flush()


def put_marked(lines: Sequence[tuple[str, str]], *, start: str, end: str) -> None:
    """Write (heading, body) pairs, the parts of the body between the two marks standing out."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    plain = not console.is_terminal
    for heading, body in lines:
        console.print(Text(visible_line(heading), style="bold"))
        text = Text("  ")
        for index, part in enumerate(visible_line(body).replace(end, start).split(start)):
            hit = index % 2 == 1
            text.append(f"[{part}]" if hit and plain else part, style="bold yellow" if hit else "")
        console.print(text)
    sys.stdout.flush()


def put_problems(problems: Sequence[Problem]) -> None:
    """Narrate problems, errors before warnings, with the places they were seen at."""
    ordered = sorted(problems, key=lambda problem: (problem.severity != "error", problem.file))
    told: set[str] = set()
    for problem in ordered[:PROBLEMS_SHOWN]:
        say(f"{problem.severity}: {problem}{_elsewhere(problem)} [{problem.code}]")
        if problem.remedy and problem.code not in told:
            say(f"    {problem.remedy}")
        told.add(problem.code)
    if len(ordered) > PROBLEMS_SHOWN:
        say(f"… and {len(ordered) - PROBLEMS_SHOWN:,} more")


def put_warnings(warnings: Sequence[Problem]) -> None:
    """Narrate warnings that are kept with what they belong to: one by one while they are few, else by kind."""
    if len(warnings) <= WARNINGS_SHOWN:
        put_problems(warnings)
        return
    for code in dict.fromkeys(warning.code for warning in warnings):
        alike = [warning for warning in warnings if warning.code == code]
        files = counted(len({warning.file for warning in alike}), "file")
        say(f"warning: {files}, for example {alike[0]} [{code}]")
    say("cranfield runs show RUN lists what was found in each")


def _elsewhere(problem: Problem) -> str:
    if len(problem.lines) < 2:
        return ""
    rest = problem.count - len(problem.lines)
    more = f" and {rest:,} more" if rest > 0 else ""
    return f" (also on lines {', '.join(str(line) for line in problem.lines[1:])}{more})"


def fail(error: CranfieldError) -> int:
    """Narrate an error and give the exit status it means."""
    if isinstance(error, ProblemsFound):
        put_problems(error.problems)
        say(f"cranfield: {error.summary}")
    else:
        say(f"cranfield: {error}")
    return error.exit_status


@contextmanager
def collection(path: Path) -> Iterator["Store"]:
    """Open the collection for one command, and tell the user when another process makes us wait."""
    from cranfield.steps.opening import open_collection

    told = False

    def waiting(seconds: float) -> None:
        nonlocal told
        if not told and seconds > 1:
            say("another process is writing to this collection; waiting for it to finish …")
            told = True

    with open_collection(path, waiting=waiting) as store:
        yield store


@contextmanager
def progress() -> Iterator["Progress"]:
    """Give a step something to report to: a bar on a terminal, nothing elsewhere."""
    from cranfield.steps.watching import silent

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield silent
        return
    from cranfield.cli.bar import bar_on

    with bar_on(sys.stderr) as report:
        yield report


def be_verbose() -> None:
    """Log what the program does to standard error."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.DEBUG, format="%(relativeCreated)8d ms  %(name)s: %(message)s"
    )


def put_document(document: "Document") -> None:
    """Write a document as a person reads it: id, title, metadata, text."""
    lines = [f"{document.id}  {document.title}".rstrip()]
    lines += [f"{name}: {value}" for name, value in document.metadata.items()]
    put("\n".join(visible_line(line) for line in lines) + f"\n\n{visible(document.text).rstrip()}\n")


@contextmanager
def collection_if_any(path: Path) -> Iterator["Store | None"]:
    """Open the collection where there is one; a default path that leads nowhere means none."""
    from cranfield.cli.options import COLLECTION

    if path == COLLECTION and not path.exists():
        yield None
        return
    with collection(path) as store:
        yield store


@contextmanager
def binary_output(path: Path | None) -> Iterator["BinaryIO"]:
    """Give a stream for bytes: standard output, or a file that is complete or not there at all."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with unfinished.open("wb") as stream:
            yield stream
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def put_findings(outcomes: "Sequence[Checked]", format: str) -> None:
    """Write what was found in run files: a list for people, one row per problem as data."""
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    if format == "table":
        put_problems(problems)
        for outcome in outcomes:
            errors = sum(problem.severity == "error" for problem in outcome.problems)
            warnings = len(outcome.problems) - errors
            put(f"{visible_line(outcome.file)}: {counted(errors, 'error')}, {counted(warnings, 'warning')}\n")
        return
    columns = ["file", "severity", "code", "message", "count", "lines", "topic", "remedy", "repairable"]
    rows = [
        (
            problem.file,
            problem.severity,
            problem.code,
            problem.message,
            problem.count,
            " ".join(str(line) for line in problem.lines),
            problem.topic,
            problem.remedy,
            problem.repairable,
        )
        for problem in problems
    ]
    put_table(table_of(columns, rows), format)
