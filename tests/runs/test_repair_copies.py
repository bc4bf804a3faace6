"""Corrected copies: written whole or not at all, and never in the place of another file."""

import io
import sys
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.base.errors import CranfieldError, UsageError
from cranfield.runs.reading import run_formats
from cranfield.workflows.runs.submit import CheckedRun, Request, check_runs

MENDABLE = "1 Q0 a 1 3 t x\n1 Q0 b 2 2 t\n"
MENDED = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n"


def repaired(folder: Path, *names: str, **options: str) -> list[CheckedRun]:
    requests = [Request(path=folder / name, **options) for name in names]
    return check_runs(None, requests, repair_into=folder / "mended")


def copies(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "mended").glob("*"))}


def test_a_copy_is_written_where_no_error_is_left(tmp_path):
    (tmp_path / "x.run").write_text(MENDABLE)
    checked = repaired(tmp_path, "x.run")[0]
    assert copies(tmp_path) == {"x.run": MENDED}
    assert (checked.repairs, checked.run is None, checked.repaired_file) == (
        ("dropped the extra columns of 1 line",),
        False,
        str(tmp_path / "mended" / "x.run"),
    )


def test_no_copy_is_written_where_an_error_is_left_and_the_others_are_mended_all_the_same(tmp_path, kept: Kept):
    (tmp_path / "bad.run").write_text(MENDABLE + "1 Q0 c 3 inf t\n1 Q0 d 4 1 u\n")
    (tmp_path / "good.run").write_text(MENDABLE)
    bad, good = repaired(tmp_path, "bad.run", "good.run")
    assert copies(tmp_path) == {"good.run": MENDED}
    assert (bad.run, bad.repaired_file, len(bad.errors)) == (None, "", 3)
    kept(bad.repairs)
    assert good.repaired_file


def test_the_folder_is_complete_files_without_errors_are_copied_as_they_are(tmp_path, kept: Kept):
    clean = "1 Q0 a 7 3 u\r\n1\tQ0 b 2 2 u"
    (tmp_path / "clean.run").write_text(clean, newline="")
    (tmp_path / "bad.run").write_text(MENDABLE)
    (tmp_path / "table.csv").write_text("topic,document,score\n1,a,1\n")
    checked = call("runs", "check", "clean.run", "bad.run", "table.csv", "--repair", "mended", folder=tmp_path)
    kept(checked.err)
    assert (tmp_path / "mended" / "clean.run").read_bytes() == clean.encode()
    assert copies(tmp_path).keys() == {"bad.run", "clean.run", "table.csv"}


def test_a_file_that_cannot_be_read_gets_no_copy(tmp_path, kept: Kept):
    (absent,) = repaired(tmp_path, "absent.run")
    assert not (tmp_path / "mended").exists()
    kept(absent.repairs)


def test_the_name_of_the_file_replaces_the_tags_only_if_that_was_asked_for(tmp_path, kept: Kept):
    (tmp_path / "x.run").write_text(MENDABLE.replace("b 2 2 t", "b 2 2 u"))
    checked = repaired(tmp_path, "x.run", names="file")[0]
    assert copies(tmp_path) == {"x.run": MENDED.replace(" t\n", " x\n")}
    kept(checked.repairs)


def test_a_copy_that_is_there_already_is_never_written_over_and_nothing_else_is_written(tmp_path, kept: Kept):
    for name in ("a.run", "b.run"):
        (tmp_path / name).write_text(MENDABLE)
    (tmp_path / "mended").mkdir()
    (tmp_path / "mended" / "b.run").write_text("mine")
    with kept.raises(UsageError):
        repaired(tmp_path, "a.run", "b.run")
    assert copies(tmp_path) == {"b.run": "mine"}


@pytest.mark.parametrize(("first", "second"), [("p/x.run", "q/x.run"), ("x.csv", "x.tsv"), ("x.run", "q/X.run.gz")])
def test_two_copies_of_one_name_are_refused_before_anything_is_written(tmp_path, first, second, kept: Kept):
    for name in (first, second):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MENDABLE)
    with kept.raises(UsageError):
        repaired(tmp_path, first, second)
    assert not (tmp_path / "mended").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, kept: Kept):
    (tmp_path / "x.run").write_text(MENDABLE)
    (tmp_path / "mended").write_text("")
    with kept.raises(UsageError):
        repaired(tmp_path, "x.run")


def test_a_copy_is_complete_or_not_there(tmp_path, monkeypatch, kept: Kept):
    def broken(run: object, stream: io.BufferedWriter) -> None:
        stream.write(b"1 Q0")
        raise OSError(28, "No space left on device")

    (tmp_path / "x.run").write_text(MENDABLE)
    monkeypatch.setattr(run_formats.get("trec"), "write", staticmethod(broken))
    with kept.raises(CranfieldError):
        repaired(tmp_path, "x.run")
    assert copies(tmp_path) == {}


def test_the_copy_of_standard_input_is_called_stdin(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MENDABLE.encode())))
    checked = check_runs(None, [Request(path=Path("-"))], repair_into=tmp_path / "mended")
    assert (copies(tmp_path), checked[0].file) == ({"stdin.run": MENDED}, "standard input")


@pytest.mark.parametrize(
    ("name", "copy"), [("x.csv", "x.run"), ("x.ndjson", "x.run"), ("input.bm25", "input.bm25"), ("x.txt", "x.txt")]
)
def test_a_copy_is_called_like_the_trec_file_it_is(tmp_path, name, copy):
    (tmp_path / name).write_text(MENDABLE)
    repaired(tmp_path, name)
    assert copies(tmp_path) == {copy: MENDED}
