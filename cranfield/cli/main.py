"""The command `cranfield`: how its commands are declared, and what happens to errors, Ctrl-C and broken pipes.

A command is a function, whose parameters are its options, with examples that are really typed. Nothing of it is built
before it is invoked: some have dozens of options, and all of them together would take longer than most commands do.
"""

import atexit
import io
import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import is_dataclass
from functools import partial, wraps
from importlib import import_module
from inspect import Parameter, Signature, getdoc, signature
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import typer
import typer.main
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError, UsageError, not_utf8, reason_of
from cranfield.base.registry import WithoutPandas, deferred
from cranfield.cli import console

with deferred:
    import tempfile

# How a command is declared.

Function = TypeVar("Function", bound=Callable[..., Any])


class Declared(NamedTuple):
    """A command: what runs it, examples without the first word, and settings of click.

    `removed` are options that were dropped: for one version it is said what to type instead of each.
    """

    function: Callable[..., None]
    examples: tuple[str, ...]
    removed: Mapping[str, str]
    settings: dict[str, Any]

    @property
    def summary(self) -> str:
        """The first paragraph of its help."""
        return " ".join(str(getdoc(self.function)).partition("\n\n")[0].split())


class Stage:
    """The commands of one file. Where it has a name they are subcommands of that, and `alone` is it without any."""

    def __init__(self, name: str = "", summary: str = "") -> None:
        self.name, self.summary = name, summary
        self.commands: dict[str, Declared] = {}
        self.alone: Declared | None = None

    def command(
        self, *examples: str, removed: Mapping[str, str] | None = None, **settings: Any
    ) -> Callable[[Function], Function]:
        """Declare a command of the function's name; one of the stage's own name needs no subcommand."""

        def declare(function: Function) -> Function:
            name = function.__name__.strip("_").replace("_", "-")
            declared = Declared(_opening(function), examples, removed or {}, settings)
            if name == self.name:
                self.alone = declared
            else:
                self.commands[name] = declared
            return function

        return declare

    @property
    def examples(self) -> tuple[str, ...]:
        """Those of the stage itself, else the first one of each of its first commands."""
        return self.alone.examples if self.alone else tuple(one.examples[0] for one in [*self.commands.values()][:3])


def _opening(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is called: with the common options behind its own.

    A parameter of which only the help is said, as `Annotated[str, "…"]`, is an option of its own name, or an argument
    if it has no default. One whose kind is a group of options is made of them. For one called `store` the collection
    of -C is opened. What a function returns is shown, in a format that is an option where it says so.
    """
    declared = signature(function)
    makers = {
        name: getattr(one.annotation, "__metadata__", [one.annotation])[0]
        for name, one in declared.parameters.items()
        if name == "store" or is_dataclass(one.annotation)
    }
    options = [one for name, one in declared.parameters.items() if name not in makers]
    common = [one for maker in makers.values() for one in signature(maker).parameters.values()]
    if is_shown := declared.return_annotation is console.Shown:
        common.append(signature(console.show).parameters["format"].replace(annotation=console.Format))
    options += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in common]
    for place, one in enumerate(options):
        if isinstance(told := getattr(one.annotation, "__metadata__", [None])[0], str):
            name = f"--{one.name.strip('_').replace('_', '-')}"
            about = Argument(help=told) if one.default is Parameter.empty else Option(name, help=told)
            options[place] = one.replace(annotation=Annotated[one.annotation.__origin__, about])

    @wraps(function)
    def called(**values: Any) -> None:
        format = values.pop("format") if is_shown else "table"
        for name, maker in makers.items():
            values[name] = maker(**{word: values.pop(word) for word in signature(maker).parameters})
        with values.get("store") or nullcontext() as store:
            values |= {"store": store} if "store" in makers else {}
            if (result := function(**values)) is not None:
                console.show(result, format)

    called.__annotations__ = {one.name: one.annotation for one in options}
    called.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return called


Held = Mapping[str, Mapping[str, Callable[[], Stage | Declared]]]
"""By heading and name, what finds a command."""


class _Page:
    """What all commands have: help whose epilog are the examples, one in each line, and options that were dropped."""

    epilog: str | None
    removed: Mapping[str, str] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Say what to type instead of an option that was dropped; those of a subcommand are its own."""
        subcommands = getattr(self, "commands", {})
        for option in (word.partition("=")[0] for word in takewhile(lambda word: word not in subcommands, args)):
            if option in self.removed:
                raise UsageError(f"{option} was removed; {self.removed[option]}")
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # which newer versions of typer put before it
            raise

    def invoke(self, ctx: Any) -> Any:
        """Say what went wrong as long as it is known which collection was meant."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except CranfieldError as error:
            ctx.exit(console.fail(error))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  cranfield {line}\n" for line in self.epilog.splitlines()))


class _Command(_Page, TyperCommand):
    """A command without subcommands."""


class _Group(_Page, TyperGroup):
    """A command with subcommands, each of which is built when somebody wants it."""

    held: Held
    commands: dict[str, Any]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command as click runs it, with its own parameters and not those of its subcommands."""
        if cmd_name not in self.commands or self.commands[cmd_name] is not None:
            return self.commands.get(cmd_name)
        declared = next(section[cmd_name]() for section in self.held.values() if cmd_name in section)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        epilog = "\n".join(declared.examples)
        own = declared if isinstance(declared, Declared) else declared.alone
        if isinstance(declared, Declared):
            app.command(cmd_name, cls=_Command, epilog=epilog, **declared.settings)(declared.function)
            built: Any = typer.main.get_command(app)
        else:
            app.info.name, app.info.help, app.info.epilog = cmd_name, declared.summary, epilog
            app.info.invoke_without_command, app.info.no_args_is_help = own is not None, own is None
            if own is not None:
                app.callback(help=declared.summary)(own.function)
            finders = {word: partial(declared.commands.__getitem__, word) for word in declared.commands}
            built = group(app, {"Commands": finders})
        built.removed = {} if own is None else own.removed
        self.commands[cmd_name] = built
        return built

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the whole summary of each, which click would cut; all of them begin in the same column."""
        widest = max(map(len, self.commands))
        for heading, section in self.held.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), find().summary) for name, find in section.items()])


def group(app: typer.Typer, held: Held) -> Any:
    """A command with subcommands, as click runs it, from what typer knows of it without them."""
    app.info.cls = _Group
    # typer takes an app without commands for a group where it has something to call, and only then adds completion.
    build = typer.main.get_command if app.registered_callback else typer.main.get_group
    built = cast("_Group", build(app))
    built.held, built.commands = held, {name: None for section in held.values() for name in section}
    return built


# The program.

SECTIONS = {
    "Begin": {"demo": "collection", "init": "collection", "status": "collection"},
    "Documents, topics and runs": {"corpus": "corpus", "runs": "runs"},
    "Pool and judge": {"pool": "pool", "judge": "judge", "qrels": "qrels", "settle": "settle"},
    "Score, and trust the scores": {
        "evaluate": "evaluate",
        "compare": "compare",
        "reuse": "reuse",
        "simulate": "simulate",
        "report": "report",
        "trec-eval": "listing",
    },
    "Look after the collection": {
        "check": "collection",
        "backup": "collection",
        "restore": "collection",
        "datasette": "collection",
    },
    "Look up": {"measures": "listing", "strategies": "listing", "tests": "listing", "formats": "listing"},
}
"""The headings of the help in the order of the work, and under each its commands with the files that hold them."""

EXAMPLES = ("demo", "init my-collection --scale graded", "evaluate --qrels qrels.txt bm25.run dense.run")

INTERRUPTED, BUG = 130, 70
_EMPTY = re.compile(r"--[a-z-]+=\s*")
COMPLETE = "_CRANFIELD_COMPLETE"
"""What a shell sets where it asks for completions."""


def _show_version(wanted: bool) -> None:
    if wanted:
        console.put(f"cranfield {__version__}\n")
        raise typer.Exit


def program() -> Any:
    """The program, as click runs it."""
    app = typer.Typer(
        name="cranfield",
        help="Build information-retrieval test collections, and say how far each score can be trusted.",
        epilog="\n".join(EXAMPLES),
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    return group(app, {head: {name: partial(find, name) for name in section} for head, section in SECTIONS.items()})


def find(name: str) -> Stage | Declared:
    """What is declared of a command; its file is loaded for that."""
    file = next(section[name] for section in SECTIONS.values() if name in section)
    stage: Stage = import_module(f"cranfield.cli.{file}").stage
    return stage if stage.name == name else stage.commands[name]


def declared() -> Iterator[tuple[tuple[str, ...], Stage | Declared]]:
    """The words of every command and subcommand, in the order of the work, and what is declared of it."""
    for name in [name for section in SECTIONS.values() for name in section]:
        yield (name,), (held := find(name))
        if isinstance(held, Stage):
            yield from (((name, word), one) for word, one in held.commands.items())


@_opening
def _main(
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[bool, "Log to standard error."] = False,
    raw: Annotated[bool, "Write cells of CSV as they are, also those that a spreadsheet takes for formulas."] = False,
    collection: Annotated[
        Path | None, Option("-C", "--collection", help="The collection file, before or after the command.")
    ] = None,
) -> None:
    if verbose:
        form = "%(relativeCreated)8d ms  %(name)s: %(message)s"
        logging.basicConfig(stream=sys.stderr, format=form)
        # Those of other libraries are not for all eyes: they log signatures and keys.
        logging.getLogger("cranfield").setLevel(logging.DEBUG)


def run() -> None:
    """Run the program and leave it with the right status: 0 done, 1 a problem with the data, 2 a wrong call."""
    # UTF-8 whatever the locale, and into nothing where a stream was closed (>&-).
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.meta_path.insert(0, WithoutPandas)
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as `__main__` leaves it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for ending in (signal.SIGTERM, signal.SIGHUP):  # of a batch system, of a terminal that was closed
            if signal.getsignal(ending) is signal.SIG_DFL:
                # As after Ctrl-C: copies of pipes and programs that judge do not stay behind.
                signal.signal(ending, lambda number, _: sys.exit(128 + number))
        status = status_of(sys.argv[1:])
    except KeyboardInterrupt:  # before the command could say anything
        status = INTERRUPTED
    # To take all modules apart, one by one, would take the time of a small evaluation: so what was to be done at the
    # end is done, and memory is left to the operating system. Where a thread is still at work, or a stream cannot be
    # written to its end, Python leaves in its own way, which waits and complains. After Ctrl-C nobody waits: a thread
    # that reads from a pipe might do so for ever.
    if threading.active_count() == 1 or status >= INTERRUPTED - signal.SIGINT:
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    sys.exit(status)


def status_of(arguments: list[str]) -> int:
    """Run the program with these words, and give the status it ends with."""
    if COMPLETE in os.environ:
        with suppress(Exception, SystemExit):  # somebody is typing: a shell gets an answer or none, never a complaint
            program()(args=[], prog_name="cranfield")
        return 0
    head = arguments[: arguments.index("--")] if "--" in arguments else arguments
    # Some options may stand anywhere on the line, not only before the command.
    first = [word for word in head if word in ("--verbose", "--raw")]
    words = [*first, *(word for word in head if word not in first), *arguments[len(head) :]]
    try:
        if empty := [word for word in arguments if not word.strip() or (word in head and _EMPTY.fullmatch(word))]:
            which = f"{empty[0].strip().rstrip('=')} has no value" if empty[0].strip() else "an argument is empty"
            raise UsageError(f"{which}; is a shell variable unset?")
        program()(args=words, prog_name="cranfield")
    except SystemExit as leaving:
        # typer ends Ctrl-C this way, and a reader who has gone (cranfield … | head) too.
        if leaving.code == INTERRUPTED:
            console.say("cranfield: interrupted; nothing was left incomplete")
        return leaving.code if isinstance(leaving.code, int) else 0
    except Exception as error:  # noqa: BLE001
        return _fail(error)
    return 0


def _fail(error: Exception) -> int:
    """Say what went wrong, and give the status that it means."""
    if isinstance(error, CranfieldError | UnicodeEncodeError):
        return console.fail(not_utf8(error) if isinstance(error, UnicodeEncodeError) else error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        console.say(f"cranfield: {place}{reason_of(error)}")
        return 1
    if isinstance(error, MemoryError):
        console.say("cranfield: the memory of this machine does not suffice for these inputs")
        return 1
    # Nobody foresaw this. A traceback is for developers: the user is told where it is.
    kept: Any = {"prefix": "cranfield-", "suffix": ".log", "delete": False, "encoding": "utf-8"}
    with tempfile.NamedTemporaryFile("w", **kept) as log:
        log.write("".join(traceback.format_exception(error)))
    console.say(f"cranfield: unexpected error, please report it: {type(error).__name__}; details are in {log.name}")
    return BUG
