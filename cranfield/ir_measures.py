"""Cranfield as a provider of ir_measures: `import cranfield.ir_measures`, and existing scripts are computed here.

From then on ir_measures, and PyTerrier with it, takes the measures that both have from Cranfield, and all others from
where it took them before. Values are those of its default providers: ties are broken as trec_eval 9 does it, with
scores as 32-bit floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, repeat
from operator import attrgetter
from struct import pack
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers

from cranfield.base.errors import CranfieldError
from cranfield.evaluate import frames
from cranfield.evaluate.lists import NOT_POOLED, Lists, Values
from cranfield.evaluate.measure import Measure, parse_measure
from cranfield.runs.columns import Codes, running_sum

__all__ = ["provider"]

_ALIKE = {
    *("AP", "Bpref", "IPrec", "NumQ", "NumRel", "NumRet", "P", "R", "RR", "Rprec"),
    *("SetAP", "SetF", "SetP", "SetR", "Success", "infAP", "nDCG"),
}
"""The measures that mean the same here and in the default providers, to the ninth digit."""

_NOTHING: Codes = np.empty(0, dtype=np.int32)


class Cranfield(providers.Provider):
    """The provider, first in the default pipeline once this module is imported."""

    NAME = "cranfield"

    def supports(self, measure: Any) -> bool:
        """Whether the measure is one that means the same here."""
        measure.validate_params()
        return measure.NAME in _ALIKE and _measure(measure) is not None

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> providers.Evaluator:
        return _Evaluator(sorted(measures, key=str), qrels)  # of a set, whose order differs between processes


class _Evaluator(providers.Evaluator):
    """Measures and qrels; a run is held against those documents of the qrels that can make a difference."""

    def __init__(self, measures: list[Any], qrels: Any) -> None:
        judged = qrels if isinstance(qrels, Mapping) else _whole(_by_topic(qrels, "relevance"))
        super().__init__(measures, [*judged])
        self.ours = [ours for measure in measures if (ours := _measure(measure))]
        # Where unjudged documents count as not relevant, those that are judged not relevant need not be looked up.
        lowest = min(map(_lowest_that_counts, self.ours))
        self.sought, self.grades, counted = dict[str, Any](), dict[str, Codes](), [_NOTHING]
        for topic, rows in judged.items():
            _check_ids(topic, rows)
            self.sought[topic] = {document: grade for document, grade in rows.items() if grade >= lowest}
            self.grades[topic] = np.array([*self.sought[topic].values()], np.int32)
            counted.append(np.array([*rows.values()], np.int32))
        levels = np.unique(np.concatenate(counted))
        levels = levels[levels >= 0]
        counts = [[np.count_nonzero(grades == level) for level in levels] for grades in counted[1:]]
        self.facts: dict[str, Any] = {
            "topics": np.arange(len(judged)),
            "levels": levels,
            "level_counts": np.array(counts, dtype=np.int64).reshape(len(judged), len(levels)),
            "highest_grade": int(levels.max(initial=0)),
            "pooled_count": np.array([*map(len, counted[1:])], dtype=np.int64),
        }

    def values(self, run: Any) -> Iterator[tuple[Any, list[float]]]:
        """Each measure with its values for all topics of the qrels, and its default where the run lacks the topic."""
        run = [*run] if isinstance(run, Iterator) else run
        found = self._at_each_rank(_by_topic(run, "score"))
        if found is None:
            found = self._at_each_rank(_whole(_by_topic(run, "score")).items()) or {}
        grades = [found.get(topic, _NOTHING) for topic in self.qrel_qids]
        lengths = np.array([*map(len, grades)], dtype=np.int64)
        lists = Lists(grades=np.concatenate([_NOTHING, *grades]), offsets=running_sum(lengths), **self.facts)
        for measure, ours in zip(self.measures, self.ours, strict=True):
            values: Values = np.where(lengths > 0, ours.values(lists), measure.DEFAULT)
            yield measure, values.tolist()

    def _at_each_rank(self, rankings: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, Codes] | None:
        """The grades of each topic of the qrels, while its ranking is at hand; None if it comes in several parts."""
        found = dict[str, Codes]()
        for topic, ranking in rankings:
            if topic in found:
                return None
            _check_ids(topic, ranking)
            if topic in self.sought:
                found[topic] = _at_each_rank(ranking, self.sought[topic], self.grades[topic])
        return found

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


def _by_topic(given: Any, number: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Topics, each with document -> score or grade, from all that ir_measures takes: mappings, frames, named tuples.

    A topic comes again where its rows do not follow each other.
    """
    if isinstance(given, Mapping):
        yield from given.items()
        return
    names = ("query_id", "doc_id", number)
    if frames.is_frame(given):
        columns = [given[name] for name in names]
        ids = [one.astype(str) if one.dtype.kind in "iu" else one for one in columns[:2]]
        rows: Iterable[Any] = zip(*(one.tolist() for one in (*ids, columns[2])), strict=True)
    else:
        rows = given if isinstance(given, list) else [*given]
        if rows and rows[0]._fields != names:
            rows = map(attrgetter(*names), rows)
    last, documents = "", dict[str, Any]()
    for topic, document, value in rows:
        if topic != last:
            if documents:
                yield last, documents
            last, documents = topic, {}
        documents[document] = value
    if documents:
        yield last, documents


def _whole(parts: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for topic, documents in parts:
        found.setdefault(topic, {}).update(documents)
    return found


def _check_ids(topic: object, documents: Mapping[str, object]) -> None:
    """Refuse ids that are no text: they would be found nowhere, and every score be 0."""
    for one in (topic, *islice(documents, 1)):
        if not isinstance(one, str):
            raise TypeError(f"ids of topics and documents are strings, not {type(one).__name__}: {one!r}")


def _at_each_rank(ranking: Mapping[str, float], sought: Mapping[str, int], grades: Codes) -> Codes:
    """The grade at each rank: those of the documents sought, and NOT_POOLED for all others."""
    packed = pack(f"{len(ranking)}d", *ranking.values())  # several times faster than an array of Python's numbers
    falling = -np.frombuffer(packed).astype(np.float32)
    order = None
    if len(falling) < 2 or not (falling[1:] > falling[:-1]).all():  # most runs are in order, and nothing is tied
        order = falling.argsort(kind="stable")
        falling = falling[order]
        if len(falling) and math.isnan(falling[-1]):  # they stand last
            raise ValueError("a run has a score that is not a number")
    own = np.fromiter(map(ranking.get, sought, repeat(np.nan)), np.float32, len(sought))
    retrieved = np.flatnonzero(own == own)
    ranks = falling.searchsorted(-own[retrieved])
    at_rank = np.full(len(ranking), NOT_POOLED, dtype=np.int32)
    at_rank[ranks] = grades[retrieved]
    if order is not None:  # ties go to the higher id; only those with a document that is sought are looked at
        group = running_sum(falling[1:] != falling[:-1])[: len(order)]
        matters = np.zeros(len(order), dtype=bool)
        matters[group[ranks]] = True
        matters &= np.bincount(group, minlength=len(order)) > 1
        places = np.flatnonzero(matters[group])
        documents = [*ranking]
        tied = zip((-group[places]).tolist(), map(documents.__getitem__, order[places].tolist()), strict=True)
        at_rank[places] = [sought.get(document, NOT_POOLED) for _, document in sorted(tied, reverse=True)]
    return at_rank


provider = providers.register(Cranfield())  # type: ignore[no-untyped-call]
"""For one call: `cranfield.ir_measures.provider.calc_aggregate(…)`."""
ir_measures.DefaultPipeline.providers.insert(0, provider)
