"""Cranfield as a provider of ir_measures: `import cranfield.ir_measures`, and existing scripts are computed here.

From then on ir_measures, and PyTerrier with it, takes the measures that both have from Cranfield, and all others from
where it took them before. Values are those of its default providers: ties are broken as trec_eval 9 does it, with
scores as 32-bit floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers

from cranfield.base.errors import CranfieldError
from cranfield.evaluate import frames
from cranfield.evaluate.align import levels_of
from cranfield.evaluate.lists import NOT_POOLED, Lists, Values
from cranfield.evaluate.measure import Measure, parse_measure
from cranfield.runs.columns import running_sum

__all__ = ["provider"]

_ALIKE = {
    *("AP", "Bpref", "IPrec", "Judged", "NumQ", "NumRel", "NumRet", "P", "R", "RR", "Rprec"),
    *("SetAP", "SetF", "SetP", "SetR", "Success", "infAP", "nDCG"),
}
"""The measures that mean the same here and in the default providers, to the ninth digit."""


class Cranfield(providers.Provider):
    """The provider, first in the default pipeline once this module is imported."""

    NAME = "cranfield"

    def supports(self, measure: Any) -> bool:
        """Whether the measure is one that means the same here."""
        measure.validate_params()
        return measure.NAME in _ALIKE and _measure(measure) is not None

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> providers.Evaluator:
        return _Evaluator(list(measures), qrels)


class _Evaluator(providers.Evaluator):
    """Measures and qrels; a run is held against those documents of the qrels that can make a difference."""

    def __init__(self, measures: list[Any], qrels: Any) -> None:
        judged = _by_topic(qrels, "relevance")
        known = frames.qrels_given(judged)
        super().__init__(measures, list(known.topics))
        self.ours = [ours for measure in measures if (ours := _measure(measure))]
        # Where unjudged documents count as not relevant, those that are judged not relevant need not be looked up.
        lowest = min(map(_lowest_that_counts, self.ours))
        self.sought = [
            {document: grade for document, grade in judged[topic].items() if grade >= lowest}
            for topic in known.topics
        ]
        self.grades = [np.array([*sought.values()], dtype=np.int32) for sought in self.sought]
        levels, counts = levels_of(known)
        self.facts: dict[str, Any] = {
            "topics": np.arange(len(known.topics)),
            "levels": levels,
            "level_counts": counts,
            "highest_grade": int(levels.max(initial=0)),
            "pooled_count": np.diff(known.offsets),
        }

    def values(self, run: Any) -> Iterator[tuple[Any, list[float]]]:
        """Each measure with its values for all topics of the qrels, and its default where the run lacks the topic."""
        rankings = _by_topic(run, "score")
        own = [rankings.get(topic) or {} for topic in self.qrel_qids]
        grades = list(map(_at_each_rank, own, self.sought, self.grades))
        lengths = np.array([len(one) for one in grades], dtype=np.int64)
        lists = Lists(grades=np.concatenate(grades), offsets=running_sum(lengths), **self.facts)
        for measure, ours in zip(self.measures, self.ours, strict=True):
            found: Values = np.where(lengths > 0, ours.values(lists), measure.DEFAULT)
            yield measure, found.tolist()

    def iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        """The value of each measure for each topic."""
        for measure, values in self.values(run):
            yield from map(ir_measures.Metric, self.qrel_qids, repeat(measure), values)

    def calc_aggregate(self, run: Any) -> dict[Any, float]:
        """The value of each measure for the run."""
        found = {}
        for measure, values in self.values(run):
            aggregator = measure.aggregator()
            for value in values:
                aggregator.add(value)
            found[measure] = aggregator.result()
        return found


def _measure(measure: Any) -> Measure | None:
    """What a measure of ir_measures is called here; None where it is another one."""
    if measure.params.get("dcg", "log2") != "log2":  # gdeval, which has the other, rounds to five digits
        return None
    try:
        ours = parse_measure(str(measure))
    except CranfieldError:
        return None
    if ours.name == "IPrec":
        return replace(ours, settings=tuple(sorted({**dict(ours.settings), "rounding": "9"}.items())))
    return ours


def _lowest_that_counts(measure: Measure) -> float:
    """The lowest grade that differs from no judgment at all."""
    gains: Any = dict(measure.settings).get("gains", ())
    alike = measure.kind.unjudged == "nonrelevant" and not measure.judged_only and measure.rel != 0
    return 1 if alike and 0 not in dict(gains) else -np.inf


def _by_topic(given: Any, number: str) -> Mapping[str, Mapping[str, Any]]:
    """Topic -> document -> score or grade, from all that ir_measures takes: mappings, frames, named tuples."""
    if isinstance(given, Mapping):
        return given
    names = ("query_id", "doc_id", number)
    if frames.is_frame(given):
        rows: Iterable[Any] = zip(*(given[name].tolist() for name in names), strict=True)
    else:
        given = iter(given)
        first = list(islice(given, 1))
        rows = chain(first, given)
        if any(one._fields != names for one in first):
            rows = map(attrgetter(*names), rows)
    found: dict[str, dict[str, Any]] = {}
    last, documents = None, dict[str, Any]()
    for topic, document, value in rows:
        if topic != last:
            last, documents = topic, found.setdefault(topic, {})
        documents[document] = value
    return found


def _at_each_rank(ranking: Mapping[str, float], sought: Mapping[str, int], grades: np.ndarray) -> np.ndarray:
    """The grade at each rank: those of the documents sought, and NOT_POOLED for all others."""
    scores = np.fromiter(ranking.values(), np.float32, len(ranking))
    falling = np.sort(-scores)
    if np.isnan(falling[-1:]).any():  # which stand last
        raise ValueError("a run has a score that is not a number")
    own = np.fromiter(map(ranking.get, sought, repeat(np.nan)), np.float32, len(sought))
    found = ~np.isnan(own)
    own = -own[found]
    ranks = np.searchsorted(falling, own)
    if (falling[1:] == falling[:-1]).any() and (np.append(falling, np.nan)[ranks + 1] == own).any():
        # Ties go to the higher id. Sorting keeps the order of what is equal, also where it is reversed.
        score_of = dict(zip(ranking, scores.tolist(), strict=True))
        ranked = sorted(sorted(ranking, reverse=True), key=score_of.__getitem__, reverse=True)
        return np.fromiter(map(sought.get, ranked, repeat(NOT_POOLED)), np.int32, len(ranked))
    at_rank = np.full(len(ranking), NOT_POOLED, dtype=np.int32)
    at_rank[ranks] = grades[found]
    return at_rank


provider = providers.register(Cranfield())  # type: ignore[no-untyped-call]
"""For one call: `cranfield.ir_measures.provider.calc_aggregate(…)`."""
ir_measures.DefaultPipeline.providers.insert(0, provider)
