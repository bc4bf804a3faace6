"""Where a run stands on documents that nobody judged, down to the depth that matters to a measure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts, Lists, Values, ratio
from cranfield.evaluate.measures.user_models import powers
from cranfield.reuse.prefix import prefix_of
from cranfield.reuse.provenance import Provenance

TAIL = 0.01
"""The weight that RBP may have left below the depth that matters to it."""


@dataclass(frozen=True, eq=False)
class Holes:
    """What is judged of each run down to the depth that matters to a measure, as runs by topics.

    `depth` is that depth, k, for each topic. `judged` is judged@k, over k or the length of a shorter list; NaN where
    the run has no document. `count` are the holes within k, `length` that of the lists, `first` the rank of the first
    unjudged document wherever it stands (one past the end where there is none), `short` the lists that end before k.
    `scored` tells the topics that count for a run. `contributed` says in which topics the first k were pooled: the
    run fed the pool at least down to k or the end of its list.
    """

    measure: Measure
    topic_ids: tuple[str, ...]
    depth: Counts
    judged: Values
    count: Counts
    length: Counts
    first: Counts
    short: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    contributed: NDArray[np.bool_]

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """The topics of each run that have a list to speak of."""
        return self.scored & ~np.isnan(self.judged)

    @property
    def any(self) -> bool:
        """Whether a run has a hole within k."""
        return bool(self.count[self.counted].any())

    def mean(self, run: int) -> float:
        """Give the mean of judged@k; 1 for a run without any document, which has no hole."""
        shares = self.judged[run][self.counted[run]]
        return float(shares.mean()) if len(shares) else 1.0

    def low(self, run: int, *, below: float) -> int:
        """Count the topics of which a smaller share is judged."""
        return int((self.judged[run][self.counted[run]] < below).sum())

    def topics(self, run: int) -> int:
        """Count the topics with a list."""
        return int(self.counted[run].sum())

    def total(self, run: int) -> int:
        """Count the holes within k."""
        return int(self.count[run][self.counted[run]].sum())

    def shorter(self, run: int) -> int:
        """Count the lists that end before k."""
        return int((self.short[run] & self.counted[run]).sum())

    def worst(self, run: int, most: int = 5) -> list[tuple[str, float]]:
        """Give the topics with the smallest judged@k below 1, worst first, in the order of topics where equal."""
        shares = np.where(self.counted[run], self.judged[run], np.inf)
        order = np.argsort(shares, kind="stable")[:most]
        return [(self.topic_ids[place], float(shares[place])) for place in order.tolist() if shares[place] < 1]

    def first_hole(self, run: int) -> int | None:
        """Give the highest rank at which the run has an unjudged document in any topic; None where it has none."""
        here = self.counted[run] & (self.first[run] <= self.length[run])
        return int(self.first[run][here].min()) if here.any() else None

    def pooled(self, run: int) -> bool:
        """Say whether the run's first k were pooled on all topics, and so are judged."""
        fed = self.contributed[run]
        return bool(fed.any() and fed[self.counted[run]].all()) and self.total(run) == 0


def depths_that_matter(measure: Measure, pool_depth: Counts) -> Counts:
    """Give for each topic the depth k down to which a hole matters to a measure.

    The cutoff; the pool depth for measures of the whole list (AP, R-precision, bpref, nDCG without a cutoff), since
    below it nearly nothing is judged of anybody; for RBP the rank below which less than 1 % of its weight lies.
    """
    if isinstance(measure.cutoff, int):
        return np.full(len(pool_depth), measure.cutoff, dtype=np.int64)
    if depth_is_of_pool(measure):
        return np.asarray(pool_depth, dtype=np.int64)
    return np.full(len(pool_depth), ceil(round(log(TAIL) / log(_persistence(measure)), 9)), dtype=np.int64)


def depth_is_of_pool(measure: Measure) -> bool:
    """Say whether the depth that matters to a measure is that of the pool, since it has none of its own."""
    return not isinstance(measure.cutoff, int) and measure.name != "RBP"


def holes_of(
    alignment: Alignment, measure: Measure, *, pool_depth: Counts, provenance: Provenance | None = None
) -> Holes:
    """Find the holes of all runs. `pool_depth` is one number per topic; without provenance nobody contributed."""
    lists, shape = alignment.lists, alignment.shape
    depth = depths_that_matter(measure, pool_depth)
    reach = np.minimum(lists.length, depth[lists.topics])
    count = reach - _judged_until(lists, depth, reach)
    judged = _weighed(lists, measure) if measure.name == "RBP" else 1.0 - ratio(count, reach)
    judged = np.where(lists.length > 0, judged, np.nan)
    contributed = np.zeros(shape, dtype=bool)
    if provenance is not None:
        fed = np.minimum(lists.length, provenance.depth[lists.topics]).reshape(shape) >= reach.reshape(shape)
        contributed = (provenance.group_of_run >= 0)[:, np.newaxis] & fed & (reach.reshape(shape) > 0)
    return Holes(
        measure=measure,
        topic_ids=alignment.topic_ids,
        depth=depth,
        judged=judged.reshape(shape),
        count=count.reshape(shape),
        length=lists.length.reshape(shape),
        first=lists.first_unjudged.reshape(shape),
        short=(lists.length < depth[lists.topics]).reshape(shape),
        scored=alignment.scored,
        contributed=contributed,
    )


def _judged_until(lists: Lists, depth: Counts, reach: Counts) -> Counts:
    """Give how many of the first documents of each list are judged; deep below them nothing is looked at."""
    if 2 * int(reach.sum()) < len(lists.grades):
        return prefix_of(lists, depth).lists.judged_so_far.within(None)
    return lists.judged_so_far.until(reach)


def judged_of_pool(lists: Lists) -> float:
    """Give the share of the pool that was judged: rows of the qrels with a negative grade are pooled and waiting."""
    if lists.pooled_count is None or not lists.pooled_count.sum():
        return 1.0
    return float(lists.level_counts.sum() / lists.pooled_count.sum())


def misfits(alignment: Alignment, provenance: Provenance) -> list[tuple[str, float]]:
    """Give the contributors with pooled documents that the qrels lack, and the share that they have, worst first.

    A pool depth that does not fit the qrels, or a run that did not feed the pool, shows here.
    """
    shares = fitting_shares(alignment, provenance)
    found = [(alignment.run_names[run], float(shares[run])) for run in np.flatnonzero(shares < 1).tolist()]
    return sorted(found, key=lambda one: (one[1], one[0]))


def fitting_shares(alignment: Alignment, provenance: Provenance) -> Values:
    """Give for each run the share of its pooled prefix that is in the qrels; NaN for outsiders."""
    lists = alignment.lists
    prefix = prefix_of(lists, provenance.depth).lists
    taken, known = prefix.length, prefix.pooled.count
    by_run = ratio(known.reshape(alignment.shape).sum(axis=1), taken.reshape(alignment.shape).sum(axis=1))
    return np.where(provenance.group_of_run >= 0, by_run, np.nan)


def _weighed(lists: Lists, measure: Measure) -> Values:
    """Give the share of RBP's weight that stands on judged documents: 1 - residual where there is no cutoff."""
    persistence = _persistence(measure)
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
    judged = lists.judged.within(cutoff)
    known = (1.0 - persistence) * judged.total(powers(persistence, judged.rank))
    whole = 1.0 if cutoff is None else 1.0 - persistence ** np.minimum(lists.length, cutoff)
    return np.minimum(ratio(known, whole), 1.0)


def _persistence(measure: Measure) -> float:
    default = measure.kind.parameters["p"].default
    return float(dict(measure.settings).get("p", default))  # type: ignore[arg-type]


def common_depth_of(pool_depth: Sequence[int] | Counts) -> str:
    """Give the pool depth in words: one number, or from the lowest to the highest."""
    low, high = int(np.min(pool_depth)), int(np.max(pool_depth))
    return str(low) if low == high else f"{low} to {high}"
