"""`cranfield evaluate --explain`: lists laid open, as the scores see them."""

import json
import re
from pathlib import Path

import pytest
from command import call
from kept import Kept

QRELS = "1 0 a 2\n1 0 b 0\n1 0 c 1\n1 0 d 2\n2 0 a 1\n"
FIRST = "".join(f"1 Q0 {name} 1 {score} first\n" for name, score in zip("dcba", (3, 2, 2, 2), strict=True))
SECOND = "1 Q0 b 1 2 second\n1 Q0 a 2 1 second\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    texts = {"qrels": QRELS, "first": FIRST, "second": SECOND, "clusters": "a\tone\nd\tone\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(*words: str) -> list[dict]:
    ended = call("evaluate", "--qrels", "qrels", "--explain", *words, "-f", "json")
    return json.loads(ended.out)


def steps(found: list[dict], run: str = "first") -> list[tuple]:
    rows = (row for row in found if row["run"] == run)
    return [(row["document"], row["grade"], round(row["P"], 3), round(row["R"], 3)) for row in rows]


def test_each_row_names_its_run_and_topic_and_what_it_was_made_with():
    first, *_, last = explained("first", "1", "second")
    made = {"qrels": first["qrels"], "reference": "trec_eval 10"}
    assert first == {"run": "first", "topic": "1", "rank": 1, "document": "d", "grade": "2", "P": 1.0, "R": 1 / 3,
                     "DCG": 2.0, **made}  # fmt: skip
    assert (last["run"], last["rank"], last["document"], last["P"]) == ("second", 2, "a", 0.5)
    ended = call("evaluate", "--qrels", "qrels", "first", "-m", "AP", "-f", "json")
    assert json.loads(ended.out)[0]["qrels"] == first["qrels"]


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_for_people_the_lists_stand_side_by_side(format: str, kept: Kept):
    shown = call("evaluate", "--qrels", "qrels", "--explain", "first", "1", "second", "-f", format)
    said = shown.out.replace("\\", "")
    kept(said)
    assert sum("document" in line and line.count("document") == 2 for line in shown.out.splitlines()) == 1
    missing = "second: relevant, not retrieved: d (grade 2), c (grade 1)"
    assert missing in (shown.err if format == "table" else said)


def test_relevant_documents_below_the_ranks_shown_are_named(kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "--explain", "first", "1", "--depth", "1")
    kept(ended.err)


def test_dcg_is_that_of_the_gains_asked_for():
    found = explained("first", "1", "-m", "DCG(gains={2: 8})")
    assert [round(row["DCG"], 4) for row in found] == [8.0, 8.6309, 8.6309, 12.0763]


@pytest.mark.parametrize(("columns", "tables"), [(120, 1), (80, 1), (70, 2)])
def test_two_lists_stand_side_by_side_on_an_ordinary_terminal(monkeypatch, columns: int, tables: int):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    out = call("evaluate", "--qrels", "qrels", "--explain", "first", "1", "second", terminal=True).out
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()
    assert sum("DCG" in line for line in lines) == tables
    assert max(len(line.rstrip()) for line in lines) <= columns
    assert ("1.0000" in "".join(lines)) == (columns != 80)


def test_the_threshold_is_that_of_the_measure():
    assert steps(explained("first", "1", "-m", "AP(rel=2)")) == [
        ("d", "2", 1.0, 0.5), ("c", "1", 0.5, 0.5), ("b", "0", 0.333, 0.5), ("a", "2", 0.5, 1.0)
    ]  # fmt: skip


def test_ties_stand_in_the_order_that_is_scored():
    assert [step[0] for step in steps(explained("first", "1", "--ties", "best"))] == ["d", "a", "c", "b"]
    found = explained("first", "1", "--ties", "worst")
    assert [step[0] for step in steps(found)] == ["d", "b", "c", "a"]
    assert {row["reference"] for row in found} == {"trec_eval 10, ties worst"}


def test_with_novelty_a_copy_is_not_relevant_and_its_cluster_counts_once():
    novelty = ("--duplicates", "clusters")
    found = explained("first", "1", *novelty)
    assert steps(found) == [
        ("d", "2", 1.0, 0.5), ("c", "1", 1.0, 1.0), ("b", "0", 0.667, 1.0), ("a", "2 copy", 0.5, 1.0)
    ]  # fmt: skip
    ended = call("evaluate", "--qrels", "qrels", "first", "-m", "AP", "-f", "json", *novelty)
    assert json.loads(ended.out)[0]["qrels"] == found[0]["qrels"]


@pytest.mark.parametrize(
    "words",
    [
        ["--plot", "x.svg"],
        ["--letters", "t", "--by-topic"],
        ["--topics", "common"],
        ["--ties", "expected"],
        ["-m", "AP(rel=2)", "-m", "AP"],
        ["-m", "nDCG", "-m", "DCG(gains={1: 3})"],
        ["-m", "nDCG(gain=exponential)"],
    ],
)
def test_what_would_change_nothing_is_refused(words: list[str], kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "--explain", "first", "1", *words, status=2)
    kept(" ".join(ended.err.split()))
