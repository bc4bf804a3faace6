"""One bad file does not stop the others: it is refused by name, and --skip-bad goes on without it, visibly."""

from pathlib import Path

import pytest
from command import call
from kept import Kept

import cranfield as cf
from cranfield.base.errors import ProblemsFound

GOOD = "1 Q0 a 1 3 {tag}\n1 Q0 b 2 2 {tag}\n2 Q0 c 1 3 {tag}\n2 Q0 d 2 2.5 {tag}\n"
NAN = "1 Q0 a 1 3 n\n1 Q0 b 2 nan n\n2 Q0 c 1 nan n\n2 Q0 d 2 nan n\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 0\n2 0 d 1\n")
    for name in "xyz":
        (tmp_path / f"{name}.run").write_text(GOOD.format(tag=name))
    (tmp_path / "nan.run").write_text(NAN)
    (tmp_path / "short.run").write_text("1 Q0 a\n2 Q0 c 1 1 s\n2 Q0 c 2 1 s\n")
    return tmp_path


def test_all_problems_of_all_files_are_listed_with_the_one_option_that_goes_on(files, kept: Kept):
    names = ["x.run", "nan.run", "y.run", "short.run"]
    kept(call("evaluate", "--qrels", "qrels", *names, folder=files, status=1).err)


@pytest.mark.parametrize(
    "words", [["evaluate", "-m", "AP"], ["compare", "-m", "AP"], ["reuse", "-m", "AP"], ["simulate"]]
)
def test_a_command_goes_on_without_bad_files_and_names_them(files, words, kept: Kept):
    good = ["x.run", "y.run", "z.run"]
    skipping = [good[0], "nan.run", *good[1:], "short.run", "--skip-bad"]
    with_bad, without = (call(*words, "--qrels", "qrels", *runs, folder=files) for runs in (skipping, good))
    assert with_bad.out == without.out
    kept(line for line in with_bad.err.splitlines() if line not in without.err.splitlines())


def test_a_list_is_explained_without_bad_files(files, kept: Kept):
    words = ["evaluate", "--explain", "x.run", "1", "nan.run", "--skip-bad", "--qrels", "qrels"]
    kept(call(*words, folder=files).err)


def test_without_a_good_file_nothing_goes_on(files, kept: Kept):
    kept(call("evaluate", "--qrels", "qrels", "nan.run", "short.run", "--skip-bad", folder=files, status=1).err)


def test_bad_qrels_and_files_that_are_not_there_are_refused_all_the_same(files, kept: Kept):
    kept(call("evaluate", "--qrels", "x.run", "y.run", "--skip-bad", folder=files, status=1).err)
    kept(call("evaluate", "--qrels", "qrels", "y.run", "absent", "--skip-bad", folder=files, status=1).err)


def test_qrels_in_the_place_of_a_run_are_recognised(files, kept: Kept):
    kept(call("evaluate", "--qrels", "qrels", "x.run", "qrels", folder=files, status=1).err)
    kept(call("runs", "check", "qrels", folder=files, status=1).err)


def test_from_python_the_frames_name_what_was_left_out(files, kept: Kept):
    runs = {name: files / f"{name}.run" for name in ("x", "nan", "y")}
    given = {"qrels": files / "qrels", "runs": runs | {"here": {"1": {"a": 1.0}}}, "progress": False}
    with kept.raises(ProblemsFound):
        cf.open_files(**given).evaluate("AP")
    opened = cf.open_files(**given, skip_bad=True, groups={"x": "g", "nan": "h"})
    frame = opened.evaluate("AP", verdicts=False)
    assert frame["run"].tolist() == ["x", "y", "here"]
    for found in (frame, opened.compare("x", "y", measures="AP"), opened.simulate("depth 1")):
        kept(note for note in found.attrs["notes"] if "left out" in note)
    kept(note for note in opened.reuse(measures="AP").notes if "left out" in note)


def test_a_repaired_folder_is_evaluated_as_it_is(files):
    names = [path.name for path in sorted(files.glob("*.run")) if path.name != "short.run"]
    call("runs", "check", *names, "--repair", "mended", folder=files, status=0)
    ended = call("evaluate", "-m", "AP", "--qrels", "../qrels", *names, folder=files / "mended")
    assert [line.split()[0] for line in ended.out.splitlines()[2:6]] == ["n", "x", "y", "z"]
