"""Figures on matplotlib axes, for notebooks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.errors import UnknownName, UsageError

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

    from cranfield.report.figures import On
    from cranfield.reuse.collection import CollectionReport
    from cranfield.workflows.notebook_work import Work
    from cranfield.workflows.trust import Trust, Trusted


class Plots:
    """Figures of scores. Each is drawn on `ax`, or on a new figure of pyplot, and gives the axes."""

    def __init__(self, work: "Work") -> None:
        self._work = work

    def strips(
        self,
        measure: str = "AP",
        *,
        runs: Sequence[str] | None = None,
        topics: "str | os.PathLike[str] | Sequence[str]" = "qrels",
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Each run as a row of points, one per topic, with its mean as a bar: a mean can hide two kinds of topics.

        Of a measure that takes another summary, as `AP(agg=median)`, the bar is at that.
        It is the figure of `cranfield evaluate --plot`.
        """
        from cranfield.workflows.plotting import draw_strips

        found, _ = self._work.evaluated(self._work.asked(measure, runs, topics=topics), verdicts=False)
        return draw_strips(found.scores, on=_on(ax))

    def precision_recall(
        self,
        *,
        runs: Sequence[str] | None = None,
        topics: "str | os.PathLike[str] | Sequence[str]" = "qrels",
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Interpolated precision at the eleven recall levels, averaged over topics, one line per run.

        It is the figure of `cranfield evaluate --curve --plot`.
        """
        from cranfield.workflows.plotting import draw_curves

        asked = replace(self._work.asked("AP", runs, topics=topics), curve=True)
        found, _ = self._work.evaluated(asked, verdicts=False)
        if found.curve is None:
            raise UsageError("there is no curve to draw")
        return draw_curves(found.curve, on=_on(ax))

    def differences(
        self,
        first: str,
        second: str,
        measure: str = "AP",
        *,
        topics: "str | os.PathLike[str] | Sequence[str]" = "qrels",
        ax: "Axes | None" = None,
    ) -> "Axes":
        """The difference of two runs, first − second, on each topic, from the largest win to the largest loss.

        It is the figure of `cranfield compare --plot` for two runs.
        """
        from cranfield.workflows.compare import Comparing, compare_scores
        from cranfield.workflows.plotting import draw_differences

        asked = self._work.asked(measure, [first, second], topics=topics)
        found, _ = self._work.evaluated(asked, verdicts=False)
        (compared,) = compare_scores(found.scores, Comparing())
        return draw_differences(compared, found.scores.topic_ids, on=_on(ax))


class ReusePlots:
    """The pictures of pool bias, those of `cranfield reuse --plot`. Each gives the axes it is drawn on."""

    def __init__(self, found: "Trusted", report: "CollectionReport | None") -> None:
        self._found, self._report = found, report

    def intervals(self, measure: str | None = None, *, ax: "Axes | None" = None) -> "Axes":
        """Each run's score as a point, what its holes are probably worth as a thick line, what is possible as a thin.

        `measure` is the first that was asked for, unless one is named.
        """
        from cranfield.workflows.reuse_plotting import draw_intervals

        return draw_intervals(self._found, self._trust(measure), on=_on(ax))

    def hold_out(self, measure: str | None = None, *, ax: "Axes | None" = None) -> "Axes":
        """What each group's runs would have lost, had the group not been in the pool: one point per run."""
        from cranfield.workflows.reuse_plotting import draw_hold_out

        report = self._known()
        if "group" not in report.levels:
            raise UsageError("there is a single group, and nothing to hold out")
        return draw_hold_out(report, self._trust(measure), on=_on(ax))

    def coverage(self, *, ax: "Axes | None" = None) -> "Axes":
        """How much of each run's top is judged for each topic, down to the depth of the first measure."""
        from cranfield.workflows.reuse_plotting import draw_coverage

        self._trust(None)
        return draw_coverage(self._found, on=_on(ax))

    def relevant_by_depth(self, *, ax: "Axes | None" = None) -> "Axes":
        """New relevant documents at each depth of the pool, and where the trend goes below it."""
        from cranfield.workflows.reuse_plotting import draw_depths

        return draw_depths(self._known(), on=_on(ax))

    def _trust(self, measure: str | None) -> "Trust":
        """Give what was found under a measure, by its name as results print it, or as it was asked for."""
        from cranfield.evaluate.expression import parse_measures

        known = {str(trust.measure): trust for trust in self._found.trusts}
        if not known:
            raise UsageError("none of the measures takes a verdict: there is nothing to draw")
        if measure is None:
            return next(iter(known.values()))
        if measure not in known:
            field = self._found.field
            found = parse_measures([measure], threshold=field.relevant_from, gains=field.gains)
            names = [str(one) for one in found]
            if len(names) != 1 or names[0] not in known:
                raise UnknownName("measure of this result", measure, known)
            measure = names[0]
        return known[measure]

    def _known(self) -> "CollectionReport":
        if self._report is None:
            raise UsageError("it is not known who fed the pool: tell it with groups and pool_depth")
        return self._report


def _on(ax: "Axes | None") -> "On":
    """Give where to draw: without axes a figure that a notebook shows by itself."""
    from cranfield.report.figures import shown_axes

    return shown_axes if ax is None else ax
