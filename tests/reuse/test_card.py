"""The card: written, read strictly, and enough for a verdict far from the runs."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

import cranfield as cf
from cranfield.base.errors import InputError, ProblemsFound
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure
from cranfield.reuse import card as cards
from cranfield.reuse.assess import Knowledge, assess_runs, measure_depths
from cranfield.reuse.card import Card, Fusion, card_of, card_text, entry_of, read_card
from cranfield.reuse.expected_loss import ModelCache
from cranfield.reuse.hold_out import hold_out_all
from cranfield.runs.columns import keys_of, keys_of_pairs

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
PAIRS = [2323593366732204068, 5117411738604912841, 8370241321557323676]
MEASURES = [parse_measure(name) for name in ("nDCG@10", "P@5", "AP")]


@pytest.fixture(scope="module")
def collection(made):
    return made(pooled=6, rates=(0.3, 0.1))


@pytest.fixture(scope="module")
def card(collection) -> Card:
    provenance = collection.prefixes.by("group")
    own = hold_out_all(collection.alignment, provenance, MEASURES).own
    entries = []
    for measure in MEASURES:
        found = assess(collection.alignment, measure, Knowledge(provenance.depth, provenance))
        depth = measure_depths(measure, provenance.depth)
        entries.append(entry_of(measure, depth, model=found.model, losses=own.spreads(measure)[0]))
    return card_of(collection.alignment, provenance, entries)


@pytest.fixture(scope="module")
def blind_card(card) -> Card:
    """The card as it is where the contributors retrieve too many documents for their fusion scores to be kept."""
    entries = [replace(one, model=replace(one.model, popular=None, unlike=0.0)) for one in card.entries]
    return replace(card, entries=tuple(entries), fusion=None)


def assess(alignment, measure, knowledge):
    return assess_runs(alignment, measure, knowledge, rng=np.random.default_rng(5))


def test_a_card_comes_back_as_it_was_written(card):
    text = card_text(card)
    assert read_card(text) == card
    assert card_text(read_card(text)) == text
    assert json.loads(text)["entries"][0]["k"] == [10, 10]
    assert json.loads(text)["groups"] == 6


def test_a_verdict_from_the_card_alone_is_that_from_the_runs(collection, card, blind_card):
    provenance = collection.prefixes.by("group")
    outsiders = [collection.runs[run] for run in collection.outsiders]
    alone = align(collection.qrels, outsiders, keep_rows=True)
    card.refuse_others(alone)
    for one, known, error in (
        (card, collection.alignment, 0.02),  # scores are kept in steps of 3%
        (blind_card, replace(collection.alignment, pair_keys=None), 1e-12),
    ):
        for measure in MEASURES:
            here = assess(known, measure, Knowledge(provenance.depth, provenance))
            there = assess(alone, measure, Knowledge(one.depths(alone.topic_ids), card=read_card(card_text(one))))
            assert here.loss is not None
            assert there.loss is not None
            np.testing.assert_allclose(there.loss.mean, here.loss.mean[collection.outsiders], rtol=error)
            assert [one.level for one in there.verdicts] == [here.verdicts[run].level for run in collection.outsiders]


def test_the_most_popular_documents_are_kept_up_to_a_limit_and_the_others_have_the_mean(
    collection, card, monkeypatch
):
    provenance = collection.prefixes.by("group")
    pairs, steps = card.fusion.columns()
    assert card.fusion.others == 0
    monkeypatch.setattr(cards, "MOST_PAIRS", 100)
    few = Fusion.of(collection.alignment, provenance)
    kept = np.isin(pairs, few.columns()[0])
    assert kept.sum() == 100
    assert steps[kept].min() >= steps[~kept].max()
    assert few.others == pytest.approx(steps[~kept].mean(), abs=0.5)
    popularity = few.popularity(collection.alignment)
    unlisted = np.isin(collection.alignment.pair_keys, pairs[~kept])
    np.testing.assert_allclose(popularity[unlisted], np.log(1e-3) + few.others / 32)


def test_keys_of_pairs_stand_in_cards_and_never_change():
    documents = keys_of(pa.array(["AP880212-0006", "K1", "a document with a long name, and more than that"]))
    found = keys_of_pairs(["101", "T01"], np.array([2, 1]), documents)
    assert found.tolist() == PAIRS


def test_without_card_and_provenance_a_run_with_holes_is_untestable(collection, kept: Kept):
    found = assess(collection.alignment, MEASURES[0], Knowledge(np.full(30, 10)))
    verdict = found.verdicts[collection.outsiders[0]]
    kept((verdict.level, verdict.reason))


def test_a_measure_that_the_card_does_not_list_takes_the_model_of_the_next_depth(collection, card):
    provenance = collection.prefixes.by("group")
    cache = ModelCache(collection.alignment, provenance)
    models = [(k, cache.model(np.full(30, k))) for k in (3, 5, 10)]
    whole = read_card(card_text(replace(card, models=tuple(models))))
    for name, k in (("P@2", 3), ("nDCG@5", 5), ("RR", 10), ("P@20", 10)):
        measure = parse_measure(name)
        entry = whole.entry(measure, measure_depths(measure, np.full(30, 10)))
        assert entry.model == dict(models)[k], name
    found = assess(collection.alignment, parse_measure("nDCG@5"), Knowledge(np.full(30, 10), card=whole))
    assert found.loss is not None
    assert not found.untestable


def test_what_the_card_does_not_know_is_untestable(collection, card, kept: Kept):
    knowledge = Knowledge(np.full(30, 10), card=card)
    found = assess(collection.alignment, parse_measure("RR"), knowledge)
    kept(found.untestable)
    entry = entry_of(MEASURES[0], np.full(30, 10), model=None, untestable="only 1 group fed the pool")
    silent = card_of(collection.alignment, collection.prefixes.by("group"), [entry])
    again = assess(collection.alignment, MEASURES[0], Knowledge(np.full(30, 10), card=read_card(card_text(silent))))
    kept(again.untestable)


def test_a_card_of_other_qrels_is_refused(collection, card, kept: Kept):
    other = align(collection.everything, collection.runs)
    with kept.raises(InputError):
        card.refuse_others(other)


def test_pool_depths_that_differ_by_topic_are_kept(collection):
    depths = np.full(30, 10)
    depths[3] = 7
    card = card_of(collection.alignment, replace(collection.prefixes.by("group"), depth=depths), [])
    assert (card.pool_depth, card.topic_depths) == (10, (("t003", 7),))
    assert read_card(card_text(card)).depths(collection.alignment.topic_ids).tolist() == depths.tolist()


WRONG = {
    "version": lambda card: card.update(version=4),
    "kind": lambda card: card.update(kind="qrels"),
    "missing": lambda card: card.pop("groups"),
    "unknown": lambda card: card.update(colour="red"),
    "word": lambda card: card.update(groups="six"),
    "truth": lambda card: card.update(groups=True),
    "length": lambda card: card["entries"][0].update(k=[1]),
    "entry": lambda card: card["entries"].append(3),
    "levels": lambda card: card.update(levels=7),
    "rate": lambda card: card["entries"][1]["kappa"]["blind"]["steps"][0].update(rate="x"),
    "grades": lambda card: card.update(levels=[0, 1]),
    "reason": lambda card: card["entries"][0].update(kappa=None),
    "fusion": lambda card: card["fusion"].update(scores="AAAA"),
    "base64": lambda card: card["fusion"].update(pairs="?"),
}


@pytest.mark.parametrize("change", WRONG)
def test_a_wrong_card_is_refused_with_the_place(card, change, kept: Kept):
    content = json.loads(card_text(card))
    WRONG[change](content)
    with pytest.raises(ProblemsFound) as caught:
        read_card(json.dumps(content), file="card.json")
    kept(caught.value.problems[0].message)
    assert caught.value.problems[0].file == "card.json"


def test_a_card_that_is_nested_too_deeply_is_refused(kept: Kept):
    with kept.raises(ProblemsFound):
        read_card("[" * 200_000)


def test_everything_that_is_wrong_is_listed_at_once(card):
    content = json.loads(card_text(card))
    content.update(groups=None, levels="x", extra=1)
    with pytest.raises(ProblemsFound) as caught:
        read_card(json.dumps(content))
    assert len(caught.value.problems) == 3


@given(st.data())
def test_any_damage_is_an_error_of_ours_or_no_damage(card, data):
    text = card_text(card)
    place = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 20))
    damaged = text[:place] + data.draw(st.text(max_size=4)) + text[place + length :]
    with contextlib.suppress(ProblemsFound):
        assert isinstance(read_card(damaged), Card)


def test_the_card_of_a_collection_has_that_of_its_pool(card, kept: Kept):
    whole = {"kind": "cranfield-collection-card", "reusability": {"card": json.loads(card_text(card))}}
    assert read_card(json.dumps(whole)) == card
    with pytest.raises(ProblemsFound) as caught:
        read_card(json.dumps({**whole, "reusability": {"card": None}}))
    kept(caught.value.problems[0].message)


def test_what_a_card_can_say_of_a_shallow_cutoff_can_be_said_with_the_runs_at_hand(tmp_path):
    names = {path.stem: str(path) for path in sorted((KITCHEN / "runs").glob("*.run"))}
    new = {"mortar-dense", "whisk-bm25"}
    groups = "".join(f"{name}\t{name}\t{'new' if name in new else 'pooled'}\n" for name in names)
    (tmp_path / "groups.tsv").write_text(groups, encoding="utf-8")
    pool = {"groups": tmp_path / "groups.tsv", "pool_depth": 5}
    with_runs = cf.open_files(qrels=KITCHEN / "qrels.txt", runs=list(names.values()), **pool)
    # Held out, runs leave nothing unjudged in the first rank: the card has the models of the whole pool all the same.
    card = with_runs.reuse(measures=["P@1", "nDCG@5"]).write_card(tmp_path / "card.json")
    with_card = cf.open_files(qrels=KITCHEN / "qrels.txt", runs=[names[name] for name in new], card=card)
    columns = ["run", "measure", "verdict"]
    here, there = (one.evaluate(["P@1", "nDCG@3", "P@4"])[columns] for one in (with_runs, with_card))
    said = sorted(map(tuple, there.values))
    assert sorted(map(tuple, here[here.run.isin(new)].values)) == said
    assert {verdict for *_, verdict in said} <= {"SAFE", "UNRELIABLE"}
