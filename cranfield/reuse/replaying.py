"""Groups held out of pools that were made by looking at judgments: the plan is played again without the group.

Deleting what a group alone brought is not what would have happened: the effort would have gone elsewhere. So whoever
has the plan plays it without each group (`pool.replay`), and tells here what it would have chosen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.qrels.qrels import Qrels
from cranfield.reuse.pooled_rows import Counts, Numbers, rows_of_pairs
from cranfield.reuse.provenance import NOBODY, Method, Provenance


@dataclass(frozen=True, eq=False)
class Replayed(Provenance):
    """The provenance of a pool whose plan was played again: `removed` says, groups by rows, what is then not judged.

    Rows that nobody at hand brought stay judged, as they do in a deletion.
    """

    removed: NDArray[np.bool_] = None  # type: ignore[assignment]  # fields before it have defaults

    @property
    def method(self) -> Method:
        """How a group is held out."""
        return "replay"

    @cached_property
    def removed_rows(self) -> tuple[Counts, ...]:
        """The rows of the qrels that the plan would not have chosen without each group."""
        return tuple(np.flatnonzero(rows) for rows in self.removed)

    @cached_property
    def removed_places(self) -> tuple[Counts, ...]:
        """The places in the lists where such documents stand."""
        padded = np.concatenate([self.removed, np.zeros((len(self.groups), 1), dtype=bool)], axis=1)
        return tuple(np.flatnonzero(rows[self.qrels_row]) for rows in padded)

    def removed_at_rank(self, group_at_rank: Numbers) -> NDArray[np.bool_]:
        """Say at which ranks a document stands that would not be judged without the group beside it."""
        gone = np.zeros(len(self.qrels_row), dtype=bool)
        some = np.flatnonzero((self.qrels_row >= 0) & (group_at_rank >= 0))
        gone[some] = self.removed[group_at_rank[some], self.qrels_row[some]]
        return gone


def replayed(provenance: Provenance, qrels: Qrels, chosen: Mapping[str, Iterable[tuple[str, str]]]) -> Replayed:
    """Give the same provenance with groups held out by replay; `chosen` are (topic, document) without each group."""
    missing = [group for group in provenance.groups if group not in chosen]
    if missing:
        raise UsageError(f"the plan was not played without {missing[0]!r}")
    removed = np.tile(provenance.owner != NOBODY, (len(provenance.groups), 1))
    for number, group in enumerate(provenance.groups):
        pairs = list(chosen[group])
        rows = rows_of_pairs(qrels, [topic for topic, _ in pairs], [document for _, document in pairs])
        removed[number, rows[rows >= 0]] = False
    kept = {one.name: getattr(provenance, one.name) for one in fields(Provenance)}
    return Replayed(**kept, removed=removed)
