"""The command line from submitted runs to a pool, as a user would type it."""

import contextlib
import csv
import io
import sqlite3
from pathlib import Path

import pytest

from cranfield.cli import main

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"


def typed(folder: Path, *words: object, status: int = 0) -> tuple[str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = main._status([str(word) for word in words])
        out.flush()
    assert ended == status, err.getvalue()
    return out.buffer.getvalue().decode(), err.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    typed(tmp_path, "init", "kitchen", "--scale", KITCHEN / "scale.toml")
    typed(tmp_path, "corpus", "add", KITCHEN / "documents.jsonl")
    typed(tmp_path, "corpus", "topics", KITCHEN / "topics.trec")
    typed(tmp_path, "runs", "submit", KITCHEN / "runs.toml")
    return tmp_path


def top(run: str, topic: str, depth: int) -> list[str]:
    lines = [line.split() for line in (KITCHEN / "runs" / f"{run}.run").read_text().splitlines()]
    ranked = sorted((row for row in lines if row[0] == topic), key=lambda row: (float(row[4]), row[2].encode()))
    return [row[2] for row in ranked[::-1][:depth]]


def contributing() -> list[str]:
    outside = {"whisk-bm25", "mortar-dense"}
    return sorted({path.stem for path in (KITCHEN / "runs").glob("*.run")} - outside)


def test_depth_five_is_the_union_of_the_first_five_of_each_contributing_run(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    sizes = {
        row["topic"]: int(row["documents"])
        for row in rows(typed(kitchen, "pool", "show", "--by-topic", "-f", "csv")[0])
    }
    for topic, size in sizes.items():
        assert size == len({document for run in contributing() for document in top(run, topic, 5)})
    assert len(sizes) == 15


def test_every_run_and_rank_that_brought_a_document_is_told(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    document = top("trivet-lsa", "T03", 5)[3]
    out, err = typed(kitchen, "pool", "explain", "T03", document, "-f", "csv")
    assert {(row["run"], int(row["rank"])) for row in rows(out)} == {
        (run, top(run, "T03", 5).index(document) + 1) for run in contributing() if document in top(run, "T03", 5)
    }
    assert "step 1 (depth 5) brought it with probability 1" in err


def test_the_same_plan_and_seed_give_the_same_pool_and_another_seed_another(kitchen: Path):
    plan = "depth 3; sample 20% ranks=4-40"
    hashes = [
        typed(kitchen, "pool", "build", plan, "--name", name, "--seed", seed)[1].split()[-1]
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_pool_is_proved_identical_even_after_a_run_was_withdrawn(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 3; rrf until 20; sample 10% ranks=4-40", "--seed", 3)
    assert "is what its plan says" in typed(kitchen, "pool", "verify")[0]
    typed(kitchen, "runs", "withdraw", "trivet-lsa", "--because", "test")
    typed(kitchen, "pool", "verify")
    assert "1 pool" in typed(kitchen, "check")[0]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM pool_entries WHERE position = 2 AND topic = 'T01'",
        "UPDATE pool_entries SET probability = 0.5 WHERE topic = 'T02'",
        "UPDATE pool_ranks SET rank = rank + 1 WHERE topic = 'T03' AND run = 'trivet-lsa'",
        "UPDATE pools SET content_hash = 'x'",
        "UPDATE pools SET seed = 9, plan_in_full = 'depth 4'",
    ],
)
def test_a_pool_that_was_tampered_with_is_found(kitchen: Path, statement: str):
    typed(kitchen, "pool", "build", "depth 5")
    with sqlite3.connect(kitchen / "collection.db") as connection:
        connection.execute(statement)
    connection.close()
    assert "differs:" in typed(kitchen, "pool", "verify", status=1)[1]
    assert "pool" in typed(kitchen, "check", status=1)[1]


def test_which_runs_are_pooled_can_be_said(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5", "--name", "first", "--priority", 1)
    runs = {row["run"] for row in rows(typed(kitchen, "pool", "show", "-f", "csv")[0])}
    assert runs == set(contributing()) - {"larder-bm25-desc", "stove-rocchio", "ladle-rm3"}
    typed(kitchen, "pool", "build", "depth 5", "--name", "one", "--run", "mortar-dense", "--topic", "T01")
    assert "5 documents for 1 topic" in typed(kitchen, "pool", "show")[1]


def test_of_near_duplicates_one_stands_for_the_others(kitchen: Path):
    typed(kitchen, "corpus", "duplicates", "--threshold", "0.5")
    _, err = typed(kitchen, "pool", "build", "depth 20", "--one-per-cluster")
    assert "stay out: another stands for them" in err
    typed(kitchen, "pool", "verify")
    with sqlite3.connect(kitchen / "collection.db") as connection:
        topic, out, representative = connection.execute(
            "SELECT topic, document, representative FROM pool_duplicates"
        ).fetchone()
    connection.close()
    assert f"'{representative}' stands for it" in typed(kitchen, "pool", "explain", topic, out, status=1)[1]


def test_strategies_are_listed_and_explained(kitchen: Path):
    out, err = typed(kitchen, "strategies", "-f", "csv")
    kinds = {row["strategy"]: row["kind"] for row in rows(out)}
    assert (kinds["rrf"], kinds["knee"]) == ("fixed", "stopping rule")
    assert "cranfield strategies NAME" in err
    assert "Source: Cormack, Clarke and Büttcher" in typed(kitchen, "strategies", "rrf")[0]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["dept 5"], 2, "did you mean 'depth'"),
        (["depth 500"], 1, "the longest list has 50 documents"),
        (["depth 5", "--run", "nobody"], 2, "unknown run 'nobody'"),
        (["depth 5", "--run", "nobody", "--run", "noone"], 2, "unknown run 'noone'"),
        (["depth 5; rrf until 5"], 1, "'rrf until 5' would choose nothing: the steps before it bring at least 5"),
        (["depth 5", "--topic", "T99"], 1, "no selected run has the topic 'T99'"),
        (["depth 5; mtf budget 50 across topics"], 1, "a budget of 50 documents is below what the steps before it"),
        (["depth 5; mtf until 5"], 1, "'mtf until 5' would choose nothing: the steps before it bring at least 5"),
        (["depth 5", "--run", "ladle-rm3", "--priority", "1"], 1, "none of the runs has the priority 1"),
        (["mtf budget 50 across topics floor=9"], 1, "a floor of 9 for 15 topics needs 135 documents"),
        (["depth 5", "--run", "whisk-bm25", "--priority", "1", "--topic", "T99", "--topic", "T98"], 1, "'T98'"),
        (["depth 5; mtf until 20; rrf budget 500"], 2, "a budget for all topics cannot follow an adaptive step"),
        (["depth 5", "--name", " "], 1, "a pool needs a name that can be read"),
        (["depth 5", "--one-per-cluster"], 1, "no near-duplicates are known"),
    ],
)
def test_a_pool_that_cannot_be_built_is_refused_before_anything_is_written(
    kitchen: Path, words: list[str], status: int, message: str
):
    assert message in typed(kitchen, "pool", "build", *words, status=status)[1]
    assert "there is no pool yet" in typed(kitchen, "pool", "show", status=1)[1]


def test_the_view_of_contributions_answers_in_the_sqlite_shell(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    with sqlite3.connect(kitchen / "collection.db") as connection:
        found = connection.execute("SELECT run, documents FROM pool_contributions ORDER BY run").fetchall()
    connection.close()
    assert found == [(run, 75) for run in contributing()]


def test_a_run_that_comes_after_the_pool_is_told_to_be_in_none(kitchen: Path):
    run = (KITCHEN / "runs" / "trivet-lsa.run").read_text()
    (kitchen / "late.run").write_text("\n".join(line.replace("trivet-lsa", "late") for line in run.splitlines()[::2]))
    (kitchen / "out.run").write_text("\n".join(line.replace("trivet-lsa", "out") for line in run.splitlines()[::3]))
    assert "in no pool" not in typed(kitchen, "status")[1]
    typed(kitchen, "pool", "build", "depth 5")
    assert "in no pool" not in typed(kitchen, "status")[1]
    told = typed(kitchen, "runs", "submit", "late.run")[1]
    assert "note: a pool was built before, without late: extend it (cranfield pool extend); or withdraw" in told
    assert "a pool was built before" not in typed(kitchen, "runs", "submit", "late.run")[1]
    assert "a pool was built before" not in typed(kitchen, "runs", "submit", "--new", "out.run")[1]
    assert "note: 1 contributing run in no pool (late): cranfield pool extend" in typed(kitchen, "status")[1]
    typed(kitchen, "pool", "extend")
    assert "in no pool" not in typed(kitchen, "status")[1]


def test_a_pool_that_is_there_already_is_told_how_to_grow(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    told = typed(kitchen, "pool", "build", "depth 9", status=1)[1]
    assert "there is a pool called 'pool' already; pool extend adds later runs to it, --name makes another" in told
