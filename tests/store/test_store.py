"""One collection file: made whole, opened with care, written all or nothing."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import CollectionBusy, CollectionError, CollectionMoved
from cranfield.cli import console
from cranfield.store import files, migrations
from cranfield.store import store as engine
from cranfield.store.files import back_up, create_store
from cranfield.store.store import Store, applied_migrations, open_store
from cranfield.workflows.check import check
from cranfield.workflows.collection import init_collection


def test_a_new_collection_is_one_file_in_wal_mode_with_full_synchronisation(store: Store):
    assert [path.name for path in store.path.parent.iterdir() if path.suffix == ".db"] == ["collection.db"]
    assert store.value("PRAGMA journal_mode") == "wal"
    assert store.value("PRAGMA synchronous") == 2
    assert store.value("PRAGMA foreign_keys") == 1
    assert store.value("PRAGMA busy_timeout") == engine.BUSY_MILLISECONDS
    assert store.value("PRAGMA application_id") == engine.APPLICATION_ID


def test_an_existing_file_is_never_overwritten(tmp_path: Path, kept: Kept):
    path = tmp_path / "collection.db"
    path.write_text("precious")
    with kept.raises(CollectionError):
        init_collection(path, name="x")
    assert path.read_text() == "precious"


def test_a_collection_that_cannot_be_furnished_is_not_there_afterwards(tmp_path: Path, kept: Kept):
    def broken(store: Store) -> None:
        raise CollectionError("no")

    with kept.raises(CollectionError):
        create_store(tmp_path / "collection.db", furnish=broken)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"not a database at all", b""])
def test_what_is_not_a_collection_is_refused_with_a_sentence(tmp_path: Path, content: bytes | None, kept: Kept):
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)
    with kept.raises(CollectionError):
        open_store(path)


def test_a_folder_is_refused_with_a_sentence(tmp_path: Path, kept: Kept):
    with kept.raises(CollectionError):
        open_store(tmp_path)


def test_a_foreign_sqlite_file_is_refused(tmp_path: Path, kept: Kept):
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    with kept.raises(CollectionError):
        open_store(tmp_path / "x.db")


def test_a_file_from_a_newer_version_is_refused_with_a_sentence(store: Store, kept: Kept):
    with store.write() as connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('cranfield', 'm9999_later', '')"
        )
    with kept.raises(CollectionError):
        open_store(store.path)


def test_an_older_file_is_backed_up_and_brought_up_to_date(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    with store.write():
        store.set("name", "old")
    later = tmp_path / "later"
    later.mkdir()
    (later / "m9998_more.sql").write_text("CREATE TABLE more (a TEXT);\n")
    monkeypatch.setattr(migrations, "__path__", [*migrations.__path__, str(later)])
    said: list[str] = []
    with open_store(store.path, say=said.append) as updated:
        kept(said)
        assert updated.rows("SELECT * FROM more") == []
        assert updated.setting("name") == "old"
        assert applied_migrations(updated)[-1] == "m9998_more"
    backup = store.path.with_name("collection.db.before-m9998_more")
    monkeypatch.undo()
    with open_store(backup) as before:
        assert before.setting("name") == "old"
        assert before.row("SELECT 1 FROM sqlite_master WHERE name = 'more'") is None


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    later = tmp_path / "later"
    later.mkdir()
    (later / "m9997_bad.sql").write_text("CREATE TABLE more (a TEXT);\n\nnonsense;\n")
    monkeypatch.setattr(migrations, "__path__", [*migrations.__path__, str(later)])
    with kept.raises(CollectionError):
        open_store(store.path)
    monkeypatch.undo()
    with open_store(store.path) as same:
        assert same.row("SELECT 1 FROM sqlite_master WHERE name = 'more'") is None


def test_a_list_of_migrations_that_does_not_fit_the_tables_is_a_sentence_and_leaves_no_copy(store: Store, kept: Kept):
    store.connection.execute("DELETE FROM _sqlite_migrations WHERE id = (SELECT max(id) FROM _sqlite_migrations)")
    store.close()
    with kept.raises(CollectionError):
        open_store(store.path)
    assert [file.name for file in store.path.parent.iterdir()] == [store.path.name]


def test_a_write_that_fails_leaves_nothing_behind(store: Store):
    def write_and_fail() -> None:
        with store.write():
            store.set("a", 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert store.setting("a") is None


def test_a_writer_waits_for_another_and_is_told_so_once(store: Store, kept: Kept):
    said: list[str] = []
    other = open_store(store.path, say=said.append)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with open_store(store.path) as holder, holder.write():
            holder.set("first", 1)
            entered.set()
            leave.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10)
    threading.Timer(2.5, leave.set).start()
    with other.write():
        other.set("second", 2)
    holder.join()
    assert store.setting("first") == 1
    assert store.setting("second") == 2
    kept(said)
    other.close()


def test_a_writer_without_patience_gets_a_sentence(store: Store, monkeypatch: pytest.MonkeyPatch, kept: Kept):
    other = open_store(store.path)
    other.connection.execute("PRAGMA busy_timeout = 1")
    with store.write(), kept.raises(CollectionBusy), other.write(patience=0):
        pass
    other.close()


def test_a_full_disk_is_said_and_leaves_nothing_half_written(store: Store, kept: Kept):
    pages = store.value("PRAGMA page_count")
    store.row(f"PRAGMA max_page_count = {pages + 2}")
    with kept.raises(CollectionError), store.write():
        store.set("big", "x" * 1_000_000)
    store.row("PRAGMA max_page_count = 1000000")
    assert store.setting("big") is None
    with store.write():
        store.set("small", 1)
    assert store.setting("small") == 1


def test_a_disk_that_fills_while_a_backup_is_put_back_is_said_of_the_collection(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    def full(path: Path, *, mode: str, called: Path) -> None:
        with engine.translated(called):
            raise sqlite3.OperationalError("database or disk is full")

    back_up(store, tmp_path / "backup.db")
    store.close()
    monkeypatch.setattr(files, "connect", full)
    with kept.raises(CollectionError):
        files.restore(store.path, tmp_path / "backup.db", check=None)


def test_a_backup_of_a_live_file_is_complete_and_never_overwrites(store: Store, tmp_path: Path, kept: Kept):
    with store.write():
        store.set("a", [1, "two"])
    target = tmp_path / "copy.db"
    with open_store(store.path) as writer, writer.write():
        writer.set("not yet committed", 1)
        back_up(store, target)
    with open_store(target) as copy:
        query = "SELECT * FROM settings WHERE name <> 'not yet committed' ORDER BY name"
        assert copy.rows(query) == store.rows(query)
        assert copy.setting("not yet committed") is None
    with kept.raises(CollectionError):
        back_up(store, target)
    assert not list(tmp_path.glob("*.unfinished*"))


def test_the_sqlite_shell_reads_the_file_and_its_tables_explain_themselves(small: Store, kept: Kept):
    schema = "\n".join(row[0] for row in small.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))
    kept(schema)
    with sqlite3.connect(small.path) as plain:
        assert plain.execute("SELECT id, title FROM documents").fetchall() == [
            ("d1", "Foxes"),
            ("d2", "Burnt pans"),
            ("d3", ""),
        ]
    plain.close()


@pytest.mark.parametrize(
    ("version", "buggy"),
    [
        ((3, 40, 1), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 50, 7), False),
        ((3, 50, 6), True),
        ((3, 44, 6), False),
        ((3, 53, 0), False),
    ],
)
def test_the_versions_with_the_wal_reset_bug_are_known(version: tuple[int, ...], buggy: bool):
    assert files.has_wal_reset_bug(version) is buggy


def test_a_network_file_system_is_recognised_by_the_longest_mount_point(tmp_path: Path):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path}/net nfs4 rw 0 0\n")
    assert files.file_system_of(tmp_path / "net" / "a.db", mounts=mounts) == "nfs4"
    assert files.file_system_of(tmp_path / "network" / "a.db", mounts=mounts) == "ext4"
    assert files.file_system_of(tmp_path / "a.db", mounts=tmp_path / "nowhere") == ""


def test_two_processes_that_make_the_same_collection_leave_one(tmp_path: Path):
    program = "from cranfield.cli.main import run; run()"
    command = [sys.executable, "-c", program, "init", "x", "-C", str(tmp_path / "c.db")]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    statuses = sorted(process.wait() for process in processes)
    for process in processes:
        process.stderr.close()
    assert statuses[0] == 0
    assert statuses[1] in (1, 2)
    with open_store(tmp_path / "c.db") as made:
        assert made.setting("name") == "x"


def test_an_sqlite_that_is_too_old_is_answered_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    monkeypatch.setattr(engine.sqlite3, "sqlite_version_info", (3, 34, 1))
    monkeypatch.setattr(engine.sqlite3, "sqlite_version", "3.34.1")
    with kept.raises(CollectionError):
        init_collection(tmp_path / "c.db", name="x")


def test_a_file_that_cannot_be_written_is_read_all_the_same(
    small: Store, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    small.close()
    usual = engine.connect

    def refuse_writers(path: Path, *, mode: str = "rw"):
        if mode == "rw":
            with engine.translated(path):
                raise engine.sqlite3.OperationalError("attempt to write a readonly database")
        return usual(path, mode=mode)

    monkeypatch.setattr(engine, "connect", refuse_writers)
    with open_store(small.path) as store:
        assert store.value("SELECT count(*) FROM documents") == 3
        assert [finding.wrong for finding in check(store).findings if finding.wrong] == []
        with kept.raises(CollectionError), store.write():
            pass


def test_a_log_that_cannot_be_put_into_its_file_is_answered_with_what_to_do(
    small: Store, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    def refuse(*words: object, **options: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    with small.write():
        small.set("more", 1)  # it is in the log
    monkeypatch.setattr(engine.sqlite3, "connect", refuse)
    with kept.raises(CollectionError):
        open_store(small.path)


def test_a_folder_that_is_renamed_is_not_called_a_link(
    small: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    small.close()
    (tmp_path / "before").mkdir()
    shutil.copy(small.path, tmp_path / "before")
    monkeypatch.chdir(tmp_path / "before")
    with open_store(Path(small.path.name)) as store:
        (tmp_path / "before").rename(tmp_path / "after")
        with kept.raises(CollectionMoved), store.write():
            pass


def test_an_older_file_that_can_only_be_read_is_answered_with_what_to_do(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    store.close()
    usual = engine.connect
    monkeypatch.setattr(engine, "connect_for_use", lambda path: (usual(path, mode="ro"), False))
    later = tmp_path / "later"
    later.mkdir()
    (later / "m9998_more.sql").write_text("-- Nothing more.\n")
    monkeypatch.setattr(migrations, "__path__", [*migrations.__path__, str(later)])
    with kept.raises(CollectionError):
        open_store(store.path)
    assert not list(tmp_path.glob("*.before-*"))


def test_the_user_is_told_that_a_file_was_brought_up_to_date_and_where_the_copy_is(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    store.close()
    later = tmp_path / "later"
    later.mkdir()
    (later / "m9998_more.sql").write_text("-- Nothing more.\n")
    monkeypatch.setattr(migrations, "__path__", [*migrations.__path__, str(later)])
    for told in (True, False):
        with console.open_collection(store.path):
            assert ("collection.db.before-m9998_more" in capsys.readouterr().err) is told


def test_a_place_that_cannot_be_written_is_told_by_the_name_that_was_asked_for(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    def refuse(*words: object, **options: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(engine.sqlite3, "connect", refuse)
    for make in (lambda path: init_collection(path, name="x"), lambda path: back_up(store, path)):
        with kept.raises(CollectionError):
            make(tmp_path / "new.db")
