"""Figures of scores, on axes or written to files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.evaluate import measure as measuring
from cranfield.evaluate.measures import precision
from cranfield.evaluate.scores import Scores
from cranfield.workflows.evaluate.evaluate import Evaluation, made_with

with deferred:
    from cranfield.report import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BARS = {
    "mean": "its mean",
    "geometric": "its geometric mean",
    "median": "its median",
    "min": "its minimum",
    "max": "its maximum",
    "sum": "its mean (not the sum)",
}
"""What the bar of a strip is, by how a measure puts topics together."""

RECALL_LEVELS = "iprec_at_recall"
"""The eleven measures behind a precision–recall curve, in trec_eval's word."""


def plot_evaluation(found: Evaluation, path: Path) -> str:
    """Draw the first measure as strips, or precision–recall curves of the eleven levels; give what was drawn."""
    scores = found.scores
    if is_curve(scores):
        drawn, what = draw_curves(scores), "precision-recall curves"
    else:
        drawn, what = draw_strips(scores), f"{scores.measures[0]} of each run by topic"
    figures.save(figures.figure_of(drawn), path, footer=made_with(scores))
    return what


def is_curve(scores: Scores) -> bool:
    """Whether scores are precision at the eleven levels of recall, and nothing else."""
    levels = [one.cutoff for one in scores.measures if isinstance(one, measuring.Measure) and one.name == "IPrec"]
    return levels == list(precision.ELEVEN) and len(scores.measures) == len(levels)


def draw_strips(scores: Scores, *, runs: Sequence[int] | None = None, on: figures.On = None) -> Axes:
    """Draw the first measure as strips, of all runs or of these; the bar is at what stands in a table.

    What is added up over topics has its bar at the mean: a sum is far from what single topics have.
    """
    measure, names = scores.measures[0], scores.run_names
    chosen = [run for run in (range(len(names)) if runs is None else runs) if scores.scored[run].any()]
    if not chosen:
        raise UsageError("no topic to plot")
    values = {names[run]: scores.values[0, run][scores.scored[run]] for run in chosen}
    bars = None if measure.aggregate == "sum" else {names[run]: float(scores.summary[0, run]) for run in chosen}
    return figures.strips(str(measure), values, summary=bars, called=_BARS[measure.aggregate], on=on)


def draw_curves(scores: Scores, *, on: figures.On = None) -> Axes:
    """Draw precision–recall curves from scores of the eleven levels."""
    curves = {name: scores.summary[:, place] for place, name in enumerate(scores.run_names)}
    return figures.precision_recall(curves, on=on)
