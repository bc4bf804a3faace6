"""A file says who the runs of bare files belong to."""

from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import ProblemsFound
from cranfield.base.files import Source
from cranfield.runs.reading import Member, read_groups


def test_groups_are_read_in_the_order_of_the_file(tmp_path: Path):
    path = tmp_path / "groups.tsv"
    path.write_bytes(b"\xef\xbb\xbf# who is who\r\nbm25\tteam one\tpooled\r\n\r\ndense\tteam two\tnew\r\n")
    assert read_groups(Source(path)) == (Member("bm25", "team one", True), Member("dense", "team two", False))


def test_everything_wrong_is_told_at_once_with_lines(tmp_path: Path):
    path = tmp_path / "groups.tsv"
    path.write_text("a\tone\tpooled\nb one new\nc\tone\tpoolde\na\ttwo\tnew\nd\t\tnew\n", encoding="utf-8")
    with pytest.raises(ProblemsFound) as refused:
        read_groups(Source(path))
    assert [(problem.code, problem.lines, problem.message) for problem in refused.value.problems] == [
        ("bad-row", (2, 5), "not a run tag, a tab, a group, a tab and pooled or new: 'b one new' (2 lines)"),
        ("unknown-role", (3,), "a run is pooled or new, not 'poolde'"),
        ("repeated-run", (4,), "run 'a' is named twice"),
    ]


def test_a_file_that_names_no_run_is_refused(tmp_path: Path, kept: Kept):
    path = tmp_path / "groups.tsv"
    path.write_text("# nobody\n\n", encoding="utf-8")
    with kept.raises(ProblemsFound):
        read_groups(Source(path))
