"""Tables about the reliability of scores, for the terminal, files and the report alike.

A table for people shows some of the columns that data formats have, under the headings that are declared with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.base.text import Column, Number, Table, Value, counted, table_of
from cranfield.reuse.assess import Assessment
from cranfield.reuse.verdict import Thresholds

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
        depth, value, low, high = evidence.completed or (None,) * 4
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
                *(evidence.to_rank or None, value, low, high, depth),
                bool(assessment.coverage.contributed[run].any()),
                *(verdict.level, verdict.rule, verdict.reason),
            )
        )
    return rows


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4f}–{high:.4f}"


def trust_table(assessment: Assessment, runs: Sequence[int]) -> Table:
    """The rows of one measure as people read them, best first."""
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
    return table_of(columns, rows, caption=f"{assessment.measure}: reliability of the scores")


# The collection: its verdict, and what holding out shows at each level, measure by measure.

_HOLD_OUTS = (
    *(Column("level", "held out"), Column("method"), Column("measure"), *_numbers("runs")),
    *(Number("drop_mean", "mean drop"), Number("relative_mean", "mean relative")),
    *(Number("relative_max", "max relative"), Column("relative_worst_run", "of run")),
    *(Number("tau_b", "tau-b", digits=3), Number("tau_b_lowest", "lowest", digits=3)),
    *(Number("tau_ap", "tau_ap", digits=3), Number("tau_ap_lowest", "lowest", digits=3)),
    *(Number("rank_drop", "max rank drop"), Column("falling_run", "of run"), *_numbers("reversals")),
)
_GROUPS = (
    *(Column("level", "held out"), Column("group"), Column("measure")),
    *_numbers("runs", "unique_judged", "unique_relevant", "loss_mean", "loss_max"),
    *(Number("tau_b", "tau-b", digits=3), Number("tau_ap", digits=3), Number("rank_drop", "max rank drop")),
    Column("falling_run", "of run"),
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


def hold_outs_table(report: CollectionReport) -> Table:
    """What holding out groups, runs and families shows, by each measure."""
    rows: Rows = []
    for level, found in report.levels.items():
        for measure, one in found.summaries.items():
            drops = (one.drop.runs, one.drop.mean, one.relative.mean, one.relative.largest, one.relative.worst)
            taus = (one.tau_b, one.lowest_tau_b, one.tau_ap, one.lowest_tau_ap)
            worst = max(one.rerankings, key=lambda one: one.drop, default=None)
            fall = (None, "") if worst is None else (worst.drop, worst.run)
            rows.append((level, found.held_out.provenance.method, str(measure), *drops, *taus, *fall, one.reversals))
    ranked = counted(len(report.provenance.group_of_run), "run")
    note = f"relative: drop divided by the score; tau: ranking of {ranked}; reversals: of significant differences"
    caption = "Held out: loss of its own runs, and change of the ranking"
    return table_of(_HOLD_OUTS, rows, caption=caption, notes=[note])


def groups_table(report: CollectionReport) -> Table:
    """What each held-out group, run or family alone contributed, and what its runs lose, by each measure."""
    rows: Rows = []
    for level, found in report.levels.items():
        own, groups = found.held_out.own, found.held_out.provenance.groups
        for drop, (measure, summary) in zip(own.drop, found.summaries.items(), strict=True):
            for one in summary.rerankings:
                number = groups.index(one.group)
                drops = drop[own.group_of_run == number]
                counts = (len(drops), *(int(count[number]) for count in found.uniques))
                losses = (float(drops.mean()), float(drops.max()))
                taus = (_or_none(one.tau_b), _or_none(one.tau_ap))
                rows.append((level, one.group, str(measure), *counts, *losses, *taus, one.drop, one.run))
    caption = "Unique documents of each group, and the loss of its runs when it is held out"
    return table_of(_GROUPS, rows, caption=caption)


def groups_to_read(report: CollectionReport) -> Table:
    """The same for people: what a group contributed stands in the first of its rows alone."""
    table, levels, told = groups_table(report), [*map(str, report.levels)], set[tuple[Value, ...]]()
    rows: Rows = []
    for row in sorted(table.rows, key=lambda row: (levels.index(str(row[0])), str(row[1]))):
        rows.append((*row[:3], None, None, None, *row[6:]) if row[:2] in told else row)
        told.add(row[:2])
    return replace(table, rows=tuple(rows))


def thresholds_table(thresholds: Thresholds) -> Table:
    """Give the thresholds in force with their meaning."""
    columns = [Column("threshold"), *_numbers("value", "default"), Column("meaning")]
    return table_of(columns, list(thresholds.rows()), caption="Thresholds")


def _or_none(value: float) -> float | None:
    return value if value == value else None
