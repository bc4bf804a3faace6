"""What was last made, kept, for whoever asks about the same runs more than once."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from cranfield.store import Store
from cranfield.store.runs import run_facts

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment, AnyRun
    from cranfield.qrels.qrels import Qrels

Aligned = tuple["list[AnyRun]", "Alignment"]
Made = TypeVar("Made")


@dataclass
class Kept(Generic[Made]):
    """The last thing that was made of stored runs, or of runs at hand, in memory, as long as this object lives.

    It is found again by contents: the hash of the qrels and of each run, and whatever else made it what it is. So it
    can never be stale, and a file that is only read is never written. Only the last one is kept: it is the large one.
    """

    _key: Hashable = None
    _kept: list[Made] = field(default_factory=list)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Give what is kept under this key, else make it and keep it."""
        if not self._kept or key != self._key:
            self._kept, self._key = [make()], key
        return self._kept[0]

    def known(self, key: Hashable) -> Made | None:
        """Give what is kept under this key; None where it is not there."""
        return self._kept[0] if self._kept and key is not None and key == self._key else None


class KeptAlignment(Kept[Aligned]):
    """The last alignment."""


def contents_of(words: "Sequence[str | AnyRun]", store: Store | None) -> Hashable:
    """Give what runs say: stored ones by their hashes, those at hand as they are.

    None where one of the words is no stored run, or a file as well: what a file says is known only when it is read.
    """
    facts = [] if store is None else run_facts(store)
    known = {one.name: (one.name, one.content_hash, one.ordered_by) for one in facts}
    if any(word not in known or Path(word).exists() for word in words if isinstance(word, str)):
        return None
    return tuple(known[word] if isinstance(word, str) else _ThisOne(word) for word in words)


@dataclass(frozen=True, eq=False)
class _ThisOne:
    """A run at hand, equal to itself alone; it is held, so that no other can take its place in memory."""

    run: "AnyRun"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ThisOne) and other.run is self.run

    def __hash__(self) -> int:
        return id(self.run)


def what_qrels_say(qrels: "Qrels") -> Hashable:
    """Give the hash of qrels, and their strata, which are no part of it."""
    strata = None if qrels.strata is None else qrels.strata.tobytes()
    return qrels.content_hash, strata, qrels.stratum_names
