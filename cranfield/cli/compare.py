"""`cranfield compare`: is a difference more than chance?"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.compared import put_comparison, tell
from cranfield.cli.evaluate import NoVerdict
from cranfield.cli.evaluated import collection_meant, qrels_named, runs_named_or_all
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.cli.reuse import CardFile, Groups, Layers, PoolDepth, PoolName, QrelsWord

if TYPE_CHECKING:
    from cranfield.workflows.compare import Compared, Comparing
    from cranfield.workflows.compare_claims import Said
    from cranfield.workflows.evaluate import Asked, Evaluated
    from cranfield.workflows.reuse_field import PoolTold
    from cranfield.store import Store

_DEFAULT_MEASURES = ("AP", "nDCG@10")


Runs = Annotated[list[str] | None, typer.Argument(help="Run files, or names of stored runs.", show_default=False)]
SavedScores = Annotated[
    list[Path] | None,
    typer.Option(
        "--scores", help="Compare what evaluate --by-topic wrote (CSV, JSON lines) instead of runs, also with --ties."
    ),
]
Measures = Annotated[list[str] | None, typer.Option("-m", "--measure", help="A measure; may be repeated.")]
Baselines = Annotated[
    list[str] | None,
    typer.Option("-b", "--baseline", help="Compare with this run only, by its file or its tag; may be repeated."),
]
Test = Annotated[str, typer.Option(help="t, wilcoxon, sign, randomisation, bootstrap, or tukey for all runs.")]
CorrectionName = Annotated[
    str | None,
    typer.Option(
        help="none, bonferroni, holm (the default) or benjamini-hochberg; tukey has its own.", show_default=False
    ),
]
Alpha = Annotated[float, typer.Option(min=0.0001, max=0.5, help="Significant from this corrected p down.")]
Systems = Annotated[
    list[str] | None, typer.Option("--system", help="NAME=RUN,RUN,…: several seeds of one system as one entry.")
]
Wanted = Annotated[float | None, typer.Option(min=0.0, help="Say how many topics this difference would need.")]
Power = Annotated[float, typer.Option(min=0.01, max=0.999, help="The chance of finding it, for --difference.")]
Tolerance = Annotated[float, typer.Option(min=0.0, help="Differences up to this on a topic are a tie.")]
Topics = Annotated[str, typer.Option(help="The topics that count: qrels (all of them), common, or a file of ids.")]
Like = Annotated[Literal["9", "10"] | None, typer.Option("--as", help="Order ties as trec_eval 9 or 10.")]
Duplicates = Annotated[
    Literal["plain", "novelty"],
    typer.Option(help="With novelty, near-duplicates of a document above count as not relevant."),
]
Clusters = Annotated[
    Path | None,
    typer.Option(help="Near-duplicates as document, tab, cluster; without it those the collection knows."),
]
Draws = Annotated[
    int | None,
    typer.Option(
        min=100,
        help="Random draws for intervals and drawing tests. By default 10,000, and for tests of many pairs so many"
        " that a pair can be significant.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the draws.")]
ByTopic = Annotated[bool, typer.Option("--by-topic", help="Both scores of each pair and their difference, by topic.")]
Plot = Annotated[
    Path | None,
    typer.Option(
        help="Draw the first measure into this file (PNG, SVG, PDF): a pair topic by topic; more as strips,"
        " with a baseline of the differences from it."
    ),
]
Mixed = Annotated[
    bool, typer.Option("--allow-mixed-qrels", help="Compare scores that were made with different qrels.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(compare)
    app.command("tests")(list_tests)


def compare(
    runs: Runs = None,
    qrels: QrelsWord = None,
    scores: SavedScores = None,
    measure: Measures = None,
    baseline: Baselines = None,
    test: Test = "t",
    correction: CorrectionName = None,
    alpha: Alpha = 0.05,
    system: Systems = None,
    difference: Wanted = None,
    power: Power = 0.8,
    tolerance: Tolerance = 0.0,
    topics: Topics = "qrels",
    like: Like = None,
    duplicates: Duplicates = "plain",
    clusters: Clusters = None,
    draws: Draws = None,
    seed: Seed = 1,
    allow_mixed_qrels: Mixed = False,
    by_topic: ByTopic = False,
    plot: Plot = None,
    layer: Layers = None,
    no_verdict: NoVerdict = False,
    groups: Groups = None,
    pool_depth: PoolDepth = None,
    card: CardFile = None,
    pool: PoolName = "",
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Compare runs: differences, intervals, corrected significance, and what unjudged documents leave of them."""
    from cranfield.workflows.compare_how import Comparing, seed_systems
    from cranfield.workflows.compare_notes import Wanted
    from cranfield.workflows.evaluate import Asked
    from cranfield.workflows.plotting import refuse_other_kinds
    from cranfield.workflows.reuse_field import PoolTold

    names, seeds = tuple(baseline or ()), seed_systems(system or [])
    how = Comparing(names, test, correction or "", alpha, tolerance, draws, seed, systems=seeds)
    wanted = Wanted(power=power, difference=difference)
    refuse_other_kinds(plot)
    told = None if no_verdict or by_topic else PoolTold(groups=groups, depth=pool_depth, card=card, pool=pool)
    if clusters is not None and duplicates != "novelty":
        raise typer.BadParameter("--clusters is for --duplicates novelty")
    if scores:
        _refuse_beside_scores(
            runs=runs, qrels=qrels, topics=topics != "qrels", like=like, duplicates=duplicates != "plain",
            layer=layer, groups=groups, pool_depth=pool_depth, card=card, pool=pool,
        )  # fmt: skip
        found, compared, said = _of_saved(scores, how, measure, allow_mixed_qrels, verdicts=told is not None)
    else:
        chosen = tuple(measure or _DEFAULT_MEASURES)
        asking = partial(Asked, measures=chosen, topics=topics, like=like, duplicates=duplicates, clusters=clusters)
        with collection_meant(collection, qrels, runs) as store:
            asked = asking(qrels=qrels_named(store, qrels, layer), runs=runs_named_or_all(store, runs))
            found, compared, said = _of_runs(asked, how, told, store)
    put_comparison(found, compared, said, format, wanted=wanted, by_topic=by_topic)
    tell(found, compared, format=format, wanted=wanted, plot=plot, by_topic=by_topic)


def _refuse_beside_scores(**given: object) -> None:
    """Refuse what would have no effect on scores that are there already."""
    words = {"runs": "RUN", "like": "--as"}
    idle = [words.get(name, f"--{name.replace('_', '-')}") for name, value in given.items() if value]
    if idle:
        raise typer.BadParameter(
            f"--scores compares scores as they were saved; {', '.join(idle)} would change nothing"
        )


def _of_saved(
    files: list[Path], how: "Comparing", measures: list[str] | None, allow_mixed_qrels: bool, *, verdicts: bool
) -> "tuple[Evaluated, list[Compared], Said | None]":
    from cranfield.workflows.compare import compare_saved
    from cranfield.workflows.compare_claims import said_of_saved

    found, compared, saved = compare_saved(files, how, measures=measures or (), allow_mixed_qrels=allow_mixed_qrels)
    return found, compared, said_of_saved(saved) if verdicts else None


def _of_runs(
    asked: "Asked", how: "Comparing", told: "PoolTold | None", store: "Store | None"
) -> "tuple[Evaluated, list[Compared], Said | None]":
    from cranfield.workflows.compare import compare_runs
    from cranfield.workflows.compare_claims import said_of
    from cranfield.workflows.evaluate_reading import without_pipes

    asked = asked if told is None else without_pipes(asked)  # what unjudged documents leave is worked out by itself
    with console.progress() as progress:
        found, compared = compare_runs(asked, how, store=store, progress=progress)
    return found, compared, None if told is None else said_of(compared, asked, how, told, store=store)


def list_tests(
    name: Annotated[str, typer.Argument(help="A test or a correction; without one, all are listed.")] = "",
    format: Format = "table",
) -> None:
    """List the significance tests and corrections, or explain one."""
    from cranfield.report.table import Column, table_of
    from cranfield.workflows.listing import described_test, known_tests

    if name:
        console.put(described_test(name))
        return
    console.put_table(
        table_of(["kind", "name", Column("aliases", "also called"), Column("summary", "what it is")], known_tests()),
        format,
    )
    console.say("formula and source of each: cranfield tests NAME")
