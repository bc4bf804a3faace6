"""Who brought what: owners, depths by topic, levels, outsiders, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.base.errors import InputError
from cranfield.evaluate.align import KnownRun, align
from cranfield.reuse.provenance import MANY, NOBODY, Contributor, provenance_of

QRELS = qrels_from({"1": {"a": 2, "b": 0, "c": -1, "d": 1}, "2": {"a": 1, "e": 0}})
RUNS = [
    ranking_from({"1": ["a", "b", "x"], "2": ["a"]}, tag="A"),
    ranking_from({"1": ["a", "c"], "2": ["e", "a"]}, tag="B"),
    ranking_from({"1": ["d", "a"]}, tag="C"),
]
GIVEN = [
    Contributor("A", "one", "lexical"),
    Contributor("B", "two", "lexical"),
    Contributor("C", "three", "dense", False),
]
ALIGNED = align(QRELS, RUNS)


def owners(provenance):
    names = {MANY: "many", NOBODY: "nobody", **dict(enumerate(provenance.groups))}
    return [names[owner] for owner in provenance.owner.tolist()]


def test_each_row_has_the_group_that_alone_brought_it():
    provenance = provenance_of(ALIGNED, QRELS, RUNS, GIVEN, depth=2)
    assert provenance.groups == ("one", "two")
    assert provenance.group_of_run.tolist() == [0, 1, -1]
    assert owners(provenance) == ["many", "one", "two", "nobody", "many", "two"]
    assert provenance.removed_counts.tolist() == [[[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 0]]]
    assert provenance.qrels_row.tolist() == [0, 1, -1, 4, 0, 2, 5, 4, 3, 0]
    assert [places.tolist() for places in provenance.removed_places] == [[1], [5, 6]]
    assert (int(provenance.judged.sum()), provenance.orphans) == (5, 1)


def test_the_depth_may_differ_by_topic():
    provenance = provenance_of(ALIGNED, QRELS, RUNS, GIVEN, depth=np.array([1, 2]))
    assert owners(provenance) == ["many", "nobody", "nobody", "nobody", "many", "two"]
    assert provenance.depth.tolist() == [1, 2]


def test_runs_and_families_are_levels_too():
    found = provenance_of(ALIGNED, QRELS, RUNS, [replace(one, contributing=True) for one in GIVEN], depth=2)
    assert owners(found.by("run")) == ["many", "A", "B", "C", "many", "B"]
    assert found.by("family").groups == ("dense", "lexical")
    assert owners(found.by("family")) == ["many", "lexical", "lexical", "dense", "lexical", "lexical"]


def test_a_run_without_a_group_is_a_group_of_its_own():
    assert provenance_of(ALIGNED, QRELS, RUNS, [Contributor("A", ""), Contributor("B", "")], depth=1).groups == (
        "A",
        "B",
    )


def test_runs_known_by_their_rows_alone_give_the_same():
    known = [
        KnownRun(run.tag, run.tag, run.topic_ids, run.offsets, rows, np.zeros(len(rows), dtype=bool))
        for run, rows in zip(
            RUNS, np.split(provenance_of(ALIGNED, QRELS, RUNS, GIVEN, depth=2).qrels_row, [4, 8]), strict=True
        )
    ]
    aligned = align(QRELS, known)
    assert owners(provenance_of(aligned, QRELS, known, GIVEN, depth=2)) == owners(
        provenance_of(ALIGNED, QRELS, RUNS, GIVEN, depth=2)
    )


@pytest.mark.parametrize("topics", ["qrels", "run", ["2"]])
def test_rows_kept_while_aligning_need_not_be_found_again(topics):
    kept = align(QRELS, RUNS, topics=topics, keep_rows=True)
    plain = align(QRELS, RUNS, topics=topics)
    assert kept.lists.grades.tolist() == plain.lists.grades.tolist()
    found = provenance_of(kept, QRELS, RUNS, GIVEN, depth=2)
    assert found.qrels_row is kept.qrels_row
    assert found.qrels_row.tolist() == provenance_of(plain, QRELS, RUNS, GIVEN, depth=2).qrels_row.tolist()


def test_some_topics_alone_can_be_looked_at():
    aligned = align(QRELS, RUNS, topics=["2"])
    provenance = provenance_of(aligned, QRELS, RUNS, GIVEN, depth=2)
    assert owners(provenance) == ["nobody"] * 4 + ["many", "two"]
    assert provenance.removed_counts.tolist() == [[[0, 0, 0]], [[1, 0, 0]]]
    assert (int(provenance.judged.sum()), provenance.orphans) == (2, 0)


def test_a_kept_pool_has_the_depth_to_which_all_lists_are_judged():
    entries = [("1", "a", "A"), ("1", "a", "B"), ("1", "b", "A"), ("2", "a", "A"), ("1", "d", "C"), ("7", "a", "A")]
    provenance = provenance_of(ALIGNED, QRELS, RUNS, GIVEN, entries=entries).by("group")
    assert owners(provenance) == ["many", "one", "nobody", "nobody", "one", "nobody"]
    assert provenance.depth.tolist() == [2, 2]


@pytest.mark.parametrize("given_by", [[Contributor("A", "one", contributing=False)], []])
def test_contributors_that_cannot_be_are_refused(given_by, kept: Kept):
    with kept.raises(InputError):
        provenance_of(ALIGNED, QRELS, RUNS, given_by, depth=2)
