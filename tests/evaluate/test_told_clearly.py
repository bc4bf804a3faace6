"""Calls that cannot work say what is wrong, all of it, and whose it is."""

import sqlite3
from pathlib import Path

import pytest
from command import call
from kept import Kept

import cranfield

QRELS = "1 0 a 1\n1 0 b 0\n"
RUN = "1 Q0 a 1 2 {0}\n1 Q0 b 2 1 {0}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    for name in ("one", "two"):
        (tmp_path / f"{name}.run").write_text(RUN.format(name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_damaged_stored_run_is_named_beside_everything_else_that_is_wrong(kept: Kept):
    call("init")
    call("runs", "submit", "one.run", "two.run")
    with sqlite3.connect("collection.db") as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        connection.execute("UPDATE runs SET ranking = substr(ranking, 1, 40) WHERE name = 'two'")
    Path("bad.qrels").write_text("1 0 a x\n")
    Path("bad.run").write_text("1 Q0 a 1 abc bad\n")
    told = call("evaluate", "-C", "collection.db", "--qrels", "bad.qrels", "one", "two", "bad.run", status=1).err
    kept(told)


def test_problems_of_one_kind_with_different_remedies_tell_both(kept: Kept):
    Path("bad.qrels").write_text("".join(f"1 0 d{number} 1\n" for number in range(20)) + "1 0 b\n")
    Path("bad.run").write_text("".join(f"1 Q0 d{number} 1 {-number} t\n" for number in range(20)) + "1 Q0 b 1 2\n")
    told = call("evaluate", "--qrels", "bad.qrels", "bad.run", status=1).err
    kept(told)
    assert len({part.split("error:")[0].strip() for part in told.split("[too-few-columns]")[1:]}) == 2


@pytest.mark.parametrize("words", [["--qrels", "qrels", "-"], ["--qrels", "-", "one.run"]])
def test_topics_from_a_stream_that_something_else_is_read_from_are_refused(words, kept: Kept):
    kept(call("evaluate", *words, "--topics", "-", status=2).err)


def test_empty_words_are_no_files(kept: Kept):
    kept(call("evaluate", "--qrels", "", "one.run", status=2).err)
    kept(call("evaluate", "--qrels", "qrels", "", status=2).err)


def test_what_is_judged_now_is_nothing_where_nobody_has_judged(kept: Kept):
    call("init")
    call("runs", "submit", "one.run")
    kept(call("evaluate", "--qrels", "now", status=1).err)


def test_a_file_of_no_known_format_names_a_way_that_exists():
    Path("odd").write_bytes(b"\x00\x01\x02")
    told = call("evaluate", "--qrels", "qrels", "odd", status=1).err
    assert "--from" not in told or "cranfield runs check --from NAME" in told


def test_half_a_surrogate_pair_is_no_id(kept: Kept):
    with kept.raises(cranfield.CranfieldError):
        cranfield.open_files(qrels={"1": {"d\udc80": 1}}, runs={"r": {"1": {"a": 1.0}}})


def test_verbose_says_what_is_read(caplog, kept: Kept):
    with caplog.at_level("INFO"):
        call("evaluate", "--qrels", "qrels", "one.run", "--no-verdict")
    kept([record.getMessage() for record in caplog.records])


def test_verbose_may_stand_before_names_that_begin_with_a_dash():
    Path("-odd.run").write_bytes(Path("one.run").read_bytes())
    words = ("--qrels", "qrels", "--no-verdict", "-f", "csv")
    assert call("evaluate", *words, "--verbose", "--", "-odd.run").out == call("evaluate", *words, "./-odd.run").out
