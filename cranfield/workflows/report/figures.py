"""The figures of a report, each with what it shows in words, what to look for, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.base.errors import MissingExtra
from cranfield.base.tables import Column, Number, Table, table_of
from cranfield.base.text import counted
from cranfield.evaluate.scores import Scores
from cranfield.report import figures
from cranfield.report.page import Drawing
from cranfield.reuse.assess import Assessment
from cranfield.reuse.collection import CollectionReport
from cranfield.reuse.tables import trust_rows
from cranfield.workflows.evaluate.figures import draw_strips
from cranfield.workflows.report.material import Material
from cranfield.workflows.reuse import reuse
from cranfield.workflows.reuse.field import Trusted

MOST_CURVES = 12
MOST_STRIPS = 40

Words = tuple[str, str, Table | None]
"""What a figure shows, what to look for, and its numbers."""


def draw_all(material: Material) -> tuple[list[Drawing], str]:
    """Draw everything; without matplotlib nothing, and the sentence that says why."""
    evaluation = material.evaluation
    if evaluation is None:
        return [], ""
    drawings: list[Drawing] = []
    try:
        if (trust := evaluation.trust) is not None and trust.trusts:
            for name, kind, one, figure in reuse.figures(trust, material.bias):
                words = _words(kind, one, trust, material.bias)
                if words is not None:
                    section = "scores" if name.startswith("intervals") else "bias"
                    drawings.append(Drawing(name, figures.as_svg(figure), *words, section, figure))
        return [*drawings, *_drawings_of_scores(evaluation.scores, material.curve)], ""
    except MissingExtra as error:
        return [], f"figures: {error}"


def _words(kind: str, one: Assessment | None, trust: Trusted, report: CollectionReport | None) -> Words | None:
    if one is None and kind == "coverage":
        return _words_on_coverage(trust)
    if one is not None and kind == "intervals":
        return _words_on_intervals(one, trust)
    if one is not None and report is not None:
        return _words_on_hold_out(one, trust, report)
    if report is None:
        return None
    new = report.new_by_depth
    judged, relevant = new.judged.sum(axis=0).tolist(), new.relevant.sum(axis=0).tolist()
    rows = [(depth, *both) for depth, both in enumerate(zip(judged, relevant, strict=True), start=1)]
    columns = [*map(Number, ("depth", "judged", "relevant"))]
    return (
        f"New relevant documents at each pool depth from 1 to {len(rows)}",
        "Bars that are still high at the right end: a deeper pool would have found more relevant documents.",
        table_of(columns, rows, caption="New documents at each pool depth"),
    )


def _words_on_intervals(one: Assessment, trust: Trusted) -> Words:
    rows = [(row[0], row[2], row[3], row[4], row[9]) for row in trust_rows(one, range(trust.field.asked))]
    headings = (
        ("score", ""),
        ("low", "lowest possible"),
        ("high", "highest possible"),
        ("loss_upper", "expected loss, upper end"),
    )
    columns = [Column("run"), *(Number(name, heading) for name, heading in headings)]
    return (
        f"{one.measure} of {counted(len(rows), 'run')}, each with the interval that unjudged documents leave",
        f"{one.measure}. Where thin lines overlap, unjudged documents decide which run is better."
        " Squares: not pooled. Hollow circles: pooled, but not down to the cutoff."
        " The thick line ends at the score that the run may reach once all documents are judged (95%):"
        " a line to the right of the point means that the run is underestimated, to the left overestimated."
        + _drawn_of(len(rows), "run", "that may score highest"),
        table_of(columns, rows, caption=f"{one.measure}: scores and intervals"),
    )


def _words_on_hold_out(one: Assessment, trust: Trusted, report: CollectionReport) -> Words:
    measure, level = one.measure, report.levels["group"]
    own, groups = level.own, level.uniques.groups
    drops, names = own.drop[own.measures.index(measure)], trust.field.read.aligned.run_names
    rows = [
        (names[run], groups[group], float(drops[run]))
        for run, group in enumerate(own.group_of_run.tolist())
        if group >= 0
    ]
    rows.sort(key=lambda row: -row[2])
    columns = [Column("run"), Column("group"), Number("loss")]
    return (
        f"Loss of {measure} of each run of {counted(len(groups), 'group')} when its group is held out",
        f"{measure}. A point far to the right: a run whose score depends on its own group being pooled;"
        " a similar new run is expected to lose as much."
        + (" Left of 0: a run whose score rises." if any(loss < 0 for *_, loss in rows) else "")
        + _drawn_of(len(groups), "group", "with the largest losses"),
        table_of(columns, rows, caption=f"{measure}: losses when its group is held out"),
    )


def _words_on_coverage(trust: Trusted) -> Words:
    coverage, names = trust.trusts[0].coverage, trust.field.read.aligned.run_names
    rows = []
    for run in range(trust.field.asked):
        shares = np.nan_to_num(coverage.judged[run])
        worst = int(shares.argmin()) if len(shares) else 0
        rows.append((names[run], float(shares.mean()), float(shares.min()), coverage.topic_ids[worst]))
    columns = [Column("run"), Number("judged", "mean share judged", digits=2)]
    columns += [Number("lowest", "lowest share", digits=2), Column("topic", "on topic")]
    depth = int(coverage.depth.max())
    least, share, *_ = min(rows, key=lambda row: row[1], default=("", 1.0))
    return (
        f"Share of judged documents in the top {depth} of each run, by topic",
        "Dark blue: judged, yellow: unjudged. Many light cells in a row: a run that the pool does not cover;"
        " in a column: a topic with too few judgments."
        + (f" Lowest mean share: {least}, {share:.0%}." if share < 1 else ""),
        table_of(columns, rows, caption=f"Share judged in the top {depth}"),
    )


def _drawings_of_scores(scores: Scores, curve: Scores | None) -> Iterator[Drawing]:
    """Draw the scores topic by topic, and precision at the levels of recall."""
    order = np.argsort(-np.nan_to_num(scores.summary[0]), kind="stable").tolist()

    def cut(most: int) -> str:
        return f" The best {most} of {len(order):,} runs are shown." if len(order) > most else ""

    drawn = [run for run in order[:MOST_STRIPS] if scores.scored[run].any()]
    if drawn:
        figure = figures.figure_of(draw_strips(scores, runs=drawn))
        alternative = f"{scores.measures[0]} of each run on each topic"
        caption = (
            f"{scores.measures[0]} on each topic. Runs with the same mean can differ on single topics:"
            f" points far to the left are topics on which a run fails.{cut(MOST_STRIPS)}"
        )
        yield Drawing("by-topic", figures.as_svg(figure), alternative, caption, None, "scores", figure)
    if curve is not None:
        curves = {curve.run_names[run]: curve.summary[:, run] for run in order[:MOST_CURVES]}
        columns = [Column("run"), *(Number(f"{level / 10:.1f}", digits=3) for level in range(11))]
        rows = [(name, *values.tolist()) for name, values in curves.items()]
        data = table_of(columns, rows, caption="Interpolated precision at eleven recall levels")
        alternative = f"Precision at eleven levels of recall for {counted(len(curves), 'run')}"
        caption = (
            "Interpolated precision. The left end shows the top of the rankings, the right end how the last relevant"
            " documents are found; where lines cross, the order of the runs depends on the recall wanted."
            f"{cut(MOST_CURVES)}"
        )
        figure = figures.figure_of(figures.precision_recall(curves))
        yield Drawing("precision-recall", figures.as_svg(figure), alternative, caption, data, "curves", figure)


def _drawn_of(total: int, noun: str, which: str) -> str:
    if total <= figures.MOST_DRAWN:
        return ""
    return f" The {figures.MOST_DRAWN} {noun}s {which} are shown; the table lists all {total:,}."
