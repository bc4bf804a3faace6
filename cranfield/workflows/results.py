"""What `reuse` gives to Python users: verdicts on runs and on the collection, as frames, figures and sentences.

`import cranfield` brings this module along: so nothing heavy is imported here before something is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import UnknownName, UsageError
from cranfield.base.tables import html

if TYPE_CHECKING:
    import os

    import pandas
    from matplotlib.axes import Axes
    from rich.console import RenderableType

    from cranfield.base.tables import Table
    from cranfield.report.figures import On
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.intervals import Closure
    from cranfield.reuse.parts import Part
    from cranfield.workflows.inputs import Inputs
    from cranfield.workflows.reuse.field import Trust, Trusted


# Figures on matplotlib axes, for notebooks.


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
        from cranfield.workflows.evaluate.figures import draw_strips

        found = self._inputs.evaluated(self._inputs.request(measure, runs, topics=topics), verdicts=False)
        return draw_strips(found.scores, on=_on(ax))

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
        from cranfield.workflows.evaluate.figures import draw_curves

        asked = replace(self._inputs.request("AP", runs, topics=topics), curve=True)
        found = self._inputs.evaluated(asked, verdicts=False)
        if found.curve is None:
            raise UsageError("there is no curve to draw")
        return draw_curves(found.curve, on=_on(ax))

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
        from cranfield.compare.by_measure import Options, compare_scores
        from cranfield.workflows.compare import draw_differences

        asked = self._inputs.request(measure, [first, second], topics=topics)
        found = self._inputs.evaluated(asked, verdicts=False)
        (compared,) = compare_scores(found.scores, Options())
        return draw_differences(compared, found.scores.topic_ids, on=_on(ax))


class ReusePlots:
    """The pictures of pool bias, those of `cranfield reuse --plot`. Each gives the axes it is drawn on."""

    def __init__(self, found: Trusted, report: CollectionReport | None) -> None:
        self._found, self._report = found, report

    def intervals(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Each run's score as a point, what its holes are probably worth as a thick line, what is possible as a thin.

        `measure` is the first that was asked for, unless one is named.
        """
        from cranfield.workflows.reuse.tables import draw_intervals

        return draw_intervals(self._found, self._trust(measure), on=_on(ax))

    def hold_out(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """What each group's runs would have lost, had the group not been in the pool: one point per run."""
        from cranfield.workflows.reuse.tables import draw_hold_out

        report = self._known()
        if "group" not in report.levels:
            raise UsageError("there is a single group, and nothing to hold out")
        return draw_hold_out(report, self._trust(measure), on=_on(ax))

    def coverage(self, *, ax: Axes | None = None) -> Axes:
        """How much of each run's top is judged for each topic, down to the depth of the first measure."""
        from cranfield.workflows.reuse.tables import draw_coverage

        self._trust(None)
        return draw_coverage(self._found, on=_on(ax))

    def relevant_by_depth(self, *, ax: Axes | None = None) -> Axes:
        """New relevant documents at each depth of the pool, and where the trend goes below it."""
        from cranfield.workflows.reuse.tables import draw_depths

        return draw_depths(self._known(), on=_on(ax))

    def _trust(self, measure: str | None) -> Trust:
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

    def _known(self) -> CollectionReport:
        if self._report is None:
            raise UsageError("it is not known who fed the pool: tell it with groups and pool_depth")
        return self._report


def _on(ax: Axes | None) -> On:
    """Give where to draw: without axes a figure that a notebook shows by itself."""
    from cranfield.report.figures import shown_axes

    return shown_axes if ax is None else ax


SHOWN = ("run", "score", "possible", "judged", "loss", "verdict", "reason")
"""The columns about each run that are shown; the frame has all."""

ABOUT_COLLECTION = ("collection", "hold-outs", "groups", "decisions")
"""The tables that there are only where it is known who fed the pool."""


@dataclass(frozen=True, eq=False, repr=False)
class ReuseResult:
    """How far scores can be trusted: for outsiders of the collection, and run by run.

    In a notebook, and printed by rich, it shows the verdicts; the frames have everything. They are the tables that
    `cranfield reuse --table` writes as CSV.
    """

    _inputs: Inputs
    _found: Trusted
    _report: CollectionReport | None
    notes: tuple[str, ...]

    @cached_property
    def runs(self) -> pandas.DataFrame:
        """One row for each run and measure: score, interval, expected loss, ranks, verdict, rule and reason."""
        return self._frame("runs")

    @cached_property
    def collection(self) -> pandas.DataFrame:
        """The verdict on the collection, one row for each measure: fairness, mean relative loss, reason.

        This frame, and those of hold-outs, are empty where it is not known who fed the pool.
        """
        return self._frame("collection")

    @cached_property
    def hold_outs(self) -> pandas.DataFrame:
        """What runs lose when each group, run and family is held out: one row for each level and measure."""
        return self._frame("hold-outs")

    @cached_property
    def groups(self) -> pandas.DataFrame:
        """What each group, run and family alone brought to the pool, and what its runs lose when it is held out."""
        return self._frame("groups")

    @cached_property
    def decisions(self) -> pandas.DataFrame:
        """How often the qrels with and without a group agree on which differences are significant."""
        return self._frame("decisions")

    @cached_property
    def pool(self) -> pandas.DataFrame:
        """What each run brought into the pool, and what it lacks: one row for each run."""
        return self._frame("pool")

    @cached_property
    def topics(self) -> pandas.DataFrame:
        """The topics with the least judged, for each run and measure."""
        return self._frame("topics")

    @cached_property
    def estimates(self) -> pandas.DataFrame:
        """What scores might be with the holes judged, one row for each run and measure; never the score."""
        return self._frame("estimates")

    @cached_property
    def thresholds(self) -> pandas.DataFrame:
        """The thresholds in force, with their defaults and meaning."""
        from cranfield.reuse.tables import thresholds_table

        return thresholds_table(self._found.thresholds).frame()

    @property
    def fairness(self) -> str:
        """The verdict on the collection by its worst measure: fair, with care, unfair or untestable."""
        return "untestable" if self._report is None else self._report.fairness

    @property
    def plot(self) -> ReusePlots:
        """The pictures of pool bias, each on matplotlib axes."""
        return ReusePlots(self._found, self._report)

    def describe(self) -> tuple[str, ...]:
        """Give the collection, and every run under every measure, in sentences; a collection must still be open."""
        from cranfield.workflows.reuse.reuse import about_collection
        from cranfield.workflows.settle import accounts

        if self._inputs.is_closed:
            raise UsageError("describe looks at pairs of runs: ask before the collection is closed")
        about = () if self._report is None else tuple(about_collection(self._report))
        words = tuple(self._inputs.in_full(self._found.field.words))
        found = replace(self._found, field=replace(self._found.field, words=words))
        return (*about, *accounts(found, store=self._inputs.store))

    def write_card(self, path: str | os.PathLike[str]) -> Path:
        """Write the card of the pool, with which others judge their runs without these; gives its path."""
        from cranfield.workflows.reuse.reuse import write_reuse_card

        write_reuse_card(self._found, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        measures = ", ".join(str(trust.measure) for trust in self._found.trusts) or "no measure"
        return f"ReuseResult({self._found.field.asked} runs by {measures}; the collection: {self.fairness})"

    def _repr_html_(self) -> str:
        return html(self._tables(), heading=self._heading, notes=self.notes)

    def __rich__(self) -> RenderableType:
        from cranfield.workflows.display import grouped

        return grouped(self._tables(), heading=self._heading, notes=self.notes)

    @property
    def _heading(self) -> str:
        return f"To outsiders: {self.fairness}"

    def _frame(self, part: Part) -> pandas.DataFrame:
        import pandas as pd

        from cranfield.workflows.reuse.tables import one_table

        if self._report is None and part in ABOUT_COLLECTION:
            return pd.DataFrame()
        (table,) = one_table(self._found, self._report, part, data=True)
        return table.frame()

    def _tables(self) -> Iterator[Table]:
        """Give what is shown of all this: the verdicts, on the collection and on each run."""
        from cranfield.workflows.reuse.tables import one_table

        if self._report is not None:
            yield from one_table(self._found, self._report, "collection", data=False)
        for table in one_table(self._found, self._report, "runs", data=False):
            yield _in_short(table)


def _in_short(table: Table) -> Table:
    """Give a table of verdicts with the columns that matter most."""
    places = [place for place, column in enumerate(table.columns) if column.name in SHOWN]
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in places), rows=rows)


def reuse(
    inputs: Inputs,
    runs: Sequence[str],
    measures: str | Sequence[str],
    closure: Closure,
    *,
    further: int,
    thresholds: Mapping[str, float] | None,
) -> ReuseResult:
    """Say how far scores can be trusted, and whether the pool is fair to outsiders."""
    from cranfield.workflows.inputs import refuse_unknown
    from cranfield.workflows.reuse.field import trusted
    from cranfield.workflows.reuse.reuse import examine_collection, without_verdict

    refuse_unknown({"closure": closure})
    asked, wanted = inputs.request(measures, runs or None), inputs.own_measures(measures)
    values = {name.replace("-", "_"): value for name, value in (thresholds or {}).items()}
    with inputs.progress() as progress:
        field = inputs.field(asked, progress)
        found = trusted(field, wanted, store=inputs.store, thresholds=values, closure=closure, further=further)
        progress("holding out runs and groups", 0, None)
        report = examine_collection(field, [trust.measure for trust in found.trusts], thresholds=found.thresholds)
    return ReuseResult(inputs, found, report, (*found.notes, *without_verdict(found, wanted)))
