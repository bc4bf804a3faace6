"""Writes the page that shows how good expected losses and verdicts are, on runs whose losses are known.

    python docs/calibration.py DATA > docs/calibration.md

DATA is the folder with `trec-2-adhoc`, `cranfield`, `cacm`, `med` and `vaswani-npl`; `left_out.py` reads them, and
leaves one group or family after the other out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from left_out import FAMILIES as FAMILIES_OF_TREC_2
from left_out import (
    LATENT,
    LENGTH,
    LEXICAL,
    MEASURES,
    SEED,
    SEVEN,
    Calibration,
    Collection,
    Completeness,
    Pool,
    Variant,
    calibrate,
    collections_in,
    complete,
    newcomers,
    pooled,
)
from numpy.typing import NDArray

from cranfield.base.text import table_of
from cranfield.evaluate.lists import Values
from cranfield.evaluate.measure import parse_measure
from cranfield.report.rendering import renderers
from cranfield.reuse.card import MOST_PAIRS, Fusion
from cranfield.reuse.provenance import pooled_shares, provenance_of
from cranfield.reuse.verdict import Thresholds

SAMPLES = 1000
DRAWS = 200
"""How often labels are drawn by the model itself, to see what luck alone does to the figures."""

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

    def of(self, cell: Calibration) -> float:
        """The value alone."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(self.value(cell, np.ones((1, len(cell.group))))[0])

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
BEYOND_COVERAGE = Figure(
    "beyond coverage",
    "the first correlation less the second",
    lambda c, w: CORRELATION.value(c, w) - BY_COVERAGE.value(c, w),
    "+.2f",
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
    ",.0f",
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
    lambda c, w: share_of(c.lost(2), c.safe, w),
    ".1%",
)
UNLIKE = Figure(
    "unlike", "runs that are found unlike all contributors", lambda c, w: w @ c.unlike, ".0f", with_interval=False
)
LOSSES = (RUNS, EXPECTED, TRUE, RATIO, SLOPE, CORRELATION, BY_COVERAGE, ERROR, LOW, HIGH)
ENDS = (BELOW, WIDTH, SAFE, LARGEST, WRONG)
BRIEF = (EXPECTED, RATIO, SLOPE, CORRELATION, ERROR, BELOW, WIDTH, SAFE, WRONG)
"""For the model without popularity."""

# The page.

Cells = dict[tuple[str, int, str], Calibration]
"""By collection, pool depth and measure."""


Wanted = tuple[Figure, float, float]
"""A figure, and the lowest and highest value that is wanted of it."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is wanted of a cell at a pool depth; nothing where it does not apply."""

    text: str
    wanted: Callable[[int, Calibration], Sequence[Wanted]]

    def holds(self, depth: int, cell: Calibration) -> bool | None:
        """Whether all figures are as wanted; those that a cell does not have count as such."""
        wanted = self.wanted(depth, cell)
        values = [(figure.of(cell), low, high) for figure, low, high in wanted]
        return not any(value < low or value > high for value, low, high in values) if wanted else None

    def is_within_reach(self, depth: int, cell: Calibration) -> bool:
        """Whether the 95% interval of each figure reaches into the wanted range."""
        ends = [(figure.with_ends(cell), low, high) for figure, low, high in self.wanted(depth, cell)]
        return not any(highest < low or lowest > high for (_, lowest, highest), low, high in ends)


def _ratios(depth: int, cell: Calibration) -> Sequence[Wanted]:
    off = 0.1 if depth <= 20 else 0.25
    return [(RATIO, 1 - off, 1 + off)]


def _correlations(depth: int, cell: Calibration) -> Sequence[Wanted]:
    return [(CORRELATION, 0.85, 1.0)] if str(cell.measure) == "P@10" and depth in (10, 20) else []


CRITERIA = (
    Criterion("mean expected within 10% of mean true loss, 25% at pool depths above 20", _ratios),
    Criterion("calibration slope .8 to 1.2", lambda depth, cell: [(SLOPE, 0.8, 1.2)]),
    Criterion(
        "in both halves of coverage expected and true loss within .005",
        lambda depth, cell: [(half, -0.005, 0.005) for half in (LOW, HIGH)],
    ),
    Criterion("correlation at least .85 (P@10, pool depths 10 and 20)", _correlations),
    Criterion(
        "correlation not more than .02 below that of coverage", lambda depth, cell: [(BEYOND_COVERAGE, -0.02, 2.0)]
    ),
    Criterion("at least 33 of 37 runs (89%) below the upper end", lambda depth, cell: [(BELOW, 33 / 37 - 1e-9, 1.0)]),
    Criterion("no SAFE run wrong", lambda depth, cell: [(WRONG, 0.0, 0.0)]),
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
- **Four collections of abstracts** ({names}): {systems} systems are the groups, with {runs} runs of
  different options and {length} documents per topic: all [baseline systems](systems.md), and, from the literature,
  other weights of matching words, dependence of words, feedback, a thesaurus, neighbours and clusters, other spaces
  of few dimensions, and fused lists (`docs/more_systems.py` has formulas and sources). As in a track, many share
  their methods. What the qrels do not list is not relevant.
"""
ABOUT_CRITERIA = """\
## What holds, and what does not

A cell is a measure at a pool depth. In parentheses are three bounds. First: in how many cells the 95% interval of the
figure reaches into the wanted range, so that the systems do not tell whether it is met. Second: how many cells would
meet a criterion if the model were exactly right; labels are drawn {draws} times by its own chances, and the losses
that these give stand for the true ones. Third: how many would meet it if the expected losses of each system were
multiplied by a number that only its own true losses tell, one for all depths (upper ends and verdicts stay as they
are).

{outcome}
"""
OUTCOME = """\
On TREC-2 everything that is wanted holds. On the abstracts about as many cells fail as would by chance alone:
with 30 to 225 topics and pools of so many systems a loss of .001 is a handful of documents. One line is worse: that
the correlation is not below that of coverage, above all on Cranfield.
"""
ABOUT_RATIOS = """\

Of the {cells} intervals of the ratio of mean expected to mean true loss on the abstracts {inside} lie in the wanted
range and {outside} outside it, {wider} reach beyond it on both sides, and {one} contain 1, {off_one} of these in
the {off} cells that fail. In {turned} cells one system, left out of both means, turns too much into too little, or
the reverse.

"""
ABOUT_GROUPS = """\
The true loss over the expected loss of each system, by P@10, pooled over pool depths. What systems find that weigh
the query's own words is mostly worth less than expected, and what systems find beyond these words, by feedback,
neighbours or few dimensions, mostly more.

"""
ABOUT_COMPANY = """\
## Few systems, and a lonely one

What do hold-outs teach where the groups are few, or one of them is unlike all others? Here the pools of the abstracts
are made of fewer systems. With seven, the [baselines](systems.md) without `fts5`:

"""
ABOUT_BEDS = """\

The true loss over the expected loss of each, by P@10:

"""
AFTER_BEDS = """\

What LSA alone retrieves is half to two thirds as good as expected on CACM and NPL: systems that match words do not
teach how often documents without them are relevant, and on MED these are good. Is it that there are few groups, or
that LSA has no company? Below are the same criteria for other pools, all four collections together; in parentheses is
how many cells would meet them if the model were exactly right. Six more systems that match words do not help. Three
others of few dimensions do, though there are fewer groups then, and so do systems that leave the query's words in
other ways. So the estimate is right for systems that have something like them among the contributors. For others the
upper end says how far it may be off, and with fewer than 19 groups that is the maximum over groups, not of 95%.

A newcomer of yet another kind was tried by hand: vectors of a sentence encoder (all-MiniLM-L6-v2) by their cosine,
with and without feedback. Beside the seven, the true loss of its runs over the expected one by P@10 is .89 on
Cranfield, 1.41 on CACM, .98 on MED and 1.99 on NPL, and 40 of 48 of their true losses by P@10 and nDCG@10 are below
the upper end; beside all 23 systems it is .96, 1.30, .96 and 1.38, and 46 of 48 are.

Tried without gain: weights of popularity drawn towards those of TREC-2 or towards 1, groups counted the less the more
they retrieve of the same, quality of a run corrected for the popularity of what is judged, coverage of the run or of
the list beside popularity, and an intercept for each group. Upper ends by the spread between few groups (Student's t)
instead of their maximum would hold for 98% instead of 95% of the runs of the seven systems, at twice the width.

"""
CARD = """\
## With a card

Users of a [card](reuse.md#a-card-for-users-without-the-runs) do not have the lists of the contributing runs. The card
carries the fusion scores of the {most:,} most popular unjudged documents instead, with 12 bytes each. On TREC-2:

"""
WITHOUT = """\
## Without popularity

Cards of earlier versions carry no fusion scores. The expected loss then rests on the rank, on the quality of the run
and on its coverage.
"""
COMPLETE = """\
## Complete: the score in a deeper pool

Pools are re-made at a depth and [completed](reuse.md#complete-the-score-in-a-deeper-pool) to rank 100, where the
truth is known. The error should be below that of "no drift", and the 80% interval hold for at least 70% of the runs.
{outcome}
"""
ABOUT_UNKNOWN = """
In MED the relevant documents of a topic are all ranked high, and relevant to no other topic. Of those with a best
rank of 6 to 10, 29% are relevant; at 11 to 20, 11%; at 21 to 40, 2%. That alone a pool of depth 10 does not
show: from rank 5 to 10 it found 156, where 165 were expected. What it shows is that 510 + 725 relevant documents
would be more than the 1,033 that there are, each relevant to one topic only, as the 510. Without the two
rules all errors of MED would be above those of "no drift", up to 4.1 times. Neither rule has a number of its own: the
first allows for what the interval allows for, a quarter for a doubling; from half of the depth to the whole the other
cells are off by at most 14%. Both rules were devised on MED: that they exclude it is no test of them; that they
exclude no correct estimate elsewhere is. CACM and NPL were cut down to the documents that are relevant to some topic
and half as many others, as MED has them, and CACM to twice as many: there, in pools of the seven baselines, neither
rule applies, and the error is below that of "no drift" in all 24 cells.
"""
THRESHOLDS = """\
## The thresholds

Each number of [the table](reference/thresholds.md), with its evidence. Verdicts by the expected loss over all cells
of all collections, if one threshold is halved or doubled: how many are SAFE and of these wrong by more than twice the
tolerance, how many are UNRELIABLE, and how many of these lost more than the tolerance.

"""
EVIDENCE = {
    "tolerance": (
        "a choice, below what topics can tell: the median 95% confidence interval of a difference between two runs "
        "of TREC-2 by P@10 is ±{half_width:.3f}"
    ),
    "finished_pool": "published qrels miss a few pooled documents (2 of 66,000 in one): that is no unfinished pool",
    "finished_topic": (
        "as finished_pool; a topic with fewer than 100 pooled documents may miss one too: where it matters to a run, "
        "that run is PROVISIONAL by what it could change"
    ),
    "topic_judged": "what unreliable_topics counts: below a half, most of what the score rests on is unknown",
    "caution_drift": "the drift of AP on TREC-2 is known to {drift_error:.3f} on average: less is no evidence",
    "fewest_groups": "with two groups there is nothing to compare a held-out group with but the other",
    "fewest_holes": "the rate of ten documents has a standard error of up to .16",
    "largest_share": "held out, this group would take most of what is learned along",
    "fitting_share": "at the true pool depth of TREC-2 the share is 1, at twice that depth {too_deep:.2f}",
    "fair": "about what contributing runs lost in TREC-3 (2.2%) and TREC-2 (1.9% of nDCG@10)",
    "unfair": "mean losses of 6 to 10% are those of collections known to be biased (Terabyte 2004: 9.6%)",
    "enough_groups": "with 9 groups an upper end is the maximum of 9, which one new group of 10 exceeds",
    "told_orphans": "judged documents that no run explains are never removed: hold-outs understate losses by them",
    "most_orphans": "then most of the pool has another origin than the runs at hand",
    "unlike": (
        "left out with their family, 69 to 73 of 120 runs of few dimensions are found unlike, depending on the "
        "measure, of 84 runs with other weights none"
    ),
    "unlike_groups": (
        "a fusion score of .032 on TREC-2, where the limit by unlike is .007 (pool depth 10) and .002 (100): "
        "it decides only where all runs are alike"
    ),
    "completed_error": (
        "where completeness holds it is off by at most 14%, where it fails (MED, pool depth 20) by 76%"
    ),
    "likely": (
        "a choice; it was right for 98 to 100% of the pairs of TREC-2, and for 96 to 100% of those that were judged "
        "for it"
    ),
    "clear": (
        "an order that knows the winner from the start needs at most 1% fewer judgments: there is nothing to gain"
    ),
    "decisive": (
        "the tables of settle on the page of reuse have the order by variance, without this rule, beside it: on the "
        "grades of TREC-2, and if the chances are right"
    ),
}
"""Of thresholds that no verdict by an expected loss depends on."""

TRIED = (
    *("unreliable_judged", "unreliable_topics", "unreliable_loss"),
    *("caution_loss", "caution_upper", "caution_judged"),
)
FAMILIES = """\
## Runs unlike all contributors

Popularity says of a run that retrieves what nobody else does that its unjudged documents are worthless. Therefore
there is a rule: where they are on average less popular than those of 95% of the contributing runs when these are
held out, the upper end is that of the model without popularity. To test it, whole families are left out, so that no
similar run is left in the pool. Of TREC-2 these are {manual} runs that are known to rest on queries made or corrected
by people, and {dense} on vectors of few dimensions (LSI, context vectors), by what the participants answered in
appendix B of NIST SP 500-215; of others it is not known. Of the abstracts they are kinds of systems. Pooled over
collections and pool depths; runs of one collection are the same at each depth. Left out by group, {unlike} of the
{runs} pairs of run and cell of TREC-2 are found unlike; left out by family none is, because others retrieve the same
documents. Dense runs never lose more than their upper end. Manual ones do more often than the wanted 5%.

{outcome}
"""
NEWCOMERS = """\
The shipped collection has a dense run and a lexical one that did not contribute, and judgments that were made for
them afterwards. No dense run contributed:

"""


def main() -> None:
    """Read, calibrate, write."""
    sys.stdout.write(page(collections_in(Path(sys.argv[1]))))


def page(collections: Sequence[Collection]) -> str:
    """The page as Markdown."""
    found: dict[Variant, Cells] = {}
    for one in collections:
        variants: tuple[Variant, ...] = ("popularity", "card", "coverage")
        for depth in one.depths:
            draws = 0 if one.otherwise is None else DRAWS
            for cell in calibrate(one, depth, variants=variants[:: 2 if draws else 1], draws=draws):
                found.setdefault(cell.variant, {})[one.name, depth, str(cell.measure)] = cell
    cells = found["popularity"]
    parts = [HEAD.format(samples=SAMPLES) + about(collections)]
    parts += [ABOUT_CRITERIA.format(draws=DRAWS, outcome=OUTCOME) + kept(cells) + verdicts(cells) + ratios(cells)]
    parts += [ABOUT_GROUPS + by_group(cells), company(collections, cells)]
    parts += ["## Expected and true loss\n", table(cells, LOSSES)]
    parts += ["## Upper ends and SAFE verdicts\n", table(cells, ENDS, pool=True)]
    if "card" in found:
        parts += [CARD.format(most=MOST_PAIRS) + cards(collections, found)]
    parts += [WITHOUT, table(found["coverage"], BRIEF), families(collections, cells)]
    completed = [(one, cell) for one in collections for cell in completions(one)]
    parts += [NEWCOMERS + newcomer_table(), completeness(completed), thresholds(collections, cells, completed)]
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
    """How many cells meet each criterion."""
    names = list(dict.fromkeys(name for name, _, _ in cells))
    rows = []
    for criterion in CRITERIA:
        row = [criterion.text]
        for name in names:
            mine = [(depth, cell) for (one, depth, _), cell in cells.items() if one == name]
            known = [held for one in mine if (held := criterion.holds(*one)) is not None]
            text = f"{sum(known)} of {len(known)}" if known else "–"
            if known and len(mine[0][1].drawn):
                alike = [cell for _, cell in mine]
                mended = [criterion.holds(depth, with_factors(cell, alike)) is True for depth, cell in mine]
                reached = sum(criterion.holds(*one) is not None and criterion.is_within_reach(*one) for one in mine)
                text += f" ({reached}; {sum(by_luck(criterion, *one) for one in mine):.1f}; {sum(mended)})"
            row.append(text)
        rows.append(row)
    return renderers.get("markdown")(table_of(["wanted", *names], rows))


def verdicts(cells: Cells) -> str:
    """The shares of upper ends that are kept and of SAFE verdicts that are wrong, over all cells."""
    every = pooled([(name, cell) for (name, _, _), cell in cells.items()])
    limit, effective, groups = clustered_limit(every)
    return (
        f"\nPooled over all cells {BELOW.shown(every)} of the true losses are below their upper ends.\n"
        f"{int((every.lost(2) & every.safe).sum())} of {SAFE.shown(every)} SAFE verdicts are wrong by more than "
        f"twice the tolerance; the upper 95% limit of that share is {limit:.1%}.\n"
        f"(Korn and Graubard's limit, clustered by {groups} groups: the exact binomial limit for as many\n"
        f"independent verdicts as these are worth, {effective:.0f}, by how much the groups differ in the share that\n"
        f"lost more than the tolerance.)\n"
    )


LONELY = "lsa"
BEDS = (
    ("7 baselines", SEVEN),
    ("and 6 that match the same words", (*SEVEN, *LEXICAL)),
    ("the 7 and 3 of few dimensions", (*SEVEN, *LATENT)),
)
"""Systems that pools are made of."""


def company(collections: Sequence[Collection], cells: Cells) -> str:
    """What holds in pools of fewer systems; nothing where there are no collections with these."""
    small = [one for one in collections if one.otherwise is not None]
    every = {run.group for one in small for run in one.contributors}
    if not every.issuperset(SEVEN):
        return ""
    all_but = ("all but these 3", tuple(sorted(every.difference(LATENT))))
    found = {
        name: {
            (one.name, depth, str(cell.measure)): cell
            for one in small
            for depth in one.depths
            for cell in calibrate(one.only(groups), depth, variants=("popularity",), draws=DRAWS)
        }
        for name, groups in (*BEDS, all_but)
    }
    found["all"] = {key: cell for key, cell in cells.items() if key[0] != "TREC-2"}
    rows = []
    for name, here in found.items():
        groups, row = {group for cell in here.values() for group in cell.group}, []
        for criterion in CRITERIA:
            mine = [(depth, cell) for (_, depth, _), cell in here.items()]
            known = [held for one in mine if (held := criterion.holds(*one)) is not None]
            row.append(f"{sum(known)} of {len(known)} ({sum(by_luck(criterion, *one) for one in mine):.1f})")
        rows.append(
            [name, str(len(groups)), *row, *(f"{_bare(factor_of(LONELY, here, one.name), '.2f')}" for one in small)]
        )
    heads = ["systems", "groups", *(one.text for one in CRITERIA), *(f"{LONELY} on {one.name}" for one in small)]
    few = found[BEDS[0][0]]
    text = ABOUT_COMPANY + kept(few) + ABOUT_BEDS + by_group(few) + AFTER_BEDS
    return text + renderers.get("markdown")(table_of(heads, rows))


def by_luck(criterion: Criterion, depth: int, cell: Calibration) -> float:
    """How often a criterion would be met if every chance of the model were right."""
    held = [bool(criterion.holds(depth, replace(cell, true=losses))) for losses in cell.drawn]
    return float(np.mean(held)) if held else 0.0


def with_factors(cell: Calibration, cells: Sequence[Calibration]) -> Calibration:
    """A cell with expected losses times what its groups truly lost by this measure over what was expected of them."""
    every = pooled([("", one) for one in cells if one.measure == cell.measure])
    names, place = np.unique([*every.group, *cell.group], return_inverse=True)
    of_every, of_cell = np.split(place, [len(every.group)])
    true, expected = (np.bincount(of_every, one, minlength=len(names)) for one in (every.true, every.expected))
    factor = np.divide(true, expected, out=np.ones(len(names)), where=expected != 0)
    return replace(cell, expected=cell.expected * factor[of_cell])


def ratios(cells: Cells) -> str:
    """What the intervals of the ratio of expected and true loss tell of the abstracts; nothing without these."""
    counts, mine = Counter[str](), [(depth, cell) for (name, depth, _), cell in cells.items() if name != "TREC-2"]
    for depth, cell in mine:
        (_, least, most), *_ = _ratios(depth, cell)
        value, low, high = RATIO.with_ends(cell)
        without = [RATIO.of(cell.only(np.array(cell.group) != one)) for one in set(cell.group)]
        counts["inside"] += least <= low and high <= most
        counts["outside"] += high < least or most < low
        counts["wider"] += low < least and most < high
        counts["one"] += low <= 1 <= high
        counts["off"] += not least <= value <= most
        counts["off_one"] += low <= 1 <= high and not least <= value <= most
        counts["turned"] += any((one - 1) * (value - 1) < 0 for one in without)
    names = ("inside", "outside", "wider", "one", "off", "off_one", "turned")
    return ABOUT_RATIOS.format(cells=len(mine), **{name: counts[name] for name in names}) if mine else ""


def clustered_limit(cell: Calibration) -> tuple[float, float, int]:
    """The upper 95% limit of the share of SAFE verdicts that are wrong, how many independent ones they are worth, and
    the number of groups.

    A share of 0 has no variance. That of the verdicts that lost more than the tolerance says how alike those of one
    group are.
    """
    from scipy import stats

    safe = cell.only(cell.safe)
    if not len(safe.true):
        return 1.0, 0.0, 0
    _, group = np.unique(safe.group, return_inverse=True)
    near, size = safe.lost(1).astype(float), len(group)
    share, groups = near.mean(), int(group.max()) + 1
    off = np.bincount(group, near - share)
    variance = groups / (groups - 1) * (off**2).sum() / size**2
    few = (stats.t.ppf(0.95, size - 1) / stats.t.ppf(0.95, groups - 1)) ** 2  # the variance is that of few groups
    effective = few * (min(share * (1 - share) / variance, size) if variance else size)
    wrong = safe.lost(2).mean() * effective
    return float(stats.beta.ppf(0.95, wrong + 1, effective - wrong)), float(effective), groups


def by_group(cells: Cells) -> str:
    """True over expected loss of each group of the abstracts, by the first measure."""
    names = list(dict.fromkeys(name for name, _, _ in cells if name != "TREC-2"))
    groups = dict.fromkeys(group for (name, _, _), cell in cells.items() if name in names for group in cell.group)
    rows = [[group, *(_bare(factor_of(group, cells, name), ".2f") for name in names)] for group in groups]
    return renderers.get("markdown")(table_of(["system", *names], rows)) if rows else ""


def factor_of(group: str, cells: Cells, name: str) -> float:
    """True over expected loss of a group of a collection by the first measure, pooled over pool depths."""
    parts = [("", cell) for (one, _, measure), cell in cells.items() if (one, measure) == (name, MEASURES[0])]
    every = pooled(parts)
    mine = every.only(np.array([one == group for one in every.group]))
    return float(mine.true.sum() / mine.expected.sum())


def cards(collections: Sequence[Collection], found: dict[Variant, Cells]) -> str:
    """The expected losses with a card beside those with the runs and without popularity, and what a card costs."""
    rows = []
    for (name, depth, measure), cell in found["card"].items():
        others = (found["popularity"][name, depth, measure], cell, found["coverage"][name, depth, measure])
        row = [measure, str(depth)]
        row += [figure.shown(one) for figure in (CORRELATION, ERROR) for one in others]
        rows.append([*row, RATIO.shown(cell), SLOPE.shown(cell), BELOW.shown(cell)])
    heads = ["measure", "pool depth"]
    heads += [f"{figure.name}, {by}" for figure in (CORRELATION, ERROR) for by in ("runs", "card", "neither")]
    text = renderers.get("markdown")(table_of([*heads, "ratio", "slope", "below upper end"], rows))
    for one in (one for one in collections if one.otherwise is None):
        sizes = []
        for depth in one.depths:
            pool = Pool.of(one, depth)
            fusion = Fusion.of(pool.alignment, pool.prefixes.by("group"))
            sizes.append(0 if fusion is None else len(fusion.pairs) + len(fusion.scores))
        text += f"\nIn the card of {one.name} they take {max(sizes):,} bytes.\n"
    return text


def completions(collection: Collection) -> list[Completeness]:
    """A pool of each depth that is deep enough, completed."""
    return [one for depth in collection.depths if 10 <= depth < 100 for one in complete(collection, depth, 100)]


def completeness(completed: Sequence[tuple[Collection, Completeness]]) -> str:
    """The scores in deeper pools: expected and true."""
    rows, held, unknown = [], [0, 0], list[str]()
    for collection, one in completed:
        weights = weights_of(one.group)

        def shown(values: Values, form: str = ".4f", weights: Values = weights) -> str:
            every = mean_of(values, weights)
            low, high = np.quantile(every[1:], (0.025, 0.975))
            return f"{_bare(every[0], form)} ({_bare(low, form)} to {_bare(high, form)})"

        inside = ((one.low <= one.truth) & (one.truth <= one.high)).astype(float)
        nothing, error = abs(one.now - one.truth), abs(one.value - one.truth)
        row = [one.measure, collection.name, str(one.depth), shown(one.truth - one.now)]
        if one.unknown:
            unknown.append(f"- {collection.name}, pool depth {one.depth}: {one.unknown}.\n")
            rows.append([*row, "unknown", "–", shown(nothing), "–", "–"])
            continue
        held = [held[0] + int(error.mean() < nothing.mean()), held[1] + int(inside.mean() >= 0.7)]
        row += [shown(one.value - one.now), shown(error), shown(nothing), shown(inside, ".0%")]
        rows.append([*row, _bare(np.median(one.high - one.low), ".4f")])
    heads = ["measure", "collection", "pool depth", "true drift", "expected drift", "absolute error", 'of "no drift"']
    known = len(rows) - len(unknown)
    outcome = f"The first holds in {held[0]} and the second in {held[1]} of the {known} cells with an estimate.\n"
    if unknown:
        outcome += f"In {len(unknown)} more cells the pool contradicts what would be expected, "
        outcome += "and the score in a deeper pool is *unknown*:\n\n"
        outcome += "".join(dict.fromkeys(unknown)) + ABOUT_UNKNOWN
    return COMPLETE.format(outcome=outcome) + renderers.get("markdown")(
        table_of([*heads, "in the 80% interval", "its width"], rows)
    )


def newcomer_table() -> str:
    """The newcomers of the shipped collection."""
    rows = []
    for one in newcomers():
        numbers = [_bare(value, ".4f") for value in (one.expected, one.upper, one.true)]
        rows.append([one.measure, one.run, one.family, *numbers, "yes" if one.unlike else "no"])
    heads = ["measure", "run", "family", "expected", "upper end", "true", "found unlike"]
    return renderers.get("markdown")(table_of(heads, rows))


def thresholds(
    collections: Sequence[Collection], cells: Cells, completed: Sequence[tuple[Collection, Completeness]]
) -> str:
    """The evidence for each threshold."""
    every, rows = pooled([(name, cell) for (name, _, _), cell in cells.items()]), []
    known = {name: value for name, value, _, _ in Thresholds().rows()}
    for name in TRIED:
        for factor in (0.5, 1.0, 2.0):
            value = known[name] * factor
            value = min(value, 1.0) if known[name] < 1 else value
            one = replace(every, thresholds=Thresholds().with_values({name: value}))
            unreliable = np.array([verdict.level == "UNRELIABLE" for verdict in one.verdicts])
            counts = [one.safe, one.safe & one.lost(2), unreliable, unreliable & one.lost(1)]
            rows.append([name if factor == 0.5 else "", f"{value:g}", *(str(int(some.sum())) for some in counts)])
    heads = ["threshold", "value", "SAFE", "of these wrong", "UNRELIABLE", "of these lost more than the tolerance"]
    text = THRESHOLDS + renderers.get("markdown")(table_of(heads, rows))
    facts = facts_of(collections[0], completed)
    others = [[name, evidence.format(**facts)] for name, evidence in EVIDENCE.items()]
    return f"{text}\n{renderers.get('markdown')(table_of(['threshold', 'evidence'], others))}"


def facts_of(collection: Collection, completed: Sequence[tuple[Collection, Completeness]]) -> dict[str, float]:
    """The numbers in the evidence, of one collection."""
    depth = collection.depths[-1]
    pool = Pool.of(collection, depth)
    values = parse_measure("P@10").values(pool.alignment.lists).reshape(pool.alignment.scored.shape)
    first, second = np.triu_indices(len(values), 1)
    widths = 1.96 * (values[first] - values[second]).std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    errors = [abs(one.value - one.truth).mean() for of, one in completed if of is collection and one.measure == "AP"]
    deeper = provenance_of(
        pool.alignment, collection.qrels(depth), collection.runs, collection.contributors, depth=2 * depth
    ).by("group")
    return {
        "half_width": float(np.median(widths)),
        "drift_error": float(np.mean(errors or [np.nan])),
        "too_deep": float(np.nanmean(pooled_shares(pool.alignment, deeper))),
    }


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
        f"Of the {count:,} true losses of runs unlike all contributors, {kept_with:,} are below the upper end with "
        f"the rule and {kept_without:,} without it; of the {other:,} of other runs, {kept_other:,}."
    )
    if count and kept_with == kept_without:
        shown += (
            " The rule has only widened upper ends here: those that are exceeded are mostly of runs it does not find."
        )
    text = FAMILIES.format(
        **{family: len(members) for family, members in FAMILIES_OF_TREC_2.items()},
        unlike=sum(int(one.unlike.sum()) for one in trec),
        runs=sum(len(one.true) for one in trec),
        outcome=shown,
    )
    return f"{text}\n{renderers.get('markdown')(table_of(heads, rows))}"


if __name__ == "__main__":
    main()
