"""Runs compared under each measure: the options, the results, the limits of the test, what the topics can detect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from math import inf, isnan, nan, sqrt
from os.path import normpath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.errors import UnknownName, UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.base.spread import HERE, Workers
from cranfield.base.text import counted
from cranfield.compare.comparison import (
    TITLES,
    TUKEY,
    PairedScores,
    PairResult,
    compare_all,
    corrections,
    paired_scores,
    pairs,
)
from cranfield.compare.differences import DRAWS, as_scores, draws_needed, enough_draws, seeded, significant
from cranfield.compare.significance import tests
from cranfield.evaluate.scores import Scores

with deferred:
    from scipy import optimize, special

# How runs are compared: the options, checked, under their registered names.

BESIDE_TUKEY = "t"
"""The test of single pairs whose p is shown beside that of Tukey's test over all runs."""

LEAST_DRAWS = 100


@dataclass(frozen=True)
class Options:
    """How runs are compared.

    Test and correction may be given by any of their names, and are kept by the first. Without a correction it is
    Holm's, or what Tukey's test has in it; Tukey's test takes no other. Without `draws`, intervals and Tukey's test
    have 10,000 and other drawing tests as many as the number of pairs asks for. Without baselines all pairs meet.
    """

    baselines: tuple[str, ...] = ()
    test: str = "t"
    correction: str = ""
    alpha: float = 0.05
    tolerance: float = 0.0
    draws: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        test, correction = str(self.test), str(self.correction)  # from Python anything may come
        if test == TUKEY:
            if correction not in ("", TUKEY):
                raise UsageError(
                    "Tukey's test already corrects for all pairs, and cannot be combined with"
                    f" {quoted(correction)}; omit the correction"
                )
            correction = TUKEY
        elif test not in tests:
            raise UnknownName("significance test", test, [TUKEY, *tests.names()])
        elif correction == TUKEY:
            raise UsageError("tukey is a test, not a correction: use --test tukey")
        else:
            test, correction = tests.canonical(test), corrections.canonical(correction or "holm")
        object.__setattr__(self, "test", test)
        object.__setattr__(self, "correction", correction)
        if not isinstance(self.alpha, int | float) or not 0 < self.alpha < 1:  # type: ignore[redundant-expr]
            raise UsageError(f"alpha must be a number between 0 and 1, not {self.alpha!r}")
        if not isinstance(self.tolerance, int | float) or not 0 <= self.tolerance < inf:  # type: ignore[redundant-expr]
            raise UsageError(f"tolerance must be a number of at least 0, not {self.tolerance!r}")
        seeded(self.seed)
        if self.draws is not None and (type(self.draws) is not int or self.draws < LEAST_DRAWS):
            raise UsageError(f"draws must be an integer of at least {LEAST_DRAWS}, not {self.draws!r}")

    @property
    def interval_draws(self) -> int:
        """How often topics are drawn for an interval, and permuted for Tukey's test."""
        return DRAWS if self.draws is None else self.draws

    def test_draws(self, pairs: int) -> int:
        """How often the test draws, for so many pairs; 0 where it draws nothing."""
        if self.test == TUKEY:
            return self.interval_draws
        if "draws" not in signature(tests.get(self.test)).parameters:
            return 0
        if self.draws is not None:
            return self.draws
        return DRAWS if self.correction == "none" else enough_draws(pairs, alpha=self.alpha)

    def record(self) -> dict[str, Any]:
        """How pairs were compared, by the names of columns; `draws` are those of the intervals."""
        return {
            "test": BESIDE_TUKEY if self.test == TUKEY else self.test,
            "correction": self.correction,
            "alpha": self.alpha,
            "tolerance": self.tolerance,
            "draws": self.interval_draws,
            "seed": self.seed,
        }

    def with_names(self, words: Sequence[object], names: Sequence[str]) -> Options:
        """The same with runs by their names, where baselines are given as the files that were typed.

        `words` are the requested runs, `names` what they are called, in the same order. A file may be
        typed in two ways, `b.run` and `./b.run`.
        """
        typed = {normpath(word): name for word, name in zip(words, names, strict=True) if isinstance(word, str)}
        meant = tuple(typed.get(normpath(word), word) for word in self.baselines)
        for word, name in zip(self.baselines, meant, strict=True):
            if name != word and word in names:
                raise UsageError(f"{quoted(word)} is the file of run {quoted(name)} and the name of another run")
        return replace(self, baselines=meant)


# What a topic set can detect: discriminative power, the smallest detectable difference.

POWER = 0.8
"""The chance with which topics should show a true difference."""


class DiscriminativePower(NamedTuple):
    """How many pairs of systems a measure and topic set tell apart, and the smallest difference that it took."""

    pairs: int
    significant: int
    smallest_difference: float

    @property
    def share(self) -> float:
        """The share of pairs that are significant."""
        return self.significant / self.pairs


def discriminative_power(p: ArrayLike, differences: ArrayLike, *, alpha: float = 0.05) -> DiscriminativePower:
    """Discriminative power: the share of all pairs with p ≤ alpha, by one test with a fixed number of draws.

    `p` and `differences` have one value per pair. Published figures use p-values that are not corrected, or those of
    Tukey's test: say which. `smallest_difference` is the smallest |difference| that was significant, NaN if none was.
    High power does not make a measure valid: one that always prefers the longer name has it too.

    Source: Sakai, "Evaluating evaluation metrics based on the bootstrap", SIGIR 2006.
    """
    found, sizes = significant(p, alpha=alpha), np.abs(np.asarray(differences, dtype=np.float64))
    smallest = float(sizes[found].min()) if found.any() else nan
    return DiscriminativePower(found.size, int(found.sum()), smallest)


def residual_deviation(scores: ArrayLike) -> float:
    """The standard deviation of paired differences, estimated from all runs: √(2 · V_E).

        V_E = Σ (x − run mean − topic mean + mean)² / ((runs − 1)(topics − 1))

    the residual variance of a two-way analysis of variance; `scores` is runs × topics. With two runs it is the
    deviation of their differences. It supposes that every pair of runs differs equally much around its mean.

    Source: Sakai, "Topic set size design", Information Retrieval Journal 19, 2016.
    """
    matrix = as_scores(scores)
    rest = matrix - matrix.mean(axis=1, keepdims=True) - matrix.mean(axis=0, keepdims=True) + matrix.mean()
    freedom = (matrix.shape[0] - 1) * (matrix.shape[1] - 1)
    return sqrt(2 * float((rest**2).sum()) / freedom)


def detectable_difference(topics: int, *, deviation: float, power: float = POWER, alpha: float = 0.05) -> float:
    """The smallest true difference that a two-sided paired t-test on that many topics finds with chance `power`.

    Fewer than two topics: ∞. A deviation of 0: 0. A power not above alpha is an error: it needs no difference.
    """
    if power <= alpha:
        raise UsageError(f"power {power} must exceed alpha {alpha}")
    if topics < 2:
        return inf
    high = 1.0
    while power_at(topics, high, alpha) < power:
        high *= 2
    shift = optimize.brentq(lambda value: power_at(topics, value, alpha) - power, 0.0, high, xtol=1e-10)
    return float(shift) * deviation / sqrt(topics)


def power_at(topics: int, shift: float, alpha: float) -> float:
    """The chance that |T| reaches the critical value, for a noncentrality `shift` ≥ 0.

    T² is noncentral F with 1 and n − 1 degrees of freedom, which takes both tails in one; scipy's noncentral t gives
    NaN for a tail that is far out. A noncentrality 40 times the critical value is found with certainty.
    """
    freedom = topics - 1
    critical = float(special.stdtrit(freedom, 1 - alpha / 2))
    if shift > 40 * (1 + critical):
        return 1.0
    missed = float(special.ncfdtr(1, freedom, shift**2, critical**2))
    if isnan(missed):
        raise UsageError(f"the power of {topics} topics at alpha {alpha} cannot be computed")
    return 1.0 - missed


# The comparison under one measure.

ONE_TOPIC = "only one topic: no test, interval or effect size is possible"

_NOISE = 1e-12

FEW_TOPICS = 20
"""With fewer, a 95% interval holds the true mean of normal values in less than 93% of samples (docs/compare.md)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasureComparison:
    """The comparison under one measure.

    `largest` is the largest possible difference of two means.
    `test_draws` is how often the test drew. `notes` are about significance and intervals.
    """

    measure: str
    largest: float
    scores: PairedScores
    results: tuple[PairResult, ...]
    power: DiscriminativePower
    options: Options
    test_draws: int = 0
    notes: tuple[str, ...] = ()

    @property
    def topics(self) -> int:
        """The number of topics."""
        return int(self.scores.values.shape[1])

    @property
    def standing(self) -> list[tuple[str, float]]:
        """The entries from the highest mean down."""
        means = zip(self.scores.labels, self.scores.values.mean(axis=1).tolist(), strict=True)
        return sorted(means, key=lambda entry: -entry[1])

    @property
    def tested(self) -> str:
        """Test, draws, correction and alpha in words."""
        drawn = f"{self.test_draws:,} draws" if self.test_draws else ""
        correction = TITLES.get(self.options.correction, self.options.correction.title())
        words = (_title(self.options.test), drawn, correction, f"alpha {self.options.alpha:g}")
        return ", ".join(word for word in words if word)

    def detectable(self) -> tuple[float | None, str]:
        """The minimum detectable difference, None where it is unknown or not possible, and what is said of it."""
        why = ""
        if self.topics < 2:
            why = "the variance of differences needs at least two topics"
        elif (deviation := residual_deviation(self.scores.values)) <= _NOISE:
            why = "the differences have no variance across topics"
        else:
            try:
                least = detectable_difference(self.topics, deviation=deviation, alpha=self.options.alpha)
            except UsageError as error:
                why = str(error)
        if why:
            return None, f"minimum detectable difference unknown: {why}"
        chance = f"with {POWER:.0%} power (paired t)"
        if least > self.largest:
            return None, f"no possible difference is detectable {chance}: more topics are needed"
        return least, f"minimum detectable difference {least:.4f} {chance}"

    def power_note(self) -> str:
        """Discriminative power and the detectable difference in a sentence."""
        power = self.power
        smallest = f"; smallest significant difference {power.smallest_difference:.4f}" if power.significant else ""
        significant = f"{power.significant:,} of {counted(power.pairs, 'pair')} significant"
        told = f"discriminative power {power.share:.0%} ({significant} on {counted(self.topics, 'topic')}{smallest})"
        return f"{self.measure}: {told}; {self.detectable()[1]}"


def _title(test: str) -> str:
    return "Tukey's HSD by randomisation" if test == TUKEY else str(getattr(tests.get(test), "title", test))


def compare_scores(scores: Scores, options: Options, workers: Workers = HERE) -> list[MeasureComparison]:
    """Compare scores under each of their measures."""
    if not scores.scored.all():
        raise UsageError("the runs are scored on different topics; use --topics qrels or --topics common")
    compared: list[MeasureComparison] = []
    for measure, values in zip(scores.measures, scores.values, strict=True):
        if measure.aggregate != "mean" or not measure.quality:
            what = "not a mean over topics" if measure.quality else "not a measure of quality"
            raise UsageError(f"{measure} is {what}; compare takes means of measures of quality")
        entries, (low, high) = paired_scores(scores.run_names, values), measure.bounds
        for name in options.baselines:
            if name not in entries.labels:
                raise UnknownName("baseline", name, entries.labels)
        baselines = [entries.labels.index(name) for name in options.baselines] or None
        draws = options.test_draws(len(pairs(len(entries.labels), baselines=baselines)[0]))
        is_tukey = options.test == TUKEY
        test: Any = tests.get(BESIDE_TUKEY if is_tukey else options.test)
        results = compare_all(
            entries,
            baselines=baselines,
            test=test if is_tukey or not draws else partial(test, draws=draws),
            correction=options.correction,
            tolerance=options.tolerance,
            draws=options.interval_draws,
            rng=seeded(options.seed),
            workers=workers,
        )
        drawn = 0 if all(result.exact for result in results) and not is_tukey else draws
        topics = entries.values.shape[1]
        notes = [ONE_TOPIC]
        if topics > 1:  # where the test has no power or is undefined
            notes = _why_nothing_can_be_significant(results, options, drawn)
            if topics < FEW_TOPICS and any(result.high > result.low for result in results):
                coverage = "their actual coverage is below 95%, and lower for skewed differences"
                notes.append(f"with {topics} topics these intervals are too narrow: {coverage}")
            if any(result.degenerate and result.difference for result in results):
                notes.append("the test is undefined where all differences are equal; p is then 2^(1-n) for n topics")
            if options.tolerance:
                notes.append(
                    f"won/tied/lost: differences up to {options.tolerance:g} count as ties; tests use no tolerance"
                )
        adjusted, sizes = [result.adjusted_p for result in results], [result.difference for result in results]
        found = MeasureComparison(
            measure=str(measure),
            largest=high - low,
            scores=entries,
            results=tuple(results),
            power=discriminative_power(adjusted, sizes, alpha=options.alpha),
            options=options,
            test_draws=drawn,
            notes=tuple(notes),
        )
        compared.append(found)
    return compared


def _why_nothing_can_be_significant(results: Sequence[PairResult], options: Options, draws: int) -> list[str]:
    """Why no pair at all can be significant, where that is so, and what would help."""
    pairs, topics, is_tukey = len(results), results[0].topics, options.test == TUKEY
    # By how much the correction raises the smallest p of so many pairs at the least, where all have it.
    tiny = np.full(pairs, 2.0**-40)
    times = 1 if is_tukey else round(float(np.min(corrections.get(options.correction)(tiny) / tiny)))
    limits: list[tuple[float, str, str]] = []
    if not is_tukey and getattr(tests.get(options.test), "counts_signs", False):
        limits.append((2.0 ** (1 - topics), f"on {topics} topics", "more topics"))
    if draws:
        needed = draws_needed(times, alpha=options.alpha)
        limits.append((1 / (1 + draws), f"with {draws:,} draws", f"--draws {needed} or more"))
    for smallest, where, remedy in limits:
        if smallest * times > options.alpha:
            p = f"the smallest possible p {where} is {smallest:.3g} ({_title(options.test)})"
            correction = TITLES.get(options.correction, options.correction.title())
            after = f", {min(smallest * times, 1):.2g} over {times:,} pairs after {correction}" if times > 1 else ""
            other = "--test t or tukey" if pairs > 1 and not options.baselines else "--test t"
            return [f"{p}{after}: no pair can be significant at alpha {options.alpha:g}; use {remedy}, or {other}"]
    return []
