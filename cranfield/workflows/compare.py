"""Compare runs: differences, letters, what unjudged documents leave of a lead, and the tables that say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.base.text import Column, Number, Result, Table, Value, counted, few, table_of, with_best
from cranfield.compare.by_measure import MeasureComparison, Options, compare_scores
from cranfield.compare.comparison import TUKEY, PairResult, beaten
from cranfield.evaluate import reading
from cranfield.evaluate.reading import Request
from cranfield.reuse.pairs import BY_TIES, Claim
from cranfield.workflows.evaluate.evaluate import HASH_SHOWN, Evaluation, made_with
from cranfield.workflows.inputs import Inputs
from cranfield.workflows.reuse.field import claim_of, open_score, with_documents

with deferred:
    from cranfield.report import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Claims = Mapping[tuple[str, str, str], "Claim"]
"""What may be said of pairs while documents are unjudged, by measure and the two runs of a result."""

MOST_PAIRS = 300
"""For how many pairs of a measure claims are worked out; each takes a while."""

PAIRS_SHOWN = 40
AGAINST_BASELINES = 60
"""Up to so many pairs with a baseline are all shown: each of them was requested."""

NAMES_SHOWN = 5

ALL_IN_DATA = "--format csv has all"
ABOUT_CLAIMS = (
    "robust, supported and open say whether unjudged documents could reverse a lead;"
    " p says whether it is statistically significant"
)
TO_A_RANK = "robust to a rank: unjudged documents below it were not considered and could still reverse the lead"


def compare_runs(inputs: Inputs, request: Request, options: Options, *, verdicts: bool = True) -> Comparison:
    """Score runs, compare them under each measure, and say what may be claimed while documents are unjudged.

    Baselines may be named by file or by tag.
    """
    if len(request.runs) < 2:
        raise UsageError("compare needs at least two runs")
    if verdicts:
        request = reading.without_pipes(request)  # claims look at the runs again
    found = inputs.evaluated(request, verdicts=verdicts)
    named = options.with_names(request.runs, found.scores.run_names)
    compared = compare_scores(found.scores, named, request.workers)
    if (trust := found.trust) is None:
        return Comparison(found, compared)
    in_full = replace(request, qrels=trust.field.read.qrels, runs=tuple(inputs.in_full(request.runs)))
    read = with_documents(in_full, topics=trust.field.read.aligned.topic_ids)
    place = {name: run for run, name in enumerate(read[0].run_names)}
    claims, others = dict[tuple[str, str, str], Claim](), list[str]()
    for done, (one, measure) in enumerate(zip(compared, found.scores.measures, strict=True), start=1):
        if (known := trust.of(measure)) is None:
            others.append(one.measure)
            continue
        for result in claimed_pairs(one):
            first, second = place[result.a], place[result.b]
            pair = open_score(trust.field, read, known.measure, first, second)
            tested: Any = {"p": float(result.adjusted_p), "corrected": result.adjusted_p != result.p}
            tested["inferred"] = trust.field.knowledge.inferred
            claims[one.measure, result.a, result.b] = claim_of(pair, known, first, second, **tested)
        request.progress("comparing pairs", done, len(compared))
    said = [*claims.values()]
    notes = list[str]()
    if others:
        names = ", ".join(others)
        notes.append(f"no verdicts and no claims for {names}: unjudged documents do not bound these measures")
    if any(one.unjudged for one in said):
        notes.append(ABOUT_CLAIMS)
        notes += [TO_A_RANK] if any(one.level == "robust" and one.down_to for one in said) else []
    if by_ties := few([f"{one.winner} over {one.loser}" for one in said if one.by_ties], NAMES_SHOWN):
        notes.append(f"{BY_TIES} of {by_ties}")
    return Comparison(found, compared, claims, notes)


def claimed_pairs(one: MeasureComparison) -> list[PairResult]:
    """The pairs that claims are worked out for: those that are shown, and then the clearest."""
    chosen = [*shown_pairs(one).pairs, *sorted(one.results, key=lambda result: result.clearness)]
    return list({(result.a, result.b): result for result in chosen}.values())[:MOST_PAIRS]


# The result: pairs as rows of data, and for people how the runs stand and the pairs one asks about.

_PAIR = (
    *("a", "b", "topics", "mean_a", "mean_b", "difference", "low", "high", "relative", "effect", "hedges", "wins"),
    *("ties", "losses", "statistic", "p", "adjusted_p", "exact", "degenerate"),
)
"""The columns of a pair, in the order of the fields of its result."""


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Runs compared under each measure, pair by pair."""

    evaluation: Evaluation
    compared: Sequence[MeasureComparison]
    claims: Claims | None = None
    notes: Sequence[str] = ()
    wide = True

    @property
    def remarks(self) -> list[str]:  # type: ignore[override]
        """What stands behind the scores, what limits tests and intervals, and what the topics could show."""
        notes = dict.fromkeys(note for one in self.compared for note in one.notes)
        return [*self.evaluation.notes, *notes, *(one.power_note() for one in self.compared)]

    @property
    def carried(self) -> list[str]:  # type: ignore[override]
        """What is said beside the tables, and how intervals were drawn."""
        options = self.compared[0].options
        drawn = f"95% BCa bootstrap confidence intervals ({options.interval_draws:,} resamples, seed {options.seed})"
        return [drawn, *self.remarks, *self.notes]

    def table(self) -> Table:
        """One row per measure and pair, with what all were made with."""
        rows = [row for one in self.compared for row in self._pairs(one)]
        return table_of(list(rows[0]), [tuple(row.values()) for row in rows])

    def attributes(self) -> dict[str, object]:
        """What all pairs were made with."""
        scores = self.evaluation.scores
        return {"qrels": scores.qrels_hash, "reference": scores.order, **self.compared[0].options.record()}

    def _pairs(self, one: MeasureComparison) -> Iterator[dict[str, Any]]:
        """The rows of a measure; claims on the pair and verdicts on either score where any were worked out."""
        scores = self.evaluation.scores
        for result in one.results:
            row = {"measure": one.measure, **dict(zip(_PAIR, astuple(result), strict=True))}
            row |= {
                "test_draws": one.test_draws,
                "discriminative_power": one.power.share,
                "detectable_difference": one.detectable()[0],
                **one.options.record(),
                "qrels": scores.qrels_hash[:HASH_SHOWN],
                "reference": scores.order,
            }
            if self.claims is not None:
                claim = self.claims.get((one.measure, result.a, result.b))
                said = (None, None, None) if claim is None else (claim.level, claim.down_to, claim.reason)
                row["claim"], row["claim_depth"], row["claim_reason"] = said
            if self.evaluation.trust is not None:
                verdicts = self.evaluation.trust.short(one.measure)
                row |= {f"verdict_{side}": verdicts.get(row[side]) for side in ("a", "b")}
            yield row

    def tables(self) -> Iterator[Table]:
        """How the runs stand from best to worst, with what they beat or share, and their pairs."""
        trust, all_claims = self.evaluation.trust, self.claims or {}
        with_claims = any(claim.unjudged for claim in all_claims.values())
        for one in self.compared:
            labels, verdicts = one.scores.labels, {} if trust is None else trust.short(one.measure)
            if one.options.baselines:
                last, meaning = Column("beats"), f"beats: significantly better than ({one.tested})"
                beats = beaten(one.results, alpha=one.options.alpha)
                cells = {name: few(beats.get(name, ()), NAMES_SHOWN) for name in labels}
            else:
                last, best = Column("level", "level with the best"), one.standing[0][0]
                against = [each for each in one.results if best in (each.a, each.b)]
                below = {each.other(best) for each in against if each.adjusted_p <= one.options.alpha}
                cells = {name: "yes" * (name not in below) for name in labels}
                meaning = f"not significantly different from it ({one.tested}); {ALL_IN_DATA} pairs"
                meaning = f"level with the best: {meaning}"
            columns = [Column("run"), Number(one.measure, one.measure), last]
            columns += [Column("verdict", kind="verdict")] if verdicts else []
            rows: list[tuple[Value, ...]] = [
                (name, value, cells[name], *([verdicts[name]] if verdicts else [])) for name, value in one.standing
            ]
            notes = [meaning, made_with(self.evaluation.scores)]
            yield with_best(table_of(columns, rows, caption=one.measure, notes=notes), [1])

            is_tukey, listed = one.options.test == TUKEY, shown_pairs(one)
            columns = [*map(Column, ("run", "against")), Number("difference"), Number("low", "95% from")]
            columns += [Number("high", "to"), Number("won", "won/tied/lost"), Number("effect", digits=2)]
            columns += [
                Column("p", "p (paired t)" if is_tukey else "p", "p"),
                Column("corrected", "Tukey's p" if is_tukey else "corrected", "p"),
                *([Column("claim", "given unjudged documents")] if with_claims else []),
            ]
            rows = []
            for pair in listed.pairs:
                sign = -1 if pair.b == listed.best else 1  # the best run stands first
                (first, second), (low, high) = (pair.a, pair.b)[::sign], sorted((sign * pair.low, sign * pair.high))
                won = "/".join(map(str, (pair.wins, pair.ties, pair.losses)[::sign]))
                claim = all_claims.get((one.measure, pair.a, pair.b))
                claimed = ("" if claim is None else claim.said,) if with_claims else ()
                sizes = sign * pair.difference, low, high, won, sign * pair.effect
                rows.append((first, second, *sizes, pair.p, pair.adjusted_p, *claimed))
            yield table_of(columns, rows, caption=f"Differences in {one.measure}", notes=listed.notes)


class ShownPairs(NamedTuple):
    """The pairs that people see, the run that stands first in each of them, if one does, and what to say of it."""

    pairs: tuple[PairResult, ...]
    best: str = ""
    notes: tuple[str, ...] = ()


def shown_pairs(one: MeasureComparison) -> ShownPairs:
    """Choose the pairs that people see: thousands are no table.

    Against baselines all of them, the highest run first, as long as that is a table one can read, else the clearest.
    Of all pairs, where they are few, all of them, the clearest first. Where they are many the clearest would be the
    top against the bottom, which nobody asks about: then the highest run stands against those below it.
    """
    results, total = one.results, counted(len(one.results), "pair")
    place = {name: rank for rank, (name, _) in enumerate(one.standing)}
    bases = one.options.baselines
    if bases and len(results) <= AGAINST_BASELINES:
        return ShownPairs(tuple(sorted(results, key=lambda result: (bases.index(result.b), place[result.a]))))
    clearest = sorted(results, key=lambda result: result.clearness)
    if len(results) <= PAIRS_SHOWN:
        return ShownPairs(tuple(clearest))
    if bases:
        note = f"the {PAIRS_SHOWN} clearest of {total}; {ALL_IN_DATA}"
        return ShownPairs(tuple(clearest[:PAIRS_SHOWN]), notes=(note,))
    best = one.standing[0][0]
    against = [result for result in results if best in (result.a, result.b)]
    against = sorted(against, key=lambda result: place[result.other(best)])[:PAIRS_SHOWN]
    which = "each other run" if len(against) == len(place) - 1 else f"the next {len(against)} runs"
    return ShownPairs(tuple(against), best, (f"{best} against {which}, of {total}; {ALL_IN_DATA}",))


# Figures of a comparison.


def draw_differences(compared: MeasureComparison, topics: tuple[str, ...], *, on: figures.On = None) -> Axes:
    """Draw the differences of the first pair of a comparison, topic by topic."""
    pair = compared.results[0]
    of_a, of_b = (compared.scores.values[compared.scores.labels.index(name)] for name in (pair.a, pair.b))
    counts = pair.wins, pair.ties, pair.losses
    return figures.differences(compared.measure, pair.a, pair.b, topics, of_a - of_b, counts=counts, on=on)


def plot_comparison(found: Comparison, path: Path) -> str:
    """Draw the differences of one pair by the first measure, topic by topic. Gives what was drawn."""
    compared, scores = found.compared[0], found.evaluation.scores
    if len(compared.results) > 1:
        raise UsageError("--plot has the differences of one pair: name two runs; evaluate --plot has all scores")
    figures.save(figures.figure_of(draw_differences(compared, scores.topic_ids)), path, footer=made_with(scores))
    return f"the difference of {compared.results[0].a} and {compared.results[0].b} on each topic"
