"""The one place that ranks."""

import hashlib
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.files import Source
from cranfield.runs.reading import read_rows, run_formats
from cranfield.runs.run import Order, Rows, Run, order_as_float32, ranked, tie_groups, ties, ties_only_in_float32

Row = tuple[str, str, float, int]

IDS = st.text(st.sampled_from("abAB01é€😀-"), min_size=1, max_size=4)
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 1.0 + 1e-9, 2.0, -1.5, 1e300, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def runs(draw: st.DrawFn) -> list[Row]:
    """Rows of distinct topic and document, in any order, with many ties."""
    pairs = draw(st.lists(st.tuples(st.sampled_from(["10", "9", "é", "a"]), IDS), max_size=40, unique=True))
    return [(topic, document, draw(SCORES), draw(st.integers(0, 5))) for topic, document in pairs]


def rows_of(listed: list[Row]) -> Rows:
    """Rows with codes in order of first appearance, as a reader gives them."""
    topics = pa.array([row[0] for row in listed], pa.large_string()).dictionary_encode()
    documents = pa.array([row[1] for row in listed], pa.large_string()).dictionary_encode()
    return Rows(
        Source(Path("run")),
        topic_ids=topics.dictionary,
        topics=topics.indices.to_numpy(),
        document_ids=documents.dictionary,
        documents=documents.indices.to_numpy(),
        scores=np.array([row[2] for row in listed], dtype=np.float64),
        ranks=np.array([row[3] for row in listed], dtype=np.int64),
        tags=(("tag", 1),),
    )


def plainly_ranked(
    listed: list[Row], order: Order = "score", *, rounded: bool = False
) -> list[tuple[str, list[str]]]:
    """The slow and obvious way: sort by id descending, then stably by score descending."""

    def as_seen(score: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.float32(score)) if rounded else score

    result = []
    for topic in sorted({row[0] for row in listed}, key=str.encode):
        mine = [row for row in listed if row[0] == topic]
        if order == "score":
            mine.sort(key=lambda row: row[1].encode(), reverse=True)
            mine.sort(key=lambda row: -as_seen(row[2]))
        elif order == "rank":
            mine.sort(key=lambda row: row[3])
        result.append((topic, [row[1] for row in mine]))
    return result


def shown(run: Run) -> list[tuple[str, list[str]]]:
    return [(topic, documents) for topic, documents, _ in run]


@given(runs())
def test_the_order_is_that_of_the_slow_and_obvious_way(listed):
    rows = rows_of(listed)
    orders: tuple[Order, ...] = ("score", "rank", "file")
    assert {order: shown(ranked(rows, order=order)) for order in orders} == {
        order: plainly_ranked(listed, order) for order in orders
    }


@given(runs())
def test_scores_stay_with_their_documents(listed):
    given_scores = {(topic, document): score for topic, document, score, _ in listed}
    for topic, documents, scores in ranked(rows_of(listed)):
        assert [given_scores[topic, document] for document in documents] == scores.tolist()


@given(runs(), st.randoms())
def test_shuffling_the_lines_changes_nothing(listed, random):
    shuffled = random.sample(listed, len(listed))
    assert ranked(rows_of(shuffled)) == ranked(rows_of(listed))


@given(runs())
def test_the_order_of_trec_eval_9_is_the_slow_way_with_32_bit_floats(listed):
    run = ranked(rows_of(listed))
    moved = order_as_float32(run)
    documents = run.documents if moved is None else run.documents[moved]
    again = Run(run.tag, run.topic_ids, run.offsets, run.document_ids, documents, run.scores)
    assert shown(again) == plainly_ranked(listed, rounded=True)


@given(runs())
def test_ties_are_counted_as_a_person_would(listed):
    run = ranked(rows_of(listed))
    exact: list[tuple[str, int]] = []
    rounded: list[tuple[str, int]] = []
    for topic, _, scores in run:
        with np.errstate(over="ignore"):
            floats = scores.astype(np.float32)
        for score, single in zip(scores, floats, strict=True):
            if np.count_nonzero(scores == score) > 1:
                exact.append((topic, 1))
            if len(set((scores[floats == single] + 0.0).tolist())) > 1:
                rounded.append((topic, 1))
    assert tie_groups(ties(run.scores, run.offsets), run.offsets) == (len(exact), len({topic for topic, _ in exact}))
    only_rounded = ties_only_in_float32(run.scores, run.offsets)
    assert tie_groups(only_rounded, run.offsets) == (len(rounded), len({topic for topic, _ in rounded}))


@given(runs())
def test_the_content_hash_is_what_its_definition_says(listed):
    run = ranked(rows_of(listed))
    text = b"cranfield-run-1\n" + "\n".join(topic for topic, _, _ in run).encode()
    text += b"".join(struct.pack("<q", len(documents)) for _, documents, _ in run)
    text += "\n".join(document for _, documents, _ in run for document in documents).encode()
    text += b"".join(struct.pack("<d", 0.0 if score == 0 else score) for _, _, scores in run for score in scores)
    assert run.content_hash == hashlib.sha256(text).hexdigest()


@given(listed=runs(), name=st.sampled_from(["trec", "csv", "parquet"]))
def test_export_then_read_is_the_identity(listed, name, tmp_path_factory):
    run = ranked(rows_of(listed))
    path = Path(tmp_path_factory.mktemp("export")) / "x"
    with path.open("wb") as stream:
        run_formats.get(name).write(run, stream)
    back = ranked(read_rows(Source(path), format=name))
    assert (back.content_hash, back.order) == (run.content_hash, run.order)
    assert not listed or back == run


@given(listed=runs())
def test_a_run_ordered_by_rank_comes_back_by_its_new_ranks(listed, tmp_path_factory):
    run = ranked(rows_of(listed), order="rank")
    path = Path(tmp_path_factory.mktemp("export")) / "x"
    with path.open("wb") as stream:
        run_formats.get("trec").write(run, stream)
    back = read_rows(Source(path), format="trec")
    assert ranked(back, order="rank").content_hash == ranked(back, order="file").content_hash == run.content_hash


def test_the_hash_knows_nothing_of_tag_and_coding_but_everything_of_order():
    one = rows_of([("1", "a", 2.0, 2), ("1", "b", 1.0, 1)])
    run = ranked(one)
    recoded = Run("other", run.topic_ids, run.offsets, pa.array(["b", "x", "a"]), np.array([2, 0]), run.scores)
    assert recoded.content_hash == run.content_hash
    assert ranked(one, order="rank").content_hash != run.content_hash


def test_equal_scores_go_by_id_from_high_to_low_in_byte_order():
    listed = [("1", document, 1.0, 0) for document in ("B", "a", "é", "😀", "\uffff", "10", "9", "ab")]
    assert shown(ranked(rows_of(listed))) == [("1", ["😀", "\uffff", "é", "ab", "a", "B", "9", "10"])]


def test_lists_of_very_different_length_are_ranked_too():
    long = [("1", f"d{row}", float(row % 97), 0) for row in range(5000)]
    short = [(f"t{row}", f"d{row}", 1.0, 0) for row in range(300)]
    listed = [*long[:2500], *short, *long[2500:]]
    assert shown(ranked(rows_of(listed))) == plainly_ranked(listed)


def test_more_topics_than_16_bits_count_are_grouped_too():
    listed = [(str(row % 70_000), f"d{row}", 1.0, 0) for row in range(70_001)]
    run = ranked(rows_of(listed))
    assert (len(run.topic_ids), run.row_count, np.diff(run.offsets).max()) == (70_000, 70_001, 2)
    assert next(iter(run))[:2] == ("0", ["d70000", "d0"])


@pytest.mark.parametrize("order", ["rank", "file"])
def test_a_run_that_means_another_order_is_not_touched_by_trec_eval_9(order):
    run = ranked(rows_of([("1", "a", 1.0, 1), ("1", "b", 1.0, 2)]), order=order)
    assert (order_as_float32(run), shown(run)) == (None, [("1", ["a", "b"])])
