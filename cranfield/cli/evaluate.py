"""`cranfield evaluate`: scores of runs against qrels."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cranfield.evaluate.explain import Step
    from cranfield.evaluate.scores import Scores
    from cranfield.evaluate.ties import Moved
    from cranfield.report.table import Table, Value
    from cranfield.steps.evaluate import Evaluated

_LONG_FORMATS = ("csv", "json", "jsonl")
_HASH_SHOWN = 16
_MOVES_SHOWN = 10


Runs = Annotated[
    list[str], typer.Argument(help="Run files, or names of stored runs. With --explain: RUN TOPIC [RUN].")
]
QrelsFile = Annotated[Path, typer.Option("--qrels", help="The file of qrels.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", help="A measure, like nDCG@10 or map; may be repeated. See cranfield measures."),
]
ByTopic = Annotated[bool, typer.Option("--by-topic", help="Every topic, not the summary alone.")]
Topics = Annotated[
    str, typer.Option(help="The topics that count: qrels (all of them), common, run, or a file of topic ids.")
]
Like = Annotated[
    Literal["9", "10"] | None,
    typer.Option("--as", help="Order ties and round recall levels as trec_eval 9 or 10."),
]
Ties = Annotated[
    Literal["trec", "best", "worst", "expected"],
    typer.Option(help="Tied documents: by id as trec_eval, best or worst first, or the mean of random orders."),
]
Duplicates = Annotated[
    Literal["plain", "novelty"],
    typer.Option(help="With novelty, near-duplicates of a document above count as not relevant."),
]
Clusters = Annotated[
    Path | None,
    typer.Option(help="Near-duplicates as document, tab, cluster; without it those the collection knows."),
]
Plot = Annotated[
    Path | None, typer.Option(help="Draw the first measure, topic by topic, into this file (PNG, SVG, PDF).")
]
Curve = Annotated[bool, typer.Option("--curve", help="Draw precision at recall instead, with --plot.")]
Explain = Annotated[bool, typer.Option("--explain", help="Lay open a run's list for one topic.")]
Depth = Annotated[int, typer.Option(min=1, help="How many ranks --explain shows.")]


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(evaluate)


def evaluate(
    runs: Runs,
    qrels: QrelsFile,
    measure: Measures = None,
    by_topic: ByTopic = False,
    topics: Topics = "qrels",
    like: Like = None,
    ties: Ties = "trec",
    duplicates: Duplicates = "plain",
    clusters: Clusters = None,
    plot: Plot = None,
    curve: Curve = False,
    explain: Explain = False,
    depth: Depth = 30,
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Score runs against qrels."""
    from cranfield.steps import evaluate as step
    from cranfield.steps.plotting import plot_curves, plot_scores, refuse_other_kinds

    _refuse_idle_options(duplicates, clusters, plot, curve)
    refuse_other_kinds(plot)
    with console.collection_if_any(collection) as store:
        if explain:
            chosen, topic = _explained(runs)
            asked = step.Asked(qrels=qrels, runs=chosen, like=like)
            console.put_table(_laid_open(topic, step.explain_lists(asked, topic, depth=depth, store=store)), format)
            return
        asked = step.Asked(
            qrels=qrels,
            runs=tuple(runs),
            topics=topics,
            like=like,
            ties=ties,
            duplicates=duplicates,
            clusters=clusters,
            curve=curve,
        )
        if measure:
            asked = step.with_measures(asked, measure)
        with console.progress() as progress:
            found = step.evaluate_and_tell(asked, store=store, progress=progress)
    for note in [*_notes(found.scores), *found.notes, *_tie_notes(found.moved)]:
        console.say(note)
    _put(found, by_topic, format)
    if plot:
        drawn = plot_scores(found.scores, plot) if found.curve is None else plot_curves(found.curve, plot)
        console.say(f"drew {drawn} into {plot}")


def _refuse_idle_options(duplicates: str, clusters: Path | None, plot: Path | None, curve: bool) -> None:
    if curve and plot is None:
        raise typer.BadParameter("--curve draws into the file that --plot names")
    if clusters is not None and duplicates != "novelty":
        raise typer.BadParameter("--clusters is for --duplicates novelty")


def _put(found: "Evaluated", by_topic: bool, format: str) -> None:
    if format in _LONG_FORMATS:
        console.put_table(_long(found, by_topic), format)
        return
    console.put_wide_table(_wide(found.scores, by_topic), format)
    if found.changes:
        console.put_table(_changes(found), format)


def _explained(words: list[str]) -> tuple[tuple[str, ...], str]:
    if len(words) not in (2, 3):
        raise typer.BadParameter("--explain takes RUN TOPIC, or RUN TOPIC RUN")
    return (words[0], *words[2:]), words[1]


def _long(found: "Evaluated", by_topic: bool) -> "Table":
    """Give one row per run, topic and measure; with novelty also the plain value, and the places of runs."""
    from cranfield.report.table import table_of

    scores = found.scores
    made_with = (scores.qrels_hash[:_HASH_SHOWN], f"trec_eval {scores.reference}")
    columns = ["run", "topic", "measure", "value", "qrels", "reference"]
    rows = [(*row, *made_with) for row in scores.rows(by_topic=by_topic)]
    if found.plain is None:
        return table_of(columns, rows)
    ranks: dict[tuple[str, str, str], tuple[Value, Value]] = {
        (one.run, "all", one.measure): (one.rank, one.plain_rank) for one in found.changes
    }
    plain = [row[3] for row in found.plain.rows(by_topic=by_topic)]
    joined = [(*row, value, *ranks.get(row[:3], (None, None))) for row, value in zip(rows, plain, strict=True)]
    return table_of([*columns, "plain", "rank", "plain_rank"], joined)


def _changes(found: "Evaluated") -> "Table":
    """Give the places of runs by novelty and by plain scoring, those that changed most first."""
    from cranfield.report.table import Column, table_of

    moved = sorted((one for one in found.changes if one.change), key=lambda one: -abs(one.change))
    rows = [(one.run, one.measure, one.value, one.plain, one.rank, one.plain_rank) for one in moved]
    columns = [Column("run"), Column("measure"), *(Column(name, numeric=True) for name in ("novelty", "plain"))]
    columns += [Column("rank", numeric=True), Column("plain_rank", numeric=True)]
    unmoved = len(found.changes) - len(moved)
    note = f"{unmoved:,} of {counted(len(found.changes), 'place')} of runs did not change"
    return table_of(columns, rows, caption="Places of runs that novelty changes", notes=[note])


def _wide(scores: "Scores", by_topic: bool) -> "Table":
    from cranfield.report.table import Column, table_of, with_best

    columns = [Column(str(measure), str(measure), numeric=True) for measure in scores.measures]
    rows: list[tuple[Value, ...]] = []
    for number, run in enumerate(scores.run_names):
        for place, topic in enumerate(scores.topic_ids if by_topic else ()):
            if scores.scored[number, place]:
                rows.append((run, topic, *_printable(scores, scores.values[:, number, place])))
        rows.append((run, "all", *_printable(scores, scores.summary[:, number])))
    if by_topic:
        return table_of([Column("run"), Column("topic"), *columns], rows)
    table = table_of([Column("run"), *columns], [(row[0], *row[2:]) for row in rows])
    return with_best(table, [place for place, one in enumerate(scores.measures, start=1) if one.quality])


def _printable(scores: "Scores", values: "NDArray[np.float64]") -> "list[Value]":
    """Give values as people expect them: what is added up over topics is a count."""
    return [
        int(value) if measure.aggregate == "sum" and value == int(value) else value
        for measure, value in zip(scores.measures, values.tolist(), strict=True)
    ]


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


def _tie_notes(moved: "Sequence[Moved]") -> list[str]:
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
