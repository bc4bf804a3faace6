"""Scores: the value of every measure for every run and topic, and their summaries."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np
import pyarrow as pa

from cranfield.base.errors import InputError
from cranfield.evaluate.align import (
    THREADS,
    Alignment,
    AnyRun,
    TopicCounts,
    align,
    at_each_rank,
    documents_of,
    levels_of,
)
from cranfield.evaluate.lists import NOT_POOLED, GradeGains, Lists, Values, gain_function
from cranfield.evaluate.measure import AnyMeasure, aggregated_rows, own_measures
from cranfield.qrels.qrels import Qrels
from cranfield.runs.columns import Mask
from cranfield.runs.run import Run

ALL = "all"
"""The topic of a summary row."""

ROWS_AT_ONCE = 1 << 18
"""How many rows of lists a thread scores at once."""

ORDER = "trec_eval 10"
"""The order of tied documents: scores are compared as doubles, as that version does it."""


@dataclass(frozen=True, eq=False)
class Scores:
    """`values[m, r, t]` is the score of measure m for run r and topic t; `scored[r, t]` says which go into a mean.

    `qrels_hash` and `ties` say what the scores were made with: scores of different qrels, or of other orders of tied
    documents, are not comparable.
    """

    measures: tuple[AnyMeasure, ...]
    run_names: tuple[str, ...]
    topic_ids: tuple[str, ...]
    values: Values
    scored: Mask
    counts: tuple[TopicCounts, ...] = ()
    qrels_hash: str = ""
    ties: str = "trec"

    @property
    def order(self) -> str:
        """The order of tied documents, in words: that of trec_eval, or another one."""
        return ORDER + ("" if self.ties == "trec" else f", ties {self.ties}")

    @cached_property
    def summary(self) -> Values:
        """One value per measure and run: all scored topics put together as the measure says."""
        each = [
            aggregated_rows(values, self.scored, measure.aggregate)
            for measure, values in zip(self.measures, self.values, strict=True)
        ]
        return np.array(each, dtype=float).reshape(len(self.measures), len(self.run_names))

    def of(self, measure: AnyMeasure) -> Values:
        """The scores of one measure as runs by topics."""
        chosen: Values = self.values[self.measures.index(measure)]
        return chosen

    def rows(self, *, by_topic: bool = False) -> Iterator[tuple[str, str, str, float]]:
        """Rows of (run, topic, measure, value), topics before their summary, whose topic is `all`."""
        for number, run in enumerate(self.run_names):
            for place, measure in enumerate(self.measures):
                if by_topic:
                    for topic in np.flatnonzero(self.scored[number]).tolist():
                        yield run, self.topic_ids[topic], str(measure), float(self.values[place, number, topic])
                yield run, ALL, str(measure), float(self.summary[place, number])


def score(alignment: Alignment, measures: Sequence[AnyMeasure]) -> Scores:
    """Score all runs of an alignment by all measures; many lists some at a time, which memory at hand can hold."""
    chosen, shape = own_measures(measures), alignment.shape

    def values_of(lists: Lists) -> list[Values]:
        with np.errstate(over="ignore", invalid="ignore"):
            return [measure.values(lists) for measure in chosen]

    with ThreadPoolExecutor(THREADS) as threads:
        parts = list(threads.map(values_of, alignment.lists.pieces(ROWS_AT_ONCE)))
    values = [np.concatenate(found) for found in zip(*parts, strict=True)]
    for measure, found in zip(chosen, values, strict=True):
        if not np.isfinite(found).all():
            raise InputError(f"{measure} is not a finite number: the grades or its parameters are too large")
    rel = min((measure.rel for measure in chosen if measure.rel), default=1)
    return Scores(
        measures=tuple(chosen),
        run_names=alignment.run_names,
        topic_ids=alignment.topic_ids,
        values=np.array(values).reshape(len(chosen), *shape),
        scored=alignment.scored,
        counts=alignment.counts(rel=rel),
        qrels_hash=alignment.qrels_hash,
    )


# Scoring by novelty: of near-duplicates that say the same, only the first in a ranking is worth anything.

Clusters = Mapping[str, Hashable]
"""Document -> cluster, for the documents that have near-duplicates."""


def by_novelty(aligned: Alignment, qrels: Qrels, runs: Sequence[AnyRun], clusters: Clusters) -> Alignment:
    """The same alignment with later members of clusters as not relevant.

    Its `qrels_hash` is another one: these scores are not comparable with plain ones.
    """
    if qrels.strata is not None:
        raise InputError("novelty scoring needs complete judgments, not a sample")
    # For each document of the qrels the first one of its cluster there; itself where it is alone.
    cluster = np.arange(len(qrels.document_ids), dtype=np.int32)
    first_of: dict[Hashable, int] = {}
    for code, document in enumerate(qrels.document_ids.to_pylist()):
        if document in clusters:
            cluster[code] = first_of.setdefault(clusters[document], code)
    chosen = np.flatnonzero(np.isin(qrels.topics, aligned.topic_ids))
    rows = cluster[qrels.documents]
    at_rank = np.append(rows, NOT_POOLED)[at_each_rank(qrels, runs, chosen=chosen, reference=aligned.reference)]
    lists = aligned.lists
    # In the lists, ranks with a judged document count 0 where a judged member of its cluster stands above.
    judged = np.flatnonzero(lists.grades >= 0)
    cell = np.searchsorted(lists.offsets, judged, side="right") - 1
    _, first = np.unique((cell.astype(np.int64) << 32) | at_rank[judged], return_index=True)
    grades = lists.grades.copy()
    grades[np.delete(judged, first)] = 0
    # In the qrels, the best member of each cluster of a topic stays alone, the other judged ones count 0.
    judged = np.flatnonzero(qrels.grades >= 0)
    order = judged[np.lexsort((-qrels.grades[judged], rows[judged], qrels.topic_of_row[judged]))]
    pairs = (qrels.topic_of_row[order].astype(np.int64) << 32) | rows[order]
    alone = qrels.grades.copy()
    alone[order[1:][pairs[1:] == pairs[:-1]]] = 0
    levels, counts = levels_of(replace(qrels, grades=alone), qrels.topic_of_row, len(qrels.topic_ids))
    # The hash is of the qrels and of those clusters that matter to them, whatever they are called.
    digest = sha256(f"cranfield-novelty-1\n{qrels.content_hash}\n".encode())
    ids = qrels.document_ids.to_pylist()
    for code in np.flatnonzero(cluster != np.arange(len(cluster))).tolist():
        digest.update(f"{ids[code]}\t{ids[cluster[code]]}\n".encode())
    return replace(
        aligned,
        lists=replace(lists, grades=grades, levels=levels, level_counts=counts[chosen], _relevant={}),
        qrels_hash=digest.hexdigest(),
    )


# One ranked list, explained: what stands at each rank, and what precision, recall and DCG are so far.


@dataclass(frozen=True)
class Step:
    """One rank: the document, what is known of it, and the measures of the list down to here.

    `state` is the grade as text, `unjudged` (pooled, without a grade) or `not pooled`.
    """

    rank: int
    document: str
    state: str
    relevant: bool
    precision: float
    recall: float
    dcg: float


def explain(qrels: Qrels, run: Run, topic: str, *, rel: int = 1, gains: GradeGains = ()) -> list[Step]:
    """The ranks of a run's list for a topic; none where the run lacks the topic."""
    lists = align(qrels, [run], topics=[topic]).lists
    relevant = max(int(lists.relevant_count(rel)[0]), 1)
    gain = np.where(lists.grades >= 0, gain_function("linear", gains)(lists.grades), 0.0).tolist()
    rows = zip(documents_of(run, topic), lists.grades.tolist(), gain, strict=True)
    steps, found, dcg = [], 0, 0.0
    for rank, (document, grade, worth) in enumerate(rows, start=1):
        found += grade >= rel
        dcg += worth / np.log2(rank + 1)
        state = str(grade) if grade >= 0 else "not pooled" if grade == NOT_POOLED else "unjudged"
        steps.append(Step(rank, document, state, grade >= rel, found / rank, found / relevant, float(dcg)))
    return steps


def relevant_documents(qrels: Qrels, topic: str, *, rel: int = 1) -> dict[str, int]:
    """The relevant documents of a topic with their grades, the highest first."""
    if topic not in qrels.topics:
        return {}
    place = qrels.topics.index(topic)
    rows = np.arange(qrels.offsets[place], qrels.offsets[place + 1])
    rows = rows[qrels.grades[rows] >= rel]
    rows = rows[np.argsort(-qrels.grades[rows], kind="stable")]
    documents = qrels.document_ids.take(pa.array(qrels.documents[rows])).to_pylist()
    return dict(zip(documents, qrels.grades[rows].tolist(), strict=True))
