"""The command line with pools that grow: later runs, top-ups, and plans that choose by what was judged."""

import contextlib
import csv
import io
import re
import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

from cranfield.cli import main
from cranfield.judge.events import Event
from cranfield.steps.pool_live import Refiller
from cranfield.store import Store, open_store
from cranfield.store.events import append_events

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
NOW = "2026-01-01T00:00:00.000Z"


def typed(folder: Path, *words: object, status: int = 0) -> tuple[str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = main._status([str(word) for word in words])
        out.flush()
    assert ended == status, err.getvalue()
    return out.buffer.getvalue().decode(), err.getvalue()


def rows(folder: Path, *words: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(typed(folder, *words, "-f", "csv")[0])))


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    typed(tmp_path, "init", "kitchen", "--scale", KITCHEN / "scale.toml")
    typed(tmp_path, "corpus", "add", KITCHEN / "documents.jsonl")
    typed(tmp_path, "corpus", "topics", KITCHEN / "topics.trec")
    typed(tmp_path, "runs", "submit", KITCHEN / "runs.toml")
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
        append_events(store, [event], now=NOW)


def to_judge(store: Store, topic: str) -> list[str]:
    query = """SELECT document FROM pool_entries AS entry WHERE topic = ? AND NOT EXISTS (
               SELECT 1 FROM judgments WHERE judgments.topic = entry.topic AND judgments.document = entry.document)
               ORDER BY position"""
    return [row[0] for row in store.rows(query, topic)]


def judge_all(folder: Path, *, topics: tuple[str, ...], rounds: int = 99) -> dict[str, str]:
    """Judge some topics of the latest pool, filling it up, and give the rules that ended them."""
    ended = {}
    with opened(folder) as store:
        refiller = Refiller(store)
        for topic in topics:
            for _ in range(rounds):
                if not to_judge(store, topic):
                    with store.write():
                        found = refiller.refill("pool", topic, batch=4)
                    if found.ended:
                        ended[topic] = found.ended
                if not to_judge(store, topic):
                    break
                for document in to_judge(store, topic):
                    judge(store, topic, document)
    return ended


ENTRIES = "SELECT topic, document, position, version FROM pool_entries ORDER BY topic, position"


def test_a_later_run_adds_only_what_is_new_as_a_version_with_its_own_manifest(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5; sample 10% ranks=6-20", "--seed", 3)
    before = asked(kitchen, ENTRIES)
    drawn = asked(kitchen, "SELECT topic, document FROM pool_entries WHERE step = 2")
    _, said = typed(kitchen, "pool", "extend", "--run", "mortar-dense")
    after = asked(kitchen, ENTRIES)
    assert set(before) < set(after)
    assert (
        f"pool, version 2: {len(after) - len(before)} documents more to judge, from 1 more run (mortar-dense)" in said
    )
    assert {row[3] for row in set(after) - set(before)} == {2}
    assert set(drawn) <= set(asked(kitchen, "SELECT topic, document FROM pool_entries"))
    first, second = rows(kitchen, "pool", "show", "--versions")
    assert (first["runs"], second["runs"]) == ("9", "1")
    assert first["content_hash"] != second["content_hash"]
    assert "is what its plan says" in typed(kitchen, "pool", "verify")[0]
    explained = typed(kitchen, "pool", "explain", *next(row[:2] for row in after if row[3] == 2))
    assert "mortar-dense" in explained[0]
    assert "in version 2" in explained[1]


def test_an_extension_is_the_contributing_runs_that_came_later_by_default(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5", "--run", "larder-bm25", "--run", "trivet-lsa")
    _, said = typed(kitchen, "pool", "extend")
    assert "from 7 more runs (larder-bm25-desc, pantry-fts5," in said
    typed(kitchen, "pool", "build", "depth 5", "--name", "whole")
    pairs = "SELECT topic, document FROM pool_entries WHERE pool = ?"
    assert set(asked(kitchen, pairs, 1)) == set(asked(kitchen, pairs, 2))
    assert "no contributing run came after" in typed(kitchen, "pool", "extend", status=1)[1]


def test_a_run_that_was_withdrawn_stays_in_the_pool_and_its_successor_needs_another_name(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    typed(kitchen, "runs", "withdraw", "trivet-lsa", "--because", "a mistake")
    lines = (KITCHEN / "runs" / "trivet-lsa.run").read_text().splitlines()
    (kitchen / "trivet-lsa.run").write_text("\n".join(line for line in lines if not line.startswith("T03 ")) + "\n")
    typed(kitchen, "runs", "submit", "trivet-lsa.run", "--group", "trivet", "--contributing")
    told = typed(kitchen, "pool", "extend", status=1)[1]
    assert "the pool has a run called 'trivet-lsa' already, and its content was another one" in told
    _, said = typed(kitchen, "pool", "extend", "--run", "mortar-dense")
    assert "trivet-lsa was withdrawn, but stays part of this pool" in said
    typed(kitchen, "pool", "verify")
    typed(kitchen, "runs", "submit", KITCHEN / "runs" / "whisk-bm25.run", "--name", "whisk-again", "--group", "whisk")
    typed(kitchen, "pool", "extend", "--run", "whisk-bm25")
    told = typed(kitchen, "pool", "extend", "--run", "whisk-again", status=1)[1]
    assert "run 'whisk-again' is in the pool already, as 'whisk-bm25'" in told


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
def test_an_extended_pool_that_was_tampered_with_is_found(kitchen: Path, statement: str):
    typed(kitchen, "pool", "build", "depth 4 by=group; sample 10% ranks=6-20", "--seed", 3)
    typed(kitchen, "pool", "extend", "--run", "mortar-dense")
    typed(kitchen, "pool", "verify")
    tampered(kitchen, statement)
    assert "differs:" in typed(kitchen, "pool", "verify", status=1)[1]


def test_a_top_up_queues_what_is_unjudged_in_the_first_ranks_of_an_outsider(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    with opened(kitchen) as store:
        for topic in ("T01", "T02"):
            for document in to_judge(store, topic):
                judge(store, topic, document)
    _, said = typed(kitchen, "pool", "top-up", "mortar-dense", "--depth", 5)
    queued = asked(kitchen, "SELECT topic, document, position FROM queue_entries ORDER BY topic, position")
    lines = [line.split() for line in (KITCHEN / "runs" / "mortar-dense.run").read_text().splitlines()]
    judged = set(asked(kitchen, "SELECT topic, document FROM judgments"))
    for topic in {line[0] for line in lines}:
        ranked = sorted((line for line in lines if line[0] == topic), key=lambda line: (float(line[4]), line[2]))
        first = [line[2] for line in ranked[::-1][:5]]
        missing = [document for document in first if (topic, document) not in judged]
        assert [row[1:] for row in queued if row[0] == topic] == [(one, n) for n, one in enumerate(missing, start=1)]
    assert f"top-up-mortar-dense: {len(queued)} documents in" in said
    assert "at 12 seconds a document (the median of" in said
    assert "cranfield judge --queue top-up-mortar-dense" in said
    again = typed(kitchen, "pool", "top-up", "mortar-dense", "--depth", 5, status=1)[1]
    assert "there is a queue called 'top-up-mortar-dense' already" in again
    outsider = KITCHEN / "runs" / "whisk-bm25.run"
    _, said = typed(kitchen, "pool", "top-up", outsider, "--depth", 3, "--topic", "T05")
    assert said.startswith("top-up-whisk-bm25: 3 documents in 1 topic to judge")
    words = ("whisk-bm25", "--depth", 1, "--topic", "T01", "--name", "more")
    assert (
        "nothing to judge: every document in the first 1 of whisk-bm25" in typed(kitchen, "pool", "top-up", *words)[1]
    )


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["nobody", "--depth", 5], 2, "unknown run 'nobody'"),
        (["mortar-dense", "--depth", 5000], 1, "depth 5000 goes beyond the run: its longest list has 50 documents"),
        (["mortar-dense", "--depth", 5, "--topic", "T99"], 1, "does not have the topic 'T99'"),
        (["mortar-dense", "--depth", 5, "--seconds-per-document", "-3"], 2, "a number above 0, not -3"),
    ],
)
def test_a_top_up_that_makes_no_sense_is_refused(kitchen: Path, words: list[object], status: int, message: str):
    assert message in typed(kitchen, "pool", "top-up", *words, status=status)[1]
    assert asked(kitchen, "SELECT * FROM queues") == []


def test_a_live_pool_is_judged_extended_judged_on_and_proved(kitchen: Path):
    _, said = typed(kitchen, "pool", "build", "depth 2; mtf until 14 stop=dry:6; sample 10%", "--seed", 4)
    assert "that is the warm-up; the next documents are chosen from what has been judged" in said
    ended = judge_all(kitchen, topics=("T01", "T02"))
    assert set(ended) == {"T01", "T02"}
    judge_all(kitchen, topics=("T03",), rounds=2)
    typed(kitchen, "pool", "verify")
    before = asked(kitchen, ENTRIES)
    typed(kitchen, "pool", "extend", "--run", "mortar-dense")
    assert set(before) <= set(asked(kitchen, ENTRIES))
    typed(kitchen, "pool", "verify")
    ended |= judge_all(kitchen, topics=("T03", "T04"))
    assert set(ended) == {"T01", "T02", "T03", "T04"}
    typed(kitchen, "pool", "verify")
    shown = {row["topic"]: row for row in rows(kitchen, "pool", "show", "--by-topic")}
    assert {topic: row["ended"] for topic, row in shown.items() if row["ended"]} == ended
    assert shown["T04"]["judged"] == shown["T04"]["documents"]
    topic, document = asked(kitchen, "SELECT topic, document FROM pool_choices WHERE step = 2")[-1]
    told = typed(kitchen, "pool", "explain", topic, document)[1]
    assert "step 2 (mtf until 14 stop=dry:6) brought it" in told
    assert "from what was judged up to event" in told
    assert "pools" in typed(kitchen, "check")[0]


def test_continuous_active_learning_is_recorded_choice_by_choice(kitchen: Path):
    pytest.importorskip("sklearn")
    typed(kitchen, "pool", "build", "depth 1; cal until 12", "--topic", "T01", "--topic", "T02")
    ended = judge_all(kitchen, topics=("T01", "T02"))
    assert ended == dict.fromkeys(["T01", "T02"], "until 12 reached")
    typed(kitchen, "pool", "verify")
    tampered(kitchen, "DROP TRIGGER pool_choices_update", "UPDATE pool_choices SET reason = 'liked' WHERE number = 3")
    assert "does not follow from the record" in typed(kitchen, "pool", "verify", status=1)[1]


def test_of_near_duplicates_one_stands_for_the_others_when_a_live_pool_grows(kitchen: Path):
    typed(kitchen, "corpus", "duplicates", "--threshold", "0.5")
    typed(kitchen, "pool", "build", "depth 2; hedge until 40", "--one-per-cluster")
    judge_all(kitchen, topics=("T01", "T02"))
    typed(kitchen, "pool", "extend", "--run", "mortar-dense")
    judge_all(kitchen, topics=("T01", "T03"))
    typed(kitchen, "pool", "verify")
    pairs = set(asked(kitchen, "SELECT topic, document FROM pool_entries"))
    marked = asked(kitchen, "SELECT topic, document, representative FROM pool_duplicates")
    assert len(marked) > 20
    assert all((topic, stands) in pairs and (topic, out) not in pairs for topic, out, stands in marked)
    typed(kitchen, "corpus", "duplicates", "--threshold", "0.9")  # what is known now does not change what was
    typed(kitchen, "pool", "verify")


def test_a_pool_in_numbers(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    groups = {row["group"]: row for row in rows(kitchen, "pool", "show", "--by-group")}
    alone = asked(
        kitchen,
        """SELECT min(group_name) FROM pool_ranks JOIN pool_runs USING (pool, run) GROUP BY topic, document
           HAVING count(DISTINCT group_name) = 1""",
    )
    assert {name: int(row["only_this_group"]) for name, row in groups.items()} == {
        name: alone.count((name,)) for name in groups
    }
    depths = {int(row["depth"]): int(row["more_in_all"]) for row in rows(kitchen, "pool", "show", "--by-depth")}
    typed(kitchen, "pool", "build", "depth 10", "--name", "deeper")
    sizes = dict(asked(kitchen, "SELECT pool, count(*) FROM pool_entries GROUP BY pool"))
    assert depths[5] == 0
    assert depths[10] == sizes[2] - sizes[1]
    pairs = rows(kitchen, "pool", "show", "--name", "pool", "--overlap", "run")
    assert len(pairs) == 9 * 8 // 2
    first = pairs[0]
    shared = asked(
        kitchen,
        """SELECT count(*) FROM pool_ranks AS one JOIN pool_ranks AS other USING (pool, topic, document)
           WHERE pool = 1 AND one.run = ? AND other.run = ?""",
        first["run"],
        first["other_run"],
    )
    assert int(first["shared"]) == shared[0][0]
    _, said = typed(kitchen, "pool", "show", "--name", "pool", "--seconds-per-document", "36")
    assert f"0 judged, {sizes[1]} to judge: about {sizes[1] / 100:.1f} hours at 36 seconds a document" in said
    assert "one table at a time" in typed(kitchen, "pool", "show", "--by-depth", "--by-group", status=2)[1]


def test_a_group_that_supplies_most_is_warned_about(kitchen: Path):
    typed(
        kitchen, "pool", "build", "depth 10", "--run", "whisk-bm25", "--run", "larder-bm25", "--run", "mortar-dense"
    )
    unique = {row["group"]: int(row["only_this_group"]) for row in rows(kitchen, "pool", "show", "--by-group")}
    share = unique["mortar"] / sum(unique.values())
    assert share > 0.5
    expected = (
        f"warning: mortar alone brought {unique['mortar']} documents, {share:.0%} of all that only one group brought"
    )
    assert expected in typed(kitchen, "pool", "show")[1]
    typed(kitchen, "pool", "build", "depth 5", "--name", "even")
    assert "warning" not in typed(kitchen, "pool", "show")[1]


def test_why_a_document_is_not_there_is_told_too(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 2; sample 10% ranks=3-10", "--topic", "T01")
    ((out, stratum),) = asked(kitchen, "SELECT document, stratum FROM pool_undrawn LIMIT 1")
    told = typed(kitchen, "pool", "explain", "T01", out, status=1)[1]
    assert f"'{out}' is not to be judged for topic 'T01': a sample passed over it (stratum {stratum})" in told
    known = {
        row[0] for row in asked(kitchen, "SELECT document FROM pool_entries UNION SELECT document FROM pool_undrawn")
    }
    lines = [line.split() for line in (KITCHEN / "runs" / "trivet-lsa.run").read_text().splitlines()]
    deep = next(line[2] for line in lines if line[0] == "T01" and line[2] not in known)
    assert "its best rank is " in typed(kitchen, "pool", "explain", "T01", deep, status=1)[1]
    assert "no pooled run has it" in typed(kitchen, "pool", "explain", "T01", "K9999", status=1)[1]
    assert "topic 'T02' is not in the pool" in typed(kitchen, "pool", "explain", "T02", "K001", status=1)[1]


def test_what_an_outsider_must_expect_to_lose_is_told_once_something_is_judged(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 5")
    assert "a run from outside" not in typed(kitchen, "pool", "show")[1]
    with opened(kitchen) as store:
        for topic in ("T01", "T02", "T03"):
            for document in to_judge(store, topic):
                judge(store, topic, document)
    told = typed(kitchen, "pool", "show")[1]
    found = re.search(r"must expect to lose (-?[\d.]+)% of its AP\(rel=2\), at worst (-?[\d.]+)% \((\S+)\)", told)
    assert found is not None
    assert float(found[1]) <= float(found[2])
    assert "each without its own group, on 3 judged topics" in told
