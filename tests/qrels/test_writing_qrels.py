"""Qrels written and read again are the same; seen in two grades, or with what was not judged."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.errors import InputError
from cranfield.base.files import Source
from cranfield.qrels.qrels import (
    Change,
    Qrels,
    binary,
    difference,
    judged_only,
    qrels_formats,
    qrels_of,
    sorted_qrels,
    with_unjudged,
)
from cranfield.qrels.reading import read_qrels

ROWS = [("1", "a", 1), ("1", "b", 0), ("10", "c", -1), ("2", "a", 3)]


def written(qrels: Qrels, format: str) -> bytes:
    stream = io.BytesIO()
    qrels_formats.get(format).write(qrels, stream)
    return stream.getvalue()


def test_every_format_writes_its_own_lines():
    assert {name: written(qrels_of(ROWS), name).decode() for name in qrels_formats.names()} == {
        "trec": "1 0 a 1\n1 0 b 0\n10 0 c -1\n2 0 a 3\n",
        "smart": "1 a 1\n1 b 0\n10 c -1\n2 a 3\n",
        "csv": "topic,document,grade\n1,a,1\n1,b,0\n10,c,-1\n2,a,3\n",
        "tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n10\tc\t-1\n2\ta\t3\n",
        "jsonl": (
            '{"topic": "1", "document": "a", "grade": 1}\n{"topic": "1", "document": "b", "grade": 0}\n'
            '{"topic": "10", "document": "c", "grade": -1}\n{"topic": "2", "document": "a", "grade": 3}\n'
        ),
    }


words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"], exclude_characters="\ufeff"),
    min_size=1,
    max_size=6,
).filter(lambda word: word.split() == [word])
some_qrels = st.dictionaries(st.tuples(words, words), st.integers(-2, 10**8), min_size=1, max_size=12).map(
    lambda found: qrels_of([(*pair, grade) for pair, grade in found.items()])
)


@given(some_qrels, st.sampled_from(["trec", "csv", "tsv", "jsonl"]))
def test_export_then_import_is_the_identity(tmp_path_factory: pytest.TempPathFactory, qrels: Qrels, format: str):
    file = tmp_path_factory.getbasetemp() / f"qrels.{format}"
    if format == "trec" and any(topic.startswith("#") for topic in qrels.topics):
        with pytest.raises(InputError, match="# begins a comment"):
            written(qrels, format)
        return
    file.write_bytes(written(qrels, format))
    again = read_qrels(Source(file), format=format)
    assert list(again) == list(qrels)
    assert again.content_hash == qrels.content_hash


def test_a_sample_keeps_its_strata_in_a_trec_file(tmp_path: Path):
    plain = qrels_of(ROWS)
    sample = sorted_qrels(
        (plain.topic_ids, plain.topic_of_row),
        (plain.document_ids, plain.documents),
        plain.grades,
        strata=np.array([0, 1, 0, 1], dtype=np.int32),
        stratum_names=("deep", "top"),
    )
    file = tmp_path / "qrels"
    file.write_bytes(written(sample, "trec"))
    assert file.read_bytes() == b"1 0 a deep 1\n1 0 b top 0\n10 0 c deep -1\n2 0 a top 3\n"
    again = read_qrels(Source(file))
    assert [again.stratum_names[code] for code in (again.strata if again.strata is not None else [])] == [
        *("deep", "top", "deep", "top")
    ]


def test_in_two_grades_what_is_not_judged_stays_so():
    assert list(binary(qrels_of(ROWS), relevant_from=2)) == [
        ("1", "a", 0),
        ("1", "b", 0),
        ("10", "c", -1),
        ("2", "a", 1),
    ]


def test_the_pooled_are_added_where_they_have_no_grade_and_can_be_left_out_again():
    judged = qrels_of([row for row in ROWS if row[2] >= 0])
    whole = with_unjudged(judged, [("1", "a"), ("10", "c"), ("1", "z"), ("3", "é")])
    assert list(whole) == sorted([*judged, ("10", "c", -1), ("1", "z", -1), ("3", "é", -1)])
    assert list(judged_only(whole)) == list(judged)
    assert judged_only(judged) is judged
    assert list(with_unjudged(judged, [])) == list(judged)


def test_a_difference_lists_what_was_added_removed_and_changed():
    found = difference(qrels_of(ROWS), qrels_of([("1", "a", 2), ("1", "b", 0), ("10", "c", 1), ("3", "a", 1)]))
    assert found.changes == (
        Change("changed", "1", "a", 1, 2),
        Change("changed", "10", "c", -1, 1),
        Change("removed", "2", "a", 3, None),
        Change("added", "3", "a", None, 1),
    )


@given(some_qrels, some_qrels)
def test_a_difference_applied_to_the_first_gives_the_second(before: Qrels, after: Qrels):
    rows = {row[:2]: row[2] for row in before}
    for change in difference(before, after).changes:
        rows.pop((change.topic, change.document), None)
        if change.after is not None:
            rows[change.topic, change.document] = change.after
    assert rows == {row[:2]: row[2] for row in after}
