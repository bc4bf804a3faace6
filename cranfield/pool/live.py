"""A live pool: the next documents, chosen from what has been judged so far.

Everything is a function of the plan, the runs, the seed and the judgments in their order, so that a restart stands
where the program stood. A document that is being judged elsewhere is not offered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.pool.build import build
from cranfield.pool.candidates import Candidates, PooledRuns, clusters_of
from cranfield.pool.extend import collapsed_topic, earlier_of
from cranfield.pool.plan import Plan
from cranfield.pool.pool import NO_PROBABILITY, Pool, Stratum, TopicPool, check_budget, levels, refuse, view
from cranfield.pool.stopping import Review
from cranfield.pool.strategy import Label, Start, State, Words
from cranfield.runs.columns import Mask


class Judged(NamedTuple):
    """A judgment as a pool sees it: relevant, not relevant, or (None) seen without a label."""

    topic: str
    document: str
    relevant: Label


class Choice(NamedTuple):
    """A document to judge next, the step of the plan (from 1) that chose it, and why."""

    topic: str
    document: str
    step: int
    reason: str


# One topic of a live pool: its warm-up, its adaptive step, and what comes after.

RECENT = 20
"""Over how many of the last judgments the yield of a topic is measured."""

IN_POOL = "in the pool"
"""The reason of a document that is sure to be judged."""


class LiveTopic:
    """Where one topic stands.

    The queue holds the documents that are sure to be judged, in order: the steps before the adaptive one and, when
    that has ended, the steps after it. What is judged besides counts as chosen by the adaptive step. `limit` is the
    size the topic may reach, None where there is none; `ended` says why the adaptive step is over.

    A document that was handed out is not offered again, and belongs to the pool from the end on, judged or not. It
    moves no end: what ends a topic are judgments alone.

    Where a stopping rule needs a sample, its labels are hidden from the strategy until it asks for the document by
    itself. `targets` are those that were judged relevant, in the order of judging.
    """

    def __init__(self, whole: LivePool, topic: str) -> None:
        candidates, pool, chosen = whole.parts(topic)
        self.candidates, self.pool, self.number, self.step = candidates, pool, whole.number, whole.step
        step = self.step
        self.ended, self.labels = whole.closed.get(topic, ""), dict[int, Label]()
        self.recent: deque[bool] = deque(maxlen=RECENT)
        self.chosen: list[int] = []
        self.queue = dict.fromkeys(pool.chosen.tolist())
        known = candidates.numbers
        out = [known[name] for name in whole.out.get(topic, ()) if name in known]
        self.handed_out = dict.fromkeys([*(self.queue if whole.is_handed_out else ()), *chosen, *out])
        self._warm_up = frozenset(self.queue)
        self.after, self._limit = whole.after, whole.limits.get(topic)
        if self._limit is None and step.amount.kind == "count":
            self._limit = pool.count + int(step.amount.number)
        elif self._limit is None:
            self._limit = int(step.amount.number) if step.amount.kind == "until" else step.scope.cap
        seen = view(candidates, step)
        self._barred = ~pool.eligible(seen, step)
        self._barred[pool.chosen] = False
        words = whole.words
        self.state: State = step.strategy(Start(seen, pool.seed, words.texts, words.queries.get(topic, "")))
        self._sample: set[int] = set()
        if any(rule.needs_sample for rule in step.scope.stop):
            strata = pool.entries["stratum"]
            drawn = np.isin(strata, strata[pool.entries["probability"] < 1])
            self._sample = set(pool.chosen[drawn].tolist())
        self._hidden: dict[int, Label] = {}
        self._targets: list[int] = []

    @property
    def size(self) -> int:
        """How many documents are in the pool so far."""
        return self.pool.count + (0 if self.ended else len(self.chosen))

    def learn(self, candidate: int, label: Label) -> None:
        """Take in one judgment; a second one of the same document changes nothing."""
        if candidate in self.labels:
            return
        self.labels[candidate] = label
        self.queue.pop(candidate, None)
        if label is not None:
            self.recent.append(label)
        if not self.pool.present[candidate]:
            self.chosen.append(candidate)
        if self.ended:
            self.add_chosen()  # it was offered before the end
            return
        if candidate not in self._sample:
            self.state.learn(candidate, label)
        else:
            self._hidden[candidate] = label
            if label is True:
                self._targets.append(candidate)
        nothing = np.zeros(self.pool.size, dtype=bool)
        while self._hidden and (choice := self.state.choose(nothing)) is not None and choice[0] in self._hidden:
            self.state.learn(choice[0], self._hidden.pop(choice[0]))
        if self.queue:
            return
        if self._limit is not None and self.size >= self._limit:
            self.end("cap reached" if self.step.scope.across_topics else f"{self.step.amount} reached")
            return
        first = [label for candidate, label in self.labels.items() if candidate in self._warm_up]
        late = [label for candidate, label in self.labels.items() if candidate not in self._warm_up]
        found_again = [candidate not in self._hidden for candidate in self._targets]
        review = Review([*first, *late], warm_up=len(first), targets=found_again)
        reason = next(filter(None, (rule(review) for rule in self.step.scope.stop)), None)
        if reason is None and self.state.choose(self.excluded(())) is None:
            reason = "no document is left"
        if reason:
            self.end(reason)

    def waiting(self, pending: Collection[int]) -> int | None:
        """The next document that is sure to be judged and waits for somebody."""
        return next((one for one in self.queue if one not in pending and one not in self.handed_out), None)

    def away(self, pending: Collection[int]) -> int:
        """How many documents are out to be judged that the size does not count yet."""
        out = {*pending, *self.handed_out} - self.labels.keys()
        return sum(not self.pool.present[candidate] for candidate in out)

    def offer(self, pending: Collection[int]) -> Choice | None:
        """The next document that is not judged and not pending; None for nothing now."""
        topic, ids = self.candidates.topic, self.candidates.ids
        if (waiting := self.waiting(pending)) is not None:
            return Choice(topic, ids[waiting], self.story(waiting)[0].step, IN_POOL)
        if self.ended or (self._limit is not None and self.size + self.away(pending) >= self._limit):
            return None
        choice = self.state.choose(self.excluded({*pending, *self.handed_out}))
        return None if choice is None else Choice(topic, ids[choice[0]], self.number, choice[1])

    def excluded(self, pending: Collection[int]) -> Mask:
        """Which candidates the adaptive step cannot choose."""
        excluded = self._barred.copy()
        excluded[list(pending)] = True
        excluded[list(self.labels)] = True
        return excluded

    def story(self, candidate: int) -> tuple[Stratum, float]:
        """The stratum of a candidate, and its probability: NaN for what the adaptive step chooses."""
        entries = self.pool.entries[self.pool.chosen == candidate]
        if not len(entries):
            return Stratum(self.number, str(self.step)), NO_PROBABILITY
        return self.pool.strata[entries[0]["stratum"]], float(entries[0]["probability"])

    def end(self, reason: str) -> None:
        """Close the adaptive step and let the steps after it add what they will."""
        if self.ended:
            return
        self.ended = reason
        self.add_chosen()
        for number, step in self.after:
            self.pool.apply(self.candidates, step, number)
        self.queue = {one: None for one in self.pool.chosen.tolist() if one not in self.labels}

    def add_chosen(self) -> None:
        """Add what the adaptive step has chosen to the pool: what is judged first, then what is still out."""
        new = [one for one in dict.fromkeys([*self.chosen, *self.handed_out]) if not self.pool.present[one]]
        self.pool.add(Stratum(self.number, str(self.step)), new, NO_PROBABILITY)

    def is_free(self, document: str, under_judgment: Collection[str] = ()) -> bool:
        """Whether the adaptive step could choose a document now, whatever it would choose."""
        known = self.candidates.numbers
        if self.ended or document not in known:
            return False
        pending = [known[one] for one in under_judgment if one in known]
        return not self.excluded({*pending, *self.handed_out})[known[document]]

    def later(self) -> dict[Stratum, list[str]]:
        """What the steps after the adaptive one passed over, by stratum; nothing before it has ended."""
        pool, ids = self.pool, self.candidates.ids
        return {
            stratum: [ids[one["document"]] for one in pool.undrawn[pool.undrawn["stratum"] == code]]
            for code, stratum in enumerate(pool.strata)
            if self.ended and stratum.step > self.number
        }


class LivePool:
    """All topics of a plan with an adaptive step, while they are judged.

    `pool` is the pool so far, all of it handed out: what the steps before the adaptive one brought is the warm-up,
    the rest was chosen by looking at judgments. Without it the warm-up is built, and offered. `ended` names topics
    whose adaptive step is over for good, with the rule that ended it. A topic is made ready when it is first needed:
    many runs make large topics.
    """

    def __init__(
        self,
        plan: Plan,
        runs: PooledRuns,
        *,
        topics: Sequence[str] | None = None,
        seed: int = 0,
        clusters: Mapping[str, object] | None = None,
        words: Words | None = None,
        pool: Pool | None = None,
        ended: Mapping[str, str] | None = None,
    ) -> None:
        if plan.adaptive is None:
            raise UsageError(f"'{plan}' has no adaptive step: build it as it is")
        self.is_handed_out = pool is not None
        if pool is None:
            pool = build(plan, runs, topics=topics, seed=seed, clusters=clusters)
        self.plan, self.runs, self._pool, self.topics = plan, runs, pool, list(pool.topics)
        self._clusters = clusters_of(runs, clusters)
        self.words = words or Words()
        self.number, self.step = plan.adaptive
        self.after = [(number, step) for number, step in plan.selections if number > self.number]
        self.spreads = self.step.scope.across_topics  # whether a budget goes across topics
        self.closed = dict(ended or {})
        self._live: dict[str, LiveTopic] = {}
        self._learnt: dict[str, list[Judged]] = {}
        self.out: dict[str, list[str]] = {}
        # How many documents each topic has before its adaptive step.
        steps = np.array([stratum.step for stratum in pool.stratum_table], dtype=np.int32)
        static = pool.entries[steps[pool.entries["stratum"]] < self.number]
        counts = np.bincount(static["topic"], minlength=len(self.topics))
        self._sizes = dict(zip(self.topics, counts.tolist(), strict=True))
        self.limits = self._shared_limits()

    def learn(self, judged: Judged) -> None:
        """Take in one judgment. What is not a candidate of one of the topics is passed over."""
        self._learnt.setdefault(judged.topic, []).append(judged)
        if judged.topic in self._sizes:
            live = self.at(judged.topic)
            if (candidate := live.candidates.numbers.get(judged.document)) is not None:
                live.learn(candidate, judged.relevant)
        if self._is_spent():
            for topic in self.topics:
                self.at(topic).end(f"{self.step.amount} reached")

    def set_judgments(self, topic: str, judged: Sequence[Judged]) -> None:
        """Bring a topic to where these judgments, all that count for it now and in their order, leave it.

        Those at the front that it has learnt before are not learnt again. Where one of them has changed or is gone,
        the topic begins anew.
        """
        before = self._learnt.get(topic, [])
        if list(judged[: len(before)]) != before:
            again = self.topics if self._is_spent() else [topic]
            others = {name: self._forget(name) for name in again}
            for name in again:
                if name != topic:
                    self.set_judgments(name, others[name])
            before = []
        for one in judged[len(before) :]:
            self.learn(one)

    def hand_out(self, topic: str, *documents: str) -> None:
        """Take in that documents were handed out: they are not offered again, and count as under judgment."""
        self.out.setdefault(topic, []).extend(documents)
        for document in documents if topic in self._live else ():
            if (candidate := self.at(topic).candidates.numbers.get(document)) is not None:
                self._live[topic].handed_out[candidate] = None

    def close(self, topic: str, rule: str) -> None:
        """Take in that the adaptive step of a topic is over for good, whatever becomes of the judgments behind it."""
        if self.closed.setdefault(topic, rule) and topic in self._live and not self._live[topic].ended:
            self._forget(topic)

    def drop(self, topic: str) -> None:
        """Make room: begin a topic anew when it is needed next."""
        self._forget(topic)
        self.out.pop(topic, None)

    def offer(
        self, *, under_judgment: Collection[tuple[str, str]] = (), topics: Collection[str] | None = None
    ) -> Choice | None:
        """The document to judge next, of some topics or all, or None for nothing now; this changes nothing.

        Without a budget across topics they are served one after the other. With one: first what is in the pool
        already; then topics below the floor, fewest documents first; then the topic with the highest yield of late
        (or the strategy's own claim, where it compares topics), of equals the one with fewest documents.
        """
        wanted = [topic for topic in self.topics if topics is None or topic in topics]
        pending: dict[str, list[int]] = {topic: [] for topic in wanted}
        for topic, document in under_judgment:
            if topic in self._sizes and (number := self.at(topic).candidates.numbers.get(document)) is not None:
                pending.setdefault(topic, []).append(number)
        in_turn = sorted(wanted, key=lambda topic: self._turn(topic, pending[topic])) if self.spreads else wanted
        choice = next(filter(None, (self.at(topic).offer(pending[topic]) for topic in in_turn)), None)
        is_over = self.spreads and choice is not None and choice.reason != IN_POOL and self._is_spent(pending)
        return None if is_over else choice

    @property
    def ended(self) -> dict[str, str]:
        """The topics whose adaptive step has ended, and which rule ended it."""
        made = {topic: live.ended for topic, live in self._live.items() if live.ended}
        return dict(sorted((self.closed | made).items()))

    def at(self, topic: str) -> LiveTopic:
        """A topic, made ready when it is first needed."""
        if topic not in self._live:
            self._live[topic] = LiveTopic(self, topic)
        return self._live[topic]

    def parts(self, topic: str) -> tuple[Candidates, TopicPool, list[int]]:
        """The candidates of a topic, what its fixed steps brought, and what its adaptive step has chosen."""
        candidates = collapsed_topic(self._pool, self.runs, topic, self._clusters)
        pool = earlier_of(self._pool, candidates)
        steps = np.array([stratum.step for stratum in pool.strata], dtype=np.int32)[pool.entries["stratum"]]
        chosen = pool.chosen[steps == self.number].tolist()
        pool.keep(steps != self.number)
        return candidates, pool, chosen

    def _forget(self, topic: str) -> list[Judged]:
        """Forget where a topic stands; give what it has learnt."""
        self._live.pop(topic, None)
        return self._learnt.pop(topic, [])

    def _shared_limits(self) -> dict[str, int]:
        """The size each topic may reach where a budget is shared evenly; nothing where the step says it."""
        step = self.step
        if step.amount.kind != "budget":
            return {}
        budget, have = int(step.amount.number), np.array(list(self._sizes.values()))
        check_budget(int(have.sum()), budget)
        if self.spreads:
            needed = (step.scope.floor or 0) * len(self.topics)
            if needed > budget:
                message = f"a floor of {step.scope.floor} for {len(self.topics)} topics needs {needed:,} documents"
                refuse("budget-below-floor", message, f"lower the floor, or raise the budget of {budget:,}")
            return {}
        available = []
        for topic in self.topics:
            candidates, pool, _ = self.parts(topic)
            available.append(np.count_nonzero(pool.eligible(view(candidates, step), step)))
        return dict(zip(self.topics, levels(have, np.array(available), budget).tolist(), strict=True))

    def _turn(self, topic: str, pending: Collection[int]) -> tuple[int, float, int]:
        """By what topics that share a budget are served: the lowest first."""
        live, floor = self.at(topic), self.step.scope.floor
        if floor is None:
            floor = int(self.step.amount.number) // (2 * len(self.topics))  # half of an even share
        size = live.size + live.away(pending)
        if live.waiting(pending) is not None:
            return 0, 0.0, 0
        if size < floor:
            return 1, float(size), size
        if self.step.strategy.claim is not None:
            return 2, -self.step.strategy.claim(live.state), size
        # The share of relevant among the last judgments, drawn towards one half while there are few.
        return 2, -(1 + sum(live.recent)) / (2 + len(live.recent)), size

    def _is_spent(self, pending: Mapping[str, Collection[int]] | None = None) -> bool:
        """Whether the budget across topics is spent: by what is judged; with `pending`, also by what is out."""
        if not self.spreads:
            return False
        total = sum(self._sizes[topic] for topic in self.topics if topic not in self._live)
        for topic, live in self._live.items():
            total += live.size + (0 if pending is None else live.away(pending.get(topic, ())))
        return bool(total >= self.step.amount.number)
