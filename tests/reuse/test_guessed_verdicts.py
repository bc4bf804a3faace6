"""Verdicts that rest on a guess at the pool say so in their own reason; without a guess there is no comfort."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from kept import Kept

import cranfield as cf
from cranfield.base.errors import UsageError
from cranfield.reuse.verdict import INFERRED, REMEDY, Evidence, account, verdict_of

RUNS = Path(__file__).parents[2] / "collections" / "kitchen" / "runs"
OUTSIDE = ("mortar-dense", "whisk-bm25")
GUESSED = Evidence(
    judged=0.9, topics=50, low_topics=0, unjudged=25, low=0.5, high=0.6, loss=0.004, upper=0.01, inferred=True
)


def kitchen(name):
    found = {}
    for line in (RUNS / f"{name}.run").read_text(encoding="utf-8").splitlines():
        topic, _, document, _, score, _ = line.split()
        found.setdefault(topic, {})[document] = float(score)
    return found


@pytest.fixture(scope="module")
def runs():
    return {path.stem: kitchen(path.stem) for path in sorted(RUNS.glob("*.run"))}


@pytest.fixture(scope="module")
def qrels(runs):
    """The pool of the shipped collection, five deep, with every third document relevant."""
    judged = {}
    for name, lists in runs.items():
        for topic, scores in lists.items() if name not in OUTSIDE else ():
            first = sorted(scores, key=lambda document: (scores[document], document), reverse=True)[:5]
            judged.setdefault(topic, {}).update({document: int(int(document[1:]) % 3 == 0) for document in first})
    return judged


def opened(qrels, runs, **told):
    return cf.open_files(qrels=qrels, runs=runs, progress=False, **told)


@pytest.mark.parametrize(
    ("changes", "rests"),
    [
        ({"pooled": True}, True),
        ({}, True),
        ({"loss": 0.05}, True),
        ({"judged": 0.7}, True),
        ({"loss": None, "untestable": "only 2 groups contributed to the pool"}, True),
        ({"unjudged": 0}, False),
        ({"unjudged": 0, "inferred_depth": True}, True),
        ({"judged": 0.3}, False),
        ({"judged": 0.3, "inferred_depth": True}, True),
        ({"pool_judged": 0.5, "inferred_depth": True}, False),
    ],
)
def test_a_reason_says_that_it_rests_on_an_inferred_pool_where_it_does(changes, rests):
    known = verdict_of(replace(GUESSED, **{**changes, "inferred": False, "inferred_depth": False}))
    remedy = REMEDY if known.level == "UNTESTABLE" else ""
    found = verdict_of(replace(GUESSED, **changes))
    assert found.reason == known.reason + (remedy + INFERRED if rests else "")
    assert found.short == known.short + (" (inferred)" if rests else "")


@pytest.mark.parametrize(
    ("changes", "contributed"),
    [
        ({"pooled": True, "unjudged": 0}, True),
        ({"pooled": True}, True),
        ({}, True),
        ({}, False),
        ({"inferred": False}, False),
    ],
)
def test_sentences_say_it_too(changes, contributed, kept: Kept):
    evidence = replace(GUESSED, **changes)
    kept(account("r", "nDCG@10", 0.6, "judged@10", evidence, verdict_of(evidence), contributed=contributed))


def test_the_shipped_pool_is_guessed_right_and_every_verdict_on_it_says_that_it_is_a_guess(runs, qrels, kept: Kept):
    frame = opened(qrels, runs).evaluate(["nDCG@5", "AP"])
    kept(" ".join(frame.attrs["notes"]))
    inside = frame[~frame.run.isin(OUTSIDE)]
    assert set(inside.verdict) == {"POOLED"}
    assert inside.reason.str.endswith(INFERRED).all()
    assert frame[frame.measure == "AP"].reason.str.endswith(INFERRED).all()


def test_outsiders_alone_get_no_comfort(runs, qrels, kept: Kept):
    frame = opened(qrels, {name: runs[name] for name in OUTSIDE}).evaluate(["AP"])
    told = " ".join(frame.attrs["notes"])
    kept(told)
    assert set(frame.verdict) <= {"UNTESTABLE", "UNRELIABLE"}
    assert (frame.high - frame.low > 0.05).all()
    assert not frame.reason.str.endswith(INFERRED).any()


def test_a_run_beside_its_copy_gets_no_comfort(runs, qrels):
    twice = {"one": runs["mortar-dense"], "other": runs["mortar-dense"]}
    assert set(opened(qrels, twice).evaluate(["AP"]).verdict) <= {"UNTESTABLE", "UNRELIABLE"}


def test_a_depth_that_is_told_alone_is_that_of_the_interval(runs, qrels, kept: Kept):
    frame = opened(qrels, {name: runs[name] for name in OUTSIDE}, pool_depth=5).evaluate(["AP"])
    kept(" ".join(frame.attrs["notes"]))
    at_five = opened(qrels, {name: runs[name] for name in OUTSIDE}).evaluate(["Judged@5"])
    assert np.allclose(frame.judged, at_five.value)


def test_groups_that_are_told_need_no_guess_but_at_the_depth(runs, qrels, kept: Kept):
    few = {name: runs[name] for name in ("larder-bm25", "stove-rocchio", "sieve-chargrams", "whisk-bm25")}
    groups = {name: name.partition("-")[0] for name in few if name != "whisk-bm25"}
    frame = opened(qrels, few, groups=groups).evaluate(["AP"])
    kept(" ".join(frame.attrs["notes"]))
    assert frame[frame.run != "whisk-bm25"].verdict.tolist() == ["POOLED"] * 3
    assert frame.reason.str.endswith(INFERRED).all()
    told = opened(qrels, few, groups=groups, pool_depth=5).evaluate(["AP"])
    assert not told.reason.str.endswith(INFERRED).any()


def test_other_runs_beside_it_never_turn_a_verdict_that_reads_as_certain(runs, qrels):
    certain: dict[tuple[str, str], set[str]] = {}
    sizes = (1, 2, len(runs) - 1, len(runs))
    for chosen in (names for size in sizes for names in combinations(runs, size)):
        frame = opened(qrels, {name: runs[name] for name in chosen}).evaluate(["nDCG@5", "P@10", "AP"])
        for row in frame.itertuples():
            if row.verdict == "UNTESTABLE":
                assert "--groups" in row.reason
                assert "--pool CARD" in row.reason
            elif not row.reason.endswith(INFERRED):
                certain.setdefault((row.run, row.measure), set()).add(row.verdict)
    # Only what is judged decides without the pool: the top five of ten runs are judged, but for one document.
    assert certain == {(run, "nDCG@5"): {"SAFE"} for run in runs if run != "mortar-dense"}


def test_a_measure_that_looks_below_the_pool_has_no_interval_without_width_in_any_output(runs, qrels):
    files = opened(qrels, runs, groups={name: name for name in runs if name not in OUTSIDE}, pool_depth=5)
    frame = files.evaluate(["AP", "nDCG@5"], by_topic=True)
    deep, cut = (frame[(frame.measure == measure) & ~frame.run.isin(OUTSIDE)] for measure in ("AP", "nDCG@5"))
    assert deep.low.isna().all()
    assert deep.high.isna().all()
    assert set(deep.to_rank) == {"5"}
    assert (cut.low == cut.high).all()
    reuse = files.reuse(measures=["AP"])
    assert reuse.runs[~reuse.runs.run.isin(OUTSIDE)].low.isna().all()
    (shown,) = reuse.tables("runs")
    assert [column.title for column in shown.columns if "@5" in column.title] == [
        "interval@5",
        "judged@5",
        "possible ranks@5",
    ]


def test_no_card_is_made_of_a_guess(tmp_path, runs, qrels, kept: Kept):
    found = opened(qrels, runs).reuse(measures="nDCG@5")
    with kept.raises(UsageError):
        found.write_card(tmp_path / "card.json")


@pytest.mark.parametrize("size", [2, 5, 10])
def test_compare_and_reuse_say_of_a_run_what_evaluate_says_of_it(runs, qrels, size):
    names = np.random.default_rng(size).permutation(sorted(runs))[:size].tolist()
    files, measures = opened(qrels, {name: runs[name] for name in names}), ["nDCG@5", "AP"]
    said = {(row.run, row.measure): (row.verdict, row.reason) for row in files.evaluate(measures).itertuples()}
    of_reuse = files.reuse(measures=measures).runs
    assert {(row.run, row.measure): (row.verdict, row.reason) for row in of_reuse.itertuples()} == said
    pairs = files.compare(measures=measures)
    for row in pairs.itertuples():
        for run, shown in ((row.a, row.verdict_a), (row.b, row.verdict_b)):
            level, reason = said[run, row.measure]
            assert shown.startswith(level)
            assert ("(inferred)" in shown) == reason.endswith(INFERRED)
    assert len(pairs) == len(measures) * size * (size - 1) // 2


def test_what_settle_says_of_a_pair_rests_on_the_guess_too(runs, qrels):
    pair = OUTSIDE[0], "stove-rocchio"
    said = opened(qrels, runs).settle(*pair, measures="P@5").attrs["notes"]
    assert said[0].startswith("pool inferred from the judgments")
    assert said[1].endswith(INFERRED)
    groups = {name: name for name in runs if name not in OUTSIDE}
    told = opened(qrels, runs, groups=groups, pool_depth=5)
    assert "inferred" not in "".join(told.settle(*pair, measures="P@5").attrs["notes"])
