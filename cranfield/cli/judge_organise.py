"""`cranfield judge assign`, `progress`, `guidelines`, `scale`: what the organiser does."""

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.errors import UsageError, quoted
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.judge.assignment import Overlap
    from cranfield.judge.probes import Probes
    from cranfield.report.table import Column, Value
    from cranfield.workflows.judging_progress import JudgingProgress


def add_to(app: typer.Typer) -> None:
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
    from cranfield.judge.assignment import Overlap
    from cranfield.judge.probes import Probes
    from cranfield.report.table import table_of
    from cranfield.workflows import judging_assign

    double, again_shown = _share(overlap), _share(probes)
    twice = None if double is None else Overlap(double, by, seed)
    probing = None if again_shown is None else Probes(again_shown, probe_after, seed)
    with console.collection(collection) as store:
        if assessors:
            judging_assign.assign_topics(
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
                judging_assign.plan(store, overlap=twice, probes=probing)
        made = judging_assign.assigned(store)
        _tell_plans(judging_assign.planned_overlap(store), judging_assign.planned_probes(store))
    if made:
        console.put_table(
            table_of(["topic", "assessor", "role"], [(one.topic, one.assessor, one.role) for one in made]), format
        )
    else:
        console.say("no topic is assigned: everybody may judge everything")


def _tell_plans(overlap: "Overlap", probes: "Probes") -> None:
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
    from cranfield.report.table import table_of
    from cranfield.workflows.judging_progress import judging_progress

    with console.collection(collection) as store:
        found = judging_progress(store, pool=pool, queue=queue, layer=layer)
    columns, rows = _progress_rows(found, by)
    console.put_table(table_of(columns, rows), format)
    _tell_progress(found)
    if found.older:
        _offer_rejudging(found.older, collection)


def _progress_rows(found: "JudgingProgress", by: str) -> "tuple[list[Column | str], list[tuple[Value, ...]]]":
    from dataclasses import astuple
    from datetime import UTC, datetime

    from cranfield.report.table import Column

    if by == "assessor":
        names: list[Column | str] = ["assessor", "judged", "cannot", "postponed"]
        speed = [Column(name, digits=1, numeric=True) for name in ("seconds", "left", "hours_left")]
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


def _tell_progress(found: "JudgingProgress") -> None:
    share = f" ({found.judged / found.documents:.0%})" if found.documents else ""
    layer = "" if found.layer == "main" else f", layer {found.layer}"
    console.say(f"{found.name}{layer}: {found.judged:,} of {counted(found.documents, 'document')} judged{share}")
    console.say(what_is_missing(found))
    if found.leases:
        console.say(f"{counted(len(found.leases), 'document')} out: see --by lease")
    if found.refusals:
        console.say(f"{counted(len(found.refusals), 'time')} a document could not be judged: see --by cannot")


def what_is_missing(found: "JudgingProgress") -> str:
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
    from cranfield.workflows.judging_versions import change_guidelines

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
    from cranfield.workflows.judging_versions import change_scale
    from cranfield.workflows.scale import parse_scale

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
