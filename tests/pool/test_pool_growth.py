"""Pools that grow, and what runs have in common."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.pool.build import build
from cranfield.pool.extend import extend
from cranfield.pool.plan import parse
from cranfield.workflows.pool.show import dominant_group


def told(pool):
    topics = [pool.topics[place] for place in pool.entries["topic"]]
    return list(zip(topics, pool.ids, pool.entries["version"].tolist(), strict=True))


def test_a_later_run_adds_only_what_is_new_and_nothing_moves(toolbox, worked):
    first = build(parse("depth 2"), worked.chosen(["A", "B"]))
    second = extend(first, worked)
    assert told(second) == [
        ("1", "d3", 1),
        ("1", "d1", 1),
        ("1", "d6", 1),
        ("1", "d2", 1),
        ("1", "d5", 2),
        ("2", "d8", 1),
        ("2", "d1", 1),
        ("2", "d9", 1),
    ]
    assert second.version == 2
    assert toolbox.entry(second, "1", "d3").contributions == [("B", 1), ("C", 2)]
    assert toolbox.entry(second, "1", "d5").stratum == "depth 2 +1"
    assert second.content_hash != first.content_hash


def test_extending_with_nothing_new_adds_nothing(worked):
    for plan in ("depth 2", "depth 1; rrf until 5; sample 50%", "stratified strata=1-2:50,3-5:50"):
        first = build(parse(plan), worked, seed=3)
        second = extend(first, worked)
        assert second.ids == first.ids
        assert second.entries["probability"].tolist() == first.entries["probability"].tolist()


def test_a_new_topic_enters_with_an_extension(worked):
    first = build(parse("depth 1"), worked.chosen(["A", "B"]), topics=["1"])
    assert extend(first, worked, topics=["2"]).sizes == {"1": 3, "2": 2}


@given(data=st.data())
def test_an_extension_keeps_every_entry_and_every_draw(toolbox, data):
    spec = data.draw(toolbox.specs(topics=2, documents=9))
    more = data.draw(toolbox.specs(topics=2, documents=9))
    spec_after = {**spec, **{f"later-{name}": lists for name, lists in more.items()}}
    seed = data.draw(st.integers(0, 5))
    plan = parse(
        data.draw(st.sampled_from(["take 2; sample 40%", "depth 1; sample 2", "rrf 2; statap 2", "borda 3"]))
    )
    first = build(plan, toolbox.pooled(spec), seed=seed)
    second = extend(first, toolbox.pooled(spec_after))
    for topic in first.topics:
        before, after = first.documents_of(topic), second.documents_of(topic)
        assert after[: len(before)] == before
        assert len(set(after)) == len(after)
    fresh = build(plan, toolbox.pooled(spec_after), seed=seed, topics=first.topics)
    certain = {(entry.topic, entry.document) for entry in toolbox.entries(fresh) if entry.step == 1}
    assert certain <= {(entry.topic, entry.document) for entry in toolbox.entries(second)}
    for row in range(len(second.topics)):
        entries = second.entries[second.entries["topic"] == row]
        for code in range(len(second.stratum_table)):
            assert (entries["stratum"] == code).sum() == second.drawn[row, code]
    assert (second.drawn <= second.populations).all()


def test_estimates_stay_right_on_average_when_a_pool_grows(toolbox):
    old = {"A": {"1": {f"d{number:02d}": 50.0 - number for number in range(30)}}}
    later = {
        name: {"1": {f"d{number:02d}": 50.0 - abs(number - top) for number in range(top, top + 26)}}
        for name, top in {"B": 5, "C": 10, "D": 15, "E": 19}.items()
    }
    before, after = toolbox.pooled(old), toolbox.pooled({**old, **later})
    # the later runs make certain what could be drawn before: d05 to d23; and they bring d30 to d44
    relevant = {f"d{number:02d}" for number in range(0, 45, 2)}
    estimates = []
    for seed in range(400):
        grown = extend(build(parse("depth 5; sample 30%"), before, seed=seed), after)
        estimates.append(sum(1 / entry.probability for entry in toolbox.entries(grown) if entry.document in relevant))
        assert len(grown) + len(grown.undrawn) == 45
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - len(relevant)) < 4 * error


def test_what_becomes_certain_leaves_its_sample_drawn_or_not(toolbox):
    old = {"A": {"1": {f"d{number}": 9.0 - number for number in range(9)}}}
    after = {**old, "B": {"1": {"d5": 2, "d6": 1}}}
    for seed in range(10):
        first = build(parse("depth 1; sample 50%"), toolbox.pooled(old), seed=seed)
        grown = extend(first, toolbox.pooled(after))
        drawn = first.documents_of("1")[1:]
        assert toolbox.entry(grown, "1", "d5").probability == 1
        assert toolbox.entry(grown, "1", "d5").version == (1 if "d5" in drawn else 2)
        left = [document for document in drawn if document != "d5"]
        chances = {document: toolbox.entry(grown, "1", document).probability for document in left}
        assert chances == dict.fromkeys(left, 0.5)  # what they were drawn with
        sample = [stratum.name for stratum in grown.stratum_table].index("sample 50%")
        assert (grown.populations[0, sample], grown.drawn[0, sample]) == (7, len(left))


def test_what_is_in_the_pool_goes_on_standing_for_its_near_duplicates(worked):
    clusters = {"d2": "x", "d5": "x"}
    first = build(parse("depth 2"), worked.chosen(["A", "B"]), topics=["1"], clusters=clusters)
    assert "d2" in first.documents_of("1")
    second = extend(first, worked, clusters=clusters)  # d5 is first in C, better than d2 in any run
    assert second.documents_of("1") == first.documents_of("1")
    assert [(one.document, one.representative) for one in second.duplicates] == [("d5", "d2")]


def test_a_group_that_supplies_most_is_named(kept: Kept):
    found = dominant_group([("A", 1, 0, 9), ("B", 1, 0, 3), ("C", 1, 0, 3)])
    assert (found.code, found.severity) == ("one-group-dominates", "warning")
    kept([str(found), found.remedy, dominant_group([("A", 2, 0, 9), ("B", 1, 0, 3), ("C", 1, 0, 3)]).remedy])
    assert dominant_group([("A", 1, 0, 3), ("B", 1, 0, 3), ("C", 1, 0, 3)]) is None
    assert dominant_group([("A", 1, 0, 9), ("B", 1, 0, 3)]) is None
    assert dominant_group([("A", 1, 0, 0), ("B", 1, 0, 0), ("C", 1, 0, 0)]) is None
