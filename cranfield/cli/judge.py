"""`cranfield judge`: from the pool to judgments. Bare, it opens the assessor's interface."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.cli import console, judge_data
from cranfield.cli.console import COLLECTION, Assessor, Collection, Format, name_of_assessor, removed
from cranfield.cli.judge_data import opened

with deferred:
    from assessor_ui import app as interface
    from assessor_ui import plain as plain_interface
    from assessor_ui import session as interface_session

if TYPE_CHECKING:
    from cranfield.workflows.judge.session import StoredSession

app = typer.Typer(name="judge", help="Judge what is pooled.", invoke_without_command=True, rich_markup_mode=None)


def add_to(program: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    program.add_typer(app)


Plain = Annotated[
    bool, typer.Option("--plain", help="Questions and answers line by line: for pipes, scripts, screen readers.")
]
BreakAfter = Annotated[int, typer.Option(min=0, help="Minutes of work after which a break is due; 0: never.")]
Theme = Annotated[Literal["auto", "dark", "light"], typer.Option(help="The colours of the interface.")]
# Options that were dropped; the hints go with the next version.
_SIZES = "fewer than 3 expected are too few, more than 100 too many; in Python try_ takes few and many"
NoBreaks = Annotated[bool, removed("--no-breaks", "use --break-after 0")]
Few = Annotated[int | None, removed("--few", _SIZES)]
Many = Annotated[int | None, removed("--many", _SIZES)]
Language = Annotated[str, typer.Option(help="The language of the documents: how words are stemmed to be found.")]


@app.callback(invoke_without_command=True)
def judge(
    context: typer.Context,
    collection: Collection = COLLECTION,
    assessor: Assessor = "",
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Only this topic; may be repeated.")] = None,
    pool: Annotated[str, typer.Option(help="The pool; the latest by default.")] = "",
    queue: Annotated[str, typer.Option(help="Judge a queue: a top-up, or what settles two runs.")] = "",
    layer: Annotated[str, typer.Option(help="The layer the judgments go to; main by default.")] = "",
    order: Annotated[
        Literal["plan", "id", "random", "cluster"],
        typer.Option(help="The order of a topic: as pooled, by id, drawn, or near-duplicates together."),
    ] = "plan",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random order.")] = 0,
    rejudge: Annotated[
        bool, typer.Option("--rejudge", help="What you judged under an older scale or older guidelines.")
    ] = False,
    plain: Plain = False,
    break_after: BreakAfter = 45,
    no_breaks: NoBreaks = False,
    lease: Annotated[
        int, typer.Option(min=1, help="Minutes after which an unanswered document is others' too.")
    ] = 10,
    theme: Theme = "auto",
    language: Language = "english",
) -> None:
    """Judge. Without a further word the assessor's interface opens; each answer is saved before it says so."""
    if context.invoked_subcommand is not None:
        return
    refuse_without_terminal(plain=plain)
    with opened(collection, quiet=not plain) as judging:
        session = judging.session(
            name_of_assessor(assessor or judging.packet_assessor),
            pool=pool,
            queue=queue,
            layer=layer,
            order=order,
            seed=seed,
            topics=tuple(topic or ()),
            rejudge=rejudge,
            lease_seconds=60.0 * lease,
        )
        status = run_session(session, plain=plain, break_after=break_after or None, theme=theme, language=language)
        for note in judging.closing_notes(session):
            console.say(note)
    if status:
        raise typer.Exit(status)


def refuse_without_terminal(*, plain: bool) -> None:
    """Say at once that the interface cannot be shown here."""
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the interface needs a terminal; through a pipe, judge with --plain")


def run_session(
    session: "StoredSession", *, plain: bool, break_after: int | None, theme: str = "auto", language: str = "english"
) -> int:
    """Let somebody judge, in the interface or line by line; give the exit status."""
    judging = interface_session.Session(session, break_after_minutes=break_after, language=language)
    return (
        plain_interface.Lines(judging, sys.stdin, sys.stdout).run() if plain else interface.run(judging, theme=theme)
    )


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    words = text.strip()
    try:
        return float(words[:-1]) / 100 if words.endswith("%") else float(words)
    except ValueError:
        raise UsageError(f"{quoted(text)} is not a share; write 20% or 0.2") from None


@app.command()
def assign(
    assessors: Annotated[
        list[str] | None, typer.Argument(help="Names; without any, what is assigned is listed.")
    ] = None,
    collection: Collection = COLLECTION,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="This topic; by default all that nobody has yet.")
    ] = None,
    pool: Annotated[str, typer.Option(help="The pool whose topics are given out; the latest by default.")] = "",
    together: Annotated[
        bool, typer.Option("--together", help="All judge all these topics; the first named is primary.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Give all topics out again.")] = False,
    overlap: Annotated[str | None, typer.Option(help="The share that more than one judge, such as 20%.")] = None,
    by: Annotated[int, typer.Option(min=2, help="How many judge each document of the overlap.")] = 2,
    probes: Annotated[
        str | None, typer.Option(help="The share of answers after which an earlier document is shown again.")
    ] = None,
    probe_after: Annotated[int, typer.Option(min=1, help="How many others come before one is shown again.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn for overlap and probes.")] = 0,
    format: Format = "table",
) -> None:
    """Give topics to assessors, in equal shares; plan overlap and probes."""
    shares = _share(overlap), _share(probes)
    with opened(collection) as judging:
        result = judging.assign(
            assessors or (),
            topics=tuple(topic or ()),
            pool=pool,
            together=together,
            again=again,
            overlap=shares[0],
            by=by,
            probes=shares[1],
            probe_after=probe_after,
            seed=seed,
        )
    console.show(result, format if result.made else "table")


@app.command()
def progress(
    collection: Collection = COLLECTION,
    by: Annotated[
        Literal["topic", "assessor", "cannot", "lease"],
        typer.Option(help="By topic, by assessor, what could not be judged and why, or what is out."),
    ] = "topic",
    pool: Annotated[str, typer.Option(help="The pool; the latest by default.")] = "",
    queue: Annotated[str, typer.Option(help="A queue instead of a pool.")] = "",
    layer: Annotated[str, typer.Option(help="The layer; main by default.")] = "",
    format: Format = "table",
) -> None:
    """Say how far judging is: the organiser's view."""
    with opened(collection) as judging:
        result = judging.progress(by=by, pool=pool, queue=queue, layer=layer)
    console.show(result, format)


@app.command()
def guidelines(
    file: Annotated[Path, typer.Argument(help="A Markdown file.")], collection: Collection = COLLECTION
) -> None:
    """Put new guidelines in force; what was judged under the old ones is marked and can be judged again."""
    with opened(collection) as judging:
        result = judging.guidelines(file)
    console.show(result)


@app.command()
def scale(
    scale: Annotated[str, typer.Argument(help="As for init: binary, graded, '0=no, 1=yes', or a TOML file.")],
    collection: Collection = COLLECTION,
    relevant_from: Annotated[int | None, typer.Option(help="The lowest grade that counts as relevant.")] = None,
) -> None:
    """Put a new scale in force; what was judged on the old one is marked and can be judged again."""
    with opened(collection) as judging:
        result = judging.scale(scale, relevant_from=relevant_from)
    console.show(result)


@app.command(name="try")
def try_topic(
    topic: Annotated[str, typer.Argument(help="A topic of the collection.")],
    collection: Collection = COLLECTION,
    assessor: Assessor = "",
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept the topic: you become its primary assessor.")
    ] = False,
    refuse: Annotated[str | None, typer.Option(help="Refuse the topic, for this reason.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Only say what is expected of it.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample of hits.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Line by line instead of the interface.")] = False,
    format: Format = "table",
    few: Few = None,
    many: Many = None,
) -> None:
    """Try a draft topic: judge about 25 hits, see how many relevant documents to expect, accept or refuse it."""
    decided = accept or refuse is not None
    if sum([accept, refuse is not None, show]) > 1:
        raise UsageError("accept the topic, refuse it, or only look at it: one of them")
    refuse_without_terminal(plain=plain or decided or show)
    with opened(collection) as judging:
        if not (decided or show):
            session = judging.begin_trial(topic, name_of_assessor(assessor), seed=seed)
            run_session(session, plain=plain, break_after=None)
        result = judging.try_(topic, accept=accept, refuse=refuse)
    console.show(result, format)


judge_data.add_commands(app)
