"""`check` finds what is wrong, and says where."""

import contextlib
import sqlite3
from pathlib import Path

import pytest
from kept import Kept

from cranfield.store.store import Store
from cranfield.workflows.check import check
from cranfield.workflows.runs.submit import Request, submit_runs


@pytest.fixture
def with_run(small: Store, tmp_path: Path) -> Store:
    (tmp_path / "a.run").write_text("1 Q0 d1 1 3 a\n1 Q0 d2 2 2 a\n2 Q0 d3 1 1 a\n")
    submit_runs(small, [Request(path=tmp_path / "a.run")])
    return small


def wrong(store: Store) -> list[str]:
    return [text for finding in check(store).findings for text in finding.wrong]


def tamper(store: Store, *statements: str) -> None:
    """Change the file as only a bug or a foreign hand could."""
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_sound_file_has_nothing_wrong(with_run: Store):
    assert wrong(with_run) == []
    assert [finding.what for finding in check(with_run).findings] == [
        "file", "tables", "foreign keys", "search index", "settings", "documents", "topics", "runs", "pools",
        "judgments", "history", "releases",
    ]  # fmt: skip


UNGUARDED = [
    *(
        f"DROP TRIGGER {table}_{verb}"
        for table in ("scales", "grades", "guidelines", "id_pages")
        for verb in ("update", "delete")
    ),
    *(f"DROP TRIGGER {table}_delete" for table in ("documents", "topics", "runs")),
    "DROP TRIGGER runs_update",
]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE documents SET text = 'tampered' WHERE id = 'd2'", "document 'd2' does not match its content hash"),
        ("UPDATE documents SET id = 'd9' WHERE id = 'd2'", "document 'd9' does not match its content hash"),
        ("UPDATE documents SET metadata = '{' WHERE id = 'd2'", "the metadata of document 'd2' is invalid"),
        ("UPDATE documents SET metadata = '[1]' WHERE id = 'd2'", "the metadata of document 'd2' is invalid"),
        ("UPDATE topics SET title = 'tampered' WHERE id = '1'", "topic '1' does not match its content hash"),
        ("UPDATE topics SET id = '7' WHERE id = '1'", "topic '7' does not match its content hash"),
        ("UPDATE runs SET content_hash = 'x'", "run 'a' does not match its content hash"),
        ("UPDATE runs SET rows = 7", "run 'a' has 2 topics and 3 rows, unlike its record"),
        ("UPDATE runs SET ranking = x'00'", "the ranking of run 'a' cannot be read"),
        ("UPDATE runs SET withdrawn = 'x', ranking = x'00'", "the ranking of run 'a' cannot be read"),
        ("UPDATE id_pages SET ids = x'00' WHERE kind = 'document'", "id table is damaged"),
        ("DELETE FROM id_pages WHERE kind = 'document'", "the ranking of run 'a' cannot be read"),
        ("UPDATE id_pages SET first_code = 7 WHERE kind = 'topic'", "the topic ids have a gap before code 7"),
        ("UPDATE documents SET source = 99", "refers to a row of sources that is not there"),
        ("DROP TRIGGER documents_au", "the trigger documents_au is missing"),
        ("DROP TABLE run_warnings", "the table run_warnings is missing"),
        ("DROP INDEX runs_by_name", "the index runs_by_name is missing"),
        ("DELETE FROM documents WHERE id = 'd1'", "the document numbers run to 3, but there are 2 documents"),
        ("DELETE FROM grades", "version 1 of the scale is invalid"),
        ("UPDATE grades SET gain = -5", "version 1 of the scale is invalid"),
        ("DELETE FROM scales", "there is no grade scale"),
        ("UPDATE settings SET value = '{'", "is not JSON"),
    ],
)
def test_what_was_tampered_with_is_found(with_run: Store, statement: str, message: str):
    tamper(with_run, *UNGUARDED, statement)
    found = wrong(with_run)
    assert any(message in text for text in found), found
    assert any("trigger runs_update is missing" in text for text in found)


def test_an_index_that_does_not_fit_the_documents_is_found(with_run: Store):
    (rebuilt,) = with_run.row("SELECT sql FROM sqlite_master WHERE name = 'documents_au'")
    tamper(with_run, "DROP TRIGGER documents_au", "UPDATE documents SET text = 'y' WHERE id = 'd1'", rebuilt)
    assert any("search index does not match" in text for text in wrong(with_run))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM documents",
        "DELETE FROM topics",
        "DELETE FROM runs",
        "UPDATE runs SET group_name = 'us'",
        "UPDATE scales SET relevant_from = 2",
        "DELETE FROM id_pages",
    ],
)
def test_the_file_itself_refuses_what_would_spoil_it(with_run: Store, statement: str, kept: Kept):
    with kept.raises(sqlite3.IntegrityError):
        tamper(with_run, statement)
