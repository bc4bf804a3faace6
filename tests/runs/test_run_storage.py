"""Rankings and ids as they are stored."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from kept import Kept

from cranfield.base.errors import CollectionError
from cranfield.runs.columns import keys_of
from cranfield.runs.encoding import (
    ENCODING,
    CodedRun,
    as_ids,
    codes_of,
    decode,
    decode_page,
    encode,
    encode_page,
    from_coded,
)
from cranfield.runs.run import Run

FINITE = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**7), 10**7).map(lambda number: number / 1000),
    st.integers(-50, 50).map(float),
)


@st.composite
def coded_runs(draw: st.DrawFn) -> CodedRun:
    counts = draw(st.lists(st.integers(1, 5), max_size=6))
    size = sum(counts)
    codes = draw(arrays.arrays(np.int32, size, elements=st.integers(0, 2**31 - 1)))
    one_kind = draw(st.sampled_from([FINITE, st.integers(-9999, 9999).map(lambda number: number / 100)]))
    scores = np.array(draw(st.lists(one_kind, min_size=size, max_size=size)), dtype=np.float64)
    topics = np.arange(len(counts), dtype=np.int32)[::-1].copy()
    return CodedRun(topics, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), codes, scores)


def block_of(run: CodedRun) -> bytes:
    """A ranking as it is stored, of a run whose ids have the codes of the collection."""
    ids, places = as_ids([]), np.arange(len(run.documents), dtype=np.int32)
    return encode(Run("t", ids, run.offsets, ids, places, run.scores), run.topics, run.documents)


def columns(run: CodedRun) -> list[tuple[str, list[object]]]:
    """Every column with its type; scores as bits, so that -0.0 is not 0.0."""
    parts = (run.topics, run.offsets, run.documents, run.scores.view(np.int64))
    return [(str(part.dtype), part.tolist()) for part in parts]


@given(coded_runs())
def test_encode_then_decode_is_the_identity_bit_by_bit(run):
    assert columns(decode(block_of(run), ENCODING)) == columns(run)


def test_scores_with_few_decimals_take_much_less_room():
    rng = np.random.default_rng(1)
    size = 20_000
    decimal = -np.sort(-np.round(rng.normal(10, 2, size), 4))
    plain = -np.sort(-rng.normal(10, 2, size))
    stored = [
        len(block_of(CodedRun(np.zeros(1, np.int32), np.array([0, size]), np.zeros(size, np.int32), scores)))
        for scores in (decimal, plain)
    ]
    assert stored[0] * 3 < stored[1]


def test_an_encoding_from_the_future_is_refused_with_a_sentence(kept: Kept):
    with kept.raises(CollectionError):
        decode(b"", ENCODING + 1)


@given(st.binary(max_size=200), st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_block_is_an_error_or_an_answer_never_a_crash(noise, place, letter):
    run = CodedRun(np.array([1, 2]), np.array([0, 2, 3]), np.array([5, 6, 7]), np.array([3.0, 2.0, 1.0]))
    data = bytearray(block_of(run))
    data[place * len(data) // 201] = letter
    for damaged in (noise, bytes(data), bytes(data[: place * len(data) // 201])):
        try:
            run = decode(damaged)
        except CollectionError:
            continue
        assert run.offsets[-1] == len(run.documents) == len(run.scores)


def test_new_ids_get_the_next_codes_in_their_order():
    (first, second), new = codes_of(as_ids(["b", "a", "é"]), [as_ids(["z", "a", ""]), as_ids(["é", "y", "z"])])
    assert (first.tolist(), second.tolist(), new.to_pylist()) == ([3, 1, 4], [2, 5, 3], ["z", "", "y"])
    assert codes_of(as_ids([]), [as_ids(["a"])])[0][0].tolist() == [0]


IDS = st.lists(st.text(max_size=30).filter(lambda text: "\0" not in text), unique=True, max_size=60)


@given(IDS, IDS, st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_ids_that_grow_in_steps_are_coded_like_a_dictionary(first, more, cuts):
    ids = as_ids(first)
    known = {value: code for code, value in enumerate(first)}
    for cut in cuts:
        step = [value for value in more[:cut] if value]
        (codes,), new = codes_of(ids, [pa.array(step, pa.string())])
        for value in step:
            known.setdefault(value, len(known))
        assert codes.tolist() == [known[value] for value in step]
        ids = pa.concat_arrays([ids, new])
    assert ids.to_pylist() == list(known)


def test_keys_depend_on_every_byte_and_on_the_length():
    texts = ["", "a", "a\0", "b", "ab", "ba", "a" * 8, "a" * 9, "a" * 16, "b" + "a" * 15, "a" * 15 + "b", "x" * 100]
    texts += ["x" * 99 + "y", "y" + "x" * 99]
    keys = keys_of(pa.array(texts, pa.large_string()))
    assert len(set(keys.tolist())) == len(texts)
    assert keys_of(pa.array(["?", *texts], pa.large_string()).slice(1)).tolist() == keys.tolist()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=30))
def test_a_page_of_ids_comes_back(ids):
    assert decode_page(encode_page(ids)).to_pylist() == ids


def test_a_damaged_page_is_an_error(kept: Kept):
    with kept.raises(CollectionError):
        decode_page(b"nothing of the kind")


def test_a_run_comes_back_from_its_codes():
    run = Run(
        "t",
        pa.array(["1", "2"], pa.large_string()),
        np.array([0, 2, 3]),
        pa.array(["c", "a"], pa.large_string()),
        np.array([1, 0, 1], np.int32),
        np.array([3.0, 2.0, 1.0]),
        "rank",
    )
    topics, documents = as_ids(["9", "2", "1"]), as_ids(["a", "b", "c"])
    data = encode(run, *codes_of(topics, [run.topic_ids])[0], *codes_of(documents, [run.document_ids])[0])
    back = from_coded(decode(data), topics, documents, "t", "rank")
    assert back == run
    assert back.document_ids.to_pylist() == ["a", "c"]
