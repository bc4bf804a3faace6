"""Where assessors disagree, as cases without names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cranfield.judge.events import Event

Thresholds = Mapping[int, int]
"""Version of the scale -> the lowest grade that counts as relevant."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A document of a topic that assessors graded differently, with the standing answer of each."""

    topic: str
    document: str
    opinions: tuple[Event, ...]


def disagreements(
    standing: Iterable[Event], *, relevant_from: Thresholds | None = None, across: bool = False
) -> list[Disagreement]:
    """Find the documents in dispute among standing events, sorted by topic and document.

    Any difference of grades counts, and with `across` only one between relevant and not relevant, each by its own
    scale. What is decided already is no dispute. A propagated grade is nobody's opinion, and answers to probes never
    stand.
    """
    by_pair: dict[tuple[str, str], list[Event]] = {}
    for event in standing:
        by_pair.setdefault((event.topic, event.document), []).append(event)
    disputed = ((pair, opinions_among(events)) for pair, events in by_pair.items() if not is_decided(events))
    return [
        Disagreement(topic, document, opinions)
        for (topic, document), opinions in sorted(disputed, key=lambda found: found[0])
        if differ(opinions, relevant_from=relevant_from, across=across)
    ]


def opinions_among(events: Sequence[Event]) -> tuple[Event, ...]:
    """Give the opinions in an order that tells nothing of who or when: by grade, then by note, then by UUID."""
    said = [event for event in events if event.grade is not None and event.kind not in ("adjudicated", "propagated")]
    return tuple(sorted(said, key=lambda event: (event.grade or 0, event.note, event.uuid)))


def is_decided(events: Iterable[Event]) -> bool:
    """Say whether somebody has decided."""
    return any(event.kind == "adjudicated" for event in events)


def differ(opinions: Iterable[Event], *, relevant_from: Thresholds | None = None, across: bool = False) -> bool:
    """Say whether opinions differ: in the grade or in what it says of relevance, or (`across`) in that alone.

    `relevant_from` gives for each version of the scale its lowest relevant grade; without it all is one scale.
    """
    lowest = relevant_from or {}
    said = {
        (event.grade >= lowest.get(event.scale, 1), None if across else event.grade)
        for event in opinions
        if event.grade is not None
    }
    return len(said) > 1
