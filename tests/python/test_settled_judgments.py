"""Judgments that were chosen to settle a pair: what is asked for next, and what is said of them afterwards."""

import shutil
from pathlib import Path

from command import call
from kept import Kept

import cranfield as cf

KITCHEN = Path(__file__).parents[2] / "collections/kitchen"
PAIR = ("mortar-dense", "stove-rocchio")


def judged(folder: Path, grades: list[tuple[str, str, int]]) -> None:
    rows = "".join(f"{topic},{document},{grade},ana\n" for topic, document, grade in grades)
    (folder / "more.csv").write_text(f"topic,document,grade,assessor\n{rows}", encoding="utf-8")
    assert call("judge", "import", "more.csv", folder=folder).status == 0


def test_after_each_judgment_the_rest_is_ordered_anew_until_the_pair_is_decided(
    kitchen: Path, tmp_path: Path, kept: Kept
):
    """Documents that are not relevant though relevant ones were expected make all others of the run less likely."""
    shutil.copy(kitchen, tmp_path / "collection.db")
    with cf.open_collection(tmp_path / "collection.db") as opened:
        first = opened.settle(*PAIR, measures="P@5", queue="close", everything=True)
    rounds, left = [first], first
    while len(left):
        assert left["worst_case"].iloc[0] == len(left)
        judged(tmp_path, [(left["topic"].iloc[0], left["document"].iloc[0], 0)])
        with cf.open_collection(tmp_path / "collection.db") as opened:
            left = opened.settle(*PAIR, measures="P@5", everything=True)
        rounds.append(left)
    asked = {*zip(first["topic"], first["document"], strict=True)}
    assert all({*zip(one["topic"], one["document"], strict=True)} < asked for one in rounds[1:])
    expected = [one["expected"].iloc[0] for one in rounds if len(one)]
    assert expected[0] > expected[-1]
    kept("\n".join(rounds[3].attrs["notes"]))
    kept("\n".join(rounds[-1].attrs["notes"]))


def test_other_runs_are_told_that_some_judgments_favour_two_runs(kitchen: Path, tmp_path: Path, kept: Kept):
    shutil.copy(kitchen, tmp_path / "collection.db")
    with cf.open_collection(tmp_path / "collection.db") as opened:
        found = opened.settle(*PAIR, measures="P@5", queue="close")
        before = opened.evaluate("P@5").attrs["qrels"]
    kept(found.attrs["notes"][-1])
    judged(tmp_path, [(found["topic"].iloc[0], found["document"].iloc[0], 2)])
    with cf.open_collection(tmp_path / "collection.db") as opened:
        after = opened.evaluate("P@5")
    assert after.attrs["qrels"] != before
    kept("\n".join(after.attrs["notes"]))
    call("qrels", "release", "first", "--bundle", "bundle", folder=tmp_path)
    with cf.open_files(qrels=tmp_path / "bundle", runs=KITCHEN / "runs/mortar-dense.run") as published:
        kept("\n".join(published.evaluate("P@5").attrs["notes"]))
