"""Figures of scores and differences, on axes or written to files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import UsageError
from cranfield.workflows.evaluate_notes import made_with
from cranfield.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cranfield.evaluate.scores import Scores
    from cranfield.report.figures import On
    from cranfield.workflows.compare import Compared

LEVELS = tuple(f"IPrec@{level / 10:.1f}" for level in range(11))
"""The measures behind a precision–recall curve."""

_BARS = {
    "mean": "its mean",
    "geometric": "its geometric mean",
    "median": "its median",
    "min": "its minimum",
    "max": "its maximum",
    "sum": "its mean, not the sum",
}
"""What the bar of a strip is, by how a measure puts topics together."""

_LACKING_SHOWN = 12


def plot_comparison(compared: "Compared", scores: "Scores", path: Path) -> str:
    """Draw one pair as differences per topic, several as strips: of differences from a baseline, else of the runs.

    Gives what was drawn. `scores` are those the comparison is of.
    """
    from cranfield.report.figures import strips

    entries = compared.scores
    if len(compared.results) == 1:
        (pair,) = compared.results
        said = f"the difference of {pair.a} and {pair.b} on each topic"
        return said + _written(draw_differences(compared, scores.topic_ids), path, scores)
    if compared.how.baselines:
        one, between = len(compared.how.baselines) == 1, {}
        for pair in compared.results:
            first, second = (entries.values[entries.labels.index(name)] for name in (pair.a, pair.b))
            between[pair.a if one else f"{pair.a} - {pair.b}"] = first - second
        whose = f" from {compared.how.baselines[0]}" if one else ""
        drawn = strips(compared.measure, between, against=compared.how.baselines[0] if one else "")
        return f"the differences{whose} on each topic" + _written(drawn, path, scores)
    drawn = strips(compared.measure, dict(zip(entries.labels, entries.values, strict=True)))
    return f"{compared.measure} of each run on each topic" + _written(drawn, path, scores)


def draw_differences(compared: "Compared", topics: tuple[str, ...], *, on: "On" = None) -> "Axes":
    """Draw the differences of the first pair of a comparison, topic by topic."""
    from cranfield.report.figures import differences

    scores, pair = compared.scores, compared.results[0]
    first, second = (scores.values[scores.labels.index(name)] for name in (pair.a, pair.b))
    tally = pair.wins, pair.ties, pair.losses
    return differences(compared.measure, pair.a, pair.b, topics, first - second, tally=tally, on=on)


def refuse_other_kinds(path: Path | None) -> None:
    """Refuse a file name that means no kind of figure, before anything is done."""
    from cranfield.report.figures import kind_of

    if path is not None:
        kind_of(path)


def plot_scores(scores: "Scores", path: Path) -> str:
    """Draw the first measure as strips; give what was drawn."""
    return f"{scores.measures[0]} of each run on each topic" + _written(draw_strips(scores), path, scores)


def draw_strips(scores: "Scores", *, runs: Sequence[int] | None = None, on: "On" = None) -> "Axes":
    """Draw the first measure as strips, of all runs or of these; the bar is at what stands in a table.

    What is added up over topics has its bar at the mean: a sum is far from what single topics have.
    """
    from cranfield.report.figures import strips

    measure, names = scores.measures[0], scores.run_names
    chosen = [run for run in (range(len(names)) if runs is None else runs) if scores.scored[run].any()]
    if not chosen:
        raise UsageError("there is no topic to draw")
    values = {names[run]: scores.values[0, run][scores.scored[run]] for run in chosen}
    bars = None if measure.aggregate == "sum" else {names[run]: float(scores.summary[0, run]) for run in chosen}
    return strips(str(measure), values, summary=bars, called=_BARS[measure.aggregate], on=on)


def _written(drawn: "Axes", path: Path, scores: "Scores") -> str:
    """Write a figure with what stands behind it at its foot; give what is to be said of that, mostly nothing."""
    from cranfield.report.figures import figure_of, save

    lacking = save(figure_of(drawn), path, footer=made_with(scores))
    return f" ({lacking_said(lacking)})" if lacking else ""


def lacking_said(letters: str) -> str:
    """Say that letters of names are not in the font of figures."""
    shown = shortened(letters, _LACKING_SHOWN)
    return f"the font of figures lacks {shown}: they are boxes here, an SVG has them"


def plot_curves(scores: "Scores", path: Path) -> str:
    """Draw precision–recall curves from scores of the eleven levels; give what was drawn."""
    return "interpolated precision at eleven recall levels" + _written(draw_curves(scores), path, scores)


def draw_curves(scores: "Scores", *, on: "On" = None) -> "Axes":
    """Draw precision–recall curves from scores of the eleven levels."""
    from cranfield.report.figures import precision_recall

    return precision_recall({name: scores.summary[:, place] for place, name in enumerate(scores.run_names)}, on=on)
