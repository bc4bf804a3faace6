"""`cranfield judge try`: topic development."""

from typing import TYPE_CHECKING, Annotated

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.cli.who import Assessor, name_of_assessor
from cranfield.errors import UsageError
from cranfield.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from cranfield.workflows.judging_try import Trial


def add_to(app: typer.Typer) -> None:
    """Add the command of this file to the group."""
    app.command(name="try")(try_topic)


def try_topic(
    topic: Annotated[str, typer.Argument(help="A topic of the collection.")],
    collection: Collection = COLLECTION,
    assessor: Assessor = "",
    accept: Annotated[
        bool, typer.Option("--accept", help="Accept the topic: you become its primary assessor.")
    ] = False,
    refuse: Annotated[str | None, typer.Option(help="Refuse the topic, for this reason.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Only say what is expected of it.")] = False,
    few: Annotated[int, typer.Option(min=0, help="Fewer relevant documents than this are too few.")] = 3,
    many: Annotated[int, typer.Option(min=1, help="More than this are too many.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample of hits.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Line by line instead of the interface.")] = False,
    format: Format = "table",
) -> None:
    """Try a draft topic: judge about 25 hits, see how many relevant documents to expect, accept or refuse it."""
    from cranfield.cli.judge import refuse_without_terminal, sit
    from cranfield.workflows import judging_try

    refused = refuse is not None
    if sum([accept, refused, show]) > 1:
        raise UsageError("accept the topic, refuse it, or only look at it: one of them")
    refuse_without_terminal(plain=plain or accept or refused or show)
    with console.collection(collection) as store:
        if accept:
            trial = judging_try.accept_topic(store, topic)
        elif refuse is not None:
            trial = judging_try.refuse_topic(store, topic, reason=refuse)
        else:
            if not show:
                desk = judging_try.begin_trial(store, topic, author=name_of_assessor(assessor), seed=seed)
                sit(desk, plain=plain, break_after=None)
            trial = judging_try.trial_of(store, topic, few=few, many=many)
    _put_trial(trial, format)
    _tell_trial(trial, collection)


def _put_trial(trial: "Trial", format: str) -> None:
    from cranfield.report.table import facts_table

    made, draft = trial.estimate, trial.draft
    rounded = [None if value is None else round(value) for value in (made.expected, made.low, made.high)]
    facts: dict[str, str | int | float | None] = {
        "topic": draft.topic,
        "author": draft.author,
        "state": draft.state,
        "judged": made.judged,
        "relevant": made.relevant,
        "expected relevant": rounded[0],
        "at least": rounded[1],
        "at most": rounded[2],
        "verdict": trial.size,
    }
    console.put_table(facts_table(facts), format)


def _tell_trial(trial: "Trial", collection: "Path") -> None:
    draft = trial.draft
    if draft.state == "accepted":
        console.say(f"{draft.topic} is accepted; {draft.author} is its primary assessor")
    elif draft.state == "refused":
        console.say(f"{draft.topic} is refused ({draft.reason}): it is not assigned and not judged any more")
    elif trial.size == "unknown":
        console.say(
            f"judge more of the {counted(trial.sampled, 'sampled hit')} to see how many relevant ones to expect"
        )
    else:
        command = console.hint(f"judge try {draft.topic} --accept", collection)
        console.say(f"decide with: {command} (or --refuse REASON)")
