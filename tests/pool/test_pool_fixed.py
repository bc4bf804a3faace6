"""Every fixed strategy against a vector worked by hand and against a slow, obvious implementation."""

from fractions import Fraction
from math import log2
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.pool.build import build
from cranfield.pool.plan import parse
from cranfield.pool.strategy import strategies

WORKED = {
    # ranks in A, B, C: d1 1 3 4, d2 2 4 3, d3 3 1 2, d4 4 5 -, d5 5 - 1, d6 - 2 -, d7 - - 5
    "depth 5": "d5 d3 d1 d6 d2 d4 d7",
    "depth 2": "d5 d3 d1 d6 d2",
    "depth 1 topics=1:4": "d5 d3 d1 d6 d2 d4",
    "take": "d1 d3 d5 d2 d6 d4 d7",
    "take 4": "d1 d3 d5 d2",
    # all: 3 runs (sum 6), 3 (8), 3 (9), 2 (6), 2 (9), 1 (2), 1 (5)
    "popularity": "d3 d1 d2 d5 d4 d6 d7",
    # first two: d3 2 runs; d5 d1 1 run (sum 1); d6 d2 1 run (2); d7 d4 none
    "popularity k=2": "d3 d5 d1 d6 d2 d7 d4",
    # d3 .04840 d1 .04789 d2 .04763 d5 .03178 d4 .03101 d6 .01613 d7 .01538
    "rrf": "d3 d1 d2 d5 d4 d6 d7",
    # d3 1.833 d1 1.583 d5 1.2 d2 1.083 d6 .5 d4 .45 d7 .2
    "rrf k=0": "d3 d1 d5 d2 d6 d4 d7",
    # d3 2.131 d1 1.931 d2 1.562 d5 1.387 d4 .818 d6 .631 d7 .387
    "dcg": "d3 d1 d2 d5 d4 d6 d7",
    # d3 .488 d1 .4304 d2 .3904 d5 .28192 d4 .18432 d6 .16 d7 .08192
    "rbp-a": "d3 d1 d2 d5 d4 d6 d7",
    # d3 .875 d1 .6875 d5 .53125 d2 .4375 d6 .25 d4 .09375 d7 .03125
    "rbp-a p=0.5": "d3 d1 d5 d2 d6 d4 d7",
    # normalised: A 1 3/4 1/2 1/4 0; B d3 1, d6 d1 2/3, d2 1/3, d4 0; C d5 1, d3 3/4, d2 1/2, d1 1/4, d7 0
    "combsum": "d3 d1 d2 d5 d6 d4 d7",
    "combmnz": "d3 d1 d2 d5 d6 d4 d7",
    "combanz": "d3 d6 d1 d2 d5 d4 d7",
    "combmax": "d5 d3 d1 d2 d6 d4 d7",
    "combmin": "d6 d3 d2 d1 d7 d5 d4",
    "combmed": "d3 d6 d1 d5 d2 d4 d7",
    # d3 18 d1 16 d2 15 d5 11.5 d6 9 d4 8.5 d7 6
    "borda": "d3 d1 d2 d5 d6 d4 d7",
    # wins: d3 6, d1 5, d2 4, d5 2, d4 2, d7 0, d6 0
    "condorcet": "d3 d1 d2 d5 d4 d7 d6",
}


@pytest.mark.parametrize(("plan", "expected"), WORKED.items(), ids=WORKED)
def test_the_worked_example_comes_out_as_by_hand(order_of, plan, expected):
    assert order_of(plan) == expected


WORKED_WITH_A_RUN_MISSING = {
    # A: d1 d8; B: d8 d9; C does not have the topic
    "depth 1": "d8 d1",
    "take": "d1 d8 d9",
    "rrf": "d8 d1 d9",
    "combsum": "d8 d1 d9",
    "borda": "d8 d1 d9",  # d8 2 + 3, d1 3 + 1, d9 1 + 2, and 2 from C for each
    "condorcet": "d8 d9 d1",  # d8 beats d9; one vote each for d1 and d8, and for d1 and d9
    "combmed": "d1 d8 d9",  # d1 1, d8 (0 + 1) / 2, d9 0
}


@pytest.mark.parametrize(("plan", "expected"), WORKED_WITH_A_RUN_MISSING.items(), ids=WORKED_WITH_A_RUN_MISSING)
def test_a_run_that_lacks_the_topic_changes_nothing(order_of, plan, expected):
    assert order_of(plan, topic="2") == expected


def test_the_vectors_cover_every_fixed_strategy_whose_order_is_not_drawn():
    fixed = {name for name, part in strategies.items() if part.kind == "fixed"} - {"shuffle", "fair-take"}
    assert {plan.split()[0] for plan in WORKED} == fixed


def normalised(scores):
    low, high = min(scores.values()), max(scores.values())
    return {
        document: Fraction(score - low) / Fraction(high - low) if high > low else Fraction(1)
        for document, score in scores.items()
    }


class Slow:
    """Scores of documents, spelled out: `lists` are ranked documents by run, `spec` the scores."""

    def __init__(self, lists, scores):
        self.lists, self.documents = lists, sorted({document for some in lists.values() for document in some})
        self.y = {run: normalised(some) for run, some in scores.items() if some}

    def ranks(self, document):
        return [some.index(document) + 1 for some in self.lists.values() if document in some]

    def values(self, document):
        return [some[document] for some in self.y.values() if document in some]

    def scored(self, score):
        """Order by score, ties by id, descending."""
        return sorted(sorted(self.documents, reverse=True), key=score, reverse=True)

    def by_depth(self):
        return self.scored(lambda document: -min(self.ranks(document)))

    def by_take(self):
        order = []
        for rank in range(max(map(len, self.lists.values()))):
            order += [some[rank] for some in self.lists.values() if rank < len(some)]
        return list(dict.fromkeys(order))

    def by_popularity(self, k=30):
        within = {document: [rank for rank in self.ranks(document) if rank <= k] for document in self.documents}
        return self.scored(lambda document: (len(within[document]), -sum(within[document])))

    def by_rrf(self, k=60):
        return self.scored(lambda document: sum(Fraction(1, k + rank) for rank in self.ranks(document)))

    def by_dcg(self):
        return self.scored(
            lambda document: round(sum(sorted(1 / log2(rank + 1) for rank in self.ranks(document))), 10)
        )

    def by_rbp(self, p=Fraction(4, 5)):
        return self.scored(lambda document: sum((1 - p) * p ** (rank - 1) for rank in self.ranks(document)))

    def by_borda(self):
        count = len(self.documents)

        def points(document, some):
            if document in some:
                return Fraction(count - some.index(document))
            return Fraction(count - len(some) + 1, 2)

        return self.scored(lambda document: sum(points(document, some) for some in self.lists.values()))

    def by_condorcet(self):
        def votes(one, other):
            return sum(
                one in some and (other not in some or some.index(one) < some.index(other))
                for some in self.lists.values()
            )

        return self.scored(lambda one: sum(votes(one, other) > votes(other, one) for other in self.documents))


SLOW = {
    "depth 7": Slow.by_depth,
    "take": Slow.by_take,
    "popularity": Slow.by_popularity,
    "popularity k=2": lambda slow: slow.by_popularity(2),
    "rrf": Slow.by_rrf,
    "rrf k=0": lambda slow: slow.by_rrf(0),
    "dcg": Slow.by_dcg,
    "rbp-a": Slow.by_rbp,
    "rbp-a p=0.5": lambda slow: slow.by_rbp(Fraction(1, 2)),
    "combsum": lambda slow: slow.scored(lambda d: sum(slow.values(d))),
    "combmnz": lambda slow: slow.scored(lambda d: sum(slow.values(d)) * len(slow.values(d))),
    "combanz": lambda slow: slow.scored(lambda d: sum(slow.values(d)) / len(slow.values(d))),
    "combmax": lambda slow: slow.scored(lambda d: max(slow.values(d))),
    "combmin": lambda slow: slow.scored(lambda d: min(slow.values(d))),
    "combmed": lambda slow: slow.scored(lambda d: median(slow.values(d))),
    "borda": Slow.by_borda,
    "condorcet": Slow.by_condorcet,
}


@given(data=st.data())
def test_every_fixed_strategy_equals_the_slow_and_obvious_one(toolbox, data):
    spec = data.draw(toolbox.specs())
    runs = toolbox.pooled(spec)
    slow = Slow(toolbox.lists_of(spec, "0"), {run: lists["0"] for run, lists in spec.items()})
    for plan, obvious in SLOW.items():
        deep = f"depth {runs.depth}" if plan.startswith("depth") else plan
        assert build(parse(deep), runs).documents_of("0") == obvious(slow), plan


@given(data=st.data())
def test_fair_take_is_take_but_for_the_order_within_a_rank(toolbox, data):
    spec = data.draw(toolbox.specs())
    runs = toolbox.pooled(spec)
    lists = toolbox.lists_of(spec, "0")
    best = {d: min(some.index(d) for some in lists.values() if d in some) for some in lists.values() for d in some}
    order = build(parse("fair-take"), runs, seed=data.draw(st.integers(0, 99))).documents_of("0")
    assert sorted(order) == sorted(best)
    assert [best[document] for document in order] == sorted(best.values())


def test_fair_take_gives_every_run_its_turn_to_be_first(order_of):
    firsts = {order_of("fair-take 1", seed=seed) for seed in range(30)}
    assert firsts == {"d1", "d3", "d5"}


def test_a_shuffle_follows_its_seed_and_brings_everything(order_of):
    orders = {order_of("shuffle", seed=seed) for seed in range(20)}
    assert len(orders) > 15
    assert {" ".join(sorted(order.split())) for order in orders} == {"d1 d2 d3 d4 d5 d6 d7"}
    assert order_of("shuffle", seed=7) == order_of("shuffle", seed=7)


SYMMETRIC = sorted(
    {name for name, part in strategies.items() if part.kind == "fixed"} - {"take", "fair-take", "depth"}
)


@given(data=st.data())
def test_what_the_runs_are_called_and_how_they_are_given_changes_nothing(toolbox, data):
    spec = data.draw(toolbox.specs())
    renamed = dict(reversed([(f"z{9 - number}", lists) for number, lists in enumerate(spec.values())]))
    for name in SYMMETRIC:
        plan = parse(name)
        orders = [build(plan, toolbox.pooled(some)).documents_of("0") for some in (spec, renamed)]
        assert orders[0] == orders[1], name


@given(data=st.data())
def test_one_run_alone_keeps_its_order_under_every_fusion_of_ranks(toolbox, data):
    spec = data.draw(toolbox.specs(runs=1))
    lists = toolbox.lists_of(spec, "0")
    for name in ("rrf", "dcg", "rbp-a", "borda", "condorcet", "take", "popularity"):
        assert build(parse(name), toolbox.pooled(spec)).documents_of("0") == lists["r0"], name


def test_scores_that_span_all_doubles_are_normalised_without_overflow(toolbox):
    runs = toolbox.pooled({"A": {"1": {"x": 1.7e308, "y": -1.7e308, "z": 0.0}}})
    assert build(parse("combsum"), runs).documents_of("1") == ["x", "z", "y"]


def test_condorcet_counts_the_votes_of_many_runs(toolbox):
    """More runs than a byte can count: one run says b before a, all others the other way round."""
    spec = {f"r{number:03d}": {"1": {"a": 2, "b": 1}} for number in range(300)}
    spec["odd"] = {"1": {"b": 2, "a": 1, "c": 0}}
    assert build(parse("condorcet"), toolbox.pooled(spec)).documents_of("1") == ["a", "b", "c"]
