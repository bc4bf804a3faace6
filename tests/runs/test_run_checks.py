"""What a run is refused or warned for."""

from pathlib import Path

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import Problem, ProblemsFound, SourceError
from cranfield.base.files import Source
from cranfield.runs.check import Expectations, check
from cranfield.runs.reading import CHECKS, read_rows


def found(folder: Path, text: str, **expected: object) -> list[Problem]:
    (folder / "x.run").write_text(text, encoding="utf-8")
    return check(read_rows(Source(folder / "x.run")), Expectations(**expected))


def brief(problems: list[Problem]) -> list[tuple[str, str, tuple[int, ...], int]]:
    return [(problem.code, problem.severity, problem.lines, problem.count) for problem in problems]


CLEAN = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 a 1 3 t\n"


def test_a_clean_run_has_no_problem(tmp_path):
    known = ["1", "2"]
    assert found(tmp_path, CLEAN, topics=known, known_documents=lambda ids: np.ones(len(ids), dtype=bool)) == []


def test_unknown_and_missing_topics_are_told(tmp_path):
    problems = found(tmp_path, CLEAN + "9 Q0 a 1 3 t\n9 Q0 b 2 2 t\n8 Q0 b 2 2 t\n", topics=["1", "2", "3", "4"])
    assert brief(problems) == [("unknown-topic", "error", (4, 6), 2), ("missing-topic", "warning", (), 2)]
    assert "'9', '8'" in problems[0].message
    assert "3 rows" in problems[0].message
    assert "'3', '4'" in problems[1].message


def test_documents_outside_the_corpus_are_told_with_all_their_lines(tmp_path, kept: Kept):
    def known(ids):
        return np.array([value == "b" for value in ids.to_pylist()])

    problems = found(tmp_path, CLEAN, known_documents=known)
    assert brief(problems) == [("unknown-document", "error", (1, 3), 2)]
    kept(problems[0].message)


def test_lists_that_are_too_long_are_told(tmp_path):
    text = "1 Q0 c 3 1 t\n" + CLEAN
    assert brief(found(tmp_path, text, max_depth=2)) == [("too-many-documents", "error", (3,), 1)]


def test_lists_of_exactly_the_limit_are_fine(tmp_path):
    assert found(tmp_path, CLEAN, max_depth=2) == []


def test_repeated_documents_count_the_rows_beyond_the_first(tmp_path, kept: Kept):
    problems = found(tmp_path, CLEAN + "1 Q0 a 3 1 t\n1 Q0 a 4 0 t\n2 Q0 b 3 1 t\n")
    assert brief(problems) == [("repeated-document", "error", (4, 5), 2)]
    kept(problems[0].message)
    assert problems[0].repairable
    single = found(tmp_path, CLEAN + "1 Q0 a 3 1 t\n")[0]
    kept(single.message)


def test_ranks_that_contradict_the_scores_are_told_with_topics_and_first_line(tmp_path, kept: Kept):
    problems = found(tmp_path, "1 Q0 a 2 3 t\n1 Q0 b 1 2 t\n2 Q0 a 1 3 t\n2 Q0 b 2 4 t\n3 Q0 b 2 4 t\n")
    assert brief(problems) == [("rank-disagrees", "warning", (1,), 2)]
    assert problems[0].topic == "1"
    kept(problems[0].remedy)


def test_where_ranks_are_meant_nobody_is_told_to_say_so(tmp_path):
    problems = found(tmp_path, "1 Q0 a 2 3 t\n1 Q0 b 1 2 t\n", order="rank")
    assert [(problem.code, problem.remedy) for problem in problems] == [
        ("rank-disagrees", "omit --order rank to use the scores")
    ]


def test_ranks_may_start_anywhere_and_leave_gaps(tmp_path):
    assert found(tmp_path, "1 Q0 a 0 3 t\n1 Q0 b 7 2 t\n") == []


def test_ties_are_told_with_their_size_and_whether_ranks_order_them_otherwise(tmp_path, kept: Kept):
    problems = found(tmp_path, "1 Q0 a 1 3 t\n1 Q0 b 2 3 t\n1 Q0 c 3 1 t\n2 Q0 b 1 3 t\n2 Q0 a 2 3 t\n")
    assert brief(problems) == [("ties", "warning", (), 4)]
    kept(problems[0].message)


def test_ties_that_exist_only_in_32_bits_are_told_apart(tmp_path):
    problems = found(tmp_path, "1 Q0 a 1 1.000000001 t\n1 Q0 b 2 1 t\n1 Q0 c 3 0.5 t\n2 Q0 c 3 0.5 t\n")
    assert brief(problems) == [("ties-in-32-bits", "warning", (), 2)]


@pytest.mark.parametrize(
    ("order", "codes"), [("score", ["rank-disagrees", "ties"]), ("rank", ["rank-disagrees"]), ("file", [])]
)
def test_what_is_said_of_the_order_depends_on_the_order_that_is_meant(tmp_path, order, codes):
    problems = found(tmp_path, "1 Q0 a 3 3 t\n1 Q0 b 2 3 t\n1 Q0 c 1 1 t\n", order=order)
    assert [problem.code for problem in problems] == codes


def test_ranks_that_are_meant_must_be_there(tmp_path):
    text = CLEAN.replace("b 2 2", "b x 2")
    assert brief(found(tmp_path, text, order="rank")) == [
        ("no-ranks", "error", (2,), 1),
        ("rank-not-an-integer", "warning", (2,), 1),
    ]
    (tmp_path / "x.csv").write_text("qid,docid,score\n1,a,1\n")
    rows = read_rows(Source(tmp_path / "x.csv"))
    assert [problem.code for problem in check(rows, Expectations(order="rank"))] == ["no-ranks"]


def test_more_than_one_tag_is_an_error_unless_the_run_gets_another_name(tmp_path, kept: Kept):
    text = CLEAN + "3 Q0 a 1 3 u\n"
    assert brief(found(tmp_path, text)) == [("several-tags", "error", (4,), 2)]
    named = found(tmp_path, text, name="x")
    assert brief(named) == [("several-tags", "warning", (4,), 2)]
    kept(named[0].remedy)


@pytest.mark.parametrize("tag", ["bm25", "BM25+RM3_v1.2-x", "x" * 100, "9"])
def test_real_names_are_allowed_as_tags(tmp_path, tag):
    assert found(tmp_path, f"1 Q0 a 1 3 {tag}\n") == []


@pytest.mark.parametrize("tag", ["a/b", "-x", ".x", "x" * 101, "é", "a:b", "a'b", "\u202e"])
def test_names_that_cannot_be_typed_or_used_as_a_file_name_are_errors(tmp_path, tag):
    problems = found(tmp_path, f"1 Q0 a 1 3 {tag}\n")
    assert brief(problems) == [("bad-tag", "error", (1,), 1)]
    assert "\u202e" not in problems[0].message


def test_a_name_that_was_given_or_is_the_files_is_not_mended_by_taking_the_files_name(tmp_path):
    given = found(tmp_path, CLEAN, name="a/b")
    (tmp_path / "a b.csv").write_text("qid,docid,score\n1,a,1\n")
    tagless = check(read_rows(Source(tmp_path / "a b.csv")), Expectations())
    for problems in (given, tagless):
        assert [problem.code for problem in problems] == ["bad-tag"]
        assert all("--names file" not in problem.remedy for problem in problems)
        assert all("rename the file" in problem.remedy for problem in problems)


def test_ids_of_more_than_a_thousand_characters_are_errors_whatever_their_bytes(tmp_path, kept: Kept):
    fine, long = "é" * 1000, "é" * 1001
    assert found(tmp_path, f"{fine} Q0 {fine} 1 3 t\n") == []
    problems = found(tmp_path, f"1 Q0 {long} 1 3 t\n{long} Q0 b 1 2 t\n{long} Q0 {long} 2 1 t\n")
    assert brief(problems) == [("id-too-long", "error", (2, 3), 2), ("id-too-long", "error", (1, 3), 2)]
    kept([problem.message.partition(":")[0] for problem in problems])
    assert all(len(problem.message) < 200 for problem in problems)


def test_a_tag_of_more_than_a_hundred_characters_is_an_error_even_if_it_is_not_used(tmp_path):
    text = f"3 Q0 a 1 3 {'x' * 101}\n"
    assert brief(found(tmp_path, text, name="u")) == [("id-too-long", "error", (1,), 1)]
    assert brief(found(tmp_path, CLEAN + text)) == [
        ("several-tags", "error", (4,), 2),
        ("id-too-long", "error", (4,), 1),
    ]


def test_everything_is_told_at_once_errors_first_and_with_the_file(tmp_path):
    text = "1 Q0 a 1 3 t\n1 Q0 a 2 3 t x\n1 Q0 b 3 nan t\n2 Q0\n1 Q1 c x 7 u\n"
    problems = found(tmp_path, text, topics=["5"], max_depth=2)
    assert [problem.code for problem in problems] == [
        "too-few-columns",
        "too-many-columns",
        "score-nan",
        "several-tags",
        "unknown-topic",
        "too-many-documents",
        "repeated-document",
        "rank-not-an-integer",
        "missing-topic",
        "ties",
    ]
    assert {problem.file for problem in problems} == {str(tmp_path / "x.run")}
    assert {problem.code for problem in problems} <= {entry.code for entry in CHECKS}


@pytest.mark.parametrize("score", ["nan", "inf", "x"])
def test_a_row_with_a_bad_score_is_checked_in_all_other_ways_and_has_no_part_in_the_order(tmp_path, score):
    text = CLEAN + f"9 Q0 z 1 {score} u\n1 Q0 a x {score} t\n1 Q0 c 0 {score} t\n"
    problems = found(
        tmp_path, text, topics=["1", "2"], max_depth=3, known_documents=lambda ids: np.array(ids.to_pylist()) != "z"
    )
    assert brief(problems)[1:] == [
        ("several-tags", "error", (4,), 2),
        ("unknown-topic", "error", (4,), 1),
        ("too-many-documents", "error", (6,), 1),
        ("repeated-document", "error", (5,), 1),
        ("unknown-document", "error", (4,), 1),
        ("rank-not-an-integer", "warning", (5,), 1),
    ]
    assert problems[0].code.startswith("score-")
    assert "no-ranks" in [problem.code for problem in found(tmp_path, text, order="rank")]


def test_files_that_cannot_be_read_at_all_have_codes_of_the_table_too(tmp_path):
    (tmp_path / "x").write_text("hello")
    seen = []
    for path in (tmp_path / "x", tmp_path / "absent"):
        with pytest.raises((ProblemsFound, SourceError)) as caught:
            read_rows(Source(path))
        seen += getattr(caught.value, "problems", None) or [caught.value.problem]
    assert [problem.code for problem in seen] == ["unknown-format", "unreadable"]
    assert {problem.code for problem in seen} <= {entry.code for entry in CHECKS}


def test_no_more_than_ten_lines_are_named_and_all_are_counted(tmp_path):
    problems = found(tmp_path, "".join(f"1 Q0 d{row}\n" for row in range(25)) + CLEAN)
    assert brief(problems) == [("too-few-columns", "error", tuple(range(1, 11)), 25)]


def test_lines_are_right_after_blank_and_refused_lines(tmp_path):
    problems = found(tmp_path, "\n1 Q0\n" + CLEAN + "\n1 Q0 a 9 0 t\n")
    assert brief(problems) == [("too-few-columns", "error", (2,), 1), ("repeated-document", "error", (7,), 1)]


def test_an_empty_file_is_just_empty(tmp_path):
    assert brief(found(tmp_path, "", topics=["1"])) == [("empty", "error", (), 1)]


def test_a_rank_that_is_no_integer_hides_no_contradiction_in_other_topics(tmp_path):
    text = "1 Q0 a x 3 t\n1 Q0 b 1 2 t\n2 Q0 a 2 3 t\n2 Q0 b 1 2 t\n"
    assert brief(found(tmp_path, text)) == [
        ("rank-not-an-integer", "warning", (1,), 1),
        ("rank-disagrees", "warning", (3,), 1),
    ]
    assert brief(found(tmp_path, text[:26])) == [("rank-not-an-integer", "warning", (1,), 1)]
