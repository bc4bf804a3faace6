"""A report, a card and a bundle are of one moment, though somebody goes on judging while they are made."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import call

from cranfield.store.store import open_store
from cranfield.workflows.qrels import Qrels
from cranfield.workflows.report.report import ReportRequest, report_on, write_bundle


@pytest.fixture
def copy(judged: Path, tmp_path: Path) -> Path:
    path = tmp_path / "collection.db"
    call("backup", path, "-C", judged)
    call("qrels", "licence", "CC0-1.0", "-C", path)
    return path


class Writer:
    """Judges as soon as a step tells of its first progress, on a connection of its own."""

    def __init__(self, path: Path) -> None:
        self.path, self.wrote = path, False

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if not self.wrote:
            self.wrote = True
            file = self.path.with_name("meanwhile.csv")
            with open_store(self.path) as store:
                pairs = store.rows("SELECT topic, document FROM pool_entries WHERE topic IN ('T01', 'T02', 'T03')")
            rows = "".join(f"{topic},{document},3,Carl Late\n" for topic, document in pairs)
            file.write_text("topic,document,grade,assessor\n" + rows, encoding="utf-8")
            call("judge", "import", file, "-C", self.path)


def without_moment(card: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in card.items() if name != "made"}


def test_a_report_and_its_card_do_not_see_what_is_judged_while_they_are_made(copy: Path):
    with open_store(copy) as store:
        before = report_on(store, ReportRequest(measures=("nDCG@10",)), with_card=True)
        writer = Writer(copy)
        made = report_on(store, ReportRequest(measures=("nDCG@10",)), with_card=True, progress=writer)
        after = report_on(store, ReportRequest(measures=("nDCG@10",)))
    assert writer.wrote
    assert made.page == before.page
    assert without_moment(made.card) == without_moment(before.card)
    assert after.page != before.page


def test_a_bundle_does_not_see_what_is_judged_while_it_is_laid_out(copy: Path, tmp_path: Path):
    with open_store(copy) as store:
        Qrels(store).release("first")
        write_bundle(store, "first", tmp_path / "before")
        writer = Writer(copy)
        write_bundle(store, "first", tmp_path / "meanwhile", progress=writer)
        write_bundle(store, "first", tmp_path / "after")
    assert writer.wrote
    before, meanwhile, after = (
        without_moment(json.loads((tmp_path / name / "card.json").read_text(encoding="utf-8")))
        for name in ("before", "meanwhile", "after")
    )
    assert meanwhile == before
    assert after != before


def test_a_backup_that_is_written_lets_readers_and_writers_be_again(judged: Path, tmp_path: Path):
    path = tmp_path / "restored.db"
    call("backup", path, "-C", judged)
    with open_store(path) as store, open_store(path) as other:
        assert store.value("PRAGMA journal_mode") == "delete"
        with store.write():
            store.connection.execute("INSERT INTO settings VALUES ('first', '1')")
        with store.snapshot():
            store.rows("SELECT * FROM settings")
            with other.write(patience=0.0):
                other.connection.execute("INSERT INTO settings VALUES ('second', '2')")


def test_a_snapshot_inside_another_has_the_moment_of_the_outer_one(copy: Path):
    with open_store(copy) as store, open_store(copy) as other:
        with store.snapshot():
            runs = store.value("SELECT count(*) FROM settings")
            with other.write():
                other.connection.execute("INSERT INTO settings VALUES ('later', '1')")
            with store.snapshot():
                assert store.value("SELECT count(*) FROM settings") == runs
            assert store.value("SELECT count(*) FROM settings") == runs
        assert store.value("SELECT count(*) FROM settings") == runs + 1
