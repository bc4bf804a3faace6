"""Files that are complete or not there at all."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.base.writing import whole_file


def test_what_is_written_takes_its_place_at_the_end(tmp_path: Path):
    with whole_file(tmp_path / "a") as unfinished:
        unfinished.write_text("done")
        assert not (tmp_path / "a").exists()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "done")]


def test_a_link_that_waits_under_the_passing_name_is_not_followed(tmp_path: Path):
    (tmp_path / "b").write_text("somebody's")
    (tmp_path / f"a.unfinished-{os.getpid()}").symlink_to("b")
    with whole_file(tmp_path / "a") as unfinished:
        unfinished.write_text("done")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "done", "b": "somebody's"}


def test_a_failure_leaves_nothing(tmp_path: Path):
    def fail() -> None:
        with whole_file(tmp_path / "a") as unfinished:
            unfinished.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_only_when_asked_for(tmp_path: Path, kept: Kept):
    (tmp_path / "a").write_text("old")
    with kept.raises(UsageError), whole_file(tmp_path / "a"):
        pass
    with whole_file(tmp_path / "a", replace=True) as unfinished:
        unfinished.write_text("new")
    assert (tmp_path / "a").read_text() == "new"


def test_a_file_that_another_process_makes_meanwhile_is_not_overwritten(tmp_path: Path, kept: Kept):
    def race() -> None:
        with whole_file(tmp_path / "a") as unfinished:
            unfinished.write_text("ours")
            (tmp_path / "a").write_text("theirs")

    with kept.raises(UsageError):
        race()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "theirs")]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path, kept: Kept):
    with kept.raises(UsageError), whole_file(tmp_path / "no" / "a") as unfinished:
        unfinished.write_text("x")


@pytest.mark.parametrize("name", ["a.db", "a.db-wal", "a.db-shm", "link.html"])
def test_an_sqlite_file_and_its_log_are_never_replaced(name: str, tmp_path: Path, kept: Kept):
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE a (b)")
        (tmp_path / "link.html").symlink_to("a.db")
        before = (tmp_path / name).read_bytes()
        with kept.raises(UsageError), whole_file(tmp_path / name, replace=True) as unfinished:
            unfinished.write_text("new")
        assert (tmp_path / name).read_bytes() == before
