"""What judgments say to a live pool: one label a document, in the order in which the pool learnt of it.

A document's label is that of the main layer: the latest grade, decisions before opinions, relevant from the grade
that the scale it was given on says. Where nobody could judge it, it was seen and has none. What was undone has never
been; a grade that was changed stands where the new one was given. So what is chosen next hangs on what counts now,
and what was chosen then on what counted then.

A pool learns of the documents that are in it alone. One that was judged elsewhere (for another pool, by searching)
says nothing until the plan chooses it; then its label is there at once, and costs nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cranfield.judge.events import MAIN, Event
from cranfield.judge.fold import fold
from cranfield.store import Store
from cranfield.store.events import events
from cranfield.store.pools_live import StandingAnswer, documents_touched, last_event, standing_answers, thresholds

if TYPE_CHECKING:
    from cranfield.pool.live import Judged

AT_FIRST = (0, 0)
"""When a document came that no choice brought: before anything was judged."""


@dataclass(frozen=True, slots=True)
class Label:
    """What counts about a document, and the earliest event that still stands about it."""

    relevant: bool | None
    event: int


@dataclass
class HandedOut:
    """The documents of a pool by topic, and when each came: (the last event known then, number of the choice)."""

    topics: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def add(self, topic: str, document: str, when: tuple[int, int] = AT_FIRST) -> None:
        """Take in one document."""
        self.topics.setdefault(topic, {})[document] = when

    def told(self, topic: str, labels: Mapping[str, Label]) -> "list[Judged]":
        """Give the labels of what is in the pool, in the order in which the pool learnt of them.

        A document that was judged when it came was learnt of then, after everything that was known.
        """
        from cranfield.pool.live import Judged

        learnt = []
        for document, (known, number) in self.topics.get(topic, {}).items():
            label = labels.get(document)
            if label is not None:
                place = (label.event, 0, 0) if label.event > known else (known, 1, number)
                learnt.append((place, label.event, Judged(topic, document, label.relevant)))
        return [judged for *_, judged in sorted(learnt, key=lambda one: one[:2])]


class LabelsNow:
    """The labels that count now; between one look and the next only what has happened since is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[str, tuple[int, str]] = {}
        self._labels: dict[str, dict[str, Label]] = {}

    def of(self, topic: str) -> Mapping[str, Label]:
        """Give the labels of a topic."""
        last = last_event(self._store)
        if self._seen.get(topic) != last:
            touched = documents_touched(self._store, topic, after=self._seen.get(topic, (0, "")))
            answers = labels_of(standing_answers(self._store, topic, touched), thresholds(self._store))
            before = {} if touched is None else self._labels[topic]
            gone = set() if touched is None else touched
            self._labels[topic] = {name: label for name, label in before.items() if name not in gone} | answers
            self._seen[topic] = last
        return self._labels[topic]


def labels_of(answers: Iterable[StandingAnswer], relevant_from: Mapping[int, int]) -> dict[str, Label]:
    """Give the labels that standing answers mean."""
    by_document: dict[str, list[StandingAnswer]] = {}
    for answer in answers:
        by_document.setdefault(answer.document, []).append(answer)
    return {document: _label(some, relevant_from) for document, some in by_document.items()}


def _label(answers: list[StandingAnswer], relevant_from: Mapping[int, int]) -> Label:
    first = answers[0].event if len(answers) == 1 else min(one.event for one in answers)
    graded = [
        (one.adjudicated, one.event, one.grade >= relevant_from[one.scale])
        for one in answers
        if one.grade is not None
    ]
    return Label(max(graded)[2] if graded else None, first)


def events_by_topic(store: Store) -> dict[str, list[Event]]:
    """Give what happened in the main layer, topic by topic; an undo belongs to the topic of what it undoes."""
    everything = list(events(store, layers=[MAIN]))
    by_uuid = {event.uuid: event for event in everything}
    by_topic: dict[str, list[Event]] = {}
    for event in everything:
        by_topic.setdefault(by_uuid.get(event.undoes, event).topic, []).append(event)
    return by_topic


class Chronicle:
    """Judgments as they stood at any moment, gone through from the first on."""

    def __init__(self, happened: Iterable[Event], relevant_from: Mapping[int, int]) -> None:
        self._relevant_from = relevant_from
        self._events = sorted(happened, key=lambda event: event.sequence)
        self._by_uuid = {event.uuid: event for event in self._events}
        self._seen = 0
        self._of_pair: dict[tuple[str, str], list[Event]] = {}
        self._answers: dict[str, dict[str, list[StandingAnswer]]] = {}

    def advance(self, sequence: int) -> set[str]:
        """Go on to an event, and give the topics that were touched since."""
        touched: set[tuple[str, str]] = set()
        while self._seen < len(self._events) and self._events[self._seen].sequence <= sequence:
            event = self._events[self._seen]
            about = self._by_uuid.get(event.undoes, event)
            pair = (about.topic, about.document)
            self._of_pair.setdefault(pair, []).append(event)
            touched.add(pair)
            self._seen += 1
        for topic, document in touched:
            self._answers.setdefault(topic, {})[document] = _standing(self._of_pair[topic, document], document)
        return {topic for topic, _ in touched}

    def labels(self, topic: str) -> dict[str, Label]:
        """Give the labels of a topic that counted then."""
        by_document = self._answers.get(topic, {})
        return labels_of((answer for some in by_document.values() for answer in some), self._relevant_from)


def _standing(of_pair: list[Event], document: str) -> list[StandingAnswer]:
    return [
        StandingAnswer(document, key.adjudicated, event.grade, event.scale, event.sequence)
        for key, event in fold(of_pair).items()
        if key.layer == MAIN and (event.grade is not None or event.kind == "cannot-judge")
    ]
