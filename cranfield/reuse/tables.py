"""Tables about how far scores can be trusted, for the terminal, files and the report alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.tables import Column, Table, Value, table_of

if TYPE_CHECKING:
    from cranfield.evaluate.lists import Counts
    from cranfield.reuse.assess import Assessment
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.pairs import RankIntervals
    from cranfield.reuse.provenance import Level
    from cranfield.reuse.verdict import Thresholds


_DATA_COLUMNS = (
    *("run", "measure", "score", "low", "high", "judged", "holes", "first_unjudged", "loss", "loss_upper"),
    *("rank", "rank_best", "rank_worst", "likely_best", "likely_worst", "contributed", "verdict", "rule", "reason"),
)


def trust_rows(
    assessment: Assessment,
    rank: Counts,
    ranks: RankIntervals,
    likely: RankIntervals,
    runs: Sequence[int],
) -> list[tuple[Value, ...]]:
    """Give everything that is known about runs under one measure, as data: one row each."""
    rows: list[tuple[Value, ...]] = []
    for run in runs:
        evidence, verdict = assessment.evidence[run], assessment.verdicts[run]
        rows.append(
            (
                assessment.run_names[run],
                str(assessment.measure),
                float(assessment.score[run]),
                evidence.low,
                evidence.high,
                evidence.judged,
                evidence.holes,
                assessment.holes.first_hole(run),
                evidence.loss,
                evidence.upper,
                int(rank[run]),
                int(ranks.best[run]),
                int(ranks.worst[run]),
                int(likely.best[run]),
                int(likely.worst[run]),
                bool(assessment.holes.contributed[run].any()),
                verdict.level if verdict else None,
                verdict.rule if verdict else None,
                verdict.reason if verdict else None,
            )
        )
    return rows


def trust_data(rows: Sequence[tuple[Value, ...]]) -> Table:
    """Give rows of `trust_rows` as a table for data formats."""
    numeric = set(_DATA_COLUMNS[2:15])
    columns = [
        Column(name, kind="verdict" if name == "verdict" else "number" if name in numeric else "text")
        for name in _DATA_COLUMNS
    ]
    return table_of(columns, rows)


def trust_table(rows: Sequence[tuple[Value, ...]], *, measure: str, depth: str, guessed: bool = False) -> Table:
    """Give rows of `trust_rows` of one measure as people read them, best first.

    `guessed` says that nobody told who fed the pool, so that the verdicts rest on a guess.
    """
    ordered = sorted(rows, key=lambda row: (-_number(row[2]), str(row[0])))
    at = f"judged@{depth}" if depth else "judged weight"
    columns = [
        Column("run"),
        Column("score", measure, kind="number"),
        Column("possible"),
        Column("judged", at, digits=2, kind="number"),
        Column("holes", kind="number"),
        Column("first", "first hole", kind="number"),
        Column("loss", "expected loss", kind="number"),
        Column("loss_upper", "up to", kind="number"),
        Column("rank", kind="number"),
        Column("ranks", "ranks by interval"),
        Column("verdict", kind="verdict"),
        Column("reason", "why"),
    ]
    said = f"{measure}: how far the scores can be trusted{', if the guess at who fed the pool is right' * guessed}"
    return table_of(columns, [_told(row) for row in ordered], caption=said)


def _told(row: tuple[Value, ...]) -> tuple[Value, ...]:
    run, _, score, low, high, judged, holes, first, loss, upper, rank, best, worst, *_, verdict, _, reason = row
    possible = "" if low is None or high is None else f"{_number(low):.4f}–{_number(high):.4f}"
    ranks = str(best) if best == worst else f"{best}–{worst}"
    return run, score, possible, judged, holes, first, loss, upper, rank, ranks, verdict, reason


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def thresholds_table(thresholds: Thresholds) -> Table:
    """Give the thresholds in force with their meaning."""
    columns = [
        Column("threshold"),
        Column("value", kind="number"),
        Column("default", kind="number"),
        Column("meaning"),
    ]
    return table_of(columns, list(thresholds.rows()), caption="Thresholds in force")


def hold_out_table(report: CollectionReport, *, level: Level) -> Table | None:
    """Give what holding out shows at one level, measure by measure; None where nothing was held out there."""
    found = report.levels.get(level)
    if found is None:
        return None
    rows: list[tuple[Value, ...]] = []
    for measure in found.own.measures:
        summary = found.summary(measure)
        worst = summary.worst
        rows.append(
            (
                str(measure),
                summary.drop.mean,
                summary.relative.mean,
                summary.relative.median,
                summary.relative.upper.value,
                summary.relative.largest,
                summary.relative.worst,
                summary.tau_b,
                summary.lowest_tau_b,
                summary.tau_ap,
                summary.lowest_tau_ap,
                None if worst is None else worst.drop.drop,
                "" if worst is None else worst.run,
                summary.own_decisions.ad + summary.own_decisions.md,
            )
        )
    names = ("mean_drop", "relative_mean", "relative_median", "relative_p95", "relative_max")
    headings = ("mean drop", "mean share", "median share", "95 % share", "largest share")
    columns = [Column("measure"), *(Column(n, h, kind="number") for n, h in zip(names, headings, strict=True))]
    columns += [Column("worst_run", "of run"), *_taus(), Column("rank_drop", "worst fall", kind="number")]
    columns += [Column("falling_run", "of run"), Column("flips", kind="number")]
    upper = found.summary(found.own.measures[0]).relative.upper
    said = f"share: of the score{f'; 95 %: the largest of {upper.n:,}' if upper.is_maximum else ''}"
    said += f"; {len(report.run_names):,} runs are ranked; flips: significant differences that turn round"
    return table_of(
        columns,
        rows,
        caption=f"Each {level} held out ({found.method}): what its own runs lose, and what happens to the ranking",
        notes=[said],
    )


def decisions_table(report: CollectionReport, *, level: Level = "group") -> Table | None:
    """Give how the paired t-test decides on pairs of a held-out run with another, with its group and without it."""
    found = report.levels.get(level)
    if found is None or not any(found.categories):
        return None
    headings = ("pairs", "both", "both, turned", "one", "one, turned", "none", "none, turned")
    columns = [Column("measure")]
    columns += [Column(n, h, kind="number") for n, h in zip(("pairs", *_DECISIONS), headings, strict=True)]
    columns.append(Column("agreement", digits=3, kind="number"))
    return table_of(
        columns,
        [row[2:] for row in _decisions(report) if row[0] == level and row[1] == "own"],
        caption=f"Which qrels call a difference significant: all of them, or those without the {level}?",
        notes=["significant under both, one or none of them; turned: with the other run ahead"],
    )


def decisions_data(report: CollectionReport) -> Table:
    """Give the decisions at all levels, for data formats: on pairs of a held-out run with another, and on all."""
    columns = [
        Column(name, kind="text" if name in _TEXTS else "number")
        for name in ("level", "pairs_of", "measure", "pairs")
    ]
    columns += [Column(name, kind="number") for name in (*_DECISIONS, "agreement")]
    return table_of(columns, list(_decisions(report)))


def _decisions(report: CollectionReport) -> Iterator[tuple[Value, ...]]:
    for level, found in report.levels.items():
        for measure in found.own.measures:
            summary = found.summary(measure)
            for word, one in (("own", summary.own_decisions), ("all", summary.decisions)):
                counts = [getattr(one, name) for name in _DECISIONS]
                agreement = None if one.agreement != one.agreement else one.agreement
                yield (level, word, str(measure), one.pairs, *counts, agreement)


def hold_out_data(report: CollectionReport) -> Table:
    """Give everything hold-outs show, for data formats: a row for each level and measure."""
    rows: list[tuple[Value, ...]] = []
    for level, found in report.levels.items():
        for measure in found.own.measures:
            summary = found.summary(measure)
            worst = summary.worst
            spreads = [
                (one.mean, one.mean_absolute, one.median, one.upper.value, one.largest, one.worst)
                for one in (summary.drop, summary.relative)
            ]
            taus = (summary.tau_b, summary.lowest_tau_b, summary.tau_ap, summary.lowest_tau_ap)
            falls = (None, "") if worst is None else (worst.drop.drop, worst.run)
            decisions = [getattr(summary.own_decisions, name) for name in _DECISIONS]
            known = (level, found.method, str(measure), len(report.run_names), len(found.uniques.groups))
            runs = (summary.drop.runs, summary.drop.upper.is_maximum)
            rows.append((*known, *runs, *spreads[0], *spreads[1], *taus, *falls, *decisions))
    return table_of(_named(_HOLD_OUT_COLUMNS), rows)


def group_data(report: CollectionReport) -> Table:
    """Give what each held-out group, run or family shows, for data formats: a row for each, by each measure."""
    rows: list[tuple[Value, ...]] = []
    for level, found in report.levels.items():
        for place, measure in enumerate(found.own.measures):
            for number, group in enumerate(found.uniques.groups):
                runs = np.flatnonzero(found.own.group_of_run == number)
                drops = found.own.drop[place][runs]
                ranking = found.rerankings[place][number]
                unique = (int(found.uniques.judged[number]), int(found.uniques.relevant[number]))
                loss = (float(drops.mean()), float(drops.max())) if len(runs) else (None, None)
                taus = (_or_none(ranking.tau_b), _or_none(ranking.tau_ap), ranking.drop.drop, ranking.run)
                rows.append((level, group, str(measure), len(runs), *unique, *loss, *taus))
    return table_of(_named(_GROUP_COLUMNS), rows)


_TEXTS = ("level", "pairs_of", "method", "measure", "group", "drop_worst_run", "relative_worst_run", "falling_run")
_DECISIONS = ("aa", "ad", "ma", "md", "pa", "pd")
_SPREAD = ("mean", "mean_absolute", "median", "p95", "max", "worst_run")
_HOLD_OUT_COLUMNS = (
    *("level", "method", "measure", "ranked_runs", "held_out", "runs", "p95_is_max"),
    *(f"drop_{name}" for name in _SPREAD),
    *(f"relative_{name}" for name in _SPREAD),
    *("tau_b", "tau_b_lowest", "tau_ap", "tau_ap_lowest", "rank_drop", "falling_run"),
    *_DECISIONS,
)
_GROUP_COLUMNS = (
    *("level", "group", "measure", "runs", "unique_judged", "unique_relevant", "loss_mean", "loss_max"),
    *("tau_b", "tau_ap", "rank_drop", "falling_run"),
)


def _or_none(value: float) -> float | None:
    return value if value == value else None


def _named(names: Sequence[str]) -> list[Column]:
    return [Column(name, kind="text" if name in (*_TEXTS, "p95_is_max") else "number") for name in names]


def _taus() -> list[Column]:
    names = (("tau_b", "tau-b"), ("tau_b_lowest", "lowest"), ("tau_ap", "tau_ap"), ("tau_ap_lowest", "lowest"))
    return [Column(name, heading, digits=3, kind="number") for name, heading in names]


def groups_table(report: CollectionReport, *, level: Level = "group") -> Table | None:
    """Give for each held-out group what it alone brought, and the largest drop of its runs under each measure."""
    found = report.levels.get(level)
    if found is None:
        return None
    uniques, own = found.uniques, found.own
    rows: list[tuple[Value, ...]] = []
    for number, group in enumerate(uniques.groups):
        runs = np.flatnonzero(own.group_of_run == number)
        drops = [float(own.drop[place][runs].max()) if len(runs) else None for place in range(len(own.measures))]
        rows.append((group, len(runs), int(uniques.judged[number]), int(uniques.relevant[number]), *drops))
    columns = [Column(level), *(Column(name, kind="number") for name in ("runs", "unique_judged", "unique_relevant"))]
    columns += [Column(f"loss_{measure}", f"largest loss {measure}", kind="number") for measure in own.measures]
    return table_of(columns, rows, caption=f"What each {level} alone brought, and what it would lose as an outsider")


def verdicts_table(report: CollectionReport) -> Table:
    """Give the collection's verdict for outsiders, measure by measure."""
    rows = [(str(one.measure), one.fairness, _or_none(one.drop), one.reason) for one in report.verdicts]
    columns = [Column("measure"), Column("fairness", "to outsiders", kind="verdict")]
    columns += [Column("drop", "mean relative loss", kind="number"), Column("reason", "why")]
    return table_of(columns, rows, caption="Is the pool fair to systems that were not in it?")
