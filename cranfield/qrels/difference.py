"""What changed from one set of qrels to another."""

from collections import Counter
from dataclasses import dataclass, field

from cranfield.qrels.qrels import Qrels


@dataclass(frozen=True, slots=True)
class Change:
    """One document of one topic whose grade differs; None where one side does not have it."""

    topic: str
    document: str
    before: int | None
    after: int | None

    @property
    def what(self) -> str:
        """Added, removed or changed."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """How many documents of a topic were added, removed and changed, and how many stayed."""

    topic: str
    added: int
    removed: int
    changed: int
    same: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Two sets of qrels compared. `moves` counts all pairs by their two grades; None is: not there."""

    changes: tuple[Change, ...]
    topics: tuple[TopicDifference, ...]
    moves: "Counter[tuple[int | None, int | None]]" = field(default_factory=Counter)

    def count(self, what: str) -> int:
        """Give how many documents were added, removed or changed."""
        return sum(change.what == what for change in self.changes)


def difference(before: Qrels, after: Qrels) -> Difference:
    """Compare two sets of qrels, pair by pair; a document that was pooled but not judged has the grade -1."""
    old = {(topic, document): grade for topic, document, grade in before}
    new = {(topic, document): grade for topic, document, grade in after}
    moves: Counter[tuple[int | None, int | None]] = Counter()
    by_topic: dict[str, Counter[str]] = {}
    changes = []
    for pair in sorted(old.keys() | new.keys(), key=lambda pair: (pair[0].encode(), pair[1].encode())):
        change = Change(*pair, old.get(pair), new.get(pair))
        same = change.before == change.after
        moves[change.before, change.after] += 1
        by_topic.setdefault(pair[0], Counter())["same" if same else change.what] += 1
        changes += [] if same else [change]
    names = ("added", "removed", "changed", "same")
    topics = [TopicDifference(topic, *(counts[name] for name in names)) for topic, counts in by_topic.items()]
    return Difference(tuple(changes), tuple(topics), moves)
