"""The tables and pictures of `cranfield reuse`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError
from cranfield.base.registry import deferred
from cranfield.base.tables import Column, Table, table_of
from cranfield.workflows.results import OF_COLLECTION, Part
from cranfield.workflows.reuse import reuse
from cranfield.workflows.reuse.field import Trust, Trusted

with deferred:
    import numpy as np

    from cranfield.report import figures as report_figures
    from cranfield.reuse import tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cranfield.report.figures import On
    from cranfield.reuse.collection import CollectionReport


def part_tables(found: Trusted, report: CollectionReport | None, part: Part, *, data: bool) -> list[Table]:
    """Give one kind of tables; as data it is one table, with measures and levels as columns."""
    if part in OF_COLLECTION:
        if report is None:
            raise InputError("nothing can be held out: it is not known who fed the pool; tell it with --groups")
        return _of_collection(report, part, data=data)
    if part == "runs":
        asked = range(found.field.asked)
        by_measure = [(trust, reuse.rows_of(trust, asked)) for trust in found.trusts]
        if data:
            return [tables.trust_data([row for _, rows in by_measure for row in rows])]
        guessed = found.field.inferred
        return [
            tables.trust_table(rows, measure=str(trust.measure), depth=reuse.depth_words(trust), guessed=guessed)
            for trust, rows in by_measure
        ]
    return [_worst_topics(found) if part == "topics" else _pool_table(found)]


def _of_collection(report: CollectionReport, part: Part, *, data: bool) -> list[Table]:
    if part == "collection":
        return [tables.verdicts_table(report)]
    if data:
        make = {"hold-outs": tables.hold_out_data, "groups": tables.group_data, "decisions": tables.decisions_data}
        return [make[part](report)]
    if part == "hold-outs":
        made = [tables.hold_out_table(report, level=level) for level in ("group", "run", "family")]
    else:
        made = [tables.groups_table(report) if part == "groups" else tables.decisions_table(report)]
    return [table for table in made if table is not None]


def _pool_table(found: Trusted) -> Table:
    """Give what each run brought into the pool: down to which depth, for how many topics; and what it lacks."""
    field = found.field
    aligned, depth = field.read.aligned, field.depth
    rows: list[tuple[str | int | None, ...]] = []
    for run in range(field.asked):
        fed = field.fed_topics(run)
        reached = (None, None) if fed is None or not len(fed) else (int(depth[fed].min()), int(depth[fed].max()))
        scored, present = aligned.scored[run], aligned.present[run]
        lengths = aligned.lists.length.reshape(aligned.shape)[run]
        rows.append(
            (
                aligned.run_names[run],
                field.group_of(run),
                None if fed is None else len(fed),
                *reached,
                int(scored.sum()),
                int((scored & ~present).sum()),
                int((scored & present & (lengths < depth)).sum()),
            )
        )
    columns = [
        Column("run"),
        Column("group"),
        Column("fed_topics", "topics fed", "number"),
        Column("fed_from", "down to at least", "number"),
        Column("fed_to", "at most", "number"),
        Column("topics", "topics scored", "number"),
        Column("missing", "without a list", "number"),
        Column("short", "shorter than the pool", "number"),
    ]
    return table_of(columns, rows, caption="What each run brought into the pool, and what it lacks")


def _worst_topics(found: Trusted) -> Table:
    """Give for each run and measure the topics with the least judged."""
    rows = [
        (found.field.read.aligned.run_names[run], str(trust.measure), topic, share)
        for trust in found.trusts
        for run in range(found.field.asked)
        for topic, share in trust.assessment.coverage.worst(run)
    ]
    columns = [Column("run"), Column("measure"), Column("topic"), Column("judged", kind="number", digits=2)]
    return table_of(columns, rows, caption="Topics with the least judged")


# The pictures of pool bias, on axes or written to files.


def draw_all(found: Trusted, report: CollectionReport | None, folder: Path) -> Iterator[Path]:
    """Draw everything into a folder; gives each file when it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(found, report):
        path = folder / f"{name}.svg"
        report_figures.save(figure, path)
        yield path


def figures(found: Trusted, report: CollectionReport | None) -> Iterator[tuple[str, Figure]]:
    """Give (name, figure): intervals and losses for each measure, coverage, and relevance by depth."""
    figure_of = report_figures.figure_of
    for trust in found.trusts:
        yield f"intervals-{file_name(trust)}", figure_of(draw_intervals(found, trust))
        if report is not None and "group" in report.levels:
            yield f"hold-out-{file_name(trust)}", figure_of(draw_hold_out(report, trust))
    yield "coverage", figure_of(draw_coverage(found))
    if report is not None:
        yield "relevant-by-depth", figure_of(draw_depths(report))


def file_name(trust: Trust) -> str:
    """Give a measure as part of the name of a file."""
    return "".join(letter if letter.isalnum() else "-" for letter in str(trust.measure)).strip("-")


def draw_intervals(found: Trusted, trust: Trust, *, on: On = None) -> Axes:
    """Draw what the score of each run could be under one measure."""
    assessment = trust.assessment
    runs, fed = slice(0, found.field.asked), [found.field.fed_pool(run) for run in range(found.field.asked)]
    score = assessment.score[runs]
    low, high = (np.where(np.isnan(ends), score, ends) for ends in (assessment.low[runs], assessment.high[runs]))
    upper = score if assessment.loss is None else score + np.nan_to_num(assessment.loss.upper[runs])
    return report_figures.intervals(
        str(trust.measure),
        assessment.run_names[runs],
        score,
        (low, high),
        upper,
        contributing=np.asarray(assessment.coverage.contributed[runs].any(axis=1)),
        pooled=None if None in fed else np.array(fed, dtype=bool),
        on=on,
    )


def draw_hold_out(report: CollectionReport, trust: Trust, *, on: On = None) -> Axes:
    """Draw what the runs of each group lose under one measure when the group is held out."""
    own = report.levels["group"].own
    drops = own.drop[own.measures.index(trust.measure)]
    groups = report.levels["group"].uniques.groups
    by_group = [drops[np.flatnonzero(own.group_of_run == number)] for number in range(len(groups))]
    return report_figures.hold_out_loss(str(trust.measure), groups, by_group, on=on)


def draw_coverage(found: Trusted, *, on: On = None) -> Axes:
    """Draw how much of the top of each run is judged, topic by topic, down to the depth of the first measure."""
    holes, runs = found.trusts[0].assessment.coverage, found.field.asked
    names = found.field.read.aligned.run_names[:runs]
    return report_figures.coverage(names, holes.topic_ids, holes.judged[:runs], depth=int(holes.depth.max()), on=on)


def draw_depths(report: CollectionReport, *, on: On = None) -> Axes:
    """Draw how many new relevant documents each depth of the pool brought."""
    gone = report.extrapolation
    reach = gone.to_depth if gone.decay is not None and not gone.refusal else 0
    fitted = gone.decay.new_at(np.arange(1, reach + 1)) if reach and gone.decay is not None else None
    found = report.new_by_depth.relevant.sum(axis=0).astype(np.float64)
    return report_figures.relevant_by_depth(found, fitted=fitted, until=reach, on=on)
