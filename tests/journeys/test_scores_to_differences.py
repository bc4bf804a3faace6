"""The command line from qrels and runs to differences, as a user would type it."""

import csv
import io
from pathlib import Path

import pytest
from command import call
from kept import Kept

TOPICS = [f"{number}" for number in range(1, 9)]


def run_file(path: Path, tag: str, ranks: list[int]) -> None:
    """Write a run that has the one relevant document of each topic at a given rank of ten."""
    with path.open("w") as stream:
        for topic, rank in zip(TOPICS, ranks, strict=True):
            for place in range(1, 11):
                document = "rel" if place == rank else f"non{place}"
                stream.write(f"{topic} Q0 {document} {place} {20 - place} {tag}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text("".join(f"{topic} 0 rel 1\n{topic} 0 non1 0\n" for topic in TOPICS))
    run_file(tmp_path / "good.run", "good", [1, 1, 1, 2, 1, 1, 2, 1])
    run_file(tmp_path / "seed2.run", "seed2", [1, 1, 2, 1, 1, 1, 1, 1])
    run_file(tmp_path / "fair.run", "fair", [2, 2, 3, 2, 2, 3, 2, 2])
    run_file(tmp_path / "poor.run", "poor", [9, 8, 9, 7, 9, 8, 9, 9])
    return tmp_path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_all_pairs_with_corrected_significance(folder: Path, kept: Kept):
    _, out, err = call(
        "compare",
        "good.run",
        "fair.run",
        "poor.run",
        "--qrels",
        "qrels.txt",
        "-m",
        "RR",
        "--format",
        "csv",
        folder=folder,
    )
    found = {(row["a"], row["b"]): row for row in rows(out)}
    assert set(found) == {("good", "fair"), ("good", "poor"), ("fair", "poor")}
    assert float(found["good", "poor"]["mean_a"]) == pytest.approx(7 / 8)
    assert all(float(row["p"]) <= float(row["adjusted_p"]) < 0.05 for row in found.values())
    kept(err)


def test_the_table_marks_the_runs_that_are_level_with_the_best(folder: Path):
    out = call("compare", "good.run", "seed2.run", "poor.run", "--qrels", "qrels.txt", "-m", "RR", folder=folder).out
    cells = [line.split() for line in out.splitlines()]
    level = {row[0]: "yes" in row for row in reversed(cells) if row and row[0] in ("good", "seed2", "poor")}
    assert level == {"good": True, "seed2": True, "poor": False}


def test_against_a_baseline(folder: Path):
    out = call(
        *("compare", "good.run", "fair.run", "poor.run", "--qrels", "qrels.txt"),
        *("-m", "RR", "-b", "fair", "-f", "csv"),
        folder=folder,
    ).out
    assert [(row["a"], row["b"]) for row in rows(out)] == [("good", "fair"), ("poor", "fair")]


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation", "bootstrap", "tukey"])
def test_every_test_tells_the_good_from_the_poor_and_never_says_zero(folder: Path, test: str):
    words = ["compare", "good.run", "poor.run", "--qrels", "qrels.txt", "-m", "RR", "--test", test, "-f", "csv"]
    (row,) = rows(call(*words, folder=folder).out)
    assert 0 < float(row["adjusted_p"]) < 0.05


def test_the_same_seed_gives_the_same_bytes(folder: Path):
    words = ["compare", "good.run", "fair.run", "--qrels", "qrels.txt", "--test", "bootstrap", "-f", "csv"]
    assert call(*words, folder=folder) == call(*words, folder=folder)


def test_too_few_draws_are_told(folder: Path, kept: Kept):
    many = [f"r{number}.run" for number in range(8)]
    for number, name in enumerate(many):
        run_file(folder / name, f"r{number}", [(number + topic) % 10 + 1 for topic in range(8)])
    words = ("compare", *many, "--qrels", "qrels.txt", "--test", "bootstrap", "--draws", "100")
    kept(call(*words, "--alpha", "0.25", folder=folder).err)
    kept(call(*words, folder=folder).err)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["good.run"], 2),
        (["good.run", "poor.run", "-b", "god"], 2),
        (["good.run", "poor.run", "--test", "tt"], 2),
        (["good.run", "poor.run", "--correction", "hulm"], 2),
        (["good.run", "poor.run", "--topics", "run"], 0),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence(folder: Path, words: list[str], status: int, kept: Kept):
    kept(call("compare", *words, "--qrels", "qrels.txt", "-m", "RR", status=status, folder=folder).err)


def test_the_tests_are_listed(folder: Path):
    names = {row["name"] for row in rows(call("tests", "-f", "csv", folder=folder).out)}
    assert {"t", "wilcoxon", "sign", "randomisation", "bootstrap", "tukey", "holm", "benjamini-hochberg"} <= names


@pytest.mark.parametrize(("kind", "beginning"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_pair_is_drawn_topic_by_topic(folder: Path, kind: str, beginning: bytes):
    words = ("compare", "good.run", "poor.run", "--qrels", "qrels.txt", "-m", "RR", "--plot")
    call(*words, f"first.{kind}", folder=folder)
    call(*words, f"second.{kind}", folder=folder)
    drawn = (folder / f"first.{kind}").read_bytes()
    assert drawn.startswith(beginning)
    assert drawn == (folder / f"second.{kind}").read_bytes()
    assert not list(folder.glob("*.unfinished"))


def test_a_figure_of_several_pairs_and_an_unknown_kind_of_figure_are_refused(folder: Path, kept: Kept):
    words = ("compare", "good.run", "fair.run", "poor.run", "--qrels", "qrels.txt", "-m", "RR", "--plot")
    kept(call(*words, "all.svg", status=2, folder=folder).err)
    kept(call(*words, "all.gif", status=2, folder=folder).err)
