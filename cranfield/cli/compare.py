"""`cranfield compare`: is a difference more than chance?"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cranfield.base.registry import deferred
from cranfield.base.tables import DATA_FORMATS
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format, removed
from cranfield.cli.evaluate import Clusters, Duplicates, NoVerdict, novelty
from cranfield.cli.reuse import CardFile, Groups, Layers, PoolDepth, PoolName, QrelsWord

with deferred:
    from cranfield.cli import listing
    from cranfield.compare import by_measure
    from cranfield.workflows import compare as workflow
    from cranfield.workflows.evaluate import figures as evaluate_figures

Runs = Annotated[list[str] | None, typer.Argument(help="Run files, or names of stored runs.", show_default=False)]
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
Topics = Annotated[str, typer.Option(help="The topics that count: qrels (all of them), common, or a file of ids.")]
Like = Annotated[Literal["9", "10"] | None, typer.Option("--as", help="Order ties as trec_eval 9 or 10.")]
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
# Options that were dropped; the hints go with the next version.
_SAME_QRELS = "compare the runs themselves: cranfield compare RUN RUN… --qrels QRELS"
SavedScores = Annotated[str | None, removed("--scores", _SAME_QRELS)]
Mixed = Annotated[bool, removed("--allow-mixed-qrels", _SAME_QRELS)]
Tolerance = Annotated[
    str | None,
    removed("--tolerance", "equal scores are ties; another tolerance is the argument tolerance of compare in Python"),
]
Power = Annotated[
    str | None, removed("--power", "the chance is 0.8; another one is the argument power of compare in Python")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(compare)
    app.command("tests")(list_tests)


def compare(
    runs: Runs = None,
    qrels: QrelsWord = None,
    measure: Measures = None,
    baseline: Baselines = None,
    test: Test = "t",
    correction: CorrectionName = None,
    alpha: Alpha = 0.05,
    system: Systems = None,
    difference: Wanted = None,
    topics: Topics = "qrels",
    like: Like = None,
    duplicates: Duplicates = "plain",
    draws: Draws = None,
    seed: Seed = 1,
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
    scores: SavedScores = None,
    clusters: Clusters = None,
    allow_mixed_qrels: Mixed = False,
    power: Power = None,
    tolerance: Tolerance = None,
) -> None:
    """Compare runs: differences, intervals, corrected significance, and what unjudged documents leave of them."""
    if plot:
        evaluate_figures.refuse_other_kinds(plot)
    systems = by_measure.parse_systems(system or [])
    told: Any = {"layers": layer, "groups": groups, "pool_depth": pool_depth, "card": card, "pool": pool}
    with console.opened(collection, qrels=qrels, runs=runs, warn=console.say, **told) as files:
        result = files.compare(
            *(runs or ()),
            measures=measure or ("AP", "nDCG@10"),
            baselines=baseline or (),
            systems=systems,
            test=test,
            correction=correction,
            alpha=alpha,
            draws=draws,
            seed=seed,
            difference=difference,
            topics=topics,
            like=like,
            **novelty(duplicates),
            verdicts=not no_verdict,
            by_topic=by_topic,
        )
    for note in result.notes:
        console.say(note)
    to_file = format == "table" and console.goes_elsewhere(format)
    if format in DATA_FORMATS:
        console.put_table(result.table(), format)
    else:
        carried: workflow.Carried = (
            "qrels" if to_file else "everything" if console.goes_elsewhere(format) else "nothing"
        )
        for number, table in enumerate(result.tables(carried)):
            console.put_table(table, format, wide=True, follows=number > 0)
    if plot:
        console.say(f"drew {workflow.plot_comparison(result, plot)} into {plot}")
    for remark in result.remarks_on(with_qrels=not to_file, prefix="note: "):
        console.say(remark)


def list_tests(
    name: Annotated[str, typer.Argument(help="A test or a correction; without one, all are listed.")] = "",
    format: Format = "table",
) -> None:
    """List the significance tests and corrections, or explain one."""
    if name:
        console.put(listing.describe_test(name))
        return
    console.put_table(listing.list_tests(), format)
    console.say("formula and source of each: cranfield tests NAME")
