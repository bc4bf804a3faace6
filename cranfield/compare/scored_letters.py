"""Letters straight from scores, for tables that show means alone: no intervals, no effect sizes."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cranfield.compare.corrections import holm
from cranfield.compare.differences import as_scores
from cranfield.compare.drawing import DRAWS
from cranfield.compare.letters import letters
from cranfield.compare.pairing import pairs
from cranfield.compare.result import Values, significant
from cranfield.compare.significance.student import student
from cranfield.compare.tukey import tukey
from cranfield.compare.words import said_of_test
from cranfield.errors import UsageError

LetterTest = Literal["tukey", "t"]

SAID = {"tukey": said_of_test("tukey"), "t": said_of_test("t", "holm")}
"""What a table says of each test."""


def letters_of_scores(
    labels: Sequence[str],
    scores: ArrayLike,
    *,
    test: LetterTest,
    alpha: float = 0.05,
    draws: int = DRAWS,
    rng: np.random.Generator,
) -> dict[str, str]:
    """Give the letters of each label: two share one if, and only if, they do not differ significantly.

    `scores` has one row per label and one column per topic. `tukey` is Tukey's test by randomisation over all of
    them; `t` is the paired t-test of all pairs, corrected after Holm. The best mean gets `a`.
    """
    matrix = as_scores(scores)
    if len(matrix) < 2:
        raise UsageError("letters tell runs apart: at least two are needed")
    p = tukey(matrix, draws=draws, rng=rng).p if test == "tukey" else _by_t(matrix, rng)
    different = significant(p, alpha=alpha)
    np.fill_diagonal(different, val=False)
    given = letters(different, order=np.argsort(-matrix.mean(axis=1), kind="stable"))
    return {label: "".join(own) for label, own in zip(labels, given, strict=True)}


def _by_t(matrix: Values, rng: np.random.Generator) -> Values:
    """Give the corrected p of all pairs as a symmetric matrix."""
    first, second = pairs(len(matrix))
    adjusted = holm(student(matrix[first], matrix[second], rng=rng).p)
    p = np.ones((len(matrix), len(matrix)))
    p[first, second] = p[second, first] = adjusted
    return p
