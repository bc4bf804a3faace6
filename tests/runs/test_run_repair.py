"""Mending what has one right answer."""

from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.files import Source
from cranfield.runs.check import Expectations, by_hand_first, check, repair
from cranfield.runs.reading import read_rows, run_formats
from cranfield.runs.run import Order, Run, order_as_float32, ranked


def repaired(
    folder: Path, text: str, *, max_depth: int = 1000, order: Order = "score", name: str | None = None
) -> tuple[Run | None, list[str]]:
    """Repair a file; the copy must have no error and be the run that was made."""
    path, copy = folder / "x.run", folder / "copy.run"
    path.write_text(text, encoding="utf-8")
    rows = read_rows(Source(path))
    problems = check(rows, Expectations(max_depth=max_depth, order=order, name=name))
    run, done = repair(rows, problems, name=name or rows.name, max_depth=max_depth, order=order)
    if run is not None:
        with copy.open("wb") as stream:
            run_formats.get("trec").write(run, stream)
        again = read_rows(Source(copy))
        left = check(again, Expectations(max_depth=max_depth, order=order))
        assert [found.code for found in left if found.severity == "error"] == []
        assert ranked(again, order=order) == run
    return run, done


def shown(run: Run | None) -> list[tuple[str, list[str], list[float]]]:
    assert run is not None
    return [(topic, documents, scores.tolist()) for topic, documents, scores in run]


def test_rows_with_nan_scores_sink_below_all_others_of_their_topic_in_the_order_of_the_file(tmp_path, kept: Kept):
    text = "1 Q0 z 1 nan t\n1 Q0 a 2 -5 t\n2 Q0 b 1 NaN t\n1 Q0 y 3 -nan t\n1 Q0 c 4 7 t\n2 Q0 d 2 nan t\n"
    run, done = repaired(tmp_path, text)
    assert shown(run) == [("1", ["c", "a", "z", "y"], [7.0, -5.0, -6.0, -7.0]), ("2", ["b", "d"], [-1.0, -2.0])]
    kept(done)


def test_rows_that_sink_are_told_apart_as_32_bit_floats_too(tmp_path):
    run, _ = repaired(tmp_path, "1 Q0 a 1 1e20 t\n1 Q0 y 2 nan t\n1 Q0 z 3 nan t\n")
    assert run is not None
    assert (order_as_float32(run), [documents for _, documents, _ in run]) == (None, [["a", "y", "z"]])


def test_nan_beside_missing_scores_or_below_the_lowest_number_is_left_to_a_person(tmp_path, kept: Kept):
    (tmp_path / "x.csv").write_text("topic,document,score\n1,a,nan\n1,b,\n1,c,2\n")
    rows = read_rows(Source(tmp_path / "x.csv"))
    kept(repair(rows, check(rows, Expectations()), name="x")[1])
    kept(repaired(tmp_path, "1 Q0 a 1 -1.7976931348623157e308 t\n1 Q0 b 2 nan t\n")[1])


def test_surplus_columns_and_short_lines_are_dropped(tmp_path, kept: Kept):
    run, done = repaired(tmp_path, "1 Q0 a 1 3 t rel\n1 Q0 b 2 2\n1 Q0 c 2 1 t\n")
    assert shown(run) == [("1", ["a", "c"], [3.0, 1.0])]
    kept(done)


def test_rows_with_a_field_missing_are_dropped_before_repeats_are_looked_for(tmp_path, kept: Kept):
    text = "qid,docid,score\n1,a,\n1,a,1\n1,,2\n1,b,0.5\n"
    run, done = repaired(tmp_path, text)
    assert shown(run) == [("1", ["a", "b"], [1.0, 0.5])]
    kept(done)


def test_a_repeated_document_keeps_its_best_score(tmp_path, kept: Kept):
    run, done = repaired(tmp_path, "1 Q0 a 9 1 t\n1 Q0 b 2 2 t\n1 Q0 a 1 3 t\n1 Q0 a 4 2 t\n2 Q0 a 1 1 t\n")
    assert shown(run) == [("1", ["a", "b"], [3.0, 2.0]), ("2", ["a"], [1.0])]
    kept(done)


def test_a_repeated_document_keeps_its_best_rank_where_ranks_are_meant(tmp_path):
    run, _ = repaired(tmp_path, "1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 a 3 3 t\n", order="rank")
    assert shown(run) == [("1", ["a", "b"], [1.0, 2.0])]


def test_long_lists_are_cut_after_the_limit_by_score_not_by_line(tmp_path, kept: Kept):
    run, done = repaired(tmp_path, "1 Q0 a 3 1 t\n1 Q0 b 2 2 t\n1 Q0 c 1 3 t\n2 Q0 z 1 1 t\n", max_depth=2)
    assert shown(run) == [("1", ["c", "b"], [3.0, 2.0]), ("2", ["z"], [1.0])]
    kept(done)
    assert run is not None
    assert run.document_ids.to_pylist() == ["b", "c", "z"]


def test_repeats_are_dropped_before_lists_are_cut(tmp_path, kept: Kept):
    run, done = repaired(tmp_path, "1 Q0 a 1 3 t\n1 Q0 a 3 2 t\n1 Q0 b 2 1 t\n", max_depth=2)
    assert shown(run) == [("1", ["a", "b"], [3.0, 1.0])]
    kept(done)


@pytest.mark.parametrize(("order", "documents"), [("score", ["b", "a"]), ("file", ["a", "b"]), ("rank", ["a", "b"])])
def test_a_corrected_copy_has_the_order_that_is_meant(tmp_path, order, documents):
    run, done = repaired(tmp_path, "1 Q0 a 5 1 t x\n1 Q0 b 7 2 t\n2 Q0 a 1 1 t\n", order=order)
    assert shown(run)[0][1] == documents
    assert done == ["dropped the extra columns of 1 line"]


@pytest.mark.parametrize(
    "bad",
    [
        "1 Q0 z 1 inf t",
        "1 Q0 z 1 abc t",
        "1 Q0 z 1 1 other",
        "1 Q0 z\x01 1 1 t",
        "1 Q0 z 1 1 t\r1 Q0 y 1 1 t",
        f"1 Q0 {'z' * 1001} 1 1 t",
    ],
)
def test_a_file_with_anything_that_must_be_mended_by_hand_is_not_mended_at_all(tmp_path, bad, kept: Kept):
    run, done = repaired(tmp_path, f"1 Q0 a 1 3 t\n1 Q0 a 2 2 t\n1 Q0 b\n{bad}\n")
    assert run is None
    kept(done)


def test_a_decimal_comma_in_a_csv_file_is_not_cut_off(tmp_path):
    run, done = repaired(tmp_path, "qid,docid,score\n1,a,2,5\n1,b,1\n")
    assert (run, done) == (None, ["no corrected copy was written; fix by hand first: too-many-columns"])


def test_two_tags_are_replaced_by_a_name_that_was_given_and_that_is_told(tmp_path, kept: Kept):
    run, done = repaired(tmp_path, "1 Q0 a 1 3 t x\n1 Q0 b 2 2 u\n", name="file")
    assert run is not None
    assert run.tag == "file"
    kept(done)


def test_a_file_of_which_no_row_would_be_left_is_not_mended(tmp_path):
    run, done = repaired(tmp_path, "1 Q0 a 1\n1 Q0 b 2\n")
    assert (run, done) == (None, ["no corrected copy was written: it would have no rows"])


def test_warnings_and_mendable_errors_need_no_hand(tmp_path):
    (tmp_path / "x.run").write_text("1 Q0 a 1 3 t x\n1 Q1 b 2 3 t\n")
    assert by_hand_first(check(read_rows(Source(tmp_path / "x.run")), Expectations())) == []
