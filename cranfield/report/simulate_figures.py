"""The figure of plans that were replayed: what they find, and how alike the ranking is, against what they cost."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cranfield.report.figures import Values, figure_of, label, measure_label, own_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[Values, Values]
"""Documents, and what they bring."""


def replayed(found: Mapping[str, Curve], taus: Mapping[str, Curve], *, measure: str) -> "Figure":
    """Two panels over the documents judged: the share of the known relevant ones found, and tau-b of the ranking.

    `found` has a line for each plan; `taus` has a point for each budget it was played at.
    """
    left = own_axes(10.0, 4.4)
    figure = figure_of(left)
    left.set_position((0.07, 0.26, 0.4, 0.68))
    right = figure.add_axes((0.57, 0.26, 0.4, 0.68))
    for side in (left, right):
        side.grid(visible=True, alpha=0.25)
        side.spines[["top", "right"]].set_visible(False)
        side.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
        side.tick_params(labelsize=9)
    for place, name in enumerate(found):
        style, colour = ("-", "--", "-.", ":")[place // 10 % 4], f"C{place % 10}"
        left.plot(*_thinned(found[name]), style, color=colour, linewidth=1.6, label=label(name))
        left.plot(found[name][0][-1], found[name][1][-1], "o", color=colour, markersize=4)
        right.plot(*taus[name], style, marker="o", color=colour, markersize=4, linewidth=1.3)
    left.set_ylabel("share of the known relevant documents found", fontsize=9)
    right.set_ylabel(f"tau-b of the ranking by {measure_label(measure)}", fontsize=9)
    for side in (left, right):
        side.set_xlabel("documents judged", fontsize=9)
        side.set_xlim(left=0)
    left.set_ylim(bottom=0)
    figure.legend(fontsize=8, frameon=False, loc="lower center", ncols=_columns(list(found)))
    return figure


def _thinned(curve: Curve, most: int = 400) -> Curve:
    """Give a curve with no more points than can be seen; the last one stays."""
    places = np.unique(np.linspace(0, len(curve[0]) - 1, min(most, len(curve[0]))).astype(np.int64))
    return curve[0][places], curve[1][places]


def _columns(names: Sequence[str]) -> int:
    longest = max(map(len, names), default=1)
    return max(1, min(len(names), 130 // (longest + 8)))
