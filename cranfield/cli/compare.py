"""`cranfield compare`: is a difference more than chance?"""

from pathlib import Path
from typing import Annotated

from typer import Option

from cranfield.base.registry import deferred
from cranfield.cli import completion, console
from cranfield.cli.main import Stage

with deferred:
    from cranfield.report import figures
    from cranfield.workflows import compare as workflow

stage = Stage()

Measures = Annotated[list[str] | None, console.measure_option(("nDCG@10", "AP"))]
Baselines = Annotated[
    list[str] | None,
    Option(
        "-b",
        "--baseline",
        help="Compare every run with this baseline only, named by file or tag; repeatable.",
        autocompletion=completion.runs,
    ),
]
Test = Annotated[str, "Significance test: t, wilcoxon, sign, randomisation, bootstrap, or tukey over all runs."]
CorrectionName = Annotated[
    str | None,
    Option(
        help="Correction for many pairs: none, bonferroni, holm (default) or benjamini-hochberg; tukey has its own.",
        show_default=False,
    ),
]
Alpha = Annotated[float, Option(min=0.0001, max=0.5, help="Significance level for the corrected p.")]
Topics = Annotated[str, "Topics to average over: qrels (all judged), common, or a file of topic ids."]
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
Plot = Annotated[
    Path | None, "Plot the differences of two runs by topic and the first measure to this file (PNG, SVG, PDF)."
]
# Options that were dropped; the hints go with the next version.
_SAME_QRELS = "compare the runs themselves: cranfield compare RUN RUN… --qrels QRELS"


@stage.command(
    "compare bm25 dense",
    "compare --baseline bm25 -m nDCG@10 --test randomisation",
    "compare --qrels qrels.txt bm25.run dense.run",
    removed={
        "--as": "trec_eval 9 is cranfield trec-eval --as 9",
        "--scores": _SAME_QRELS,
        "--clusters": "use --duplicates FILE",
        "--card": "use --pool FILE",
        "--allow-mixed-qrels": _SAME_QRELS,
        "--power": "power is 0.8",
        "--tolerance": "equal scores are ties; in Python, compare has the argument tolerance",
        "--system": "compare the runs of the seeds themselves",
        "--difference": "a note says which difference these topics detect; half of it needs four times as many",
        "--by-topic": "use evaluate RUN RUN --by-topic",
    },
)
def compare(
    inputs: console.ScoredInPool,
    runs: console.Runs = None,
    measure: Measures = None,
    baseline: Baselines = None,
    test: Test = "t",
    correction: CorrectionName = None,
    alpha: Alpha = 0.05,
    topics: Topics = "qrels",
    duplicates: console.Duplicates = "plain",
    draws: Draws = None,
    seed: Seed = 1,
    plot: Plot = None,
    no_verdict: console.NoVerdict = False,
    format: console.Format = "table",
) -> None:
    """Compare runs: differences, intervals, corrected significance, and whether unjudged documents matter."""
    if plot:
        figures.kind_of(plot)  # refused before anything is computed
    inputs, runs = console.bundle_first(inputs, runs)
    with console.opened(inputs, runs, warn=console.say) as files:
        result = files.compare(
            *(runs or ()),
            measures=measure or None,
            baselines=baseline or (),
            test=test,
            correction=correction,
            alpha=alpha,
            draws=draws,
            seed=seed,
            topics=topics,
            **console.novelty(duplicates),
            verdicts=not no_verdict,
        )
    drawn = workflow.plot_comparison(result, plot) if plot else ""
    console.show(result, format)
    if plot:
        console.say(f"plotted {drawn} to {plot}")
