"""Figures about pool bias: intervals, coverage, losses under hold-out, and relevance found by depth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures import BLUE, GREY, ORANGE, Values, figure_and_axes, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 60
"""How many runs or topics are named on an axis; more are counted."""


def intervals(
    measure: str,
    runs: Sequence[str],
    score: Values,
    bounds: tuple[Values, Values],
    plausible: Values,
    *,
    contributing: NDArray[np.bool_],
) -> "Figure":
    """Each run's score as a point, what its holes are probably worth as a thick line, what is possible as a thin one.

    `plausible` is the upper end of the expected loss added to the score. Contributors are blue and round, outsiders
    orange and square.
    """
    order = np.argsort(-score, kind="stable")
    figure, axes = figure_and_axes(height=1.3 + min(0.28 * len(runs), 40.0))
    for place, run in enumerate(order.tolist()):
        colour, marker = (BLUE, "o") if contributing[run] else (ORANGE, "s")
        axes.plot([bounds[0][run], bounds[1][run]], [place] * 2, color=GREY, linewidth=0.9, alpha=0.8)
        axes.plot([score[run], plausible[run]], [place] * 2, color=colour, linewidth=3.2, alpha=0.45)
        axes.plot(score[run], place, marker, color=colour, markersize=5)
    axes.set_yticks(*_named([runs[run] for run in order.tolist()]))
    axes.set_ylim(len(runs) - 0.4, -0.6)
    axes.set_xlabel(f"{label(measure)}: score, probable (thick) and possible (thin)")
    for name, colour, marker in (("in the pool", BLUE, "o"), ("not in the pool", ORANGE, "s")):
        axes.plot([], [], marker, color=colour, label=name)
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def coverage(runs: Sequence[str], topics: Sequence[str], judged: Values, *, depth: int) -> "Figure":
    """How much of each run's top is judged for each topic: dark is judged, light is not."""
    order = np.argsort(-np.nan_to_num(judged).mean(axis=1), kind="stable")
    size = (max(6.0, 0.16 * len(topics) + 2.5), 1.6 + min(0.24 * len(runs), 40.0))
    figure, axes = figure_and_axes(width=size[0], height=size[1])
    axes.grid(visible=False)
    image = axes.imshow(judged[order], aspect="auto", cmap="cividis_r", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set_yticks(*_named([runs[run] for run in order.tolist()]))
    axes.set_xticks(*_named(topics), rotation=90, fontsize=6)
    axes.set_xlabel("topic")
    figure.colorbar(image, ax=axes, label=f"judged among the first {depth}", fraction=0.03, pad=0.02)
    return figure


def hold_out_loss(measure: str, groups: Sequence[str], drops: Sequence[Values], *, noun: str = "group") -> "Figure":
    """What each group's runs would have lost, had the group not been in the pool: one point per run."""
    worst = np.array([values.max() if len(values) else 0.0 for values in drops])
    order = np.argsort(-worst, kind="stable")
    figure, axes = figure_and_axes(height=1.3 + min(0.28 * len(groups), 40.0))
    for place, group in enumerate(order.tolist()):
        axes.plot([0, worst[group]], [place] * 2, color=GREY, linewidth=0.9)
        axes.plot(drops[group], [place] * len(drops[group]), "o", color=BLUE, markersize=4.5, alpha=0.75)
    axes.axvline(0.0, color=GREY, linewidth=1)
    axes.set_yticks(*_named([groups[group] for group in order.tolist()]))
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_xlabel(f"{label(measure)} lost when the {noun}'s own finds are taken out (one point per run)")
    return figure


def relevant_by_depth(found: Values, *, fitted: Values | None = None, until: int = 0) -> "Figure":
    """New relevant documents at each pool depth, and where the trend goes below the pool."""
    figure, axes = figure_and_axes(height=3.4)
    depths = np.arange(1, len(found) + 1)
    axes.bar(depths, found, color=BLUE, width=0.9, label="found at this depth")
    if fitted is not None and len(fitted):
        reach = np.arange(1, len(fitted) + 1)
        axes.plot(reach, fitted, color=ORANGE, linewidth=1.6, linestyle="--", label="fitted, and continued")
        axes.axvline(len(found) + 0.5, color=GREY, linewidth=1, linestyle=":")
    axes.set_xlim(0.4, max(len(found), until) + 0.6)
    axes.set_xlabel("depth of the pool")
    axes.set_ylabel("new relevant documents")
    axes.legend(fontsize=8, frameon=False)
    return figure


def _named(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Give the places and labels of an axis; where there are too many names, only every n-th is written."""
    every = -(-len(names) // _NAMED) if len(names) > 2 * _NAMED else 1
    places = list(range(0, len(names), every))
    return places, [label(names[place]) for place in places]
