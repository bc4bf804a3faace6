"""The command line with pools that grow: later runs, top-ups, and plans that choose by what was judged."""

import contextlib
import csv
import io
import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
from command import call
from kept import Kept

from cranfield.judge.events import Event
from cranfield.store.events import append_events
from cranfield.store.store import Store, open_store
from cranfield.workflows.pool.live import Refiller

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
NOW = "2026-01-01T00:00:00.000Z"


def rows(folder: Path, *words: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(call(*words, "-f", "csv", folder=folder).out)))


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    call("init", "kitchen", "--scale", KITCHEN / "scale.toml", folder=tmp_path)
    call("corpus", "add", KITCHEN / "documents.jsonl", folder=tmp_path)
    call("corpus", "topics", KITCHEN / "topics.trec", folder=tmp_path)
    call("runs", "submit", KITCHEN / "runs.toml", folder=tmp_path)
    return tmp_path


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Store]:
    with open_store(folder / "collection.db") as store:
        yield store


def asked(folder: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "collection.db")) as connection:
        return connection.execute(query, values).fetchall()


def tampered(folder: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / "collection.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def judge(store: Store, topic: str, document: str) -> None:
    """Judge by a draw from the names: two grades of six are relevant."""
    grade = (0, 0, 0, 1, 2, 3)[sha256(f"{topic} {document}".encode()).digest()[0] % 6]
    event = Event(
        uuid=str(uuid4()),
        kind="judged",
        topic=topic,
        document=document,
        assessor="eva",
        happened=NOW,
        grade=grade,
        seconds=12.0,
    )
    with store.write():
        append_events(store, [event])


def to_judge(store: Store, topic: str) -> list[str]:
    query = """SELECT document FROM pool_entries AS entry WHERE topic = ? AND NOT EXISTS (
               SELECT 1 FROM judgments WHERE judgments.topic = entry.topic AND judgments.document = entry.document)
               ORDER BY position"""
    return [row[0] for row in store.rows(query, topic)]


def judge_all(folder: Path, *, topics: tuple[str, ...], rounds: int = 99) -> dict[str, str]:
    """Judge some topics of the latest pool, filling it up, and give the rules that ended them."""
    ended = {}
    with opened(folder) as store:
        refiller = Refiller(store, "pool")
        for topic in topics:
            for _ in range(rounds):
                if not to_judge(store, topic):
                    with store.write():
                        found = refiller.refill(topic, batch=4)
                    if found.ended:
                        ended[topic] = found.ended
                if not to_judge(store, topic):
                    break
                for document in to_judge(store, topic):
                    judge(store, topic, document)
    return ended


ENTRIES = "SELECT topic, document, position, version FROM pool_entries ORDER BY topic, position"


def test_a_later_run_adds_only_what_is_new_as_a_version_with_its_own_manifest(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5; sample 10% ranks=6-20", "--seed", 3, folder=kitchen)
    before = asked(kitchen, ENTRIES)
    drawn = asked(kitchen, "SELECT topic, document FROM pool_entries WHERE step = 2")
    said = call("pool", "extend", "--run", "mortar-dense", folder=kitchen).err
    after = asked(kitchen, ENTRIES)
    assert set(before) < set(after)
    kept(said)
    assert {row[3] for row in set(after) - set(before)} == {2}
    assert set(drawn) <= set(asked(kitchen, "SELECT topic, document FROM pool_entries"))
    first, second = rows(kitchen, "pool", "show", "--by", "version")
    assert (first["runs"], second["runs"]) == ("9", "1")
    assert first["content_hash"] != second["content_hash"]
    kept(call("pool", "verify", folder=kitchen).out)
    explained = call("pool", "explain", *next(row[:2] for row in after if row[3] == 2), folder=kitchen)
    assert "mortar-dense" in explained.out
    kept(explained.err)


def test_an_extension_is_the_contributing_runs_that_came_later_by_default(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", "--run", "larder-bm25", "--run", "trivet-lsa", folder=kitchen)
    said = call("pool", "extend", folder=kitchen).err
    kept(said)
    call("pool", "build", "depth 5", "--name", "whole", folder=kitchen)
    pairs = "SELECT topic, document FROM pool_entries WHERE pool = ?"
    assert set(asked(kitchen, pairs, 1)) == set(asked(kitchen, pairs, 2))
    kept(call("pool", "extend", status=1, folder=kitchen).err)


def test_a_run_that_was_withdrawn_stays_in_the_pool_and_its_successor_needs_another_name(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", folder=kitchen)
    call("runs", "withdraw", "trivet-lsa", "--because", "a mistake", folder=kitchen)
    lines = (KITCHEN / "runs" / "trivet-lsa.run").read_text().splitlines()
    (kitchen / "trivet-lsa.run").write_text("\n".join(line for line in lines if not line.startswith("T03 ")) + "\n")
    call("runs", "submit", "trivet-lsa.run", "--group", "trivet", "--contributing", folder=kitchen)
    told = call("pool", "extend", status=1, folder=kitchen).err
    kept(told)
    said = call("pool", "extend", "--run", "mortar-dense", folder=kitchen).err
    kept(said)
    call("pool", "verify", folder=kitchen)
    call(
        "runs",
        "submit",
        KITCHEN / "runs" / "whisk-bm25.run",
        "--name",
        "whisk-again",
        "--group",
        "whisk",
        folder=kitchen,
    )
    call("pool", "extend", "--run", "whisk-bm25", folder=kitchen)
    told = call("pool", "extend", "--run", "whisk-again", status=1, folder=kitchen).err
    kept(told)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pool_versions SET content_hash = 'x' WHERE version = 1",
        "UPDATE pool_runs SET version = 1",
        "UPDATE pool_entries SET version = 1",
        "DELETE FROM pool_ranks WHERE run = 'mortar-dense' AND topic = 'T05'",
        "UPDATE pool_runs SET priority = 7 WHERE run = 'larder-bm25'",
    ],
)
def test_an_extended_pool_that_was_tampered_with_is_found(kitchen: Path, statement: str, kept: Kept):
    call("pool", "build", "depth 4 by=group; sample 10% ranks=6-20", "--seed", 3, folder=kitchen)
    call("pool", "extend", "--run", "mortar-dense", folder=kitchen)
    call("pool", "verify", folder=kitchen)
    tampered(kitchen, statement)
    kept(call("pool", "verify", status=1, folder=kitchen).err)


def test_a_top_up_queues_what_is_unjudged_in_the_first_ranks_of_an_outsider(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", folder=kitchen)
    with opened(kitchen) as store:
        for topic in ("T01", "T02"):
            for document in to_judge(store, topic):
                judge(store, topic, document)
    said = call("pool", "top-up", "mortar-dense", "--depth", 5, folder=kitchen).err
    queued = asked(kitchen, "SELECT topic, document, position FROM queue_entries ORDER BY topic, position")
    lines = [line.split() for line in (KITCHEN / "runs" / "mortar-dense.run").read_text().splitlines()]
    judged = set(asked(kitchen, "SELECT topic, document FROM judgments"))
    for topic in {line[0] for line in lines}:
        ranked = sorted((line for line in lines if line[0] == topic), key=lambda line: (float(line[4]), line[2]))
        first = [line[2] for line in ranked[::-1][:5]]
        missing = [document for document in first if (topic, document) not in judged]
        assert [row[1:] for row in queued if row[0] == topic] == [(one, n) for n, one in enumerate(missing, start=1)]
    kept(said)
    again = call("pool", "top-up", "mortar-dense", "--depth", 5, status=1, folder=kitchen).err
    kept(again)
    outsider = KITCHEN / "runs" / "whisk-bm25.run"
    said = call("pool", "top-up", outsider, "--depth", 3, "--topic", "T05", folder=kitchen).err
    kept(said)
    words = ("whisk-bm25", "--depth", 1, "--topic", "T01", "--name", "more")
    kept(call("pool", "top-up", *words, folder=kitchen).err)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["nobody", "--depth", 5], 1),
        (["mortar-dense", "--depth", 5000], 1),
        (["mortar-dense", "--depth", 5, "--topic", "T99"], 1),
    ],
)
def test_a_top_up_that_makes_no_sense_is_refused(kitchen: Path, words: list[str], status: int, kept: Kept):
    kept(call("pool", "top-up", *words, status=status, folder=kitchen).err)
    assert asked(kitchen, "SELECT * FROM queues") == []


def test_a_live_pool_is_judged_extended_judged_on_and_proved(kitchen: Path, kept: Kept):
    said = call("pool", "build", "depth 2; mtf until 14 stop=dry:6; sample 10%", "--seed", 4, folder=kitchen).err
    kept(said)
    ended = judge_all(kitchen, topics=("T01", "T02"))
    assert set(ended) == {"T01", "T02"}
    judge_all(kitchen, topics=("T03",), rounds=2)
    call("pool", "verify", folder=kitchen)
    before = asked(kitchen, ENTRIES)
    call("pool", "extend", "--run", "mortar-dense", folder=kitchen)
    assert set(before) <= set(asked(kitchen, ENTRIES))
    call("pool", "verify", folder=kitchen)
    ended |= judge_all(kitchen, topics=("T03", "T04"))
    assert set(ended) == {"T01", "T02", "T03", "T04"}
    call("pool", "verify", folder=kitchen)
    shown = {row["topic"]: row for row in rows(kitchen, "pool", "show", "--by", "topic")}
    assert {topic: row["ended"] for topic, row in shown.items() if row["ended"]} == ended
    assert shown["T04"]["judged"] == shown["T04"]["documents"]
    topic, document = asked(kitchen, "SELECT topic, document FROM pool_choices WHERE step = 2")[-1]
    told = call("pool", "explain", topic, document, folder=kitchen).err
    kept(told)
    assert "pools" in call("check", folder=kitchen).out


def test_continuous_active_learning_is_recorded_choice_by_choice(kitchen: Path, kept: Kept):
    pytest.importorskip("sklearn")
    call("pool", "build", "depth 1; cal until 12", "--topic", "T01", "--topic", "T02", folder=kitchen)
    ended = judge_all(kitchen, topics=("T01", "T02"))
    assert ended == dict.fromkeys(["T01", "T02"], "until 12 reached")
    call("pool", "verify", folder=kitchen)
    tampered(kitchen, "DROP TRIGGER pool_choices_update", "UPDATE pool_choices SET reason = 'liked' WHERE number = 3")
    kept(call("pool", "verify", status=1, folder=kitchen).err)


def test_of_near_duplicates_one_stands_for_the_others_when_a_live_pool_grows(kitchen: Path):
    call("corpus", "duplicates", "--threshold", "0.5", folder=kitchen)
    call("pool", "build", "depth 2; hedge until 40", "--one-per-cluster", folder=kitchen)
    judge_all(kitchen, topics=("T01", "T02"))
    call("pool", "extend", "--run", "mortar-dense", folder=kitchen)
    judge_all(kitchen, topics=("T01", "T03"))
    call("pool", "verify", folder=kitchen)
    pairs = set(asked(kitchen, "SELECT topic, document FROM pool_entries"))
    marked = asked(kitchen, "SELECT topic, document, representative FROM pool_duplicates")
    assert len(marked) > 20
    assert all((topic, stands) in pairs and (topic, out) not in pairs for topic, out, stands in marked)
    call("corpus", "duplicates", "--threshold", "0.9", folder=kitchen)  # what is known now does not change what was
    call("pool", "verify", folder=kitchen)


def test_a_pool_in_numbers(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", folder=kitchen)
    groups = {row["group"]: row for row in rows(kitchen, "pool", "show", "--by", "group")}
    alone = asked(
        kitchen,
        """SELECT min(group_name) FROM pool_ranks JOIN pool_runs USING (pool, run) GROUP BY topic, document
           HAVING count(DISTINCT group_name) = 1""",
    )
    assert {name: int(row["only_this_group"]) for name, row in groups.items()} == {
        name: alone.count((name,)) for name in groups
    }
    depths = {int(row["depth"]): int(row["more_in_all"]) for row in rows(kitchen, "pool", "show", "--by", "depth")}
    call("pool", "build", "depth 10", "--name", "deeper", folder=kitchen)
    sizes = dict(asked(kitchen, "SELECT pool, count(*) FROM pool_entries GROUP BY pool"))
    assert depths[5] == 0
    assert depths[10] == sizes[2] - sizes[1]
    kept(call("pool", "show", "--name", "pool", folder=kitchen).err)
    kept(call("pool", "show", "--by-depth", status=2, folder=kitchen).err)
    kept(call("pool", "show", "--seconds-per-document", "36", status=2, folder=kitchen).err)


def test_a_group_that_supplies_most_is_warned_about(kitchen: Path, kept: Kept):
    call(
        "pool",
        "build",
        "depth 10",
        "--run",
        "whisk-bm25",
        "--run",
        "larder-bm25",
        "--run",
        "mortar-dense",
        folder=kitchen,
    )
    unique = {row["group"]: int(row["only_this_group"]) for row in rows(kitchen, "pool", "show", "--by", "group")}
    share = unique["mortar"] / sum(unique.values())
    assert share > 0.5
    expected = f"warning: mortar contributed {unique['mortar']} unique documents, {share:.0%} of all unique documents"
    assert expected in call("pool", "show", folder=kitchen).err
    call("pool", "build", "depth 5", "--name", "even", folder=kitchen)
    kept(call("pool", "show", folder=kitchen).err)


def test_why_a_document_is_not_there_is_told_too(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 2; sample 10% ranks=3-10", "--topic", "T01", folder=kitchen)
    ((out,),) = asked(kitchen, "SELECT document FROM pool_undrawn LIMIT 1")
    told = call("pool", "explain", "T01", out, status=1, folder=kitchen).err
    kept(told)
    known = {
        row[0] for row in asked(kitchen, "SELECT document FROM pool_entries UNION SELECT document FROM pool_undrawn")
    }
    lines = [line.split() for line in (KITCHEN / "runs" / "trivet-lsa.run").read_text().splitlines()]
    deep = next(line[2] for line in lines if line[0] == "T01" and line[2] not in known)
    kept(call("pool", "explain", "T01", deep, status=1, folder=kitchen).err)
    kept(call("pool", "explain", "T01", "K9999", status=1, folder=kitchen).err)
    kept(call("pool", "explain", "T02", "K001", status=1, folder=kitchen).err)


def test_where_the_loss_of_an_outsider_is_found_is_told_once_something_is_judged(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 5", folder=kitchen)
    kept(call("pool", "show", folder=kitchen).err)
    with opened(kitchen) as store:
        for topic in ("T01", "T02", "T03"):
            for document in to_judge(store, topic):
                judge(store, topic, document)
    kept(call("pool", "show", folder=kitchen).err)
