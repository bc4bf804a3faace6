"""What going deeper brought, and what was probably missed: new relevant documents by depth, and where that leads.

A document is met at the best rank that a contributor gives it. Only documents that these runs could rank are
foreseen: what the extrapolation gives is a floor.
"""

from dataclasses import dataclass
from math import exp

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from cranfield.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.qrels.qrels import Qrels, sorted_qrels
from cranfield.reuse.pooled_rows import Counts, first_of_cells
from cranfield.reuse.provenance import NOBODY, Provenance
from cranfield.text import counted

FEWEST_DEPTHS = 10
"""With fewer depths a decay cannot be told from noise."""

FLAT = 1e-9
"""How far below 0 the slope of a curve must lie to be more than noise of arithmetic."""

STILL_YIELDING = 0.1
"""New relevant documents per new judged one at the last depth, above which a topic is not exhausted."""


@dataclass(frozen=True, eq=False)
class NewByDepth:
    """How many judged and how many relevant documents each depth adds: topics by depths, place 0 is depth 1."""

    topic_ids: tuple[str, ...]
    judged: Counts
    relevant: Counts
    pool_depth: Counts

    def not_exhausted(self, *, above: float = STILL_YIELDING) -> list[str]:
        """Give the topics that still yielded more than 0.1 new relevant documents per new judged one at the end."""
        has_pool = self.pool_depth > 0
        last = np.maximum(self.pool_depth, 1)[:, np.newaxis] - 1
        judged = np.take_along_axis(self.judged, last, axis=1)[:, 0]
        relevant = np.take_along_axis(self.relevant, last, axis=1)[:, 0]
        going_on = np.flatnonzero(has_pool & (judged > 0) & (relevant > above * judged))
        return [self.topic_ids[topic] for topic in going_on.tolist()]


@dataclass(frozen=True, slots=True)
class Decay:
    """The fitted curve n(p) = C p^s − 1 of new relevant documents at depth p, and its standard error in ln(n + 1)."""

    c: float
    s: float
    error: float
    depths: int

    def new_at(self, depth: ArrayLike, *, errors: float = 0.0) -> NDArray[np.float64]:
        """Give the new relevant documents at some depths, shifted by so many standard errors; never below 0."""
        curve = self.c * exp(errors * self.error) * np.asarray(depth, dtype=np.float64) ** self.s - 1
        return np.asarray(np.maximum(curve, 0.0))


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """How many relevant documents depths from the pool's own to `to_depth` would probably add.

    `low` and `high` are one standard error of the fit away. Where `refusal` says why nothing can be said, they are
    NaN. `found` is what the pool has found itself.
    """

    from_depth: int
    to_depth: int
    found: int
    expected: float
    low: float
    high: float
    decay: Decay | None
    refusal: str = ""


def new_by_depth(alignment: Alignment, provenance: Provenance, *, rel: int = 1) -> NewByDepth:
    """Count what each depth of the pool brought, over all contributing runs."""
    best = best_ranks(alignment, provenance)
    met = np.flatnonzero(provenance.judged & (best > 0))
    met = met[best[met] <= provenance.depth[provenance.topic_of_row[met]]]
    deepest = max(int(provenance.depth.max(initial=0)), 1)
    cells = provenance.topic_of_row[met].astype(np.int64) * deepest + best[met] - 1
    is_relevant = alignment.lists.levels[provenance.level_of_row[met]] >= rel
    shape = (provenance.topic_count, deepest)
    return NewByDepth(
        alignment.topic_ids,
        np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape),
        np.bincount(cells[is_relevant], minlength=shape[0] * shape[1]).reshape(shape),
        provenance.depth,
    )


def best_ranks(alignment: Alignment, provenance: Provenance) -> Counts:
    """Give for each row of the qrels the best rank within the pool depth that a contributor gives it; 0 for none."""
    topics = provenance.topic_count
    runs = np.flatnonzero(provenance.group_of_run >= 0)
    cells = (runs[:, np.newaxis] * topics + np.arange(topics)).ravel()
    places, taken = first_of_cells(alignment.lists, cells, np.tile(provenance.depth, len(runs)))
    rank = places - np.repeat(alignment.lists.offsets[cells], taken) + 1
    rows = provenance.qrels_row[places]
    best = np.full(len(provenance.owner) + 1, np.iinfo(np.int64).max)
    np.minimum.at(best, rows, rank)  # row -1 is the place after the last
    return np.where(best[:-1] == np.iinfo(np.int64).max, 0, best[:-1])


def fit_decay(new: ArrayLike) -> Decay:
    """Fit n(p) = C p^s − 1 to the new relevant documents at depths 1, 2 …: ln(n + 1) = ln C + s ln p, least squares.

    Source: Zobel, SIGIR 1998, section 5.
    """
    counts = np.asarray(new, dtype=np.float64)
    if len(counts) < 3:
        raise UsageError(f"a curve with an error needs at least 3 depths, not {len(counts)}")
    x, y = np.log(np.arange(1, len(counts) + 1)), np.log(counts + 1)
    spread = x - x.mean()
    s = float((spread * y).sum() / (spread * spread).sum())
    level = float(y.mean() - s * x.mean())
    residual = y - level - s * x
    return Decay(exp(level), s, float(np.sqrt((residual**2).sum() / (len(counts) - 2))), len(counts))


def extrapolated(new: ArrayLike, *, to_depth: int | None = None) -> Extrapolation:
    """Foresee what deeper pools would find; without `to_depth`, twice the depth. Refusals carry their reason.

    `new` has the relevant documents first met at depths 1, 2 … of the pool. The sum ends where the curve falls to 0.
    """
    counts = np.asarray(new, dtype=np.int64)
    depth = len(counts)
    goal = 2 * depth if to_depth is None else to_depth
    if goal <= depth:
        raise UsageError(f"the pool is {depth} deep already: extrapolate to a greater depth than that, not to {goal}")
    found = int(counts.sum())
    if depth < FEWEST_DEPTHS:
        many = counted(depth, "depth")
        return _refused(
            depth, goal, found, f"the pool has {many}, and a decay needs at least {FEWEST_DEPTHS} to be seen"
        )
    if not found:
        return _refused(depth, goal, found, "no contributor has a relevant document in its pooled part")
    decay = fit_decay(counts)
    if decay.s > -FLAT:
        reason = "no decay is seen: the last depths bring as many relevant documents as the first"
        return _refused(depth, goal, found, reason, decay)
    beyond = np.arange(depth + 1, goal + 1)
    expected, low, high = (float(decay.new_at(beyond, errors=errors).sum()) for errors in (0.0, -1.0, 1.0))
    return Extrapolation(depth, goal, found, expected, low, high, decay)


def extrapolated_pool(new: NewByDepth, *, to_depth: int | None = None) -> Extrapolation:
    """Foresee what deeper pools of all topics would find; refused where topics were pooled to different depths."""
    depths = np.unique(new.pool_depth[new.pool_depth > 0])
    if len(depths) == 1:
        return extrapolated(new.relevant.sum(axis=0), to_depth=to_depth)
    deepest = int(new.pool_depth.max(initial=0))
    reason = "topics were pooled to different depths, and have no common curve"
    return _refused(deepest, to_depth or 2 * deepest, int(new.relevant.sum()), reason)


def _refused(depth: int, goal: int, found: int, reason: str, decay: Decay | None = None) -> Extrapolation:
    nothing = float("nan")
    return Extrapolation(depth, goal, found, nothing, nothing, nothing, decay, reason)


def repooled(qrels: Qrels, provenance: Provenance) -> Qrels:
    """Give the qrels that a pool of this depth alone would have made: rows that a contributor brought."""
    kept = provenance.owner != NOBODY
    return sorted_qrels(
        _used(qrels.topic_ids, qrels.topic_of_row[kept]),
        _used(qrels.document_ids, qrels.documents[kept]),
        qrels.grades[kept],
        name=qrels.name,
    )


def _used(ids: pa.Array, codes: NDArray[np.int32]) -> tuple[pa.Array, NDArray[np.int32]]:
    used, coded = np.unique(codes, return_inverse=True)
    return ids.take(pa.array(used)), coded.astype(np.int32)
