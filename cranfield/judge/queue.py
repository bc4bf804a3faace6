"""What an assessor is given next: which documents of a topic are his, which are open, and in which order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from cranfield.errors import UnknownName
from cranfield.judge.assignment import Role
from cranfield.judge.draws import draw
from cranfield.judge.events import Purpose

State = Literal["not his", "done", "postponed", "open"]
"""How a document stands for one assessor. Who has it before him at the moment is another question."""

OrderName = Literal["plan", "id", "random", "cluster"]
ORDERS: tuple[OrderName, ...] = get_args(OrderName)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in the queue of a topic. `place` is where its list has it; `needed` how many are to judge it."""

    document: str
    place: int
    purpose: Purpose = "pool"
    needed: int = 1


@dataclass(frozen=True, slots=True)
class Answers:
    """What stands about one document in one layer, seen from one assessor.

    `own` is the kind of his own standing answer (empty: none) and `own_event` its number; `graded` are the others who
    gave a grade; `refused` says that another could not judge it; `decided` that an adjudicator has decided.
    """

    own: str = ""
    own_event: int = 0
    own_versions: tuple[int, int] = (0, 0)
    graded: frozenset[str] = frozenset()
    refused: bool = False
    decided: bool = False


NOTHING = Answers()


def state_of(entry: Entry, answers: Answers, role: Role) -> State:
    """Say how a document stands for an assessor.

    A second assessor gets what is planned for more than one, and what another could not judge. A document is done
    when he has answered, when as many others as needed have, or when an adjudicator has decided.
    """
    if answers.own and answers.own != "postponed":
        return "done"
    if role == "second" and entry.needed < 2 and not answers.refused:
        return "not his"
    if answers.decided or len(answers.graded) >= entry.needed:
        return "done"
    return "postponed" if answers.own else "open"


def state_again(answers: Answers, versions: tuple[int, int]) -> State:
    """Say how a document stands that he has judged, and may have to judge again under a newer scale or guidelines."""
    if answers.own in ("", "postponed", "cannot-judge"):
        return "not his"
    return "done" if answers.own_versions == versions else "open"


@dataclass(frozen=True, slots=True)
class Count:
    """How many documents of a topic are the assessor's, how many are done, and how many put off."""

    done: int = 0
    of: int = 0
    postponed: int = 0

    @property
    def left(self) -> int:
        """How many are neither done nor another's."""
        return self.of - self.done

    def after(self, before: State, now: State) -> "Count":
        """Give the count after one document went from one state to another."""
        done = self.done + (now == "done") - (before == "done")
        of = self.of - (now == "not his") + (before == "not his")
        return Count(done, of, self.postponed + (now == "postponed") - (before == "postponed"))


def count_of(states: Iterable[State]) -> Count:
    """Count documents by how they stand."""
    listed = list(states)
    return Count(listed.count("done"), len(listed) - listed.count("not his"), listed.count("postponed"))


def may_lease(entry: Entry, answers: Answers, holders: Iterable[str]) -> bool:
    """Say whether one more may have the document before him, while the `holders` have it.

    Together with those who have given a grade they must be fewer than are needed. What one judges again is his own
    answer, whatever others said.
    """
    return entry.purpose == "rejudge" or len(answers.graded | set(holders)) < max(entry.needed, 1)


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which the documents of a topic are shown. `pooled` is how the pool had been ordered before."""

    name: OrderName = "plan"
    seed: int = 0
    pooled: str = ""

    def __str__(self) -> str:
        shown = f"random:{self.seed}" if self.name == "random" else self.name
        return f"{shown} of {self.pooled}" if self.pooled and self.name in ("plan", "cluster") else shown


def order_named(name: str, *, seed: int = 0) -> Order:
    """Give the order of this name."""
    for known in ORDERS:
        if name == known:
            return Order(known, seed)
    raise UnknownName("judging order", name, ORDERS)


def ordered(
    entries: Sequence[Entry], order: Order, topic: str, *, clusters: Mapping[str, int] | None = None
) -> list[Entry]:
    """Put the documents of a topic in order.

    plan: as the pool has them. id: by the bytes of their ids. random: by a draw from seed, topic and id. cluster: as
    the pool has them, but near-duplicates right after the first of their cluster.
    """
    if order.name == "id":
        return sorted(entries, key=lambda entry: entry.document.encode())
    if order.name == "random":
        return sorted(entries, key=lambda entry: draw(order.seed, "judging order", topic, entry.document))
    if order.name == "cluster":
        return _by_cluster(entries, clusters or {})
    return sorted(entries, key=lambda entry: entry.place)


def _by_cluster(entries: Sequence[Entry], clusters: Mapping[str, int]) -> list[Entry]:
    first: dict[int, int] = {}
    for entry in entries:
        cluster = clusters.get(entry.document)
        if cluster is not None:
            first[cluster] = min(first.get(cluster, entry.place), entry.place)

    def key(entry: Entry) -> tuple[int, int]:
        cluster = clusters.get(entry.document)
        return (entry.place if cluster is None else first[cluster], entry.place)

    return sorted(entries, key=key)
