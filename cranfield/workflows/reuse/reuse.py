"""The reliability of scores, as a result: verdicts on runs and the collection in tables, figures, sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield.base.errors import InputError, UnknownName, UsageError
from cranfield.base.registry import deferred
from cranfield.base.text import Result, Table, counted, few, html, table_of
from cranfield.base.writing import whole_file
from cranfield.evaluate import measure as measuring
from cranfield.reuse import assess, card, expected_loss, provenance, tables
from cranfield.reuse import collection as pool_bias
from cranfield.reuse.hold_out import AllHoldOut
from cranfield.store import history
from cranfield.workflows import inputs as input_kinds
from cranfield.workflows.reuse import field as fields

with deferred:
    import pandas as pd

    from cranfield.report import figures as report_figures
    from cranfield.workflows import display

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from rich.console import Console, ConsoleOptions, RenderableType

Part = Literal["collection", "hold-outs", "groups", "runs"]
"""The tables by name."""

IN_SHORT = ("run", "score", "possible", "judged", "loss", "verdict", "reason")
"""The columns about each run that a notebook shows; the frame has all."""

ALWAYS: tuple[Part, ...] = ("collection", "hold-outs", "runs")
"""What people see without naming a table."""


def reuse(
    inputs: input_kinds.Inputs,
    runs: Sequence[str],
    measures: str | Sequence[str] | None,
    *,
    thresholds: Mapping[str, float] | None,
) -> ReuseResult:
    """Say how far scores can be trusted, and whether the pool is fair to non-contributing runs."""
    values = {name.replace("-", "_"): value for name, value in (thresholds or {}).items()}
    with inputs.requested(measures, runs or None) as request:
        wanted = measuring.own_measures(measuring.parse_by_scale(request.measures, request.scale))
        field = inputs.field(request)
        request.progress("holding out runs and groups", 0, None)
        verdicts, held_out = [one for one in wanted if one.takes_verdict], None
        if verdicts and field.levels:  # under way while verdicts are made
            held_out = pool_bias.hold_out_levels(field.read.aligned, field.levels, verdicts, workers=inputs.workers)
        trust = field.trusted(wanted, thresholds=values)
        report = examine_collection(trust, held_out)
    notes = [*trust.notes, *request.notes]
    for measure in wanted:
        if trust.of(measure) is None:
            sampled = measure.kind.unjudged == "sampled"
            why = "it is an estimate from a sample, which accounts for unjudged documents"
            notes.append(f"no verdict for {measure}: {why if sampled else 'unjudged documents cannot change it'}")
    anchor = None if inputs.store is None else history.head(inputs.store)
    return ReuseResult(trust, report, anchor, tuple(notes))


def examine_collection(
    trust: fields.Trusted, held_out: Mapping[provenance.Level, AllHoldOut] | None = None
) -> pool_bias.CollectionReport | None:
    """Judge the collection by what was held out, else by its groups; None where contributors are not known."""
    field, untestable = trust.field, {one.measure: one.untestable for one in trust.trusts}
    if not field.levels or not untestable:
        return None
    by_group, aligned = field.levels["group"], field.read.aligned
    return pool_bias.examine(
        aligned,
        by_group,
        held_out or pool_bias.hold_out_levels(aligned, {"group": by_group}, [*untestable]),
        [*untestable],
        rel=field.knowledge.relevant_from,
        thresholds=trust.thresholds,
        untestable=untestable,
    )


def card_for(
    trust: fields.Trusted, report: pool_bias.CollectionReport | None, anchor: tuple[int, str] | None
) -> card.Card:
    """Make the card that lets others judge their runs with these qrels and without these runs.

    The anchor is where the history of the collection stands.
    """
    field = trust.field
    if not field.levels:
        raise UsageError("a card needs the contributing runs, which are not known")
    if field.knowledge.inferred:
        raise UsageError("a card cannot be made from an inferred pool; use --groups and --pool-depth")
    groups = field.levels["group"]
    held_out = None if report is None else report.levels.get("group")
    entries = [
        card.entry_of(
            one.measure,
            one.coverage.depth,
            model=one.model,
            untestable=one.untestable,
            losses=None if held_out is None else held_out.summaries[one.measure].drop,
            families=one.family_models,
        )
        for one in trust.trusts
    ]
    models = []
    relevant_from = field.knowledge.relevant_from
    if not assess.why_untestable(field.read.aligned, groups, trust.thresholds, relevant_from=relevant_from):
        cache = expected_loss.ModelCache(field.read.aligned, groups, thresholds=trust.thresholds)
        deepest = int(groups.depth.max(initial=1))
        for k in [*(one for one in card.DEPTHS if one < deepest), deepest]:
            model = cache.model(np.full_like(groups.depth, k))
            if not assess.why_untaught(model, trust.thresholds):
                models.append((k, model))
    return card.card_of(field.read.aligned, groups, entries, models=models, history=anchor)


def about_collection(report: pool_bias.CollectionReport) -> Iterator[str]:
    """What the pool of a collection is like, in sentences."""
    contributing, groups = int((report.provenance.group_of_run >= 0).sum()), len(report.provenance.groups)
    relevant = 100 * (report.relevant / (report.judged or float("nan")))
    yield (
        f"{counted(contributing, 'contributing run')} of {counted(groups, 'group')};"
        f" {counted(report.judged, 'judged document')}, {report.relevant:,} relevant ({relevant:.1f}%)"
    )
    decay, not_exhausted = report.decay, report.new_by_depth.not_exhausted
    if any(problem.severity == "error" for problem in report.problems):
        pass
    elif isinstance(decay, str):
        yield f"the number of missed relevant documents cannot be estimated: {decay}"
    else:
        low, expected, high = (decay.beyond(errors=errors) for errors in (-1.0, 0.0, 1.0))
        yield (
            f"expected from depth {decay.depths} to {2 * decay.depths}: {expected:,.0f} more relevant documents"
            f" ({low:,.0f} to {high:,.0f}), in addition to {report.new_by_depth.relevant.sum():,}"
        )
    if not_exhausted:
        yield f"{counted(len(not_exhausted), 'topic')} not exhausted at the last depth: {few(not_exhausted, 10)}"
    for problem in report.problems:
        yield f"{'untestable' if problem.severity == 'error' else 'warning'}: {problem.message}"


@dataclass(frozen=True, eq=False, repr=False)
class ReuseResult(Result):
    """The reliability of scores: for non-contributing runs in general, and run by run.

    In a notebook, and printed by rich, it shows the verdicts; the frames have everything. They are the tables that
    `cranfield reuse --table` writes as CSV.
    """

    _found: fields.Trusted
    _report: pool_bias.CollectionReport | None
    _anchor: history.Anchor | None
    notes: tuple[str, ...]

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run and measure: score, interval, expected loss, ranks, verdict, rule and reason."""
        return self._frame("runs")

    @cached_property
    def collection(self) -> pd.DataFrame:
        """The verdict on the collection, one row for each measure: fairness, mean relative loss, reason.

        This frame and those of hold-outs are empty if the contributing runs are not known.
        """
        return self._frame("collection")

    @cached_property
    def hold_outs(self) -> pd.DataFrame:
        """What runs lose when each group, run and family is held out: one row for each level and measure."""
        return self._frame("hold-outs")

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Unique documents of each group, run and family, and what its runs lose when it is held out."""
        return self._frame("groups")

    @cached_property
    def thresholds(self) -> pd.DataFrame:
        """The thresholds, with their defaults and meaning."""
        return tables.thresholds_table(self._found.thresholds).frame()

    @property
    def fairness(self) -> str:
        """The verdict on the collection by its worst measure: fair, with care, unfair or untestable."""
        return "untestable" if self._report is None else self._report.fairness

    @property
    def plot(self) -> ReusePlots:
        """Plots of pool bias, each on matplotlib axes."""
        return ReusePlots(self._found, self._report, report_figures.shown_axes)

    def table(self, part: Part = "runs") -> Table:
        """One of the tables, as in data formats and frames."""
        if part == "runs":
            runs = range(self._found.field.asked)
            return table_of(tables.RUNS, [row for one in self._found.trusts for row in tables.trust_rows(one, runs)])
        if self._report is None:
            raise InputError("nothing to hold out: the contributing runs are not known; name them with --groups")
        of_collection = {"collection": tables.verdicts_table, "hold-outs": tables.hold_outs_table}
        return of_collection.get(part, tables.groups_table)(self._report)

    def tables(self, part: Part | None = None) -> Iterator[Table]:
        """The tables for reading: those of one part, or all that are always shown.

        If the pool is untestable, hold-outs are left out.
        """
        for one in ALWAYS if part is None else (part,):
            if one == "runs":
                for trust in self._found.trusts:
                    yield tables.trust_table(trust, range(self._found.field.asked))
            elif part or (self._report is not None and (one == "collection" or self.fairness != "untestable")):
                yield tables.groups_to_read(self._report) if one == "groups" and self._report else self.table(one)

    def about_collection(self) -> Iterator[str]:
        """What the pool of the collection is like, if the contributing runs are known."""
        return iter(()) if self._report is None else about_collection(self._report)

    def verdicts(self) -> Iterator[str]:
        """The verdict on each run, in a line for each measure: score, what it would likely be, and why."""
        for run in range(self._found.field.asked):
            for one in self._found.trusts:
                verdict, loss = one.verdicts[run], one.evidence[run].loss
                likely = f", likely {one.score[run] + loss:.3f}" if loss is not None and loss >= one.tolerance else ""
                scored = f"{one.run_names[run]}: {one.measure} {one.score[run]:.3f}{likely}"
                yield f"{scored}: {verdict.title}, {verdict.reason}"

    def write_card(self, path: str | os.PathLike[str]) -> Path:
        """Write the card of the pool, which others use to assess their runs; returns its path."""
        with whole_file(Path(path), replace=True) as unfinished:
            unfinished.write_text(card.card_text(card_for(self._found, self._report, self._anchor)), encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        measures = ", ".join(str(one.measure) for one in self._found.trusts) or "no measure"
        return f"ReuseResult({self._found.field.asked} runs by {measures}; the collection: {self.fairness})"

    def _repr_html_(self) -> str:
        return html(**self._in_short())

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        return display.grouped(**self._in_short(), width=options.max_width)

    def _in_short(self) -> dict[str, Any]:
        """The verdicts, on the collection and on each run, with the columns that matter most."""
        found = [] if self._report is None else [self.table("collection")]
        for table in self.tables("runs"):
            names = [column.name for column in table.columns]
            found.append(table.select([names.index(name) for name in IN_SHORT]))
        return {"tables": found, "heading": f"Non-contributing runs: {self.fairness}", "notes": self.notes}

    def _frame(self, part: Part) -> pd.DataFrame:
        unknown = self._report is None and part != "runs"  # the others need the contributing runs
        return pd.DataFrame() if unknown else self.table(part).frame()


# The pictures of pool bias.


@dataclass(frozen=True, eq=False, repr=False)
class ReusePlots:
    """Plots of pool bias; the report has them too. Each returns its axes."""

    _found: fields.Trusted
    _report: pool_bias.CollectionReport | None
    _on: report_figures.On = None  # where to draw without axes

    def intervals(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Each run's score as a point, its expected loss as a thick line and its interval as a thin one.

        `measure` is the first one if none is named.
        """
        one, field = self._trust(measure), self._found.field
        runs = slice(0, field.asked)
        contributed = [field.contributed(run) for run in range(field.asked)]
        score = one.score[runs]
        low, high = (np.where(np.isnan(ends), score, ends) for ends in (one.low[runs], one.high[runs]))
        return report_figures.intervals(
            str(one.measure),
            one.run_names[runs],
            score,
            (low, high),
            score if one.loss is None else score + np.nan_to_num(one.loss.upper[runs]),
            contributing=np.asarray(one.coverage.contributed[runs].any(axis=1)),
            pooled=None if None in contributed else np.array(contributed, dtype=bool),
            on=ax or self._on,
        )

    def coverage(self, *, ax: Axes | None = None) -> Axes:
        """The share of judged documents in the top k of each run, by topic; k is that of the first measure."""
        one, runs = self._trust(None), self._found.field.asked
        shares, depth = one.coverage.judged[:runs], int(one.coverage.depth.max())
        on = ax or self._on
        return report_figures.coverage(one.run_names[:runs], one.coverage.topic_ids, shares, depth=depth, on=on)

    def relevant_by_depth(self, *, ax: Axes | None = None) -> Axes:
        """New relevant documents at each depth of the pool, and the fitted trend below it."""
        report = self._report
        if report is None:
            raise UsageError("the contributing runs are not known: pass groups and pool_depth")
        decay, fitted = report.decay, None
        if not isinstance(decay, str):
            fitted = decay.new_at(np.arange(1, 2 * decay.depths + 1))
        found = report.new_by_depth.relevant.sum(axis=0).astype(np.float64)
        return report_figures.relevant_by_depth(found, fitted=fitted, on=ax or self._on)

    def _trust(self, measure: str | None) -> assess.Assessment:
        """Give what was found under a measure, by its name as results print it, or as it was asked for."""
        known, field = {one.name: one for one in self._found.trusts}, self._found.field
        if not known:
            raise UsageError("no measure has a verdict: nothing to plot")
        if measure is None:
            return next(iter(known.values()))
        found = measuring.parse_measures([measure], threshold=field.knowledge.relevant_from, gains=field.gains)
        for name in (measure, *map(str, found)):  # "P@3" may mean P(rel=2)@3 here
            if name in known:
                return known[name]
        raise UnknownName("measure of this result", measure, known)
