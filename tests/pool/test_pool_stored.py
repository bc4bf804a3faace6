"""Pools in a collection: what is read back is what was built, and damage is told in a sentence."""

import pytest
from kept import Kept

from cranfield.base.errors import CollectionError, InputError, ProblemsFound
from cranfield.judge.queue import Speed
from cranfield.pool.build import build
from cranfield.pool.plan import parse
from cranfield.store import runs as stored_runs
from cranfield.store.pools import stored_pool, versions_of_pool
from cranfield.workflows.corpus import Corpus
from cranfield.workflows.pool import inputs
from cranfield.workflows.pool.pool import Pool
from cranfield.workflows.pool.show import judging_speed

PLANS = [
    "depth 2",
    "depth 1; rrf until 4; sample 50%",
    "stratified strata=1-2:50,3-5:50",
    "depth 1 by=group; cap 2",
    "depth 5; rrf 2",  # the second step adds nothing: all is there already
    "depth 1; mtf until 6",
]


@pytest.mark.parametrize("order", ["plan", "id", "random"])
@pytest.mark.parametrize("plan", PLANS)
def test_a_pool_is_read_back_as_it_was_built(hall, toolbox, plan, order):
    hall.submit(toolbox.worked, groups={"A": "north", "B": "north", "C": "south"})
    facts = Pool(hall.store).build(plan, seed=2, order=order).facts
    runs = inputs.pooled_runs(hall.store, stored_runs.facts(hall.store))
    built = build(parse(plan), runs, seed=2, order=order)
    loaded = stored_pool(hall.store, "pool")
    assert (
        loaded.content_hash
        == built.content_hash
        == facts["content_hash"]
        == versions_of_pool(hall.store, "pool")[0].content_hash
    )
    assert (loaded.plan, loaded.seed, loaded.order, loaded.sources) == (built.plan, 2, order, built.sources)
    assert sorted(loaded.undrawn["topic"].tolist()) == sorted(built.undrawn["topic"].tolist())
    assert stored_pool(hall.store, "pool", contributions=False).ids == built.ids
    assert hall.wrong() == []


@pytest.mark.parametrize("plan", PLANS)
def test_what_comes_of_extending_what_was_stored_is_proved_from_the_runs(hall, toolbox, plan):
    hall.submit({name: lists for name, lists in toolbox.worked.items() if name != "C"})
    hall.build(plan, seed=1)
    hall.submit({"C": toolbox.worked["C"]})
    assert Pool(hall.store).extend().facts["version"] == 2
    hall.submit({"D": {"1": {"d9": 2.0, "d8": 1.0}, "3": {"d1": 1.0}}})
    Pool(hall.store).extend(topics=["3"])
    assert stored_pool(hall.store, "pool").topics == ("1", "2", "3")
    assert [one.version for one in versions_of_pool(hall.store, "pool")] == [1, 2, 3]
    assert hall.wrong() == []


def test_topics_that_a_pool_does_not_have_are_named_when_it_grows(hall, toolbox, kept: Kept):
    hall.submit(toolbox.worked)
    hall.build("depth 1", topics=("1",))
    hall.submit({"D": {"1": {"d9": 1.0}, "2": {"d9": 1.0}, "3": {"d1": 1.0}}})
    kept("\n".join(Pool(hall.store).extend().notes))
    with kept.raises(InputError):
        Pool(hall.store).extend(topics=["nowhere"])


def test_an_extension_that_a_live_plan_cannot_afford_is_refused_before_anything_is_written(hall, toolbox, kept: Kept):
    hall.submit({"A": toolbox.worked["A"]})
    hall.build("depth 2; mtf budget 5 across topics")
    hall.submit({"B": toolbox.worked["B"], "C": toolbox.worked["C"]})
    with kept.raises(ProblemsFound):
        Pool(hall.store).extend()
    assert len(versions_of_pool(hall.store, "pool")) == 1
    assert hall.wrong() == []


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM pool_versions",
        "DELETE FROM pool_runs WHERE run = 'A'",
        "DELETE FROM pool_topics WHERE topic = '2'",
    ],
)
def test_a_damaged_pool_is_told_in_a_sentence(hall, toolbox, statement, kept: Kept):
    hall.submit(toolbox.worked)
    hall.build("depth 1; sample 50%")
    hall.store.connection.execute(statement)
    with kept.raises(CollectionError):
        stored_pool(hall.store, "pool")


def test_a_document_that_no_run_has_is_told_when_the_pool_is_to_grow(hall, toolbox, kept: Kept):
    hall.submit(toolbox.worked)
    hall.build("depth 1; mtf until 3")
    hall.store.connection.execute("UPDATE pool_entries SET document = 'nobody' WHERE topic = '1' AND position = 1")
    with kept.raises(ProblemsFound):
        hall.refill("1")


def test_the_speed_is_the_median_of_enough_judgments_or_assumed(hall, toolbox, kept: Kept):
    assert judging_speed(hall.store) == Speed(30.0, 0)
    kept(Speed(30.0).cost(120))
    kept(Speed(30.0).cost(3))
    kept(Speed(0.4, 20).cost(5))
    kept(Speed(1.0, 29).cost(5))
    for number in range(19):
        hall.judge("1", f"d{number}", seconds=10.0 + number)
    hall.judge("1", "by a machine", seconds=1000.0, source="machine", assessor="robot")
    assert judging_speed(hall.store) == Speed(30.0, 0)
    hall.judge("1", "one more", seconds=50.0)
    assert judging_speed(hall.store) == Speed(19.5, 20)


CHANGED = {
    "UPDATE pools SET plan = 'depth 99'": "the plan is 'depth 99', but the inputs of the pool give",
    "UPDATE pools SET grammar = 2": "the version of the grammar is 2, but the inputs of the pool give 1",
    "UPDATE pools SET one_per_cluster = 1": "the option --one-per-cluster is True, but the inputs of the pool give",
    "UPDATE pool_runs SET group_name = 'east' WHERE run = 'A'": "version 1: the plan, options or runs",
    "UPDATE pool_runs SET priority = 7 WHERE run = 'A'": "version 1: the plan, options or runs",
    "UPDATE pool_entries SET probability = 0.25 WHERE step = 2 AND topic = '1'": (
        "probability is 0.25, but 0.5 by the plan"
    ),
    "UPDATE pool_strata SET population = 9 WHERE step = 1 AND topic = '1'": (
        "stratum 1 1 depth 1: population is 9, but 3 by the plan"
    ),
    "DELETE FROM pool_ranks WHERE run = 'A' AND document = 'd3'": "contribution 1 d3 A is missing from the store",
    "INSERT INTO pool_duplicates VALUES (1, '1', 'd9', 'd1')": (
        "near-duplicate 1 d9 is stored but not in the rebuilt pool"
    ),
}


@pytest.mark.parametrize("statement", CHANGED)
def test_a_change_of_a_stored_pool_is_told_by_what_was_changed(hall, toolbox, statement):
    hall.submit(toolbox.worked, groups={"A": "north", "B": "north", "C": "south"})
    hall.build("depth 1; sample 50%", seed=2)
    assert hall.wrong() == []
    hall.store.connection.execute(statement)
    assert CHANGED[statement] in "\n".join(hall.wrong())
    assert not [said for said in hall.wrong() if "probability" in statement and "missing" in said]


def test_of_many_differences_the_first_are_told_and_the_others_counted(hall, toolbox):
    hall.submit(toolbox.worked)
    hall.build("depth 5")
    hall.store.connection.execute("UPDATE pool_entries SET step = 2 WHERE topic = '1'")
    assert hall.wrong() == [
        *(f"entry 1 d{number}: step is 2, but 1 by the plan" for number in (1, 2, 3, 4)),
        "entry 1 d5: step is 2, but 1 by the plan (and 2 more)",
    ]


def test_of_a_manifest_from_before_it_is_said_what_is_not_proved(hall, toolbox, kept: Kept):
    hall.submit(toolbox.worked)
    hall.build("depth 1")
    assert list(Pool(hall.store).verify().notes) == []
    hall.store.connection.execute("UPDATE pool_versions SET inputs_hash = ''")
    assert hall.wrong() == []
    kept(list(Pool(hall.store).verify().notes))


def test_a_pool_whose_plan_would_be_refused_today_can_still_be_read(hall, toolbox, kept: Kept):
    """Its plan has no effect in parts; it is read, shown and extended all the same."""
    hall.submit({name: lists for name, lists in toolbox.worked.items() if name != "C"})
    hall.build("stratified strata=1-5:50", seed=1)
    for table in ("pools", "pool_versions"):
        hall.store.connection.execute(
            f"UPDATE {table} SET plan_in_full = 'stratified strata=1-5:50 order=rank until 3'"
        )
    hall.store.connection.execute("UPDATE pool_versions SET inputs_hash = ''")
    kept(str(stored_pool(hall.store, "pool").plan))
    assert Pool(hall.store).show("pool").documents == 5
    hall.submit({"C": toolbox.worked["C"]})
    assert Pool(hall.store).extend().facts["version"] == 2


def test_copies_are_named_in_the_story_of_what_stands_for_them(hall, monkeypatch, kept: Kept):
    hall.submit({"A": {"1": {"d1": 3, "d2": 2, "x2": 1}}, "B": {"1": {"x1": 3, "d2": 2}}})
    monkeypatch.setattr("cranfield.workflows.corpus.known_clusters", lambda store: {"x1": 1, "x2": 1})
    hall.build("depth 3", one_per_cluster=True)
    story = Pool(hall.store).explain("1", "x1")
    assert story.table().records() == [{"run": "B", "rank": 1}]
    kept(story.notes[-1])


def test_a_search_that_found_no_near_duplicates_is_told_as_such(hall, small, kept: Kept):
    hall.submit({"A": {"1": {"d1": 2, "d2": 1}}})
    with kept.raises(InputError):
        hall.build("depth 1", one_per_cluster=True)
    Corpus(small).duplicates()
    with kept.raises(InputError):
        hall.build("depth 1", one_per_cluster=True)
