"""Scoring by novelty: of near-duplicates that say the same, only the first in a ranking is worth anything.

A judged document counts as not relevant (grade 0) where a judged member of its cluster stands above it. The topic
has one relevant document per cluster: R, the recall base, and the ideal ranking count the cluster once, with the
highest grade of its judged members; the others are judged and not relevant. Unjudged documents stay unjudged, and
make no later one redundant: nobody has said that they are worth reading.

Source: Bernstein and Zobel, Redundant documents and search effectiveness, CIKM 2005; Fröbe, Bittner, Potthast and
Hagen, The effect of content-equivalent near-duplicates on the evaluation of search engines, ECIR 2020.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError
from cranfield.evaluate.align import Alignment, AnyRun, at_each_rank, levels_of
from cranfield.evaluate.lists import Lists
from cranfield.evaluate.scores import Scores
from cranfield.qrels.qrels import Grades, Qrels
from cranfield.runs.run import Codes

Clusters = Mapping[str, Hashable]
"""Document -> cluster, for the documents that have near-duplicates."""


@dataclass(frozen=True, slots=True)
class RankChange:
    """A run under one measure: its value and rank by novelty, and by plain scoring. Equal values share a rank."""

    measure: str
    run: str
    value: float
    plain: float
    rank: int
    plain_rank: int

    @property
    def change(self) -> int:
        """How many ranks the run gains by novelty; below 0 where it loses."""
        return self.plain_rank - self.rank


def by_novelty(aligned: Alignment, qrels: Qrels, runs: Sequence[AnyRun], clusters: Clusters) -> Alignment:
    """Give the same alignment with later members of clusters as not relevant.

    Its `qrels_hash` is another one: these scores are not comparable with plain ones.
    """
    if qrels.strata is not None:
        raise InputError("novelty needs full judgments: a cluster has no place in the strata of a sample")
    cluster = _cluster_codes(qrels, clusters)
    chosen = np.flatnonzero(np.isin(qrels.topics, aligned.topic_ids))
    rows = cluster[qrels.documents]
    at_rank = at_each_rank(rows, qrels, runs, chosen=chosen, reference=aligned.reference)
    lists = aligned.lists
    grades = np.where(_later(lists, at_rank), np.int32(0), lists.grades)
    levels, counts = levels_of(replace(qrels, grades=_one_for_each(qrels, rows)))
    return replace(
        aligned,
        lists=replace(lists, grades=grades, levels=levels, level_counts=counts[chosen], _relevant={}),
        qrels_hash=_hash(qrels, cluster),
    )


def novelty_hash(qrels: Qrels, clusters: Clusters) -> str:
    """Give the hash that stands for qrels together with those clusters that matter to them."""
    return _hash(qrels, _cluster_codes(qrels, clusters))


def rank_changes(novel: Scores, plain: Scores) -> list[RankChange]:
    """Give every run under every measure with its place in both rankings of runs."""
    return [
        RankChange(
            measure=str(measure),
            run=run,
            value=float(novel.summary[place, number]),
            plain=float(plain.summary[place, number]),
            rank=_rank(novel.summary[place], number),
            plain_rank=_rank(plain.summary[place], number),
        )
        for place, measure in enumerate(novel.measures)
        for number, run in enumerate(novel.run_names)
    ]


def _rank(values: NDArray[np.float64], number: int) -> int:
    return 1 + int((values > values[number]).sum())


def _cluster_codes(qrels: Qrels, clusters: Clusters) -> Codes:
    """Give for each document of the qrels the first one of its cluster there; itself where it is alone."""
    codes = np.arange(len(qrels.document_ids), dtype=np.int32)
    first: dict[Hashable, int] = {}
    for code, document in enumerate(qrels.document_ids.to_pylist()):
        if document in clusters:
            codes[code] = first.setdefault(clusters[document], code)
    return codes


def _later(lists: Lists, cluster: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Say which ranks have a judged document with a judged member of its cluster above it."""
    judged = np.flatnonzero(lists.grades >= 0)
    cell = np.searchsorted(lists.offsets, judged, side="right") - 1
    _, first = np.unique((cell.astype(np.int64) << 32) | cluster[judged], return_index=True)
    later = np.zeros(len(lists.grades), dtype=bool)
    later[judged] = True
    later[judged[first]] = False
    return later


def _one_for_each(qrels: Qrels, cluster: Codes) -> Grades:
    """Give the grades with the best member of each cluster of a topic alone, the other judged ones at 0."""
    judged = np.flatnonzero(qrels.grades >= 0)
    order = judged[np.lexsort((-qrels.grades[judged], cluster[judged], qrels.topic_of_row[judged]))]
    pairs = (qrels.topic_of_row[order].astype(np.int64) << 32) | cluster[order]
    again = order[1:][pairs[1:] == pairs[:-1]]
    grades = qrels.grades.copy()
    grades[again] = 0
    return grades


def _hash(qrels: Qrels, cluster: Codes) -> str:
    """Give a hash of the qrels and of those clusters that matter to them, whatever they are called."""
    digest = sha256(f"cranfield-novelty-1\n{qrels.content_hash}\n".encode())
    ids = qrels.document_ids.to_pylist()
    for code in np.flatnonzero(cluster != np.arange(len(cluster))).tolist():
        digest.update(f"{ids[code]}\t{ids[cluster[code]]}\n".encode())
    return digest.hexdigest()
