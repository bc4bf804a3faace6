"""The first ranks of every list, as deep as is asked for: most of what is known about holes stands there."""

from dataclasses import dataclass, replace

import numpy as np

from cranfield.evaluate.lists import Counts, Found, Lists


@dataclass(frozen=True, eq=False)
class Prefix:
    """All lists cut at a depth of their topic, and for each row left its place among the rows of the whole lists."""

    lists: Lists
    places: Counts

    def places_of(self, found: Found) -> Counts:
        """Give the places in the whole lists of some documents of the cut ones."""
        places: Counts = self.places[self.lists.offsets[found.cell] + found.rank - 1]
        return places


def prefix_of(lists: Lists, depth: Counts) -> Prefix:
    """Cut all lists; `depth` is one number per topic. Only the rows that stay are looked at."""
    taken = np.minimum(lists.length, depth[lists.topics])
    offsets = np.concatenate([[0], np.cumsum(taken)])
    places = np.repeat(lists.offsets[:-1] - offsets[:-1], taken) + np.arange(int(offsets[-1]))
    cut = replace(lists, grades=lists.grades[places], offsets=offsets, stratified=None, _relevant={})
    return Prefix(cut, places)
