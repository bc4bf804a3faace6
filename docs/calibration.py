"""Writes the page that shows how good expected losses and verdicts are, on runs whose losses are known.

    python docs/calibration.py DATA > docs/calibration.md

DATA is the folder with `trec-2-adhoc`, `cranfield`, `cacm`, `med` and `vaswani-npl`; `left_out.py` reads them, and
leaves one group or family after the other out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from left_out import (
    LENGTH,
    MEASURES,
    SEED,
    Calibration,
    Collection,
    Variant,
    calibrate,
    collections_in,
    pooled,
)
from numpy.typing import NDArray

from cranfield.base.tables import table_of
from cranfield.evaluate.lists import Values
from cranfield.report.rendering import renderers
from cranfield.reuse.verdict import Thresholds

SAMPLES = 1000

# Figures: one number of a cell, and its interval with the groups drawn again and again.


@dataclass(frozen=True, slots=True)
class Figure:
    """A column: what it means, and its value for each row of weights of the runs (samples by runs)."""

    name: str
    meaning: str
    value: Callable[[Calibration, Values], Values]
    form: str = ".4f"
    with_interval: bool = True

    def shown(self, cell: Calibration) -> str:
        """The value, with its 95% interval where it makes sense."""
        value, low, high = self.with_ends(cell)
        if np.isnan(value):
            return "–"
        text = _bare(value, self.form)
        return f"{text} ({_bare(low, self.form)} to {_bare(high, self.form)})" if self.with_interval else text

    def with_ends(self, cell: Calibration) -> tuple[float, float, float]:
        """The value and the ends of its interval."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self.value(cell, weights_of(cell.group))
        known = values[1:][np.isfinite(values[1:])]
        low, high = np.quantile(known, (0.025, 0.975)) if len(known) else (np.nan, np.nan)
        return float(values[0]), float(low), float(high)


def _bare(value: float, form: str) -> str:
    """A number without the 0 before its point."""
    return format(value, form).replace("0.", ".", 1) if abs(value) < 1 and "f" in form else format(value, form)


def weights_of(group: Sequence[str]) -> Values:
    """How often each run counts, as samples by runs: once in the first row, then as often as its group is drawn."""
    names, place = np.unique(group, return_inverse=True)
    drawn = np.random.default_rng(SEED).multinomial(len(names), np.full(len(names), 1 / len(names)), size=SAMPLES)
    return np.vstack([np.ones(len(group)), drawn[:, place]])


def mean_of(values: Values, weights: Values) -> Values:
    """The weighted mean for each row of weights."""
    return np.asarray(weights @ values / weights.sum(axis=1))


def share_of(some: NDArray[np.bool_], among: NDArray[np.bool_], weights: Values) -> Values:
    """The share of some runs among others."""
    return np.asarray((weights @ (some & among)) / (weights @ among))


def slope_of(one: Values, other: Values, weights: Values) -> Values:
    """The slope of the regression of `other` on `one`."""
    return covariance(one, other, weights) / covariance(one, one, weights)


def correlation_of(one: Values, other: Values, weights: Values) -> Values:
    """Pearson's correlation."""
    deviations = np.sqrt(covariance(one, one, weights) * covariance(other, other, weights))
    return np.asarray(covariance(one, other, weights) / deviations)


def covariance(one: Values, other: Values, weights: Values) -> Values:
    """The weighted covariance for each row of weights."""
    return mean_of(one * other, weights) - mean_of(one, weights) * mean_of(other, weights)


def median_of(values: Values, weights: Values) -> Values:
    """The weighted median for each row of weights."""
    order = np.argsort(values)
    running = np.cumsum(weights[:, order], axis=1)
    return np.asarray(values[order][np.argmax(running >= running[:, -1:] / 2, axis=1)])


RUNS = Figure("runs", "how many are left out in turn", lambda c, w: w.sum(axis=1), ".0f", with_interval=False)
EXPECTED = Figure("expected", "mean expected loss, in points of the measure", lambda c, w: mean_of(c.expected, w))
TRUE = Figure("true", "mean true loss", lambda c, w: mean_of(c.true, w))
RATIO = Figure(
    "ratio", "mean expected over mean true loss", lambda c, w: mean_of(c.expected, w) / mean_of(c.true, w), ".2f"
)
SLOPE = Figure(
    "slope",
    "calibration slope: of the regression of true on expected losses; 1 is right, less means too extreme",
    lambda c, w: slope_of(c.expected, c.true, w),
    ".2f",
)
CORRELATION = Figure(
    "correlation", "of the expected with the true loss", lambda c, w: correlation_of(c.expected, c.true, w), ".2f"
)
BY_COVERAGE = Figure(
    "of coverage",
    "correlation of 1 − judged@k with the true loss: what coverage alone would tell",
    lambda c, w: correlation_of(1 - c.judged, c.true, w),
    ".2f",
)
ERROR = Figure(
    "absolute error",
    "mean absolute difference of expected and true loss",
    lambda c, w: mean_of(abs(c.expected - c.true), w),
)
LOW = Figure(
    "low half",
    "mean of expected − true in the half of the runs with the lower coverage",
    lambda c, w: mean_of(c.expected - c.true, w * c.low),
    "+.4f",
)
HIGH = Figure(
    "high half", "the same in the other half", lambda c, w: mean_of(c.expected - c.true, w * ~c.low), "+.4f"
)
BELOW = Figure(
    "below upper end",
    "share of the runs whose true loss does not exceed the upper end of the expected loss; 95% is wanted",
    lambda c, w: mean_of(c.below.astype(float), w),
    ".0%",
)
WIDTH = Figure(
    "width",
    "median of upper end − expected loss: a wide upper end is easily kept",
    lambda c, w: median_of(abs(c.upper - c.expected), w),
)
SAFE = Figure(
    "SAFE",
    "runs that are SAFE by their expected loss; those without unjudged documents are not counted",
    lambda c, w: w @ c.safe,
    ".0f",
    with_interval=False,
)
LARGEST = Figure(
    "largest loss",
    "the largest true loss (or gain) among the SAFE",
    lambda c, w: np.array([abs(c.true[c.safe]).max() if c.safe.any() else np.nan]),
    with_interval=False,
)
WRONG = Figure(
    "wrong",
    f"share of the SAFE whose true loss exceeds twice the tolerance ({_bare(2 * Thresholds().tolerance, '.2f')})",
    lambda c, w: share_of(c.wrong, c.safe, w),
    ".1%",
)
UNLIKE = Figure(
    "unlike",
    "runs that are found unlike all contributors",
    lambda c, w: w @ c.unlike,
    ".0f",
    with_interval=False,
)
LOSSES = (RUNS, EXPECTED, TRUE, RATIO, SLOPE, CORRELATION, BY_COVERAGE, ERROR, LOW, HIGH)
ENDS = (BELOW, WIDTH, SAFE, LARGEST, WRONG)
BRIEF = (EXPECTED, RATIO, SLOPE, CORRELATION, ERROR, BELOW, WIDTH, SAFE, WRONG)
"""For the model without popularity."""

# The page.

Cells = dict[tuple[str, int, str], Calibration]
"""By collection, pool depth and measure."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is wanted of a cell; `holds` gives None where it does not apply."""

    text: str
    holds: Callable[[int, Calibration], bool | None]


def _within(depth: int, cell: Calibration) -> bool:
    return abs(RATIO.with_ends(cell)[0] - 1) <= (0.1 if depth <= 20 else 0.25)


CRITERIA = (
    Criterion("mean expected within 10% of mean true loss, 25% at pool depths above 20", _within),
    Criterion(
        "the 95% interval of their ratio holds 1",
        lambda depth, cell: RATIO.with_ends(cell)[1] <= 1 <= RATIO.with_ends(cell)[2],
    ),
    Criterion("calibration slope .8 to 1.2", lambda depth, cell: 0.8 <= SLOPE.with_ends(cell)[0] <= 1.2),
    Criterion(
        "in both halves of coverage expected and true loss within .005",
        lambda depth, cell: max(abs(one.with_ends(cell)[0]) for one in (LOW, HIGH)) <= 0.005,
    ),
    Criterion(
        "correlation at least .85 (P@10, pool depths 10 and 20)",
        lambda depth, cell: (
            CORRELATION.with_ends(cell)[0] >= 0.85 if str(cell.measure) == "P@10" and depth in (10, 20) else None
        ),
    ),
    Criterion(
        "correlation not more than .02 below that of coverage",
        lambda depth, cell: CORRELATION.with_ends(cell)[0] >= BY_COVERAGE.with_ends(cell)[0] - 0.02,
    ),
    Criterion(
        "at least 33 of 37 runs (89%) below the upper end", lambda depth, cell: bool(cell.below.mean() >= 33 / 37)
    ),
    Criterion("no SAFE run wrong", lambda depth, cell: not (cell.safe & cell.wrong).any()),
)

HEAD = """\
# Calibration

How accurate are expected losses and verdicts? Here the truth is known. Each group is left out in turn: the pool is
re-made without it, everything is learned from the other groups alone, and the expected loss of its runs is compared
with their true loss: what the score of a run gains once its own documents down to k are judged, and nothing else.
This page is written by `docs/calibration.py`, not by hand. In parentheses are 95% intervals by the bootstrap over
groups ({samples:,} samples), because runs of one group are not independent.

"""
ABOUT_SMART = """\
- **Four collections of abstracts** ({names}): {systems} [baseline systems](systems.md) are the
  groups, with {runs} runs of different options and {length} documents per topic. What the qrels do not list is not
  relevant. So few groups, and so different ones, teach little: intervals are wide, and the upper end is that of the
  maximum over groups, not of 95%.
"""
ABOUT_CRITERIA = """\
## What holds, and what does not

A cell is a measure at a pool depth. On TREC-2 everything that is wanted holds. On the abstracts much does not: six
systems say little about the seventh. On CACM and NPL LSA is expected to lose about twice what it loses, character
n-grams and RM3 lose more than expected, so that means are off by more than 10% and slopes lie below 1 in most cells.
No SAFE verdict is wrong by more than twice the tolerance on any collection.

"""
WITHOUT = """\
## Without popularity

Users of a [card](reuse.md#a-card-for-users-without-the-runs) do not have the lists of the contributing runs. The
expected loss then rests on the rank, on the quality of the run and on its coverage.
"""
FAMILIES = """\
## Runs unlike all contributors

Popularity says of a run that retrieves what nobody else does that its unjudged documents are worthless. Therefore
there is a rule: where they are on average less popular than those of 95% of the contributing runs when these are
held out, the upper end is that of the model without popularity. To test it, whole families of systems are left out
of the abstracts, so that no similar run is left in the pool; each run counts as a group, so that enough are left
for an upper end of 95%. Pooled over collections and pool depths; runs of one collection are the same at each depth.
What TREC-2 publishes about its runs does not say which are manual. Left out by group, {unlike} of its {runs} pairs
of run and cell are found unlike.

{outcome}
"""


def main() -> None:
    """Read, calibrate, write."""
    sys.stdout.write(page(collections_in(Path(sys.argv[1]))))


def page(collections: Sequence[Collection]) -> str:
    """The page as Markdown."""
    found = [
        ((one.name, depth, str(cell.measure)), cell)
        for one in collections
        for depth in one.depths
        for cell in calibrate(one, depth)
    ]
    cells: Cells = {key: cell for key, cell in found if cell.variant == "popularity"}
    without: Cells = {key: cell for key, cell in found if cell.variant == "coverage"}
    parts = [HEAD.format(samples=SAMPLES) + about(collections), ABOUT_CRITERIA + kept(cells)]
    parts += ["## Expected and true loss\n", table(cells, LOSSES)]
    parts += ["## Upper ends and SAFE verdicts\n", table(cells, ENDS, pool=True)]
    parts += [WITHOUT, table(without, BRIEF), families(collections, cells)]
    meanings = [f"- *{one.name}*: {one.meaning}." for one in (*LOSSES, *ENDS, UNLIKE)]
    return "\n".join([*parts, "## The columns\n", *meanings]) + "\n"


def about(collections: Sequence[Collection]) -> str:
    """The collections in words."""
    lines = []
    for one in collections:
        if one.otherwise is None:
            groups, topics = {run.group for run in one.contributors}, {topic for topic, _ in one.grades}
            lines.append(
                f"- **{one.name}**: {len(one.runs)} runs of {len(groups)} groups, {len(topics)} topics; "
                f"pools re-made at depths {', '.join(map(str, one.depths))}.\n"
            )
    small = [one for one in collections if one.otherwise is not None]
    if small:
        systems, names = {run.group for run in small[0].contributors}, ", ".join(one.name for one in small)
        lines.append(ABOUT_SMART.format(names=names, systems=len(systems), runs=len(small[0].runs), length=LENGTH))
    return "".join(lines)


def kept(cells: Cells) -> str:
    """How many cells meet each criterion, and the shares that are pooled over all."""
    names = list(dict.fromkeys(name for name, _, _ in cells))
    rows = []
    for criterion in CRITERIA:
        row = [criterion.text]
        for name in names:
            held = [criterion.holds(depth, cell) for (one, depth, _), cell in cells.items() if one == name]
            known = [one for one in held if one is not None]
            row.append(f"{sum(known)} of {len(known)}" if known else "–")
        rows.append(row)
    text = renderers.get("markdown")(table_of(["wanted", *names], rows))
    every = pooled([(name, cell) for (name, _, _), cell in cells.items()])
    groups = len({group for group, safe in zip(every.group, every.safe, strict=True) if safe})
    most = 1 - 0.05 ** (1 / max(groups, 1))
    return text + (
        f"\nPooled over all cells {BELOW.shown(every)} of the true losses are below their upper ends, and "
        f"{WRONG.shown(every)} of {SAFE.shown(every)} SAFE verdicts are wrong by more than twice the tolerance.\n"
        f"(A bootstrap without failures is 0: with {groups} groups, up to {most:.1%} of all groups could have one.)\n"
    )


def table(cells: Cells, figures: Sequence[Figure], *, pool: bool = False) -> str:
    """A table with a line for each cell, and the cells of each collection pooled where that is asked for."""
    rows = [
        [measure, name, str(depth), *(figure.shown(cell) for figure in figures)]
        for (name, depth, measure), cell in sorted(cells.items(), key=lambda item: MEASURES.index(item[0][2]))
    ]
    for name in dict.fromkeys(name for name, _, _ in cells) if pool else ():
        every = pooled([(name, cell) for (one, _, _), cell in cells.items() if one == name])
        rows.append(["all", name, "all", *(figure.shown(every) for figure in figures)])
    heads = ["measure", "collection", "pool depth", *(figure.name for figure in figures)]
    return renderers.get("markdown")(table_of(heads, rows))


def families(collections: Sequence[Collection], cells: Cells) -> str:
    """Whole families that are left out, with and without the rule for runs unlike all contributors."""
    found: dict[tuple[str, str], dict[Variant, list[tuple[str, Calibration]]]] = {}
    for one in collections:
        for depth in one.depths if all(run.family for run in one.contributors) else ():
            for cell in calibrate(one, depth, level="family", variants=("popularity", "no rule")):
                for family in dict.fromkeys(cell.group):
                    mine = cell.only(np.array([group == family for group in cell.group]))
                    by_variant = found.setdefault((str(cell.measure), family), {})
                    by_variant.setdefault(cell.variant, []).append((one.name, replace(mine, group=mine.run_names)))
    rows, outcome = [], [0, 0, 0, 0, 0]
    for (measure, family), by_variant in found.items():
        ruled, free = pooled(by_variant["popularity"]), pooled(by_variant["no rule"])
        row = [measure, family, RUNS.shown(ruled), BELOW.shown(ruled), UNLIKE.shown(ruled)]
        with_rule, without = ruled.only(ruled.unlike), free.only(ruled.unlike)
        others = ruled.only(~ruled.unlike).below
        counts = (ruled.unlike.sum(), with_rule.below.sum(), without.below.sum(), len(others), others.sum())
        outcome = [total + int(count) for total, count in zip(outcome, counts, strict=True)]
        if ruled.unlike.any():
            row += [figure.shown(with_rule) for figure in (EXPECTED, TRUE, BELOW, WIDTH)]
            row += [figure.shown(without) for figure in (BELOW, WIDTH)]
        rows.append(row + ["–"] * (11 - len(row)))
    heads = ["measure", "family", "runs", "below upper end", "unlike", "their expected", "their true"]
    heads += ["below, with the rule", "width", "below, without the rule", "width without"]
    trec = [cell for (name, _, _), cell in cells.items() if name == "TREC-2"]
    count, kept_with, kept_without, other, kept_other = outcome
    shown = (
        f"Of {count} true losses of runs that are found unlike {kept_with} are below the upper end with the rule, "
        f"and {kept_without} without it; of {other} of other runs {kept_other}."
    )
    if count and kept_with == kept_without:
        shown += (
            " The rule has only widened upper ends here: those that are exceeded are mostly of runs it does not find."
        )
    text = FAMILIES.format(
        unlike=sum(int(one.unlike.sum()) for one in trec),
        runs=sum(len(one.true) for one in trec),
        outcome=shown,
    )
    return f"{text}\n{renderers.get('markdown')(table_of(heads, rows))}"


if __name__ == "__main__":
    main()
