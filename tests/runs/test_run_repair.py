"""Mending what has one right answer."""

from pathlib import Path

from cranfield.runs.check import Expectations, check
from cranfield.runs.order import ranked
from cranfield.runs.reading import read_rows
from cranfield.runs.repair import repair
from cranfield.runs.run import Order, Rows
from cranfield.source import Source


def repaired(folder: Path, text: str, *, max_depth: int = 1000, order: Order = "score") -> tuple[Rows, list[str]]:
    (folder / "x.run").write_text(text, encoding="utf-8")
    rows = read_rows(Source(folder / "x.run"))
    problems = check(rows, Expectations(max_depth=max_depth, order=order))
    mended, done = repair(rows, problems, max_depth=max_depth, order=order)
    assert not [found.code for found in check(mended, Expectations(max_depth=max_depth)) if found.repairable]
    return mended, done


def shown(rows: Rows, order: Order = "score") -> list[tuple[str, list[str], list[float]]]:
    return [(topic, documents, scores.tolist()) for topic, documents, scores in ranked(rows, order=order)]


def test_columns_after_the_sixth_and_short_lines_are_dropped(tmp_path):
    rows, done = repaired(tmp_path, "1 Q0 a 1 3 t rel\n1 Q0 b 2 2\n1 Q0 c 3 1 t\n")
    assert shown(rows) == [("1", ["a", "c"], [3.0, 1.0])]
    assert done == [
        "dropped 1 line with too few columns",
        "dropped the columns after the sixth on 1 line",
    ]


def test_a_repeated_document_keeps_its_best_score(tmp_path):
    rows, done = repaired(tmp_path, "1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 a 3 3 t\n1 Q0 a 4 2 t\n2 Q0 a 1 1 t\n")
    assert shown(rows) == [("1", ["a", "b"], [3.0, 2.0]), ("2", ["a"], [1.0])]
    assert done == ["dropped 2 rows that repeated a document; its best-ranked row stays"]
    assert [rows.lines.at(row) for row in range(len(rows))] == [2, 3, 5]


def test_a_repeated_document_keeps_its_best_rank_where_ranks_are_meant(tmp_path):
    rows, _ = repaired(tmp_path, "1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 a 3 3 t\n", order="rank")
    assert shown(rows, "rank") == [("1", ["a", "b"], [1.0, 2.0])]


def test_long_lists_are_cut_after_the_limit_by_score_not_by_line(tmp_path):
    rows, done = repaired(tmp_path, "1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 c 3 3 t\n2 Q0 z 1 1 t\n", max_depth=2)
    assert shown(rows) == [("1", ["c", "b"], [3.0, 2.0]), ("2", ["z"], [1.0])]
    assert done == ["dropped 1 row beyond the first 2 of a topic"]
    assert rows.document_ids.to_pylist() == ["b", "c", "z"]


def test_repeats_are_dropped_before_lists_are_cut(tmp_path):
    rows, done = repaired(tmp_path, "1 Q0 a 1 3 t\n1 Q0 a 2 2 t\n1 Q0 b 3 1 t\n", max_depth=2)
    assert shown(rows) == [("1", ["a", "b"], [3.0, 1.0])]
    assert done == ["dropped 1 row that repeated a document; its best-ranked row stays"]


def test_what_has_no_single_right_answer_is_left_and_named(tmp_path):
    rows, done = repaired(tmp_path, "1 Q0 a 1 nan t\n1 Q0 b 2 2 u\n1 Q0 b 3 1 v\n")
    assert done[0] == "dropped 1 row that repeated a document; its best-ranked row stays"
    assert [sentence.split(":")[0] for sentence in done[1:]] == ["not repaired", "not repaired"]
    assert [found.code for found in check(rows, Expectations())] == ["score-nan", "several-tags"]


def test_a_clean_run_is_left_alone(tmp_path):
    rows, done = repaired(tmp_path, "1 Q0 a 1 3 t\n")
    assert (shown(rows), done) == ([("1", ["a"], [3.0])], [])
