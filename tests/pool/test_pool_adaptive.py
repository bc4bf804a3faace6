"""Every adaptive strategy against sequences worked by hand and against a slow, obvious implementation."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.pool.candidates import candidates_of, numbers
from cranfield.pool.plan import parse
from cranfield.pool.strategy import Start, strategies

RELEVANT = {"d1", "d3", "d5"}


def sequence(runs, plan, relevant, *, seed=0, topic="1", length=99):
    """Judge one document after the other, as an assessor who knows the relevant ones."""
    candidates = candidates_of(runs, topic)
    state = parse(plan).steps[0].strategy(Start(candidates, seed))
    nobody = np.zeros(len(candidates), dtype=bool)
    judged = []
    while len(judged) < length and (choice := state.choose(nobody)) is not None:
        assert state.choose(nobody) == choice
        document = candidates.ids[choice[0]]
        judged.append(document)
        state.learn(choice[0], document in relevant)
    return judged


def sequences(worked, plan, relevant=RELEVANT, seeds=60, length=99):
    return {" ".join(sequence(worked, plan, relevant, seed=seed, length=length)) for seed in range(seeds)}


def starting(found, prefix):
    return {order for order in found if order.startswith(prefix)}


def test_move_to_front_stays_while_relevant_and_skips_what_is_judged(worked):
    found = sequences(worked, "mtf", seeds=200)
    # A: d1 relevant, d2 not; B: d3 relevant, d6 not; C: d5 relevant, d3 d2 d1 are judged, d7 not; then d4
    assert starting(found, "d1 d2 d3 d6") == {"d1 d2 d3 d6 d5 d7 d4"}
    # C first: d5, d3 relevant, d2 not; A: d1 relevant, d4 not; B: d6 not; then d7
    assert starting(found, "d5 d3 d2 d1") == {"d5 d3 d2 d1 d4 d6 d7"}
    assert {order.split()[0] for order in found} == {"d1", "d3", "d5"}


def test_move_to_front_can_consume_labels_that_are_known(worked):
    found = starting(sequences(worked, "mtf known=consume", seeds=200), "d1 d2 d3 d6 d5")
    # C comes to d3 (relevant: it stays) and d2 (not: all runs are at -1 now); then A comes to d4, or C to d7,
    # or B consumes d1 and d2 and is at -2
    assert found == {"d1 d2 d3 d6 d5 d7 d4", "d1 d2 d3 d6 d5 d4 d7"}


def test_max_mean_pulls_the_run_with_the_best_mean(worked):
    found = sequences(worked, "max-mean", seeds=300)
    # A: d1 (2/3), d2 (1/2, as B and C); B: d3 (2/3), d6 (1/2); C: d5 (2/3), d7 (1/2); then d4
    assert "d1 d2 d3 d6 d5 d7 d4" in found
    assert {order.split()[1] for order in starting(found, "d1")} == {"d2"}
    # … or A again after d2: d3 (3/5), d4 (3/6), and so on
    assert starting(found, "d1 d2 d3 d4")


def test_rewarding_all_runs_that_have_a_document_leaves_them_tied(worked):
    found = sequences(worked, "max-mean update=all", seeds=300)
    assert {order.split()[1] for order in starting(found, "d1")} == {"d2", "d3", "d5"}


def test_a_memory_of_one_document_leaves_a_run_at_once(worked):
    found = sequences(worked, "max-mean-ns rate=0", seeds=300)
    # A: d1 (2/3), d2 (1/3): B or C (1/2) are next, never A
    assert {order.split()[2] for order in starting(found, "d1 d2")} == {"d3", "d5"}
    assert {order.split()[2] for order in starting(sequences(worked, "max-mean", seeds=300), "d1 d2 d3")} == {"d3"}
    assert sequences(worked, "max-mean-ns rate=1") == sequences(worked, "max-mean")


def test_greed_without_exploring_goes_down_the_first_run_that_paid(worked):
    found = sequences(worked, "epsilon-greedy c=0", seeds=100)
    # the means of A: 1, 1/2, 2/3, 1/2, 3/5; those of B and C 0
    assert starting(found, "d1") == {"d1 d2 d3 d4 d5 d6 d7", "d1 d2 d3 d4 d5 d7 d6"}


def test_exploring_is_pure_chance_at_first(worked):
    # with three runs the chance is min(1, 3 / n): certain for three pulls
    found = sequences(worked, "epsilon-greedy", seeds=300, length=2)
    assert {order for order in found if order.startswith("d1")} == {"d1 d2", "d1 d3", "d1 d5"}


def test_the_upper_bound_pulls_every_run_once_first(worked):
    found = sequences(worked, "ucb1-tuned", seeds=100, length=4)
    assert {frozenset(order.split()[:3]) for order in found} == {frozenset({"d1", "d3", "d5"})}
    # all have 1 + sqrt(ln 3 / 4); the next of A and C is d2, of B d6
    assert {order.split()[3] for order in found} == {"d2", "d6"}


def test_hedge_moves_weight_to_runs_that_were_right(worked):
    # first sums: d3 2.023, d1 1.676, d2 1.330, d5 1.180; d3 is relevant: weights .163 .577 .260
    # then d1 .476, d6 .378, d2 .374, d5 .302; d1 is not: weights .047 .586 .367; d5 .388, d6 .383, d2 .349
    assert sequence(worked, "hedge", {"d3"}, length=3) == ["d3", "d1", "d5"]


def test_method_b_of_rbp_as_by_hand(worked):
    for relevant in (set(), RELEVANT):
        assert sequence(worked, "rbp-b", relevant) == ["d3", "d1", "d2", "d5", "d6", "d4", "d7"]


def test_method_c_of_rbp_as_by_hand(worked):
    # after d3 (relevant): .1564 .1728 .1639 for the runs; d1 .0702, d2 .0637; after d1: .0671 .1035 .1091;
    # d2 .0353, d5 .0273, d6 .0166; after d2: .0290 .0649 .0612; d5 .0146, d6 .0104, d4 .0083
    assert sequence(worked, "rbp-c", {"d3"}, length=4) == ["d3", "d1", "d2", "d5"]


def test_minimal_test_collections_as_by_hand(toolbox):
    runs = toolbox.pooled({"A": {"1": {"x": 2, "y": 1}}, "B": {"1": {"y": 2, "z": 1}}})
    # x |5/4 - 0|, y |3/4 - 5/4|, z |0 - 3/4|; then with x relevant y |1 - 5/4|, else y |1/2 - 5/4| = z
    assert sequence(runs, "mtc", {"x"}) == ["x", "z", "y"]
    assert sequence(runs, "mtc", set()) == ["x", "z", "y"]


def test_runs_that_agree_have_nothing_to_tell_apart(toolbox):
    same = {"1": {"x": 3, "y": 2, "z": 1}}
    runs = toolbox.pooled({"A": same, "B": same})
    assert sequence(runs, "mtc", set()) == ["z", "y", "x"]  # all weigh 0: by id, descending


class SlowArms:
    """Arms, spelled out: lists of documents, and a function that values each run."""

    def __init__(self, lists, *, seed, topic, update, known):
        self.lists, self.runs = lists, list(lists)
        self.seed, self.topic, self.update, self.known = seed, topic, update, known
        self.rewards = {run: [] for run in lists}
        self.judged, self.pulled_by, self.events = {}, {}, 0
        self.eaten = {run: set() for run in lists}
        self.last = None

    def order(self, value):
        values = {run: value(self, run) for run in self.runs}
        turns = dict(
            zip(self.runs, numbers(self.seed, self.topic, "arms", self.events, count=len(self.runs)), strict=True)
        )
        return sorted(self.runs, key=lambda run: (-float(f"{values[run]:.11e}"), turns[run]))

    def judge(self, run, document, label):
        self.judged[document], self.pulled_by[document] = label, run
        who = [some for some in self.runs if document in self.lists[some]] if self.update == "all" else [run]
        for some in who:
            self.rewards[some].append(label)
        self.events += 1


def faded(labels, rate, start):
    total = start
    for label in labels:
        total = rate * total + label
    return total


def mtf_value(arms, run):
    if arms.rewards[run] and arms.rewards[run][-1] and arms.last == run:
        return float("inf")
    return -sum(not label for label in arms.rewards[run])


def mean_value(rate):
    return lambda arms, run: (
        (1 + faded(arms.rewards[run], rate, 0)) / (2 + faded([1] * len(arms.rewards[run]), rate, 0))
    )


def greedy_value(arms, run):
    chance = min(1, 0.01 * len(arms.runs) / 0.1**2 / (arms.events + 1))
    if numbers(arms.seed, arms.topic, "epsilon", arms.events, count=1)[0] < chance:
        return 0
    labels = arms.rewards[run]
    return sum(labels) / len(labels) if labels else 0


def bound_value(arms, run):
    labels = arms.rewards[run]
    if not labels:
        return float("inf")
    mean, count, total = sum(labels) / len(labels), len(labels), sum(map(len, arms.rewards.values()))
    variance = mean * (1 - mean) + sqrt(2 * log(total) / count)
    return mean + sqrt(log(total) / count * min(0.25, variance))


def thompson_value(arms, run):
    from scipy.stats import beta

    point = numbers(arms.seed, arms.topic, "thompson", arms.events, count=len(arms.runs))[arms.runs.index(run)]
    relevant = sum(arms.rewards[run])
    return beta.ppf(point, 1 + relevant, 1 + len(arms.rewards[run]) - relevant)


ARMS = {
    "mtf": (mtf_value, "pulled", "skip"),
    "mtf known=consume": (mtf_value, "pulled", "consume"),
    "max-mean": (mean_value(1), "pulled", "skip"),
    "max-mean update=all": (mean_value(1), "all", "skip"),
    "max-mean known=consume": (mean_value(1), "pulled", "consume"),
    "max-mean-ns rate=0.5": (mean_value(0.5), "pulled", "skip"),
    "max-mean-ns rate=0.5 update=all": (mean_value(0.5), "all", "skip"),
    "epsilon-greedy": (greedy_value, "pulled", "skip"),
    "ucb1-tuned": (bound_value, "pulled", "skip"),
    "ucb1-tuned update=all": (bound_value, "all", "skip"),
    "thompson": (thompson_value, "pulled", "skip"),
    "random-arm": (lambda arms, run: 0, "pulled", "skip"),
}


def slow_sequence(lists, plan, relevant, seed):
    value, update, known = ARMS[plan]
    arms = SlowArms(lists, seed=seed, topic="0", update=update, known=known)
    judged = []
    while (found := next_of(arms, value)) is not None:
        run, document = found
        judged.append(document)
        arms.judge(run, document, document in relevant)
        arms.last = run if document in relevant else None
    return judged


def next_of(arms, value):
    """Consume what is known until there is a document to judge; remember which run was relevant last."""
    while True:
        before = {run: len(labels) for run, labels in arms.rewards.items()}
        found = step(arms, value)
        if found != "again":
            return found
        for run, labels in arms.rewards.items():
            if len(labels) > before[run]:
                arms.last = run if labels[-1] else None


def step(arms, value):
    """One turn: a document to judge, None, or "again" when something known was consumed."""
    for run in arms.order(value):
        left = [d for d in arms.lists[run] if d not in arms.eaten[run]]
        if arms.known == "skip":
            left = [d for d in left if d not in arms.judged]
        if not left:
            continue
        if left[0] not in arms.judged:
            return run, left[0]
        arms.eaten[run].add(left[0])
        if arms.pulled_by[left[0]] != run:
            arms.rewards[run].append(arms.judged[left[0]])
            arms.events += 1
        return "again"
    return None


@given(data=st.data())
def test_every_bandit_equals_the_slow_and_obvious_one(toolbox, data):
    spec = data.draw(toolbox.specs())
    runs, lists = toolbox.pooled(spec), toolbox.lists_of(spec, "0")
    relevant = data.draw(st.sets(st.sampled_from([f"d{number}" for number in range(7)])))
    seed = data.draw(st.integers(0, 9))
    for plan in ARMS:
        fast = sequence(runs, plan, relevant, seed=seed, topic="0")
        assert fast == slow_sequence(lists, plan, relevant, seed), plan


def slow_hedge(lists, relevant, beta=0.1):
    documents = sorted({d for some in lists.values() for d in some}, reverse=True)
    count = len(documents)

    def gain(run, document):
        if document in lists[run]:
            return 0.5 * log(count / (lists[run].index(document) + 1))
        left = range(len(lists[run]) + 1, count + 1)
        return sum(0.5 * log(count / rank) for rank in left) / len(left)

    weights, judged = dict.fromkeys(lists, 1.0), []
    while len(judged) < count:
        free = [d for d in documents if d not in judged]
        total = sum(weights.values())
        best = max(free, key=lambda d: round(sum(weights[run] / total * gain(run, d) for run in lists), 10))
        judged.append(best)
        for run in lists:
            weights[run] *= beta ** ((-1 if best in relevant else 1) * gain(run, best))
    return judged


def slow_rbp(lists, relevant, method, p=0.8):
    documents = sorted({d for some in lists.values() for d in some}, reverse=True)

    def c(run, document):
        return (1 - p) * p ** lists[run].index(document) if document in lists[run] else 0

    judged = []
    while len(judged) < len(documents):
        residual = {run: 1 - sum(c(run, d) for d in judged) for run in lists}
        base = {run: sum(c(run, d) for d in judged if d in relevant) for run in lists}
        weight = {
            run: residual[run] * ((base[run] + residual[run] / 2) ** 3 if method == "c" else 1) for run in lists
        }
        free = [d for d in documents if d not in judged]
        judged.append(max(free, key=lambda d: float(f"{sum(c(run, d) * weight[run] for run in lists):.9e}")))
    return judged


def slow_mtc(lists, relevant):
    documents = sorted({d for some in lists.values() for d in some}, reverse=True)

    def expected(run, chances):
        ranks = {d: rank for rank, d in enumerate(lists[run], start=1)}
        pairs = [(i, j) for i in ranks for j in ranks if ranks[i] <= ranks[j]]
        return sum(chances[i] * (chances[j] if i != j else 1) / ranks[j] for i, j in pairs)

    judged = []
    while len(judged) < len(documents):
        chances = {d: (float(d in relevant) if d in judged else 0.5) for d in documents}

        def weight(document, chances=chances):
            change = [
                expected(run, chances | {document: 1}) - expected(run, chances | {document: 0}) for run in lists
            ]
            return round(sum(abs(one - other) for one in change for other in change) / 2, 9)

        judged.append(max((d for d in documents if d not in judged), key=weight))
    return judged


@given(data=st.data())
def test_weighed_strategies_equal_the_slow_and_obvious_ones(toolbox, data):
    spec = data.draw(toolbox.specs(documents=5))
    runs, lists = toolbox.pooled(spec), toolbox.lists_of(spec, "0")
    relevant = data.draw(st.sets(st.sampled_from([f"d{number}" for number in range(5)])))
    assert sequence(runs, "hedge", relevant, topic="0") == slow_hedge(lists, relevant)
    assert sequence(runs, "rbp-b", relevant, topic="0") == slow_rbp(lists, relevant, "b")
    assert sequence(runs, "rbp-c", relevant, topic="0") == slow_rbp(lists, relevant, "c")
    assert sequence(runs, "mtc", relevant, topic="0") == slow_mtc(lists, relevant)


ADAPTIVE = sorted(name for name, part in strategies.items() if part.kind == "adaptive" and name != "cal")


@given(data=st.data())
def test_every_adaptive_strategy_brings_every_document_once(toolbox, data):
    spec = data.draw(toolbox.specs())
    runs = toolbox.pooled(spec)
    everything = sorted({d for lists in spec.values() for d in lists["0"]})
    labels = data.draw(st.sets(st.sampled_from(everything)))
    for name in ADAPTIVE:
        assert sorted(sequence(runs, name, labels, topic="0")) == everything, name


@pytest.mark.parametrize("name", ADAPTIVE)
def test_the_state_is_a_function_of_the_judgments_in_their_order(worked, name):
    candidates = candidates_of(worked, "1")
    strategy = strategies.get(name)
    nobody = np.zeros(len(candidates), dtype=bool)
    history = [(3, True), (6, None), (0, False), (4, True)]
    one = strategy(Start(candidates, 4))
    for candidate, label in history:
        one.choose(nobody)
        one.choose(~nobody)
        one.learn(candidate, label)
    other = strategy(Start(candidates, 4))
    for candidate, label in history:
        other.learn(candidate, label)
    assert one.choose(nobody) == other.choose(nobody)
    assert strategy.claim is None or strategy.claim(one) == strategy.claim(other)
    excluded = nobody.copy()
    excluded[one.choose(nobody)[0]] = True
    assert one.choose(excluded)[0] not in {candidate for candidate, _ in history} | {int(np.argmax(excluded))}
    assert one.choose(~nobody) is None
