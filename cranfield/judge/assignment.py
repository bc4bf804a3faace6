"""Who judges which topic, and which documents are judged by more than one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cranfield.errors import UsageError
from cranfield.judge.draws import draw

Role = Literal["primary", "share", "second", "anyone"]
"""What an assessor is to a topic.

primary: all its documents are his, and where assessors differ his grade comes first. share: he helps with all of
them. second: he judges those that are planned for more than one, and those that another could not judge. anyone:
nobody was named for the topic, so everybody may judge it.
"""

_RANKS: Mapping[Role, int] = {"primary": 0, "share": 1, "second": 2, "anyone": 3}


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many documents more than one assessor judges: a share of them, each by so many."""

    share: float = 0.0
    by: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UsageError(f"an overlap of {self.share:.0%} is not possible; it lies between 0% and 100%")
        if self.by < 2:
            raise UsageError(f"an overlap needs at least two assessors for a document, not {self.by}")

    def needed(self, topic: str, document: str) -> int:
        """Give how many assessors are to judge a document.

        It depends on seed, topic and document alone: a pool that grows keeps what was planned before.
        """
        return self.by if self.share and draw(self.seed, "overlap", topic, document) < self.share else 1


@dataclass(frozen=True, slots=True, order=True)
class Assigned:
    """One assessor and one topic."""

    topic: str
    assessor: str
    role: Role


def equal_shares(sizes: Mapping[str, int], assessors: Sequence[str], *, seconds: int = 0) -> list[Assigned]:
    """Give every topic to one of the assessors, so that all have about as many documents.

    The largest topic first, always to whoever has least (Graham's rule); ties go by the order of names and topics.
    Each topic gets `seconds` second assessors as well: those who follow in the circle of names, a step further each
    time round, so that everybody is compared with everybody.
    """
    check_names(assessors, seconds=seconds)
    load = dict.fromkeys(assessors, 0)
    topics_of = dict.fromkeys(assessors, 0)
    made = []
    for topic in sorted(sizes, key=lambda name: -sizes[name]):
        chosen = min(assessors, key=lambda name: (load[name], topics_of[name]))
        made.append(Assigned(topic, chosen, "primary"))
        made += _seconds(topic, chosen, assessors, seconds, turn=topics_of[chosen])
        load[chosen] += sizes[topic]
        topics_of[chosen] += 1
    return sorted(made)


def together(topics: Sequence[str], assessors: Sequence[str]) -> list[Assigned]:
    """Give the topics to all of the assessors: the first is primary, the others share the work."""
    check_names(assessors)
    first, *others = assessors
    made = [Assigned(topic, first, "primary") for topic in topics]
    return sorted([*made, *(Assigned(topic, name, "share") for topic in topics for name in others)])


def _seconds(topic: str, primary: str, assessors: Sequence[str], count: int, *, turn: int) -> list[Assigned]:
    place = assessors.index(primary)
    circle = [*assessors[place + 1 :], *assessors[:place]]
    start = turn * count % len(circle) if circle else 0
    return [Assigned(topic, name, "second") for name in [*circle[start:], *circle[:start]][:count]]


def check_names(assessors: Sequence[str], *, seconds: int = 0) -> None:
    """Refuse no names, a name given twice, and more second assessors than there are others."""
    twice = sorted({name for name in assessors if assessors.count(name) > 1})
    if not assessors:
        raise UsageError("no assessor is named")
    if twice:
        raise UsageError(f"named twice: {', '.join(twice)}")
    if seconds >= len(assessors):
        raise UsageError(
            f"each document of the overlap is to be judged by {seconds + 1}, but only {len(assessors)} are named"
        )


def topics_in_turn(topics: Sequence[str], roles: Mapping[str, Role], busy: Mapping[str, int]) -> list[str]:
    """Put the topics an assessor may judge in the order he goes through them.

    His own first, then those he shares, then those he is second for, then those that are everybody's; of the last,
    those that fewest others are judging now (`busy`), so that one topic stays with one assessor where it can.
    """

    def key(topic: str) -> tuple[int, int]:
        role = roles[topic]
        return _RANKS[role], busy.get(topic, 0) if role == "anyone" else 0

    return sorted((topic for topic in topics if topic in roles), key=key)


def roles_of(topics: Sequence[str], assigned: Sequence[Assigned], assessor: str) -> dict[str, Role]:
    """Give topic -> role for the topics an assessor may judge; where nobody was named, everybody may."""
    own = {one.topic: one.role for one in assigned if one.assessor == assessor}
    taken = {one.topic for one in assigned}
    return {topic: own.get(topic, "anyone") for topic in topics if topic in own or topic not in taken}
