"""Grades pass to near-duplicates on request, marked, and never against anybody's own look."""

from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import InputError
from cranfield.judge.external import propagated
from cranfield.store import documents
from cranfield.store.events import events, projection_faults
from cranfield.store.store import Store
from cranfield.workflows.judge.imports import Propagated, import_judgments, propagate
from cranfield.workflows.qrels import qrels_for

NOW = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def clustered(judging: Store) -> Store:
    from cranfield.corpus.near_duplicates import Cluster

    clusters = [
        Cluster("near", "d01", (("d01", 1.0), ("d02", 0.9), ("d03", 0.85))),
        Cluster("exact", "d05", (("d05", 1.0), ("d30", 1.0))),
    ]
    with judging.write():
        documents.put_clusters(judging, documents.Scan(0.8, 5, 128, 1, 30), clusters)
    return judging


def judged(store: Store, folder: Path, *rows: str) -> None:
    file = folder / f"given{len(list(folder.glob('given*')))}.csv"
    file.write_text("\n".join(["topic,document,grade,assessor", *rows]))
    import_judgments(store, file)


def test_a_grade_passes_to_the_other_members_of_its_cluster(clustered: Store, tmp_path: Path):
    judged(clustered, tmp_path, "t1,d02,3,ada", "t2,d05,1,bob")
    assert propagate(clustered) == Propagated(new=3, same=0, withdrawn=0, differing=[])
    passed = [(one.topic, one.document, one.grade, one.assessor, one.reason) for one in events(clustered)][2:]
    assert passed == [
        ("t1", "d01", 3, "ada", "near-duplicate of d02"),
        ("t1", "d03", 3, "ada", "near-duplicate of d02"),
        ("t2", "d30", 1, "bob", "near-duplicate of d05"),
    ]
    assert {one.kind for one in events(clustered)} == {"imported", "propagated"}
    assert list(qrels_for(clustered)) == [
        *(("t1", "d01", 3), ("t1", "d02", 3), ("t1", "d03", 3)),
        *(("t2", "d05", 1), ("t2", "d30", 1)),
    ]
    assert propagate(clustered) == Propagated(new=0, same=3, withdrawn=0, differing=[])
    assert projection_faults(clustered) == []


def test_a_cluster_whose_members_were_judged_differently_passes_nothing(clustered: Store, tmp_path: Path):
    judged(clustered, tmp_path, "t1,d01,3,ada", "t1,d02,0,ada")
    done = propagate(clustered)
    assert done == Propagated(new=0, same=0, withdrawn=0, differing=[("t1", "d01", 3), ("t1", "d02", 0)])


def test_what_passed_is_taken_back_when_it_no_longer_would_and_passes_again_when_it_would(
    clustered: Store, tmp_path: Path
):
    judged(clustered, tmp_path, "t1,d01,3,ada")
    assert propagate(clustered).new == 2
    judged(clustered, tmp_path, "t1,d02,0,bob")
    assert propagate(clustered) == Propagated(0, 0, 2, [("t1", "d01", 3), ("t1", "d02", 0)])
    assert list(qrels_for(clustered)) == [("t1", "d01", 3), ("t1", "d02", 0)]
    judged(clustered, tmp_path, "t1,d02,3,bob")
    assert propagate(clustered) == Propagated(1, 0, 0, [])
    assert list(qrels_for(clustered)) == [("t1", "d01", 3), ("t1", "d02", 3), ("t1", "d03", 3)]
    assert projection_faults(clustered) == []


def test_a_grade_that_changed_passes_in_place_of_the_old_one(clustered: Store, tmp_path: Path):
    judged(clustered, tmp_path, "t1,d01,3,ada")
    propagate(clustered)
    judged(clustered, tmp_path, "t1,d01,1,ada")
    assert propagate(clustered) == Propagated(2, 0, 2, [])
    assert {grade for _, _, grade in qrels_for(clustered)} == {1}


def test_one_look_at_a_document_counts_more_than_what_passed_to_it(clustered: Store, tmp_path: Path):
    judged(clustered, tmp_path, "t1,d01,3,ada")
    propagate(clustered)
    judged(clustered, tmp_path, "t1,d03,1,zoe")
    assert ("t1", "d03", 1) in list(qrels_for(clustered))


def test_without_a_search_for_duplicates_there_is_nothing_to_pass(judging: Store, kept: Kept):
    with kept.raises(InputError):
        propagate(judging)


def test_the_source_is_the_first_judged_member_in_the_order_of_the_cluster():
    grades = {("1", "b"): 2, ("1", "c"): 2, ("2", "a"): 0}
    sources, differing = propagated(grades, [["a", "b", "c", "d"], ["e", "f"]])
    assert sources == {("1", "a"): "b", ("1", "d"): "b", ("2", "b"): "a", ("2", "c"): "a", ("2", "d"): "a"}
    assert differing == []
