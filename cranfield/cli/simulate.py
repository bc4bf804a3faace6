"""`cranfield simulate`: what other pools and budgets would have found."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.cli import completion, console
from cranfield.cli.commands import Stage
from cranfield.cli.console import COLLECTION, removed
from cranfield.cli.pool import Seconds

with deferred:
    from cranfield.report import figures
    from cranfield.workflows import simulate as workflow

stage = Stage()

Plans = Annotated[
    list[str] | None,
    Option(
        "--plan",
        help="A plan to simulate, as for pool build; repeatable. [default: depths 1 to 100]",
        autocompletion=completion.plans,
    ),
]
Measures = Annotated[list[str] | None, console.measure_option(("nDCG@10", "AP"))]
Budgets = Annotated[
    str, Option(help="Simulate the plans at these budgets, as in 500,1000,2000: documents over all topics.")
]
Groups = Annotated[
    Path | None,
    Option(help="File of groups: run tag, group, and pooled (a contributing run) or new, separated by tabs."),
]
Outsiders = Annotated[
    bool,
    Option(
        "--outsiders", help="Also replay every plan without each group: the expected loss of a non-contributing run."
    ),
]
ToDepth = Annotated[
    int | None,
    Option("--forecast", min=1, help="Instead of plans: cost and expected yield of pools down to this depth."),
]
Wanted = Annotated[
    float | None, Option(min=0.0, help="Also give the number of topics needed to detect this difference.")
]
Power = Annotated[str | None, removed("--power", "power is 0.8")]
RelevantFrom = Annotated[
    int | None,
    Option(min=1, help="Lowest grade that counts as relevant. [default: that of the collection's scale, else 1]"),
]
Seed = Annotated[int, Option(min=0, help="Seed for all random draws.")]
Plot = Annotated[
    Path | None, Option(help="Plot yield and rank correlation against cost into this file (PNG, SVG, PDF).")
]


@stage.command(
    "simulate",
    "simulate",
    "simulate --plan 'depth 3' --plan 'rrf until 20'",
    "simulate --forecast 10",
)
def simulate(
    runs: console.Runs = None,
    plan: Plans = None,
    budgets: Budgets = "",
    qrels: console.QrelsWord = None,
    skip_bad: console.SkipBad = False,
    measure: Measures = None,
    groups: Groups = None,
    outsiders: Outsiders = False,
    difference: Wanted = None,
    forecast: ToDepth = None,
    pool_depth: console.PoolDepth = None,
    relevant_from: RelevantFrom = None,
    seconds_per_document: Seconds = None,
    seed: Seed = 0,
    plot: Plot = None,
    layer: console.Layers = None,
    collection: console.Collection = COLLECTION,
    format: console.Format = "table",
    power: Power = None,
) -> None:
    """Replay pooling plans against known judgments: cost, relevant documents found, and effect on the ranking."""
    if plot:
        figures.kind_of(plot)
    if forecast is not None and (plan or budgets or outsiders or difference is not None or plot):
        raise typer.BadParameter(
            "--forecast cannot be combined with plans, budgets, --outsiders, --difference or --plot"
        )
    if forecast is None and pool_depth is not None:
        raise typer.BadParameter("--pool-depth needs --forecast: a plan sets its own depth")
    inputs: Any = {"qrels": qrels, "runs": runs, "layers": layer, "groups": groups, "skip_bad": skip_bad}
    measures, many = measure or ["nDCG@10", "AP"], _numbers(budgets)
    with console.opened(collection, warn=console.say, **inputs) as files:
        if forecast is not None:
            pools: Any = {"to_depth": forecast, "pool_depth": pool_depth, "groups": groups, "store": files.store}
            pools |= {"relevant_from": relevant_from, "seconds": seconds_per_document}
            console.show(workflow.forecast_pools(files.request(measures, runs), **pools), format)
            return
        plans: Any = {"outsiders": outsiders, "difference": difference, "relevant_from": relevant_from, "seed": seed}
        plans |= {"measures": measures, "runs": runs, "seconds_per_document": seconds_per_document}
        result = files.simulate(*(plan or ()), budgets=many, **plans)
    console.show(result, format)
    if plot is not None:
        workflow.plot(result, plot)
        console.say(f"drew yield and rank correlation against cost into {plot}")


def _numbers(text: str) -> tuple[int, ...]:
    """Read numbers that are divided by commas."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if not (word.isascii() and word.isdecimal()) or int(word) < 1]
    if wrong:
        raise UsageError(f"--budgets must be numbers of at least 1, as in 500,1000,2000; not {wrong[0]!r}")
    return tuple(int(word) for word in words)
