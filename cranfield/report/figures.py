"""Figures: what averages hide, drawn with matplotlib (the extra `plots`).

Every function takes plain arrays, draws on matplotlib axes and gives them: those it is handed, or those of a figure
of its own in the house's style. `save` writes a figure as PNG, SVG or PDF, by the name of the file. The same data
give the same bytes: no dates, no random ids.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, cast

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import MissingExtra, UsageError
from cranfield.base.text import cell_width, counted, shortened_in_the_middle, visible_line
from cranfield.base.writing import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Values = NDArray[np.float64]

Canvas = Callable[[float, float], "Axes"]
"""Gives empty axes that are so many inches wide and high."""

On = Union["Axes", Canvas, None]
"""Where to draw: on these axes, on what a canvas gives, or (None) on a figure of its own."""

BLUE, ORANGE, GREY, LIGHT = "#0b6aa2", "#c8550c", "#777777", "#bbbbbb"
_STYLE: Any = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 9,
    "svg.hashsalt": "cranfield",
    "svg.fonttype": "none",
}
_METADATA = {
    ".png": ("Software", "Description"),
    ".svg": ("Date", "Description"),
    ".pdf": ("CreationDate", "Subject"),
}
"""What a file would say of its making, and must not; and where it says what it shows."""
_WIDEST, _TALLEST = 24.0, 60.0
_POINTS = 10_000
"""More points than these are one picture inside a drawing, else they would weigh a hundred bytes each."""

_COLOURS = ("#0b6aa2", "#c8550c", "#00805a", "#a83c86", "#8a6d00", "#4a4ec4", "#2b9bb8")
_MARKERS = "osD^vP*"
"""How the best runs of a figure of many lines are told apart, by colour and by shape."""

_LONGEST = 40
"""How many letters of a name stand on an axis."""

_AXIS_HIGH = 34
"""How many letters stand along the axis of differences."""

_FOOTER_GAP = 0.06
"""How many inches are between a figure and its footer."""


def strips(
    measure: str,
    scores: Mapping[str, Values],
    *,
    summary: Mapping[str, float] | None = None,
    called: str = "its mean",
    on: On = None,
) -> Axes:
    """Each run as a row of points, one per topic, with its mean as a bar: a mean can hide two kinds of topics.

    The bar is at the `summary` of a run where that is not the mean; `called` says what it is.
    """
    bars = summary or {name: float(np.mean(values)) for name, values in scores.items()}
    names = sorted(scores, key=lambda name: -bars[name])
    axes = axes_on(on, height=1.2 + 0.32 * len(names))
    as_image = sum(len(values) for values in scores.values()) > _POINTS
    points: Any = {"color": BLUE, "alpha": 0.45, "markersize": 7, "mew": 0, "rasterized": as_image}
    for place, name in enumerate(names):
        values = scores[name]
        # Points are spread over a row the same way each time: the golden ratio never piles them up.
        jitter = ((np.arange(len(values)) * 0.6180339887) % 1 - 0.5) * 0.5
        axes.plot(values, place + jitter, ".", **points)
        axes.plot([bars[name]] * 2, [place - 0.36, place + 0.36], color=ORANGE, linewidth=2)
    _name_rows(axes, names)
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)
    what = measure_label(measure)
    end = f"per topic (points) and {called} (bar)"
    axes.set_xlabel(f"{what}{' ' if cell_width(what) <= _AXIS_HIGH else chr(10)}{end}")
    return axes


def differences(
    measure: str,
    first: str,
    second: str,
    topics: Sequence[str],
    values: Values,
    *,
    counts: tuple[int, int, int],
    on: On = None,
) -> Axes:
    """The difference of two runs on each topic, from the largest win to the largest loss.

    `counts` is how many topics are won, tied and lost: what is a tie has been decided by who compared them.
    """
    wins, ties, losses = counts
    order = np.argsort(-values, kind="stable")
    axes = axes_on(on, width=max(6.0, 0.14 * len(topics) + 1.5), height=3.4)
    sorted_values = values[order]
    colours = [BLUE] * wins + [LIGHT] * ties + [ORANGE] * losses
    axes.bar(range(len(order)), sorted_values, color=colours, width=0.85)
    axes.ticklabel_format(axis="y", style="plain", useOffset=False)
    axes.axhline(values.mean(), color=GREY, linewidth=1, linestyle="--")
    if len(topics) <= 120:
        axes.set_xticks(range(len(order)), [label(topics[place]) for place in order], rotation=90, fontsize=6)
    else:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(topics):,} topics")
    axes.set_axisbelow(True)
    # Names stand on lines of their own, as long as the axis is high.
    minuend, subtrahend = (label(name, longest=_AXIS_HIGH - 2) for name in (first, second))
    axes.set_ylabel(f"{measure_label(measure)}\n{minuend}\n− {subtrahend}")
    mean = f"{values.mean():+.4f}"
    mean = mean if mean.strip("+-0.") else mean[1:]
    axes.set_title(f"won {wins}, tied {ties}, lost {losses}; mean {mean} (dashed)", fontsize=9)
    return axes


def precision_recall(curves: Mapping[str, Values], *, on: On = None) -> Axes:
    """Interpolated precision at the eleven recall levels, averaged over topics, one line per run.

    The best few are drawn in colours, with their names; all others are thin and grey behind them.
    """
    levels = np.linspace(0, 1, 11)
    ranked = sorted(curves, key=lambda name: -float(np.mean(curves[name])))
    axes = axes_on(on, height=4.2)
    for name, colour, marker in zip(ranked, _COLOURS, _MARKERS, strict=False):
        axes.plot(levels, curves[name], marker + "-", color=colour, markersize=4, linewidth=1.6, label=label(name))
    others = ranked[len(_COLOURS) :]
    for place, name in enumerate(others):
        known = "_" if place else counted(len(others), "other run")
        axes.plot(levels, curves[name], color=LIGHT, linewidth=0.8, alpha=0.6, label=known, zorder=1.9)
    axes.set(xlabel="recall", ylabel="interpolated precision", xlim=(-0.02, 1.02), ylim=(0, 1.02))
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return axes


def kind_of(path: Path) -> str:
    """The kind of figure that a file name means; others are refused."""
    kind = path.suffix.lower()
    if kind not in _METADATA:
        raise UsageError(
            f"{path}: figures are written as {', '.join(_METADATA)}, not as {kind or 'a file without suffix'}"
        )
    return kind


def save(figure: Figure, path: Path, *, footer: str = "") -> None:
    """Write a figure as the kind its file name says, complete or not at all.

    The footer stands small below it, and in what the file says of itself. A letter that the font does not have is a
    box in a PNG or PDF; an SVG keeps it, for the fonts of whoever looks at it.
    """
    kind = kind_of(path)
    left_out, description = _METADATA[kind]
    metadata: dict[str, str | None] = {left_out: None}
    import matplotlib as mpl

    with whole_file(path, replace=True) as unfinished, mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        below = None
        if footer:  # just below all that the figure shows, from its left edge on
            metadata[description] = footer
            drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
            left, top = drawn.x0 / width, (drawn.y0 - _FOOTER_GAP) / height
            below = figure.text(left, top, label(footer, longest=None), fontsize=6, color=GREY, va="top")
        figure.savefig(unfinished, format=kind[1:], bbox_inches="tight", metadata=metadata)
        if below is not None:
            below.remove()


def as_svg(figure: Figure) -> str:
    """A figure as SVG text without a background, to stand inside a page."""
    import io

    import matplotlib as mpl

    written = io.StringIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        figure.savefig(written, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None})
    return written.getvalue()


def axes_on(on: On, *, height: float, width: float = 6.5) -> Axes:
    """The axes to draw on; the size counts where they are made now."""
    if on is None:
        return own_axes(width, height)
    return on(width, height) if callable(on) else on


def own_axes(width: float, height: float, *, shown: bool = False) -> Axes:
    """The axes of an empty figure in the house's style, which no window or notebook knows of unless it is `shown`."""
    size = min(width, _WIDEST), min(height, _TALLEST)
    try:
        import matplotlib as mpl

        with mpl.rc_context(_STYLE):
            if shown:
                from matplotlib import pyplot

                # The layout leaves room for names and legends: whoever saves it loses nothing at the edges.
                return pyplot.figure(figsize=size, layout="constrained").add_subplot()
            from matplotlib.figure import Figure

            return Figure(figsize=size, dpi=150).add_subplot()
    except ImportError:
        raise MissingExtra("a figure", "plots") from None


shown_axes: Canvas = partial(own_axes, shown=True)
"""Axes of a figure that pyplot knows of: a notebook shows it."""


def figure_of(axes: Axes) -> Figure:
    """The figure that axes are in."""
    return cast("Figure", axes.figure)


def label(text: str, *, longest: int | None = _LONGEST) -> str:
    """Foreign text as a label: visible, short (but for None), and with no dollar sign that would start a formula.

    Long names are cut in the middle: those of one group often begin alike.
    """
    shown = visible_line(text)
    return (shortened_in_the_middle(shown, longest) if longest else shown).replace("$", r"\$")


def measure_label(measure: str) -> str:
    """A measure as a label: of a long one the name and the cutoff stay, and the parameters go."""
    name, _, rest = measure.partition("(")
    _, _, cutoff = rest.rpartition(")")
    return label(measure) if cell_width(measure) <= _LONGEST else label(f"{name}(…){cutoff}")


# Figures about pool bias: intervals, coverage, losses under hold-out, and relevance found by depth.

Flags = NDArray[np.bool_]
Fill = Literal["full", "none"]

MOST_DRAWN = 60
"""How many runs or groups get a line of their own; of more, those that matter most are drawn."""

_NAMED = 60
"""How many runs or topics are named on an axis; of more than twice as many only every n-th."""

_TALLEST_BIAS_FIGURES = 14.0


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
) -> Axes:
    """Each run's score as a point, its expected loss as a thick line, its interval as a thin one.

    `plausible` is the upper end of the expected loss added to the score. Runs that were `contributing` down to the
    cutoff are blue and round; those that were `pooled`, but not so deep, hollow; non-contributing ones orange
    and square (`pooled` is None where the contributing runs are not known).
    Of more than `MOST_DRAWN` runs those are drawn that may score highest.
    """
    chosen = np.sort(np.argsort(-np.maximum(score, plausible), kind="stable")[:MOST_DRAWN])
    order = chosen[np.argsort(-score[chosen], kind="stable")]
    axes = axes_on(on, height=1.3 + 0.28 * len(order))
    places = np.arange(len(order))
    axes.hlines(places, bounds[0][order], bounds[1][order], color=GREY, linewidth=0.9, alpha=0.8)
    in_pool = contributing if pooled is None else contributing | pooled
    others = "contributing runs not known" if pooled is None else "not pooled"
    kinds: list[tuple[str, Flags, str, str, Fill]] = [
        ("pooled to the cutoff", contributing, BLUE, "o", "full"),
        ("pooled, less deep", in_pool & ~contributing, BLUE, "o", "none"),
        (others, ~in_pool, ORANGE, "s", "full"),
    ]
    for name, among, colour, marker, fill in kinds:
        drawn = among[order]
        if drawn.any():
            own, at = order[drawn], places[drawn]
            axes.hlines(at, score[own], plausible[own], color=colour, linewidth=3.2, alpha=0.45)
            axes.plot(score[own], at, marker, color=colour, fillstyle=fill, markersize=5, label=name)
    _name_rows(axes, [runs[run] for run in order.tolist()])
    said = f"{measure_label(measure)}: score, expected loss (thick) and interval (thin)"
    axes.set_xlabel(said + (f"\n{len(order)} of {len(runs):,} runs shown" if len(order) < len(runs) else ""))
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.2)
    return axes


def coverage(runs: Sequence[str], topics: Sequence[str], judged: Values, *, depth: int, on: On = None) -> Axes:
    """How much of each run's top is judged for each topic: dark is judged, light is not."""
    order = np.argsort(-np.nan_to_num(judged).mean(axis=1), kind="stable")
    inches = 0.16 * len(topics) + 3.0, 0.24 * len(runs)
    width, height = (min(each, _TALLEST_BIAS_FIGURES) for each in inches)
    axes = axes_on(on, width=max(6.0, width), height=1.6 + height)
    axes.grid(visible=False)
    image = axes.imshow(judged[order], aspect="auto", cmap="cividis_r", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set_yticks(*_named([runs[run] for run in order.tolist()]), fontsize=7 if len(runs) > _NAMED else None)
    axes.set_xticks(*_named(topics), rotation=90, fontsize=7)
    axes.set_xlabel("topic")
    axes.figure.colorbar(image, ax=axes, label=f"share judged in the top {depth}", fraction=0.03, pad=0.02)
    return axes


def relevant_by_depth(found: Values, *, fitted: Values | None = None, on: On = None) -> Axes:
    """New relevant documents at each pool depth, and where the trend goes below the pool."""
    axes = axes_on(on, height=3.4)
    depths = np.arange(1, len(found) + 1)
    axes.bar(depths, found, color=BLUE, width=0.9, label="observed")
    axes.set_axisbelow(True)
    if fitted is not None:
        reach = np.arange(1, len(fitted) + 1)
        axes.plot(reach, fitted, color=ORANGE, linewidth=1.6, linestyle="--", label="fitted and extrapolated")
        axes.axvline(len(found) + 0.5, color=GREY, linewidth=1, linestyle=":")
    axes.set_xlim(0.4, max(len(found), 0 if fitted is None else len(fitted)) + 0.6)
    axes.set_xlabel("pool depth")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel("new relevant documents")
    if fitted is not None:
        axes.legend(fontsize=8, frameon=False)
    return axes


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)


def _named(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """The places and labels of an axis; where there are too many names, only every n-th is written."""
    every = -(-len(names) // _NAMED) if len(names) > 2 * _NAMED else 1
    places = list(range(0, len(names), every))
    return places, [label(names[place]) for place in places]
