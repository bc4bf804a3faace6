"""Consistency probes: now and then an assessor sees one of his earlier documents again, without being told."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from cranfield.errors import UsageError
from cranfield.judge.draws import draw


@dataclass(frozen=True, slots=True)
class Probes:
    """How often an earlier document comes back: after a share of the answers, and `after` so many others at least."""

    share: float = 0.0
    after: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 0.5:
            raise UsageError(f"probes for {self.share:.0%} of the answers are not possible; 0% to 50% are")
        if self.after < 1:
            raise UsageError(f"a document can come back after 1 other at the earliest, not after {self.after}")


def falls_due(probes: Probes, assessor: str, topic: str, document: str) -> bool:
    """Say whether the answer to a document makes a probe due; a draw, so that it cannot be foreseen."""
    return bool(probes.share) and draw(probes.seed, f"probe of {assessor}", topic, document) < probes.share


def probes_to_come(probes: Probes, due: Iterable[bool], *, owed: int, judged: int, probed: int) -> int:
    """Say how many probes an assessor will still see in a topic, so that what is left can be told without a sign.

    `due` says for each document that is left, in order, whether its answer makes a probe due; `owed` are due already;
    `judged` and `probed` count what he has judged in the topic, and what of it came back.
    """
    coming = 0
    for makes_due in (False, *due):
        owed += makes_due
        can_come = max(judged - probes.after, 0) - probed - coming
        shown = max(min(owed, can_come), 0)
        owed, coming, judged = owed - shown, coming + shown, judged + 1
    return coming


def choose_probe(probes: Probes, topic: str, judged: Sequence[str], *, probed: Collection[str] = ()) -> str | None:
    """Choose what comes back from the documents of a topic that the assessor judged, earliest first, or nothing.

    The last `after` of them are too fresh in memory, and no document comes back twice. Of the others a draw decides.
    """
    known = [document for document in judged[: -probes.after] if document not in probed]
    return min(known, key=lambda document: draw(probes.seed, "probe", topic, document), default=None)
