"""What a simulation stands on: known judgments, the runs that are ranked, and those of them that feed the plans.

Known judgments are those of an old pool. What it did not judge, nobody knows: a replay can find only what was judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError, UsageError
from cranfield.evaluate.align import Alignment, AnyRun, align
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists
from cranfield.evaluate.scores import Scores
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.replay import Labels
from cranfield.pool.strategy import Texts
from cranfield.qrels.qrels import Qrels
from cranfield.reuse.contributors import Contributor
from cranfield.reuse.pooled_rows import Numbers, first_of_cells

Rows = NDArray[np.bool_]
"""Says of each row of the known qrels whether it is meant."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the ranked runs: their places in the alignment, their lists, and the row of the qrels at each rank."""

    runs: Counts
    lists: Lists
    rows: Numbers


@dataclass(frozen=True, eq=False)
class Known:
    """Judgments that play the assessor, and the runs.

    All `runs` are ranked; `pooled` are those that feed plans, by the same names, with their groups. A grade from
    `relevant_from` up is relevant. `texts` and `queries` are for the strategies that read. `known_of` makes one.
    """

    qrels: Qrels
    runs: tuple[AnyRun, ...]
    alignment: Alignment
    qrels_row: Numbers
    pooled: PooledRuns
    relevant_from: int = 1
    texts: Texts | None = None
    queries: Mapping[str, str] | None = None

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The topics that are played, in byte order: those with judgments that some feeding run has."""
        return tuple(topic for topic in self.labels if topic in self.pooled.codes_by_topic)

    @cached_property
    def labels(self) -> Labels:
        """Relevant or not, by topic and document; what has no grade from 0 up has no label."""
        found: dict[str, dict[str, bool]] = {}
        for topic, document, grade in self.qrels:
            if grade >= 0:
                found.setdefault(topic, {})[document] = grade >= self.relevant_from
        return found

    @cached_property
    def judged(self) -> Rows:
        """The rows that have a grade."""
        return np.asarray(self.qrels.grades >= 0)

    @cached_property
    def relevant(self) -> Rows:
        """The rows that are relevant."""
        return np.asarray(self.qrels.grades >= self.relevant_from)

    @cached_property
    def reachable(self) -> int:
        """How many known relevant documents some feeding run has: no plan finds more."""
        feeding = np.flatnonzero(np.isin(self.alignment.run_names, self.pooled.names))
        rows = self.part(feeding).rows
        return int(self.relevant[np.unique(rows[rows >= 0])].sum())

    @cached_property
    def contributors(self) -> tuple[Contributor, ...]:
        """The feeding runs with their groups; a run without a group is one of its own."""
        return tuple(Contributor(run.name, run.team, run.family) for run in self.pooled.runs)

    def part(self, runs: Counts) -> Part:
        """Give some of the runs, by their places in the alignment."""
        lists, topics = self.alignment.lists, len(self.alignment.topic_ids)
        cells = (runs[:, np.newaxis] * topics + np.arange(topics)).ravel()
        places, _ = first_of_cells(lists, cells, lists.length[cells])
        return Part(runs, lists.chosen(cells), self.qrels_row[places])

    @cached_property
    def everything(self) -> Part:
        """All runs."""
        return Part(np.arange(len(self.runs)), self.alignment.lists, self.qrels_row)

    def scores(self, kept: Rows, measures: Sequence[Measure], part: Part | None = None) -> Scores:
        """Score runs by some of the judgments alone, as if nothing else had been judged; all runs without a part."""
        some = self.everything if part is None else part
        lists = self._judged_by(some, kept)
        shape = (len(measures), len(some.runs), len(self.alignment.topic_ids))
        values = np.array([measure.values(lists) for measure in measures]).reshape(shape)
        names = tuple(self.alignment.run_names[run] for run in some.runs.tolist())
        return Scores(tuple(measures), names, self.alignment.topic_ids, values, self.alignment.scored[some.runs])

    def _judged_by(self, part: Part, kept: Rows) -> Lists:
        judged = np.flatnonzero(kept & self.judged)
        topics, levels = part.lists.level_counts.shape
        level = np.searchsorted(part.lists.levels, self.qrels.grades[judged])
        cells = self.qrels.topic_of_row[judged].astype(np.int64) * levels + level
        return replace(
            part.lists,
            grades=np.where(np.append(kept, False)[part.rows], part.lists.grades, NOT_POOLED),
            level_counts=np.bincount(cells, minlength=topics * levels).reshape(topics, levels),
            highest_grade=int(self.qrels.grades[judged].max(initial=0)),
            pooled_count=np.bincount(self.qrels.topic_of_row[kept], minlength=topics),
            stratified=None,
            _relevant={},
        )


def known_of(
    qrels: Qrels,
    runs: Sequence[AnyRun],
    pooled: PooledRuns,
    *,
    alignment: Alignment | None = None,
    relevant_from: int = 1,
    texts: Texts | None = None,
    queries: Mapping[str, str] | None = None,
) -> Known:
    """Bring judgments and runs together; refused where nothing is judged, or no feeding run has a judged topic.

    `alignment` is that of both over all topics of the qrels, with its rows kept, where it is there already.
    """
    unknown = sorted(set(pooled.names) - {run.tag for run in runs})
    if unknown:
        raise UsageError(f"run {unknown[0]!r} feeds the plans, but is not among the runs that are ranked")
    aligned = align(qrels, runs, keep_rows=True) if alignment is None else alignment
    if aligned.qrels_row is None or len(aligned.topic_ids) < len(qrels.topic_ids):
        raise UsageError("a replay needs all topics of the qrels, and their rows at each rank")
    known = Known(qrels, tuple(runs), aligned, aligned.qrels_row, pooled, relevant_from, texts=texts, queries=queries)
    if not known.judged.any():
        raise InputError("a replay needs judgments, and these qrels have none")
    if not known.topics:
        raise InputError("no run that feeds the plans has a topic that was judged")
    return known
