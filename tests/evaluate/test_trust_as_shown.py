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


def trust(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name][:6] if name != "verdict" else row[name] for name in TRUST)


def test_a_hole_that_is_tied_across_the_cutoff_is_flagged_and_has_no_interval_of_another_order(kept: Kept):
    plain, _ = evaluated("-m", "P@2")
    assert trust(plain["new", "all"]) == ("1.0", "1.0", "1.0", "1.0", "0.0", "0.0", "SAFE")
    for ties, value in (("best", "1.0"), ("worst", "0.5"), ("expected", "0.75")):
        rows, told = evaluated("-m", "P@2", "--ties", ties, "--by-topic")
        assert trust(rows["new", "all"]) == (value, "", "", "0.5", "", "", "UNTESTABLE")
        assert trust(rows["new", "t1"]) == (value, "", "", "0.5", "", "", "")
        assert rows["new", "all"]["reason"].startswith("with unjudged documents first within ties: ")
        kept(" ".join(told.split()))
        assert f"new P@2 {float(value):.3f}".replace(" 0.", " .") in told


def test_a_run_whose_ties_cannot_matter_keeps_its_interval_whatever_the_order(kept: Kept):
    plain, _ = evaluated("-m", "P@2", "--by-topic")
    worst, _ = evaluated("-m", "P@2", "--ties", "worst", "--by-topic")
    for run in POOLED:
        for topic in (*TOPICS, "all"):
            assert trust(worst[run, topic]) == trust(plain[run, topic])
    rows, told = evaluated("-m", "P@3", "--ties", "best")
    assert trust(rows["new", "all"])[1:3] == ("0.6666", "1.0")
    kept(told)


def test_an_order_of_judged_ties_that_changes_the_score_has_no_interval_but_the_same_verdict():
    rows, _ = evaluated("-m", "P@2", "--ties", "best")
    assert trust(rows["judged", "all"]) == ("1.0", "", "", "1.0", "", "", "SAFE")


def test_scores_by_novelty_have_no_interval_of_the_plain_score(kept: Kept):
    rows, told = evaluated("-m", "P@3", "--duplicates", "clusters.tsv", "--by-topic")
    assert trust(rows["copies", "all"])[:6] == ("0.3333", "", "", "0.6666", "", "")
    assert trust(rows["copies", "t1"])[:6] == ("0.3333", "", "", "0.6666", "", "")
    assert rows["copies", "all"]["verdict"] == "UNTESTABLE"
    assert rows["copies", "all"]["reason"].startswith("of the plain score: ")
    assert trust(rows["judged", "all"]) == ("0.6666", "0.6666", "0.6666", "1.0", "", "", "SAFE")
    kept(" ".join(told.split()))
    assert "copies P@3 .333" in told


def test_rounding_as_an_old_version_leaves_no_score_without_its_verdict():
    rows, _ = evaluated("-m", "IPrec@0.9", "--as", "9")
    assert {row["measure"] for row in rows.values()} == {"IPrec(rounding='9')@0.9"}
    assert (rows["copies", "all"]["verdict"], rows["p1", "all"]["verdict"]) == ("SAFE", "POOLED")


@pytest.mark.parametrize(("format", "bold"), [("markdown", "| **1.0000** |"), ("latex", r"& \textbf{1.0000} &")])
def test_what_is_bold_has_no_blanks_inside_its_marks(format: str, bold: str):
    ended = call("evaluate", "p1.run", "copies.run", *POOL, "-m", "P@3", "-f", format)
    assert bold in ended.out
