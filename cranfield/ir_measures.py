"""Cranfield as a provider of ir_measures: `import cranfield.ir_measures`, and existing scripts are computed here.

From then on ir_measures, and PyTerrier with it, takes the measures that both have from Cranfield, and all others from
where it took them before. Values are those of its default providers: ties are broken as trec_eval 9 does it, with
scores as 32-bit floats.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from inspect import GEN_CREATED, getgeneratorstate
from io import StringIO
from itertools import chain, islice, repeat
from operator import attrgetter
from struct import error, pack
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers, read_trec_run
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError
from cranfield.evaluate import frames
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Values
from cranfield.evaluate.measure import Measure, parse_measure
from cranfield.runs.columns import Codes, running_sum

__all__ = ["provider"]

_ALIKE = {
    *("AP", "Bpref", "IPrec", "NumQ", "NumRel", "NumRet", "P", "R", "RR", "Rprec"),
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
        ordered = sorted(measures, key=str)  # of a set, whose order differs between processes
        if others := [str(measure) for measure in ordered if not self.supports(measure)]:
            raise ValueError(f"unsupported measures: {', '.join(others)}")
        return _Evaluator(ordered, qrels)


class _Evaluator(providers.Evaluator):
    """Measures and qrels; a run is held against those documents of the qrels that can make a difference."""

    def __init__(self, measures: list[Any], qrels: Any) -> None:
        judged = _by_topic(qrels, "relevance")
        super().__init__(measures, [*judged])
        self.ours = [ours for measure in measures if (ours := _measure(measure))]
        lengths = np.array([*map(len, judged.values())], np.int64)
        topics = np.repeat(np.arange(len(judged)), lengths)
        given = [*chain.from_iterable(rows.values() for rows in judged.values())]
        grades = np.fromiter(given, np.int32, len(topics))
        if grades.tolist() != given:
            raise ValueError("the qrels have a grade that is not a whole number")
        # Where unjudged documents count as not relevant, those that are judged not relevant need not be looked up.
        lowest = min(map(_lowest_that_counts, self.ours))
        self.sought = [
            {document: grade for document, grade in rows.items() if grade >= lowest} for rows in judged.values()
        ]
        self.topics, self.grades = topics[grades >= lowest], grades[grades >= lowest]
        topics, grades = topics[grades >= 0], grades[grades >= 0]
        levels = np.unique(grades)
        shape, cells = (len(judged), len(levels)), topics * len(levels) + levels.searchsorted(grades)
        self.facts: dict[str, Any] = {
            "topics": np.arange(len(judged)),
            "levels": levels,
            "level_counts": np.bincount(cells, minlength=math.prod(shape)).reshape(shape),
            "highest_grade": int(levels.max(initial=0)),
            "pooled_count": lengths,
        }

    def values(self, run: Any) -> Iterator[tuple[Any, list[float]]]:
        """Each measure with its values for all topics of the qrels, and its default where the run lacks the topic."""
        ranked = _by_topic(run, "score")
        rankings = [ranked.get(topic, {}) for topic in self.qrel_qids]
        lengths = np.array([*map(len, rankings)], np.int64)
        lists = Lists(grades=self._at_each_rank(rankings, lengths), offsets=running_sum(lengths), **self.facts)
        for measure, ours in zip(self.measures, self.ours, strict=True):
            values: Values = np.where(lengths > 0, ours.values(lists), measure.DEFAULT)
            yield measure, values.tolist()

    def _at_each_rank(self, rankings: list[Mapping[str, float]], lengths: Counts) -> Codes:
        """The grade at each rank of all rankings: those of the documents sought, and NOT_POOLED for all others."""
        packed, own = bytearray(), bytearray()  # several times faster than arrays of Python's numbers
        try:
            for ranking, sought in zip(rankings, self.sought, strict=True):
                packed += pack(f"{len(ranking)}d", *ranking.values())
                own += pack(f"{len(sought)}d", *map(ranking.get, sought, repeat(math.nan)))
        except error:
            found_types = ", ".join(sorted({type(score).__name__ for score in ranking.values()}))
            raise TypeError(f"the scores of a run are numbers, not {found_types}") from None
        scores, found = (np.frombuffer(part).astype(np.float32) for part in (packed, own))
        if np.isnan(scores).any():
            raise ValueError("a run has a score that is not a number")
        retrieved = np.flatnonzero(found == found)
        keys = _keys(np.repeat(self.facts["topics"], lengths), scores)
        order = np.arange(len(keys)) if (keys[1:] >= keys[:-1]).all() else keys.argsort()  # most runs are in order
        keys, wanted = keys[order], _keys(self.topics[retrieved], found[retrieved])
        first = keys.searchsorted(wanted)
        at_rank = np.full(len(keys), NOT_POOLED, dtype=np.int32)
        at_rank[first] = self.grades[retrieved]
        # Ties go to the higher id; only those with a document that is sought are looked at.
        first = np.unique(first[np.append(keys, 0)[first + 1] == wanted])
        sizes = keys.searchsorted(keys[first], "right") - first
        group = np.repeat(np.arange(len(first)), sizes)
        places = np.arange(len(group)) + (first - running_sum(sizes)[:-1])[group]
        documents = [*chain.from_iterable(rankings)] if len(places) else []
        ids = [*map(documents.__getitem__, order[places].tolist())]
        falling = np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True), np.int64)
        falling = falling[group[falling].argsort(kind="stable")]
        grades = map(
            dict.get,
            map(self.sought.__getitem__, (keys[places] >> 32).tolist()),
            map(ids.__getitem__, falling.tolist()),
            repeat(NOT_POOLED),
        )
        at_rank[places] = [*grades]
        return at_rank

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
    # gdeval, which has the other, rounds to five digits; a measure that a script defines may have any name.
    if measure.params.get("dcg", "log2") != "log2" or hasattr(measure, "runtime_impl"):
        return None
    try:
        ours = parse_measure(str(measure))
    except CranfieldError:
        return None
    if ours.name == "IPrec":
        if ours.judged_only:  # not a number there for topics of which the run retrieves no judged document
            return None
        return replace(ours, settings=tuple(sorted({**dict(ours.settings), "rounding": "9"}.items())))
    return ours


def _lowest_that_counts(measure: Measure) -> float:
    """The lowest grade that differs from no judgment at all."""
    gains: Any = dict(measure.settings).get("gains", ())
    alike = measure.kind.unjudged == "nonrelevant" and not measure.judged_only and measure.rel != 0
    return 1 if alike and 0 not in dict(gains) else -np.inf


def _by_topic(given: Any, number: str) -> Mapping[str, Mapping[str, Any]]:
    """Topic -> document -> score or grade, of all that ir_measures takes: mappings, frames, named tuples."""
    found: Any = given
    if not isinstance(given, Mapping):
        found, last, documents = {}, None, {}
        for topic, document, value in _rows(given, ("query_id", "doc_id", number)):
            if topic != last:
                last, documents = topic, found.setdefault(topic, {})
            documents[document] = value
    for topic, documents in found.items():
        for one in (topic, *islice(documents, 1)):
            if not isinstance(one, str):  # it would be found nowhere, and every score be 0
                raise TypeError(f"ids of topics and documents are strings, not {type(one).__name__}: {one!r}")
    return found  # type: ignore[no-any-return]


def _rows(given: Any, names: tuple[str, ...]) -> Iterable[Any]:
    """The rows of a frame, or of named tuples.

    These are not kept where they are read meanwhile: Python would look through all of them again and again.
    """
    if frames.is_frame(given):
        columns = [given[name] for name in names]
        columns[:2] = [one.astype(str) if one.dtype.kind in "iu" else one for one in columns[:2]]
        return zip(*(one.tolist() for one in columns), strict=True)
    if getattr(given, "gi_code", None) is read_trec_run.__code__ and getgeneratorstate(given) == GEN_CREATED:
        file = given.gi_frame.f_locals["file"]
        given.close()
        return _read(file)
    first = [*islice(given, 1)]
    if first and not hasattr(first[0], "_fields"):
        raise ValueError(
            "runs and qrels are mappings, frames or named tuples; read_trec_run and read_trec_qrels read files"
        )
    rows = chain(first, given) if isinstance(given, Iterator) else given
    return map(attrgetter(*names), rows) if first and first[0]._fields != names else rows


def _read(file: Any) -> Iterator[tuple[str, str, float]]:
    """What `ir_measures.read_trec_run` would read, but without named tuples, which take most of its time."""
    if isinstance(file, str):
        opened = StringIO(file) if "\n" in file else (gzip.open if file.endswith(".gz") else open)(file, "rt")
        with opened as stream:
            yield from _read(stream)
        return
    if not hasattr(file, "read"):  # every score would be 0
        raise TypeError(f"read_trec_run reads a path as a string, a text or an open file, not {type(file).__name__}")
    for words in filter(None, map(str.split, file)):
        topic, _, document, _, score, _ = words
        yield topic, document, float(score)


def _keys(topics: Counts, scores: NDArray[np.float32]) -> Counts:
    """Integers that rise from topic to topic, and where scores fall."""
    bits = (0 - scores).view(np.int32)
    return (topics << 32) + (bits ^ (bits >> 31 & 0x7FFFFFFF)) + (1 << 31)


provider = providers.register(Cranfield())  # type: ignore[no-untyped-call]
"""For one call: `cranfield.ir_measures.provider.calc_aggregate(…)`."""
ir_measures.DefaultPipeline.providers.insert(0, provider)
