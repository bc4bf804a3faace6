"""An alignment kept, for whoever scores the same stored runs more than once."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.store import Store
from cranfield.store.runs import run_facts

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment, AnyRun
    from cranfield.qrels.qrels import Qrels

Aligned = tuple["list[AnyRun]", "Alignment"]


@dataclass
class KeptAlignment:
    """The last alignment of stored runs, in memory, as long as this object lives.

    It is found again by contents: the hash of the qrels and of each run, and whatever else made it what it is. So it
    can never be stale, and a file that is only read is never written. Only the last one is kept: it is the large one.
    """

    _key: Hashable = None
    _kept: list[Aligned] = field(default_factory=list)

    def get(self, key: Hashable, make: Callable[[], Aligned]) -> Aligned:
        """Give what is kept under this key, else make it and keep it."""
        if not self._kept or key != self._key:
            self._kept, self._key = [make()], key
        return self._kept[0]


def contents_of(words: Sequence[str], store: Store | None) -> Hashable:
    """Give what stored runs say, by hashes; None where one of the words is no stored run, or a file as well."""
    if store is None:
        return None
    known = {facts.name: (facts.name, facts.content_hash, facts.ordered_by) for facts in run_facts(store)}
    if any(word not in known or Path(word).exists() for word in words):
        return None
    return tuple(known[word] for word in words)


def what_qrels_say(qrels: "Qrels") -> Hashable:
    """Give the hash of qrels, and their strata, which are no part of it."""
    strata = None if qrels.strata is None else qrels.strata.tobytes()
    return qrels.content_hash, strata, qrels.stratum_names
