"""`cranfield evaluate`: scores of runs against qrels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.explain import Step
    from cranfield.evaluate.scores import Scores
    from cranfield.evaluate.ties import Moved
    from cranfield.report.table import Table, Value

_LONG_FORMATS = ("csv", "json", "jsonl")
_HASH_SHOWN = 16
_MOVES_SHOWN = 10


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(evaluate)


def evaluate(
    runs: Annotated[
        list[str], typer.Argument(help="Run files, or names of stored runs. With --explain: RUN TOPIC [RUN].")
    ],
    qrels: Annotated[Path, typer.Option("--qrels", help="The file of qrels.")],
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--measure", help="A measure, like nDCG@10 or map; may be repeated. See cranfield measures."
        ),
    ] = None,
    by_topic: Annotated[bool, typer.Option("--by-topic", help="Every topic, not the summary alone.")] = False,
    topics: Annotated[
        str, typer.Option(help="The topics that count: qrels (all of them), common, run, or a file of topic ids.")
    ] = "qrels",
    like: Annotated[
        Literal["9", "10"] | None,
        typer.Option("--as", help="Order ties and round recall levels as trec_eval 9 or 10."),
    ] = None,
    ties: Annotated[
        Literal["trec", "best", "worst", "expected"],
        typer.Option(help="Tied documents: by id as trec_eval, best or worst first, or the mean of random orders."),
    ] = "trec",
    explain: Annotated[bool, typer.Option("--explain", help="Lay open a run's list for one topic.")] = False,
    depth: Annotated[int, typer.Option(min=1, help="How many ranks --explain shows.")] = 30,
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Score runs against qrels."""
    from cranfield.steps import evaluate as step

    with console.collection_if_any(collection) as store:
        if explain:
            chosen, topic = _explained(runs)
            asked = step.Asked(qrels=qrels, runs=chosen, like=like)
            console.put_table(_laid_open(topic, step.explain_lists(asked, topic, depth=depth, store=store)), format)
            return
        asked = step.Asked(qrels=qrels, runs=tuple(runs), topics=topics, like=like, ties=ties)
        if measure:
            asked = step.with_measures(asked, measure)
        with console.progress() as progress:
            scores, moved = step.evaluate_and_tell(asked, store=store, progress=progress)
    for note in [*_notes(scores), *_tie_notes(moved)]:
        console.say(note)
    table = _long(scores, by_topic) if format in _LONG_FORMATS else _wide(scores, by_topic)
    console.put_table(table, format)


def _explained(words: list[str]) -> tuple[tuple[str, ...], str]:
    if len(words) not in (2, 3):
        raise typer.BadParameter("--explain takes RUN TOPIC, or RUN TOPIC RUN")
    return (words[0], *words[2:]), words[1]


def _long(scores: "Scores", by_topic: bool) -> "Table":
    from cranfield.report.table import table_of

    made_with = (scores.qrels_hash[:_HASH_SHOWN], f"trec_eval {scores.reference}")
    rows = [(*row, *made_with) for row in scores.rows(by_topic=by_topic)]
    return table_of(["run", "topic", "measure", "value", "qrels", "reference"], rows)


def _wide(scores: "Scores", by_topic: bool) -> "Table":
    from cranfield.report.table import Column, table_of

    columns = [Column(str(measure), str(measure), numeric=True) for measure in scores.measures]
    rows: list[tuple[Value, ...]] = []
    for number, run in enumerate(scores.run_names):
        for place, topic in enumerate(scores.topic_ids if by_topic else ()):
            if scores.scored[number, place]:
                rows.append((run, topic, *(float(value) for value in scores.values[:, number, place])))
        rows.append((run, "all", *(float(value) for value in scores.summary[:, number])))
    if not by_topic:
        rows = [(row[0], *row[2:]) for row in rows]
    return table_of([Column("run"), *([Column("topic")] if by_topic else []), *columns], rows)


def _notes(scores: "Scores") -> list[str]:
    """Say what stands behind the means: topics scored, missing, extra, without anything relevant; the qrels."""
    notes = []
    for run, counts in zip(scores.run_names, scores.counts, strict=True):
        parts = [counted(counts.scored, "topic") + " scored"]
        parts += [f"{counts.missing:,} missing from the run (scored 0)"] if counts.missing else []
        parts += [f"{counts.nothing_relevant:,} with nothing relevant (scored 0)"] if counts.nothing_relevant else []
        parts += [f"{counts.extra:,} without qrels left out"] if counts.extra else []
        notes.append(f"{run}: {', '.join(parts)}")
    shared = {note.partition(": ")[2] for note in notes}
    if len(notes) > 1 and len(shared) == 1:
        notes = [f"each of {counted(len(notes), 'run')}: {shared.pop()}"]
    return [*notes, f"qrels {scores.qrels_hash[:_HASH_SHOWN]}, order of ties as in trec_eval {scores.reference}"]


def _tie_notes(moved: "list[Moved]") -> list[str]:
    """Say which scores hang on the order of tied documents."""
    shown = [
        f"ties: {one.measure} of {one.run} is {one.value:.4f}, in other orders {one.worst:.4f} to {one.best:.4f}"
        for one in moved[:_MOVES_SHOWN]
    ]
    return [*shown, *([f"… and {len(moved) - _MOVES_SHOWN} more"] if len(moved) > _MOVES_SHOWN else [])]


def _laid_open(topic: str, lists: "list[tuple[str, list[Step]]]") -> "Table":
    from cranfield.report.table import Column, table_of

    columns: list[Column] = [Column("rank", numeric=True)]
    for number, _ in enumerate(lists):
        mark = f"_{number + 1}" if len(lists) > 1 else ""
        columns += [Column(f"document{mark}", "document"), Column(f"grade{mark}", "grade")]
        columns += [Column(f"{name}{mark}", name, numeric=True) for name in ("P", "R", "DCG")]
    longest = max(len(steps) for _, steps in lists)
    rows = [(place + 1, *(cell for _, steps in lists for cell in _cells(steps, place))) for place in range(longest)]
    return table_of(columns, rows, caption=f"topic {topic}: {' | '.join(name for name, _ in lists)}")


def _cells(steps: "list[Step]", place: int) -> "tuple[Value, ...]":
    if place >= len(steps):
        return "", "", None, None, None
    step = steps[place]
    return step.document, step.state, step.precision, step.recall, step.dcg
