"""Reading run files of every format."""

import bz2
import gzip
import io
import lzma
import math
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import zstandard
from kept import Kept

from cranfield.base.errors import ProblemsFound, SourceError, UnknownName
from cranfield.base.files import Source
from cranfield.runs.check import Expectations, check
from cranfield.runs.reading import format_of, read_rows, run_formats
from cranfield.runs.run import NO_RANK, Rows, ranked

PLAIN = b"101 Q0 D2 1 2.5 a\n101 Q0 D1 2 1.5 a\n102 Q0 D2 1 0.5 a\n"
THREE = [("101", "D2", 2.5, 1), ("101", "D1", 1.5, 2), ("102", "D2", 0.5, 1)]


def rows_of(folder: Path, data: bytes, name: str = "x.run", **options: str) -> Rows:
    path = folder / name
    path.write_bytes(data)
    return read_rows(Source(path), **options)


def listed(rows: Rows) -> list[tuple[object, ...]]:
    """Each row as (topic, document, score, rank); None for a score or rank that is not there."""
    topics, documents = rows.topic_ids.to_pylist(), rows.document_ids.to_pylist()
    ranks = [None] * len(rows) if rows.ranks is None else rows.ranks.tolist()
    scores = [None if math.isnan(score) else score for score in rows.scores.tolist()]
    columns = zip(rows.topics, rows.documents, scores, ranks, strict=True)
    return [(topics[topic], documents[document], score, rank) for topic, document, score, rank in columns]


def codes(rows: Rows) -> list[tuple[str, tuple[int, ...], int]]:
    return [(problem.code, problem.lines, problem.count) for problem in rows.problems]


def lines(rows: Rows) -> list[int]:
    return rows.lines.of(np.arange(len(rows))).tolist()


def test_a_clean_trec_file_becomes_rows(tmp_path):
    rows = rows_of(tmp_path, PLAIN)
    assert listed(rows) == THREE
    assert (rows.tags, rows.problems, lines(rows), rows.name) == ((("a", 1),), (), [1, 2, 3], "a")


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.replace(b" ", b"\t"),
        PLAIN.replace(b" ", b"  "),
        PLAIN.replace(b" ", b" \t "),
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b"\n", b" \t\r\n"),
        b"\xef\xbb\xbf" + PLAIN,
        b"  " + PLAIN.replace(b"\n", b"\n  "),
        PLAIN.rstrip(),
        PLAIN.replace(b" 2 1.5", b"\t2  1.5"),
        PLAIN.replace(b" 2.5", b" +2.5"),
        PLAIN.replace(b" 1.5", b" 15e-1").replace(b" 0.5", b" .5"),
        PLAIN.replace(b" 1 2.5", b" 0001 2.5").replace(b" 2 1.5", b" +2 1.5"),
    ],
)
def test_spacing_line_ends_and_ways_to_write_numbers_make_no_difference(tmp_path, data):
    rows = rows_of(tmp_path, data)
    assert (listed(rows), rows.problems, rows.tags) == (THREE, (), (("a", 1),))


def test_blank_lines_give_no_row_and_still_count_as_lines(tmp_path):
    rows = rows_of(tmp_path, b"\n" + PLAIN.replace(b"102 ", b"\n \t\n102 "))
    assert (listed(rows), rows.problems, lines(rows)) == (THREE, (), [2, 3, 6])


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress]
)
def test_compressed_files_are_recognised_by_their_bytes(tmp_path, compress):
    assert listed(rows_of(tmp_path, compress(PLAIN))) == THREE


def test_words_that_mean_something_to_parsers_are_ordinary_ids(tmp_path):
    words = ["NA", "null", "NaN", '"', "'x", "\\n", "#1", "true", "-", "é", "1e5", "0x1F"]
    text = "".join(f"{word} Q0 {word} {rank} 1 a\n" for rank, word in enumerate(words))
    rows = rows_of(tmp_path, text.encode())
    assert [row[:2] for row in listed(rows)] == [(word, word) for word in words]
    assert rows.problems == ()


def test_a_line_with_too_few_columns_is_left_out_and_one_with_too_many_keeps_six(tmp_path):
    rows = rows_of(tmp_path, b"101 Q0 D2 1 2.5 a rel extra\n101 Q0  2 1.5 a\n#comment\n" + PLAIN)
    assert listed(rows) == [THREE[0], *THREE]
    assert codes(rows) == [("too-few-columns", (2, 3), 2), ("too-many-columns", (1,), 1)]
    assert lines(rows) == [1, 4, 5, 6]


@pytest.mark.parametrize("line", [b" Q0 D 1 1 a", b"1  D 1 1 a", b"1 Q0  1 1 a", b"1 Q0 D 1 1 ", b"1\tQ0\t\t1\t1\ta"])
def test_two_blanks_side_by_side_do_not_stand_for_an_empty_column(tmp_path, line):
    data = PLAIN.replace(b" ", b"\t") if b"\t" in line else PLAIN
    rows = rows_of(tmp_path, data + line + b"\n")
    assert (listed(rows), codes(rows)) == (THREE, [("too-few-columns", (4,), 1)])


def test_a_trec_file_without_tags_is_named_after_its_file_and_loses_no_line(tmp_path):
    lines = b"1 Q0 a 1 3\n1 Q0 b 2 2\n2\tQ0\tc\t1\t1\n"
    rows = rows_of(tmp_path, lines, "mine.run")
    assert (len(rows), rows.name, codes(rows)) == (3, "mine", [("no-tag", (1,), 1)])
    rows = rows_of(tmp_path, lines + b"2 Q0 d 2\n", "mine.run")
    assert (len(rows), codes(rows)) == (3, [("too-few-columns", (4,), 1), ("no-tag", (1,), 1)])


def test_a_line_that_begins_with_a_hash_is_a_row_if_it_has_six_columns(tmp_path):
    assert listed(rows_of(tmp_path, b"#1 Q0 D2 1 2.5 a\n")) == [("#1", "D2", 2.5, 1)]


@pytest.mark.parametrize(
    ("score", "code"),
    [
        ("abc", "score-not-a-number"),
        ("0x10", "score-not-a-number"),
        ("1,5", "score-not-a-number"),
        ("1_000", "score-not-a-number"),
        ("--1", "score-not-a-number"),
        ("+-1", "score-not-a-number"),
        ("1e", "score-not-a-number"),
        (".", "score-not-a-number"),
        ("٣", "score-not-a-number"),
        ("nan", "score-nan"),
        ("-NaN", "score-nan"),
        ("inf", "score-infinite"),
        ("-Infinity", "score-infinite"),
        ("1e999", "score-infinite"),
    ],
)
def test_a_score_that_is_no_finite_number_is_listed_with_its_line_and_its_ids_are_kept(tmp_path, score, code):
    rows = rows_of(tmp_path, PLAIN + f"103 Q0 D1 1 {score} a\n".encode())
    assert (listed(rows), codes(rows)) == ([*THREE, ("103", "D1", None, 1)], [(code, (4,), 1)])
    assert (listed(rows.scored), rows.scored.topic_ids.to_pylist()) == (THREE, ["101", "102"])


@pytest.mark.parametrize("rank", ["1.0", "first", "99999999999999999999", "-"])
def test_a_rank_that_is_no_integer_is_a_warning_and_the_row_stays(tmp_path, rank):
    rows = rows_of(tmp_path, PLAIN.replace(b"D1 2 ", f"D1 {rank} ".encode()))
    assert listed(rows) == [THREE[0], ("101", "D1", 1.5, NO_RANK), THREE[2]]
    assert [(problem.code, problem.severity, problem.lines) for problem in rows.problems] == [
        ("rank-not-an-integer", "warning", (2,))
    ]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b"101 Q0 D\x00 1 1 a\n", "control-character"),
        (b"101 Q0 D\x1b[31m 1 1 a\n", "control-character"),
        (b"101 Q0 D\x7f 1 1 a\n", "control-character"),
        (b"101 Q0 D\xc2\x85 1 1 a\n", "control-character"),
        (b"101 Q0 D\x0b1 1 1 a\n", "control-character"),
        (b"101 Q0 D\xff 1 1 a\n", "not-utf-8"),
        (b"101 Q0 D3 1 1 a\r103 Q0 D4 1 1 a\n", "lone-carriage-return"),
    ],
)
def test_bytes_no_id_may_hold_are_errors_with_their_line(tmp_path, bad, code):
    rows = rows_of(tmp_path, PLAIN + bad + PLAIN)
    assert (listed(rows), codes(rows)) == ([*THREE, *THREE], [(code, (4,), 1)])
    assert lines(rows) == [1, 2, 3, 5, 6, 7]


def test_what_is_shown_of_a_bad_line_is_harmless(tmp_path):
    rows = rows_of(tmp_path, PLAIN + "101 \x1b[31m\u202e\n".encode())
    assert "\x1b" not in rows.problems[0].message
    assert "\u202e" not in rows.problems[0].message


def test_every_tag_comes_with_its_first_line(tmp_path):
    rows = rows_of(tmp_path, PLAIN + b"\n" + PLAIN.replace(b" a\n", b" b\n") + PLAIN)
    assert rows.tags == (("a", 1), ("b", 5))


@pytest.mark.parametrize("data", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_a_file_with_nothing_in_it_is_empty(tmp_path, data):
    rows = rows_of(tmp_path, data)
    assert ([problem.code for problem in rows.problems], len(rows), len(ranked(rows).topic_ids)) == (["empty"], 0, 0)


def test_a_file_of_many_blocks_is_read_like_one_of_one(tmp_path, monkeypatch):
    text = b"".join(b"%d Q0 D%d %d %d.5 a\n" % (row // 7, row, row % 7, 99 - row % 7) for row in range(500))
    broken = text.replace(b"3 Q0 D21 ", b"3 Q0 D21 x y ").replace(b"D400 ", b"D400\t ").replace(b"D77 ", b"")
    expected = rows_of(tmp_path, broken)
    for size in (16, 37, 64, 1000):
        monkeypatch.setattr("cranfield.base.files.LINES_AT_ONCE", size)
        rows = rows_of(tmp_path, broken)
        assert (listed(rows), rows.problems, lines(rows), rows.tags) == (
            listed(expected),
            expected.problems,
            lines(expected),
            expected.tags,
        )


def test_a_line_of_ten_megabytes_is_read(tmp_path):
    long = b"x" * 10_000_000
    rows = rows_of(tmp_path, PLAIN + b"103 Q0 " + long + b" 1 1 a\n" + b"y" * 10_000_000)
    assert [row[0] for row in listed(rows)] == ["101", "101", "102", "103"]
    assert codes(rows) == [("too-few-columns", (5,), 1)]
    assert all(len(problem.message) < 300 for problem in rows.problems)


@pytest.mark.parametrize(
    "data",
    [
        b"topic,document,score,rank\n101,D2,2.5,1\n101,D1,1.5,2\n102,D2,0.5,1\n",
        b"rank;score;docno;qid\r\n1;2.5;D2;101\r\n2;1.5;D1;101\r\n1;0.5;D2;102\r\n",
        b'"Query-ID"\t"Doc ID"\t"Score"\t"Rank"\n"101"\t"D2"\t2.5\t1\n101\tD1\t1.5\t2\n102\tD2\t0.5\t1\n',
    ],
)
def test_csv_files_are_understood_by_their_header(tmp_path, data):
    rows = rows_of(tmp_path, data, "x.csv")
    assert (listed(rows), rows.problems) == (THREE, ())


@pytest.mark.parametrize(
    "data", [b"101\tD2\t2.5\n101\tD1\t1.5\n102\tD2\t0.5\n", b"101,D2,2.5\n101,D1,1.5\n102,D2,0.5\n"]
)
def test_csv_files_without_a_header_are_understood_by_their_shape_and_the_guess_is_told(tmp_path, data, kept: Kept):
    for text in (data, b"\n" + data):
        rows = rows_of(tmp_path, text, "x.csv")
        assert [row[:3] for row in listed(rows)] == [row[:3] for row in THREE]
        assert [(found.code, found.severity) for found in rows.problems] == [("guessed-columns", "warning")]
        kept(rows.problems[0].message)


def test_whether_the_last_of_three_columns_was_taken_for_a_rank_or_a_score_is_told(tmp_path, kept: Kept):
    guesses = [rows_of(tmp_path, data).problems[0].message for data in (b"7,11,1\n7,22,2\n", b"7,11,9\n7,22,8\n")]
    kept([guess.rpartition(": ")[2] for guess in guesses])


def test_a_wrong_number_of_columns_is_told_in_the_columns_of_the_file(tmp_path, kept: Kept):
    found = rows_of(tmp_path, b"qid;docid;score\n1;a;1\n1;b\n1;c;2;x\n", "x.csv").problems
    assert [(problem.message, problem.remedy) for problem in found] == [
        (
            "a line has too few columns: '1;b'; expected 'qid, docid, score'",
            "write all columns on each line; --repair drops the line",
        ),
        (
            "a line has too many columns: '1;c;2;x'; expected 'qid, docid, score'",
            "remove everything after the last column",
        ),
    ]
    found = rows_of(tmp_path, PLAIN + b"1 Q0 D\n").problems
    kept(found[0].message)


def test_standard_input_is_called_stdin_where_the_format_has_no_tags(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"qid,docid,score\n1,a,1\n")))
    rows = read_rows(Source(Path("-")))
    assert (rows.name, rows.source.name, check(rows, Expectations())) == ("stdin", "standard input", [])


def test_a_run_with_ranks_and_no_scores_is_ordered_by_its_ranks(tmp_path):
    rows = rows_of(tmp_path, b"7\t11\t1\n7\t22\t2\n7\t10\t3\n8\t11\t1\n", "msmarco.tsv")
    assert listed(rows) == [("7", "11", -1.0, 1), ("7", "22", -2.0, 2), ("7", "10", -3.0, 3), ("8", "11", -1.0, 1)]
    assert [documents for _, documents, _ in ranked(rows)] == [["11", "22", "10"], ["11"]]


def test_one_missing_score_among_others_is_not_made_from_the_rank(tmp_path):
    rows = rows_of(tmp_path, b"qid,docid,rank,score\n1,a,1,9\n1,b,2,\n")
    assert (listed(rows), codes(rows)) == ([("1", "a", 9.0, 1), ("1", "b", None, 2)], [("missing-field", (3,), 1)])
    rows = rows_of(tmp_path, b"qid,docid,rank\n1,a,1\n1,b,\n")
    assert listed(rows.scored) == [("1", "a", -1.0, 1)]
    assert codes(rows) == [("missing-field", (3,), 1), ("rank-not-an-integer", (3,), 1)]


def test_three_columns_whose_last_does_not_count_up_end_in_a_score(tmp_path):
    rows = rows_of(tmp_path, b"7,11,12\n7,22,9\n")
    assert listed(rows) == [("7", "11", 12.0, None), ("7", "22", 9.0, None)]


def test_every_bad_csv_row_is_listed(tmp_path):
    data = b'qid,docid,score\n1,a,1\n1,b\n1,c,2,extra\n1,"d,1\n1,e,x\n1,,1\n\n1,f\xff,1\n1,g\rh,1\n"1","z",0\n'
    rows = rows_of(tmp_path, data)
    assert [(row[1], row[2]) for row in listed(rows)] == [("a", 1.0), ("c", 2.0), ("e", None), ("z", 0.0)]
    assert (lines(rows), lines(rows.scored)) == ([2, 4, 6, 11], [2, 4, 11])
    assert sorted(codes(rows)) == [
        ("bad-row", (5,), 1),
        ("lone-carriage-return", (10,), 1),
        ("missing-field", (7,), 1),
        ("not-utf-8", (9,), 1),
        ("score-not-a-number", (6,), 1),
        ("too-few-columns", (3,), 1),
        ("too-many-columns", (4,), 1),
    ]


def parquet_of(folder: Path, columns: dict[str, object]) -> Rows:
    pyarrow.parquet.write_table(pa.table(columns), folder / "x.parquet")
    return read_rows(Source(folder / "x.parquet"))


def test_parquet_is_read_with_text_or_numbers_as_ids(tmp_path):
    texts = {"query": ["101", "101", "102"], "docno": ["D2", "D1", "D2"], "score": [2.5, 1.5, 0.5], "rank": [1, 2, 1]}
    assert listed(parquet_of(tmp_path, texts)) == THREE
    coded = {**texts, "docno": pa.array(texts["docno"]).dictionary_encode(), "query": [101, 101, 102]}
    assert listed(parquet_of(tmp_path, coded)) == THREE
    small = {**texts, "score": pa.array([2.5, 1.5, 0.5], pa.float32())}
    assert listed(parquet_of(tmp_path, small)) == THREE


def test_parquet_takes_ranks_and_scores_of_any_kind_of_number_and_refuses_other_ids(tmp_path, kept: Kept):
    numbers = {"rank": [1.0, 2.0], "score": [Decimal("2.5"), Decimal("0.5")]}
    frame = {"topic": ["1", "1"], "document": ["a", "b"], **numbers}
    assert listed(parquet_of(tmp_path, frame)) == [("1", "a", 2.5, 1), ("1", "b", 0.5, 2)]
    for ids in ([1.0, 2.5], [b"a", b"b"], [True, False]):
        with kept.raises(ProblemsFound):
            parquet_of(tmp_path, {**frame, "document": ids})


def test_parquet_rows_with_nothing_in_a_field_are_listed(tmp_path):
    rows = parquet_of(
        tmp_path, {"qid": ["1", None, "1"], "docid": ["a", "b", "c"], "score": [1.0, 1.0, float("nan")]}
    )
    assert (listed(rows), codes(rows)) == (
        [("1", "a", 1.0, None), ("1", "c", None, None)],
        [("missing-field", (2,), 1), ("score-nan", (3,), 1)],
    )


def test_a_broken_parquet_file_and_one_without_the_columns_are_errors_that_name_the_file(tmp_path, kept: Kept):
    with kept.raises(SourceError):
        rows_of(tmp_path, b"PAR1 and nothing of the kind", "x.parquet")
    with kept.raises(ProblemsFound):
        parquet_of(tmp_path, {"a": [1]})


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (PLAIN, "trec"),
        (b"1 Q0 D 1 1\n", "trec"),
        (b"1\tQ0\tD\t1\t1\n", "trec"),
        (b"a b c 1 2 t more\n1 Q0 D 1 1 t x\n1 Q0 D 1 1 t x\n", "trec"),
        (b"qid,docid,score\n", "csv"),
        (b"1\t2\t1\n", "csv"),
        (b"PAR1", "parquet"),
    ],
)
def test_a_format_is_recognised_by_its_first_bytes(tmp_path, data, name):
    (tmp_path / "x").write_bytes(data)
    assert format_of(Source(tmp_path / "x")) is run_formats.get(name)


@pytest.mark.parametrize("data", [b"hello\n", b"<xml>", b"{}", b"\x00\x01\x02", b"one two three\n", b"\xff\xfe1\x00"])
def test_an_unknown_format_is_an_error_that_lists_the_known_ones(tmp_path, data):
    with pytest.raises(ProblemsFound) as caught:
        rows_of(tmp_path, data)
    assert all(name in str(caught.value) for name in run_formats.names())


def test_a_named_format_is_taken_at_its_word(tmp_path, kept: Kept):
    assert codes(rows_of(tmp_path, b"hello\n", format="trec")) == [("too-few-columns", (1,), 1)]
    with kept.raises(UnknownName):
        rows_of(tmp_path, PLAIN, format="treck")


def test_every_format_reads_what_it_wrote(tmp_path):
    text = '102 Q0 D"2,é 1 0.1 a\n101 Q0 D1 1 1e-7 a\n101 Q0 D2 2 123456.78901 a\n'
    run = ranked(rows_of(tmp_path, text.encode()))
    for name in run_formats.names():
        with (tmp_path / name).open("wb") as stream:
            run_formats.get(name).write(run, stream)
        assert ranked(read_rows(Source(tmp_path / name), format=name)) == run
        assert ranked(read_rows(Source(tmp_path / name))) == run


def test_a_truncated_gzip_is_an_error_that_names_the_file(tmp_path, kept: Kept):
    with kept.raises(SourceError):
        rows_of(tmp_path, gzip.compress(PLAIN * 100)[:-20])


def test_a_folder_or_a_missing_file_is_an_error_that_names_it(tmp_path, kept: Kept):
    for path in (tmp_path, tmp_path / "absent"):
        with kept.raises(SourceError):
            read_rows(Source(path))


def test_a_parquet_file_of_a_billion_equal_rows_is_refused_before_it_is_read(tmp_path, kept: Kept):
    path, rows = tmp_path / "equal.parquet", 1 << 24
    ids = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), pa.array(["x"]))
    scores = pa.array(np.zeros(rows))
    pyarrow.parquet.write_table(pa.table({"topic": ids, "document": ids, "score": scores}), path)
    with kept.raises(SourceError):
        read_rows(Source(path))
