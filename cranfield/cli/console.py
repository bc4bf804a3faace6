"""The one owner of standard output and standard error: data goes to the first, narration to the second."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, BinaryIO

import typer

from cranfield.base.errors import CranfieldError, Problem, ProblemsFound, UsageError
from cranfield.base.files import whole_file
from cranfield.base.registry import deferred
from cranfield.base.tables import DATA_FORMATS, Result, Table, plain_text
from cranfield.base.text import begins_with, counted, visible, visible_line
from cranfield.report.rendering import renderers

with deferred:
    from cranfield import collection as collection_module
    from cranfield.workflows import inputs
    from cranfield.workflows.evaluate import inputs as evaluate_inputs
    from cranfield.workflows.reuse import field

if TYPE_CHECKING:
    from cranfield.base.files import Progress
    from cranfield.base.records import Document
    from cranfield.collection import Collection
    from cranfield.store.store import Store

PROBLEMS_SHOWN = 200
WARNINGS_SHOWN = 10


def say(text: str = "") -> None:
    """Narrate: one line on standard error, folded between words on a terminal. A command stays in one piece."""
    shown = visible(text)
    if sys.stderr.isatty() and not text.startswith("$ "):
        width = get_terminal_size().columns
        folded = (fill(line, width, break_long_words=False, break_on_hyphens=False) for line in shown.split("\n"))
        shown = "\n".join(folded)
    print(shown, file=sys.stderr)  # noqa: T201


def hint(command: str, collection: Path) -> str:
    """Give a command that can be typed as it stands: with the collection, where it is not the usual one."""
    from cranfield.cli.options import COLLECTION, COLLECTION_VARIABLE

    if collection == COLLECTION or os.environ.get(COLLECTION_VARIABLE) == str(collection):
        return f"cranfield {command}"
    return f"cranfield {command} -C {shlex.quote(str(collection))}"


def put(text: str) -> None:
    """Write data to standard output: to a file or pipe as it is, to a terminal made harmless."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def show(result: Result, format: str = "table") -> None:
    """Print a result: its notes, its tables for people or the one table of data, and its remarks."""
    for note in result.notes:
        say(note)
    for table in [result.table()] if format in DATA_FORMATS else result.tables():
        put_wide_table(table, format) if result.wide else put_table(table, format)
    for remark in result.remarks:
        say(remark)


def show_whole(result: Result, format: str) -> None:
    """Print a result whose table is cut short on a screen alone: whatever is pasted elsewhere has all of it."""
    show(result) if format == "table" else put_table(result.table(), format)


def put_table(table: Table, format: str = "table") -> None:
    """Write a table to standard output in the format asked for."""
    if format == "table":
        _put_rich(table)
    else:
        put(renderers.get(format)(table))


def put_next_table(table: Table, format: str = "table") -> None:
    """Write a table after another one: in Markdown a blank line keeps it from being read as part of that."""
    if format != "table" and renderers.get(format) is renderers.get("markdown"):
        put("\n")
    put_wide_table(table, format)


def put_wide_table(table: Table, format: str = "table") -> None:
    """Write a table of many numbers; on a terminal that is too narrow turned on its side, or as several tables."""
    if format != "table" or not sys.stdout.isatty():
        put_table(table, format)
        return
    from cranfield.workflows.display import fitted

    for part in fitted(table, get_terminal_size().columns):
        _put_rich(part)


def fits(table: Table) -> bool:
    """Say whether standard output is wide enough for a table: always, where it is no terminal."""
    from cranfield.workflows.display import width_of

    return not sys.stdout.isatty() or width_of(table) <= get_terminal_size().columns


def goes_elsewhere(format: str) -> bool:
    """Say whether a table is pasted or piped somewhere, where the sentences beside it do not come along."""
    return format != "table" or not sys.stdout.isatty()


def table_formats() -> list[str]:
    """Give the names that `--format` takes, without their aliases."""
    return ["table", *renderers.names()]


def is_table_format(name: str) -> bool:
    """Say whether `--format` takes this name; the usual ones are known without a search."""
    return name == "table" or name in renderers


def _may_be_coloured() -> bool:
    """Say whether standard output is a terminal, or rich would take it for one."""
    asked_for = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"))
    return sys.stdout.isatty() or asked_for or not (sys.stdout.encoding or "utf-8").lower().startswith("utf")


def _put_rich(table: Table) -> None:
    text = None if _may_be_coloured() else plain_text(table)
    if text is not None:  # rich would write the same, and take longer for that than most commands
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from rich.console import Console

    from cranfield.workflows.display import print_on

    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 100_000
    print_on(console, table)
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


def put_problems(problems: Sequence[Problem], *, total: int = 0) -> None:
    """Narrate problems, errors before warnings, with the places they were seen at; `total` counts unlisted ones."""
    ordered = sorted(problems, key=lambda problem: (problem.severity != "error", problem.file))
    told: set[tuple[str, str]] = set()
    for problem in ordered[:PROBLEMS_SHOWN]:
        say(f"{problem.severity}: {problem}{_elsewhere(problem)} [{problem.code}]")
        if problem.remedy and (problem.code, problem.remedy) not in told:
            say(f"    {problem.remedy}")
        told.add((problem.code, problem.remedy))
    more = max(total, len(ordered)) - min(len(ordered), PROBLEMS_SHOWN)
    if more > 0:
        say(f"… and {more:,} more")


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
    if len(problem.lines) == 2 and problem.count <= 2:
        return f" (also on line {problem.lines[1]})"
    rest = problem.count - len(problem.lines)
    more = f" and {rest:,} more" if rest > 0 else ""
    return f" (also on lines {', '.join(str(line) for line in problem.lines[1:])}{more})"


def fail(error: CranfieldError) -> int:
    """Narrate an error and give the exit status it means."""
    if isinstance(error, ProblemsFound):
        put_problems(error.problems, total=error.total)
        say(f"cranfield: {error.summary}")
    else:
        say(f"cranfield: {error}")
    return error.exit_status


@contextmanager
def collection(path: Path) -> Iterator[Store]:
    """Open the collection for one command, and tell the user when another process makes us wait."""
    from cranfield.workflows.collection import open_collection

    told = False

    def waiting(seconds: float) -> None:
        nonlocal told
        if not told and seconds > 1:
            say("another process is writing to this collection; waiting for it to finish …")
            told = True

    with open_collection(path, waiting=waiting) as store:
        if store.kept_as:
            say(f"{path} was of an older version and has been brought up to date; as it was, it is {store.kept_as}")
        yield store


@contextmanager
def opened(
    path: Path,
    *,
    qrels: str | None,
    runs: Sequence[str] | None,
    layers: Sequence[str] | None = None,
    groups: Path | None = None,
    pool_depth: int | None = None,
    card: Path | None = None,
    pool: str = "",
    warn: Callable[[str], None] | None = None,
) -> Iterator[Collection]:
    """Open what a command is about: the collection that is meant, or files, with what is told about the pool.

    With `warn` (that is `say`) words that name nothing are refused first, and warnings about the qrels are told.
    """
    told = field.PoolOptions(groups=groups, depth=pool_depth, card=card, pool=pool)
    with collection_meant(path, qrels, runs) as store:
        if warn is not None:
            _refuse_nothing(store, qrels, runs, layers)
        given = inputs.CommandInputs(store, qrels, told, progress, layers=layers or (), warn=warn)
        yield collection_module.Collection(given)


def _refuse_nothing(
    store: Store | None, qrels: str | None, runs: Sequence[str] | None, layers: Sequence[str] | None
) -> None:
    """Refuse a call that does not say which qrels and runs are meant, with the usage of its command."""
    if qrels == "":
        raise typer.BadParameter("--qrels names nothing; is a variable of the shell empty?")
    if store is None and layers:
        raise typer.BadParameter("--layer is for the judgments of a collection; there is none here")
    if store is None and qrels is None:
        raise typer.BadParameter("which qrels? name a file with --qrels, or a collection with -C")
    if "" in (runs or ()):
        raise typer.BadParameter("a run without a name; is a variable of the shell empty?")
    if not runs and not evaluate_inputs.stored_names(store):
        raise typer.BadParameter("which runs? name their files, or a collection that has some with -C")


@contextmanager
def collection_meant(path: Path, qrels: str | None, runs: Sequence[str] | None) -> Iterator[Store | None]:
    """Open the collection that is meant: none where qrels and runs are files and nobody has named a collection.

    A collection that happens to lie in the folder must not change what files say by its pool and its scale.
    """
    from cranfield.cli.options import COLLECTION

    are_files = qrels is not None and runs and all(Path(word).is_file() for word in (qrels, *runs))
    if path == COLLECTION and path.exists() and _is_default() and are_files:
        say(f"qrels and runs are files, so {path} is not looked at; -C {path} takes its pool and scale")
        yield None
        return
    with collection_if_any(path) as store:
        yield store


def _is_default() -> bool:
    """Say whether the collection was named by nobody, neither on the command line nor in the environment."""
    try:
        from typer._click.globals import get_current_context  # newer versions of typer carry their own click
    except ImportError:
        from click import get_current_context  # type: ignore[no-redef]
    context = get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("collection")
    return source is not None and source.name == "DEFAULT"


@contextmanager
def progress() -> Iterator[Progress]:
    """Give a step something to report to: a bar on a terminal, nothing elsewhere."""
    from cranfield.base.files import silent

    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield silent
        return
    from cranfield.workflows.display import bar_on

    with bar_on(sys.stderr) as report:
        yield report


def be_verbose() -> None:
    """Log what the program does to standard error."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.DEBUG, format="%(relativeCreated)8d ms  %(name)s: %(message)s"
    )


def put_document(document: Document) -> None:
    """Write a document as a person reads it: id, title (unless the text begins with it), metadata, text."""
    title = "" if begins_with(document.text, document.title) else document.title
    lines = [f"{document.id}  {title}".rstrip()]
    lines += [f"{name}: {value}" for name, value in document.metadata.items()]
    put("\n".join(visible_line(line) for line in lines) + f"\n\n{visible(document.text).rstrip()}\n")


@contextmanager
def collection_if_any(path: Path) -> Iterator[Store | None]:
    """Open the collection where there is one; a default path that leads nowhere means none."""
    from cranfield.cli.options import COLLECTION

    if path == COLLECTION and not path.exists():
        yield None
        return
    with collection(path) as store:
        yield store


@contextmanager
def binary_output(path: Path | None, *, replace: bool = False) -> Iterator[BinaryIO]:
    """Give a stream for bytes: standard output, or a file that is complete or not there at all.

    An existing file is overwritten only where `replace` says so, as `--replace` does.
    """
    if path is None or str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already; choose another name, or overwrite it with --replace")
    with whole_file(path, replace=replace) as unfinished, unfinished.open("xb") as stream:
        yield stream
