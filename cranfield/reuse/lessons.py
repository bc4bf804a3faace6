"""What the contributors of one field teach about holes, found once and asked for measure by measure."""

from functools import cached_property

import numpy as np

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Lists
from cranfield.reuse.held_out import NONE_HELD_OUT, lists_without
from cranfield.reuse.kappa import Kappa, learned
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.tally import Tally, groups_of_rows, tally_of


class Lessons:
    """Tallies and kappas by the depth that matters, and the lists of all runs without their own groups.

    Measures share them: those with one cutoff the tally, and all of them the rest.
    """

    def __init__(self, alignment: Alignment, provenance: Provenance) -> None:
        self.alignment = alignment
        self.provenance = provenance
        self._tallies: dict[bytes, Tally] = {}
        self._kappas: dict[bytes, Kappa] = {}

    def tally(self, depth: Counts) -> Tally:
        """Give the tally down to `depth`, one number per topic."""
        key = depth.tobytes()
        if key not in self._tallies:
            self._tallies[key] = tally_of(self.alignment, depth, self.provenance, groups_of_row=self._groups_of_row)
        return self._tallies[key]

    def kappa(self, depth: Counts) -> Kappa:
        """Give what all contributors teach about holes down to `depth`."""
        key = depth.tobytes()
        if key not in self._kappas:
            self._kappas[key] = learned(self.tally(depth))
        return self._kappas[key]

    @cached_property
    def without(self) -> Lists:
        """The lists of contributors as they would be judged without their own groups; those of others as they are."""
        group = self.provenance.group_of_run
        held_out = np.where(group >= 0, group, np.int32(NONE_HELD_OUT))
        cells = np.repeat(held_out, len(self.alignment.topic_ids)).astype(np.int32)
        return lists_without(self.alignment.lists, self.provenance, cells)

    @cached_property
    def _groups_of_row(self) -> Counts | None:
        return groups_of_rows(self.alignment, self.provenance) if self.provenance.method == "deletion" else None
