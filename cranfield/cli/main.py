"""The command `cranfield`: its sub-commands, and what happens to errors, Ctrl-C and broken pipes."""

import io
import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Annotated

import typer

from cranfield._version import __version__
from cranfield.cli import (
    collection,
    compare,
    console,
    corpus,
    evaluate,
    judge,
    listing,
    measures,
    pool,
    qrels,
    report,
    reuse,
    runs,
    settle,
    simulate,
    trec_eval,
)
from cranfield.errors import CranfieldError, not_utf8

app = typer.Typer(
    name="cranfield",
    help="Build information-retrieval test collections, and say how far each score can be trusted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
collection.add_to(app)
app.add_typer(corpus.app)
app.add_typer(runs.app)
app.add_typer(pool.app)
app.add_typer(judge.app)
app.add_typer(qrels.app)
evaluate.add_to(app)
compare.add_to(app)
reuse.add_to(app)
simulate.add_to(app)
report.add_to(app)
settle.add_to(app)
trec_eval.add_to(app)
measures.add_to(app)
listing.add_to(app)

INTERRUPTED = 130


def _show_version(wanted: bool) -> None:
    if wanted:
        console.put(f"cranfield {__version__}\n")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log what happens to standard error.")] = False,
) -> None:
    if verbose:
        console.be_verbose()


def run(arguments: list[str] | None = None) -> None:
    """Run the program and leave it with the right status: 0 done, 1 a problem with the data, 2 a wrong call."""
    _prepare_streams()
    sys.meta_path.insert(0, _WithoutPandas())
    sys.exit(_status(sys.argv[1:] if arguments is None else arguments))


def _prepare_streams() -> None:
    """Write UTF-8 whatever the locale, and into nothing where a stream was closed (>&-)."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


class _WithoutPandas(MetaPathFinder):
    """Keeps pandas out: the commands never need it, but pyarrow and sqlite-utils would load it for half a second."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Answer for pandas alone: it is not there."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used by the command line", name=name)


def _status(arguments: list[str]) -> int:
    try:
        app(args=_verbose_first(arguments), prog_name="cranfield")
    except CranfieldError as error:
        return console.fail(error)
    except UnicodeEncodeError as error:
        return console.fail(not_utf8(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        console.say(f"cranfield: {place}{error.strerror or error}")
        return 1
    except SystemExit as leaving:
        # typer ends Ctrl-C this way, and a reader who has gone (cranfield … | head) too.
        if leaving.code == INTERRUPTED:
            console.say("cranfield: interrupted; nothing was left half done")
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0


def _verbose_first(arguments: list[str]) -> list[str]:
    """Let --verbose stand anywhere on the line, not only before the command."""
    head = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--verbose" not in head:
        return arguments
    return ["--verbose", *(word for word in head if word != "--verbose"), *arguments[len(head) :]]
