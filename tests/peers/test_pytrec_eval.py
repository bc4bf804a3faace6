"""Per-topic values against pytrec_eval, which is trec_eval 9 inside."""

import numpy as np
import pytest
from mappings import qrels_from, run_from

from cranfield.evaluate.align import align
from cranfield.evaluate.trec_eval.names import measures_of_version
from cranfield.evaluate.trec_eval.options import TrecOptions
from cranfield.evaluate.trec_eval.printing import Wanted, values_of

pytrec_eval = pytest.importorskip("pytrec_eval")

NOT_COMPARED = {"runid", "relstring", "num_q", "yaap"}
NAMES = [name for name in measures_of_version("9") if name not in NOT_COMPARED]
TOLERANCE = 1e-9


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_every_measure_of_version_9_agrees_for_every_topic(random_data, seed: int, level: int):
    qrels, run = random_data(seed)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(NAMES), relevance_level=level).evaluate(run)
    aligned = align(qrels_from(qrels), [run_from(run)], reference="9")
    options = TrecOptions(version="9", level=level)
    ours = {}
    for name in NAMES:
        ours.update(values_of(Wanted(aligned.lists, name, None, options)))
    compared = 0
    for place, topic in enumerate(aligned.topic_ids):
        for name, value in theirs[topic].items():
            assert ours[name][place] == pytest.approx(value, abs=TOLERANCE), (topic, name)
            compared += 1
    assert compared > 2000


@pytest.mark.parametrize("seed", range(3))
def test_condensed_lists_agree(random_data, seed: int):
    qrels, run = random_data(seed + 100)
    names = {"map", "bpref", "ndcg", "recip_rank", "Rprec", "infAP", "P", "recall"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names, judged_docs_only_flag=True).evaluate(run)
    aligned = align(qrels_from(qrels), [run_from(run)], reference="9")
    options = TrecOptions(version="9")
    for name in names:
        for printed, value in values_of(Wanted(aligned.lists.condensed, name, None, options)).items():
            expected = np.array([theirs[topic][printed] for topic in aligned.topic_ids])
            np.testing.assert_allclose(value, expected, rtol=0, atol=TOLERANCE, err_msg=printed)
