"""Stored runs are read and aligned once for whoever evaluates them again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import call

from cranfield.workflows.collection import open_collection
from cranfield.workflows.evaluate import evaluate as step
from cranfield.workflows.evaluate import inputs as evaluate_reading
from cranfield.workflows.evaluate.inputs import AlignmentCache

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


def test_the_second_evaluation_takes_the_alignment_of_the_first(collection: Path, monkeypatch):
    kept = AlignmentCache()
    asked = step.Request(qrels=Path("qrels"), runs=("first", "second"), measures=("AP",))
    with open_collection(collection) as store:
        first = step.evaluate(asked, store=store, kept=kept).scores
        monkeypatch.setattr(evaluate_reading, "_runs", None)
        other = replace(asked, measures=("AP", "P@5"))
        second = step.evaluate(other, store=store, kept=kept).scores
        monkeypatch.undo()
        monkeypatch.chdir(collection.parent)
        anew = step.evaluate(other, store=store).scores
    assert np.array_equal(second.values, anew.values)
    assert np.array_equal(second.values[0], first.values[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda asked: replace(asked, runs=("second", "first")),
        lambda asked: replace(asked, like="9"),
        lambda asked: replace(asked, topics="run"),
        lambda asked: replace(asked, topics="chosen"),
        lambda asked: replace(asked, qrels=Path("others")),
        lambda asked: replace(asked, runs=("first", "./two.run")),
    ],
)
def test_whatever_is_asked_otherwise_is_aligned_anew(collection: Path, change):
    Path("chosen").write_text("1\n", encoding="utf-8")
    Path("others").write_text(QRELS.replace("1 0 b 0", "1 0 b 1"), encoding="utf-8")
    kept = AlignmentCache()
    asked = step.Request(qrels=Path("qrels"), runs=("first", "second"), measures=("AP",))
    with open_collection(collection) as store:
        step.evaluate(asked, store=store, kept=kept)
        found = step.evaluate(change(asked), store=store, kept=kept).scores
        anew = step.evaluate(change(asked), store=store).scores
    assert (found.run_names, found.topic_ids, found.reference) == (anew.run_names, anew.topic_ids, anew.reference)
    assert (found.qrels_hash, found.values.tolist(), found.scored.tolist()) == (
        anew.qrels_hash,
        anew.values.tolist(),
        anew.scored.tolist(),
    )


def test_what_the_qrels_file_says_counts_and_not_its_name(collection: Path):
    kept = AlignmentCache()
    asked = step.Request(qrels=Path("qrels"), runs=("first",), measures=("P@5",))
    with open_collection(collection) as store:
        before = step.evaluate(asked, store=store, kept=kept).scores
        Path("qrels").write_text(QRELS.replace("1 0 b 0", "1 0 b 1"), encoding="utf-8")
        after = step.evaluate(asked, store=store, kept=kept).scores
    assert before.values.tolist() == [[[0.2, 0.2, 0.0]]]
    assert after.values.tolist() == [[[0.4, 0.2, 0.0]]]
