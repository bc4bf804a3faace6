"""`cranfield simulate`: what other pools and budgets would have found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cranfield.base.errors import UsageError
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format, collection_meant, qrels_named, runs_named_or_all
from cranfield.cli.pool import Seconds
from cranfield.cli.reuse import Layers, Measures, PoolDepth, QrelsWord, Runs

if TYPE_CHECKING:
    from cranfield.store.store import Store
    from cranfield.workflows.evaluate.inputs import Asked
    from cranfield.workflows.simulate import Simulated, Simulating

_DATA_FORMATS = ("csv", "json", "jsonl")

Plans = Annotated[
    list[str] | None,
    typer.Option("--plan", help="A plan to play, as for pool build; may be repeated. Depths 1 to 100 by default."),
]
Budgets = Annotated[
    str, typer.Option(help="Play the plans at these budgets, as in 500,1000,2000: documents of all topics together.")
]
Groups = Annotated[
    Path | None,
    typer.Option(help="Whose the runs are: run tag, group, and pooled (it feeds the plans) or new, divided by tabs."),
]
Outsiders = Annotated[
    bool, typer.Option("--outsiders", help="Play every plan without each group too: what must an outsider expect?")
]
ToDepth = Annotated[
    int | None,
    typer.Option("--forecast", min=1, help="Instead of plans: what pools down to this depth cost and would find."),
]
Wanted = Annotated[float | None, typer.Option(min=0.0, help="Say how many topics this difference would need.")]
Power = Annotated[float, typer.Option(min=0.01, max=0.999, help="The chance of finding it, for --difference.")]
RelevantFrom = Annotated[
    int | None, typer.Option(min=1, help="The lowest grade that counts as relevant; of the collection, else 1.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that the plans draw.")]
Plot = Annotated[
    Path | None, typer.Option(help="Draw what the plans find against what they cost into this file (PNG, SVG, PDF).")
]


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(simulate)


def simulate(
    runs: Runs = None,
    plan: Plans = None,
    budgets: Budgets = "",
    qrels: QrelsWord = None,
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
    """Play plans against judgments that are known: what would each have cost, found, and done to the ranking?"""
    from cranfield.workflows.evaluate.figures import refuse_other_kinds
    from cranfield.workflows.evaluate.inputs import Asked
    from cranfield.workflows.simulate import DEFAULT_MEASURES, Simulating

    refuse_other_kinds(plot)
    how = Simulating(
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
        raise typer.BadParameter("--forecast stands alone: it plays no plans")
    if forecast is None and pool_depth is not None:
        raise typer.BadParameter("--pool-depth is for --forecast: plans say themselves how deep they go")
    with collection_meant(collection, qrels, runs) as store:
        asked = Asked(
            qrels=qrels_named(store, qrels, layer),
            runs=runs_named_or_all(store, runs),
            measures=tuple(measure or DEFAULT_MEASURES),
        )
        if forecast is not None:
            _foresee(asked, how, store, to_depth=forecast, pool_depth=pool_depth, format=format)
            return
        found = _played(asked, how, store)
    for note in found.notes:
        console.say(note)
    _put(found, format)
    if plot is not None:
        _plot(found, plot)


def _played(asked: "Asked", how: "Simulating", store: "Store | None") -> "Simulated":
    from cranfield.workflows.simulate import simulate_plans

    with console.progress() as progress:
        return simulate_plans(asked, how, store=store, progress=progress)


def _numbers(text: str) -> tuple[int, ...]:
    """Read numbers that are divided by commas."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    wrong = [word for word in words if not (word.isascii() and word.isdecimal()) or int(word) < 1]
    if wrong:
        raise UsageError(f"--budgets takes numbers from 1 up, as in 500,1000,2000; not {wrong[0]!r}")
    return tuple(int(word) for word in words)


def _put(found: "Simulated", format: str) -> None:
    from cranfield.simulate.tables import costs_table, needed_table, outcomes_data, ranking_table

    seconds, needed = found.speed.seconds, found.needed
    if format in _DATA_FORMATS:
        console.put_table(outcomes_data(found.outcomes, needed, seconds=seconds), format)
        return
    console.put_wide_table(costs_table(found.outcomes, seconds=seconds), format)
    for measure in found.measures:
        console.put_wide_table(ranking_table(found.outcomes, measure), format)
        if needed is not None:
            console.put_wide_table(needed_table(found.outcomes, measure, needed, seconds=seconds), format)


def _foresee(
    asked: "Asked",
    how: "Simulating",
    store: "Store | None",
    *,
    to_depth: int,
    pool_depth: int | None,
    format: str,
) -> None:
    from cranfield.simulate.tables import forecast_table
    from cranfield.workflows.simulate import foresee

    found = foresee(asked, how, to_depth=to_depth, pool_depth=pool_depth, store=store)
    for note in found.notes:
        console.say(note)
    console.put_wide_table(forecast_table(found.forecast, seconds=found.speed.seconds), format)


def _plot(found: "Simulated", path: Path) -> None:
    from cranfield.workflows.simulate import plot_simulated

    console.say(f"drew {plot_simulated(found, path)} into {path}")
