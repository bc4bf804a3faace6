"""`cranfield judge`: from the pool to judgments. Bare, it opens the assessor's interface."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console, judge_data, judge_organise, judge_try
from cranfield.cli.options import COLLECTION, Collection
from cranfield.cli.who import Assessor, name_of_assessor
from cranfield.errors import UsageError
from cranfield.workflows.moments import in_words
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.workflows.judging_desk import CollectionDesk

app = typer.Typer(name="judge", help="Judge what is pooled.", invoke_without_command=True, rich_markup_mode=None)
judge_organise.add_to(app)
judge_try.add_to(app)
judge_data.add_commands(app)


def add_to(program: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    program.add_typer(app)


Plain = Annotated[
    bool, typer.Option("--plain", help="Questions and answers line by line: for pipes, scripts, screen readers.")
]
NoBreaks = Annotated[bool, typer.Option("--no-breaks", help="Never remind of a break.")]
BreakAfter = Annotated[int, typer.Option(min=1, help="Minutes of work after which a break is due.")]
Theme = Annotated[Literal["auto", "dark", "light"], typer.Option(help="The colours of the interface.")]
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
    no_breaks: NoBreaks = False,
    break_after: BreakAfter = 45,
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
    from cranfield.workflows.judging import assessor_of_packet, open_desk
    from cranfield.workflows.opening import open_collection

    # While the interface is on the screen nothing may be written beside it, not even that we wait.
    opened = console.collection(collection) if plain else open_collection(collection)
    with opened as store:
        desk = open_desk(
            store,
            assessor=name_of_assessor(assessor or assessor_of_packet(store)),
            pool=pool,
            queue=queue,
            layer=layer,
            order=order,
            seed=seed,
            topics=tuple(topic or ()),
            rejudge=rejudge,
            lease_seconds=60.0 * lease,
        )
        breaks = None if no_breaks else break_after
        status = sit(desk, plain=plain, break_after=breaks, theme=theme, language=language)
        _say_goodbye(desk, collection)
    if status:
        raise typer.Exit(status)


def refuse_without_terminal(*, plain: bool) -> None:
    """Say at once that the interface cannot be shown here."""
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the interface needs a terminal; through a pipe, judge with --plain")


def sit(
    desk: "CollectionDesk", *, plain: bool, break_after: int | None, theme: str = "auto", language: str = "english"
) -> int:
    """Let somebody judge at a desk, in the interface or line by line; give the exit status."""
    if plain:
        from assessor_ui.plain import run as run_plain

        return run_plain(desk, lines=sys.stdin, out=sys.stdout, break_after_minutes=break_after, language=language)
    from assessor_ui.app import run

    return run(desk, break_after_minutes=break_after, theme=theme, language=language)


def _say_goodbye(desk: "CollectionDesk", collection: Path) -> None:
    done = desk.progress()
    if not done.of:
        console.say(f"{desk.assessor}: nothing here is to be judged by you")
        return
    left = f"{counted(done.left, 'document')} left for you" if done.left else "nothing is left for you"
    console.say(f"{desk.assessor}: {counted(done.today, 'answer')} of yours today; {left}")
    waiting = desk.waiting() if done.left else None
    if waiting is not None and waiting.others:
        console.say(
            f"{counted(waiting.others, 'document')} others have before them; they come back if nobody answers"
        )
    if waiting is not None and waiting.own:
        said = f"{counted(waiting.own, 'document')} in a packet of yours, or in another sitting, open or cut off"
        console.say(f"{said}: the first comes back in {in_words(waiting.seconds)} at the latest")
    if not done.left:
        console.say(f"how far everybody is: {console.hint('judge progress', collection)}")
    older = desk.older()
    if older:
        said = f"{counted(older, 'answer')} of yours from before the scale or the guidelines were changed"
        console.say(f"{said}; give them again with: {console.hint('judge --rejudge', collection)}")
