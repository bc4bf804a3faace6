"""Groups held out by playing the plan again."""

import numpy as np
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import score
from cranfield.reuse.hold_out import hold_out_all, uniques_of
from cranfield.reuse.provenance import Contributor, provenance_of, replayed

QRELS = qrels_from({"1": {"a": 1, "b": 0, "c": 1, "o": 1}, "2": {"a": 1, "d": 2}})
RUNS = [
    ranking_from({"1": ["a", "b", "c"], "2": ["a", "d"]}, tag="A"),
    ranking_from({"1": ["c", "a", "o"], "2": ["d"]}, tag="B"),
]
ALIGNED = align(QRELS, RUNS)
PROVENANCE = provenance_of(ALIGNED, QRELS, RUNS, [Contributor("A", "x"), Contributor("B", "y")], depth=2)
MEASURES = parse_measures(["AP", "nDCG@2", "Bpref", "ERR"])


def test_what_the_plan_would_not_have_chosen_is_held_out_and_orphans_stay():
    # without x the plan takes c and d alone, without y a, b and a new one that nobody judged
    provenance = replayed(
        PROVENANCE, QRELS, {"x": [("1", "c"), ("2", "d")], "y": [("1", "a"), ("1", "b"), ("1", "new"), ("2", "a")]}
    )
    left = [{"1": {"c": 1, "o": 1}, "2": {"d": 2}}, {"1": {"a": 1, "b": 0, "o": 1}, "2": {"a": 1}}]
    found = hold_out_all(ALIGNED, provenance, MEASURES)
    for number, judged in enumerate(left):
        np.testing.assert_allclose(
            found.values[number], score(align(qrels_from(judged), RUNS), MEASURES).values, atol=1e-12
        )
    own = hold_out_all(ALIGNED, provenance, MEASURES).own
    np.testing.assert_array_equal(own.held_out, found.own.held_out)
    assert (provenance.method, PROVENANCE.method) == ("replay", "deletion")
    assert uniques_of(ALIGNED, provenance).judged.tolist() == [3, 2]  # what would not be judged without each group
    assert uniques_of(ALIGNED, PROVENANCE).judged.tolist() == [2, 1]
