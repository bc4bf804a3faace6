"""Qrels files: what is read, and everything that is refused, with its lines."""

import bz2
import contextlib
import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import ProblemsFound, SourceError, UnknownName
from cranfield.base.files import Source
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.qrels.reading import read_qrels

ROWS = [("1", "a", 1), ("1", "b", 0), ("10", "c", -1), ("2", "a", 3)]
TREC = b"2 0 a 3\n1 0 b 0\n10 0 c -1\n1 0 a 1\n"


def read(tmp_path: Path, data: bytes, *, format: str | None = None) -> Qrels:
    file = tmp_path / "qrels"
    file.write_bytes(data)
    return read_qrels(Source(file), format=format)


def problems(tmp_path: Path, data: bytes) -> list[tuple[str, tuple[int, ...]]]:
    with pytest.raises(ProblemsFound) as refused:
        read(tmp_path, data)
    assert {problem.file for problem in refused.value.problems} == {str(tmp_path / "qrels")}
    return [(problem.code, problem.lines) for problem in refused.value.problems]


@pytest.mark.parametrize(
    "data",
    [
        TREC,
        TREC.removesuffix(b"\n"),
        TREC.replace(b" ", b"\t"),
        TREC.replace(b" ", b"  \t "),
        TREC.replace(b"\n", b"\r\n"),
        TREC.replace(b"\n", b"\n\n"),
        b"\xef\xbb\xbf" + TREC,
        b"# a comment\n# another\n" + TREC + b"# the end",
        TREC.replace(b" 3", b" +3"),
        TREC.replace(b" 0 a", b" iteration-7 a"),
        gzip.compress(TREC, mtime=0),
        bz2.compress(TREC),
        b"query-id\tcorpus-id\tscore\n2\ta\t3\n1\tb\t0\n10\tc\t-1\n1\ta\t1\n",
        b'topic,document,grade,note\n2,a,3,x\n1,b,0,\n10,c,-1,"a, b"\n1,a,1,\n',
        b"topic;document;grade\n2;a;3\n1;b;0\n10;c;-1\n1;a;1\n",
        (
            b'{"topic":"2","document":"a","grade":3}\n{"query-id":"1","corpus-id":"b","score":0}\n\n'
            b'{"qid":10,"docno":"c","rel":-1}\n{"topic":"1","document":"a","grade":1,"by":"me"}\n'
        ),
    ],
)
def test_every_way_to_write_the_same_qrels_gives_the_same(tmp_path: Path, data: bytes):
    qrels = read(tmp_path, data)
    assert list(qrels) == ROWS
    assert qrels == qrels_of(list(reversed(ROWS)))


def test_topics_and_documents_are_in_byte_order(tmp_path: Path):
    qrels = read(tmp_path, "é 0 z 1\nz 0 é 1\nz 0 Z 2\n10 0 a 1\n9 0 a 1\n".encode())
    assert [(topic, document) for topic, document, _ in qrels] == [
        ("10", "a"), ("9", "a"), ("z", "Z"), ("z", "é"), ("é", "z"),
    ]  # fmt: skip


def test_the_hash_is_of_the_sorted_rows(tmp_path: Path):
    expected = hashlib.sha256(b"cranfield-qrels-1\n1\ta\t1\n1\tb\t0\n10\tc\t-1\n2\ta\t3\n").hexdigest()
    assert read(tmp_path, TREC).content_hash == expected


def test_a_sampled_file_has_its_stratum_before_the_grade(tmp_path: Path):
    qrels = read(tmp_path, b"1 0 a top 1\n1 0 b deep -1\n1 0 c deep 0\n")
    assert list(qrels) == [("1", "a", 1), ("1", "b", -1), ("1", "c", 0)]
    assert qrels.strata is not None
    assert [qrels.stratum_names[code] for code in qrels.strata] == ["top", "deep", "deep"]


def test_all_problems_are_told_at_once_with_their_lines(tmp_path: Path):
    data = b"1 0 a 1.9\n1 0 b x\n1 0 c\n\n1 0 d 1 2 3\n1 0 e 1\n1 0 e 1\n1 0 f 0x1\n2 0 g 1\n1 0 e 0\n"
    assert problems(tmp_path, data) == [
        ("too-few-columns", (3,)),
        ("too-many-columns", (5,)),
        ("grade-not-an-integer", (1, 2, 8)),
        ("repeated-pair", (7, 10)),
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", [("empty", ())]),
        (b"\n# nothing\n\n", [("empty", ())]),
        (b"1 0 a 1\n1 0 a 1\n", [("repeated-pair", (2,))]),
        (b"1 0 a 1\n1 0 \xff 1\n", [("not-utf-8", (2,))]),
        (b"1 0 a 1\n1 0 b\x00 1\n", [("control-character", (2,))]),
        (b"1 0 a 1\r1 0 b 1\n2 0 b 1\n", [("lone-carriage-return", (1,))]),
        (b"1 0 a 99999999999\n", [("grade-not-an-integer", (1,))]),
        (b"1 0 a 1\n1 0 b top 1\n", [("too-many-columns", (2,))]),
        (b"topic,document,grade\n1,,1\n1,a b,1\n1,a\n", [("missing-field", (2, 4)), ("blank-in-id", (3,))]),
        (
            b'{"topic": 1, "document": "a", "grade": true}\n[]\n{\n',
            [("bad-row", (2, 3)), ("grade-not-an-integer", (1,))],
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, data: bytes, expected: list[tuple[str, tuple[int, ...]]]):
    assert problems(tmp_path, data) == expected


def test_a_file_that_is_no_qrels_lists_the_formats(tmp_path: Path):
    assert problems(tmp_path, b"hello\nworld\n") == [("unknown-format", ())]


def test_a_truncated_gzip_is_an_error_that_names_the_file(tmp_path: Path, kept: Kept):
    with kept.raises(SourceError):
        read(tmp_path, gzip.compress(TREC * 1000)[:40])


def test_an_unknown_format_is_told_with_the_known_ones(tmp_path: Path, kept: Kept):
    with kept.raises(UnknownName):
        read(tmp_path, TREC, format="terc")


def test_lines_are_right_beyond_the_first_block(tmp_path: Path):
    many = b"".join(b"%d 0 document-%d %d\n" % (row % 50, row, row % 3) for row in range(500_000))
    assert problems(tmp_path, many + b"1 0 x y\n# fine\n\n7 0 document-7 1\n") == [
        ("grade-not-an-integer", (500_001,)),
        ("repeated-pair", (500_004,)),
    ]


words = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="#"), min_size=1, max_size=6)


@given(
    st.dictionaries(st.tuples(words, words), st.integers(-3, 1000), min_size=1, max_size=20), st.sampled_from(" \t")
)
def test_what_is_written_is_read(tmp_path_factory, judged: dict[tuple[str, str], int], gap: str):
    rows = [(topic, document, grade) for (topic, document), grade in judged.items()]
    text = "".join(f"{topic}{gap}0{gap}{document}{gap}{grade}\n" for topic, document, grade in rows)
    qrels = read(tmp_path_factory.mktemp("qrels"), text.encode(), format="trec")
    assert list(qrels) == sorted(rows, key=lambda row: (row[0].encode(), row[1].encode()))


@given(st.binary(max_size=200))
def test_no_bytes_make_anything_but_qrels_or_an_error_of_ours(tmp_path_factory, data: bytes):
    with contextlib.suppress(ProblemsFound, SourceError):
        read(tmp_path_factory.mktemp("qrels"), data)
