"""Stored runs reach their grades by codes alone, and get the same grades and ties as with ids and scores."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command import call
from kept import Kept
from mappings import qrels_from

from cranfield.base.errors import CollectionError
from cranfield.evaluate import align as pairs_module
from cranfield.evaluate.align import KnownRun, StoredRuns, align, coded_pairs
from cranfield.runs.columns import text_of
from cranfield.runs.encoding import CodedOrder, decode, decode_order, encode
from cranfield.runs.run import Run
from cranfield.workflows.collection import open_collection
from cranfield.workflows.inputs import run_store

TEXT = pa.large_string()


def written(folder: Path, *, seed: int, decimals: int) -> list[str]:
    """Write runs with ties, topics without qrels and topics missing; give their tags."""
    rng = np.random.default_rng(seed)
    for number in range(4):
        lines = []
        for topic in rng.choice(9, 8, replace=False):
            documents = rng.choice(40, 15, replace=False)
            scores = np.round(rng.random(15) * 3, decimals)
            lines += [
                f"{topic} Q0 d{name} 1 {score} r{number}\n" for name, score in zip(documents, scores, strict=True)
            ]
        (folder / f"r{number}.run").write_text("".join(lines), encoding="utf-8")
    return [f"r{number}" for number in range(4)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    call("init")
    return tmp_path


@pytest.mark.parametrize("decimals", [1, 17])
@pytest.mark.parametrize("topics", ["qrels", "common", "run", ["3", "5"]])
def test_both_ways_give_the_same_alignment(folder: Path, decimals: int, topics):
    names = written(folder, seed=decimals, decimals=decimals)
    call("runs", "submit", *(f"{name}.run" for name in names))
    rng = np.random.default_rng(1)
    qrels = qrels_from(
        {f"{topic}": {f"d{name}": int(rng.integers(-1, 3)) for name in rng.choice(50, 12)} for topic in range(2, 8)}
    )
    with open_collection(folder / "collection.db") as store:
        both = (StoredRuns(run_store(store), lambda: qrels), StoredRuns(run_store(store)))
        short, long = ([stored.fetched(name)() for name in names] for stored in both)
    assert {type(run) for run in short} == {KnownRun}
    assert {type(run) for run in long} == {Run}
    one, other = (align(qrels, runs, topics=topics) for runs in (short, long))
    assert one.lists.grades.tolist() == other.lists.grades.tolist()
    assert one.lists.offsets.tolist() == other.lists.offsets.tolist()
    assert one.tied.tolist() == other.tied.tolist()
    assert one.tied.any() == (decimals == 1)
    assert (one.run_names, one.extra_topics, one.topic_ids) == (other.run_names, other.extra_topics, other.topic_ids)


def test_a_run_that_means_its_own_order_has_no_ties(folder: Path):
    (folder / "r.run").write_text("1 Q0 a 2 1 r\n1 Q0 b 1 1 r\n", encoding="utf-8")
    call("runs", "submit", "r.run", "--order", "rank")
    with open_collection(folder / "collection.db") as store:
        run = StoredRuns(run_store(store), lambda: qrels_from({"1": {"b": 1}})).fetched("r")()
    assert (run.judged.tolist(), run.tied.tolist()) == ([0, -1], [False, False])


def test_a_table_that_would_be_too_large_is_not_made(folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "r.run").write_text("1 Q0 a 1 1 r\n", encoding="utf-8")
    call("runs", "submit", "r.run")
    monkeypatch.setattr(pairs_module, "LARGEST_TABLE", 0)
    with open_collection(folder / "collection.db") as store:
        assert isinstance(StoredRuns(run_store(store), lambda: qrels_from({"1": {"b": 1}})).fetched("r")(), Run)


@pytest.mark.parametrize(("topic", "document"), [(0, 2), (0, -1), (1, 0)])
def test_codes_that_the_collection_does_not_have_are_an_error(topic: int, document: int, kept: Kept):
    pairs = coded_pairs(qrels_from({"1": {"b": 1}}), pa.array(["1"], TEXT), pa.array(["a", "b"], TEXT))
    damaged = CodedOrder(np.array([topic]), np.array([0, 1]), np.array([document]), np.array([False]))
    with kept.raises(CollectionError):
        pairs.known(damaged, pa.array(["1"], TEXT), name="r", has_ties=True)


@pytest.mark.parametrize(
    "scores", [[], [1.0], [2.0, 2.0, 2.0, 1.5, 1.5], [1 / 3] * 5, [0.0, -0.0, -1e-300], [1 / 3, 1 / 3, 0.1]]
)
def test_ties_are_read_without_the_scores(scores: list[float]):
    counts = [len(scores)] if len(scores) < 5 else [2, len(scores) - 2]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    ids, rows = text_of([]), np.arange(len(scores))
    block = encode(Run("", ids, offsets, ids, rows, np.array(scores)), np.arange(len(counts)), rows)
    order, whole = decode_order(block), decode(block)
    expected = [row not in offsets and whole.scores[row] == whole.scores[row - 1] for row in range(len(scores))]
    assert order.tied.tolist() == expected
    assert order.documents.tolist() == whole.documents.tolist()
    assert (order.topics.tolist(), order.offsets.tolist()) == (whole.topics.tolist(), whole.offsets.tolist())
