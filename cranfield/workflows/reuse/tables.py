"""Tables of `cranfield reuse`: which there are, and those beside the report's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from cranfield.base.errors import InputError
from cranfield.reuse.parts import ALWAYS, OF_COLLECTION, Part
from cranfield.workflows.reuse.field import Trust, Trusted
from cranfield.workflows.reuse.reuse import Estimated, depth_words, estimates, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cranfield.base.tables import Table
    from cranfield.report.figures import On
    from cranfield.reuse.collection import CollectionReport


def shown_tables(found: Trusted, report: CollectionReport | None, *, more: tuple[Part, ...] = ()) -> Iterator[Table]:
    """Give the tables as people read them, those that are always shown and more.

    Where the pool cannot be tested hold-outs prove nothing, and are left out.
    """
    for part in get_args(Part):
        if part not in ALWAYS and part not in more:
            continue
        if part not in OF_COLLECTION:
            yield from _about_runs(found, part)
        elif report is not None and (part == "collection" or report.fairness != "untestable"):
            yield from _about_collection(report, part)


def one_table(found: Trusted, report: CollectionReport | None, part: Part, *, data: bool) -> list[Table]:
    """Give one kind of tables alone; as data it is one table, with measures and levels as columns."""
    if part in OF_COLLECTION:
        if report is None:
            raise InputError("nothing can be held out: it is not known who fed the pool; tell it with --groups")
        return [_collection_data(report, part)] if data else list(_about_collection(report, part))
    return [_runs_data(found, part)] if data else list(_about_runs(found, part))


def _about_collection(report: CollectionReport, part: Part) -> Iterator[Table]:
    from cranfield.reuse.tables import decisions_table, groups_table, hold_out_table, verdicts_table

    if part == "collection":
        yield verdicts_table(report)
    elif part == "hold-outs":
        found = (hold_out_table(report, level=level) for level in ("group", "run", "family"))
        yield from (table for table in found if table is not None)
    else:
        table = groups_table(report) if part == "groups" else decisions_table(report)
        if table is not None:
            yield table


def _collection_data(report: CollectionReport, part: Part) -> Table:
    from cranfield.reuse.tables import decisions_data, group_data, hold_out_data, verdicts_table

    made = {"collection": verdicts_table, "hold-outs": hold_out_data, "groups": group_data}
    return made.get(part, decisions_data)(report)


def _about_runs(found: Trusted, part: Part) -> Iterator[Table]:
    from cranfield.reuse.tables import trust_table

    if part == "runs":
        for trust in found.trusts:
            rows = rows_of(trust, range(found.field.asked))
            yield trust_table(rows, measure=str(trust.measure), depth=depth_words(trust), guessed=found.field.guessed)
    elif part == "estimates":
        yield from (estimates_table(found, one) for one in estimates(found))
    else:
        yield worst_topics(found) if part == "topics" else pool_table(found)


def _runs_data(found: Trusted, part: Part) -> Table:
    from cranfield.reuse.tables import trust_data

    if part == "runs":
        return trust_data([row for trust in found.trusts for row in rows_of(trust, range(found.field.asked))])
    if part == "estimates":
        return estimates_data(found)
    return worst_topics(found) if part == "topics" else pool_table(found)


def pool_table(found: Trusted) -> Table:
    """Give what each run brought into the pool: down to which depth, for how many topics; and what it lacks."""
    from cranfield.base.tables import Column, table_of

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
    names = (("fed_topics", "topics fed"), ("fed_from", "down to at least"), ("fed_to", "at most"))
    more = (("topics", "topics scored"), ("missing", "without a list"), ("short", "shorter than the pool"))
    columns = [Column("run"), Column("group")]
    columns += [Column(name, heading, kind="number") for name, heading in (*names, *more)]
    return table_of(columns, rows, caption="What each run brought into the pool, and what it lacks")


def estimates_data(found: Trusted) -> Table:
    """Give the estimates of all measures in one table."""
    from cranfield.base.tables import Column, table_of

    each = [(one, estimates_table(found, one)) for one in estimates(found)]
    if not each:
        return table_of([Column("run"), Column("measure")], [])
    columns = each[0][1].columns
    rows = [(row[0], str(one.measure), *row[1:], *_shift_facts(one)) for one, table in each for row in table.rows]
    about = [Column(name, kind="number") for name in ("shift", "shift_error", "error_without")]
    return table_of([columns[0], Column("measure"), *columns[1:], *about], rows)


def _shift_facts(one: Estimated) -> tuple[float | None, ...]:
    """Give the shift, how far off it is for a group that it was not made from, and how far off nothing would be."""
    if one.shift is None:
        return (None, None, None)
    numbers = (one.shift.value, one.shift.error, one.shift.plain_error)
    return tuple(None if number != number else number for number in numbers)


def estimates_table(found: Trusted, one: Estimated) -> Table:
    """Give what the scores of one measure might be with the holes judged; never the scores themselves."""
    from cranfield.base.tables import Column, table_of

    rows = []
    trust = found.of(one.measure)
    for run in range(found.field.asked):
        completed = one.completed
        told = (None, None, None) if completed is None else (completed.value, completed.low, completed.high)
        values = [None if value is None else float(value[run]) for value in told]
        highest = None if trust is None else trust.assessment.evidence[run].high
        if values[2] is not None and highest is not None:
            values[2] = min(values[2], max(highest, values[0] or 0.0))
        shifted = None
        if one.shift is not None and trust is not None and not found.field.fed_pool(run):
            shifted = float(trust.assessment.score[run] + one.shift.value)
        condensed = None if one.condensed is None else float(one.condensed[run])
        rows.append((found.field.read.aligned.run_names[run], *values, shifted, condensed))
    names = (("completed", "with expected loss"), ("low", "from"), ("high", "to"), ("shifted", "Webber–Park"))
    columns = [Column("run"), *(Column(name, heading, kind="number") for name, heading in names)]
    columns.append(Column("condensed", "condensed list", kind="number"))
    notes = ["estimates, never the score"] + ([str(one.shift)] if one.shift is not None else [])
    return table_of(columns, rows, caption=f"{one.measure}: estimates with the holes judged", notes=notes)


def worst_topics(found: Trusted) -> Table:
    """Give for each run and measure the topics with the least judged."""
    from cranfield.base.tables import Column, table_of

    rows = [
        (found.field.read.aligned.run_names[run], str(trust.measure), topic, share)
        for trust in found.trusts
        for run in range(found.field.asked)
        for topic, share in trust.assessment.holes.worst(run)
    ]
    columns = [Column("run"), Column("measure"), Column("topic"), Column("judged", digits=2, kind="number")]
    return table_of(columns, rows, caption="Topics with the least judged")


# The pictures of pool bias, on axes or written to files.


def draw_all(found: Trusted, report: CollectionReport | None, folder: Path) -> Iterator[Path]:
    """Draw everything into a folder; gives each file when it is there."""
    from cranfield.report.figures import save

    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(found, report):
        path = folder / f"{name}.svg"
        save(figure, path)
        yield path


def figures(found: Trusted, report: CollectionReport | None) -> Iterator[tuple[str, Figure]]:
    """Give (name, figure): intervals and losses for each measure, coverage, and relevance by depth."""
    from cranfield.report.figures import figure_of

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
    import numpy as np

    from cranfield.report.figures import intervals

    assessment = trust.assessment
    runs, fed = slice(0, found.field.asked), [found.field.fed_pool(run) for run in range(found.field.asked)]
    score = assessment.score[runs]
    low, high = (np.where(np.isnan(ends), score, ends) for ends in (assessment.low[runs], assessment.high[runs]))
    upper = score if assessment.loss is None else score + np.nan_to_num(assessment.loss.upper[runs])
    return intervals(
        str(trust.measure),
        assessment.run_names[runs],
        score,
        (low, high),
        upper,
        contributing=np.asarray(assessment.holes.contributed[runs].any(axis=1)),
        pooled=None if None in fed else np.array(fed, dtype=bool),
        on=on,
    )


def draw_hold_out(report: CollectionReport, trust: Trust, *, on: On = None) -> Axes:
    """Draw what the runs of each group lose under one measure when the group is held out."""
    import numpy as np

    from cranfield.report.figures import hold_out_loss

    own = report.levels["group"].own
    drops = own.drop[own.measures.index(trust.measure)]
    groups = report.levels["group"].uniques.groups
    by_group = [drops[np.flatnonzero(own.group_of_run == number)] for number in range(len(groups))]
    return hold_out_loss(str(trust.measure), groups, by_group, on=on)


def draw_coverage(found: Trusted, *, on: On = None) -> Axes:
    """Draw how much of the top of each run is judged, topic by topic, down to the depth of the first measure."""
    from cranfield.report.figures import coverage

    holes = found.trusts[0].assessment.holes
    runs = found.field.asked
    names = found.field.read.aligned.run_names[:runs]
    return coverage(names, holes.topic_ids, holes.judged[:runs], depth=int(holes.depth.max()), on=on)


def draw_depths(report: CollectionReport, *, on: On = None) -> Axes:
    """Draw how many new relevant documents each depth of the pool brought."""
    import numpy as np

    from cranfield.report.figures import relevant_by_depth

    gone = report.extrapolation
    reach = gone.to_depth if gone.decay is not None and not gone.refusal else 0
    fitted = gone.decay.new_at(np.arange(1, reach + 1)) if reach and gone.decay is not None else None
    found = report.new_by_depth.relevant.sum(axis=0).astype(np.float64)
    return relevant_by_depth(found, fitted=fitted, until=reach, on=on)
