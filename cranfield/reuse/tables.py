"""Tables about the reliability of scores, for the terminal, files and the report alike.

A table for people shows some of the columns that data formats have, under the headings that are declared with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.text import Column, Number, Table, Value, counted, table_of
from cranfield.reuse.assess import Assessment
from cranfield.reuse.hold_out import CATEGORIES
from cranfield.reuse.provenance import Level
from cranfield.reuse.verdict import Evidence, Thresholds

if TYPE_CHECKING:
    from cranfield.reuse.collection import CollectionReport

Rows = list[tuple[Value, ...]]


def _numbers(*names: str) -> tuple[Column, ...]:
    return tuple(map(Number, names))


# Runs: one row for each run and measure.

RUNS = (
    *(Column("run"), Column("measure")),
    *_numbers("score", "low", "high", "judged", "holes", "first_unjudged", "loss", "loss_upper"),
    *_numbers("rank", "rank_best", "rank_worst", "likely_best", "likely_worst"),
    *(Column("to_rank"), *_numbers("complete", "complete_low", "complete_high", "complete_to")),
    *(Column("contributed"), Column("verdict", kind="verdict"), Column("rule"), Column("reason")),
)


def trust_rows(assessment: Assessment, runs: Sequence[int]) -> Rows:
    """Everything that is known about runs under one measure, as data: one row each."""
    rows: Rows = []
    for run in runs:
        evidence, verdict = assessment.evidence[run], assessment.verdicts[run]
        ranks, likely = assessment.ranks, assessment.likely_ranks
        rows.append(
            (
                assessment.run_names[run],
                str(assessment.measure),
                float(assessment.score[run]),
                *evidence.interval,
                evidence.judged,
                evidence.unjudged,
                assessment.coverage.first_unjudged(run),
                evidence.loss,
                evidence.upper,
                *(int(one[run]) for one in (assessment.rank, ranks.best, ranks.worst, likely.best, likely.worst)),
                *completeness_columns(evidence),
                bool(assessment.coverage.contributed[run].any()),
                *(verdict.level, verdict.rule, verdict.reason),
            )
        )
    return rows


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4f}–{high:.4f}"


def completeness_columns(evidence: Evidence) -> tuple[Value, ...]:
    """The rank down to which a score is judged, if its measure looks below the pool, and the completed score."""
    depth, value, low, high = evidence.completed or (None,) * 4
    return evidence.to_rank or None, value, low, high, depth


def trust_table(assessment: Assessment, runs: Sequence[int], *, inferred: bool = False) -> Table:
    """The rows of one measure as people read them, best first; `inferred` says that the pool was inferred."""
    completed, names, score = assessment.completed, assessment.run_names, assessment.score
    is_completed = completed is not None and not completed.unknown
    rows: Rows = []
    for run in sorted(runs, key=lambda run: (-score[run], names[run])):
        evidence, verdict = assessment.evidence[run], assessment.verdicts[run]
        _, value, *ends = evidence.completed or (0, float("nan"), None, None)
        best, worst = int(assessment.ranks.best[run]), int(assessment.ranks.worst[run])
        rows.append(
            (
                *(names[run], float(score[run]), _between(*evidence.interval)),
                *([f"{value:.4f} ({_between(*ends)})"] if is_completed else []),
                *(evidence.judged, evidence.unjudged, assessment.coverage.first_unjudged(run)),
                *(evidence.loss, evidence.upper, int(assessment.rank[run])),
                *(str(best) if best == worst else f"{best}–{worst}", verdict.title, verdict.reason),
            )
        )
    to_rank = next((f"@{one.interval_to}" for one in assessment.evidence if one.interval_to), "")
    depth = 0 if completed is None else completed.depth
    columns = [
        Column("run"),
        Number("score", str(assessment.measure)),
        Column("possible", f"interval{to_rank}"),
        *([Column("complete", f"complete to rank {depth} (80%)")] if is_completed else []),
        Number("judged", assessment.coverage.judged_name, digits=2),
        Number("holes", "unjudged"),
        Number("first", "from rank"),
        Number("loss", "expected loss"),
        Number("loss_upper", "up to"),
        Number("rank"),
        Column("ranks", f"possible ranks{to_rank}"),
        Column("verdict", kind="verdict"),
        Column("reason"),
    ]
    doubt = " (pool inferred)" if inferred else ""
    return table_of(columns, rows, caption=f"{assessment.measure}: reliability of the scores{doubt}")


# The collection: its verdict, and what holding out shows at each level, measure by measure.

HOLD_OUTS = (
    *(Column("level"), Column("method"), Column("measure")),
    *_numbers("ranked_runs", "held_out", "runs"),
    Column("p95_is_max"),
    *(Number("drop_mean", "mean drop"), *_numbers("drop_mean_absolute", "drop_median", "drop_p95")),
    *(*_numbers("drop_max"), Column("drop_worst_run")),
    *(Number("relative_mean", "mean relative"), *_numbers("relative_mean_absolute")),
    *(Number("relative_median", "median relative"), Number("relative_p95", "95%")),
    *(Number("relative_max", "max"), Column("relative_worst_run", "of run")),
    *(Number("tau_b", "tau-b", digits=3), Number("tau_b_lowest", "lowest", digits=3)),
    *(Number("tau_ap", "tau_ap", digits=3), Number("tau_ap_lowest", "lowest", digits=3)),
    *(Number("rank_drop", "max rank drop"), Column("falling_run", "of run")),
    *_numbers(*CATEGORIES),
)
HOLD_OUTS_SHOWN = (
    *("measure", "drop_mean", "relative_mean", "relative_median", "relative_p95", "relative_max"),
    *("relative_worst_run", "tau_b", "tau_b_lowest", "tau_ap", "tau_ap_lowest", "rank_drop", "falling_run"),
)
_GROUPS = (
    *(Column("level"), Column("group"), Column("measure")),
    *_numbers("runs", "unique_judged", "unique_relevant", "loss_mean", "loss_max", "tau_b", "tau_ap", "rank_drop"),
    Column("falling_run"),
)


def verdicts_table(report: CollectionReport) -> Table:
    """The collection's verdict for non-contributing runs, by measure."""
    rows = [(str(one.measure), one.fairness, _or_none(one.drop), one.reason) for one in report.verdicts]
    columns = [
        Column("measure"),
        Column("fairness", "non-contributing runs", "verdict"),
        Number("drop", "mean relative loss"),
        Column("reason"),
    ]
    return table_of(columns, rows, caption="Is the pool fair to non-contributing runs?")


def hold_out_rows(report: CollectionReport, level: Level) -> Iterator[tuple[Value, ...]]:
    found = report.levels[level]
    for measure in found.own.measures:
        summary = found.summary(measure)
        spreads = [
            (one.mean, one.mean_absolute, one.median, one.upper.value, one.largest, one.worst)
            for one in (summary.drop, summary.relative)
        ]
        taus = (summary.tau_b, summary.lowest_tau_b, summary.tau_ap, summary.lowest_tau_ap)
        falls = (None, "") if summary.worst is None else (summary.worst.drop.drop, summary.worst.run)
        known = (level, found.method, str(measure), len(report.run_names), len(found.uniques.groups))
        runs = (summary.drop.runs, summary.drop.upper.is_maximum)
        yield (*known, *runs, *spreads[0], *spreads[1], *taus, *falls, *summary.own_decisions.tolist())


def hold_out_table(report: CollectionReport, *, level: Level) -> Table:
    """Give what holding out shows at one level, measure by measure."""
    found = report.levels[level]
    names = [column.name for column in HOLD_OUTS]
    shown = [names.index(name) for name in HOLD_OUTS_SHOWN]
    turned = [names.index(name) for name in ("ad", "md")]
    upper = found.summary(found.own.measures[0]).relative.upper
    note = "relative: drop divided by the score"
    note += f"; 95%: the maximum of {upper.n:,}, too few for a percentile" if upper.is_maximum else ""
    note += f"; ranking of {counted(len(report.run_names), 'run')}; flips: significant differences that are reversed"
    return table_of(
        [*(HOLD_OUTS[place] for place in shown), *_numbers("flips")],
        [
            (*(row[place] for place in shown), sum(int(str(row[place])) for place in turned))
            for row in hold_out_rows(report, level)
        ],
        caption=f"Leave one {level} out ({found.method}): loss of its own runs, and change of the ranking",
        notes=[note],
    )


def group_data(report: CollectionReport) -> Table:
    """Give what each held-out group, run or family shows, for data formats: a row for each, by each measure."""
    rows: Rows = []
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
    return table_of(_GROUPS, rows)


def groups_table(report: CollectionReport) -> Table:
    """Give for each held-out group what it alone brought, and the largest drop of its runs under each measure."""
    uniques, own = report.levels["group"].uniques, report.levels["group"].own
    rows: Rows = []
    for number, group in enumerate(uniques.groups):
        runs = np.flatnonzero(own.group_of_run == number)
        drops = [float(own.drop[place][runs].max()) if len(runs) else None for place in range(len(own.measures))]
        rows.append((group, len(runs), int(uniques.judged[number]), int(uniques.relevant[number]), *drops))
    columns = [Column("group"), *_numbers("runs", "unique_judged", "unique_relevant")]
    columns += [Column(f"loss_{measure}", f"max loss {measure}", "number") for measure in own.measures]
    caption = "Unique documents of each group, and the loss of its runs when it is held out"
    return table_of(columns, rows, caption=caption)


def thresholds_table(thresholds: Thresholds) -> Table:
    """Give the thresholds in force with their meaning."""
    columns = [Column("threshold"), *_numbers("value", "default"), Column("meaning")]
    return table_of(columns, list(thresholds.rows()), caption="Thresholds")


def _or_none(value: float) -> float | None:
    return value if value == value else None
