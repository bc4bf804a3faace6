"""`cranfield compare`: is a difference more than chance?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.cli import completion, console
from cranfield.cli.commands import Stage
from cranfield.cli.console import COLLECTION, removed

with deferred:
    from cranfield.report import figures
    from cranfield.workflows import compare as workflow

stage = Stage()

Measures = Annotated[list[str] | None, console.measure_option(("AP", "nDCG@10"))]
Baselines = Annotated[
    list[str] | None,
    Option(
        "-b",
        "--baseline",
        help="Compare every run with this baseline only, named by file or tag; repeatable.",
        autocompletion=completion.runs,
    ),
]
Test = Annotated[
    str, Option(help="Significance test: t, wilcoxon, sign, randomisation, bootstrap, or tukey over all runs.")
]
CorrectionName = Annotated[
    str | None,
    Option(
        help="Correction for many pairs: none, bonferroni, holm (default) or benjamini-hochberg; tukey has its own.",
        show_default=False,
    ),
]
Alpha = Annotated[float, Option(min=0.0001, max=0.5, help="Significance level for the corrected p.")]
Systems = Annotated[
    list[str] | None,
    Option("--system", help="NAME=RUN,RUN,…: treat several seeds of a system as one entry; repeatable."),
]
Wanted = Annotated[float | None, Option(min=0.0, help="Report how many topics this true difference would need.")]
Topics = Annotated[str, Option(help="Topics to average over: qrels (all judged), common, or a file of topic ids.")]
Like = Annotated[Literal["9", "10"] | None, Option("--as", help="Break ties as trec_eval 9 or 10.")]
Draws = Annotated[
    int | None,
    Option(
        min=100,
        help="Random draws for intervals and resampling tests. [default: 10,000; for tests of many pairs enough for a"
        " pair to be significant]",
        show_default=False,
    ),
]
Seed = Annotated[int, Option(min=0, help="Random seed.")]
ByTopic = Annotated[bool, Option("--by-topic", help="Scores and difference of each pair by topic.")]
Plot = Annotated[
    Path | None,
    Option(
        help="Plot the first measure to this file (PNG, SVG, PDF): differences by topic for one pair, strips of"
        " scores for more, strips of differences with a baseline."
    ),
]
# Options that were dropped; the hints go with the next version.
_SAME_QRELS = "compare the runs themselves: cranfield compare RUN RUN… --qrels QRELS"
SavedScores = Annotated[str | None, removed("--scores", _SAME_QRELS)]
Mixed = Annotated[bool, removed("--allow-mixed-qrels", _SAME_QRELS)]
Tolerance = Annotated[
    str | None, removed("--tolerance", "equal scores are ties; in Python, compare has the argument tolerance")
]
Power = Annotated[str | None, removed("--power", "power is 0.8; in Python, compare has the argument power")]


@stage.command(
    "compare",
    "compare bm25 dense",
    "compare --baseline bm25 -m nDCG@10 --test randomisation",
    "compare --qrels qrels.txt bm25.run dense.run",
)
def compare(
    runs: console.Runs = None,
    qrels: console.QrelsWord = None,
    skip_bad: console.SkipBad = False,
    measure: Measures = None,
    baseline: Baselines = None,
    test: Test = "t",
    correction: CorrectionName = None,
    alpha: Alpha = 0.05,
    system: Systems = None,
    difference: Wanted = None,
    topics: Topics = "qrels",
    like: Like = None,
    duplicates: console.Duplicates = "plain",
    draws: Draws = None,
    seed: Seed = 1,
    by_topic: ByTopic = False,
    plot: Plot = None,
    layer: console.Layers = None,
    no_verdict: console.NoVerdict = False,
    groups: console.Groups = None,
    pool_depth: console.PoolDepth = None,
    pool: console.Pool = "",
    collection: console.Collection = COLLECTION,
    format: console.Format = "table",
    scores: SavedScores = None,
    clusters: console.Clusters = None,
    card: console.Card = None,
    allow_mixed_qrels: Mixed = False,
    power: Power = None,
    tolerance: Tolerance = None,
) -> None:
    """Compare runs: differences, intervals, corrected significance, and whether unjudged documents matter."""
    if plot:
        figures.kind_of(plot)  # refused before anything is computed
    qrels, runs = console.bundle_first(qrels, runs)
    systems = _systems(system or [])
    described: Any = {"layers": layer, "groups": groups, "pool_depth": pool_depth, "pool": pool, "warn": console.say}
    with console.opened(collection, qrels=qrels, runs=runs, skip_bad=skip_bad, **described) as files:
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
            **console.novelty(duplicates),
            verdicts=not no_verdict,
            by_topic=by_topic,
        )
    console.show(result, format)
    if plot:
        console.say(f"plotted {workflow.plot_comparison(result, plot)} to {plot}")


def _systems(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The runs of each system that is written as `NAME=RUN,RUN,…`."""
    systems: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, runs = word.partition("=")
        members = tuple(run for run in runs.split(",") if run)
        if not equals or not name or not members:
            raise UsageError(f"{quoted(word)} is not a system; use NAME=RUN,RUN,…")
        if name in systems:
            raise UsageError(f"two systems are called {quoted(name)}; list all runs of a system in one --system")
        systems[name] = members
    return systems
