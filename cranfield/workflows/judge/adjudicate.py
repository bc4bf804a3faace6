"""Decide between assessors: the bench over a collection file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from cranfield.base.errors import CollectionError, InputError, quoted
from cranfield.base.progress import now
from cranfield.judge.events import MAIN, Disagreement, Event, differ, disagreements, is_decided, opinions_among
from cranfield.judge.session import Case, Opinion
from cranfield.store.documents import document, topics
from cranfield.store.events import append_events, disputed_pairs, standing_of
from cranfield.store.live_pools import thresholds
from cranfield.store.scales import current_guidelines, current_scale, other_scales
from cranfield.store.store import Store

Pair = tuple[str, str]


def open_cases(
    store: Store, *, layer: str = MAIN, across: bool = False, only: Sequence[str] = ()
) -> list[Disagreement]:
    """Give the disagreements that nobody has decided; `across`: only those between relevant and not relevant."""
    wanted = [pair for pair in disputed_pairs(store, layer) if not only or pair[0] in only]
    standing = [event for pair in wanted for event in standing_of(store, layer, *pair)]
    return disagreements(standing, relevant_from=thresholds(store), across=across)


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision of this sitting, for the way back."""

    case: Case
    event: Event


class StoredBench:
    """The seat of one adjudicator before one collection.

    The cases are those of the start, each looked at again before it is shown: one that has been decided meanwhile, or
    is no longer disputed, is passed over. `across` limits them to disputes between relevant and not relevant.
    """

    def __init__(
        self, store: Store, adjudicator: str, *, layer: str = MAIN, across: bool = False, only: Sequence[str] = ()
    ) -> None:
        if not adjudicator.strip():
            raise InputError("an adjudicator needs a name")
        self._store, self._adjudicator, self._layer = store, adjudicator.strip(), layer
        self._scale_version, self.scale = current_scale(store)
        self._guidelines_version, self.guidelines = current_guidelines(store)
        self._other_scales = other_scales(store)[0]
        self._relevant_from, self._across = thresholds(store), across
        self._topics = {topic.id: topic for topic in topics(store)}
        self._session = str(uuid4())
        cases = open_cases(store, layer=layer, across=across, only=only)
        self._open: list[Pair] = [(case.topic, case.document) for case in cases]
        self._of, self._decisions = len(self._open), list[Decided]()

    def __len__(self) -> int:
        """How many cases are open."""
        return len(self._open)

    def next_case(self) -> Case | None:
        """Give the next disagreement that is neither decided nor put off; None: all done."""
        while self._open:
            opinions = self._opinions(self._open[0])
            if opinions:
                return self._case(self._open[0], opinions)
            self._open.pop(0)
        return None

    def decide(self, case: Case, grade: int, *, note: str = "") -> None:
        """Record the decision."""
        self.scale.named(grade)
        event = Event(
            uuid=str(uuid4()),
            kind="adjudicated",
            topic=case.topic.id,
            document=case.document.id,
            assessor=self._adjudicator,
            happened=now(),
            layer=self._layer,
            grade=grade,
            note=note,
            purpose="overlap",
            scale=self._scale_version,
            guidelines=self._guidelines_version,
            document_hash=case.document.content_hash,
            session=self._session,
        )
        self._append(event)
        self._decisions.append(Decided(case, event))
        self._open = [pair for pair in self._open if pair != (case.topic.id, case.document.id)]

    def postpone(self, case: Case) -> None:
        """Put a case off: the others come first."""
        pair = (case.topic.id, case.document.id)
        if pair in self._open:
            self._open.remove(pair)
            self._open.append(pair)

    def undo(self) -> Case | None:
        """Take the latest decision of this sitting back and give its case again; None where nothing is left."""
        if not self._decisions:
            return None
        last = self._decisions.pop()
        done = last.event
        self._append(
            Event(
                uuid=str(uuid4()),
                kind="undone",
                topic=done.topic,
                document=done.document,
                assessor=self._adjudicator,
                happened=now(),
                layer=self._layer,
                undoes=done.uuid,
                purpose="overlap",
                scale=self._scale_version,
                guidelines=self._guidelines_version,
                session=self._session,
            )
        )
        pair = (done.topic, done.document)
        self._open.insert(0, pair)
        return self._case(pair, opinions_among(self._standing(pair)), before=done.grade)

    def leave(self) -> None:
        """The sitting is over; there is nothing to give back."""

    def _standing(self, pair: Pair) -> list[Event]:
        return standing_of(self._store, self._layer, *pair)

    def _opinions(self, pair: Pair) -> tuple[Event, ...]:
        """Give the opinions of a pair that is in dispute, else none."""
        events = self._standing(pair)
        opinions = opinions_among(events)
        apart = differ(opinions, relevant_from=self._relevant_from, across=self._across)
        disputed = apart and not is_decided(events)
        return opinions if disputed else ()

    def _case(self, pair: Pair, opinions: Sequence[Event], *, before: int | None = None) -> Case:
        said = tuple(
            Opinion(one.grade or 0, one.note, one.evidence, self._other_scales.get(one.scale)) for one in opinions
        )
        found = document(self._store, pair[1])
        if found is None or pair[0] not in self._topics:
            raise CollectionError(f"topic {quoted(pair[0])} or document {quoted(pair[1])} is not in the collection")
        position = self._of - len(self._open) + 1
        return Case(self._topics[pair[0]], found, said, position, self._of, before)

    def _append(self, event: Event) -> None:
        with self._store.write():
            append_events(self._store, [event], now=now())
