"""The figure of a simulation."""

from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.workflows.simulate import Simulated

if TYPE_CHECKING:
    from cranfield.report.simulate_figures import Curve
    from cranfield.simulate.study import Outcome


def plot_simulated(simulated: Simulated, path: Path) -> str:
    """Draw what the plans find and what they do to the ranking, against what they cost; give what was drawn."""
    from cranfield.report.figures import save
    from cranfield.report.simulate_figures import replayed

    by_strategy: dict[str, list[Outcome]] = {}
    for one in simulated.outcomes:
        by_strategy.setdefault(one.strategy, []).append(one)
    found = {name: _found(simulated, some) for name, some in by_strategy.items()}
    taus = {name: _taus(some) for name, some in by_strategy.items()}
    save(replayed(found, taus, measure=str(simulated.measures[0])), path)
    return "what the plans find, and how alike they rank the runs"


def _found(simulated: Simulated, some: "list[Outcome]") -> "Curve":
    """Give the share found with 0, 1, 2 … documents, of the largest budget."""
    import numpy as np

    known = simulated.known
    curve = max(some, key=lambda one: one.cost.documents).play.found(known)
    return np.arange(len(curve), dtype=np.float64), curve / max(int(known.relevant.sum()), 1)


def _taus(some: "list[Outcome]") -> "Curve":
    import numpy as np

    return np.array([one.cost.documents for one in some], dtype=float), np.array(
        [one.effects[0].tau_b for one in some]
    )
