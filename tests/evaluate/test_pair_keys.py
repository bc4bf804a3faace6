"""The keys of pairs of topic and document: the same whichever way a run came, so that runs can be held together."""

import random

import numpy as np
import pytest
from mappings import qrels_from

from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.direct import judged_pairs, read_direct
from cranfield.runs.reading import read_rows
from cranfield.runs.run import ranked


@pytest.mark.parametrize("reference", ["10", "9"])
@pytest.mark.parametrize("digits", [8, 1, 0])
def test_short_and_long_way_know_the_same_documents_at_the_same_ranks(tmp_path, digits, reference):
    rng = random.Random(digits)
    names = [f"d{'x' * (number % 90)}{number}" for number in range(300)]
    lines = []
    for topic in ("1", "10", "2"):
        scores = sorted((round(3 * rng.random(), digits) for _ in names), reverse=True)
        lines += [
            f"{topic} Q0 {name} 1 {score} r\n" for name, score in zip(rng.sample(names, 300), scores, strict=True)
        ]
    file = tmp_path / "r.run"
    file.write_text("".join(lines))
    qrels = qrels_from({"1": {names[3]: 1, names[9]: 0}, "2": {names[3]: 1}, "10": {names[7]: 2}})
    short = read_direct(Source(file), judged_pairs(qrels), reference=reference, keep_keys=True)
    assert short is not None
    plain = read_direct(Source(file), judged_pairs(qrels), reference=reference)
    np.testing.assert_array_equal(short.judged, plain.judged)
    known, whole = (
        align(qrels, [run], keep_rows=True, reference=reference) for run in (short, ranked(read_rows(Source(file))))
    )
    np.testing.assert_array_equal(known.pair_keys, whole.pair_keys)
    np.testing.assert_array_equal(known.qrels_row, whole.qrels_row)
    assert len(np.unique(whole.pair_keys)) == 900


def test_without_keys_of_every_run_none_are_given(tmp_path):
    file = tmp_path / "r.run"
    file.write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n")
    qrels = qrels_from({"1": {"a": 1}})
    without = read_direct(Source(file), judged_pairs(qrels))
    assert align(qrels, [without], keep_rows=True).pair_keys is None
