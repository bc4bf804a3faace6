"""Pools: what is in them, why, and that the same inputs give the same pool."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from offering import batch

from cranfield.base.errors import InputError, ProblemsFound, UsageError
from cranfield.pool.build import build
from cranfield.pool.candidates import PooledRuns, candidates_of, pooled_runs
from cranfield.pool.live import LivePool
from cranfield.pool.plan import parse
from cranfield.pool.pool import Duplicate
from cranfield.pool.strategies.weights import hedge_gains


def test_an_entry_tells_every_run_and_rank_that_brought_it(toolbox, worked):
    pool = build(parse("depth 2; rrf until 7"), worked, topics=["1"])
    runs = [("A", 3), ("B", 1), ("C", 2)]
    assert toolbox.entry(pool, "1", "d3") == ("1", "d3", 2, 1, "depth 2", 1.0, 1, runs)
    runs = [("A", 4), ("B", 5)]
    assert toolbox.entry(pool, "1", "d4") == ("1", "d4", 6, 2, "rrf until 7", 1.0, 1, runs)
    assert toolbox.entry(pool, "1", "d7") == ("1", "d7", 7, 2, "rrf until 7", 1.0, 1, [("C", 5)])


def test_a_plan_that_looks_no_deeper_pools_no_deeper(toolbox, worked):
    pool = build(parse("depth 2"), worked, topics=["1"])
    assert {entry.document: entry.contributions for entry in toolbox.entries(pool)} == {
        "d1": [("A", 1)],
        "d2": [("A", 2)],
        "d3": [("B", 1), ("C", 2)],
        "d5": [("C", 1)],
        "d6": [("B", 2)],
    }


def test_a_topic_that_is_not_in_the_pool_has_no_documents(worked, kept: Kept):
    with kept.raises(InputError):
        build(parse("depth 1"), worked).documents_of("3")


def test_later_steps_add_only_what_is_not_there_yet(order_of):
    assert order_of("depth 1; take 2") == "d5 d3 d1 d2 d6"
    assert order_of("depth 1; take until 4") == "d5 d3 d1 d2"
    assert order_of("depth 1; take until 2") == "d5 d3 d1"
    assert order_of("depth 1; take 50%") == "d5 d3 d1 d2 d6"
    assert order_of("depth 1; take 1%") == "d5 d3 d1 d2"
    assert order_of("depth 1; take ranks=4-5") == "d5 d3 d1 d4 d7"
    assert order_of("take; cap 3") == "d1 d3 d5"
    assert order_of("depth 1; cap 2; take until 3") == "d5 d3 d1"


def test_a_depth_by_topic_goes_as_deep_as_the_documents_allow(order_of):
    sizes = {amount: len(order_of(f"depth {amount} by=topic").split()) for amount in range(2, 8)}
    assert sizes == {2: 0, 3: 3, 4: 3, 5: 5, 6: 6, 7: 7}


def test_the_judging_order_is_the_plans_or_by_id_or_drawn(order_of):
    assert order_of("depth 2") == "d5 d3 d1 d6 d2"
    assert order_of("depth 2", order="id") == "d1 d2 d3 d5 d6"
    drawn = {order_of("depth 2", order="random", seed=seed) for seed in range(10)}
    assert len(drawn) > 5
    assert {" ".join(sorted(order.split())) for order in drawn} == {"d1 d2 d3 d5 d6"}


GROUPS = {"A": "north", "B": "north", "C": "south"}


def test_a_group_brings_so_many_documents_however_many_runs_it_has(toolbox):
    runs = toolbox.pooled(toolbox.worked, GROUPS)
    # north: d1 d3 (rank 1 of A, B), d2 d6 (2), then d4 …; south: d5 d3 d2 d1 d7
    pool = build(parse("depth 2 by=group"), runs, topics=["1"])
    assert pool.documents_of("1") == ["d5", "d1", "d3"]
    assert build(parse("depth 3 by=group"), runs, topics=["1"]).documents_of("1") == ["d5", "d1", "d3", "d2"]
    # a group is one voter: north d1 d3 d2 d6 d4 d5, south d5 d3 d2 d1 d7; d3 .03226, d1 .03202,
    # d2 .03175, d5 .03155, d6 .01563, d7 and d4 .01538
    fused = build(parse("rrf by=group"), runs, topics=["1"])
    assert fused.documents_of("1") == ["d3", "d1", "d2", "d5", "d6", "d7", "d4"]


def test_the_priority_a_group_gives_its_runs_decides_who_is_first(toolbox):
    from dataclasses import replace

    runs = toolbox.pooled(toolbox.worked, GROUPS)
    swapped = tuple(replace(run, priority={"A": 2}.get(run.name, 1)) for run in runs.runs)
    pools = [
        build(parse("take 2 by=group"), some, topics=["1"]).documents_of("1")
        for some in (runs, PooledRuns(swapped, runs.topic_ids, runs.document_ids))
    ]
    assert pools == [["d1", "d5"], ["d3", "d5"]]


def test_a_budget_is_shared_evenly_and_what_a_topic_cannot_use_goes_to_the_others(worked):
    sizes = {budget: build(parse(f"take budget {budget}"), worked).sizes for budget in (1, 2, 5, 7, 8, 10, 12)}
    assert sizes == {
        1: {"1": 1, "2": 0},
        2: {"1": 1, "2": 1},
        5: {"1": 3, "2": 2},
        7: {"1": 4, "2": 3},
        8: {"1": 5, "2": 3},
        10: {"1": 7, "2": 3},
        12: {"1": 7, "2": 3},
    }
    assert build(parse("depth 2; take budget 9"), worked).sizes == {"1": 6, "2": 3}


def test_a_budget_below_the_warm_up_is_refused(worked, kept: Kept):
    with pytest.raises(ProblemsFound) as caught:
        build(parse("depth 2; take budget 7"), worked)
    kept([str(problem) for problem in caught.value.problems])


def test_everything_that_keeps_a_pool_from_being_built_is_said_at_once(worked):
    with pytest.raises(ProblemsFound) as caught:
        build(parse("depth 6; sample 5% ranks=3-9"), worked, topics=["1", "9", "10"])
    assert [(problem.code, str(problem)) for problem in caught.value.problems] == [
        ("topic-without-runs", "no selected run has the topic '10'"),
        ("topic-without-runs", "no selected run has the topic '9'"),
        ("depth-beyond-runs", "'depth 6' exceeds the runs: the longest ranking has 5 documents"),
        ("depth-beyond-runs", "'sample 5% ranks=3-9' exceeds the runs: the longest ranking has 5 documents"),
    ]


def test_an_empty_selection_is_refused(worked, kept: Kept):
    with kept.raises(ProblemsFound):
        pooled_runs([], topic_ids=worked.topic_ids, document_ids=worked.document_ids)
    with kept.raises(ProblemsFound):
        build(parse("depth 1"), worked.chosen(["nobody"]))
    with kept.raises(ProblemsFound):
        build(parse("depth 1"), worked, topics=[])
    with kept.raises(UsageError):
        build(parse("depth 1"), worked, seed=-1)


def test_one_near_duplicate_stands_for_its_cluster(worked):
    clusters = {"d3": "x", "d5": "x", "d2": "y", "d7": "y", "d9": "z", "elsewhere": "z"}
    pool = build(parse("depth 4"), worked, topics=["1"], clusters=clusters)
    assert pool.documents_of("1") == ["d5", "d1", "d6", "d2", "d4"]
    assert pool.duplicates == (Duplicate("1", "d3", "d5"),)  # d7 lies beyond the pooled part
    deeper = build(parse("depth 5"), worked, topics=["1"], clusters=clusters)
    assert deeper.duplicates == (Duplicate("1", "d3", "d5"), Duplicate("1", "d7", "d2"))


COPIES = {"A": {"1": {"d1": 10, "d2": 5, "d4": 4, "x2": 0}}, "B": {"1": {"x1": 9, "d3": 8, "d2": 3, "d5": 2}}}
"""x1 and x2 are near-duplicates; x2 has the lowest score of A and its last rank."""


@pytest.mark.parametrize(
    "plan", ["combsum", "combmnz", "combmin", "combmed", "borda", "rrf", "dcg", "combsum by=group", "rrf by=group"]
)
def test_a_near_duplicate_that_stays_out_changes_no_score_of_the_others(toolbox, plan):
    runs = toolbox.pooled(COPIES, {"A": "north", "B": "north"} if "group" in plan else None)
    everything = build(parse(plan), runs).documents_of("1")
    pool = build(parse(plan), runs, clusters={"x1": "x", "x2": "x"})
    assert pool.documents_of("1") == [document for document in everything if document != "x2"]


def test_a_group_has_its_ranks_before_a_near_duplicate_stays_out(toolbox):
    spec = {"A": {"1": {"d1": 3, "x2": 2, "d2": 1}}, "B": {"1": {"x1": 3, "d3": 2}}}
    runs = toolbox.pooled(spec, {"A": "north", "B": "north"})  # d1 x1 x2 d3 d2
    assert build(parse("depth 3 by=group"), runs, clusters={"x1": 1, "x2": 1}).documents_of("1") == ["d1", "x1"]


def test_borda_and_hedge_count_what_stays_out_too(toolbox):
    # twelve documents: x gets 12 from A and (12 − 5 + 1) / 2 from B, y gets 8 from each; y has the higher id
    spec = {
        "A": {"1": {name: 9.0 - place for place, name in enumerate(["x", "a", "b", "c", "y", "d", "v", "w"])}},
        "B": {"1": {name: 9.0 - place for place, name in enumerate(["e", "f", "g", "h", "y"])}},
    }
    runs = toolbox.pooled(spec)
    found = build(parse("borda"), runs, clusters={"v": 1, "w": 1}).documents_of("1")
    assert [name for name in found if name in "xy"] == ["y", "x"]
    whole = candidates_of(runs, "1")
    kept = np.array([name != "w" for name in whole.ids])
    assert hedge_gains(whole.only(kept)).tolist() == hedge_gains(whole)[:, kept].tolist()


def test_lengths_and_scores_are_those_of_the_whole_list(toolbox):
    runs = toolbox.pooled(COPIES)
    whole = candidates_of(runs, "1")
    kept = np.array([name not in ("x2", "d5") for name in whole.ids])
    left = whole.only(kept)
    assert left.ids == ["x1", "d4", "d3", "d2", "d1"]
    assert (left.lengths.tolist(), left.documents_found) == ([4, 4], 7)
    assert left.normalised.tolist() == whole.normalised[:, kept].tolist()
    assert left.ranks.tolist() == whole.ranks[:, kept].tolist()


def test_statap_and_hedge_work_where_the_end_of_a_list_stays_out(toolbox):
    runs, clusters = toolbox.pooled({"A": COPIES["A"], "B": {"1": {"x1": 2, "d1": 1}}}), {"x1": "x", "x2": "x"}
    assert build(parse("statap 4"), runs, clusters=clusters).sizes == {"1": 4}
    live = LivePool(parse("hedge"), runs, clusters=clusters)
    assert batch(live, 9)[0].document == "d1"


PLANS = [
    "depth 3",
    "depth 2 by=group; cap 4",
    "take 3; sample 40%",
    "depth 1; rrf until 4; sample 2 ranks=2-5",
    "stratified strata=1-2:50,3-9:20",
    "statap 3",
    "fair-take 4",
    "borda budget 5",
]


@given(data=st.data())
def test_the_same_inputs_give_the_same_pool_whatever_their_order_and_coding(toolbox, data):
    spec = data.draw(toolbox.specs(topics=2))
    groups = {name: f"g{number % 2}" for number, name in enumerate(spec)}
    shuffled = {name: dict(reversed(spec[name].items())) for name in data.draw(st.permutations(list(spec)))}
    runs, again = toolbox.pooled(spec, groups), toolbox.pooled(shuffled, groups)
    seed = data.draw(st.integers(0, 5))
    for plan in map(parse, PLANS):
        if any(problem_depth > runs.depth for problem_depth in _depths(plan)):
            continue
        one, other = build(plan, runs, seed=seed), build(plan, again, seed=seed)
        assert toolbox.entries(one) == toolbox.entries(other)
        assert one.content_hash == other.content_hash


def _depths(plan):
    for step in plan.steps:
        yield getattr(step, "reach", 0) or 0
        scope = getattr(step, "scope", None)
        yield scope.ranks[1] if scope is not None and scope.ranks else 0


def test_the_hash_is_that_of_the_bytes_written_down(toolbox):
    from hashlib import sha256
    from struct import pack

    pool = build(parse("depth 1; sample 1"), toolbox.pooled({"A": {"1": {"x": 3, "y": 2, "z": 1}, "2": {"x": 1}}}))
    drawn = pool.documents_of("1")[1]
    rank = {"y": 2, "z": 3}[drawn]

    def whole(*numbers):
        return pack(f"<{len(numbers)}q", *numbers)

    expected = b"cranfield-pool-1\n"
    expected += b"1\n2\0" + whole(2, 1)
    expected += f"x\n{drawn}\nx\0".encode() + whole(0, 1, 0) + whole(1, 1, 1) + whole(1, 2)
    expected += b"depth 1\nsample 1\0" + pack("<3d", 1, 0.5, 1) + whole(1, 2, 1, 0) + whole(1, 1, 1, 0)
    expected += b"A\0" + whole(1, 1, 1) + whole(0, 0, 0) + whole(1, rank, 1)
    assert pool.content_hash == sha256(expected).hexdigest()


@pytest.mark.parametrize("change", ["seed", "order", "plan", "runs"])
def test_another_pool_has_another_hash(worked, change):
    plan, options, runs = "depth 2; sample 1", {"seed": 1}, worked
    first = build(parse(plan), runs, **options).content_hash
    if change == "seed":
        hashes = {build(parse(plan), runs, seed=seed).content_hash for seed in range(20)}
        assert len(hashes) > 1
        return
    if change == "order":
        options["order"] = "id"
    if change == "plan":
        plan = "depth 3; sample 1"
    if change == "runs":
        runs = worked.chosen(["A", "B"])
    assert build(parse(plan), runs, **options).content_hash != first
