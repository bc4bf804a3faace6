"""One topic of a live pool: its warm-up, its adaptive step, and what comes after."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.pool.build import Numbered, is_adaptive
from cranfield.pool.candidates import Candidates, Mask
from cranfield.pool.plan import Selection
from cranfield.pool.selecting import NO_PROBABILITY, Addition, Stratum, TopicPool, apply, eligible, view
from cranfield.pool.stopping import Review, Target
from cranfield.pool.strategy import Adaptive, Label, State, Texts

RECENT = 20
"""Over how many of the last judgments the yield of a topic is measured."""


IN_POOL = "in the pool"
"""The reason of a document that is sure to be judged."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What strategies that read text are given: the texts of documents, and the words of the topic."""

    texts: Texts | None = None
    query: str = ""


class LiveTopic:
    """Where one topic stands.

    The queue holds the documents that are sure to be judged, in order: the steps before the adaptive one and, when
    that has ended, the steps after it. What is judged besides counts as chosen by the adaptive step. `limit` is the
    size the topic may reach, None where there is none; `ended` says why the adaptive step is over.

    A document that was handed out (`took`) is not offered again, and belongs to the pool from the end on, judged or
    not. It moves no end: what ends a topic are judgments alone.
    """

    def __init__(
        self,
        candidates: Candidates,
        pool: TopicPool,
        queue: Sequence[int],
        steps: Numbered,
        *,
        limit: int | None = None,
        reading: Reading | None = None,
        ended: str = "",
    ) -> None:
        places = [place for place, (_, step) in enumerate(steps) if is_adaptive(step)]
        self.number, step = steps[places[0]]
        assert isinstance(step, Selection)
        assert isinstance(step.strategy, Adaptive)
        self.candidates, self.pool, self.step = candidates, pool, step
        self.ended, self.labels = ended, dict[int, Label]()
        self.chosen: list[int] = []
        self._queue, self._taken = dict.fromkeys(queue), dict[int, None]()
        self._warm_up, self._after = frozenset(self._queue), steps[places[0] + 1 :]
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._limit = _limit(step, pool.count) if limit is None else limit
        seen = view(candidates, step)
        self._barred = ~eligible(pool, seen, step)
        self._barred[pool.chosen] = False
        reading = reading or Reading()
        self._state: State = step.strategy.begin(seen, seed=pool.seed, texts=reading.texts, query=reading.query)
        self._target = Targets(pool) if any(isinstance(rule, Target) for rule in step.scope.stop) else None

    @property
    def size(self) -> int:
        """How many documents are in the pool so far."""
        return self.pool.count + (0 if self.ended else len(self.chosen))

    @property
    def claim(self) -> float:
        """How much the topic wants to be next, by its strategy."""
        return self._state.claim

    @property
    def recent_yield(self) -> float:
        """The share of relevant among the last judgments, drawn towards one half while there are few."""
        return (1 + sum(self._recent)) / (2 + len(self._recent))

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment; a second one of the same document changes nothing."""
        if candidate in self.labels:
            return
        self.labels[candidate] = label
        self._queue.pop(candidate, None)
        if label is not None:
            self._recent.append(label)
        if not self.pool.present[candidate]:
            self.chosen.append(candidate)
        if self.ended:
            self._close()  # it was offered before the end
            return
        if self._target is None or not self._target.keeps(candidate, label):
            self._state.told(candidate, label)
        if self._target is not None:
            self._target.settle(self._state)
        self._look_for_the_end()

    def took(self, candidate: int) -> None:
        """Take in that a document was handed out."""
        self._taken[candidate] = None

    def waits(self, pending: Collection[int]) -> bool:
        """Say whether a document that is sure to be judged waits for somebody."""
        return any(candidate not in pending and candidate not in self._taken for candidate in self._queue)

    def away(self, pending: Collection[int]) -> int:
        """Give how many documents are out to be judged that the size does not count yet."""
        out = {*pending, *self._taken} - self.labels.keys()
        return sum(not self.pool.present[candidate] for candidate in out)

    def offer(self, pending: Collection[int]) -> tuple[int, int, str] | None:
        """Give the next candidate that is not judged and not pending, with its step and why; None for nothing now."""
        for candidate in self._queue:
            if candidate not in pending and candidate not in self._taken:
                return candidate, self.story(candidate)[0].step, IN_POOL
        if self.ended:
            return None
        if self._limit is not None and self.size + self.away(pending) >= self._limit:
            return None
        choice = self._state.choose(self._excluded({*pending, *self._taken}))
        return None if choice is None else (choice[0], self.number, choice[1])

    def is_free(self, candidate: int, pending: Collection[int]) -> bool:
        """Say whether the adaptive step could choose a candidate now."""
        return not self.ended and not self._excluded({*pending, *self._taken})[candidate]

    def story(self, candidate: int) -> tuple[Stratum, float]:
        """Give the stratum of a candidate, and its probability: NaN for what the adaptive step chooses."""
        for addition in self.pool.additions:
            found = np.flatnonzero(addition.chosen == candidate)
            if len(found):
                return addition.stratum, float(addition.probabilities[found[0]])
        return Stratum(self.number, str(self.step)), NO_PROBABILITY

    def end(self, reason: str) -> None:
        """Close the adaptive step and let the steps after it add what they will."""
        if self.ended:
            return
        self.ended = reason
        self._close()
        for number, step in self._after:
            if isinstance(step, Selection):
                apply(self.pool, self.candidates, step, number)
        self._queue = {one: None for one in self.pool.chosen.tolist() if one not in self.labels}

    def so_far(self) -> TopicPool:
        """Give the pool with what the adaptive step has chosen so far."""
        pool = TopicPool(self.pool.topic, self.pool.size, self.pool.seed)
        for addition in [*self.pool.additions, *([] if self.ended else [self._addition()])]:
            pool.add(addition)
        return pool

    def _close(self) -> None:
        self.pool.add(self._addition())
        self.chosen = []

    def _addition(self) -> Addition:
        present = self.pool.present
        open_ones = [one for one in self._taken if not present[one] and one not in self.labels]
        chosen = np.array([*self.chosen, *open_ones], dtype=np.int64)
        nothing = np.full(len(chosen), NO_PROBABILITY)
        return Addition(Stratum(self.number, str(self.step)), chosen, nothing, np.empty(0, np.int64))

    def _look_for_the_end(self) -> None:
        if self._queue:
            return
        if self._limit is not None and self.size >= self._limit:
            self.end("cap reached" if self.step.scope.across_topics else f"{self.step.amount} reached")
            return
        targets = self._target
        first = [label for candidate, label in self.labels.items() if candidate in self._warm_up]
        late = [label for candidate, label in self.labels.items() if candidate not in self._warm_up]
        review = Review(
            [*first, *late],
            warm_up=len(first),
            targets=[candidate not in targets.hidden for candidate in targets.relevant] if targets else (),
        )
        for rule in self.step.scope.stop:
            reason = rule.says(review)
            if reason:
                self.end(reason)
                return
        if self._state.choose(self._excluded(())) is None:
            self.end("no document is left")

    def _excluded(self, pending: Collection[int]) -> Mask:
        excluded = self._barred.copy()
        excluded[list(pending)] = True
        excluded[list(self.labels)] = True
        return excluded


class Targets:
    """A sample whose labels the strategy has to find again by itself.

    `relevant` are those that were judged relevant, in the order of judging; `hidden` the labels not found again yet.
    """

    def __init__(self, pool: TopicPool) -> None:
        self.hidden: dict[int, Label] = {}
        self.relevant: list[int] = []
        drawn = [addition.chosen for addition in pool.additions if (addition.probabilities < 1).any()]
        self._sample = {int(candidate) for chosen in drawn for candidate in chosen}
        self._size = pool.size

    def keeps(self, candidate: int, label: Label) -> bool:
        """Keep the label of a document of the sample from the strategy; say whether that was done."""
        if candidate not in self._sample:
            return False
        self.hidden[candidate] = label
        if label is True:
            self.relevant.append(candidate)
        return True

    def settle(self, state: State) -> None:
        """Tell the strategy the kept labels that it asks for."""
        nothing = np.zeros(self._size, dtype=bool)
        while (choice := state.choose(nothing)) is not None and choice[0] in self.hidden:
            state.told(choice[0], self.hidden.pop(choice[0]))


def _limit(step: Selection, have: int) -> int | None:
    """Give the size that the amount of an adaptive step means for its topic."""
    if step.amount.kind == "count":
        return have + int(step.amount.number)
    return int(step.amount.number) if step.amount.kind == "until" else step.scope.cap
