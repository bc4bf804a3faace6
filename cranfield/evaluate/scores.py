"""Scores: the value of every measure for every run and topic, and their summaries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.evaluate.aggregate import aggregated_rows
from cranfield.evaluate.align import Alignment, Reference, TopicCounts
from cranfield.evaluate.expression import AnyMeasure, Measure, own_measures
from cranfield.evaluate.lists import Lists, Values
from cranfield.evaluate.measures.average import Rounding

if TYPE_CHECKING:
    import pandas

ALL = "all"
"""What stands for the topic in the rows of a summary."""


@dataclass(frozen=True, eq=False)
class Scores:
    """`values[m, r, t]` is the score of measure m for run r and topic t; `scored[r, t]` says which go into a mean.

    `qrels_hash`, `reference` and `ties` say what the scores were made with: scores of different qrels, or of other
    orders of tied documents, are not comparable. Scores that were read back have `told_order` instead of the last
    two: what their file says, or nothing.
    """

    measures: tuple[AnyMeasure, ...]
    run_names: tuple[str, ...]
    topic_ids: tuple[str, ...]
    values: NDArray[np.float64]
    scored: NDArray[np.bool_]
    counts: tuple[TopicCounts, ...] = ()
    qrels_hash: str = ""
    reference: Reference = "10"
    ties: str = "trec"
    told_order: str | None = None

    @property
    def order(self) -> str:
        """The order of tied documents, in words: that of a version of trec_eval, or another one."""
        if self.told_order is not None:
            return self.told_order
        return f"trec_eval {self.reference}" + ("" if self.ties == "trec" else f", ties {self.ties}")

    @cached_property
    def summary(self) -> NDArray[np.float64]:
        """One value per measure and run: all scored topics put together as the measure says."""
        each = [
            aggregated_rows(values, self.scored, measure.aggregate)
            for measure, values in zip(self.measures, self.values, strict=True)
        ]
        return np.array(each, dtype=float).reshape(len(self.measures), len(self.run_names))

    def of(self, measure: AnyMeasure) -> NDArray[np.float64]:
        """Give the scores of one measure as runs by topics."""
        chosen: NDArray[np.float64] = self.values[self.measures.index(measure)]
        return chosen

    def rows(self, *, by_topic: bool = False) -> Iterator[tuple[str, str, str, float]]:
        """Give (run, topic, measure, value), topics before their summary, whose topic is `all`."""
        for number, run in enumerate(self.run_names):
            for place, measure in enumerate(self.measures):
                if by_topic:
                    for topic in np.flatnonzero(self.scored[number]).tolist():
                        yield run, self.topic_ids[topic], str(measure), float(self.values[place, number, topic])
                yield run, ALL, str(measure), float(self.summary[place, number])

    def frame(self, *, by_topic: bool = False) -> "pandas.DataFrame":
        """Give the rows as a pandas frame, with qrels hash and reference version in its attributes."""
        import pandas as pd

        frame = pd.DataFrame(list(self.rows(by_topic=by_topic)), columns=["run", "topic", "measure", "value"])
        topics = {run: one.scored for run, one in zip(self.run_names, self.counts, strict=False)}
        frame.attrs.update(qrels=self.qrels_hash, reference=self.order, topics=topics)
        return frame


def score(alignment: Alignment, measures: Sequence[AnyMeasure], *, rounding: Rounding = "exact") -> Scores:
    """Score all runs of an alignment by all measures.

    `rounding` is how recall levels are read where a measure does not say it itself: exactly, or as trec_eval 9 or 10.
    """
    chosen = tuple(_rounded(measure, rounding) for measure in own_measures(measures))
    shape = alignment.shape
    values = np.array([_finite(measure, alignment.lists).reshape(shape) for measure in chosen])
    rel = min((measure.rel for measure in chosen if measure.rel), default=1)
    return Scores(
        measures=chosen,
        run_names=alignment.run_names,
        topic_ids=alignment.topic_ids,
        values=values.reshape(len(chosen), *shape),
        scored=alignment.scored,
        counts=alignment.counts(rel=rel),
        qrels_hash=alignment.qrels_hash,
        reference=alignment.reference,
    )


def _finite(measure: Measure, lists: Lists) -> Values:
    """Give the values of a measure; where they are no numbers, it was given too much."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = measure.values(lists)
    if not np.isfinite(values).all():
        raise InputError(f"{measure} is no number here: the grades, or its parameters, are too large for it")
    return values


def _rounded(measure: Measure, rounding: Rounding) -> Measure:
    unsaid = "rounding" in measure.kind.parameters and "rounding" not in dict(measure.settings)
    return measure.with_setting("rounding", rounding) if unsaid and rounding != "exact" else measure
