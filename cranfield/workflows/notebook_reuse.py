"""What `reuse` gives to Python users: verdicts on runs and on the collection, as frames, figures and sentences.

`import cranfield` brings this module along: so nothing heavy is imported here before something is asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import UsageError
from cranfield.workflows.notebook_plots import ReusePlots

if TYPE_CHECKING:
    import os

    import pandas
    from rich.console import RenderableType

    from cranfield.report.table import Table
    from cranfield.reuse.collection import CollectionReport
    from cranfield.workflows.notebook_work import Work
    from cranfield.workflows.reuse_parts import Part
    from cranfield.workflows.trust import Trusted

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

    _work: "Work"
    _found: "Trusted"
    _report: "CollectionReport | None"
    notes: tuple[str, ...]

    @cached_property
    def runs(self) -> "pandas.DataFrame":
        """One row for each run and measure: score, interval, expected loss, ranks, verdict, rule and reason."""
        return self._frame("runs")

    @cached_property
    def collection(self) -> "pandas.DataFrame":
        """The verdict on the collection, one row for each measure: fairness, mean relative loss, reason.

        This frame, and those of hold-outs, are empty where it is not known who fed the pool.
        """
        return self._frame("collection")

    @cached_property
    def hold_outs(self) -> "pandas.DataFrame":
        """What runs lose when each group, run and family is held out: one row for each level and measure."""
        return self._frame("hold-outs")

    @cached_property
    def groups(self) -> "pandas.DataFrame":
        """What each group, run and family alone brought to the pool, and what its runs lose when it is held out."""
        return self._frame("groups")

    @cached_property
    def decisions(self) -> "pandas.DataFrame":
        """How often the qrels with and without a group agree on which differences are significant."""
        return self._frame("decisions")

    @cached_property
    def pool(self) -> "pandas.DataFrame":
        """What each run brought into the pool, and what it lacks: one row for each run."""
        return self._frame("pool")

    @cached_property
    def topics(self) -> "pandas.DataFrame":
        """The topics with the least judged, for each run and measure."""
        return self._frame("topics")

    @cached_property
    def estimates(self) -> "pandas.DataFrame":
        """What scores might be with the holes judged, one row for each run and measure; never the score."""
        return self._frame("estimates")

    @cached_property
    def thresholds(self) -> "pandas.DataFrame":
        """The thresholds in force, with their defaults and meaning."""
        from cranfield.report.reuse_tables import thresholds_table
        from cranfield.workflows.frames import frame_of_table

        return frame_of_table(thresholds_table(self._found.thresholds))

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
        from cranfield.workflows.reuse_asking import about_collection
        from cranfield.workflows.reuse_describing import accounts

        if self._work.is_closed:
            raise UsageError("describe looks at pairs of runs: ask before the collection is closed")
        about = () if self._report is None else tuple(about_collection(self._report))
        words = self._work.with_ids(self._found.field)
        found = replace(self._found, field=replace(self._found.field, words=words))
        return (*about, *accounts(found, store=self._work.store))

    def write_card(self, path: "str | os.PathLike[str]") -> Path:
        """Write the card of the pool, with which others judge their runs without these; gives its path."""
        from cranfield.workflows.reuse import write_reuse_card

        write_reuse_card(self._found, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        measures = ", ".join(str(trust.measure) for trust in self._found.trusts) or "no measure"
        return f"ReuseResult({self._found.field.asked} runs by {measures}; the collection: {self.fairness})"

    def _repr_html_(self) -> str:
        from cranfield.report.snippet import snippet

        return snippet(self._tables(), heading=self._heading, notes=self.notes)

    def __rich__(self) -> "RenderableType":
        from cranfield.workflows.rich_table import grouped

        return grouped(self._tables(), heading=self._heading, notes=self.notes)

    @property
    def _heading(self) -> str:
        return f"To outsiders: {self.fairness}"

    def _frame(self, part: "Part") -> "pandas.DataFrame":
        import pandas as pd

        from cranfield.workflows.frames import frame_of_table
        from cranfield.workflows.reuse_tables import one_table

        if self._report is None and part in ABOUT_COLLECTION:
            return pd.DataFrame()
        (table,) = one_table(self._found, self._report, part, data=True)
        return frame_of_table(table)

    def _tables(self) -> "Iterator[Table]":
        """Give what is shown of all this: the verdicts, on the collection and on each run."""
        from cranfield.workflows.reuse_tables import one_table

        if self._report is not None:
            yield from one_table(self._found, self._report, "collection", data=False)
        for table in one_table(self._found, self._report, "runs", data=False):
            yield _in_short(table)


def _in_short(table: "Table") -> "Table":
    """Give a table of verdicts with the columns that matter most."""
    places = [place for place, column in enumerate(table.columns) if column.name in SHOWN]
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in places), rows=rows)
