"""Continuous active learning over the text of the documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from cranfield.base.errors import MissingExtra, UsageError, quoted
from cranfield.pool.candidates import Candidates, Mask, document_draws
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Label, State, Texts
from cranfield.runs.baseline import Analyser, Option, check_options
from cranfield.runs.run import Places, Scores

_DECIMALS = 6
"""Decimals of a document's score that count: the last bits of a trained model differ from machine to machine."""


@strategies.register("cal", "autotar")
@dataclass(frozen=True)
class ContinuousActiveLearning:
    """Judges the documents that a classifier, trained on what is judged so far, takes for most relevant.

    The words of the topic are one relevant document to begin with. Each round trains logistic regression (L2, both
    classes weighed the same) on tf-idf vectors of words, with some candidates drawn anew as temporary non-relevant
    documents; then the B best unjudged candidates are judged, and B ← B + ⌈B / 10⌉, from B = 1. Only candidates of
    the runs are chosen. A document that got no label teaches nothing. Ties by document id, descending.

    A trained model is not the same to the last bit on every machine: what was chosen is recorded, and the record is
    what is checked later. Needs the extra `learn`.

    Source: Cormack and Grossman, "Autonomy and reliability of continuous active learning" (AutoTAR), 2015. They train
    by stochastic gradient descent on pairs of documents; this is the same loss, solved exactly.
    """

    negatives: Annotated[int, Option("temporary non-relevant documents in each round", at_least=1)] = 100
    regularisation: Annotated[float, Option("how strongly weights are held down", at_least=1e-9)] = 0.0001

    summary: ClassVar[str] = "continuous active learning over the text (AutoTAR)"
    kind: ClassVar[Kind] = "adaptive"
    reproducible: ClassVar[bool] = False
    reads_text: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start from the words of the topic."""
        if texts is None:
            raise UsageError("the strategy 'cal' reads the text of documents, and none was given")
        vectors = _vectors([query, *texts(candidates.ids)], candidates.topic)
        return _Learning(candidates, vectors, seed=seed, options=self)


def rounds_after(judged: int) -> tuple[int, int]:
    """Give the number of the round after so many judgments, and how many judgments it is trained on."""
    number, batch, start = 0, 1, 0
    while start + batch <= judged:
        number, start, batch = number + 1, start + batch, batch + -(-batch // 10)
    return number, start


class _Learning:
    """The judgments so far, and the model of the present round; it is trained when a document is asked for."""

    def __init__(self, candidates: Candidates, vectors: Any, *, seed: int, options: ContinuousActiveLearning) -> None:
        self._candidates, self._vectors, self._seed, self._options = candidates, vectors, seed, options
        self._history: list[tuple[int, Label]] = []
        self._judged = np.zeros(len(candidates), dtype=bool)
        self._scores, self._round = np.zeros(len(candidates)), -1

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        if not self._judged[candidate]:
            self._judged[candidate] = True
            self._history.append((candidate, label))

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """Give the free candidate with the highest score."""
        free = ~(self._judged | excluded)
        if not free.any():
            return None
        best = int(np.argmax(np.where(free, self._present(), -np.inf)))
        return best, f"score {self._scores[best]:.3f} in round {self._round + 1}"

    @property
    def claim(self) -> float:
        """The highest score."""
        return float(np.where(self._judged, -np.inf, self._present()).max(initial=-np.inf))

    def _present(self) -> Scores:
        number, start = rounds_after(len(self._history))
        if number != self._round:
            self._scores, self._round = self._trained(start, number), number
        return self._scores

    def _trained(self, start: int, number: int) -> Scores:
        linear = _library("sklearn.linear_model")
        known = [(candidate, label) for candidate, label in self._history[:start] if label is not None]
        rows = np.array([0, *(candidate + 1 for candidate, _ in known), *(self._drawn(start, number) + 1)])
        classes = np.array([True, *(bool(label) for _, label in known)] + [False] * (len(rows) - len(known) - 1))
        if classes.all():
            return np.zeros(len(self._candidates))
        strength = 1 / (self._options.regularisation * len(rows))
        model = linear.LogisticRegression(C=strength, class_weight="balanced", solver="liblinear", random_state=0)
        model.fit(self._vectors[rows], classes)
        return np.asarray(np.round(model.decision_function(self._vectors[1:]), _DECIMALS), dtype=np.float64)

    def _drawn(self, start: int, number: int) -> Places:
        """Draw the temporary non-relevant documents of a round from what was not judged when it began."""
        draws = document_draws(self._seed, f"cal {number}", self._candidates.topic, self._candidates.ids)
        judged = [candidate for candidate, _ in self._history[:start]]
        order = np.argsort(draws, kind="stable")
        return np.asarray(order[~np.isin(order, judged)][: self._options.negatives], dtype=np.int64)


def _vectors(texts: list[str], topic: str) -> Any:
    library = _library("sklearn.feature_extraction.text")
    try:
        return library.TfidfVectorizer(sublinear_tf=True, analyzer=Analyser("cal").words).fit_transform(texts)
    except ValueError:
        raise UsageError(f"the strategy 'cal' found no word in topic {quoted(topic)} and its documents") from None


def _library(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra("the strategy 'cal'", "learn") from None
