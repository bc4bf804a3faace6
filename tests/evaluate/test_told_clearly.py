"""Calls that cannot work say what is wrong, all of it, and whose it is."""

import sqlite3
from pathlib import Path

import pytest

import cranfield
from cranfield.cli.main import _status

QRELS = "1 0 a 1\n1 0 b 0\n"
RUN = "1 Q0 a 1 2 {0}\n1 Q0 b 2 1 {0}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    for name in ("one", "two"):
        (tmp_path / f"{name}.run").write_text(RUN.format(name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(capsys, *words: str, status: int = 0) -> str:
    ended = _status(list(words))
    shown = capsys.readouterr()
    assert ended == status, shown.err
    return " ".join(shown.err.split())


def test_a_damaged_stored_run_is_named_beside_everything_else_that_is_wrong(capsys):
    typed(capsys, "init")
    typed(capsys, "runs", "submit", "one.run", "two.run")
    with sqlite3.connect("collection.db") as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        connection.execute("UPDATE runs SET ranking = substr(ranking, 1, 40) WHERE name = 'two'")
    Path("bad.qrels").write_text("1 0 a x\n")
    Path("bad.run").write_text("1 Q0 a 1 abc bad\n")
    told = typed(capsys, "evaluate", "-C", "collection.db", "--qrels", "bad.qrels", "one", "two", "bad.run", status=1)
    assert "a stored run is damaged" in told
    assert "('two') [damaged-run]" in told
    assert "[grade-not-an-integer]" in told
    assert "[score-not-a-number]" in told


def test_problems_of_one_kind_with_different_remedies_tell_both(capsys):
    Path("bad.qrels").write_text("".join(f"1 0 d{number} 1\n" for number in range(20)) + "1 0 b\n")
    Path("bad.run").write_text("".join(f"1 Q0 d{number} 1 {-number} t\n" for number in range(20)) + "1 Q0 b 1 2\n")
    told = typed(capsys, "evaluate", "--qrels", "bad.qrels", "bad.run", status=1)
    assert told.count("[too-few-columns]") == 2
    assert "write all of them on each line" in told
    assert len({part.split("error:")[0].strip() for part in told.split("[too-few-columns]")[1:]}) == 2


@pytest.mark.parametrize("words", [["--qrels", "qrels", "-"], ["--qrels", "-", "one.run"]])
def test_topics_from_a_stream_that_something_else_is_read_from_are_refused(capsys, words):
    assert "standard input can be read once" in typed(capsys, "evaluate", *words, "--topics", "-", status=2)


def test_empty_words_are_no_files(capsys):
    assert "--qrels names nothing" in typed(capsys, "evaluate", "--qrels", "", "one.run", status=2)
    assert "a run without a name" in typed(capsys, "evaluate", "--qrels", "qrels", "", status=2)


def test_what_is_judged_now_is_nothing_where_nobody_has_judged(capsys):
    typed(capsys, "init")
    typed(capsys, "runs", "submit", "one.run")
    assert "there are no judgments yet" in typed(capsys, "evaluate", "--qrels", "now", status=1)


def test_a_file_of_no_known_format_names_a_way_that_exists(capsys):
    Path("odd").write_bytes(b"\x00\x01\x02")
    told = typed(capsys, "evaluate", "--qrels", "qrels", "odd", status=1)
    assert "--from" not in told or "cranfield runs check --from NAME" in told


def test_half_a_surrogate_pair_is_no_id():
    with pytest.raises(cranfield.CranfieldError, match="half of a surrogate pair"):
        cranfield.open_files(qrels={"1": {"d\udc80": 1}}, runs={"r": {"1": {"a": 1.0}}})


def test_verbose_says_what_is_read(capsys, caplog):
    with caplog.at_level("INFO"):
        typed(capsys, "evaluate", "--qrels", "qrels", "one.run", "--no-verdict")
    assert [record.getMessage() for record in caplog.records] == [
        "reading qrels qrels",
        "reading one.run, an ordinary file",
        "aligning 1 run with 2 judgments",
    ]
