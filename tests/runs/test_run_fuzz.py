"""Whatever the bytes, reading ends in rows or in an error of ours."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.errors import CranfieldError
from cranfield.base.files import Source
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows, run_formats
from cranfield.runs.run import ranked

SEEDS = {
    "trec": b"101 Q0 D2 1 2.5 a\n101\tQ0\tD1\t2\t1.5\ta\n\n102 Q0  D2 1 -0.5e3 a x\n",
    "csv": b"qid,docid,score,rank\n1,a,2.5,1\n1,b,1.5,2\n2,a,7,1\n",
}
PIECES = [
    b"\0",
    b"\r",
    b"\r\n",
    b"\n",
    b"\t",
    b" ",
    b"\x1b[2J",
    b"\xff",
    b"\xe2\x80\xae",
    b'"',
    b"{",
    b"}",
    b",",
    b"nan",
    b"1e999",
]


def attempt(path: Path, data: bytes, name: str | None) -> None:
    """Read, check, rank, repair, write and read again: all of it must end well or in an error of ours."""
    path.write_bytes(data)
    try:
        rows = read_rows(Source(path), format=name)
    except CranfieldError:
        return
    expected = Expectations(max_depth=3, topics=["1"])
    problems = check(rows, expected)
    assert not any("\x1b" in str(problem) or "\x00" in str(problem) for problem in problems)
    assert len(rows) or any(problem.severity == "error" for problem in problems)
    assert np.isfinite(rows.scored.scores).all()
    run = ranked(rows.scored)
    assert (run.row_count, len(run.topic_ids)) == (len(rows.scored), len(set(rows.scored.topics.tolist())))
    assert (np.diff(rows.lines.of(np.arange(len(rows)))) > 0).all()
    mended, done = repair(rows, problems, name=rows.name, max_depth=3)
    if mended is None:
        assert any(problem.severity == "error" for problem in problems)
        assert done[0].startswith("no corrected copy was written")
        return
    with path.open("wb") as stream:
        run_formats.get("trec").write(mended, stream)
    again = read_rows(Source(path), format="trec")
    assert not [found for found in check(again, expected) if found.severity == "error"]
    assert ranked(again) == mended


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "x"


@given(data=st.binary(max_size=300), name=st.sampled_from([None, *run_formats.names()]))
def test_random_bytes(path, data, name):
    attempt(path, data, name)


@given(
    data=st.lists(st.sampled_from([*PIECES, b"1", b"Q0", b"d", b"2.5", b"0x1", b"\n1 Q0 d 1 2 t\n"]), max_size=60),
    name=st.sampled_from([None, *run_formats.names()]),
)
def test_random_pieces_of_runs(path, data, name):
    attempt(path, b"".join(data), name)


@given(
    seed=st.sampled_from(sorted(SEEDS)),
    named=st.booleans(),
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(PIECES)), max_size=5),
)
def test_valid_files_with_a_few_bytes_changed(path, seed, named, edits):
    data = SEEDS[seed] * 3
    for share, removed, piece in edits:
        place = int(share * len(data))
        data = data[:place] + piece + data[place + removed :]
    attempt(path, data, seed if named else None)


@given(share=st.floats(0, 1), letter=st.integers(0, 255), cut=st.booleans())
def test_damaged_parquet_and_gzip(path, share, letter, cut):
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table({"qid": ["1"], "docid": ["a"], "score": [1.0]}), sink)
    for whole in (bytes(sink.getvalue()), gzip.compress(SEEDS["trec"] * 5)):
        place = min(int(share * len(whole)), len(whole) - 1)
        damaged = whole[:place] if cut else whole[:place] + bytes([letter]) + whole[place + 1 :]
        attempt(path, damaged, None)


@pytest.mark.parametrize("name", [None, *run_formats.names()])
@pytest.mark.parametrize(
    "data",
    [
        b"x" * 10_000_000,
        b"1 " * 5_000_000,
        b"1 Q0 " + b"d" * 10_000_000 + b" 1 1 t\n",
        b'{"qid": "1", "docid": "' + b"d" * 10_000_000 + b'", "score": 1}\n',
        b'{"qid": ' + b"[" * 100_000,
        b'{"qid": "1", "docid": 1' + b"0" * 5000 + b', "score": 1}\n',
        b"qid,docid,score\n1," + b"d" * 10_000_000 + b",1\n",
        b"q\td\t" + b"9" * 60_000 + b"x\n1\ta\t2\n",
        b"\r" * 100_000,
        b"\0" * 100_000,
    ],
    ids=[
        "one-word",
        "many-columns",
        "long-id",
        "long-json",
        "deep-json",
        "long-number",
        "long-csv",
        "many-digits",
        "returns",
        "nuls",
    ],
)
@pytest.mark.timeout(60)
def test_monsters(path, data, name):
    attempt(path, data, name)
