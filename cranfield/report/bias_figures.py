"""Figures about pool bias: intervals, coverage, losses under hold-out, and relevance found by depth."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.report.figures import BLUE, GREY, ORANGE, On, Values, axes_on, label, measure_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Flags = NDArray[np.bool_]
Fill = Literal["full", "none"]

MOST_DRAWN = 60
"""How many runs or groups get a line of their own; of more, those that matter most are drawn."""

_NAMED = 60
"""How many runs or topics are named on an axis; of more than twice as many only every n-th."""

_TALLEST = 14.0
_LETTER, _UPRIGHT, _LEVEL = 0.065, 0.16, 6.0
"""How many inches a small letter takes, a column with a standing name, and a row of names at most."""


def intervals(
    measure: str,
    runs: Sequence[str],
    score: Values,
    bounds: tuple[Values, Values],
    plausible: Values,
    *,
    contributing: Flags,
    pooled: Flags | None = None,
    on: On = None,
) -> "Axes":
    """Each run's score as a point, what its holes are probably worth as a thick line, what is possible as a thin one.

    `plausible` is the upper end of the expected loss added to the score. Runs that were `contributing` as deep as the
    measure looks are blue and round; those that were `pooled`, but not so deep, hollow; outsiders orange and square
    (`pooled` is None where nobody knows who fed the pool).
    Of more than `MOST_DRAWN` runs those are drawn that could probably score highest.
    """
    chosen = np.sort(np.argsort(-np.maximum(score, plausible), kind="stable")[:MOST_DRAWN])
    order = chosen[np.argsort(-score[chosen], kind="stable")]
    axes = axes_on(on, height=1.3 + 0.28 * len(order))
    places = np.arange(len(order))
    axes.hlines(places, bounds[0][order], bounds[1][order], color=GREY, linewidth=0.9, alpha=0.8)
    for name, among, colour, marker, fill in _kinds(contributing, pooled):
        drawn = among[order]
        if drawn.any():
            own, at = order[drawn], places[drawn]
            axes.hlines(at, score[own], plausible[own], color=colour, linewidth=3.2, alpha=0.45)
            axes.plot(score[own], at, marker, color=colour, fillstyle=fill, markersize=5, label=name)
    axes.set_yticks(*_named([runs[run] for run in order.tolist()]))
    axes.set_ylim(len(order) - 0.4, -0.6)
    said = f"{measure_label(measure)}: score, probable (thick) and possible (thin)"
    axes.set_xlabel(said + _of(order, len(runs), "runs"))
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.2)
    return axes


def _kinds(contributing: Flags, pooled: Flags | None) -> "Iterator[tuple[str, Flags, str, str, Fill]]":
    """Give the kinds of runs: what they are called, which they are, and how their points look."""
    fed = contributing if pooled is None else contributing | pooled
    yield "fed the pool to the depth that matters", contributing, BLUE, "o", "full"
    yield "fed the pool, less deep", fed & ~contributing, BLUE, "o", "none"
    yield "not in the pool" if pooled is not None else "not known to be in the pool", ~fed, ORANGE, "s", "full"


def coverage(runs: Sequence[str], topics: Sequence[str], judged: Values, *, depth: int, on: On = None) -> "Axes":
    """How much of each run's top is judged for each topic: dark is judged, light is not.

    Beside each row stands its mean: a run that the pool hardly knows can have dark cells too.
    """
    order = np.argsort(-np.nan_to_num(judged).mean(axis=1), kind="stable")
    each = _column_inches(topics)
    width, height = (min(inches, _TALLEST) for inches in (each * len(topics) + 3.0, 0.24 * len(runs)))
    axes = axes_on(on, width=max(6.0, width), height=1.6 + height)
    axes.grid(visible=False)
    image = axes.imshow(judged[order], aspect="auto", cmap="cividis_r", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set_yticks(*_named([runs[run] for run in order.tolist()]), fontsize=7 if len(runs) > _NAMED else None)
    level = each > _UPRIGHT
    axes.set_xticks(*_named(topics), rotation=0 if level else 90, fontsize=8 if level else 7)
    apart = max(judged.shape) <= _NAMED
    if apart:
        _cells_apart(axes, np.nan_to_num(judged[order]).mean(axis=1))
    axes.set_xlabel("topic")
    said = f"judged among the first {depth}"
    axes.figure.colorbar(image, ax=axes, label=said, fraction=0.03, pad=0.1 if apart else 0.02)
    return axes


def _column_inches(topics: Sequence[str]) -> float:
    """Give how wide a column is: as its name where all names fit beside each other, else as a name that stands."""
    needed = _LETTER * (2 + max((len(label(topic)) for topic in topics), default=0))
    return needed if needed > _UPRIGHT and needed * len(topics) <= _LEVEL else _UPRIGHT


def _cells_apart(axes: "Axes", shares: Values) -> None:
    """Part the cells by thin lines of paper, and write the mean of each row at its end."""
    rows, columns = axes.images[0].get_size()
    axes.set_xticks(np.arange(columns - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(rows - 1) + 0.5, minor=True)
    axes.grid(visible=True, which="minor", color="white", linewidth=1, alpha=1)
    axes.tick_params(which="minor", length=0)
    for place, share in enumerate(shares.tolist()):
        axes.text(columns - 0.3, place, f"{100 * share:.0f} %", fontsize=8, va="center")
    axes.text(columns - 0.3, -0.8, "mean", fontsize=8, va="center")


def hold_out_loss(
    measure: str, groups: Sequence[str], drops: Sequence[Values], *, noun: str = "group", on: On = None
) -> "Axes":
    """What each group's runs would have lost, had the group not been in the pool: one point per run.

    Of more than `MOST_DRAWN` groups those are drawn that would lose most.
    """
    worst = np.array([values.max() if len(values) else 0.0 for values in drops])
    least = np.array([values.min() if len(values) else 0.0 for values in drops])
    order = np.argsort(-worst, kind="stable")[:MOST_DRAWN]
    axes = axes_on(on, height=1.3 + 0.28 * len(order))
    axes.hlines(
        np.arange(len(order)), np.minimum(least[order], 0), np.maximum(worst[order], 0), color=GREY, linewidth=0.9
    )
    places = [place for place, group in enumerate(order.tolist()) for _ in drops[group]]
    points = [value for group in order.tolist() for value in drops[group].tolist()]
    axes.plot(points, places, "o", color=BLUE, markersize=4.5, alpha=0.75)
    axes.axvline(0.0, color=GREY, linewidth=1)
    axes.set_yticks(*_named([groups[group] for group in order.tolist()]))
    axes.set_ylim(len(order) - 0.4, -0.6)
    said = f"{measure_label(measure)} lost when the {noun}'s own finds are taken out (one point per run)"
    axes.set_xlabel(said + _of(order, len(groups), f"{noun}s"))
    return axes


def relevant_by_depth(found: Values, *, fitted: Values | None = None, until: int = 0, on: On = None) -> "Axes":
    """New relevant documents at each pool depth, and where the trend goes below the pool."""
    axes = axes_on(on, height=3.4)
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
    return axes


def _of(drawn: NDArray[np.intp], total: int, noun: str) -> str:
    """Say how many are drawn, where some are not."""
    return f"\n{len(drawn)} of {total:,} {noun} are drawn" if len(drawn) < total else ""


def _named(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Give the places and labels of an axis; where there are too many names, only every n-th is written."""
    every = -(-len(names) // _NAMED) if len(names) > 2 * _NAMED else 1
    places = list(range(0, len(names), every))
    return places, [label(names[place]) for place in places]
