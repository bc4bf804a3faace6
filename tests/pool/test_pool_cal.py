"""Continuous active learning: rounds that grow, and a classifier that finds what the words say."""

import sys

import numpy as np
import pytest
from kept import Kept
from offering import batch

from cranfield.base.errors import MissingExtra, UsageError
from cranfield.base.records import Document, Topic
from cranfield.pool.candidates import candidates_of
from cranfield.pool.live import Judged, LivePool
from cranfield.pool.plan import parse
from cranfield.pool.replay import replay
from cranfield.pool.strategies.cal import rounds_after
from cranfield.pool.strategy import Start, Words, strategies
from cranfield.store import documents as stored_documents

WORDS = {"relevant": "copper pan soda burnt clean", "other": "train ticket station platform track"}


@pytest.fixture(scope="module")
def reading(toolbox):
    """Give runs in random order over 60 documents, every fourth about pans, and the texts."""
    rng = np.random.default_rng(3)
    ids = [f"d{number:02d}" for number in range(60)]
    relevant = {document for number, document in enumerate(ids) if number % 4 == 0}

    def text(document):
        words = WORDS["relevant" if document in relevant else "other"].split()
        return " ".join(rng.choice(words, size=8))

    texts = {document: text(document) for document in ids}
    runs = toolbox.pooled({name: {"1": {document: rng.random() for document in ids}} for name in "AB"})
    return runs, relevant, lambda some: [texts[document] for document in some]


def test_batches_grow_by_a_tenth_rounded_up():
    starts = sorted({rounds_after(judged)[1] for judged in range(200)})
    sizes = np.diff(starts).tolist()
    assert sizes[:12] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13]
    assert rounds_after(0) == (0, 0)
    assert rounds_after(2) == (1, 1)
    assert rounds_after(3) == (2, 3)


def test_what_the_words_say_is_found_first(reading):
    runs, relevant, texts = reading
    labels = {"1": {document: document in relevant for document in candidates_of(runs, "1").ids}}
    played = replay(parse("cal until 20"), runs, labels, words=Words(texts, {"1": "how to clean a burnt pan"}))
    assert [one.relevant for one in played[:15]] == [True] * len(relevant) == [True] * 15


def test_the_state_is_a_function_of_the_judgments_and_survives_a_restart(reading):
    runs, relevant, texts = reading
    plan = parse("depth 2; cal until 30")

    def fresh():
        return LivePool(plan, runs, seed=5, words=Words(texts, {"1": "burnt pan"}))

    live, history = fresh(), []
    for _ in range(12):
        choice = live.offer()
        history.append(Judged("1", choice.document, choice.document in relevant))
        live.learn(history[-1])
    again = fresh()
    for one in history:
        again.learn(one)
    assert batch(again, 3) == batch(live, 3)


def test_without_texts_or_words_it_says_so(worked, kept: Kept):
    candidates = candidates_of(worked, "1")
    with kept.raises(UsageError):
        strategies.get("cal")(Start(candidates, 0))
    with kept.raises(UsageError):
        strategies.get("cal")(Start(candidates, 0, texts=lambda ids: ["" for _ in ids]))


def test_without_the_library_it_names_the_extra(worked, monkeypatch, kept: Kept):
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with kept.raises(MissingExtra):
        strategies.get("cal")(Start(candidates_of(worked, "1"), 0, texts=lambda ids: list(ids)))


def test_a_candidate_without_a_label_teaches_nothing_and_is_not_offered_again(reading):
    runs, _, texts = reading
    candidates = candidates_of(runs, "1")
    state = strategies.get("cal").configured({"negatives": 5})(Start(candidates, 0, texts=texts, query="pan"))
    seen = []
    while (choice := state.choose(np.zeros(len(candidates), dtype=bool))) is not None:
        seen.append(choice[0])
        state.learn(choice[0], None)
    assert sorted(seen) == list(range(60))


def test_a_topic_that_cannot_be_read_is_refused_before_the_pool_is_made(hall, kept: Kept):
    with hall.store.write():
        source = stored_documents.add_source(
            hall.store, stored_documents.LoadedFile("documents", "made", "jsonl", "")
        )
        documents = [Document("d1", "a burnt pan"), Document("d2", "!!!"), Document("d3", "???")]
        stored_documents.add(hall.store, documents, source=source)
        stored_documents.add(hall.store, [Topic("1", "pan"), Topic("2", "–"), Topic("3", "pan")], source=source)
    hall.submit({"A": {"1": {"d1": 2, "d2": 1}, "2": {"d2": 2, "d3": 1}}})
    with kept.raises(UsageError):
        hall.build("cal until 2")
    hall.build("cal until 2", topics=("1",))
    assert len(hall.store.rows("SELECT * FROM pools")) == 1
