"""`cranfield evaluate`: scores of runs against qrels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.text import counted
from cranfield.cli import console
from cranfield.cli.options import (
    COLLECTION,
    HOLES,
    Collection,
    Format,
    collection_meant,
    marked,
    qrels_named,
    runs_named_or_all,
    with_notes,
)
from cranfield.cli.reuse import CardFile, Groups, Layers, PoolDepth, PoolName, QrelsWord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cranfield.base.tables import Table, Value
    from cranfield.evaluate.scores import Scores, Step
    from cranfield.store.store import Store
    from cranfield.workflows.evaluate.evaluate import Evaluated
    from cranfield.workflows.evaluate.inputs import Asked
    from cranfield.workflows.evaluate.tables import Explained
    from cranfield.workflows.reuse.field import PoolTold, Trusted


# Lists laid open, for people side by side and as data one below the other.

_LONG_FORMATS_EXPLAINED = ("csv", "json", "jsonl")
_NUMBERS = ("P", "R", "DCG")
_DIGITS, _FEWER_DIGITS = 4, 3


def refuse_beside_explain(words: Sequence[str], given: Mapping[str, object]) -> None:
    """Refuse a call that does not name a run and a topic, and options that would change nothing."""
    if len(words) not in (2, 3):
        raise typer.BadParameter("--explain takes RUN TOPIC, or RUN TOPIC RUN")
    idle = [name for name, value in given.items() if value]
    if idle:
        raise typer.BadParameter(
            f"--explain lays open the lists of one topic; {', '.join(idle)} would change nothing"
        )


def lay_open(asked: Asked, topic: str, depth: int, store: Store | None, format: str) -> None:
    """Write the lists of runs for one topic."""
    from cranfield.workflows.evaluate.tables import explain_lists

    _put_explained(explain_lists(asked, topic, depth=depth, store=store), format)


def _put_explained(found: Explained, format: str) -> None:
    """Write lists side by side, a little narrower where that makes them fit; else one below the other."""
    from cranfield.cli.options import with_notes
    from cranfield.workflows.evaluate.tables import short_hash

    if format in _LONG_FORMATS_EXPLAINED:
        console.put_table(_long_explained(found), format)
        return
    worth = ", ".join(f"{grade}: {gain:g}" for grade, gain in found.gains)
    scale = f"relevant from grade {found.rel} on" + (f"; gains in DCG {worth}" if worth else "")
    note = f"{scale}; qrels {short_hash(found.qrels_hash)}, order of ties as in {found.order}"
    lists = list(found)
    whole = next(
        (table for digits in (_DIGITS, _FEWER_DIGITS) if console.fits(table := _beside(found, lists, digits))), None
    )
    tables = [whole] if whole is not None else [_beside(found, [one], _DIGITS) for one in lists]
    for place, table in enumerate(tables):
        is_last = console.goes_elsewhere(format) and place == len(tables) - 1
        notes = [note, *(found.unseen if format != "table" else ())] if is_last else []
        console.put_table(with_notes(table, notes), format)
    for said in () if format != "table" else found.unseen:
        console.say(said)
    if not console.goes_elsewhere(format):
        console.say(note)


def _long_explained(found: Explained) -> Table:
    """Give one row for each run and rank, with what it was made with."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.evaluate.tables import short_hash

    made = (short_hash(found.qrels_hash), found.order)
    rows = [
        (run, found.topic, step.rank, step.document, step.state, step.precision, step.recall, step.dcg, *made)
        for run, steps in found
        for step in steps
    ]
    return table_of(["run", "topic", "rank", "document", "grade", *_NUMBERS, "qrels", "reference"], rows)


def _beside(found: Explained, lists: list[tuple[str, list[Step]]], digits: int) -> Table:
    from cranfield.base.tables import Column, table_of

    columns: list[Column] = [Column("rank", "rank" if digits == _DIGITS else "#", kind="number")]
    for number, _ in enumerate(lists):
        mark = f"_{number + 1}" if len(lists) > 1 else ""
        columns += [Column(f"document{mark}", "document"), Column(f"grade{mark}", "grade")]
        columns += [Column(f"{name}{mark}", name, "number", digits) for name in _NUMBERS]
    longest = max(len(steps) for _, steps in lists)
    rows = [(place + 1, *(cell for _, steps in lists for cell in _cells(steps, place))) for place in range(longest)]
    return table_of(columns, rows, caption=f"topic {found.topic}: {' | '.join(name for name, _ in lists)}")


def _cells(steps: list[Step], place: int) -> tuple[Value, ...]:
    if place >= len(steps):
        return "", "", None, None, None
    step = steps[place]
    return step.document, step.state, step.precision, step.recall, step.dcg


_LONG_FORMATS = ("csv", "json", "jsonl")
_HOLES_SAID = f"{HOLES} the topic has unjudged documents within the depth that matters"


Runs = Annotated[
    list[str] | None,
    typer.Argument(
        help="Run files, or names of stored runs (all of them by default). With --explain: RUN TOPIC [RUN]."
    ),
]
NoVerdict = Annotated[bool, typer.Option("--no-verdict", help="Scores alone: no intervals, no verdicts.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", help="A measure, like nDCG@10 or map; may be repeated. See cranfield measures."),
]
BestFirst = Annotated[bool, typer.Option("--best-first", help="The best run first, by the first measure.")]
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
    typer.Option(help="Tied documents: by id as trec_eval, best or worst first, or the mean over all orders."),
]
Duplicates = Annotated[
    Literal["plain", "novelty"],
    typer.Option(help="With novelty, near-duplicates of a document above count as not relevant."),
]
Clusters = Annotated[
    Path | None,
    typer.Option(help="Near-duplicates as document, tab, cluster; without it those the collection knows."),
]
LetterTest = Annotated[
    Literal["tukey", "t"] | None,
    typer.Option(
        "--letters", help="Mark runs that do not differ with the same letter: by Tukey's test, or paired t with Holm."
    ),
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
    runs: Runs = None,
    qrels: QrelsWord = None,
    measure: Measures = None,
    by_topic: ByTopic = False,
    best_first: BestFirst = False,
    topics: Topics = "qrels",
    like: Like = None,
    ties: Ties = "trec",
    duplicates: Duplicates = "plain",
    clusters: Clusters = None,
    letters: LetterTest = None,
    plot: Plot = None,
    curve: Curve = False,
    explain: Explain = False,
    depth: Depth = 30,
    layer: Layers = None,
    no_verdict: NoVerdict = False,
    groups: Groups = None,
    pool_depth: PoolDepth = None,
    card: CardFile = None,
    pool: PoolName = "",
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Score runs against qrels, and say how far each score can be trusted."""
    # No matrices are multiplied here, and to start the threads for that takes longer than to score a run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from cranfield.workflows.evaluate import evaluate as step
    from cranfield.workflows.evaluate.inputs import Asked
    from cranfield.workflows.evaluate.tables import refuse_other_kinds

    _refuse_idle_options(duplicates, clusters, plot, curve)
    if plot:
        refuse_other_kinds(plot)
    words = runs or []
    if explain:
        idle = {"--by-topic": by_topic, "--best-first": best_first, "--topics": topics != "qrels"}
        refuse_beside_explain(words, idle | {"--letters": letters, "--plot": plot})
    with collection_meant(collection, qrels, [*words[:1], *words[2:]] if explain else runs) as store:
        asked = Asked(
            qrels=qrels_named(store, qrels, layer),
            runs=(words[0], *words[2:]) if explain else runs_named_or_all(store, runs),
            topics=topics,
            like=like,
            ties=ties,
            duplicates=duplicates,
            clusters=clusters,
            curve=curve,
            letters=letters,
        )
        if measure:
            asked = step.with_measures(asked, measure)
        if explain:
            lay_open(asked, words[1], depth, store, format)
            return
        told = None if no_verdict else _told(groups, pool_depth, card, pool)
        found, trust = _found(asked, told, store)
    _tell(found, trust, _Shown(by_topic, best_first, format))
    if plot:
        _plot(found, plot)


def _told(groups: Path | None, depth: int | None, card: Path | None, pool: str) -> PoolTold:
    from cranfield.workflows.reuse.field import PoolTold

    return PoolTold(groups=groups, depth=depth, card=card, pool=pool)


def _found(asked: Asked, told: PoolTold | None, store: Store | None) -> tuple[Evaluated, Trusted | None]:
    from cranfield.workflows.evaluate.evaluate import evaluate_and_tell

    with console.progress() as progress:
        if told is None:
            return evaluate_and_tell(asked, store=store, progress=progress), None
        from cranfield.workflows.evaluate.verdicts import evaluate_with_trust

        return evaluate_with_trust(asked, told, store=store, progress=progress)


@dataclass(frozen=True)
class _Shown:
    """How scores are shown."""

    by_topic: bool
    best_first: bool
    format: str

    def runs(self, scores: Scores) -> list[int]:
        """Give the places of the runs in the order in which they are shown; equal ones stay as they were."""
        places = list(range(len(scores.run_names)))
        if not self.best_first:
            return places
        if not scores.measures[0].quality:
            raise typer.BadParameter(f"--best-first: a higher {scores.measures[0]} does not mean a better run")
        values = [value if value == value else float("-inf") for value in scores.summary[0].tolist()]
        return sorted(places, key=lambda run: -values[run])


def _tell(found: Evaluated, trust: Trusted | None, shown: _Shown) -> None:
    from cranfield.workflows.evaluate.tables import notes_of

    for note in notes_of(found, with_qrels=shown.format != "table" or not console.goes_elsewhere(shown.format)):
        console.say(note)
    _put(found, trust, shown)
    if trust is not None:
        from cranfield.workflows.evaluate.verdicts import sentences

        for sentence in sentences(trust):
            console.say(sentence)
        if shown.by_topic and shown.format not in _LONG_FORMATS:
            console.say(_HOLES_SAID)


def _plot(found: Evaluated, path: Path) -> None:
    from cranfield.workflows.evaluate.tables import plot_curves, plot_scores

    drawn = plot_scores(found.scores, path) if found.curve is None else plot_curves(found.curve, path)
    console.say(f"drew {drawn} into {path}")


def _refuse_idle_options(duplicates: str, clusters: Path | None, plot: Path | None, curve: bool) -> None:
    if curve and plot is None:
        raise typer.BadParameter("--curve draws into the file that --plot names")
    if clusters is not None and duplicates != "novelty":
        raise typer.BadParameter("--clusters is for --duplicates novelty")


def _put(found: Evaluated, trust: Trusted | None, shown: _Shown) -> None:
    if shown.format in _LONG_FORMATS:
        console.put_table(_long(found, trust, shown), shown.format)
        return
    table = _wide(found, shown)
    table = table if trust is None else marked(table, trust, found.scores)
    console.put_wide_table(with_notes(table, _carried(found, trust, shown)), shown.format)
    if any(one.change for one in found.changes):
        console.put_next_table(_changes(found), shown.format)
    elif found.changes:
        console.say("novelty changes the place of no run")


def _carried(found: Evaluated, trust: Trusted | None, shown: _Shown) -> list[str]:
    """Give what a table that is pasted elsewhere has to carry with it; a terminal has it beside the table."""
    from cranfield.workflows.evaluate.tables import made_with, notes_of

    if not console.goes_elsewhere(shown.format):
        return []
    if shown.format == "table":
        return [made_with(found.scores)]
    marks = []
    if trust is not None:
        from cranfield.workflows.evaluate.verdicts import sentences

        marks = [*list(sentences(trust))[:1], *([_HOLES_SAID] if shown.by_topic else [])]
    return [*notes_of(found), *marks]


def _long(found: Evaluated, trust: Trusted | None, shown: _Shown) -> Table:
    """Give one row per run, topic and measure, with what it was made with and the columns that were asked for."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.evaluate.tables import added_columns, long_rows, short_hash, topics_scored

    scores = found.scores
    made_with = (short_hash(scores.qrels_hash), scores.order)
    rows = long_rows(found, by_topic=shown.by_topic)
    added: dict[str, Sequence[Value]] = {"topics": topics_scored(found, rows)}
    added |= added_columns(found, rows, by_topic=shown.by_topic)
    if trust is not None:
        from cranfield.workflows.evaluate.verdicts import added_to_rows

        added |= added_to_rows(trust, rows)
    columns = ["run", "topic", "measure", "value", "qrels", "reference", *added]
    cells = zip(*added.values(), strict=True)
    place = {scores.run_names[run]: place for place, run in enumerate(shown.runs(scores))}
    whole = [(*row, *made_with, *more) for row, more in zip(rows, cells, strict=True)]
    return table_of(columns, sorted(whole, key=lambda row: place[str(row[0])]))


def _changes(found: Evaluated) -> Table:
    """Give the places of runs by novelty and by plain scoring, those that changed most first."""
    from cranfield.base.tables import Column, table_of

    moved = sorted((one for one in found.changes if one.change), key=lambda one: -abs(one.change))
    rows = [(one.run, one.measure, one.value, one.plain, one.rank, one.plain_rank) for one in moved]
    columns = [Column("run"), Column("measure"), *(Column(name, kind="number") for name in ("novelty", "plain"))]
    columns += [Column("rank", kind="number"), Column("plain_rank", kind="number")]
    unmoved = len(found.changes) - len(moved)
    note = f"{unmoved:,} of {counted(len(found.changes), 'place')} of runs did not change"
    return table_of(columns, rows, caption="Places of runs that novelty changes", notes=[note])


def _wide(found: Evaluated, shown: _Shown) -> Table:
    from cranfield.base.tables import Column, table_of, with_best

    scores = found.scores
    columns = [Column(str(measure), str(measure), kind="number") for measure in scores.measures]
    rows: list[tuple[Value, ...]] = []
    for number in shown.runs(scores):
        run = scores.run_names[number]
        for place, topic in enumerate(scores.topic_ids if shown.by_topic else ()):
            if scores.scored[number, place]:
                rows.append((run, topic, *_printable(scores, scores.values[:, number, place])))
        rows.append((run, "all", *_printable(scores, scores.summary[:, number])))
    if shown.by_topic:
        return _lettered(table_of([Column("run"), Column("topic"), *columns], rows), found)
    table = table_of([Column("run"), *columns], [(row[0], *row[2:]) for row in rows])
    best = [place for place, one in enumerate(scores.measures, start=1) if one.quality]
    return _lettered(with_best(table, best), found)


def _lettered(table: Table, found: Evaluated) -> Table:
    """Give the table with letters behind the summaries, padded so that numbers stay below each other."""
    from dataclasses import replace

    from cranfield.base.tables import printed

    if found.letters is None:
        return table
    keys = len(table.columns) - len(found.scores.measures)
    shown = found.letters.for_people(found.scores)
    given = shown.by_measure
    widths = [max(map(len, letters.values()), default=0) for letters in given]

    def cell(row: tuple[Value, ...], place: int) -> Value:
        letters = given[place - keys].get(str(row[0]), "") if row[keys - 1] in (row[0], "all") else "-"
        width = widths[place - keys]
        return f"{printed(row[place], table.columns[place])} {letters:>{width}}" if width else row[place]

    rows = [(*row[:keys], *(cell(row, place) for place in range(keys, len(row)))) for row in table.rows]
    return replace(table, rows=tuple(rows), notes=(shown.said, *table.notes))


def _printable(scores: Scores, values: NDArray[np.float64]) -> list[Value]:
    """Give values as people expect them: what is added up over topics is a count."""
    return [
        int(value) if measure.aggregate == "sum" and value == int(value) else value
        for measure, value in zip(scores.measures, values.tolist(), strict=True)
    ]
