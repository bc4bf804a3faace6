"""Prove the choices of a live pool by making them again, from what was known and under judgment then."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cranfield.judge.events import Event
from cranfield.pool.joining import Chosen, Later
from cranfield.pool.live import LivePool
from cranfield.pool.selecting import NO_PROBABILITY, Stratum
from cranfield.pool.unproven import is_reproducible, without_model
from cranfield.workflows.pool_labels import Chronicle, HandedOut
from cranfield.store.pools_live import RecordedChoice, RecordedEnd

if TYPE_CHECKING:
    from cranfield.pool.entrants import PooledRuns
    from cranfield.pool.pool import Pool


class ChoiceProof:
    """One version of a live pool, gone through choice by choice.

    `pool` is the version as it was made, `earlier` what was chosen in versions before it, `over` the topics that have
    ended, in this version or before. `wrong` says what differs; `later` is what came into each topic since, as the
    plan has it.
    """

    def __init__(
        self,
        pool: "Pool",
        runs: "PooledRuns",
        *,
        clusters: Mapping[str, int] | None,
        earlier: Sequence[RecordedChoice],
        over: Mapping[str, RecordedEnd],
        happened: Mapping[str, Sequence[Event]],
        relevant_from: Mapping[int, int],
    ) -> None:
        self.wrong: list[str] = []
        self.later: dict[str, Later] = {}
        self._pool, self._happened, self._relevant_from = pool, happened, relevant_from
        before = {end.topic: end.rule for end in over.values() if end.final and end.version < pool.version}
        self._over = {end.topic: end for end in over.values() if end.version == pool.version}
        self._is_reproducible = is_reproducible(pool.plan)
        self._live = LivePool(without_model(pool.plan), runs, begun=pool, clusters=clusters, ended=before)
        self._chosen: dict[str, list[Chosen]] = {}
        self._handed_out = HandedOut()
        for topic in pool.topics:
            for document in pool.documents_of(topic):
                self._handed_out.add(topic, document)
        for one in earlier:
            self._handed_out.add(one.topic, one.document, (one.known, one.number))

    def go_through(self, recorded: Sequence[RecordedChoice]) -> None:
        """Make every choice again and look at every end: topic by topic, or at once where they share a budget."""
        topics = self._live.topics
        self.wrong += [f"{_told(one)} is not of a topic of the pool" for one in recorded if one.topic not in topics]
        for some in [topics] if self._live.spreads else [[topic] for topic in topics]:
            mine = [one for one in recorded if one.topic in some]
            over = [self._over[topic] for topic in some if topic in self._over]
            if mine or over:
                self._walk(some, mine, over)
            for topic in some:
                self._close(topic)

    def _walk(self, topics: Sequence[str], recorded: Sequence[RecordedChoice], over: Sequence[RecordedEnd]) -> None:
        happened = [event for topic in topics for event in self._happened.get(topic, ())]
        chronicle = Chronicle(happened, self._relevant_from)
        moments: list[RecordedChoice | RecordedEnd] = sorted([*recorded, *over], key=lambda one: one.known)
        for moment in moments:
            for topic in (chronicle.advance(moment.known) | {moment.topic}).intersection(topics):
                self._stand(topic, chronicle)
            if isinstance(moment, RecordedEnd):
                self._look_at_end(moment)
            else:
                self._choose_again(moment)
                self._stand(moment.topic, chronicle)

    def _stand(self, topic: str, chronicle: Chronicle) -> None:
        self._live.stand(topic, self._handed_out.told(topic, chronicle.labels(topic)))

    def _look_at_end(self, end: RecordedEnd) -> None:
        found = self._live.ended.get(end.topic)
        if found != end.rule:
            said = f"by the plan it was {found!r}" if found else "by the plan it had not ended"
            self.wrong.append(f"topic {end.topic} is said to have ended ({end.rule}); {said}")

    def _choose_again(self, recorded: RecordedChoice) -> None:
        pending = [(recorded.topic, document) for document in recorded.elsewhere]
        again = self._live.offer(1, under_judgment=pending, topics=[recorded.topic]).choices
        if recorded.document not in self._live.candidates(recorded.topic).numbers:
            self.wrong.append(f"{_told(recorded)} is in none of the runs")
            return
        if not again:
            self.wrong.append(f"{_told(recorded)}: by the plan nothing was to be chosen")
        elif not self._is_as_recorded(recorded, again[0].document, again[0].step):
            self.wrong.append(f"{_told(recorded)}: by the plan it was {again[0].document}")
        self._chosen.setdefault(recorded.topic, []).append(self._story(recorded))
        self._live.took(recorded.topic, [recorded.document])
        self._handed_out.add(recorded.topic, recorded.document, (recorded.known, recorded.number))

    def _is_as_recorded(self, recorded: RecordedChoice, document: str, step: int) -> bool:
        """A model that cannot be trained again to the last bit is only checked for having had the choice."""
        if step != recorded.step:
            return False
        if self._is_reproducible or recorded.step > self._live.number:
            return document == recorded.document
        return self._live.is_free(recorded.topic, recorded.document, recorded.elsewhere)

    def _story(self, recorded: RecordedChoice) -> Chosen:
        if recorded.step > self._live.number:
            return Chosen(recorded.document, *self._live.story(recorded.topic, recorded.document))
        step = self._pool.plan.steps[self._live.number - 1]
        return Chosen(recorded.document, Stratum(self._live.number, str(step)), NO_PROBABILITY)

    def _close(self, topic: str) -> None:
        """Keep what came into a topic, and let go of what is large."""
        passed_over = {}
        if topic in self._over and self._over[topic].final:
            ids = self._live.candidates(topic).ids
            passed_over = {one.stratum: [ids[number] for number in one.undrawn] for one in self._live.later(topic)}
        self.later[topic] = Later(
            self._chosen.get(topic, ()), {name: some for name, some in passed_over.items() if some}
        )
        if not self._live.spreads:
            self._live.drop(topic)


def _told(recorded: RecordedChoice) -> str:
    return f"choice {recorded.number} ({recorded.topic} {recorded.document})"
