"""The command `cranfield`: its sub-commands, and what happens to errors, Ctrl-C and broken pipes."""

import atexit
import io
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError, UsageError, not_utf8, reason_of
from cranfield.base.registry import deferred
from cranfield.cli import commands, console

with deferred:
    import tempfile

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
    "Look after the collection": {"check": "collection", "backup": "collection", "restore": "collection"},
    "Look up": {"measures": "listing", "strategies": "listing", "tests": "listing", "formats": "listing"},
}
"""The headings of the help in the order of the work, and under each its commands with the files that hold them."""

EXAMPLES = ("demo", "init my-collection --scale graded", "evaluate --qrels qrels.txt bm25.run dense.run")

INTERRUPTED, BUG = 130, 70
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
    return commands.group(
        app, {head: {name: partial(find, name) for name in section} for head, section in SECTIONS.items()}
    )


def find(name: str) -> commands.Stage | commands.Declared:
    """What is declared of a command; its file is loaded for that."""
    file = next(section[name] for section in SECTIONS.values() if name in section)
    stage: commands.Stage = import_module(f"cranfield.cli.{file}").stage
    return stage if stage.name == name else stage.commands[name]


def declared() -> Iterator[tuple[tuple[str, ...], commands.Stage | commands.Declared]]:
    """The words of every command and subcommand, in the order of the work, and what is declared of it."""
    for name in [name for section in SECTIONS.values() for name in section]:
        yield (name,), (held := find(name))
        if isinstance(held, commands.Stage):
            yield from (((name, word), one) for word, one in held.commands.items())


def _main(
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[bool, Option("--verbose", help="Log to standard error.")] = False,
    raw: Annotated[
        bool,
        Option("--raw", help="Write cells of CSV as they are, also those that a spreadsheet takes for formulas."),
    ] = False,
    collection: Annotated[
        Path | None, Option("-C", "--collection", help="The collection file, before or after the command.")
    ] = None,
) -> None:
    if verbose:
        form = "%(relativeCreated)8d ms  %(name)s: %(message)s"
        logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format=form)


class _WithoutPandas:
    """Finds no pandas: no command needs it, but pyarrow and sqlite-utils would load it for half a second.

    None in `sys.modules` would do for sqlite-utils, but pyarrow takes it for the module; and a module that raises
    is got hold of by a second thread while it does.
    """

    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used here", name=name)


def run() -> None:
    """Run the program and leave it with the right status: 0 done, 1 a problem with the data, 2 a wrong call."""
    # UTF-8 whatever the locale, and into nothing where a stream was closed (>&-).
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.meta_path.insert(0, _WithoutPandas)
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as `__main__` leaves it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = status_of(sys.argv[1:])
    except KeyboardInterrupt:  # before the command could say anything
        status = INTERRUPTED
    # To take all modules apart, one by one, would take the time of a small evaluation: so what was to be done at the
    # end is done, and memory is left to the operating system. Where a thread is still at work, or a stream cannot be
    # written to its end, Python leaves in its own way, which waits and complains. After Ctrl-C nobody waits: a thread
    # that reads from a pipe might do so for ever.
    if threading.active_count() == 1 or status == INTERRUPTED:
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
        if "" in arguments:
            raise UsageError("a word of the command is empty; is a shell variable unset?")
        program()(args=words, prog_name="cranfield")
    except CranfieldError as error:
        return console.fail(error)
    except UnicodeEncodeError as error:
        return console.fail(not_utf8(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        console.say(f"cranfield: {place}{reason_of(error)}")
        return 1
    except MemoryError:
        console.say("cranfield: the memory of this machine does not suffice for these inputs")
        return 1
    except SystemExit as leaving:
        # typer ends Ctrl-C this way, and a reader who has gone (cranfield … | head) too.
        if leaving.code == INTERRUPTED:
            console.say("cranfield: interrupted; nothing was left incomplete")
        return leaving.code if isinstance(leaving.code, int) else 0
    except Exception as error:  # noqa: BLE001
        # Nobody foresaw this. A traceback is for developers: the user is told where it is.
        kept: Any = {"prefix": "cranfield-", "suffix": ".log", "delete": False, "encoding": "utf-8"}
        with tempfile.NamedTemporaryFile("w", **kept) as log:
            log.write("".join(traceback.format_exception(error)))
        console.say(
            f"cranfield: unexpected error, please report it: {type(error).__name__}; details are in {log.name}"
        )
        return BUG
    return 0
