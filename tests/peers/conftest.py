"""Random qrels and runs in which everything that evaluators disagree about can happen."""

import random
from collections.abc import Callable

import pytest

Qrels = dict[str, dict[str, int]]
RunScores = dict[str, dict[str, float]]


@pytest.fixture
def random_data() -> Callable[..., tuple[Qrels, RunScores]]:
    return make


def make(seed: int, *, topics: int = 30, ties: bool = True, negative: bool = True) -> tuple[Qrels, RunScores]:
    """Topics with short and long lists, ties, ties in 32 bits only, unpooled documents, grades from -2 to 4."""
    draw = random.Random(seed)
    qrels: Qrels = {}
    run: RunScores = {}
    for number in range(topics):
        topic = draw.choice(["", "T", "q-"]) + str(number)
        documents = [
            f"D{draw.randrange(10 ** draw.randrange(1, 6))}-{index}" for index in range(draw.randrange(3, 80))
        ]
        highest = draw.choice([1, 1, 2, 4])
        lowest = draw.choice([-2, -1, 0]) if negative else 0
        pooled = draw.sample(documents, draw.randrange(1, len(documents)))
        qrels[topic] = {document: draw.randint(lowest, highest) for document in pooled}
        qrels[topic][pooled[0]] = draw.randint(0, highest)
        retrieved = draw.sample(documents, draw.randrange(1, len(documents)))
        run[topic] = {document: _score(draw, ties=ties) for document in retrieved}
    return qrels, run


def _score(draw: random.Random, *, ties: bool) -> float:
    if not ties:
        return draw.random() * 100
    kind = draw.randrange(4)
    if kind == 0:
        return float(draw.randrange(-3, 4))
    if kind == 1:
        return 1.0 + draw.randrange(3) * 1e-9
    return round(draw.uniform(-5, 5), draw.randrange(1, 12))
