"""What the shipped collection is for: a pool that wrongs one outsider, says so, and is put right."""

import csv
import io
from pathlib import Path

import pytest
from command import call

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen")
    call("init", "kitchen", "--scale", f"{KITCHEN / 'scale.toml'}", folder=folder)
    call("corpus", "add", f"{KITCHEN / 'documents.jsonl'}", folder=folder)
    call("corpus", "topics", f"{KITCHEN / 'topics.trec'}", folder=folder)
    call("runs", "submit", f"{KITCHEN / 'runs.toml'}", folder=folder)
    call("pool", "build", "depth 5", folder=folder)
    call("judge", "import", f"{KITCHEN / 'judgments.csv'}", folder=folder)
    call("judge", "assign", "reader-1", "reader-2", "--together", folder=folder)
    call("judge", "import", f"{KITCHEN / 'after.csv'}", "--layer", "after", folder=folder)
    return folder


def scores(folder: Path, *words: str) -> dict[tuple[str, str], dict[str, str]]:
    shown = call("evaluate", "-m", "P@5", "-m", "nDCG@5", "-m", "AP", *words, "-f", "csv", folder=folder).out
    return {(row["run"], row["measure"]): row for row in csv.DictReader(io.StringIO(shown))}


MEASURES = ("P(rel=2)@5", "nDCG@5", "AP(rel=2)")


def test_the_pool_and_the_judgments_are_the_same_pairs(kitchen: Path):
    shown = call("qrels", "export", folder=kitchen).out
    assert len(shown.splitlines()) == 130
    assert shown == (KITCHEN / "qrels.txt").read_text(encoding="utf-8")
    facts = dict(csv.reader(io.StringIO(call("status", "-f", "csv", folder=kitchen).out)))
    assert (facts["pooled documents"], facts["pooled, not judged"]) == ("130", "0")


def test_contributors_are_pooled_the_lexical_outsider_is_safe_and_the_other_is_not(kitchen: Path):
    found = scores(kitchen)
    verdicts = {(run, measure): row["verdict"] for (run, measure), row in found.items()}
    outsiders = {"whisk-bm25": "SAFE", "mortar-dense": "UNRELIABLE"}
    assert verdicts == {(run, measure): outsiders.get(run, "POOLED") for run, measure in found}


@pytest.mark.parametrize("measure", MEASURES)
def test_the_flagged_outsider_rises_to_the_top_once_its_finds_are_judged(kitchen: Path, measure: str):
    before, after = scores(kitchen), scores(kitchen, "--layer", "main", "--layer", "after")

    def rank(found: dict[tuple[str, str], dict[str, str]]) -> int:
        values = {run: float(row["value"]) for (run, name), row in found.items() if name == measure}
        return 1 + sum(value > values["mortar-dense"] for value in values.values())

    assert rank(before) > 1
    assert rank(after) == 1
    assert after["mortar-dense", measure]["verdict"] == "SAFE"


def test_the_expected_loss_was_about_right(kitchen: Path):
    before, after = scores(kitchen), scores(kitchen, "--layer", "main", "--layer", "after")
    for run in ("whisk-bm25", "mortar-dense"):
        lost = float(after[run, "P(rel=2)@5"]["value"]) - float(before[run, "P(rel=2)@5"]["value"])
        assert float(before[run, "P(rel=2)@5"]["loss"]) == pytest.approx(lost, abs=0.03)
        low, high = (float(before[run, "P(rel=2)@5"][name]) for name in ("low", "high"))
        assert low <= float(after[run, "P(rel=2)@5"]["value"]) <= high


def test_the_list_that_settles_a_pair_is_a_queue_and_each_of_it_is_in_the_after_layer(kitchen: Path):
    shown = call("settle", "mortar-dense", "ladle-rm3", "-m", "P@5", "--all", "-f", "csv", folder=kitchen).out
    queued = {(row["topic"], row["document"]) for row in csv.DictReader(io.StringIO(shown))}
    with (KITCHEN / "after.csv").open(encoding="utf-8", newline="") as file:
        later = {(row["topic"], row["document"]) for row in csv.DictReader(file)}
    assert len(queued) == 18
    assert queued <= later


def test_every_mark_beside_a_score_is_explained_also_where_the_run_has_a_worse_one(kitchen: Path):
    ended = call("evaluate", "stove-tfidf", "-m", "nDCG@10", "-m", "P@10", folder=kitchen)
    assert [mark for mark in ended.out.split() if mark in "!?~"] == ["?", "!"]
    assert "! UNRELIABLE; ? CAUTION" in ended.err.splitlines()
