"""Compare runs: differences, letters, what unjudged documents leave of a lead, and the tables that say it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.base.text import (
    Column,
    Number,
    Result,
    Shown,
    Surface,
    Table,
    Value,
    counted,
    few,
    table_of,
    with_best,
)
from cranfield.compare.by_measure import MeasureComparison, Options, compare_scores
from cranfield.compare.comparison import TUKEY, PairResult
from cranfield.evaluate import reading
from cranfield.evaluate.measure import Measure, own_measures, parse_by_scale, parse_measures
from cranfield.evaluate.reading import Request
from cranfield.reuse.pairs import BY_TIES, Claim
from cranfield.reuse.verdict import Verdict
from cranfield.workflows.evaluate.evaluate import HASH_SHOWN, Evaluation, evaluate, made_with
from cranfield.workflows.inputs import Inputs
from cranfield.workflows.reuse.field import Trusted, claim_of, open_score, with_documents

with deferred:
    from cranfield.report import figures

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


Claims = Mapping[tuple[str, str, str], "Claim"]
"""What may be said of pairs while documents are unjudged, by measure and the two runs of a result."""

Verdicts = Mapping[tuple[str, str], Verdict]
"""The verdicts by measure and run."""

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
    ours = all(isinstance(measure, Measure) for measure in parse_measures(request.measures))
    why = []  # no claims can be worked out, and what the verdicts are then
    if verdicts and not ours:
        why = ["no verdicts and no claims: the effect of unjudged documents on measures of ir_measures is not known"]
    elif verdicts and request.duplicates == "novelty":
        why = ["no claims: they apply to plain scores, without novelty; so do the verdicts"]

    if verdicts and ours:
        request = reading.without_pipes(request)  # claims look at the runs again
        field = inputs.field(request)
        found = evaluate(request, read=field.requested)
    else:
        found = inputs.evaluated(request, verdicts=False)
    named = options.with_names(request.runs, found.scores.run_names)
    compared = compare_scores(found.scores, named, request.workers)
    if not verdicts or not ours:
        return Comparison(found, compared, notes=why)
    measures = own_measures(parse_by_scale(request.measures, request.scale))
    trust = field.trusted(measures, learn="where unjudged")
    by_run = {
        (str(one.measure), name): verdict
        for one in trust.trusts
        for name, verdict in zip(one.run_names, one.verdicts, strict=True)
    }
    if why:
        return Comparison(found, compared, verdicts=by_run, notes=[*trust.notes, *why])
    in_full = replace(request, qrels=field.read.qrels, runs=tuple(inputs.in_full(request.runs)))
    claims = _claims(compared, in_full, trust)
    judged = {measure for measure, _ in by_run}
    notes = [*trust.notes]
    if others := [one.measure for one in compared if one.measure not in judged]:
        notes.append(
            f"no verdicts and no claims for {', '.join(others)}: unjudged documents do not bound these measures"
        )
    return Comparison(found, compared, claims=claims, verdicts=by_run, notes=[*notes, *_about(claims.values())])


def _claims(compared: Sequence[MeasureComparison], request: Request, trust: Trusted) -> Claims:
    """Work out what may be said of the pairs that are shown, and of the clearest."""
    by_name = {str(one.measure): one.measure for one in trust.trusts}
    read = with_documents(request, topics=trust.field.read.aligned.topic_ids)
    place = {name: run for run, name in enumerate(read[0].run_names)}
    claims: dict[tuple[str, str, str], Claim] = {}
    for done, one in enumerate(compared, start=1):
        for result in claimed_pairs(one) if one.measure in by_name else ():
            measure, first, second = by_name[one.measure], place[result.a], place[result.b]
            pair = open_score(trust.field, read, measure, first, second)
            tested: Any = {"p": float(result.adjusted_p), "corrected": result.adjusted_p != result.p}
            tested["inferred"] = trust.field.knowledge.inferred
            claims[one.measure, result.a, result.b] = claim_of(pair, trust.of(measure), first, second, **tested)
        request.progress("comparing pairs", done, len(compared))
    return claims


def claimed_pairs(one: MeasureComparison) -> list[PairResult]:
    """The pairs that claims are worked out for: those that are shown, and then the clearest."""
    chosen = [*shown_pairs(one).pairs, *sorted(one.results, key=lambda result: result.clearness)]
    return list({(result.a, result.b): result for result in chosen}.values())[:MOST_PAIRS]


def _about(claims: Collection[Claim]) -> list[str]:
    """Say what the words of claims mean, where something is unjudged, and which leads hang on ties."""
    there = list(claims) if any(one.unjudged for one in claims) else []
    to_a_rank = any(one.level == "robust" and one.down_to for one in there)
    by_ties = few([f"{one.winner} over {one.loser}" for one in claims if one.by_ties], NAMES_SHOWN)
    told = (there, ABOUT_CLAIMS), (to_a_rank, TO_A_RANK), (by_ties, f"{BY_TIES} of {by_ties}")
    return [sentence for holds, sentence in told if holds]


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
    verdicts: Verdicts | None = None
    notes: Sequence[str] = ()
    wide = True

    def on(self, surface: Surface) -> Shown:
        """The comparison; where the table carries the qrels they are not named beside it."""
        tables = [self.table()] if surface == "data" else self.tables(surface)
        return Shown(self.notes, tables, self.remarks_on(with_qrels=surface != "pipe", prefix="note: "))

    def remarks_on(self, *, with_qrels: bool = True, prefix: str = "") -> list[str]:
        """Say what stands behind the scores, what limits tests and intervals, and what the topics could show."""
        notes = dict.fromkeys(note for one in self.compared for note in (*one.notes, *one.interval_notes))
        return [
            *(note for note in self.evaluation.notes if with_qrels or note != made_with(self.evaluation.scores)),
            *(f"{prefix}{note}" for note in notes),
            *(one.power_note() for one in self.compared),
        ]

    def table(self) -> Table:
        """One row per measure and pair, with what all were made with."""
        rows = [row for one in self.compared for row in self._pairs(one)]
        return table_of(list(rows[0]), [tuple(row.values()) for row in rows])

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame; its attributes carry what all were made with, and all notes."""
        frame, scores = self.table().frame(), self.evaluation.scores
        made = {"qrels": scores.qrels_hash, "reference": scores.order, **self.compared[0].options.record()}
        frame = frame.drop(columns=[name for name in made if name in frame])
        frame.attrs.update(made, notes=[*self.notes, *self.remarks_on()])
        return frame

    def _pairs(self, one: MeasureComparison) -> Iterator[dict[str, Any]]:
        """The rows of a measure; claims on the pair and verdicts on either score where any were worked out."""
        power, scores = one.power_record(), self.evaluation.scores
        for result in one.results:
            row = {"measure": one.measure, **dict(zip(_PAIR, astuple(result), strict=True))}
            row["test_draws"] = one.test_draws
            row |= {
                **power,
                **one.options.record(),
                "qrels": scores.qrels_hash[:HASH_SHOWN],
                "reference": scores.order,
            }
            if self.claims is not None:
                claim = self.claims.get((one.measure, result.a, result.b))
                said = (None, None, None) if claim is None else (claim.level, claim.down_to, claim.reason)
                row["claim"], row["claim_depth"], row["claim_reason"] = said
            if self.verdicts is not None:
                row |= {f"verdict_{side}": self._verdict(one, row[side]) or None for side in ("a", "b")}
            yield row

    def _verdict(self, one: MeasureComparison, entry: str) -> str:
        """The verdict of a run; nothing where there is none."""
        known = (self.verdicts or {}).get((one.measure, entry))
        return "" if known is None else known.short

    def tables(self, surface: Surface = "terminal") -> Iterator[Table]:
        """How the runs stand, and their pairs.

        A table carries what stands behind it where it goes without the sentences that a terminal has beside it: the
        qrels through a pipe, everything into a document.
        """
        made, alone = made_with(self.evaluation.scores), surface == "document"
        for one in self.compared:
            yield self._standing_table(
                one, [*self.evaluation.notes, *one.notes] if alone else [made] if surface == "pipe" else []
            )
            resampled = f"{one.options.interval_draws:,} resamples, seed {one.options.seed}"
            drawn = f"95% BCa bootstrap confidence intervals ({resampled})"
            claims = [claim for (measure, _, _), claim in (self.claims or {}).items() if measure == one.measure]
            behind = [made, *([drawn] if one.topics > 1 else [])]
            behind += [*one.notes, *one.interval_notes, one.power_note()]
            yield self._pairs_table(one, [*behind, *_about(claims)] if alone else [])

    def _standing_table(self, one: MeasureComparison, behind: Sequence[str]) -> Table:
        """The entries from best to worst, with what they beat or share."""
        labels = one.scores.labels
        if one.options.baselines:
            last, meaning = Column("beats"), f"beats: significantly better than ({one.tested})"
            cells = {name: few(one.beaten.get(name, ()), NAMES_SHOWN) for name in labels}
        else:
            last, best = Column("level", "level with the best"), one.standing[0][0]
            against = [each for each in one.results if best in (each.a, each.b)]
            below = {each.other(best) for each in against if each.adjusted_p <= one.options.alpha}
            cells = {name: "yes" * (name not in below) for name in labels}
            meaning = f"level with the best: not significantly different from it ({one.tested}); {ALL_IN_DATA} pairs"
        verdicts = any(name == one.measure for name, _ in self.verdicts or ())
        columns = [Column("run"), Number(one.measure, one.measure), last]
        columns += [Column("verdict", kind="verdict")] if verdicts else []
        rows: list[tuple[Value, ...]] = [
            (name, value, cells[name], *([self._verdict(one, name)] if verdicts else []))
            for name, value in one.standing
        ]
        return with_best(table_of(columns, rows, caption=one.measure, notes=[meaning, *behind]), [1])

    def _pairs_table(self, one: MeasureComparison, behind: Sequence[str]) -> Table:
        is_tukey, listed = one.options.test == TUKEY, shown_pairs(one)
        claims = self.claims or {}
        claims = claims if any(claim.unjudged for claim in claims.values()) else {}
        columns = [
            Column("run"),
            Column("against"),
            Number("difference"),
            Number("low", "95% from"),
            Number("high", "to"),
            Number("won", "won/tied/lost"),
            Number("effect", digits=2),
            Column("p", "p (paired t)" if is_tukey else "p", "p"),
            Column("corrected", "Tukey's p" if is_tukey else "corrected", "p"),
            *([Column("claim", "given unjudged documents")] if claims else []),
        ]
        rows: list[tuple[Value, ...]] = []
        for result in listed.pairs:
            pair = result
            if result.b == listed.best:  # the best run stands first
                turned: dict[str, Any] = {"difference": -pair.difference, "low": -pair.high, "high": -pair.low}
                turned |= {"wins": pair.losses, "losses": pair.wins, "effect": -pair.effect}
                pair = replace(pair, a=pair.b, b=pair.a, **turned)
            numbers = (pair.difference, pair.low, pair.high, f"{pair.wins}/{pair.ties}/{pair.losses}", pair.effect)
            claim = claims.get((one.measure, result.a, result.b))
            claimed = ("" if claim is None else claim.said,) if claims else ()
            rows.append((pair.a, pair.b, *numbers, pair.p, pair.adjusted_p, *claimed))
        return table_of(columns, rows, caption=f"Differences in {one.measure}", notes=[*behind, *listed.notes])


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
    values = compared.scores.of(pair.a) - compared.scores.of(pair.b)
    counts = pair.wins, pair.ties, pair.losses
    return figures.differences(compared.measure, pair.a, pair.b, topics, values, counts=counts, on=on)


def plot_comparison(found: Comparison, path: Path) -> str:
    """Draw the differences of one pair by the first measure, topic by topic. Gives what was drawn."""
    compared, scores = found.compared[0], found.evaluation.scores
    if len(compared.results) > 1:
        raise UsageError("--plot has the differences of one pair: name two runs; evaluate --plot has all scores")
    figures.save(figures.figure_of(draw_differences(compared, scores.topic_ids)), path, footer=made_with(scores))
    return f"the difference of {compared.results[0].a} and {compared.results[0].b} on each topic"
