"""`cranfield simulate`: what other pools and budgets would have found."""

import re
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from cranfield.base.errors import UsageError
from cranfield.cli import completion, console
from cranfield.cli.main import Stage

stage = Stage()

_TOPICS = "compare says which difference these topics detect; half of it needs four times as many"
_DEPTHS = "pool show --by depth counts the documents of deeper pools, and reuse estimates the relevant ones"


@stage.command(
    "simulate",
    "simulate --plan 'depth 3' --plan 'rrf until 20'",
    "simulate --budgets 500,1000,2000 -f csv",
    removed={
        "--difference": _TOPICS,
        "--power": _TOPICS,
        "--forecast": _DEPTHS,
        "--pool-depth": _DEPTHS,
        "--outsiders": "plans of depth k have the expected loss, and reuse replays the pool that was built",
        "--plot": "--format csv has what is found and tau_b at each budget",
        "--seconds-per-document": "hours are at the measured speed, else at 30 seconds per document",
    },
)
def simulate(
    inputs: console.Scored,
    runs: console.Runs = None,
    plan: Annotated[
        list[str] | None,
        Option(
            "--plan",
            help="A plan to simulate, as for pool build; repeatable. [default: depths 1 to 100]",
            autocompletion=completion.plans,
        ),
    ] = None,
    budgets: Annotated[
        str, "Simulate the plans at these budgets, as in 500,1000,2000: documents over all topics."
    ] = "",
    measure: Annotated[list[str] | None, console.measure_option(("nDCG@10", "AP"))] = None,
    relevant_from: Annotated[
        int | None,
        Option(min=1, help="Lowest grade that counts as relevant. [default: that of the collection's scale, else 1]"),
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed for all random draws.")] = 0,
) -> console.Shown:
    """Replay pooling plans against known judgments: cost, relevant documents found, and effect on the ranking."""
    if plan and " " not in plan[-1] and any(word.isdecimal() and not Path(word).exists() for word in runs or ()):
        raise typer.BadParameter("a plan of several words needs quotes, as in --plan 'depth 5'")
    words = [word.strip() for word in budgets.split(",") if word.strip()]
    for word in words:
        if not re.fullmatch("0*[1-9][0-9]{0,17}", word):
            raise UsageError(f"--budgets must be numbers of at least 1, as in 500,1000,2000; not {word!r}")
    with console.opened(inputs, runs, warn=console.say) as files:
        return files.simulate(
            *(plan or ()),
            budgets=[int(word) for word in words],
            measures=measure or None,
            runs=runs,
            relevant_from=relevant_from,
            seed=seed,
        )
