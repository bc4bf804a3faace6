"""The command line from submitted runs to a pool, as a user would type it."""

import csv
import io
import sqlite3
from pathlib import Path

import pytest
from command import call
from kept import Kept

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    call("init", "kitchen", "--scale", KITCHEN / "scale.toml", folder=tmp_path)
    call("corpus", "add", KITCHEN / "documents.jsonl", folder=tmp_path)
    call("corpus", "topics", KITCHEN / "topics.trec", folder=tmp_path)
    call("runs", "submit", KITCHEN / "runs.toml", folder=tmp_path)
    return tmp_path


def top(run: str, topic: str, depth: int) -> list[str]:
    lines = [line.split() for line in (KITCHEN / "runs" / f"{run}.run").read_text().splitlines()]
    ranked = sorted((row for row in lines if row[0] == topic), key=lambda row: (float(row[4]), row[2].encode()))
    return [row[2] for row in ranked[::-1][:depth]]


def contributing() -> list[str]:
    outside = {"whisk-bm25", "mortar-dense"}
    return sorted({path.stem for path in (KITCHEN / "runs").glob("*.run")} - outside)


def test_depth_five_is_the_union_of_the_first_five_of_each_contributing_run(kitchen: Path):
    call("pool", "build", "depth 5", folder=kitchen)
    sizes = {
        row["topic"]: int(row["documents"])
        for row in rows(call("pool", "show", "--by", "topic", "-f", "csv", folder=kitchen).out)
    }
    for topic, size in sizes.items():
        assert size == len({document for run in contributing() for document in top(run, topic, 5)})
    assert len(sizes) == 15


def test_every_run_and_rank_that_brought_a_document_is_told(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", folder=kitchen)
    document = top("trivet-lsa", "T03", 5)[3]
    _, out, err = call("pool", "explain", "T03", document, "-f", "csv", folder=kitchen)
    assert {(row["run"], int(row["rank"])) for row in rows(out)} == {
        (run, top(run, "T03", 5).index(document) + 1) for run in contributing() if document in top(run, "T03", 5)
    }
    kept(err)


def test_the_same_plan_and_seed_give_the_same_pool_and_another_seed_another(kitchen: Path):
    plan = "depth 3; sample 20% ranks=4-40"
    hashes = [
        call("pool", "build", plan, "--name", name, "--seed", seed, folder=kitchen).err.split()[-1]
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_pool_is_proved_identical_even_after_a_run_was_withdrawn(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 3; rrf until 20; sample 10% ranks=4-40", "--seed", 3, folder=kitchen)
    kept(call("pool", "verify", folder=kitchen).out)
    call("runs", "withdraw", "trivet-lsa", "--because", "test", folder=kitchen)
    call("pool", "verify", folder=kitchen)
    assert "1 pool" in call("check", folder=kitchen).out


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
def test_a_pool_that_was_tampered_with_is_found(kitchen: Path, statement: str, kept: Kept):
    call("pool", "build", "depth 5", folder=kitchen)
    with sqlite3.connect(kitchen / "collection.db") as connection:
        connection.execute(statement)
    connection.close()
    kept(call("pool", "verify", status=1, folder=kitchen).err)
    kept(call("check", status=1, folder=kitchen).err)


def test_which_runs_are_pooled_can_be_said(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", "--name", "first", "--priority", 1, folder=kitchen)
    runs = {row["run"] for row in rows(call("pool", "show", "-f", "csv", folder=kitchen).out)}
    assert runs == set(contributing()) - {"larder-bm25-desc", "stove-rocchio", "ladle-rm3"}
    call("pool", "build", "depth 5", "--name", "one", "--run", "mortar-dense", "--topic", "T01", folder=kitchen)
    kept(call("pool", "show", folder=kitchen).err)


def test_of_near_duplicates_one_stands_for_the_others(kitchen: Path, kept: Kept):
    call("corpus", "duplicates", "--threshold", "0.5", folder=kitchen)
    err = call("pool", "build", "depth 20", "--one-per-cluster", folder=kitchen).err
    kept(err)
    call("pool", "verify", folder=kitchen)
    with sqlite3.connect(kitchen / "collection.db") as connection:
        topic, out = connection.execute("SELECT topic, document FROM pool_duplicates").fetchone()
    connection.close()
    kept(call("pool", "explain", topic, out, status=1, folder=kitchen).err)


def test_strategies_are_listed_and_explained(kitchen: Path, kept: Kept):
    _, out, err = call("strategies", "-f", "csv", folder=kitchen)
    kinds = {row["strategy"]: row["kind"] for row in rows(out)}
    assert (kinds["rrf"], kinds["knee"]) == ("fixed", "stopping rule")
    kept(err)
    kept(call("strategies", "rrf", folder=kitchen).out)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["dept 5"], 2),
        (["depth 500"], 1),
        (["depth 5", "--run", "nobody"], 2),
        (["depth 5", "--run", "nobody", "--run", "noone"], 2),
        (["depth 5; rrf until 5"], 1),
        (["depth 5", "--topic", "T99"], 1),
        (["depth 5; mtf budget 50 across topics"], 1),
        (["depth 5; mtf until 5"], 1),
        (["depth 5", "--run", "ladle-rm3", "--priority", "1"], 1),
        (["mtf budget 50 across topics floor=9"], 1),
        (["depth 5", "--run", "whisk-bm25", "--priority", "1", "--topic", "T99", "--topic", "T98"], 1),
        (["depth 5; mtf until 20; rrf budget 500"], 2),
        (["depth 5", "--name", " "], 2),
        (["depth 5", "--one-per-cluster"], 1),
    ],
)
def test_a_pool_that_cannot_be_built_is_refused_before_anything_is_written(
    kitchen: Path, words: list[str], status: int, kept: Kept
):
    kept(call("pool", "build", *words, status=status, folder=kitchen).err)
    kept(call("pool", "show", status=1, folder=kitchen).err)


def test_the_view_of_contributions_answers_in_the_sqlite_shell(kitchen: Path):
    call("pool", "build", "depth 5", folder=kitchen)
    with sqlite3.connect(kitchen / "collection.db") as connection:
        found = connection.execute("SELECT run, documents FROM pool_contributions ORDER BY run").fetchall()
    connection.close()
    assert found == [(run, 75) for run in contributing()]


def test_a_run_that_comes_after_the_pool_is_told_to_be_in_none(kitchen: Path, kept: Kept):
    run = (KITCHEN / "runs" / "trivet-lsa.run").read_text()
    (kitchen / "late.run").write_text("\n".join(line.replace("trivet-lsa", "late") for line in run.splitlines()[::2]))
    (kitchen / "out.run").write_text("\n".join(line.replace("trivet-lsa", "out") for line in run.splitlines()[::3]))
    kept(call("status", folder=kitchen).err)
    call("pool", "build", "depth 5", folder=kitchen)
    kept(call("status", folder=kitchen).err)
    told = call("runs", "submit", "late.run", folder=kitchen).err
    kept(told)
    kept(call("runs", "submit", "late.run", folder=kitchen).err)
    kept(call("runs", "submit", "--new", "out.run", folder=kitchen).err)
    kept(call("status", folder=kitchen).err)
    call("pool", "extend", folder=kitchen)
    kept(call("status", folder=kitchen).err)


def test_a_pool_that_is_there_already_is_told_how_to_grow(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", folder=kitchen)
    told = call("pool", "build", "depth 9", status=1, folder=kitchen).err
    kept(told)
