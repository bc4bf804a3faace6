"""Systems compared pair by pair: difference, interval, effect, wins, p and corrected p together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import InputError, UnknownName, UsageError, quoted
from cranfield.compare import differences as effect
from cranfield.compare.corrections import Correction, corrections, holm
from cranfield.compare.differences import (
    DRAWS,
    Counts,
    Flags,
    SignificanceTest,
    Values,
    as_scores,
    blocks,
    check_draws,
    check_share,
    difference_interval,
    noise_of,
    repeated,
    significant,
)
from cranfield.compare.significance import tests
from cranfield.compare.significance.student import student

# Scores of several systems on the same topics, and which of them meet.

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Seeds:
    """What several seeds of one system looked like before they became one entry.

    `count` is the number of seeds of each entry. `variance` (entries × topics) is that of the seeds' scores on each
    topic and `deviation` the standard deviation of the seeds' means, both with count − 1; 0 where there is one seed.
    """

    count: Counts
    variance: Values
    deviation: Values


@dataclass(frozen=True, eq=False)
class PairedScores:
    """One row of scores per entry, one column per topic; an entry is a run, or the mean of several seeds."""

    labels: tuple[str, ...]
    values: Values
    seeds: Seeds

    @property
    def means(self) -> Values:
        """The mean over topics of each entry."""
        return np.asarray(self.values.mean(axis=1))


def paired_scores(labels: Sequence[str], values: ArrayLike, *, systems: Sequence[str] | None = None) -> PairedScores:
    """Give scores that can be compared, one row per label.

    With `systems`, one name per row, rows of the same system are its seeds: they become one entry that carries the
    name of the system, stands where its first row stood, and has the mean over seeds on each topic. Testing the seeds
    as if they were more topics would count each topic several times. Labels are told apart, NaN is an error.
    """
    matrix = as_scores(values)
    names = list(labels if systems is None else systems)
    if matrix.ndim != 2 or len(matrix) != len(labels) or len(names) != len(labels):
        raise UsageError(f"one row of scores per label is needed, not {matrix.shape} for {len(labels)} labels")
    entries = list(dict.fromkeys(names))
    if systems is None and len(entries) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two rows are called {quoted(twice)}; seeds of one system are merged by naming the systems")
    rows = [np.flatnonzero([name == entry for name in names]) for entry in entries]
    merged = np.stack([matrix[chosen].mean(axis=0) for chosen in rows])
    return PairedScores(tuple(entries), merged, _seeds([matrix[chosen] for chosen in rows]))


def _seeds(groups: Sequence[Values]) -> Seeds:
    return Seeds(
        count=np.array([len(group) for group in groups], dtype=np.int64),
        variance=np.stack([_variance(group) for group in groups]),
        deviation=np.array([np.sqrt(_variance(group.mean(axis=1))) for group in groups]),
    )


def _variance(seeds: Values) -> Values:
    return np.asarray(seeds.var(axis=0, ddof=1) if len(seeds) > 1 else np.zeros(seeds.shape[1:]))


def pairs(entries: int, *, baselines: Sequence[int] | None = None) -> tuple[Indices, Indices]:
    """Give the rows that meet, as (row, other row), each pair once.

    Without baselines all pairs, the earlier row first. With baselines each row against each baseline, the baseline as
    the other one; two baselines meet once, the earlier as the baseline, since a pair that is tested twice would be
    counted twice by a correction.
    """
    if entries < 2:
        raise UsageError(f"a comparison needs at least two systems, not {entries}")
    first, second = np.triu_indices(entries, k=1)
    if baselines is None:
        return first, second
    _check_baselines(entries, baselines)
    found = [(row, base) for base in baselines for row in range(entries) if _meet(row, base, baselines)]
    return np.array([row for row, _ in found], dtype=np.intp), np.array([base for _, base in found], dtype=np.intp)


def _meet(row: int, base: int, baselines: Sequence[int]) -> bool:
    """Say whether `row` is tested against `base`: always, but two baselines only in one direction."""
    return row != base and (row not in baselines or baselines.index(base) < baselines.index(row))


def _check_baselines(entries: int, baselines: Sequence[int]) -> None:
    if not baselines:
        raise UsageError("no baseline is named; for all pairs leave the baselines out")
    for base in baselines:
        if not 0 <= base < entries:
            raise UsageError(f"baseline {base} is not among the {entries} systems, which count from 0")
    if len(set(baselines)) < len(baselines):
        raise UsageError("a baseline is named twice")


# Tukey's honestly significant differences, by randomisation over all runs at once.

CACHED = 2**18
"""Scores that are permuted at once: 2 MB, about what a processor keeps at hand."""


@dataclass(frozen=True, eq=False)
class Tukey:
    """p for each pair of runs, as a symmetric matrix, and the sorted ranges it comes from.

    p is corrected for all pairs already.
    """

    p: Values
    ranges: Values

    def critical_difference(self, *, alpha: float = 0.05) -> float:
        """Give the difference of means above which a pair is significant; ∞ where so few draws cannot say."""
        check_share("alpha", alpha)
        reaching = int(np.floor(alpha * (1 + len(self.ranges)) + 1e-9)) - 1
        return float(self.ranges[len(self.ranges) - 1 - reaching]) if reaching >= 0 else float("inf")


def tukey(scores: ArrayLike, *, draws: int = DRAWS, rng: np.random.Generator) -> Tukey:
    """Tukey's HSD by randomisation: had the runs swapped names on every topic, how large would the range of means be?

        q* = max − min of the runs' means, after each topic's scores are permuted among the runs
        p(i, j) = (1 + #{q* ≥ |mean(i) − mean(j)|}) / (1 + draws)

    `scores` is runs × topics. Permuting within topics keeps the pairing: Tukey's table, or a permutation over the
    whole matrix, takes the differences between topics for noise and finds almost nothing. A pair is held against the
    largest range of all runs, so the chance of even one false win is below alpha, and p is never 0. It supposes that
    all runs are alike under the null, so one odd run widens the yardstick for everybody. With one topic p = 1.

    Source: Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
    experiments", TOIS 30, 2012.
    """
    check_draws(draws)
    matrix = as_scores(scores)
    if matrix.ndim != 2 or len(matrix) < 2:
        raise UsageError("Tukey's test compares two or more runs, given as the rows of a matrix")
    ranges = np.sort(_ranges(matrix, draws=draws, rng=rng))
    means = matrix.mean(axis=1)
    noise = float(noise_of(matrix).max())
    gaps = np.abs(means[:, None] - means[None, :]) - noise
    reaching = draws - np.searchsorted(ranges, gaps, side="left")
    return Tukey(np.asarray((1 + reaching) / (1 + draws)), ranges)


def _ranges(matrix: Values, *, draws: int, rng: np.random.Generator) -> Values:
    """Give max − min of the means for each draw, in blocks that fit into the processor's cache."""
    by_topic = np.ascontiguousarray(matrix.T)
    ranges = np.empty(draws)
    for part in blocks(draws, width=by_topic.size, block=CACHED):
        copies = np.broadcast_to(by_topic, (part.stop - part.start, *by_topic.shape))
        means = rng.permuted(copies, axis=2).mean(axis=1)
        ranges[part] = np.ptp(means, axis=1)
    return ranges


PAIRED_AT_ONCE = 2**22
"""Differences that are held at once: 32 MB of doubles."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """Everything about system `a` against system `b`; differences are a − b, and wins are a's.

    `low` and `high` bound the mean difference. `effect` is Cohen's d_z, `hedges` the same corrected for few topics.
    `exact` and `degenerate` are those of the test.
    """

    a: str
    b: str
    topics: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    relative: float
    effect: float
    hedges: float
    wins: int
    ties: int
    losses: int
    statistic: float
    p: float
    adjusted_p: float
    exact: bool
    degenerate: bool


def clearness(result: PairResult) -> tuple[float, float, float]:
    """Give what sorts pairs from the clearest down: the corrected p, p, and the size of the effect."""
    size = abs(result.effect)
    return result.adjusted_p, result.p, 0.0 if math.isnan(size) else -size


def compare_all(
    scores: PairedScores,
    *,
    baselines: Sequence[int] | None = None,
    test: str | SignificanceTest = "t",
    correction: str | Correction = "holm",
    level: float = 0.95,
    tolerance: float = 0.0,
    draws: int = DRAWS,
    rng: np.random.Generator,
) -> list[PairResult]:
    """Compare all pairs, or every system with each baseline; see `pairs` for which and in what order.

    `correction` sees the p-values of exactly these pairs. `draws` is for the intervals; a test that draws has its own
    (`partial(randomisation, draws=100_000)` can be given as `test`). Apart from the corrected p, a pair's result does
    not depend on which other pairs there are.
    """
    correct = corrections.get(correction) if isinstance(correction, str) else correction
    options = _Options(
        test=tests.get(test) if isinstance(test, str) else test,
        level=level,
        tolerance=tolerance,
        draws=draws,
        interval_rngs=repeated(rng),
        test_rngs=repeated(rng),
    )
    first, second = pairs(len(scores.labels), baselines=baselines)
    parts = blocks(len(first), width=scores.values.shape[1], block=PAIRED_AT_ONCE)
    results = [result for part in parts for result in _measured(scores, first[part], second[part], options)]
    adjusted = correct([result.p for result in results])
    return [replace(result, adjusted_p=float(p)) for result, p in zip(results, adjusted, strict=True)]


def compare_by_tukey(
    scores: PairedScores,
    *,
    baselines: Sequence[int] | None = None,
    test: str | SignificanceTest = "randomisation",
    level: float = 0.95,
    tolerance: float = 0.0,
    draws: int = DRAWS,
    rng: np.random.Generator,
) -> list[PairResult]:
    """Compare as `compare_all` does, with the corrected p from Tukey's test by randomisation over all systems.

    The yardstick is the range of all systems, also where only pairs with a baseline are asked for. `p` is that of
    `test` on the pair alone; for a pair whose differences vary much more than others' it can exceed the corrected
    one, because Tukey's test takes all systems for alike.
    """
    results = compare_all(
        scores,
        baselines=baselines,
        test=test,
        correction="none",
        level=level,
        tolerance=tolerance,
        draws=draws,
        rng=rng,
    )
    # From the generator itself: intervals and tests draw from its children, so this is what `tukey` gives alone.
    judged = tukey(scores.values, draws=draws, rng=rng)
    met = zip(*pairs(len(scores.labels), baselines=baselines), strict=True)
    return [
        replace(result, adjusted_p=float(judged.p[row, other]))
        for result, (row, other) in zip(results, met, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Options:
    """How pairs are measured, and the generators that draw the same for every block of pairs."""

    test: SignificanceTest
    level: float
    tolerance: float
    draws: int
    interval_rngs: Iterator[np.random.Generator]
    test_rngs: Iterator[np.random.Generator]


def _measured(scores: PairedScores, first: Indices, second: Indices, options: _Options) -> Iterator[PairResult]:
    """Give the results of some of the pairs, few enough to be held as matrices, with p still uncorrected."""
    columns = _columns(scores.values[first], scores.values[second], options)
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    topics, labels = scores.values.shape[1], scores.labels
    for row, other, values in zip(first.tolist(), second.tolist(), rows, strict=True):
        yield PairResult(labels[row], labels[other], topics, **dict(zip(columns, values, strict=True)))


def _columns(a: Values, b: Values, options: _Options) -> dict[str, NDArray[Any]]:
    bounds = difference_interval(a, b, level=options.level, draws=options.draws, rng=next(options.interval_rngs))
    counts = effect.tally(a, b, tolerance=options.tolerance)
    tested = options.test(a, b, rng=next(options.test_rngs))
    return {
        "mean_a": a.mean(axis=1),
        "mean_b": b.mean(axis=1),
        "difference": effect.mean_difference(a, b),
        "low": bounds.low,
        "high": bounds.high,
        "relative": effect.relative_difference(a, b),
        "effect": effect.cohen(a, b),
        "hedges": effect.hedges(a, b),
        "wins": counts.wins,
        "ties": counts.ties,
        "losses": counts.losses,
        "statistic": tested.statistic,
        "p": tested.p,
        "adjusted_p": tested.p,
        "exact": tested.exact,
        "degenerate": tested.degenerate,
    }


# How wide the interval of a difference between two runs is on these topics: what a tolerance is worth beside it.


def median_half_width(scores: ArrayLike, *, confidence: float = 0.95) -> float:
    """The median over all pairs of runs of half the t-interval of their mean difference.

        t(n − 1) · √(var(a − b) / n),    var(a − b) = var a + var b − 2 cov(a, b)

    `scores` is runs × topics. NaN with fewer than two runs or topics.
    """
    from scipy.special import stdtrit

    table = as_scores(scores)
    runs, topics = table.shape
    if runs < 2 or topics < 2:
        return float("nan")
    covariance = np.atleast_2d(np.cov(table))
    spread = np.diag(covariance)
    first, second = np.triu_indices(runs, k=1)
    variance = np.maximum(spread[first] + spread[second] - 2 * covariance[first, second], 0.0)
    return float(np.median(stdtrit(topics - 1, 0.5 + confidence / 2) * np.sqrt(variance / topics)))


# How small a p-value can get at all: a test that cannot reach alpha finds nothing, whatever the runs are like.


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


# Tests and corrections as people read them below a table.

TESTS: Mapping[str, str] = {
    "t": "paired t",
    "wilcoxon": "Wilcoxon's signed ranks",
    "sign": "sign test",
    "randomisation": "randomisation",
    "bootstrap": "paired bootstrap",
    "tukey": "Tukey's HSD by randomisation",
}

CORRECTIONS: Mapping[str, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini-hochberg": "Benjamini-Hochberg",
    "none": "not corrected",
    "tukey": "",
}


def said_of_test(test: str, correction: str = "", *, draws: int = 0) -> str:
    """Give a test and its correction in words; those of strangers by the names they are registered with.

    `draws` are those of the test, 0 where nothing was drawn.
    """
    drawn = f"{draws:,} draws" if draws else ""
    return ", ".join(word for word in (TESTS.get(test, test), drawn, CORRECTIONS.get(correction, correction)) if word)


# Significance in a table: letters that group what does not differ, and the baselines that a run beats.

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters(different: ArrayLike, *, order: ArrayLike | None = None) -> tuple[tuple[str, ...], ...]:
    """Give the compact letter display: two runs share a letter if, and only if, they do not differ significantly.

    `different` is a symmetric matrix of yes and no; `order` lists the runs from best to worst, so that the best gets
    `a`; without it they stand in this order already. After z comes a2, so that joined letters can still be told
    apart. The groups are grown greedily and those that say nothing new are dropped: few, not provably the fewest.

    Source: Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", 2004, for the idea.
    """
    matrix = _checked(different)
    ranked = np.arange(len(matrix)) if order is None else np.asarray(order, dtype=np.intp)
    if sorted(ranked.tolist()) != list(range(len(matrix))):
        raise UsageError("the order must name every run once")
    found = _groups(~matrix[np.ix_(ranked, ranked)])
    given: list[list[str]] = [[] for _ in range(len(matrix))]
    for number, group in enumerate(sorted(group.tolist() for group in found)):
        for place in group:
            given[ranked[place]].append(letter(number))
    return tuple(tuple(each) for each in given)


def letter(number: int) -> str:
    """Give the letter with a number from 0: a to z, then a2 to z2, a3 and so on."""
    round_, place = divmod(number, len(ALPHABET))
    return f"{ALPHABET[place]}{round_ + 1 if round_ else ''}"


def letters_of(
    results: Sequence[PairResult], labels: Sequence[str], *, alpha: float = 0.05
) -> dict[str, tuple[str, ...]]:
    """Give the letters of each label, best mean first getting `a`, from the corrected p-values of all pairs."""
    place = {label: row for row, label in enumerate(labels)}
    different = np.zeros((len(place), len(place)), dtype=bool)
    tested = np.eye(len(place), dtype=bool)
    means = np.zeros(len(place))
    for result in results:
        row, other = _place(place, result.a), _place(place, result.b)
        means[row], means[other] = result.mean_a, result.mean_b
        tested[row, other] = tested[other, row] = True
        different[row, other] = different[other, row] = bool(significant(result.adjusted_p, alpha=alpha))
    if not tested.all():
        raise UsageError("letters need all pairs; against baselines ask which of them a run beats")
    given = letters(different, order=np.argsort(-means, kind="stable"))
    return dict(zip(labels, given, strict=True))


def beaten(results: Sequence[PairResult], *, alpha: float = 0.05) -> dict[str, tuple[str, ...]]:
    """Give for each system the others that it beats significantly, by corrected p, in the order of the results."""
    wins: dict[str, list[str]] = {label: [] for result in results for label in (result.a, result.b)}
    for result in results:
        if result.difference and significant(result.adjusted_p, alpha=alpha):
            better, worse = (result.a, result.b) if result.difference > 0 else (result.b, result.a)
            wins[better].append(worse)
    return {label: tuple(others) for label, others in wins.items()}


def _checked(different: ArrayLike) -> Flags:
    matrix = np.asarray(different, dtype=bool)
    if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T) or matrix.diagonal().any():
        raise UsageError("differences between runs are a symmetric matrix in which no run differs from itself")
    return matrix


def _place(places: dict[str, int], label: str) -> int:
    if label not in places:
        raise UnknownName("system", label, places)
    return places[label]


def _groups(same: Flags) -> list[NDArray[np.intp]]:
    """Cover every pair that is the same with groups in which all are the same; a run without such a pair is alone."""
    covered = np.eye(len(same), dtype=bool)
    found: list[NDArray[np.intp]] = []
    for first in range(len(same)):
        while (rest := np.flatnonzero(same[first] & ~covered[first])).size:
            group = _grown(same, first, int(rest[0]))
            covered[np.ix_(group, group)] = True
            found.append(group)
        if same[first].sum() == 1:
            found.append(np.array([first], dtype=np.intp))
    return _without_idle(found, len(same))


def _grown(same: Flags, first: int, second: int) -> NDArray[np.intp]:
    """Give a group of two runs and all that fit, taken in from the first one downwards and then from above."""
    members = [first, second]
    open_to = same[first] & same[second]
    open_to[members] = False
    for candidate in [*range(first, len(same)), *range(first)]:
        if open_to[candidate]:
            members.append(candidate)
            open_to &= same[candidate]
            open_to[candidate] = False
    return np.sort(np.array(members, dtype=np.intp))


def _without_idle(groups: list[NDArray[np.intp]], runs: int) -> list[NDArray[np.intp]]:
    """Drop the groups whose pairs are all covered by others."""
    times = np.zeros((runs, runs), dtype=np.int64)
    for group in groups:
        times[np.ix_(group, group)] += 1
    kept = []
    for group in groups:
        if (times[np.ix_(group, group)] > 1).all():
            times[np.ix_(group, group)] -= 1
        else:
            kept.append(group)
    return kept


# Letters straight from scores, for tables that show means alone: no intervals, no effect sizes.

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
