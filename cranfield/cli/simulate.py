"""`cranfield simulate`: what other pools and budgets would have found."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format
from cranfield.cli.pool import Seconds
from cranfield.cli.reuse import Layers, Measures, PoolDepth, QrelsWord, Runs, SkipBad

with deferred:
    from cranfield.report import figures
    from cranfield.workflows import simulate as workflow

Plans = Annotated[
    list[str] | None,
    Option("--plan", help="A plan to simulate, as for pool build; repeatable. [default: depths 1 to 100]"),
]
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
Power = Annotated[float, Option(min=0.01, max=0.999, help="Power of that test, for --difference.")]
RelevantFrom = Annotated[
    int | None,
    Option(min=1, help="Lowest grade that counts as relevant. [default: that of the collection's scale, else 1]"),
]
Seed = Annotated[int, Option(min=0, help="Seed for all random draws.")]
Plot = Annotated[
    Path | None, Option(help="Plot yield and rank correlation against cost into this file (PNG, SVG, PDF).")
]


def simulate(
    runs: Runs = None,
    plan: Plans = None,
    budgets: Budgets = "",
    qrels: QrelsWord = None,
    skip_bad: SkipBad = False,
    measure: Measures = None,
    groups: Groups = None,
    outsiders: Outsiders = False,
    difference: Wanted = None,
    power: Power = 0.8,
    forecast: ToDepth = None,
    pool_depth: PoolDepth = None,
    relevant_from: RelevantFrom = None,
    seconds_per_document: Seconds = None,
    seed: Seed = 0,
    plot: Plot = None,
    layer: Layers = None,
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Replay pooling plans against known judgments: cost, relevant documents found, and effect on the ranking."""
    if plot:
        figures.kind_of(plot)
    options = workflow.SimulateOptions(
        plans=tuple(plan or ()),
        budgets=_numbers(budgets),
        groups=groups,
        outsiders=outsiders,
        seed=seed,
        seconds=seconds_per_document,
        relevant_from=relevant_from,
        difference=difference,
        power=power,
    )
    if forecast is not None and (plan or budgets or outsiders or difference is not None or plot):
        raise typer.BadParameter(
            "--forecast cannot be combined with plans, budgets, --outsiders, --difference or --plot"
        )
    if forecast is None and pool_depth is not None:
        raise typer.BadParameter("--pool-depth needs --forecast: a plan sets its own depth")
    with console.opened(
        collection, qrels=qrels, runs=runs, layers=layer, warn=console.say, skip_bad=skip_bad
    ) as files:
        store, chosen = files.store, tuple(measure or workflow.DEFAULT_MEASURES)
        request = files.request(chosen, runs)
        if forecast is not None:
            foreseen = workflow.foresee(request, options, to_depth=forecast, pool_depth=pool_depth, store=store)
            console.show(foreseen, format)
            return
        with console.progress() as progress:
            result = workflow.simulate_plans(request, options, store=store, progress=progress)
    console.show(result, format)
    if plot is not None:
        console.say(f"drew {result.plot(plot)} into {plot}")


def _numbers(text: str) -> tuple[int, ...]:
    """Read numbers that are divided by commas."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if not (word.isascii() and word.isdecimal()) or int(word) < 1]
    if wrong:
        raise UsageError(f"--budgets must be numbers of at least 1, as in 500,1000,2000; not {wrong[0]!r}")
    return tuple(int(word) for word in words)
