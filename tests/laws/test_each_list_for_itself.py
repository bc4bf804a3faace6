"""However many runs and topics are scored at once, each list is scored for itself."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import measures, parse_measures
from cranfield.evaluate.scores import score

TOPICS = ["1", "2", "3"]
CUTOFFS = {"none": "", "optional": "@3", "needed": "@3", "level": "@0.5"}
GIVEN = {"Accuracy": "Accuracy(documents=20)"}


def expressions() -> list[str]:
    """Give every measure, with a cutoff where it takes one."""
    found = []
    for name, kind in measures.items():
        written = GIVEN.get(name, name)
        found += [written] if kind.cutoff in ("none", "optional") else []
        found += [f"{written}{CUTOFFS[kind.cutoff]}"] if kind.cutoff != "none" else []
    return found


JUDGED = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1)
RANKED = st.lists(st.sampled_from("abcdefghxyz"), min_size=1, unique=True)


@settings(max_examples=min(settings.default.max_examples, 200))
@given(
    judged=st.fixed_dictionaries(dict.fromkeys(TOPICS, JUDGED)),
    ranked=st.lists(st.dictionaries(st.sampled_from(TOPICS), RANKED, min_size=1), min_size=2, max_size=3),
)
def test_a_list_scores_the_same_alone_and_among_others(judged, ranked):
    qrels, chosen = qrels_from(judged), parse_measures(expressions())
    runs = [ranking_from(lists, tag=f"r{number}") for number, lists in enumerate(ranked)]
    together = score(align(qrels, runs), chosen)
    for number, run in enumerate(runs):
        for place, topic in enumerate(together.topic_ids):
            alone = score(align(qrels, [run], topics=[topic]), chosen).values[:, 0, 0]
            wrong = np.flatnonzero(~np.isclose(together.values[:, number, place], alone, rtol=0, atol=1e-12))
            assert [str(chosen[one]) for one in wrong] == []


def test_every_measure_is_there():
    assert {one.partition("@")[0].partition("(")[0] for one in expressions()} == set(measures.names())
    assert len(expressions()) > 40
