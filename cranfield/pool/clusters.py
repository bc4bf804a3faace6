"""Near-duplicates: one document of a cluster enters the pool and stands for the others."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cranfield.pool.candidates import Candidates, Mask
from cranfield.pool.entrants import PooledRuns
from cranfield.runs.ids import UNKNOWN, IdTable
from cranfield.runs.run import Codes, Places

ALONE = -1


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each document code; -1 where a document is in none."""

    of_code: Codes


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A topic with one candidate per cluster, and who stands for whom.

    `left_out` are the document codes that are out, `representatives` the document codes that stand for them.
    """

    candidates: Candidates
    left_out: Codes
    representatives: Codes


def clusters_of(runs: PooledRuns, clusters: Mapping[str, object]) -> Clusters:
    """Give the clusters of the runs' documents; `clusters` maps a document id to the name of its cluster."""
    of_code = np.full(len(runs.document_ids), ALONE, dtype=np.int32)
    codes = IdTable(runs.document_ids).lookup(list(clusters))
    names = {name: number for number, name in enumerate(dict.fromkeys(clusters.values()))}
    numbers = np.array([names[name] for name in clusters.values()], dtype=np.int32)
    of_code[codes[codes != UNKNOWN]] = numbers[codes != UNKNOWN]
    return Clusters(of_code)


def collapse(candidates: Candidates, clusters: Clusters | None, *, preferred: Mask | None = None) -> Collapsed:
    """Keep of each cluster the candidate with the best rank, ties by document id, descending.

    A preferred one goes before all others; if there are several, all of them stay. The ranks of all others stay as
    they are, so that the pooled part is what it was.
    """
    nobody = np.empty(0, dtype=np.int32)
    if clusters is None:
        return Collapsed(candidates, nobody, nobody)
    cluster = clusters.of_code[candidates.documents]
    first = np.zeros(len(candidates), dtype=bool) if preferred is None else preferred
    order = np.lexsort((candidates.best_rank, ~first))
    order = order[cluster[order] != ALONE]
    names, firsts, places = np.unique(cluster[order], return_index=True, return_inverse=True)
    representative: Places = order[firsts][places] if len(names) else order
    out = (order != representative) & ~first[order]
    kept = np.ones(len(candidates), dtype=bool)
    kept[order[out]] = False
    return Collapsed(
        candidates.only(kept), candidates.documents[order[out]], candidates.documents[representative[out]]
    )
