"""How far scores can be trusted, as a result: verdicts on runs and the collection in tables, figures, sentences.

`import cranfield` brings this module along: so nothing heavy is imported here before something is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from cranfield.base.errors import UnknownName, UsageError
from cranfield.base.registry import deferred
from cranfield.base.tables import Result, Table, html

with deferred:
    import pandas as pd

    from cranfield.compare import by_measure
    from cranfield.evaluate import expression
    from cranfield.report import figures
    from cranfield.reuse import tables as core_tables
    from cranfield.workflows import compare as compare_workflow
    from cranfield.workflows import display, settle
    from cranfield.workflows import inputs as input_kinds
    from cranfield.workflows.evaluate import figures as evaluate_figures
    from cranfield.workflows.reuse import field as fields
    from cranfield.workflows.reuse import reuse as reuse_workflow
    from cranfield.workflows.reuse import tables as reuse_tables

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from rich.console import RenderableType

    from cranfield.report.figures import On
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.intervals import Closure
    from cranfield.workflows.inputs import Inputs
    from cranfield.workflows.reuse.field import Trust, Trusted

Part = Literal["collection", "hold-outs", "groups", "decisions", "pool", "runs", "topics"]
"""The tables by name."""

OF_COLLECTION: tuple[Part, ...] = ("collection", "hold-outs", "groups", "decisions")
"""Those about the pool as a whole, which there are only where it is known who fed it."""

ALWAYS: tuple[Part, ...] = (*OF_COLLECTION, "pool", "runs")
"""What is shown to people without being asked for."""

IN_SHORT = ("run", "score", "possible", "judged", "loss", "verdict", "reason")
"""The columns about each run that a notebook shows; the frame has all."""


@dataclass(frozen=True, eq=False, repr=False)
class ReuseResult(Result):
    """How far scores can be trusted: for outsiders of the collection, and run by run.

    In a notebook, and printed by rich, it shows the verdicts; the frames have everything. They are the tables that
    `cranfield reuse --table` writes as CSV.
    """

    _inputs: Inputs
    _found: Trusted
    _report: CollectionReport | None
    notes: tuple[str, ...]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run and measure: score, interval, expected loss, ranks, verdict, rule and reason."""
        return self._frame("runs")

    @cached_property
    def collection(self) -> pd.DataFrame:
        """The verdict on the collection, one row for each measure: fairness, mean relative loss, reason.

        This frame, and those of hold-outs, are empty where it is not known who fed the pool.
        """
        return self._frame("collection")

    @cached_property
    def hold_outs(self) -> pd.DataFrame:
        """What runs lose when each group, run and family is held out: one row for each level and measure."""
        return self._frame("hold-outs")

    @cached_property
    def groups(self) -> pd.DataFrame:
        """What each group, run and family alone brought to the pool, and what its runs lose when it is held out."""
        return self._frame("groups")

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """How often the qrels with and without a group agree on which differences are significant."""
        return self._frame("decisions")

    @cached_property
    def pool(self) -> pd.DataFrame:
        """What each run brought into the pool, and what it lacks: one row for each run."""
        return self._frame("pool")

    @cached_property
    def topics(self) -> pd.DataFrame:
        """The topics with the least judged, for each run and measure."""
        return self._frame("topics")

    @cached_property
    def thresholds(self) -> pd.DataFrame:
        """The thresholds in force, with their defaults and meaning."""
        return core_tables.thresholds_table(self._found.thresholds).frame()

    @property
    def fairness(self) -> str:
        """The verdict on the collection by its worst measure: fair, with care, unfair or untestable."""
        return "untestable" if self._report is None else self._report.fairness

    @property
    def plot(self) -> ReusePlots:
        """The pictures of pool bias, each on matplotlib axes."""
        return ReusePlots(self._found, self._report)

    def table(self, part: Part = "runs") -> Table:
        """Give one of the tables as data formats and frames have it."""
        (table,) = reuse_tables.part_tables(self._found, self._report, part, data=True)
        return table

    def tables(self, part: Part | None = None, *, more: Sequence[Part] = ()) -> Iterator[Table]:
        """Give the tables as people read them: those of one part, or all that are always shown and `more`.

        Where the pool cannot be tested hold-outs prove nothing, and are left out.
        """
        for one in get_args(Part) if part is None else (part,):
            shown = part is not None or one in (*ALWAYS, *more)
            if part is None and one in OF_COLLECTION:
                shown = self._report is not None and (one == "collection" or self.fairness != "untestable")
            if shown:
                yield from reuse_tables.part_tables(self._found, self._report, one, data=False)

    def describe(self) -> tuple[str, ...]:
        """Give the collection, and every run under every measure, in sentences; a collection must still be open."""
        if self._inputs.is_closed:
            raise UsageError("describe looks at pairs of runs: ask before the collection is closed")
        return (*self.about_collection(), *self.about_runs())

    def narration(self) -> Iterator[str]:
        """Give what the command line says: the notes, and beside the tolerance how wide intervals are."""
        known = len(self._found.notes)
        yield from (*self.notes[:known], *reuse_workflow.about_noise(self._found), *self.notes[known:])

    def about_collection(self) -> Iterator[str]:
        """Say what the pool of the collection is like, where it is known who fed it."""
        return iter(()) if self._report is None else reuse_workflow.about_collection(self._report)

    def about_runs(self) -> Iterator[str]:
        """Give every run under every measure in sentences."""
        field = self._found.field
        in_full = replace(field, words=tuple(self._inputs.in_full(field.words)))
        return settle.accounts(replace(self._found, field=in_full), store=self._inputs.store)

    def write_card(self, path: str | os.PathLike[str]) -> Path:
        """Write the card of the pool, with which others judge their runs without these; gives its path."""
        reuse_workflow.write_card(self._found, Path(path))
        return Path(path)

    def draw(self, folder: Path) -> Iterator[Path]:
        """Draw all pictures into a folder; gives each file when it is there."""
        return reuse_tables.draw_all(self._found, self._report, folder)

    def __getattr__(self, name: str) -> object:
        if name == "estimates":
            raise AttributeError("estimates was removed; the frame runs has the expected loss and its upper end")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        measures = ", ".join(str(trust.measure) for trust in self._found.trusts) or "no measure"
        return f"ReuseResult({self._found.field.asked} runs by {measures}; the collection: {self.fairness})"

    def _repr_html_(self) -> str:
        return html(self._in_short(), heading=f"To outsiders: {self.fairness}", notes=self.notes)

    def __rich__(self) -> RenderableType:
        return display.grouped(self._in_short(), heading=f"To outsiders: {self.fairness}", notes=self.notes)

    def _frame(self, part: Part) -> pd.DataFrame:
        unknown = self._report is None and part in OF_COLLECTION
        return pd.DataFrame() if unknown else self.table(part).frame()

    def _in_short(self) -> Iterator[Table]:
        """Give the verdicts, on the collection and on each run, with the columns that matter most."""
        if self._report is not None:
            yield from self.tables("collection")
        for table in self.tables("runs"):
            yield table.select([place for place, one in enumerate(table.columns) if one.name in IN_SHORT])


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
    input_kinds.refuse_unknown({"closure": closure})
    asked, wanted = inputs.request(measures, runs or None), inputs.own_measures(measures)
    values = {name.replace("-", "_"): value for name, value in (thresholds or {}).items()}
    with inputs.progress() as progress:
        field = inputs.field(asked, progress)
        found = fields.trusted(field, wanted, store=inputs.store, thresholds=values, closure=closure, further=further)
        progress("holding out runs and groups", 0, None)
        with_verdict = [trust.measure for trust in found.trusts]
        report = reuse_workflow.examine_collection(field, with_verdict, thresholds=found.thresholds)
    return ReuseResult(inputs, found, report, (*found.notes, *reuse_workflow.without_verdict(found, wanted)))


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


class ReusePlots:
    """The pictures of pool bias, those of `cranfield reuse --plot`. Each gives the axes it is drawn on."""

    def __init__(self, found: Trusted, report: CollectionReport | None) -> None:
        self._found, self._report = found, report

    def intervals(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Each run's score as a point, what its holes are probably worth as a thick line, what is possible as a thin.

        `measure` is the first that was asked for, unless one is named.
        """
        return reuse_tables.draw_intervals(self._found, self._trust(measure), on=_on(ax))

    def hold_out(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """What each group's runs would have lost, had the group not been in the pool: one point per run."""
        report = self._known()
        if "group" not in report.levels:
            raise UsageError("there is a single group, and nothing to hold out")
        return reuse_tables.draw_hold_out(report, self._trust(measure), on=_on(ax))

    def coverage(self, *, ax: Axes | None = None) -> Axes:
        """How much of each run's top is judged for each topic, down to the depth of the first measure."""
        self._trust(None)
        return reuse_tables.draw_coverage(self._found, on=_on(ax))

    def relevant_by_depth(self, *, ax: Axes | None = None) -> Axes:
        """New relevant documents at each depth of the pool, and where the trend goes below it."""
        return reuse_tables.draw_depths(self._known(), on=_on(ax))

    def _trust(self, measure: str | None) -> Trust:
        """Give what was found under a measure, by its name as results print it, or as it was asked for."""
        known = {str(trust.measure): trust for trust in self._found.trusts}
        if not known:
            raise UsageError("none of the measures takes a verdict: there is nothing to draw")
        if measure is None:
            return next(iter(known.values()))
        if measure not in known:
            field = self._found.field
            found = expression.parse_measures([measure], threshold=field.relevant_from, gains=field.gains)
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
    return figures.shown_axes if ax is None else ax
