"""Cranfield as a provider of ir_measures: `import cranfield.ir_measures`, and existing scripts are computed here.

From then on ir_measures, and PyTerrier with it, takes the measures that both have from Cranfield, and all others from
where it took them before. Values are those of its default providers: ties are broken as trec_eval 9 does it, with
scores as 32-bit floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import GEN_CREATED, getgeneratorstate
from itertools import chain, islice, repeat
from operator import attrgetter
from pathlib import Path
from struct import error, pack
from typing import Any

import ir_measures
import numpy as np
from ir_measures import providers, read_trec_run
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError
from cranfield.base.files import Source
from cranfield.evaluate import frames
from cranfield.evaluate.direct import JudgedPairs, read_direct, table_of_pairs
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Values, crossed, rows_of
from cranfield.evaluate.measure import Measure, parse_measure
from cranfield.runs.columns import Codes, running_sum, text_of

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


@dataclass(frozen=True, eq=False)
class _Topic:
    """A topic of the qrels: its place there, and those of its documents that can make a difference."""

    place: int
    sought: Mapping[str, int]
    grades: Codes


class _Evaluator(providers.Evaluator):
    """Measures and qrels; a run is held against those documents of the qrels that can make a difference."""

    def __init__(self, measures: list[Any], qrels: Any) -> None:
        judged = dict(_by_topic(qrels, "relevance"))
        super().__init__(measures, [*judged])
        self.ours = [ours for measure in measures if (ours := _measure(measure))]
        lengths = np.array([*map(len, judged.values())], np.int64)
        topics = np.repeat(np.arange(len(judged)), lengths)
        given = [*chain.from_iterable(rows.values() for rows in judged.values())]
        grades = np.fromiter(given, np.int32, len(topics))
        if grades.tolist() != given:
            raise ValueError("the qrels have a grade that is not a whole number")
        # Where unjudged documents count as not relevant, those that are judged not relevant need not be looked up.
        lowest = 1.0
        for one in self.ours:
            gains: Any = dict(one.settings).get("gains", ())
            if one.kind.unjudged != "nonrelevant" or one.judged_only or one.rel == 0 or 0 in dict(gains):
                lowest = -np.inf
        self.topics = {}
        for place, (topic, rows) in enumerate(judged.items()):
            sought = {document: grade for document, grade in rows.items() if grade >= lowest}
            self.topics[topic] = _Topic(place, sought, np.fromiter(sought.values(), np.int32))
        topics, grades = topics[grades >= 0], grades[grades >= 0]
        levels = np.unique(grades)
        self.facts: dict[str, Any] = {
            "levels": levels,
            "level_counts": crossed(topics, levels.searchsorted(grades), (len(judged), len(levels))),
            "highest_grade": int(levels.max(initial=0)),
            "pooled_count": lengths,
        }

    def values(self, run: Any) -> Iterator[tuple[Any, list[float]]]:
        """Each measure with its values for all topics of the qrels, and its default where the run lacks the topic."""
        lists = self._of_file(run)
        if lists is None:
            lists = self._of_rows(run)
        for measure, ours in zip(self.measures, self.ours, strict=True):
            values: Values = np.full(len(self.topics), measure.DEFAULT, np.float64)
            values[lists.topics] = ours.values(lists)
            yield measure, values.tolist()

    @cached_property
    def _pairs(self) -> JudgedPairs | None:
        sought = [topic.sought for topic in self.topics.values()]
        documents = text_of([*chain.from_iterable(sought)])
        return table_of_pairs([*self.topics], np.array([*map(len, sought)]), documents, np.arange(len(documents)))

    def _of_file(self, run: Any) -> Lists | None:
        """The rankings of an ordinary run file that `read_trec_run` has not begun to read: no row of it is made."""
        if getattr(run, "gi_code", None) is not read_trec_run.__code__ or getgeneratorstate(run) != GEN_CREATED:
            return None
        file = run.gi_frame.f_locals["file"]
        if not isinstance(file, str) and not hasattr(file, "read"):  # every score would be 0
            kind = type(file).__name__
            raise TypeError(f"read_trec_run reads a path as a string, a text or an open file, not {kind}")
        if not isinstance(file, str) or "\n" in file or not Path(file).is_file() or self._pairs is None:
            return None
        known = read_direct(Source(Path(file).absolute()), self._pairs, reference="9")
        if known is None:
            return None
        run.close()
        grades = np.concatenate([*(topic.grades for topic in self.topics.values()), [NOT_POOLED]])
        places = np.array([self._pairs.topic_codes.get(topic, -1) for topic in known.topic_ids.to_pylist()])
        lists = Lists(grades=grades[known.judged], offsets=known.offsets, topics=places, **self.facts)
        return lists if (places >= 0).all() else lists.chosen(np.flatnonzero(places >= 0))

    def _of_rows(self, run: Any) -> Lists:
        """The rankings of any run."""
        rankings, scores, found = dict[str, Mapping[str, float]](), dict[str, bytes](), dict[str, bytes]()
        for topic, ranking in _by_topic(run, "score"):
            if ranking and topic in self.topics:
                sought = self.topics[topic].sought
                rankings[topic] = ranking
                try:  # while the rows are at hand, and several times faster than arrays of Python's numbers
                    scores[topic] = pack(f"{len(ranking)}d", *ranking.values())
                    found[topic] = pack(f"{len(sought)}d", *map(ranking.get, sought, repeat(math.nan)))
                except error:
                    found_types = ", ".join(sorted({type(score).__name__ for score in ranking.values()}))
                    raise TypeError(f"the scores of a run are numbers, not {found_types}") from None
        topics = [self.topics[topic] for topic in rankings]
        offsets = running_sum([*map(len, rankings.values())])
        packed = (np.frombuffer(b"".join(parts.values())).astype(np.float32) for parts in (scores, found))
        at_rank = _at_each_rank(topics, [*rankings.values()], offsets, *packed)
        places = np.array([topic.place for topic in topics], np.int64)
        return Lists(grades=at_rank, offsets=offsets, topics=places, **self.facts)

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


def _at_each_rank(
    topics: list[_Topic],
    rankings: list[Mapping[str, float]],
    offsets: Counts,
    scores: NDArray[np.float32],
    found: NDArray[np.float32],
) -> Codes:
    """The grade at each rank of some topics: those of the documents sought, and NOT_POOLED for all others.

    `found` are the scores of the documents sought, NaN for those that are not retrieved.
    """
    if np.isnan(scores).any():
        raise ValueError("a run has a score that is not a number")
    cells = np.arange(len(topics))
    keys = _keys(np.repeat(cells, np.diff(offsets)), scores)
    order = np.arange(len(keys)) if (keys[1:] >= keys[:-1]).all() else keys.argsort()  # most runs are in order
    keys = keys[order]
    wanted = _keys(np.repeat(cells, [len(topic.sought) for topic in topics]), found)
    retrieved = np.flatnonzero(found == found)
    retrieved = retrieved[wanted[retrieved].argsort()]  # they are found faster in order
    wanted = wanted[retrieved]
    first = keys.searchsorted(wanted)
    at_rank = np.full(len(keys), NOT_POOLED, dtype=np.int32)
    at_rank[first] = np.concatenate([at_rank[:0], *(topic.grades for topic in topics)])[retrieved]
    # Ties go to the higher id; only those with a document that is sought are looked at.
    first = np.unique(first[keys.take(first + 1, mode="clip") == wanted])
    sizes = keys.searchsorted(keys[first], "right") - first
    group, places = np.repeat(np.arange(len(first)), sizes), rows_of(first, sizes)
    cell = keys[places] >> 32
    documents = {number: [*rankings[number]] for number in np.unique(cell).tolist()}
    rows = (order[places] - offsets[cell]).tolist()
    ids = [documents[number][row] for number, row in zip(cell.tolist(), rows, strict=True)]
    falling = np.array(sorted(range(len(ids)), key=ids.__getitem__, reverse=True), np.int64)
    falling = falling[group[falling].argsort(kind="stable")]
    at_rank[places] = [
        topics[number].sought.get(ids[place], NOT_POOLED)
        for number, place in zip(cell.tolist(), falling.tolist(), strict=True)
    ]
    return at_rank


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


def _by_topic(given: Any, number: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each topic with the scores or grades of its documents, of all that ir_measures takes.

    It comes as soon as its rows end, and once more at the end, with all of them, where they do not stand together.
    """
    for topic, documents in given.items() if isinstance(given, Mapping) else _gathered(_rows(given, number)):
        for one in (topic, *islice(documents, 1)):
            if not isinstance(one, str):  # it would be found nowhere, and every score be 0
                raise TypeError(f"ids of topics and documents are strings, not {type(one).__name__}: {one!r}")
        yield topic, documents


def _gathered(rows: Iterable[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    whole, scattered = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
    last: Any = whole  # not yet a topic
    documents = dict[str, Any]()
    for topic, document, value in rows:
        if topic != last:
            if documents and last not in scattered:
                yield last, documents
            if topic in whole:
                scattered[topic] = whole[topic]
            last, documents = topic, whole.setdefault(topic, {})
        documents[document] = value
    if documents:
        scattered[last] = documents
    yield from scattered.items()


def _rows(given: Any, number: str) -> Iterable[Any]:
    """The rows of a frame, or of named tuples.

    These are not kept where they are read meanwhile: Python would look through all of them again and again.
    """
    names = "query_id", "doc_id", number
    if frames.is_frame(given):
        columns = [given[name] for name in names]
        columns[:2] = [one.astype(str) if one.dtype.kind in "iu" else one for one in columns[:2]]
        return zip(*(one.tolist() for one in columns), strict=True)
    first = [*islice(given, 1)]
    if first and not hasattr(first[0], "_fields"):
        raise ValueError(
            "runs and qrels are mappings, frames or named tuples; read_trec_run and read_trec_qrels read files"
        )
    rows = chain(first, given) if isinstance(given, Iterator) else given
    return map(attrgetter(*names), rows) if first and first[0]._fields != names else rows


def _keys(topics: Counts, scores: NDArray[np.float32]) -> Counts:
    """Integers that rise from topic to topic, and where scores fall."""
    bits = (0 - scores).view(np.int32)
    return (topics << 32) + (bits ^ (bits >> 31 & 0x7FFFFFFF)) + (1 << 31)


provider = providers.register(Cranfield())  # type: ignore[no-untyped-call]
"""For one call: `cranfield.ir_measures.provider.calc_aggregate(…)`."""
ir_measures.DefaultPipeline.providers.insert(0, provider)
