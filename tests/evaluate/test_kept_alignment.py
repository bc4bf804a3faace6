"""Stored runs are read and aligned once for whoever evaluates them again."""

from pathlib import Path

import numpy as np
import pytest
from command import call

import cranfield as cf
from cranfield.evaluate.scores import Scores

QRELS = "1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 z 0\n"
RUN = "1 Q0 a 1 2 first\n1 Q0 b 2 1 first\n2 Q0 x 1 2 first\n2 Q0 a 2 1 first\n"


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS, encoding="utf-8")
    (tmp_path / "one.run").write_text(RUN, encoding="utf-8")
    (tmp_path / "two.run").write_text(RUN.replace("first", "second").replace(" x ", " y "), encoding="utf-8")
    call("init")
    call("runs", "submit", "one.run", "two.run")
    return tmp_path / "collection.db"


def scored(opened: cf.Opened, measures: str = "AP", **options) -> Scores:
    return opened.results.evaluate(measures.split(), verdicts=False, **options).scores


def test_the_second_evaluation_takes_the_alignment_of_the_first(collection: Path, monkeypatch):
    with cf.open_collection(collection, qrels=Path("qrels")) as opened:
        first = scored(opened)
        monkeypatch.setattr("cranfield.evaluate.reading.read_aligned", None)
        second = scored(opened, "AP P@5")
        monkeypatch.undo()
    monkeypatch.chdir(collection.parent)
    with cf.open_collection(collection, qrels=Path("qrels")) as opened:
        anew = scored(opened, "AP P@5")
    assert np.array_equal(second.values, anew.values)
    assert np.array_equal(second.values[0], first.values[0])


@pytest.mark.parametrize(
    "change",
    [{"runs": ["second", "first"]}, {"topics": "run"}, {"topics": "chosen"}, {"runs": ["first", "./two.run"]}],
)
def test_whatever_is_asked_otherwise_is_aligned_anew(collection: Path, change):
    Path("chosen").write_text("1\n", encoding="utf-8")
    with cf.open_collection(collection, qrels=Path("qrels")) as opened:
        scored(opened)
        found = scored(opened, **change)
    with cf.open_collection(collection, qrels=Path("qrels")) as opened:
        anew = scored(opened, **change)
    assert (found.run_names, found.topic_ids) == (anew.run_names, anew.topic_ids)
    assert (found.qrels_hash, found.values.tolist(), found.scored.tolist()) == (
        anew.qrels_hash,
        anew.values.tolist(),
        anew.scored.tolist(),
    )


def test_what_the_qrels_file_says_counts_and_not_its_name(collection: Path):
    with cf.open_collection(collection, qrels=Path("qrels")) as opened:
        before = scored(opened, "P@5", runs=["first"])
        Path("qrels").write_text(QRELS.replace("1 0 b 0", "1 0 b 1"), encoding="utf-8")
        after = scored(opened, "P@5", runs=["first"])
    assert before.values.tolist() == [[[0.2, 0.2, 0.0]]]
    assert after.values.tolist() == [[[0.4, 0.2, 0.0]]]
