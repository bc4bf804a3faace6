"""Verdicts on scores by other orders of ties and by novelty: never the interval of one score beside another."""

import csv
import io
from pathlib import Path

import pytest
from command import call
from kept import Kept

TOPICS = ("t1", "t2", "t3")
POOLED = {"p1": "abc", "p2": "bca", "p3": "cab", "p4": "acb"}
TRUST = ("value", "low", "high", "judged", "loss", "loss_upper", "verdict")
POOL = ("--qrels", "qrels", "--groups", "groups.tsv", "--pool-depth", "3")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Documents a to c are pooled and judged; `new` has c and then b tied with a0, which nobody judged."""
    grades = {"a": 1, "b": 1, "c": 1}
    judged = [f"{topic} 0 {document} {grade}\n" for topic in TOPICS for document, grade in grades.items()]
    (tmp_path / "qrels").write_text("".join([*judged, *(f"{topic} 0 z 0\n" for topic in TOPICS)]))
    for name, ranking in POOLED.items():
        write(tmp_path, name, [(document, 9 - place) for place, document in enumerate(ranking)])
    write(tmp_path, "new", [("c", 5), ("b", 4), ("a0", 4)])
    write(tmp_path, "judged", [("c", 5), ("z", 4), ("b", 4)])
    write(tmp_path, "copies", [("a", 5), ("b", 4), ("u", 3)])
    (tmp_path / "groups.tsv").write_text("".join(f"{name}\tgroup {name}\tpooled\n" for name in POOLED))
    (tmp_path / "clusters.tsv").write_text("a\tone\nb\tone\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, name: str, scored: list[tuple[str, int]]) -> None:
    lines = [f"{topic} Q0 {document} 1 {score} {name}\n" for topic in TOPICS for document, score in scored]
    (folder / f"{name}.run").write_text("".join(lines))


def evaluated(*words: str) -> tuple[dict[tuple[str, str], dict[str, str]], str]:
    runs = [f"{name}.run" for name in (*POOLED, "new", "judged", "copies")]
    shown = call("evaluate", *runs, *POOL, *words, "-f", "csv")
    return {(row["run"], row["topic"]): row for row in csv.DictReader(io.StringIO(shown.out))}, shown.err


@pytest.mark.parametrize("words", [("--ties", "best"), ("--ties", "expected"), ("--duplicates", "clusters.tsv")])
def test_scores_that_are_not_of_the_lists_as_they_stand_have_no_verdict(words: tuple[str, ...], kept: Kept):
    plain, _ = evaluated("-m", "P@2", "-m", "P@3", "--by-topic")
    rows, told = evaluated("-m", "P@2", "-m", "P@3", "--by-topic", *words)
    assert {*TRUST[1:]} <= plain["new", "all"].keys()
    assert not {*TRUST[1:]} & rows["new", "all"].keys()
    kept(" ".join(told.split()))


@pytest.mark.parametrize(("format", "bold"), [("markdown", "| **1.0000** |"), ("latex", r"& \textbf{1.0000} &")])
def test_what_is_bold_has_no_blanks_inside_its_marks(format: str, bold: str):
    ended = call("evaluate", "p1.run", "copies.run", *POOL, "-m", "P@3", "-f", format)
    assert bold in ended.out
