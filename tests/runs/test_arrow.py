"""The short way to Arrow's functions, held against pyarrow.compute."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.runs.columns import (
    as_numbers,
    as_text,
    byte_order,
    column_of,
    encoded,
    joined,
    lengths_of,
    places_in,
    taken,
)

words = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=12)
kinds = st.sampled_from([pa.string(), pa.large_string()])


def column(values: list[str], kind: pa.DataType, skipped: int) -> pa.Array:
    """Give the values as a slice of a longer array, so that they do not begin at its beginning."""
    return pa.array(["?"] * skipped + values + ["!"], kind).slice(skipped, len(values))


@given(words, kinds, st.integers(0, 3), st.data())
def test_it_says_what_pyarrow_compute_says(values, kind, skipped, data):
    ids = column(values, kind, skipped)
    assert as_text(ids).equals(ids.cast(pa.large_string()))
    assert byte_order(ids).tolist() == pc.sort_indices(ids.cast(pa.large_binary())).to_pylist()
    assert lengths_of(ids).tolist() == pc.binary_length(ids).to_pylist()
    places = np.array(
        data.draw(st.lists(st.integers(0, len(values) - 1), max_size=5)) if values else [], dtype=np.int64
    )
    assert taken(ids, places).to_pylist() == [values[place] for place in places]
    assert joined(ids, "\t", ids, between="|").to_pylist() == [f"{value}|\t|{value}" for value in values]
    twice = pa.chunked_array([ids, ids], kind)
    distinct, codes = encoded(twice)
    assert distinct.to_pylist() == list(dict.fromkeys(values))
    assert distinct.take(pa.array(codes)).to_pylist() == values * 2


@given(words, words, kinds, kinds, st.integers(0, 3))
def test_ids_are_found_among_known_ones_or_not_at_all(values, known, kind, other_kind, skipped):
    known = list(dict.fromkeys(known))
    found = places_in(column(known, other_kind, skipped), column(values, kind, skipped))
    assert found.tolist() == [known.index(value) if value in known else -1 for value in values]
    assert found.dtype == np.int32
    assert found.flags.writeable


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64, np.float64])
def test_numbers_become_a_column_even_from_every_other_place(kind):
    numbers = np.arange(7, dtype=kind)[::2]
    assert column_of(numbers).equals(pa.array(numbers))


def test_numbers_are_written_and_read():
    assert as_text(column_of(np.array([-12, 0, 7], dtype=np.int32))).to_pylist() == ["-12", "0", "7"]
    assert as_numbers(pa.array(["-1.5", "2e3", None])).to_pylist() == [-1.5, 2000.0, None]
    with pytest.raises(pa.ArrowInvalid):
        as_numbers(pa.array(["x"]))


def test_an_evaluation_loads_nothing_that_takes_long_and_is_not_needed(tmp_path):
    (tmp_path / "qrels").write_text("1 0 b 1\n1 0 a 0\n2 0 a 2\n")
    (tmp_path / "run").write_text("1 Q0 b 1 2 t\n1 Q0 c 2 2 t\n2 Q0 c 1 1 t\n")
    program = (
        "import atexit, sys\n"
        "from cranfield.cli.main import run\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "sys.argv[1:] = ['evaluate', '--qrels', 'qrels', 'run', '--no-verdict', '-f', 'csv']\n"
        "run()"
    )
    call = [sys.executable, "-c", program]
    shown = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "AP" in shown.stdout
    idle = {"pyarrow.compute", "numpy.ma", "dateutil", "scipy", "cranfield.judge.events"}
    assert idle & set(shown.stderr.split()) == set()
