"""How small a p-value can get at all: a test that cannot reach alpha finds nothing, whatever the runs are like."""

SIGNS = ("sign", "wilcoxon", "randomisation", "bootstrap")
"""Tests whose p is never below what the signs of all topics can say."""


def smallest_of_signs(topics: int) -> float:
    """Give the smallest two-sided p of a test that looks at signs: all topics on one side, 2 of 2^n cases."""
    return min(2.0 ** (1 - topics), 1.0)


def smallest_drawn(draws: int) -> float:
    """Give the smallest p that so many draws can give: 1 / (1 + draws)."""
    return 1.0 / (1 + draws)


def times_corrected(correction: str, pairs: int) -> int:
    """Give by how much a correction makes the smallest p of so many pairs larger, at the least.

    Holm and Bonferroni multiply it by the number of pairs. Benjamini and Hochberg need not: where all pairs have it,
    it stays.
    """
    return pairs if correction in ("holm", "bonferroni") else 1
