"""What `evaluate` and `compare` share: which qrels and runs are meant, and marks behind scores."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION
from cranfield.errors import InputError

if TYPE_CHECKING:
    from cranfield.evaluate.scores import Scores
    from cranfield.qrels.qrels import Qrels
    from cranfield.report.table import Table, Value
    from cranfield.workflows.trust import Trust, Trusted
    from cranfield.store import Store


@contextmanager
def collection_meant(path: Path, qrels: str | None, runs: Sequence[str] | None) -> "Iterator[Store | None]":
    """Open the collection that is meant: none where qrels and runs are files and nobody has named a collection.

    A collection that happens to lie in the folder must not change what files say by its pool and its scale.
    """
    if path == COLLECTION and path.exists() and _is_default() and _are_files(qrels, runs):
        console.say(f"qrels and runs are files, so {path} is not looked at; -C {path} takes its pool and scale")
        yield None
        return
    with console.collection_if_any(path) as store:
        yield store


def _is_default() -> bool:
    """Say whether the collection was named by nobody, neither on the command line nor in the environment."""
    try:
        from typer._click.globals import get_current_context  # newer versions of typer carry their own click
    except ImportError:
        from click import get_current_context  # type: ignore[no-redef]
    context = get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("collection")
    return source is not None and source.name == "DEFAULT"


def _are_files(qrels: str | None, runs: Sequence[str] | None) -> bool:
    return (
        qrels is not None and Path(qrels).is_file() and bool(runs) and all(Path(run).is_file() for run in runs or ())
    )


def qrels_named(store: "Store | None", word: str | None, layers: Sequence[str] | None) -> "Path | Qrels":
    """Give the qrels that are meant: a file is read later, with the runs, so that all problems are told at once."""
    if word == "":
        raise typer.BadParameter("--qrels names nothing; is a variable of the shell empty?")
    if store is None:
        if layers:
            raise typer.BadParameter("--layer is for the judgments of a collection; there is none here")
        if word is None:
            raise typer.BadParameter("which qrels? name a file with --qrels, or a collection with -C")
        return Path(word)
    from cranfield.store.releases import NOW, release_names

    if word is not None and word not in (NOW, *release_names(store)) and _may_be_a_file(word):
        return Path(word)
    from cranfield.workflows.qrels_notes import read_by_the_present_scale, sample_warning
    from cranfield.workflows.qrels_of import NOTHING_JUDGED, qrels_for

    chosen = {"layers": tuple(layers)} if layers else {}
    qrels = qrels_for(store, word, with_unjudged=True, **chosen)  # type: ignore[arg-type]
    if word == NOW and not (qrels.grades >= 0).any():
        raise InputError(NOTHING_JUDGED)
    for warning in (read_by_the_present_scale(store, word, **chosen), sample_warning(store, qrels)):
        if warning:
            console.say(f"warning: {warning}")
    return qrels


def _may_be_a_file(word: str) -> bool:
    return Path(word).exists() or bool({"/", "."} & set(word)) or word == "-"


def runs_named_or_all(store: "Store | None", runs: Sequence[str] | None) -> tuple[str, ...]:
    """Give the runs that are named; in a collection all that are stored where none is."""
    from cranfield.workflows.stored_runs import stored_names

    if "" in (runs or ()):
        raise typer.BadParameter("a run without a name; is a variable of the shell empty?")
    if runs:
        return tuple(runs)
    stored = stored_names(store)
    if not stored:
        raise typer.BadParameter("which runs? name their files, or a collection that has some with -C")
    return stored


def with_notes(table: "Table", notes: Sequence[str]) -> "Table":
    """Give a table with more notes below it."""
    return replace(table, notes=(*table.notes, *notes)) if notes else table


HOLES = "°"
"""What stands behind the score of a topic with unjudged documents in the depth that matters."""


def _mark_of_topic(trust: "Trust", run: int, topic: str) -> str:
    holes = trust.assessment.holes
    return HOLES if holes.count[run, holes.topic_ids.index(topic)] else ""


def marked(table: "Table", trust: "Trusted", scores: "Scores") -> "Table":
    """Give a table of scores with a mark behind each that is doubtful, and the worst verdict of each run."""
    from cranfield.report.table import Column, printed
    from cranfield.workflows.reuse_asking import mark_of

    keys = len(table.columns) - len(scores.measures)
    places = {name: place for place, name in enumerate(scores.run_names)}
    by_measure = [trust.of(measure) for measure in scores.measures]
    widest = [
        max((len(mark_of(one.verdict(run))) for run in places.values()), default=0) if one else 0
        for one in by_measure
    ]

    def cell(row: "tuple[Value, ...]", place: int) -> "Value":
        one = by_measure[place - keys]
        if one is None or (keys == 1 and not widest[place - keys]):
            return row[place]
        whole = keys == 1 or row[1] == "all"
        run = places[str(row[0])]
        mark = mark_of(one.verdict(run)) if whole else _mark_of_topic(one, run, str(row[1]))
        return f"{printed(row[place], table.columns[place])} {mark or ' '}"

    def verdict(row: "tuple[Value, ...]") -> "Value":
        found = trust.worst(places[str(row[0])]) if keys == 1 or row[1] == "all" else None
        return found.level if found is not None else ""

    rows = [(*row[:keys], *(cell(row, place) for place in range(keys, len(row))), verdict(row)) for row in table.rows]
    columns = (*table.columns, Column("verdict", kind="verdict"))
    return replace(table, columns=columns, rows=tuple(rows))
