"""The one owner of standard output and standard error, and the options that several commands share.

Data goes to standard output, narration to standard error.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar, cast

import typer
from typer import Argument, Option

from cranfield.base.errors import CranfieldError, Problem, ProblemsFound, UnknownName, UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.cli import completion
from cranfield.report.rendering import renderers

with deferred:
    from rich import console as rich_console

    from cranfield.base import files, spread, writing
    from cranfield.base import text as texts
    from cranfield.report.renderers import csv
    from cranfield.store import store as stores
    from cranfield.workflows import display
    from cranfield.workflows import inputs as workflow

if TYPE_CHECKING:
    from cranfield.store import Store

DATA_FORMATS = ("csv", "json", "jsonl")
"""The formats that carry one table with full precision, for programs; the others are for people."""

PROBLEMS_SHOWN = 200

COLLECTION, COLLECTION_VARIABLE = Path("collection.db"), "CRANFIELD_COLLECTION"
ASSESSOR_VARIABLE = "CRANFIELD_ASSESSOR"


_NAMELESS = re.compile(
    r"\bcranfield (?=(?:status|corpus|runs|pool|judge|qrels|settle|evaluate|compare|reuse|simulate|report|check|"
    r"restore)\b)(?!.* -C )"
)
"""Where a sentence has a command that names no collection."""

_QUERY = re.compile(r"([a-z][a-z0-9+.:-]*:/[^\s?'\"]*)\?[^\s'\")]+", re.IGNORECASE)
"""A URL with a query, which may hold a key, in a sentence."""


def table_formats() -> list[str]:
    """The names that `--format` takes, without their aliases."""
    return ["table", *renderers.names()]


def _check_format(name: str) -> str:
    """Refuse an unknown format before anything is done; the usual ones are known without a search."""
    if name != "table" and name not in renderers:
        raise UnknownName("output format", name, table_formats())
    return name


def collection_of(context: typer.Context, value: Path = COLLECTION) -> Path:
    """The collection that a line names, after the command or before it; `value` where it names none."""
    part: Any = context
    while part is not None:
        source = part.get_parameter_source("collection")
        if source is not None and source.name == "COMMANDLINE":
            return Path(part.params.get("collection", value))  # this part's own is `value` while it is parsed
        part = part.parent
    return value


def path_or_url(word: str) -> Path:
    """A file by its path or URL."""
    return files.located(word)


Collection = Annotated[
    Path,
    Option("-C", "--collection", envvar=COLLECTION_VARIABLE, help="The collection file.", callback=collection_of),
]
Replace = Annotated[bool, "Overwrite an existing file."]
Assessor = Annotated[
    str,
    Option(
        "-a", "--assessor", envvar=ASSESSOR_VARIABLE, help="Name of the assessor; prompted for once, then remembered."
    ),
]
Format = Annotated[
    str,
    Option("-f", "--format", help="Output format: table, csv, json, jsonl, latex, markdown.", callback=_check_format),
]

Runs = Annotated[
    list[str] | None,
    Argument(help="Run files, or names of stored runs [default: all stored runs].", autocompletion=completion.runs),
]
QrelsWord = Annotated[
    str | None,
    Option(
        "--qrels",
        help="A qrels file or release bundle, a release, or now (the current judgments).",
        autocompletion=completion.releases,
    ),
]
Layers = Annotated[list[str] | None, "A layer of judgments; repeatable."]
NoVerdict = Annotated[bool, "Omit the effect of unjudged documents, and the verdicts."]
Duplicates = Annotated[
    str,
    "Near-duplicates of a higher-ranked document: plain (scored as any other), novelty (not relevant, by the"
    " clusters of the collection), or a file of clusters (document, tab, cluster).",
]


# Groups of options: a command that has a parameter of such a kind has all of them.


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The qrels by which runs are scored, and where they come from. The other options are those of some commands."""

    qrels: QrelsWord = None
    layer: Layers = None
    groups: Annotated[
        Path | None,
        Option(parser=path_or_url, help="A file of run tag, group, and pooled or new, separated by tabs."),
    ] = None
    collection: Collection = COLLECTION

    pool_depth, pool, skip_bad, jobs, cluster = cast("int | None", None), "", False, cast("int | None", None), ""


@dataclass(frozen=True, kw_only=True)
class Pooled(Judged):
    """The same with the pool."""

    pool_depth: Annotated[int | None, Option(min=1, help="The pool depth.")] = None
    pool: Annotated[
        str,
        Option(
            help="A pool of the collection [default: the latest], or the card of a published one.",
            autocompletion=completion.pools,
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class Scored(Judged):
    """The same for many runs."""

    skip_bad: Annotated[bool, "Go on without run files that have errors; they are named as warnings."] = False
    jobs: Annotated[
        int | None,
        Option(
            min=1,
            envvar="CRANFIELD_JOBS",
            help="Processes for large jobs [default: one for each core].",
            show_envvar=False,
        ),
    ] = None
    cluster: Annotated[
        str,
        Option(
            envvar="CRANFIELD_CLUSTER", help="Large jobs go to the Dask cluster at this address.", show_envvar=False
        ),
    ] = ""


@dataclass(frozen=True, kw_only=True)
class ScoredInPool(Pooled, Scored):
    """All of them."""


# Options of several commands that differ in their help.


def measure_option(default: Sequence[str]) -> Any:
    """Measures; the help names those that are used without it."""
    told = (
        "A measure, as nDCG@10; repeatable, cranfield measures lists them."
        f" [default: {', '.join(default)}, or to the depth of a shallower pool]"
    )
    return Option("-m", "--measure", help=told, autocompletion=completion.measures)


def topic_option(help: str) -> Any:
    """Topics of the collection."""
    return Option("--topic", help=help, autocompletion=completion.topics)


def run_option(help: str) -> Any:
    """Stored runs."""
    return Option("--run", help=help, autocompletion=completion.runs)


def novelty(word: str) -> dict[str, Any]:
    """What `--duplicates` means: a word, or a file of clusters."""
    return {"duplicates": word} if word in ("plain", "novelty") else {"duplicates": "novelty", "clusters": Path(word)}


def named_values(words: Iterable[str], form: str) -> dict[str, str]:
    """Words such as NAME=VALUE, by their names; `form` says how one that is wrong should look."""
    parts = {word: word.partition("=") for word in words}
    if wrong := [word for word, (name, _, value) in parts.items() if not (name.strip() and value.strip())]:
        raise UsageError(f"{quoted(wrong[0])} is not {form}")
    return {name.strip(): value.strip() for name, _, value in parts.values()}


def name_of_assessor(name: str) -> str:
    """The name on the line or in the environment, else the remembered one, else what is answered at a terminal."""
    if name:  # a blank one is refused later, and must not become the remembered name of somebody else
        return name.strip()
    file = writing.settings_folder() / "assessor"
    with suppress(OSError, UnicodeDecodeError):  # a name that cannot be read is none
        if file.is_file() and (known := file.read_text(encoding="utf-8").strip()):
            return known
    if not sys.stdin.isatty():
        raise UsageError(f"no assessor: pass -a NAME or set ${ASSESSOR_VARIABLE}")
    name = str(typer.prompt("Your name, as recorded with your judgments", err=True)).strip()
    with suppress(OSError):  # a home that cannot be written only means that the question comes again
        if name:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name + "\n", encoding="utf-8")
    return name


def say(*lines: str) -> None:
    """Narrate: lines on standard error, folded between words on a terminal. A command stays in one piece.

    Commands that name no collection get that of the line, so that they can be typed as they stand.
    """
    context = _context()
    named = COLLECTION if context is None else collection_of(context)
    is_usual = named == COLLECTION or os.environ.get(COLLECTION_VARIABLE) == str(named)
    command = "cranfield " if is_usual else f"cranfield -C {shlex.quote(str(named))} "
    for line in lines:
        text = _NAMELESS.sub(lambda _: command, line)
        shown = texts.visible(text)
        shown = _QUERY.sub(r"\1?…", shown) if ":/" in shown else shown
        is_folded = sys.stderr.isatty() and not text.startswith("$ ")
        print(_folded(shown) if is_folded else shown, file=sys.stderr)  # noqa: T201


def _folded(text: str) -> str:
    """Lines that are longer than the terminal is wide, folded between words; what is indented stays so.

    A command at the end of one gets a line of its own, whole, so that it can be pasted.
    """
    width, lines = get_terminal_size().columns, []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        sentence, mark, command = line.rpartition(": cranfield ") if len(line) > width else (line, "", "")
        sentence = f"{sentence}:" if mark else line
        lines.append(fill(sentence, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))
        lines += [f"{indent}  cranfield {command}"] if mark else []
    return "\n".join(lines)


def put(text: str, *, prose: bool = False) -> None:
    """Write to standard output: to a file or pipe as it is, to a terminal made harmless, and prose folded."""
    if sys.stdout.isatty():
        text = _folded(texts.visible(text)) if prose else texts.visible(text)
    sys.stdout.write(text)
    sys.stdout.flush()


def show(result: "texts.Result", format: str = "table", *, draw: Callable[[], None] | None = None) -> None:
    """Print a result: its notes, its tables for people or the one table of data, and its remarks.

    With `draw` a chart takes the place of the tables.
    """
    if draw is not None and format != "table":
        raise UsageError(f"--chart draws in the terminal, and does not go with --format {format}")
    surface: texts.Surface = "document"
    if format in DATA_FORMATS:
        surface = "data"
    elif format == "table":
        surface = "terminal" if sys.stdout.isatty() else "pipe"
    shown = result.on(surface)
    say(*shown.notes)
    if draw is not None:
        draw()
    for number, table in enumerate(shown.tables if draw is None else ()):
        put_table(table, format, wide=result.wide, follows=number > 0)
    say(*shown.remarks)


def put_table(table: "texts.Table", format: str = "table", *, wide: bool = False, follows: bool = False) -> None:
    """Write a table to standard output.

    A `wide` one, of many numbers, is cut into several on a terminal that is too narrow. One that `follows` another is
    kept apart from it by a blank line, without which Markdown would join them.
    """
    if format != "table":
        # With --raw, cells of CSV are as they are, though a spreadsheet would take them for formulas.
        context = _context()
        is_raw = format == "csv" and context is not None and bool(context.find_root().params.get("raw"))
        renderer = partial(csv.render_csv, raw=True) if is_raw else renderers.get(format)  # type: ignore[call-arg]
        put("\n" * (follows and renderer is renderers.get("markdown")) + renderer(table))
        return
    is_terminal = sys.stdout.isatty()
    forced = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"))
    is_utf = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    for part in display.fitted(table, get_terminal_size().columns) if wide and is_terminal else [table]:
        text = texts.plain_text(part) if is_utf and not (is_terminal or forced) else None
        if text is not None:  # rich would write the same, and take longer for that than most commands
            sys.stdout.write(text)
            continue
        console = rich_console.Console(file=sys.stdout, highlight=False)
        if not console.is_terminal:
            console.width = 100_000
        display.print_on(console, part)
    sys.stdout.flush()


def put_problems(problems: Sequence[Problem], *, total: int = 0, by_kind: bool = False) -> None:
    """Narrate problems; `total` counts unlisted ones too."""
    say(*texts.lines_about(problems, total=total, most=PROBLEMS_SHOWN, by_kind=by_kind))


def fail(error: CranfieldError) -> int:
    """Narrate an error and give the exit status it means."""
    if isinstance(error, ProblemsFound):
        put_problems(error.problems, total=error.total)
        say(f"cranfield: {error.summary}")
    else:
        say(f"cranfield: {error}")
    return error.exit_status


def open_collection(collection: Collection = COLLECTION) -> "Store":
    """Open the collection for one command."""
    return stores.open_store(collection, say=say)


def open_if_any(collection: Collection = COLLECTION) -> "AbstractContextManager[Store | None]":
    """Open the collection where there is one; a default path that leads nowhere means none."""
    return nullcontext() if collection == COLLECTION and not collection.exists() else open_collection(collection)


# A command with a parameter `store` of one of these kinds has the option -C, and the collection is opened for it.
InCollection = Annotated["Store", open_collection]
InAnyCollection = Annotated["Store | None", open_if_any]
Shown = Annotated["texts.Result", Format]
"""What a command returns to have it printed, in a format that is an option."""


Given = TypeVar("Given", bound=Judged)


def bundle_first(inputs: Given, runs: list[str] | None) -> tuple[Given, list[str] | None]:
    """The inputs and the runs of a command; a release bundle in front of the runs stands for its qrels."""
    if inputs.qrels is None and runs and workflow.may_be_bundle(Path(runs[0])):
        return replace(inputs, qrels=runs[0]), runs[1:]
    return inputs, runs


@contextmanager
def opened(
    inputs: Judged, runs: Sequence[str] | None, *, warn: Callable[[str], None] | None = None
) -> "Iterator[workflow.Inputs]":
    """Open the collection of a command, or files, with the options that describe the pool.

    With `warn` (that is `say`) calls without qrels or runs are refused, and warnings about the qrels are printed.
    """
    path, qrels, pool = inputs.collection, inputs.qrels, inputs.pool
    card = Path(pool) if pool and Path(pool).is_file() else None
    options = workflow.PoolOptions(
        groups=inputs.groups, depth=inputs.pool_depth, card=card, pool="" if card else pool
    )
    # A collection that happens to lie in the folder must not change what files say by its pool and its scale.
    is_bundle = qrels is not None and workflow.may_be_bundle(Path(qrels))
    # Nobody has named it, neither on the command line nor in the environment.
    is_default = collection_of(_context(), nowhere := Path()) is nowhere and not os.environ.get(COLLECTION_VARIABLE)
    is_ignored = path == COLLECTION and path.exists() and is_default
    if is_ignored and not is_bundle:
        is_ignored = bool(qrels and runs and all(files.located(word).is_file() for word in (qrels, *runs)))
    if is_ignored:
        with_it = "" if is_bundle else f"; -C {path} adds its pool and scale"
        say(f"note: qrels and runs are files, so {path} is not used{with_it}")
    with nullcontext() if is_ignored else open_if_any(path) as store:
        if is_bundle and store is not None:
            raise UsageError(f"{qrels} is a release bundle, with a scale and a card of its own: omit -C")
        settings: Any = {"layers": inputs.layer or (), "warn": warn, "skip_bad": inputs.skip_bad}
        # The matrices that are multiplied are small: more threads cost time and save none.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        spread.keep_memory()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        here = spread.Processes(inputs.jobs or cores, ours=True)
        workers = spread.Cluster(inputs.cluster) if inputs.cluster else here
        found = workflow.Inputs(store, qrels, options, watch(), workers=workers, **settings)
        if store is None and options.pool:
            raise UsageError(f"--pool {pool}: no such card, and no collection is open")
        if warn is not None:
            absent = [word for word in runs or () if store is None and not Path(word).exists()]
            unknown = f"there is no file and no release bundle {', '.join(absent)}"
            wrong = {
                f"{unknown}, and no collection {path} (-C names one)": absent and qrels is None,
                "--layer selects judgments of a collection, and no collection is open": store is None
                and inputs.layer,
                "no qrels: name a file with --qrels or a collection with -C": store is None and qrels is None,
                "no runs: name run files, or with -C a collection that has runs": not runs and not found.names(),
            }
            for message, holds in wrong.items():
                if holds:
                    raise typer.BadParameter(message)
        try:
            yield found
        finally:
            if workers.begun is not None:
                workers.close()


def _context() -> Any:
    """The command that is being run, as click knows it."""
    try:
        from typer._click.globals import get_current_context  # newer versions of typer carry their own click
    except ImportError:
        from click import get_current_context  # type: ignore[no-redef]
    return get_current_context(silent=True)


def watch() -> "Callable[[], AbstractContextManager[files.Progress]]":
    """What makes a reporter for a step: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return cast("Callable[[], AbstractContextManager[files.Progress]]", partial(nullcontext, files.silent))
    return partial(display.bar_on, sys.stderr)


def progress() -> "AbstractContextManager[files.Progress]":
    """What a step reports to."""
    return watch()()


@contextmanager
def binary_output(path: Path | None, *, replace: bool = False) -> Iterator[BinaryIO]:
    """A stream for bytes: standard output, or a file that is complete or not there at all.

    An existing file is overwritten only where `replace` says so, as `--replace` does.
    """
    if path is None or str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.exists() and not replace:
        raise UsageError(f"{path} already exists; choose another name, or overwrite it with --replace")
    with writing.whole_file(path, replace=replace) as unfinished, unfinished.open("xb") as stream:
        yield stream
