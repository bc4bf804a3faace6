"""`cranfield judge`: from the pool to judgments. Bare, it opens the assessor's interface."""

from __future__ import annotations

import sys
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.errors import UsageError, quoted
from cranfield.base.progress import in_words
from cranfield.base.text import counted
from cranfield.cli import console, judge_data
from cranfield.cli.options import COLLECTION, Assessor, Collection, Format, name_of_assessor

if TYPE_CHECKING:
    from cranfield.base.tables import Column, Value
    from cranfield.judge.queue import Overlap, Probes
    from cranfield.workflows.judge.organise import JudgingProgress, Trial
    from cranfield.workflows.judge.session import StoredSession


app = typer.Typer(name="judge", help="Judge what is pooled.", invoke_without_command=True, rich_markup_mode=None)


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
    from cranfield.workflows.collection import open_collection
    from cranfield.workflows.judge.organise import assessor_of_packet
    from cranfield.workflows.judge.session import open_session

    # While the interface is on the screen nothing may be written beside it, not even that we wait.
    opened = console.collection(collection) if plain else open_collection(collection)
    with opened as store:
        desk = open_session(
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
    desk: StoredSession, *, plain: bool, break_after: int | None, theme: str = "auto", language: str = "english"
) -> int:
    """Let somebody judge at a desk, in the interface or line by line; give the exit status."""
    if plain:
        from assessor_ui.plain import run as run_plain

        return run_plain(desk, lines=sys.stdin, out=sys.stdout, break_after_minutes=break_after, language=language)
    from assessor_ui.app import run

    return run(desk, break_after_minutes=break_after, theme=theme, language=language)


def _say_goodbye(desk: StoredSession, collection: Path) -> None:
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


# `cranfield judge assign`, `progress`, `guidelines`, `scale`: what the organiser does.


def add_to_judge_organise(app: typer.Typer) -> None:
    """Add the commands of this file to the group."""
    for command in (assign, progress, guidelines, scale):
        app.command()(command)


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    words = text.strip()
    try:
        return float(words[:-1]) / 100 if words.endswith("%") else float(words)
    except ValueError:
        raise UsageError(f"{quoted(text)} is not a share; write 20% or 0.2") from None


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
    from cranfield.base.tables import table_of
    from cranfield.judge.queue import Overlap, Probes
    from cranfield.store.judging import assigned, planned_overlap, planned_probes
    from cranfield.workflows.judge.organise import assign_topics, plan

    double, again_shown = _share(overlap), _share(probes)
    twice = None if double is None else Overlap(double, by, seed)
    probing = None if again_shown is None else Probes(again_shown, probe_after, seed)
    with console.collection(collection) as store:
        if assessors:
            assign_topics(
                store,
                assessors,
                topics=tuple(topic or ()),
                pool=pool,
                again=again,
                shared=together,
                overlap=twice,
                probes=probing,
            )
        elif twice is not None or probing is not None:
            with store.write():
                plan(store, overlap=twice, probes=probing)
        made = assigned(store)
        _tell_plans(planned_overlap(store), planned_probes(store))
    if made:
        console.put_table(
            table_of(["topic", "assessor", "role"], [(one.topic, one.assessor, one.role) for one in made]), format
        )
    else:
        console.say("no topic is assigned: everybody may judge everything")


def _tell_plans(overlap: Overlap, probes: Probes) -> None:
    if overlap.share:
        console.say(f"overlap: {overlap.share:.3g} of the documents are judged by {overlap.by}; seed {overlap.seed}")
    if probes.share:
        console.say(
            f"probes: after {probes.share:.3g} of the answers an earlier document is shown again,"
            f" at least {probes.after} others later; seed {probes.seed}"
        )


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
    from cranfield.base.tables import table_of
    from cranfield.workflows.judge.organise import judging_progress

    with console.collection(collection) as store:
        found = judging_progress(store, pool=pool, queue=queue, layer=layer)
    columns, rows = _progress_rows(found, by)
    console.put_table(table_of(columns, rows), format)
    _tell_progress(found)
    if found.older:
        _offer_rejudging(found.older, collection)


def _progress_rows(found: JudgingProgress, by: str) -> tuple[list[Column | str], list[tuple[Value, ...]]]:
    from dataclasses import astuple
    from datetime import UTC, datetime

    from cranfield.base.tables import Column

    if by == "assessor":
        names: list[Column | str] = ["assessor", "judged", "cannot", "postponed"]
        speed = [Column(name, digits=1, kind="number") for name in ("seconds", "left", "hours_left")]
        return [*names, *speed, "last"], [astuple(one) for one in found.assessors]
    if by == "cannot":
        return ["topic", "document", "assessor", "reason", "happened"], [astuple(one) for one in found.refusals]
    if by == "lease":
        until = [datetime.fromtimestamp(one.expires, UTC).isoformat(timespec="seconds") for one in found.leases]
        pairs = zip(found.leases, until, strict=True)
        return ["topic", "document", "assessor", "until"], [
            (one.topic, one.document, one.assessor, when) for one, when in pairs
        ]
    columns: list[Column | str] = [
        "topic",
        "primary",
        "documents",
        "judged",
        "missing",
        "postponed",
        "cannot",
        "leased",
    ]
    return columns, [astuple(one) for one in found.topics]


def _tell_progress(found: JudgingProgress) -> None:
    share = f" ({found.judged / found.documents:.0%})" if found.documents else ""
    layer = "" if found.layer == "main" else f", layer {found.layer}"
    console.say(f"{found.name}{layer}: {found.judged:,} of {counted(found.documents, 'document')} judged{share}")
    console.say(what_is_missing(found))
    if found.leases:
        console.say(f"{counted(len(found.leases), 'document')} out: see --by lease")
    if found.refusals:
        console.say(f"{counted(len(found.refusals), 'time')} a document could not be judged: see --by cannot")


def what_is_missing(found: JudgingProgress) -> str:
    """Say how many answers are missing and how long they take; or that there is nothing left to do."""
    if not found.missing:
        return "everything is judged, second answers included" if found.documents else "there is nothing to judge"
    left = ""
    if found.hours is not None and found.seconds is not None:
        time = f"{found.hours:.1f} hours" if found.hours >= 1 else counted(ceil(60 * found.hours), "minute")
        time = time if 60 * found.hours >= 1 else "less than a minute"
        pace = counted(round(found.seconds), "second") if found.seconds >= 0.5 else "less than a second"
        left = f", {time} at {pace} each"
    return f"{counted(found.missing, 'answer')} missing, second ones included{left}"


def guidelines(
    file: Annotated[Path, typer.Argument(help="A Markdown file.")], collection: Collection = COLLECTION
) -> None:
    """Put new guidelines in force; what was judged under the old ones is marked and can be judged again."""
    from cranfield.workflows.collection import change_guidelines

    with console.collection(collection) as store:
        changed = change_guidelines(store, file)
    console.say(f"version {changed.version} of the guidelines is in force")
    _offer_rejudging(changed.older, collection)


def scale(
    scale: Annotated[str, typer.Argument(help="As for init: binary, graded, '0=no, 1=yes', or a TOML file.")],
    collection: Collection = COLLECTION,
    relevant_from: Annotated[int | None, typer.Option(help="The lowest grade that counts as relevant.")] = None,
) -> None:
    """Put a new scale in force; what was judged on the old one is marked and can be judged again."""
    from cranfield.workflows.collection import change_scale, parse_scale

    chosen = parse_scale(scale, relevant_from=relevant_from)
    with console.collection(collection) as store:
        changed = change_scale(store, chosen)
    steps = ", ".join(f"{step.grade} {step.label}" for step in chosen.grades)
    console.say(f"version {changed.version} of the scale is in force: {steps}; relevant from {chosen.relevant_from}")
    if changed.off_scale:
        console.say(f"grades that are not on it: {changed.off_scale:,}")
    _offer_rejudging(changed.older, collection)


def _offer_rejudging(older: int, collection: Path) -> None:
    if older:
        again = console.hint("judge --rejudge", collection)
        said = f"{counted(older, 'grade')} given under an older scale or older guidelines"
        console.say(f"{said}; whoever gave them judges again with: {again}")


# `cranfield judge try`: topic development.


def add_to_judge_try(app: typer.Typer) -> None:
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
    from cranfield.workflows.judge import organise as judging_try

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


def _put_trial(trial: Trial, format: str) -> None:
    from cranfield.base.tables import facts_table

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


def _tell_trial(trial: Trial, collection: Path) -> None:
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


add_to_judge_organise(app)
add_to_judge_try(app)
judge_data.add_commands(app)
