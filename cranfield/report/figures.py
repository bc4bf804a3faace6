"""Figures: what averages hide, drawn with matplotlib (the extra `plots`).

Every function takes plain arrays, draws on matplotlib axes and gives them: those it is handed, or those of a figure
of its own in the house's style. `save` writes a figure as PNG, SVG or PDF, by the name of the file. The same data
give the same bytes: no dates, no random ids.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, cast

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import MissingExtra, UsageError
from cranfield.text import cell_width, shortened_in_the_middle, visible_line
from cranfield.writing import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

Values = NDArray[np.float64]

Canvas = Callable[[float, float], "Axes"]
"""Gives empty axes that are so many inches wide and high."""

On = Union["Axes", Canvas, None]
"""Where to draw: on these axes, on what a canvas gives, or (None) on a figure of its own."""

KINDS = (".png", ".svg", ".pdf")
BLUE, ORANGE, GREY, LIGHT = "#0b6aa2", "#c8550c", "#777777", "#bbbbbb"
_STYLE: Any = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 9,
    "svg.hashsalt": "cranfield",
    "svg.fonttype": "none",
    "figure.dpi": 150,
}
_METADATA: dict[str, dict[str, str | None]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
    ".png": {"Software": None},
}
_DESCRIBED = {".svg": "Description", ".pdf": "Subject", ".png": "Description"}
_WIDEST, _TALLEST = 24.0, 60.0
_POINTS = 10_000
"""More points than these are one picture inside a drawing, else they would weigh a hundred bytes each."""

_CURVES_NAMED = 80
"""How many lines of a figure have names beside it."""

_LONGEST = 40
"""How many letters of a name stand on an axis."""

_AXIS_HIGH = 34
"""How many letters stand along the axis of differences."""

_FOOTER_GAP = 0.06
"""How many inches are between a figure and its footer."""

_LACKING = re.compile(r"Glyph (\d+) .*missing from")
"""What matplotlib says of a letter that its font does not have."""


def strips(
    measure: str,
    scores: Mapping[str, Values],
    *,
    summary: Mapping[str, float] | None = None,
    called: str = "its mean",
    against: str | None = None,
    on: On = None,
) -> "Axes":
    """Each run as a row of points, one per topic, with its mean as a bar: a mean can hide two kinds of topics.

    The bar is at the `summary` of a run where that is not the mean; `called` says what it is. Values
    `against` a run, or against several where that has no name, are differences, and 0 is marked.
    """
    bars = summary or {name: float(np.mean(values)) for name, values in scores.items()}
    names = sorted(scores, key=lambda name: -bars[name])
    axes = axes_on(on, height=1.2 + 0.32 * len(names))
    as_image = sum(len(values) for values in scores.values()) > _POINTS
    points: Any = {"color": BLUE, "alpha": 0.45, "markersize": 7, "mew": 0, "rasterized": as_image}
    for place, name in enumerate(names):
        values = scores[name]
        axes.plot(values, place + _jitter(len(values)), ".", **points)
        axes.plot([bars[name]] * 2, [place - 0.36, place + 0.36], color=ORANGE, linewidth=2)
    if against is not None:
        axes.axvline(0, color=GREY, linewidth=1, zorder=0.5)
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)
    whose = "" if against is None else f"difference{f' from {label(against)}' if against else ''} in "
    what = f"{whose}{measure_label(measure)}"
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
    tally: tuple[int, int, int],
    on: On = None,
) -> "Axes":
    """The difference of two runs on each topic, from the largest win to the largest loss.

    `tally` is how many topics are won, tied and lost: what is a tie has been decided by who compared them.
    """
    wins, ties, losses = tally
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
    axes.set_ylabel(_difference_label(measure, first, second))
    mean = f"{values.mean():+.4f}"
    mean = mean if mean.strip("+-0.") else mean[1:]
    axes.set_title(f"won {wins}, tied {ties}, lost {losses}; mean {mean} (dashed)", fontsize=9)
    return axes


def _difference_label(measure: str, first: str, second: str) -> str:
    """Say what is subtracted; long names stand on lines of their own, as long as the axis is high."""
    said = f"{measure_label(measure)}: {label(first)} − {label(second)}"
    if cell_width(said) <= _AXIS_HIGH:
        return said
    of, taken = (label(name, longest=_AXIS_HIGH - 2) for name in (first, second))
    return f"{measure_label(measure)}\n{of}\n− {taken}"


def precision_recall(curves: Mapping[str, Values], *, on: On = None) -> "Axes":
    """Interpolated precision at the eleven recall levels, averaged over topics, one line per run.

    The names stand beside the lines, of very many runs those of the best.
    """
    levels = np.linspace(0, 1, 11)
    ranked = sorted(curves, key=lambda name: -float(np.mean(curves[name])))
    named = [label(name) for name in ranked[:_CURVES_NAMED]]
    columns = 1 + len(named) // 24
    column_inches = 0.4 + 0.06 * max(map(len, named), default=0)
    axes = axes_on(on, width=6.5 + (columns - 1) * column_inches, height=4.2)
    for place, name in enumerate(ranked):
        style = ("-", "--", "-.", ":")[place // 10 % 4]
        known = named[place] if place < len(named) else "_"
        axes.plot(levels, curves[name], style, marker="o", markersize=3, linewidth=1.3, label=known)
    axes.set(xlabel="recall", ylabel="interpolated precision", xlim=(-0.02, 1.02), ylim=(0, 1.02))
    said = f"the best {len(named)} of {len(ranked):,} runs" if len(named) < len(ranked) else None
    beside: Any = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "ncols": columns}
    axes.legend(fontsize=7, frameon=False, title=said, title_fontsize=7, **beside)
    return axes


def kind_of(path: Path) -> str:
    """Give the kind of figure that a file name means, or refuse it."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise UsageError(
            f"{path}: a figure is written as {', '.join(KINDS)}, not as {kind or 'a file without suffix'}"
        )
    return kind


def save(figure: "Figure", path: Path, *, footer: str = "") -> str:
    """Write a figure as the kind its file name says, complete or not at all; give the letters it lacks.

    The footer stands small below it, and in what the file says of itself. A letter that the font does not have is a
    box in a PNG or PDF; an SVG keeps it, for the fonts of whoever looks at it.
    """
    kind = kind_of(path)
    metadata: dict[str, str | None] = dict(_METADATA[kind])
    import matplotlib as mpl

    with whole_file(path, replace=True) as unfinished, mpl.rc_context(_STYLE), _letters_lacking() as lacking:
        written = [_below(figure, footer)] if footer else []
        metadata |= {_DESCRIBED[kind]: footer} if footer else {}
        figure.savefig(unfinished, format=kind[1:], bbox_inches="tight", metadata=metadata)
        for text in written:
            text.remove()
    return "" if kind == ".svg" else "".join(dict.fromkeys(lacking))


def _below(figure: "Figure", footer: str) -> "Text":
    """Write a footer just below all that a figure shows, from its left edge on."""
    shown, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    left, top = shown.x0 / width, (shown.y0 - _FOOTER_GAP) / height
    return figure.text(left, top, label_in_full(footer), fontsize=6, color=GREY, va="top")


@contextmanager
def _letters_lacking() -> Iterator[list[str]]:
    """Gather the letters that matplotlib warns of as not being in its font; other warnings pass."""
    import warnings

    lacking: list[str] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield lacking
    for one in told:
        found = _LACKING.match(str(one.message))
        if found:
            lacking.append(chr(int(found[1])))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def as_svg(figure: "Figure") -> str:
    """Give a figure as SVG text without a background, to stand inside a page."""
    import io

    import matplotlib as mpl

    written = io.StringIO()
    with mpl.rc_context(_STYLE), _letters_lacking():
        figure.savefig(written, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None})
    return written.getvalue()


def axes_on(on: On, *, width: float = 6.5, height: float = 3.6) -> "Axes":
    """Give the axes to draw on; the size counts where they are made now."""
    if on is None:
        return own_axes(width, height)
    return on(width, height) if callable(on) else on


def figure_and_axes(*, width: float = 6.5, height: float = 3.6) -> "tuple[Figure, Axes]":
    """Give an empty figure in the house's style, in inches, and its axes."""
    axes = own_axes(width, height)
    return figure_of(axes), axes


def own_axes(width: float, height: float) -> "Axes":
    """Give the axes of an empty figure in the house's style, which no window or notebook knows of."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("a figure", "plots") from None
    with mpl.rc_context(_STYLE):
        return Figure(figsize=_size(width, height)).add_subplot()


def shown_axes(width: float, height: float) -> "Axes":
    """Give the axes of an empty figure in the house's style that pyplot knows of: a notebook shows it.

    Its layout leaves room for names and legends: whoever saves it himself loses nothing at the edges.
    """
    try:
        import matplotlib as mpl
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("a figure", "plots") from None
    style = {name: value for name, value in _STYLE.items() if name != "figure.dpi"}
    with mpl.rc_context(style):
        return pyplot.figure(figsize=_size(width, height), layout="constrained").add_subplot()


def figure_of(axes: "Axes") -> "Figure":
    """Give the figure that axes are in."""
    return cast("Figure", axes.figure)


def _size(width: float, height: float) -> tuple[float, float]:
    return min(width, _WIDEST), min(height, _TALLEST)


def _jitter(size: int) -> Values:
    """Spread points over a row the same way each time: the golden ratio never piles them up."""
    return np.asarray(((np.arange(size) * 0.6180339887) % 1 - 0.5) * 0.5, dtype=np.float64)


def label(text: str, *, longest: int = _LONGEST) -> str:
    """Give foreign text as a label: visible, short, and with no dollar sign that would start a formula.

    Long names are cut in the middle: those of one group often begin alike.
    """
    return label_in_full(shortened_in_the_middle(visible_line(text), longest))


def measure_label(measure: str) -> str:
    """Give a measure as a label: of a long one the name and the cutoff stay, and the parameters go."""
    name, _, rest = measure.partition("(")
    _, _, cutoff = rest.rpartition(")")
    return label(measure) if cell_width(measure) <= _LONGEST else label(f"{name}(…){cutoff}")


def label_in_full(text: str) -> str:
    """Give foreign text as a label, however long."""
    return visible_line(text).replace("$", r"\$")
