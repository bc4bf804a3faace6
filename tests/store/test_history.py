"""`check` notices whatever is changed in the file by hand; with an anchor, also where the chain was recomputed."""

import gzip
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.base.errors import CollectionError
from cranfield.base.records import Document
from cranfield.store import documents, history
from cranfield.store.events import add_assessor, append_events
from cranfield.store.events import events as all_events
from cranfield.store.store import open_store
from cranfield.workflows.check import check
from cranfield.workflows.collection import init_collection
from cranfield.workflows.judge.judge import Judge

ARTEFACTS = Path(__file__).parent.parent / "fixtures" / "artefacts"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with something of everything, and a card of it."""
    folder = tmp_path_factory.mktemp("sound")
    file = folder / "collection.db"
    file.write_bytes(gzip.decompress((ARTEFACTS / "live.db.gz").read_bytes()))
    with open_store(file) as store:
        topic, document = store.row("SELECT topic, document FROM judgments WHERE grade IS NOT NULL LIMIT 1")
        with store.write():
            store.put("found_documents", [(topic, document, "amy", "words", "2026-01-01T00:00:00.000Z")])
            store.put("queues", [(1, "again", "queue", "main", "2026-01-01T00:00:00.000Z", "[]")])
            store.put("queue_entries", [(1, topic, document, 1, "to be sure")])
    call("judge", "assign", "amy", "bob", "-C", file)
    call("judge", "packet", "amy", "-o", folder / "packet.db", "-C", file)
    call("corpus", "duplicates", "-C", file)
    call("qrels", "rule", "adjudicated,latest", "-C", file)
    call("qrels", "release", "first", "--bundle", folder / "bundle", "-C", file)
    call("reuse", "--write-card", folder / "bundle" / "reuse-card.json", "-C", file)
    call("check", "-C", file)
    return file


CHANGES = {
    "a grade, together with its judgment": (
        "UPDATE judgment_events SET grade = 1 - min(grade, 1) WHERE sequence = (SELECT max(event) FROM judgments)",
        "UPDATE judgments SET grade = 1 - min(grade, 1) WHERE event = (SELECT max(event) FROM judgments)",
    ),
    "an event removed, together with its judgment": (
        "DELETE FROM judgments WHERE event = (SELECT max(sequence) FROM judgment_events)",
        "DELETE FROM judgment_events WHERE sequence = (SELECT max(sequence) FROM judgment_events)",
    ),
    "all events removed": ("DELETE FROM judgments", "DELETE FROM judgment_events"),
    "an event inserted": (
        """INSERT INTO judgment_events SELECT (SELECT max(sequence) + 1 FROM judgment_events), 'forged', 'noted',
           layer, topic, document, assessor, NULL, '', '', 'forged', evidence, purpose, source, source_name, seconds,
           confidence, scale, guidelines, document_hash, shown_order, position, session, happened, recorded
           FROM judgment_events LIMIT 1""",
    ),
    "a note": ("UPDATE judgment_events SET note = 'forged' WHERE sequence = 1",),
    "a reason": ("UPDATE judgment_events SET reason = 'forged' WHERE sequence = 2",),
    "evidence": ("UPDATE judgment_events SET evidence = '[[0, 1, \"x\"]]' WHERE sequence = 2",),
    "the time of a judgment": (
        "UPDATE judgment_events SET happened = '2020-01-01T00:00:00.000Z' WHERE sequence = 3",
    ),
    "the time of recording": ("UPDATE judgment_events SET recorded = '2020-01-01T00:00:00.000Z' WHERE sequence = 3",),
    "the seconds of a judgment": ("UPDATE judgment_events SET seconds = 60 WHERE sequence = 1",),
    "who judged": (
        "INSERT OR IGNORE INTO assessors VALUES ('eve', 'person', '2020-01-01T00:00:00.000Z')",
        "UPDATE judgments SET assessor = 'eve'",
        "UPDATE judgment_events SET assessor = 'eve'",
    ),
    "a setting": ("UPDATE settings SET value = '\"other\"' WHERE name = 'name'",),
    "a setting removed": ("DELETE FROM settings WHERE name = 'merge_rule'",),
    "the merge rule": ("UPDATE settings SET value = '[\"highest\"]' WHERE name = 'merge_rule'",),
    "the threshold of relevance": ("UPDATE scales SET relevant_from = relevant_from + 1",),
    "a label": ("UPDATE grades SET label = 'forged' WHERE grade = 1",),
    "a gain": ("UPDATE grades SET gain = gain + 1 WHERE grade = 1",),
    "a scale that never was": (
        "INSERT INTO scales SELECT version + 1, relevant_from, created FROM scales",
        "INSERT INTO grades SELECT scale + 1, grade, label, gain, description FROM grades",
    ),
    "guidelines that never were": ("INSERT INTO guidelines VALUES (9, 'x', '', '2020-01-01T00:00:00.000Z')",),
    "a document, with its hash": ("UPDATE documents SET content_hash = '0' WHERE number = 1",),
    "a topic, with its hash": ("UPDATE topics SET content_hash = '0' WHERE number = 1",),
    "the file that documents came from": ("UPDATE sources SET sha256 = '0' WHERE number = 1",),
    "two runs swapped": (
        "CREATE TEMP TABLE names AS SELECT number, name FROM runs WHERE number IN (1, 2)",
        "UPDATE runs SET name = name || '-' WHERE number IN (1, 2)",
        "UPDATE runs SET name = (SELECT name FROM names WHERE number = 3 - runs.number) WHERE number IN (1, 2)",
    ),
    "the group of a run": ("UPDATE runs SET group_name = 'forged' WHERE number = 1",),
    "a run withdrawn": ("UPDATE runs SET withdrawn = '2020-01-01', withdrawn_because = 'x' WHERE number = 1",),
    "a warning of intake": ("INSERT INTO run_warnings VALUES (1, 'x', 'y', 1, '[]', '')",),
    "the plan of a pool": ("UPDATE pools SET plan = 'depth 1'", "UPDATE pool_versions SET plan_in_full = 'depth 1'"),
    "the runs of a pool": ("UPDATE pool_runs SET priority = 7",),
    "a choice of a live pool": ("UPDATE pool_choices SET reason = 'forged' WHERE number = 1",),
    "the end of a topic": ("INSERT OR REPLACE INTO pool_ends VALUES (1, 'x', 'forged', 1, 1, 1, '2020-01-01')",),
    "an assignment": ("UPDATE assignments SET assessor = 'eve' WHERE assessor = 'amy'",),
    "a packet that was not issued": ("INSERT INTO packets VALUES ('x', 'eve', 'main', '[]', '2020-01-01')",),
    "a queue": ("UPDATE queue_entries SET why = 'forged'",),
    "a find": ("UPDATE found_documents SET assessor = 'eve'",),
    "a release removed": ("DELETE FROM release_rows", "DELETE FROM releases"),
    "a release, with its hash": (
        "UPDATE release_rows SET grade = 1 - min(grade, 1)",
        "UPDATE releases SET content_hash = '0'",
    ),
    "an entry of the history": ("UPDATE history SET recorded = '2020-01-01T00:00:00.000Z' WHERE number = 2",),
    "an entry of the history removed": ("DELETE FROM history WHERE number = 3",),
    "the last entry of the history removed": (
        "DELETE FROM history WHERE number = (SELECT max(number) FROM history)",
    ),
    "the latest entries of the history, together with their rows": (
        "DELETE FROM release_rows",
        "DELETE FROM releases",
        "DELETE FROM history WHERE number >= (SELECT min(number) FROM history WHERE subject = 'releases')",
    ),
}


def tamper(file: Path, *statements: str, redo: Callable[[sqlite3.Connection], None] | None = None) -> None:
    """Change the file as an intruder does who takes the triggers away and puts them back."""
    with closing(sqlite3.connect(file)) as connection, connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        before = connection.total_changes
        for statement in statements:
            connection.execute(statement)
        assert connection.total_changes > before or statements == (), "the change changes nothing"
        if redo is not None:
            redo(connection)
        for _, sql in triggers:
            connection.execute(sql)


def recompute(connection: sqlite3.Connection) -> None:
    """Make every entry of the history say what the file says now."""
    entries = connection.execute(
        "SELECT number, subject, first, last, recorded FROM history ORDER BY number"
    ).fetchall()
    latest = {subject: number for number, subject, *_ in entries}
    before = b""
    for place, (number, subject, first, last, recorded) in enumerate(entries, start=1):
        (digest,) = connection.execute("SELECT digest FROM history WHERE number = ?", [number]).fetchone()
        if first is not None and latest[subject] == number:
            (last,) = connection.execute(f"SELECT max(rowid) FROM {subject}").fetchone()
        rows = [row for row in history._rows(connection, subject) if first is None or first <= row[0] <= (last or 0)]
        if first is not None or latest[subject] == number:
            digest = history.digest_of(rows)
        before = history._chained(before, place, subject, first, last, digest, recorded)
        values = place, last, digest, before, number
        connection.execute("UPDATE history SET number = ?, last = ?, digest = ?, hash = ? WHERE number = ?", values)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_by_hand_is_noticed(change: str, sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    tamper(file, *CHANGES[change])
    found = json.loads(call("check", "-C", file, "--format", "json", status=1).out)
    assert any(row["what"] == "history" and row["result"] == "WRONG" for row in found)


@pytest.mark.parametrize("anchor", ["card.json", "reuse-card.json", "", "bundle.zip", "backup.db"])
def test_a_sound_file_stands_against_what_it_gave_away(anchor: str, sound: Path, tmp_path: Path):
    carrier = sound.parent / "bundle" / anchor
    if anchor == "bundle.zip":
        carrier = Path(shutil.make_archive(str(tmp_path / "bundle"), "zip", sound.parent / "bundle"))
    if anchor == "backup.db":
        carrier = tmp_path / anchor
        call("backup", carrier, "-C", sound)
    call("check", "--against", carrier, "-C", sound)


@pytest.mark.parametrize("change", CHANGES)
def test_with_the_chain_recomputed_it_is_noticed_against_a_backup(change: str, sound: Path, tmp_path: Path):
    file, backup = tmp_path / "collection.db", tmp_path / "backup.db"
    shutil.copy(sound, file)
    call("backup", backup, "-C", file)
    tamper(file, *CHANGES[change], redo=recompute)
    said = call("check", "--against", backup, "-C", file, status=1).err
    assert "of the history is another one now" in said or "entries were removed" in said


def test_a_file_without_an_anchor_is_refused_as_one(sound: Path, tmp_path: Path):
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert "carries the history" in call("check", "--against", other, "-C", sound, status=1).err


def test_the_history_goes_on_after_any_command(sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    with open_store(file) as store:
        before = history.head(store)
    call("qrels", "licence", "CC-BY-4.0", "-C", file)
    with open_store(file) as store:
        assert history.head(store).entries == before.entries + 1
        assert history.anchor_faults(store, before) == []
        assert list(history.faults(store)) == []


def test_a_flipped_bit_of_a_ranking_is_noticed_when_it_is_read(sound: Path, tmp_path: Path):
    with closing(sqlite3.connect(sound)) as connection:
        name, block = connection.execute("SELECT name, ranking FROM runs WHERE number = 1").fetchone()
    for place in range(0, len(block), max(len(block) // 20, 1)):
        file = tmp_path / f"{place}.db"
        shutil.copy(sound, file)
        harmed = bytearray(block)
        harmed[place] ^= 4
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("DROP TRIGGER runs_update")
            connection.execute("UPDATE runs SET ranking = ? WHERE number = 1", [bytes(harmed)])
        assert "checksum" in call("evaluate", name, "--no-verdict", "-C", file, status=1).err


def test_a_bundle_is_signed_with_an_ssh_key_and_the_signature_is_verified(sound: Path, tmp_path: Path):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen here")
    key, bundle, signers = tmp_path / "key", tmp_path / "bundle", tmp_path / "signers"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(make, check=True)
    shutil.copy(sound, file := tmp_path / "collection.db")
    assert "--bundle" in call("qrels", "release", "a", "--sign", key, "-C", file, status=2).err
    assert "no such key" in call("qrels", "release", "a", "--bundle", bundle, "--sign", "x", "-C", file, status=1).err
    call("qrels", "release", "signed", "--bundle", bundle, "--sign", key, "-C", file)
    signers.write_text(f"me@example.org {key.with_suffix('.pub').read_text()}")
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", "me@example.org", "-n", "cranfield"]
    verify += ["-s", str(bundle / "SHA256SUMS.sig")]
    sums = (bundle / "SHA256SUMS").read_bytes()
    assert subprocess.run(verify, input=sums, capture_output=True).returncode == 0
    assert subprocess.run(verify, input=sums + b"x", capture_output=True).returncode != 0
    call("check", "--against", bundle / "card.json", "-C", file)


FOREIGN = {
    "a trigger": "CREATE TRIGGER mine AFTER INSERT ON judgments BEGIN DELETE FROM topics; END",
    "a trigger under the name of ours": (
        "DROP TRIGGER documents_ai; CREATE TRIGGER documents_ai AFTER INSERT ON documents BEGIN DELETE FROM runs; END"
    ),
    "a view in the place of a table": (
        "DROP TABLE run_warnings; CREATE VIEW run_warnings AS WITH RECURSIVE endless(a) AS"
        " (SELECT 1 UNION ALL SELECT a + 1 FROM endless) SELECT a AS run, a AS code FROM endless"
    ),
    "a view in the place of a view": "DROP VIEW qrels; CREATE VIEW qrels AS SELECT 1 AS topic",
    "a trigger of another kind of writing": (
        "CREATE TRIGGER evil AFTER INSERT ON judgments BEGIN DELETE FROM topics; END; PRAGMA writable_schema = ON;"
        "UPDATE sqlite_master SET type = 'TRIGGER' WHERE name = 'evil'"
    ),
    "an endless view in capitals": (
        "ALTER TABLE settings RENAME TO other; CREATE VIEW Settings AS WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS name, 'x' AS value FROM n"
    ),
    "an endless view of migrations": (
        "DROP TABLE _sqlite_migrations; CREATE VIEW _sqlite_migrations AS WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS name, 'cranfield' AS migration_set FROM n"
    ),
    "a trigger of the index that does something else": (
        "DROP TRIGGER documents_ai; CREATE TRIGGER documents_ai BEFORE INSERT ON judgment_events"
        " BEGIN INSERT INTO documents_fts(rowid) VALUES (RAISE(IGNORE)); END"
    ),
    "a unique index": "CREATE UNIQUE INDEX evil ON releases(length(name) * 0)",
    "an index that computes": "CREATE INDEX evil ON judgments(hex(zeroblob(1000000 * grade)))",
    "a table that takes anything": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, ') STRICT', ')')"
        " WHERE name = 'settings'"
    ),
    "a column that takes anything": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'seconds    REAL', 'seconds ANY')"
        " WHERE name = 'judgment_events'"
    ),
    "a column more": "ALTER TABLE topics ADD COLUMN evil TEXT DEFAULT '=1+1'",
    "a table in the place of a view": "DROP VIEW progress; CREATE TABLE progress (a)",
    "another virtual table": "DROP TABLE tried_hits; CREATE VIRTUAL TABLE tried_hits USING fts5(topic)",
    **{
        f"an endless view of the index, {name}": (
            f"DROP TABLE documents_fts_{name}; CREATE VIEW documents_fts_{name} AS WITH RECURSIVE n({columns}) AS"
            f" (SELECT 1, 1, 1 UNION ALL SELECT * FROM n) SELECT * FROM n"
        )
        for name, columns in {"config": "k, v, x", "idx": "segid, term, pgno", "docsize": "id, sz, x"}.items()
    },
    "a table of the index that computes": (
        "DROP TABLE documents_fts_config;"
        "CREATE TABLE documents_fts_config(k PRIMARY KEY, v AS (hex(zeroblob(1000000)))) WITHOUT ROWID"
    ),
    "an index on a table of the index": "CREATE INDEX evil ON documents_fts_docsize(hex(zeroblob(1000000 * id)))",
    "an index of other texts": (
        "DROP TABLE documents_fts; CREATE VIRTUAL TABLE documents_fts"
        " USING FTS5(title, text, tokenize='porter unicode61 remove_diacritics 2', content='evil')"
    ),
}


@pytest.mark.parametrize("foreign", FOREIGN)
def test_a_file_that_would_run_what_a_stranger_wrote_is_not_opened(foreign: str, sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(FOREIGN[foreign])
    for command in (["status"], ["evaluate"], ["check"], ["runs", "list"]):
        assert "was not opened" in call(*command, "-C", file, status=1).err


@pytest.mark.parametrize("seconds", ["9e999", "-9e999"])
def test_a_duration_without_end_is_a_sentence(seconds: str, sound: Path, tmp_path: Path, kept: Kept):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("DROP TRIGGER judgment_events_update")
        change = "source = 'person', kind = 'judged', assessor = 'amy'"
        connection.execute(f"UPDATE judgment_events SET seconds = {seconds}, {change} WHERE grade IS NOT NULL")
    for command in (["report", "-o", tmp_path / "r.html"], ["judge", "--plain", "-a", "amy"], ["judge", "progress"]):
        kept(call(*command, "-C", file, status=1).err)
    assert "invalid time or duration" in call("check", "-C", file, status=1).err


def test_a_row_that_sqlite_refuses_is_a_sentence(sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    with open_store(file) as store, pytest.raises(CollectionError, match="refuses"), store.write() as connection:
        connection.execute("INSERT INTO settings VALUES ('name', NULL)")


def test_a_table_of_the_users_own_that_refers_to_ours_keeps_nobody_from_judging(sound: Path, tmp_path: Path):
    shutil.copy(sound, file := tmp_path / "collection.db")
    with closing(sqlite3.connect(file)) as connection:
        # One that refers to every lease there will be, and one that refers to what SQLite does not find unique.
        connection.executescript(
            """CREATE TABLE mine (layer, topic, document, assessor,
                   FOREIGN KEY (layer, topic, document, assessor) REFERENCES leases);
               INSERT INTO mine SELECT 'main', topics.id, documents.id, 'bob' FROM topics, documents;
               CREATE TABLE yours (title REFERENCES documents(title), lease REFERENCES leases(expires))"""
        )
    with open_store(file) as store:
        desk = Judge(store).session("bob")
        for _ in range(2):
            desk.judge(desk.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        desk.leave()
    call("check", "-C", file)


def test_ctrl_c_while_a_table_is_compared_is_ctrl_c(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(rows: object) -> bytes:
        raise KeyboardInterrupt

    shutil.copy(sound, file := tmp_path / "collection.db")
    with open_store(file) as store:
        with monkeypatch.context() as patched:
            patched.setattr(history, "digest_of", interrupted)
            with pytest.raises(KeyboardInterrupt), store.write():
                store.set("name", "other")
        with store.write():
            store.set("name", "another")
        assert list(history.faults(store)) == []


def test_the_history_is_whole_where_several_write_and_some_is_rolled_back(sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    with open_store(file) as one, open_store(file) as other:
        for number in range(12):
            store = (one, other)[number % 3 == 0]
            with suppress(ZeroDivisionError), store.write():
                store.set("name", f"name {number}")
                add_assessor(store, f"assessor {number}")
                assert number % 4 or 1 / 0
        assert list(history.faults(one)) == []
        assert one.setting("name") == "name 11"


def test_tables_and_views_that_people_add_are_named_and_left_alone(sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE my_notes (a); CREATE VIEW my_view AS SELECT * FROM runs")
        # What they refer to is their own affair, also where it is not there.
        connection.execute("ALTER TABLE my_notes ADD COLUMN document REFERENCES documents(title)")
        connection.execute("INSERT INTO my_notes VALUES (1, 'nowhere')")
        # What their rows are held to is not computed: it may take days.
        connection.executescript("CREATE TABLE my_numbers (a CHECK (length(hex(zeroblob(a))) > 100))")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT INTO my_numbers VALUES (1)")
        connection.commit()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'history'").fetchone()
    assert "not checked: my_notes, my_numbers, my_view" in call("check", "-C", file).err
    with file.open("r+b") as damaged:
        damaged.seek((page - 1) * size)
        damaged.write(b"x" * size)
    found = json.loads(call("check", "-C", file, "--format", "json", status=1).out)
    assert (found[0]["what"], found[0]["result"]) == ("file", "WRONG")


def test_only_who_is_entitled_adjudicates(sound: Path, tmp_path: Path, kept: Kept):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    assert "nobody else may adjudicate" in call("judge", "assign", "--adjudicator", "amy", "-C", file).err
    kept(call("judge", "adjudicate", "-a", "eve", "--plain", "-C", file, status=2, answers="").err)
    call("judge", "adjudicate", "-a", "amy", "--plain", "-C", file, answers="")


def test_what_was_changed_by_hand_is_not_covered_up_by_the_next_command(sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    tamper(file, "UPDATE settings SET value = '[\"highest\"]' WHERE name = 'merge_rule'")
    call("qrels", "licence", "CC-BY-4.0", "-C", file)
    call("qrels", "licence", "CC0", "-C", file)
    assert "settings: rows were changed, removed or inserted by hand" in call("check", "-C", file, status=1).err


@pytest.mark.parametrize(
    "change", ["an event inserted", "a packet that was not issued", "guidelines that never were"]
)
@pytest.mark.parametrize("rolled_back", [False, True])
def test_what_was_inserted_by_hand_is_not_covered_up_by_what_is_appended(
    change: str, rolled_back: bool, sound: Path, tmp_path: Path
):
    file, table = tmp_path / "collection.db", CHANGES[change][0].split()[2]
    shutil.copy(sound, file)
    with open_store(file) as store:
        events = [replace(next(all_events(store)), uuid=name, kind="noted", grade=None) for name in "abc"]
        for number in range(3):
            if number == 1:
                tamper(file, *CHANGES[change])
            with suppress(ZeroDivisionError), store.write():
                append_events(store, [events[number]])
                store.put("packets", [(f"session {number}", "amy", "main", "[]", "2026-01-01")])
                store.add_guidelines(f"guidelines {number}")
                assert number != 1 or not rolled_back or 1 / 0
    assert f"{table}: rows were changed, removed or inserted by hand" in call("check", "-C", file, status=1).err


def test_an_appended_entry_does_not_hide_a_release_that_was_removed(sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    tamper(file, "DELETE FROM release_rows", "DELETE FROM releases")
    call("qrels", "release", "second", "-C", file)
    assert "of releases: changed, removed or inserted" in call("check", "-C", file, status=1).err


@pytest.mark.parametrize("witness", ["9223372036854775807", "'x'", "-1", "NULL", "zeroblob(9)"])
def test_entries_that_were_removed_stay_missing_and_an_odd_count_of_them_stops_nothing(
    witness: str, sound: Path, tmp_path: Path
):
    shutil.copy(sound, file := tmp_path / "collection.db")
    tamper(file, *CHANGES["the latest entries of the history, together with their rows"])
    call("qrels", "release", "second", "-C", file)
    assert "of the history are missing" in call("check", "-C", file, status=1).err
    tamper(file, f"UPDATE sqlite_sequence SET seq = {witness} WHERE name = 'history'")
    call("qrels", "release", "third", "-C", file)
    assert "of the history are missing" in call("check", "-C", file, status=1).err


def test_an_event_with_a_negative_number_is_noticed(sound: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    tamper(file, CHANGES["an event inserted"][0].replace("(SELECT max(sequence) + 1 FROM judgment_events)", "-5"))
    assert "of judgment_events: changed" in call("check", "-C", file, status=1).err


@pytest.mark.parametrize("carrier", ["missing", "folder", "empty"])
def test_a_wrong_anchor_is_not_blamed_on_the_collection(carrier: str, sound: Path, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    assert "not sound" not in call("check", "--against", tmp_path / carrier, "-C", sound, status=1).err


@pytest.mark.parametrize("kind", ["wal", "journal"])
def test_no_new_file_is_made_beside_the_log_of_one_that_is_gone(kind: str, sound: Path, tmp_path: Path):
    (tmp_path / f"collection.db-{kind}").write_bytes(b"left")
    assert "log of a collection that is gone" in call("init", "-C", tmp_path / "collection.db", status=1).err
    assert "log of a collection" in call("backup", tmp_path / "collection.db", "-C", sound, status=1).err


@pytest.mark.parametrize(
    ("statement", "commands"),
    [
        ("UPDATE documents SET metadata = '[1, 2'", ["corpus show NAME"]),
        ("UPDATE documents SET metadata = '[1, 2]'", ["corpus show NAME"]),
        ("UPDATE topics SET metadata = '7'", ["status", "judge --plain -a amy", "report -o r.html"]),
        ("UPDATE releases SET manifest = '{}'", ["qrels list", "report -o r.html"]),
        (
            'UPDATE releases SET manifest = replace(manifest, \'"judged": \', \'"judged": "x", "y": \')',
            ["qrels list"],
        ),
        ("UPDATE queues SET contests = '{'", ["judge --plain -a amy --queue again"]),
        (
            "UPDATE releases SET manifest = replace(hex(zeroblob(50000)), '0', '[')",
            ["qrels list", "qrels export first"],
        ),
        ("UPDATE packets SET documents = '[7]'", ["judge merge ../packet.db"]),
    ],
)
def test_what_a_file_says_about_itself_is_input_like_any_other(
    statement: str, commands: list[str], sound: Path, tmp_path: Path
):
    file = tmp_path / "collection.db"
    shutil.copy(sound, file)
    tamper(file, statement)
    with closing(sqlite3.connect(file)) as connection:
        (name,) = connection.execute("SELECT id FROM documents LIMIT 1").fetchone()
    for command in commands:
        words = command.replace("NAME", name).split()
        assert status_in(tmp_path, *words, "-C", file) in (0, 1, 2)


@pytest.mark.parametrize(
    "value", ["'oops'", "replace(hex(zeroblob(50000)), '0', '[')", "replace(hex(zeroblob(2500)), '0', '7')"]
)
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("name", "status"),
        ("overlap", "judge --plain -a amy"),
        ("probes", "judge --plain -a amy"),
        ("packet", "status"),
    ],
)
def test_a_setting_that_cannot_be_is_a_sentence_and_a_backup_takes_its_place(
    name: str, command: str, value: str, sound: Path, tmp_path: Path, kept: Kept
):
    shutil.copy(sound, file := tmp_path / "collection.db")
    tamper(file, f"INSERT OR REPLACE INTO settings VALUES ('{name}', {value}), ('made', {value})")
    kept(call(*command.split(), "-C", file, status=1, answers="").err)
    assert f"the setting '{name}' is not JSON" in call("check", "-C", file, status=1).err
    call("restore", sound, "-C", file)
    call("check", "-C", file)


def status_in(folder: Path, *words: object) -> int:
    command = [sys.executable, "-m", "cranfield", *map(str, words)]
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True).returncode


def test_a_file_with_a_history_gets_later_tables_and_goes_on_with_it(tmp_path: Path):
    file = tmp_path / "collection.db"
    init_collection(file, name="older")
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("DROP VIEW held_documents")
        for table in ("outside_sources", "kept_documents"):
            database.execute(f"DROP TABLE {table}")
        database.execute("DELETE FROM _sqlite_migrations WHERE name = 'm0008_outside'")
    with open_store(file) as store:
        assert check(store).wrong == []
        with store.write():
            documents.keep(store, [Document("d1", "text")])
            documents.put_outside(store, documents.OutsideSource("jsonl", "/data/documents.jsonl", {}, 1))
        assert check(store).wrong == []
        subjects = store.column("SELECT subject FROM history ORDER BY number DESC LIMIT 2")
        assert sorted(subjects) == ["kept_documents", "outside_sources"]


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_backup_and_what_is_restored_are_as_private_as_the_collection(mode: int, sound: Path, tmp_path: Path):
    shutil.copy(sound, tmp_path / "collection.db")
    (tmp_path / "collection.db").chmod(mode)
    call("backup", "backup.db", folder=tmp_path)
    assert (tmp_path / "backup.db").stat().st_mode & 0o777 == mode
    (tmp_path / "backup.db").chmod(0o644)
    call("restore", "backup.db", folder=tmp_path)
    assert (tmp_path / "collection.db").stat().st_mode & 0o777 == mode


def test_a_backup_says_that_what_it_copies_is_not_sound_and_can_be_put_back_all_the_same(
    sound: Path, tmp_path: Path, kept: Kept
):
    shutil.copy(sound, tmp_path / "collection.db")
    call("backup", "backups", "--keep", "1", folder=tmp_path, status=None)
    (tmp_path / "backups").mkdir(exist_ok=True)
    call("backup", "backups", "--keep", "1", folder=tmp_path)
    tamper(tmp_path / "collection.db", "UPDATE judgment_events SET note = 'changed'")
    said = call("backup", "backups", "--keep", "1", folder=tmp_path).err
    kept(re.sub(r"20\d\d-\S+Z|\([\d,]+ bytes\)", "WHEN", said))
    assert len(list((tmp_path / "backups").iterdir())) == 2
    call("backup", "unsound.db", folder=tmp_path)
    kept(re.sub(r"20\d\d-\S+", "WHEN", call("restore", "unsound.db", folder=tmp_path, status=1).err))
    call("restore", "unsound.db", "--unsound", folder=tmp_path)


def test_a_backup_of_another_collection_accuses_nobody(sound: Path, tmp_path: Path, kept: Kept):
    shutil.copy(sound, tmp_path / "collection.db")
    call("init", "another", "-C", "another.db", folder=tmp_path)
    kept(call("check", "--against", "another.db", folder=tmp_path, status=1).err)


def test_a_card_or_a_bundle_of_another_collection_accuses_nobody(sound: Path, tmp_path: Path, kept: Kept):
    call("init", "another", folder=tmp_path)
    for carrier in ("", "card.json"):
        said = call("check", "--against", sound.parent / "bundle" / carrier, folder=tmp_path, status=1).err
        kept(said.replace(str(sound.parent), "SOUND"))
    # A card of reuse has no name of a collection.
    card = sound.parent / "bundle" / "reuse-card.json"
    said = call("check", "--against", card, folder=tmp_path, status=1).err
    wrong = [line for line in said.replace(str(sound.parent), "SOUND").splitlines() if line.startswith("wrong: ")]
    kept(re.sub(r"[\d,]+ then", "N then", line) for line in wrong)


def test_a_packet_is_no_backup(sound: Path, tmp_path: Path, kept: Kept):
    shutil.copy(sound, tmp_path / "collection.db")
    shutil.copy(sound.with_name("packet.db"), tmp_path)
    kept(call("restore", "packet.db", folder=tmp_path, status=1).err)


def test_a_backup_of_a_file_without_a_table_is_made_with_a_warning(sound: Path, tmp_path: Path):
    shutil.copy(sound, tmp_path / "collection.db")
    with closing(sqlite3.connect(tmp_path / "collection.db")) as plain:
        plain.execute("DROP TABLE pool_choices")
    assert "not sound" in call("backup", "copy.db", folder=tmp_path).err
    assert (tmp_path / "copy.db").exists()


def test_a_name_in_the_schema_that_is_not_utf_8_is_a_sentence(sound: Path, tmp_path: Path, kept: Kept):
    content = sound.read_bytes()
    for name in (b"CREATE TABLE documents", b"CREATE INDEX"):  # what SQLite cannot parse it repeats in its message
        (tmp_path / "collection.db").write_bytes(content.replace(name, name[:8] + b"\xf2 \xf2" + name[11:], 1))
        kept(call("status", folder=tmp_path, status=1).err)
