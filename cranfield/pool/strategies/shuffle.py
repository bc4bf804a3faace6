"""The candidates in an order drawn by seed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.draws import document_draws
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("shuffle")
@dataclass(frozen=True)
class Shuffle:
    """All candidates, shuffled by seed: what every other order is compared with.

    Each document's place comes from a hash of seed, topic and document. It is an order and not a sample: for
    documents with inclusion probabilities use `sample`.
    """

    summary: ClassVar[str] = "an order drawn by seed"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sort by the documents' draws."""
        return np.argsort(document_draws(seed, "shuffle", candidates.topic, candidates.ids), kind="stable")
