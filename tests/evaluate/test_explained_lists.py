"""`cranfield evaluate --explain`: lists laid open, as the scores see them."""

import json
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
def test_for_people_the_lists_stand_one_below_the_other(format: str, kept: Kept):
    shown = call("evaluate", "--qrels", "qrels", "--explain", "first", "1", "second", "-f", format)
    said = shown.out.replace("\\", "")
    kept(said)
    assert "second: relevant, not retrieved: d (grade 2), c (grade 1)" in said


def test_relevant_documents_below_the_ranks_shown_are_named(kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "--explain", "first", "1", "--depth", "1")
    kept(ended.out)


def test_dcg_is_that_of_the_gains_asked_for():
    found = explained("first", "1", "-m", "DCG(gains={2: 8})")
    assert [round(row["DCG"], 4) for row in found] == [8.0, 8.6309, 8.6309, 12.0763]


def test_the_threshold_is_that_of_the_measure():
    assert steps(explained("first", "1", "-m", "AP(rel=2)")) == [
        ("d", "2", 1.0, 0.5), ("c", "1", 0.5, 0.5), ("b", "0", 0.333, 0.5), ("a", "2", 0.5, 1.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["--plot", "x.svg"],
        ["--by-topic", "--chart"],
        ["--topics", "common"],
        ["--ties", "best"],
        ["--duplicates", "novelty"],
        ["-m", "AP(rel=2)", "-m", "AP"],
        ["-m", "nDCG(gain=exponential)"],
    ],
)
def test_what_would_change_nothing_is_refused(words: list[str], kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "--explain", "first", "1", *words, status=2)
    kept(" ".join(ended.err.split()))
