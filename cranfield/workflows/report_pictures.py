"""The figures of a report, each with what it shows in words, what to look for, and its numbers as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.errors import MissingExtra
from cranfield.workflows.report_material import Material
from cranfield.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cranfield.report.page import Drawing
    from cranfield.report.table import Table
    from cranfield.reuse.collection import CollectionReport
    from cranfield.workflows.trust import Trusted

MOST_CURVES = 12
MOST_STRIPS = 40


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure of one section (`bias`, `scores` or `curves`), with everything that is said about it."""

    section: str
    name: str
    figure: "Figure"
    alternative: str
    caption: str
    data: "Table | None" = None


def pictures_of(material: Material) -> tuple[list[Picture], str]:
    """Draw everything; without matplotlib nothing, and the sentence that says so."""
    if material.evaluated is None:
        return [], ""
    try:
        return [*_bias(material), *_scores(material)], ""
    except MissingExtra as error:
        return [], f"figures, since {error}"


def drawings_of(pictures: Sequence[Picture]) -> "dict[str, tuple[Drawing, ...]]":
    """Give the figures as parts of a page, by their section."""
    from cranfield.report.figures import as_svg
    from cranfield.report.page import Drawing

    found: dict[str, tuple[Drawing, ...]] = {}
    for one in pictures:
        drawn = Drawing(one.name, as_svg(one.figure), one.alternative, one.caption, one.data)
        found[one.section] = (*found.get(one.section, ()), drawn)
    return found


def _bias(material: Material) -> Iterator[Picture]:
    from cranfield.workflows.reuse_plotting import figures

    found, report = material.trust, material.bias
    if found is None or not found.trusts:
        return
    for name, figure in figures(found, report):
        told = _told(name, found, report)
        if told is not None:
            section = "scores" if name.startswith("intervals") else "bias"
            yield Picture(section, name, figure, *told)


def _told(name: str, found: "Trusted", report: "CollectionReport | None") -> "tuple[str, str, Table | None] | None":
    if name.startswith("intervals"):
        return _of_intervals(name, found)
    if name == "coverage":
        return _of_coverage(found)
    if report is None:
        return None
    return _of_depth(report) if name == "relevant-by-depth" else _of_hold_out(name, found, report)


def _of_intervals(name: str, found: "Trusted") -> "tuple[str, str, Table]":
    from cranfield.report.table import Column, table_of
    from cranfield.workflows.reuse_asking import rows_of
    from cranfield.workflows.reuse_plotting import file_name

    trust = next(one for one in found.trusts if name == f"intervals-{file_name(one)}")
    rows = [(row[0], row[2], row[3], row[4], row[9]) for row in rows_of(trust, range(found.field.asked))]
    headings = (("score", ""), ("low", "at least"), ("high", "at most"), ("loss_upper", "expected loss up to"))
    columns = [Column("run"), *(Column(one, heading, numeric=True) for one, heading in headings)]
    alternative = (
        f"{trust.measure} of {counted(len(rows), 'run')}, each with the scores that unjudged documents allow"
    )
    caption = (
        f"{trust.measure}. Thin lines that overlap: nobody knows which of the runs is better before more is judged."
    )
    caption += " Squares were not in the pool, hollow circles fed it less deep than the measure looks."
    caption += " A thick line ends where the score would at most be, probably, if everything were judged:"
    caption += " far to the right of its point the run deserves more, to the left of it less."
    caption += _drawn_of(len(rows), "run", "that could probably score highest")
    return alternative, caption, table_of(columns, rows, caption=f"{trust.measure}: scores and what is possible")


def _of_hold_out(name: str, found: "Trusted", report: "CollectionReport") -> "tuple[str, str, Table]":
    from cranfield.report.table import Column, table_of
    from cranfield.workflows.reuse_plotting import file_name

    measure = next(one.measure for one in found.trusts if name == f"hold-out-{file_name(one)}")
    level = report.levels["group"]
    own, groups = level.own, level.uniques.groups
    drops, names = own.drop[own.measures.index(measure)], found.field.read.aligned.run_names
    rows = [
        (names[run], groups[group], float(drops[run]))
        for run, group in enumerate(own.group_of_run.tolist())
        if group >= 0
    ]
    rows.sort(key=lambda row: -row[2])
    columns = [Column("run"), Column("group"), Column("loss", numeric=True)]
    alternative = f"{measure} that each run of {counted(len(groups), 'group')} loses when its group is held out"
    caption = (
        f"{measure}. A point far to the right is a run that needed its own group in the pool to be scored fairly;"
    )
    caption += " a new system of that kind would lose as much."
    caption += " Left of 0 a run would have gained." if any(loss < 0 for *_, loss in rows) else ""
    caption += _drawn_of(len(groups), "group", "that would lose most")
    return alternative, caption, table_of(columns, rows, caption=f"{measure}: losses when a group is held out")


def _of_coverage(found: "Trusted") -> "tuple[str, str, Table]":
    import numpy as np

    from cranfield.report.table import Column, table_of

    holes, names = found.trusts[0].assessment.holes, found.field.read.aligned.run_names
    rows = []
    for run in range(found.field.asked):
        shares = np.nan_to_num(holes.judged[run])
        worst = int(shares.argmin()) if len(shares) else 0
        rows.append((names[run], float(shares.mean()), float(shares.min()), holes.topic_ids[worst]))
    columns = [Column("run"), Column("judged", "judged in the mean", digits=2, numeric=True)]
    columns += [Column("lowest", digits=2, numeric=True), Column("topic", "on topic")]
    depth = int(holes.depth.max())
    alternative = f"The share of judged documents among the first {depth} of each run, topic by topic"
    caption = "Dark blue is judged, yellow is not. Many light cells in a row: a run that the pool does not know;"
    caption += " in a column: a topic that was judged too little."
    least, share, *_ = min(rows, key=lambda row: row[1], default=("", 1.0))
    caption += f" Least is judged of {least}: {100 * share:.0f} %." if share < 1 else ""
    return alternative, caption, table_of(columns, rows, caption=f"Judged among the first {depth}")


def _of_depth(report: "CollectionReport") -> "tuple[str, str, Table]":
    from cranfield.report.table import Column, table_of

    new = report.new_by_depth
    judged, relevant = new.judged.sum(axis=0).tolist(), new.relevant.sum(axis=0).tolist()
    rows = [(depth, *both) for depth, both in enumerate(zip(judged, relevant, strict=True), start=1)]
    columns = [Column(name, numeric=True) for name in ("depth", "judged", "relevant")]
    alternative = f"New relevant documents at each of {counted(len(rows), 'depth')} of the pool"
    caption = "Bars that are still high at the right end say that a deeper pool would have found more."
    return alternative, caption, table_of(columns, rows, caption="What each depth of the pool added")


def _scores(material: Material) -> Iterator[Picture]:
    import numpy as np

    from cranfield.report.figures import figure_of, precision_recall
    from cranfield.report.table import Column, table_of
    from cranfield.workflows.plotting import draw_strips

    evaluated = material.evaluated
    if evaluated is None:
        return
    scores, curve = evaluated.scores, evaluated.curve
    order = np.argsort(-np.nan_to_num(scores.summary[0]), kind="stable").tolist()
    drawn = [run for run in order[:MOST_STRIPS] if scores.scored[run].any()]
    if drawn:
        alternative = f"{scores.measures[0]} of each run on each topic"
        caption = (
            f"{scores.measures[0]} on each topic. Runs with the same score can differ much: points far to the left"
        )
        caption += f" are topics where a run fails.{_cut(len(order), MOST_STRIPS)}"
        yield Picture("scores", "by-topic", figure_of(draw_strips(scores, runs=drawn)), alternative, caption)
    if curve is not None:
        shown = order[:MOST_CURVES]
        curves = {curve.run_names[run]: curve.summary[:, run] for run in shown}
        columns = [Column("run"), *(Column(f"{level / 10:.1f}", digits=3, numeric=True) for level in range(11))]
        rows = [(name, *values.tolist()) for name, values in curves.items()]
        data = table_of(columns, rows, caption="Interpolated precision at eleven recall levels")
        caption = (
            "Interpolated precision. The left end tells of the top of the list, the right end of finding everything;"
        )
        caption += f" lines that cross are runs of different kinds.{_cut(len(order), MOST_CURVES)}"
        alternative = f"Precision at eleven levels of recall for {counted(len(shown), 'run')}"
        figure = figure_of(precision_recall(curves))
        yield Picture("curves", "precision-recall", figure, alternative, caption, data)


def _drawn_of(total: int, noun: str, which: str) -> str:
    from cranfield.report.bias_figures import MOST_DRAWN

    if total <= MOST_DRAWN:
        return ""
    return f" The {MOST_DRAWN} {noun}s {which} are drawn; the table has all {total:,}."


def _cut(runs: int, most: int) -> str:
    return f" The best {most} of {runs:,} runs are drawn." if runs > most else ""
