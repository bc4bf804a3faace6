"""Look at a pool: how large it is, who brought what, and why one document is in it."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.errors import InputError, quoted
from cranfield.store import Store
from cranfield.store.pools import PoolFacts, contributions, facts_of_pool, pool_facts, pool_sizes, stands_for, story

if TYPE_CHECKING:
    from cranfield.pool.pool import Entry

__all__ = ["explain_entry", "pool_facts", "show_pool"]

MOST_OF_IT = 0.5
"""From this share of the documents that only one group has, a warning is given: the pool leans on that group."""


@dataclass(frozen=True, slots=True)
class ShownPool:
    """A pool in numbers."""

    facts: PoolFacts
    sizes: tuple[tuple[str, int], ...]
    runs: tuple[tuple[str, str, int, int], ...]

    @property
    def entries(self) -> int:
        """How many documents are to be judged."""
        return sum(size for _, size in self.sizes)

    @property
    def leaning(self) -> str:
        """The group that supplies most of what only one group has, or nothing."""
        unique = Counter[str]()
        for _, group, _, alone in self.runs:
            unique[group] = max(unique[group], alone)
        group, most = max(unique.items(), key=lambda pair: pair[1], default=("", 0))
        return group if len(unique) > 2 and most > MOST_OF_IT * sum(unique.values()) else ""


def show_pool(store: Store, name: str = "") -> ShownPool:
    """Give the pool of this name, or the latest, in numbers."""
    facts = facts_of_pool(store, name)
    return ShownPool(facts, tuple(pool_sizes(store, facts.name)), tuple(contributions(store, facts.name)))


def explain_entry(store: Store, topic: str, document: str, *, name: str = "") -> "tuple[PoolFacts, Entry]":
    """Give the story of one document of one topic, or say why it has none."""
    facts = facts_of_pool(store, name)
    entry = story(store, facts.name, topic, document)
    if entry is not None:
        return facts, entry
    other = stands_for(store, facts.name, topic, document)
    if other is not None:
        raise InputError(f"{quoted(document)} stays out of topic {quoted(topic)}: {quoted(other)} stands for it")
    raise InputError(f"{quoted(document)} is not in the pool {quoted(facts.name)} of topic {quoted(topic)}")
