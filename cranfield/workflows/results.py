"""Figures of scores on matplotlib axes, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred

with deferred:
    from cranfield.compare import by_measure
    from cranfield.report import figures
    from cranfield.workflows import compare as compare_workflow
    from cranfield.workflows.evaluate import figures as evaluate_figures

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from cranfield.report.figures import On
    from cranfield.workflows.inputs import Inputs


class Plots:
    """Figures of scores. Each is drawn on `ax`, or on a new figure of pyplot, and gives the axes."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs

    def strips(
        self,
        measure: str = "AP",
        *,
        runs: Sequence[str] | None = None,
        topics: str | os.PathLike[str] | Sequence[str] = "qrels",
        ax: Axes | None = None,
    ) -> Axes:
        """Each run as a row of points, one per topic, with its mean as a bar: a mean can hide two kinds of topics.

        Of a measure that takes another summary, as `AP(agg=median)`, the bar is at that.
        It is the figure of `cranfield evaluate --plot`.
        """
        found = self._inputs.evaluated(self._inputs.request(measure, runs, topics=topics), verdicts=False)
        return evaluate_figures.draw_strips(found.scores, on=_on(ax))

    def precision_recall(
        self,
        *,
        runs: Sequence[str] | None = None,
        topics: str | os.PathLike[str] | Sequence[str] = "qrels",
        ax: Axes | None = None,
    ) -> Axes:
        """Interpolated precision at the eleven recall levels, averaged over topics, one line per run.

        It is the figure of `cranfield evaluate --curve --plot`.
        """
        asked = replace(self._inputs.request("AP", runs, topics=topics), curve=True)
        found = self._inputs.evaluated(asked, verdicts=False)
        if found.curve is None:
            raise UsageError("there is no curve to draw")
        return evaluate_figures.draw_curves(found.curve, on=_on(ax))

    def differences(
        self,
        first: str,
        second: str,
        measure: str = "AP",
        *,
        topics: str | os.PathLike[str] | Sequence[str] = "qrels",
        ax: Axes | None = None,
    ) -> Axes:
        """The difference of two runs, first − second, on each topic, from the largest win to the largest loss.

        It is the figure of `cranfield compare --plot` for two runs.
        """
        asked = self._inputs.request(measure, [first, second], topics=topics)
        found = self._inputs.evaluated(asked, verdicts=False)
        (compared,) = by_measure.compare_scores(found.scores, by_measure.Options())
        return compare_workflow.draw_differences(compared, found.scores.topic_ids, on=_on(ax))


def _on(ax: Axes | None) -> On:
    """Give where to draw: without axes a figure that a notebook shows by itself."""
    return figures.shown_axes if ax is None else ax
