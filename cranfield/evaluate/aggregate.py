"""How the values of many topics become one."""

from typing import Literal

import numpy as np

Aggregate = Literal["mean", "geometric", "median", "min", "max", "sum"]

SMALLEST = 1e-5
"""What a lower value counts as in a geometric mean, as in trec_eval, so that one 0 does not make the whole 0."""


def aggregated(values: np.ndarray, how: Aggregate) -> float:
    """Give one value for many topics; NaN for none."""
    if not len(values):
        return float("nan")
    if how == "mean":
        return sequential_sum(values) / len(values)
    if how == "geometric":
        return float(np.exp(sequential_sum(np.log(np.maximum(values, SMALLEST))) / len(values)))
    if how == "sum":
        return sequential_sum(values)
    if how == "median":
        return float(np.median(values))
    return float(values.min() if how == "min" else values.max())


def aggregated_rows(values: np.ndarray, scored: np.ndarray, how: Aggregate) -> np.ndarray:
    """Give one value for each row, over the topics that count there; the very same as row by row."""
    if how != "mean" or not scored.all() or not values.shape[1]:
        return np.array([aggregated(row[kept], how) for row, kept in zip(values, scored, strict=True)], dtype=float)
    means: np.ndarray = np.add.accumulate(np.asarray(values, dtype=float), axis=1)[:, -1] / values.shape[1]
    return means


def sequential_sum(values: np.ndarray) -> float:
    """Add from the first to the last, as C programs do; numpy's own sum adds in pairs and may end otherwise."""
    return float(np.add.accumulate(np.asarray(values, dtype=float))[-1]) if len(values) else 0.0
