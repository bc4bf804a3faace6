"""A uniform sample."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.draws import document_draws
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Sample
from cranfield.runs.run import Places


@strategies.register("sample", "uniform")
@dataclass(frozen=True)
class UniformSample:
    """n of the N documents that can be chosen, each with the same probability n / N, without replacement.

    The documents with the n smallest draws are taken; a draw is a hash of seed, topic and document, so a larger
    sample with the same seed contains the smaller one. A share is rounded to a whole number of documents, at least
    one: otherwise a topic would have a probability of 0 and could not be estimated. What an earlier sample of the
    plan could have drawn is not drawn again.

    Source: the design of infAP (Yilmaz and Aslam, CIKM 2006); all probabilities are exact.
    """

    summary: ClassVar[str] = "a uniform sample, each document with its probability"
    kind: ClassVar[Kind] = "sampling"

    def sample(self, candidates: Candidates, eligible: Places, wanted: int | None, *, seed: int) -> Sample:
        """Take the documents with the smallest draws."""
        draws = document_draws(seed, "sample", candidates.topic, [candidates.ids[number] for number in eligible])
        size = len(eligible) if wanted is None else min(wanted, len(eligible))
        chosen = eligible[np.argsort(draws, kind="stable")[:size]]
        return Sample(
            chosen,
            np.full(size, size / max(len(eligible), 1)),
            np.zeros(size, dtype=np.int32),
            ("",),
            np.zeros(len(eligible), dtype=np.int32),
        )
