"""`check` finds what is wrong, and says where."""

import sqlite3
from pathlib import Path

import pytest

from cranfield.steps.check import check_collection
from cranfield.steps.runs_intake import Request
from cranfield.steps.runs_submit import submit_runs
from cranfield.store import Store


@pytest.fixture
def with_run(small: Store, tmp_path: Path) -> Store:
    (tmp_path / "a.run").write_text("1 Q0 d1 1 3 a\n1 Q0 d2 2 2 a\n2 Q0 d3 1 1 a\n")
    submit_runs(small, [Request(path=tmp_path / "a.run")])
    return small


def wrong(store: Store) -> list[str]:
    return [text for finding in check_collection(store) for text in finding.wrong]


def tamper(store: Store, *statements: str) -> None:
    """Change the file as only a bug or a foreign hand could."""
    with sqlite3.connect(store.path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_sound_file_has_nothing_wrong(with_run: Store):
    assert wrong(with_run) == []
    assert [finding.what for finding in check_collection(with_run)] == [
        "file", "foreign keys", "search index", "documents", "topics", "runs", "pools",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            ["UPDATE documents SET text = 'tampered' WHERE id = 'd2'"],
            "document 'd2' is not what its content hash says",
        ),
        (["UPDATE topics SET title = 'tampered' WHERE id = '1'"], "topic '1' is not what its content hash says"),
        (["UPDATE runs SET content_hash = 'x'"], "run 'a' is not what its content hash says"),
        (["UPDATE runs SET ranking = x'00'"], "the ranking of run 'a' cannot be read"),
        (["UPDATE id_pages SET ids = x'00' WHERE kind = 'document'"], "page of ids is damaged"),
        (["DELETE FROM id_pages WHERE kind = 'document'"], "the ranking of run 'a' cannot be read"),
        (["UPDATE id_pages SET first_code = 7 WHERE kind = 'topic'"], "the topic ids have a gap before code 7"),
        (["UPDATE documents SET source = 99"], "refers to a row of sources that is not there"),
        (
            ["DROP TRIGGER documents_au", "UPDATE documents SET text = 'y' WHERE id = 'd1'"],
            "search index does not fit",
        ),
        (["DELETE FROM documents WHERE id = 'd1'"], "the document numbers run to 3, but there are 2 documents"),
    ],
)
def test_what_was_tampered_with_is_found(with_run: Store, statements: list[str], message: str):
    tamper(with_run, *statements)
    assert any(message in text for text in wrong(with_run)), wrong(with_run)
