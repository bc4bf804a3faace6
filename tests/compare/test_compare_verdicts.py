"""Verdicts in comparisons: none is dropped without a word."""

import json
from pathlib import Path

import pytest
from command import call
from kept import Kept

import cranfield as cf

TOPICS = ("t1", "t2", "t3")
RANKINGS = {"p1": "abc", "p2": "bca", "p3": "cab", "s1": "abc", "s2": "auv"}
RUNS = [f"{name}.run" for name in RANKINGS]
POOL = ("--qrels", "qrels", "--groups", "groups.tsv", "--pool-depth", "3")
SINGLE = {"p1": "POOLED", "p2": "POOLED", "p3": "POOLED", "s1": "SAFE", "s2": "UNRELIABLE"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    grades = {"a": 1, "b": 1, "c": 0}
    (tmp_path / "qrels").write_text(
        "".join(f"{topic} 0 {document} {grade}\n" for topic in TOPICS for document, grade in grades.items())
    )
    for name, ranking in RANKINGS.items():
        lines = [f"{topic} Q0 {one} 1 {9 - place} {name}\n" for topic in TOPICS for place, one in enumerate(ranking)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "groups.tsv").write_text("".join(f"{name}\tgroup {name}\tpooled\n" for name in ("p1", "p2", "p3")))
    (tmp_path / "clusters.tsv").write_text("a\tone\nb\tone\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdicts(markdown: str) -> dict[str, str]:
    """Give the verdict of each entry of the first table; nothing where it has no such column."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in markdown.splitlines() if line[:1] == "|"]
    place = lines[0].index("verdict")
    ends = next(number for number, cells in enumerate(lines) if cells[:2] == ["run", "against"])
    return {cells[0]: cells[place] for cells in lines[2:ends]}


def compared(*words: str) -> tuple[dict[str, str], str]:
    _, out, told = call("compare", *RUNS, *POOL, "-m", "P@3", "-f", "markdown", *words)
    return verdicts(out), told


def test_the_table_of_runs_has_their_verdicts():
    assert compared()[0] == SINGLE


def test_a_comparison_by_novelty_has_no_verdicts_and_says_so(kept: Kept):
    _, out, told = call("compare", *RUNS, *POOL, "-m", "P@3", "-f", "csv", "--duplicates", "clusters.tsv")
    assert not {"claim", "verdict_a", "verdict_b"} & set(out.splitlines()[0].split(","))
    kept(told)


def test_measures_that_have_no_verdicts_are_named(kept: Kept):
    words = ("compare", *RUNS, *POOL, "-m", "P@3", "-m", "P(judged_only=True)@3")
    kept(call(*words).err)


def test_pairs_have_the_same_columns_whether_or_not_anything_is_unjudged():
    groups = {name: name for name in ("p1", "p2", "p3")}
    files = cf.open_files(qrels="qrels", runs=RUNS, groups=groups, pool_depth=3, progress=False)
    judged, unjudged = files.compare("p1", "p3", measures="P@2"), files.compare("p1", "s2", measures="P@2")
    assert list(judged.columns) == list(unjudged.columns)
    assert [frame.claim.tolist() for frame in (judged, unjudged)] == [["robust"], ["open"]]


def test_a_verdict_that_holds_down_to_a_rank_or_by_an_inferred_pool_says_so_in_tables_and_data():
    (row,) = json.loads(call("compare", *RUNS[:2], *POOL, "-m", "AP", "-f", "json").out)
    assert (row["verdict_a"], row["verdict_b"]) == ("POOLED to rank 3", "POOLED to rank 3")
    assert verdicts(call("compare", *RUNS[:2], *POOL, "-m", "AP", "-f", "markdown").out) == {
        "p1": "POOLED to rank 3",
        "p2": "POOLED to rank 3",
    }
