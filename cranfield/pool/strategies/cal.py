"""Continuous active learning over the text of the documents."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from cranfield.base.errors import MissingExtra, UsageError, quoted
from cranfield.base.registry import Option
from cranfield.pool.candidates import document_draws
from cranfield.pool.strategy import HighestScore, Label, Start, State, adaptive
from cranfield.runs.baseline import words_of
from cranfield.runs.columns import Scores

_DECIMALS = 6
"""Decimals of a document's score that count: the last bits of a trained model differ from machine to machine."""


@adaptive(
    "cal",
    "autotar",
    summary="continuous active learning over the text (AutoTAR)",
    reproducible=False,
    reads_text=True,
)
def continuous_active_learning(
    start: Start,
    *,
    negatives: Annotated[int, Option("temporary non-relevant documents in each round", at_least=1)] = 100,
    regularisation: Annotated[float, Option("strength of the L2 penalty", at_least=1e-9)] = 0.0001,
) -> State:
    """Judges the documents that a classifier, trained on the judgments so far, ranks highest.

    The topic text is the first relevant document. Each round trains logistic regression (L2, both
    classes weighted equally) on tf-idf vectors of words, with freshly drawn candidates as temporary non-relevant
    documents; then the B best unjudged candidates are judged, and B ← B + ⌈B / 10⌉, from B = 1. Only candidates of
    the runs are chosen. A document without a label is not used for training. Ties by document id, descending.

    A trained model is not bit-identical on every machine: the choices are recorded, and the record is checked later.
    Needs the extra `learn`.

    Source: Cormack and Grossman, "Autonomy and reliability of continuous active learning" (AutoTAR), 2015. They train
    by stochastic gradient descent on pairs of documents; this is the same loss, solved exactly.
    """
    candidates = start.candidates
    if start.texts is None:
        raise UsageError("the strategy 'cal' reads the text of documents, but there is none")
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ModuleNotFoundError:
        raise MissingExtra("the strategy 'cal'", "learn") from None
    try:
        vectors = TfidfVectorizer(sublinear_tf=True, analyzer=words_of).fit_transform(
            [start.query, *start.texts(candidates.ids)]
        )
    except ValueError:
        raise UsageError(
            f"the strategy 'cal' found no word in topic {quoted(candidates.topic)} and its documents"
        ) from None
    history: list[tuple[int, Label]] = []
    trained: dict[int, Scores] = {}  # the present round and its scores

    def scores() -> Scores:
        number, first = rounds_after(len(history))
        if number in trained:
            return trained[number]
        judged = history[:first]
        draws = document_draws(start.seed, f"cal {number}", candidates.topic, candidates.ids)
        order = np.argsort(draws, kind="stable")
        temporary = order[~np.isin(order, [candidate for candidate, _ in judged])][:negatives]
        known = [(candidate, label) for candidate, label in judged if label is not None]
        rows = np.array([0, *(candidate + 1 for candidate, _ in known), *(temporary + 1)])
        classes = np.array([True, *(bool(label) for _, label in known)] + [False] * len(temporary))
        trained.clear()
        trained[number] = np.zeros(len(candidates))
        if not classes.all():
            model = LogisticRegression(
                C=1 / (regularisation * len(rows)), class_weight="balanced", solver="liblinear", random_state=0
            )
            model.fit(vectors[rows], classes)
            trained[number] = np.round(model.decision_function(vectors[1:]), _DECIMALS)
        return trained[number]

    return HighestScore(
        len(candidates),
        scores=scores,
        learn=lambda candidate, label: history.append((candidate, label)),
        reason=lambda score: f"score {score:.3f} in round {max(trained) + 1}",
    )


def rounds_after(judged: int) -> tuple[int, int]:
    """The number of the round after so many judgments, and how many judgments it is trained on."""
    number, batch, start = 0, 1, 0
    while start + batch <= judged:
        number, start, batch = number + 1, start + batch, batch + -(-batch // 10)
    return number, start
