"""Many or large files are scored some at a time: the same scores, the same messages, less memory."""

from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.base import spread
from cranfield.evaluate import reading

KITCHEN = Path(__file__).parents[2] / "collections/kitchen"
QRELS = KITCHEN / "qrels.txt"
RUNS = sorted((KITCHEN / "runs").glob("*.run"))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Cut small jobs as if they were large; and the pieces that were cut."""
    monkeypatch.setattr(reading, "READ_AT_ONCE", 20_000)
    monkeypatch.setattr(reading, "MANY", spread.WORTH)
    cut: list[object] = []
    score = reading.score_in_pieces
    monkeypatch.setattr(reading, "score_in_pieces", lambda *given: cut.append(given[2]) or score(*given))
    return cut


def scored(*words: object, folder: Path, **options: object) -> str:
    return call("evaluate", "--qrels", QRELS, "--no-verdict", "-f", "csv", *words, folder=folder, **options).out


@pytest.mark.parametrize(
    "options",
    [(), ("--by-topic",), ("--topics", "run"), ("--ties", "best"), ("-m", "AP", "-m", "RBP", "-m", "ERR@10")],
)
def test_pieces_give_the_same_scores_and_notes(tmp_path: Path, monkeypatch, small_pieces, options):
    words = ("evaluate", "--qrels", QRELS, "--no-verdict", *RUNS, *options)
    there = [call(*words, "--jobs", jobs, folder=tmp_path) for jobs in (1, 2)]
    assert len(small_pieces) == 2
    monkeypatch.setattr(reading, "READ_AT_ONCE", 1 << 30)
    here = call(*words, folder=tmp_path)
    assert there == [here, here]
    assert len(small_pieces) == 2


def test_a_set_is_scored_in_pieces_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_pieces):
    call("runs", "pack", *RUNS, "-o", "runs.parquet", folder=tmp_path)
    assert scored("runs.parquet", folder=tmp_path) == scored(*RUNS, folder=tmp_path)
    assert len(small_pieces) == 2


@pytest.mark.parametrize("options", [("--topics", "common"), ("--ties", "expected")])
def test_what_needs_all_runs_is_done_at_once(tmp_path: Path, small_pieces, options):
    scored(*RUNS, *options, folder=tmp_path)
    assert not small_pieces


def test_all_bad_files_are_named_and_so_are_runs_of_another_collection(tmp_path: Path, small_pieces, kept: Kept):
    (tmp_path / "bad.run").write_text("T01 Q0 K001 1\n" * 100)
    (tmp_path / "worse.run").write_text("T01 Q0 K001 1 x y\n" * 100)
    kept(
        call(
            "evaluate", "--qrels", QRELS, "--no-verdict", *RUNS, "bad.run", "worse.run", status=1, folder=tmp_path
        ).err
    )
    (tmp_path / "other.run").write_text("".join(f"X1 Q0 D{one} {one} {-one} other\n" for one in range(1000)))
    kept(call("evaluate", "--qrels", QRELS, "--no-verdict", *RUNS, "other.run", status=1, folder=tmp_path).err)


def test_runs_with_equal_tags_are_named_by_their_files(tmp_path: Path, small_pieces):
    (tmp_path / "again.run").write_text(RUNS[0].read_text())
    found = scored(*RUNS, "again.run", folder=tmp_path)
    assert small_pieces
    assert "again.run," in found
    assert f"{RUNS[0].name}," in found


def test_verdicts_that_would_not_fit_in_memory_are_left_out_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_pieces, kept: Kept
):
    monkeypatch.setattr(reading, "exceed_memory", lambda cut: bool(cut))
    ended = call("evaluate", "--qrels", QRELS, *RUNS, "-f", "csv", folder=tmp_path)
    assert small_pieces
    assert ended.out == scored(*RUNS, folder=tmp_path)
    kept(ended.err)
