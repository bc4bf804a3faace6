"""Everything that a report and a card are made from, by the same steps that `evaluate`, `reuse` and `judge` use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError, MissingExtra
from cranfield.base.progress import Progress, silent
from cranfield.base.text import counted
from cranfield.judge.events import MAIN
from cranfield.store import documents, releases
from cranfield.store.events import assessors
from cranfield.store.pools import pool_number
from cranfield.store.store import Store
from cranfield.workflows.evaluate.evaluate import BestGroup, best_group, evaluate, letters_of
from cranfield.workflows.evaluate.inputs import Asked, stored_names
from cranfield.workflows.judge.agreement import agreement_report
from cranfield.workflows.judge.organise import judging_progress
from cranfield.workflows.pool.show import show_pool
from cranfield.workflows.qrels.current import collection_rule, list_releases, meant_by, qrels_for
from cranfield.workflows.reuse.field import PoolTold
from cranfield.workflows.status import status as collection_status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cranfield.base.tables import Table, Value
    from cranfield.judge.agreement import Estimate
    from cranfield.qrels.merge import Manifest
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.rules import Rule
    from cranfield.report.page import Drawing
    from cranfield.report.reports.collection import JudgingPart, TopicPart
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.provenance import Level
    from cranfield.workflows.evaluate.evaluate import Evaluation
    from cranfield.workflows.judge.agreement import AgreementReport, Group
    from cranfield.workflows.judge.organise import JudgingProgress
    from cranfield.workflows.pool.show import PoolView
    from cranfield.workflows.reuse.field import Trusted
    from cranfield.workflows.status import Status


MEASURES = ("nDCG@10", "AP", "P@10")
LETTERED = 40
"""Up to how many runs get significance letters: more letters than an alphabet has tell nothing."""

HELD_OUT = 200
"""Up to how many runs that fed the pool are held out one by one: the time grows with their cube."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a report is asked for. `public` leaves out the names of assessors and the text of documents."""

    measures: tuple[str, ...] = MEASURES
    qrels: str | None = None
    layers: tuple[str, ...] = (MAIN,)
    public: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """What is known; what is not is None, and `missing` says why.

    `names` gives each assessor the name under which the report speaks of him. `layers` and `rule` are those that the
    qrels were made by: of the release, where they are one; none where they came from a file.
    """

    wanted: Wanted
    status: Status
    qrels: Qrels | None
    release: Manifest | None
    layers: tuple[str, ...]
    rule: Rule
    evaluated: Evaluation | None
    best: BestGroup | None
    trust: Trusted | None
    bias: CollectionReport | None
    pool: PoolView | None
    judging: JudgingProgress | None
    agreement: AgreementReport | None
    no_agreement: str
    names: Mapping[str, str]
    missing: tuple[str, ...]


def material_of(store: Store, wanted: Wanted, *, progress: Progress = silent) -> Material:
    """Gather everything; what a young collection does not have yet is missing, and no error."""
    status, missing = collection_status(store), list[str]()
    qrels = _qrels(store, wanted, missing)
    evaluated, trust, bias = _scores(store, wanted, qrels, stored_names(store), progress, missing)
    has_pool = bool(status.pools)
    layers, rule, release = _origin(store, wanted, qrels)
    looked_at = layers or wanted.layers
    agreement, no_agreement = _agreement(store, looked_at)
    return Material(
        wanted=wanted,
        status=status,
        qrels=qrels,
        release=release,
        layers=layers,
        rule=rule,
        evaluated=evaluated,
        best=_best(evaluated),
        trust=trust,
        bias=bias,
        pool=show_pool(store) if has_pool else None,
        judging=judging_progress(store, layer=looked_at[0]) if has_pool else None,
        agreement=agreement,
        no_agreement=no_agreement,
        names=_names(store, public=wanted.public),
        missing=tuple(missing),
    )


def _qrels(store: Store, wanted: Wanted, missing: list[str]) -> Qrels | None:
    try:
        return qrels_for(store, wanted.qrels, with_unjudged=True, layers=wanted.layers)
    except InputError as error:
        if wanted.qrels is not None or wanted.layers != (MAIN,):
            raise
        missing.append(f"scores, since {error}")
        return None


def _origin(store: Store, wanted: Wanted, qrels: Qrels | None) -> tuple[tuple[str, ...], Rule, Manifest | None]:
    """Give the layers and the rule that qrels were made by, and the release, where they are one."""
    if qrels is None:
        return (), (), None
    word = meant_by(store, wanted.qrels, layers=wanted.layers)
    if word == releases.NOW:
        return wanted.layers, collection_rule(store), None
    release = next((one for one in list_releases(store) if one.name == word), None)
    return ((), (), None) if release is None else (release.layers, release.rule, release)


def _scores(
    store: Store, wanted: Wanted, qrels: Qrels | None, runs: tuple[str, ...], progress: Progress, missing: list[str]
) -> tuple[Evaluation | None, Trusted | None, CollectionReport | None]:
    from cranfield.workflows.reuse.reuse import examine_collection

    if qrels is None or not runs:
        missing += [] if runs else ["scores, since no run was submitted"]
        return None, None, None
    asked = Asked(qrels=qrels, runs=runs, measures=wanted.measures, curve=True)
    evaluated = evaluate(asked, pool=PoolTold(), store=store, progress=progress)
    trust = evaluated.trust
    if 2 <= len(runs) <= LETTERED and evaluated.scores.scored.all():
        evaluated = replace(evaluated, letters=letters_of(evaluated.scores, "tukey"))
    if trust is None:
        return evaluated, None, None
    fed = sum(bool(trust.field.fed_pool(run)) for run in range(len(trust.field.read.runs)))
    if fed > HELD_OUT:
        missing.append(f"what single runs would lose, since {fed:,} of them fed the pool; cranfield reuse tells it")
    without: tuple[Level, ...] = ("run",) if fed > HELD_OUT else ()
    measures = [one.measure for one in trust.trusts]
    return evaluated, trust, examine_collection(trust.field, measures, without=without, thresholds=trust.thresholds)


def _best(evaluated: Evaluation | None) -> BestGroup | None:
    """Find the runs that are level with the best, where they are too many for letters."""
    if evaluated is None or len(evaluated.scores.run_names) <= LETTERED:
        return None
    return best_group(evaluated.scores)


def _agreement(store: Store, layers: tuple[str, ...]) -> tuple[AgreementReport | None, str]:
    try:
        return agreement_report(store, layers=layers), ""
    except InputError as error:
        return None, str(error)


def _names(store: Store, *, public: bool) -> dict[str, str]:
    known = sorted(assessors(store))
    return {name: f"assessor {number}" if public else name for number, name in enumerate(known, start=1)}


# What a report says about judging: progress, speed, agreement, drift.

_SHOWN = ("raw", "positive", "kappa", "kappa-quadratic", "alpha-ordinal")
_OF_GROUPS = ("raw", "positive", "fleiss", "alpha-ordinal")


def judging_part(material: Material) -> JudgingPart | None:
    """Give what is known of judging; None where there is no pool to judge."""
    from cranfield.report.reports.collection import JudgingPart

    found = material.judging
    if found is None:
        return None
    names = material.names
    return JudgingPart(
        documents=found.documents,
        judged=found.judged,
        missing=found.missing,
        seconds=found.seconds,
        assessors=tuple(
            (names.get(one.assessor, "?"), one.judged, one.cannot, one.postponed, one.seconds, one.last[:10])
            for one in found.assessors
        ),
        agreement=dict(_tables(material)),
        no_agreement=material.no_agreement,
    )


def _tables(material: Material) -> Iterator[tuple[str, Table]]:
    report = material.agreement
    if report is None:
        return
    if report.overall.estimates and report.pairs:
        yield "agreement", _overall(report.overall.estimates)
        yield "agreement-pairs", _compared(material, report, probes=False)
        yield "agreement-topics", _groups(report.topics, "Agreement topic by topic", ("topic",))
        yield "agreement-over-time", _drift(report.periods)
    if report.probes:
        yield "agreement-with-oneself", _compared(material, report, probes=True)


def _overall(estimates: Sequence[Estimate]) -> Table:
    from cranfield.base.tables import Column, table_of
    from cranfield.judge.agreement import COEFFICIENTS

    numbers = [Column(name, digits=3, kind="number") for name in ("value", "low", "high")]
    columns = [Column("coefficient"), *numbers, Column("items", kind="number"), Column("what", "what it is")]
    rows = [
        (one.coefficient, one.value, one.low, one.high, one.items, COEFFICIENTS[one.coefficient]) for one in estimates
    ]
    return table_of(columns, rows, caption="Agreement of all assessors, with 95 % intervals")


def _compared(material: Material, report: AgreementReport, *, probes: bool) -> Table:
    from cranfield.base.tables import Column, table_of

    head = ("assessor",) if probes else ("first", "second")
    rows = [
        (
            *(material.names.get(name, "?") for name in (one.first, one.second)[: len(head)]),
            *_values(one.estimates, _SHOWN),
            one.shift,
        )
        for one in (report.probes if probes else report.pairs)
    ]
    numbers = [Column(name, digits=3, kind="number") for name in (*_SHOWN, "shift")]
    columns = [*(Column(name) for name in head), Column("items", kind="number"), *numbers]
    caption = "The same document seen again: how far assessors agree with themselves"
    note = "shift: by how much the second gives higher grades, in the mean"
    return table_of(columns, rows, caption=caption if probes else "Agreement of two", notes=[note])


def _groups(groups: Sequence[Group], caption: str, head: tuple[str, ...], notes: Sequence[str] = ()) -> Table:
    from cranfield.base.tables import Column, table_of

    rows = [
        (
            *((one.name,) if len(head) == 1 else (one.start[:16], one.end[:16])),
            *_values(one.estimates, _OF_GROUPS),
            one.share_relevant,
        )
        for one in groups
    ]
    numbers = [Column(name, digits=3, kind="number") for name in _OF_GROUPS]
    share = Column("relevant", "share relevant", digits=3, kind="number")
    columns = [*(Column(name) for name in head), Column("items", kind="number"), *numbers, share]
    return table_of(columns, rows, caption=caption, notes=notes)


def _drift(periods: Sequence[Group]) -> Table:
    note = "a share of relevant documents that rises or falls from block to block means that the standard drifted"
    return _groups(periods, "Over time: did the standard drift?", ("from", "to"), [note])


def _values(estimates: Sequence[Estimate], names: Sequence[str]) -> tuple[Value, ...]:
    by_name = {one.coefficient: one.value for one in estimates}
    return max((one.items for one in estimates), default=0), *(by_name.get(name) for name in names)


# What a report says about each topic: what is judged, what is relevant, and who found it.

MOST_FOUND = 25
"""How many relevant documents of a topic are listed: those that fewest runs brought."""


def topic_parts(store: Store, material: Material) -> Iterator[TopicPart]:
    """Give all topics in the order they were given, then those that only the qrels know."""
    from cranfield.base.records import Topic
    from cranfield.report.reports.collection import TopicPart

    grades = _grades(material)
    brought, titles = _brought(store, material), _titles(store, material)
    going_on = set(material.bias.not_exhausted) if material.bias is not None else set()
    known = documents.topics(store)
    strangers = [Topic(name, "") for name in grades if name not in {topic.id for topic in known}]
    for topic in (*known, *strangers):
        judged = grades.get(topic.id, {})
        relevant = {name: grade for name, grade in judged.items() if grade >= material.status.scale.relevant_from}
        rows = [
            (document, titles.get(document, ""), grade, *brought.get((topic.id, document), (None, None)))
            for document, grade in relevant.items()
        ]
        rows.sort(key=lambda row: (row[3] or 0, str(row[0])))
        yield TopicPart(topic, len(judged), len(relevant), topic.id in going_on, tuple(rows[:MOST_FOUND]))


def _grades(material: Material) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for topic, document, grade in material.qrels if material.qrels is not None else ():
        if grade >= 0:
            found.setdefault(topic, {})[document] = grade
    return found


def _brought(store: Store, material: Material) -> dict[tuple[str, str], tuple[Value, Value]]:
    """Give for each pooled document how many runs brought it, and the best rank they gave it."""
    if material.pool is None:
        return {}
    rows = store.rows(
        "SELECT topic, document, count(*), min(rank) FROM pool_ranks WHERE pool = ? GROUP BY topic, document",
        pool_number(store, material.pool.facts.name),
    )
    return {(topic, document): (runs, rank) for topic, document, runs, rank in rows}


def _titles(store: Store, material: Material) -> dict[str, str]:
    """Give the titles of the judged documents; none for the public, as all that documents say."""
    if material.wanted.public:
        return {}
    rows = store.rows(
        "SELECT id, title FROM documents WHERE title <> '' AND id IN (SELECT document FROM judgments)"
        if material.status.judged
        else "SELECT id, title FROM documents WHERE title <> ''"
    )
    return dict(rows)


# The figures of a report, each with what it shows in words, what to look for, and its numbers as a table.

MOST_CURVES = 12
MOST_STRIPS = 40


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure of one section (`bias`, `scores` or `curves`), with everything that is said about it."""

    section: str
    name: str
    figure: Figure
    alternative: str
    caption: str
    data: Table | None = None


def pictures_of(material: Material) -> tuple[list[Picture], str]:
    """Draw everything; without matplotlib nothing, and the sentence that says so."""
    if material.evaluated is None:
        return [], ""
    try:
        return [*_bias(material), *_scores_report_pictures(material)], ""
    except MissingExtra as error:
        return [], f"figures, since {error}"


def drawings_of(pictures: Sequence[Picture]) -> dict[str, tuple[Drawing, ...]]:
    """Give the figures as parts of a page, by their section."""
    from cranfield.report.figures import as_svg
    from cranfield.report.page import Drawing

    found: dict[str, tuple[Drawing, ...]] = {}
    for one in pictures:
        drawn = Drawing(one.name, as_svg(one.figure), one.alternative, one.caption, one.data)
        found[one.section] = (*found.get(one.section, ()), drawn)
    return found


def _bias(material: Material) -> Iterator[Picture]:
    from cranfield.workflows.reuse.tables import figures

    found, report = material.trust, material.bias
    if found is None or not found.trusts:
        return
    for name, figure in figures(found, report):
        told = _told(name, found, report)
        if told is not None:
            section = "scores" if name.startswith("intervals") else "bias"
            yield Picture(section, name, figure, *told)


def _told(name: str, found: Trusted, report: CollectionReport | None) -> tuple[str, str, Table | None] | None:
    if name.startswith("intervals"):
        return _of_intervals(name, found)
    if name == "coverage":
        return _of_coverage(found)
    if report is None:
        return None
    return _of_depth(report) if name == "relevant-by-depth" else _of_hold_out(name, found, report)


def _of_intervals(name: str, found: Trusted) -> tuple[str, str, Table]:
    from cranfield.base.tables import Column, table_of
    from cranfield.workflows.reuse.reuse import rows_of
    from cranfield.workflows.reuse.tables import file_name

    trust = next(one for one in found.trusts if name == f"intervals-{file_name(one)}")
    rows = [(row[0], row[2], row[3], row[4], row[9]) for row in rows_of(trust, range(found.field.asked))]
    headings = (("score", ""), ("low", "at least"), ("high", "at most"), ("loss_upper", "expected loss up to"))
    columns = [Column("run"), *(Column(one, heading, kind="number") for one, heading in headings)]
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


def _of_hold_out(name: str, found: Trusted, report: CollectionReport) -> tuple[str, str, Table]:
    from cranfield.base.tables import Column, table_of
    from cranfield.workflows.reuse.tables import file_name

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
    columns = [Column("run"), Column("group"), Column("loss", kind="number")]
    alternative = f"{measure} that each run of {counted(len(groups), 'group')} loses when its group is held out"
    caption = (
        f"{measure}. A point far to the right is a run that needed its own group in the pool to be scored fairly;"
    )
    caption += " a new system of that kind would lose as much."
    caption += " Left of 0 a run would have gained." if any(loss < 0 for *_, loss in rows) else ""
    caption += _drawn_of(len(groups), "group", "that would lose most")
    return alternative, caption, table_of(columns, rows, caption=f"{measure}: losses when a group is held out")


def _of_coverage(found: Trusted) -> tuple[str, str, Table]:
    import numpy as np

    from cranfield.base.tables import Column, table_of

    holes, names = found.trusts[0].assessment.coverage, found.field.read.aligned.run_names
    rows = []
    for run in range(found.field.asked):
        shares = np.nan_to_num(holes.judged[run])
        worst = int(shares.argmin()) if len(shares) else 0
        rows.append((names[run], float(shares.mean()), float(shares.min()), holes.topic_ids[worst]))
    columns = [Column("run"), Column("judged", "judged in the mean", digits=2, kind="number")]
    columns += [Column("lowest", digits=2, kind="number"), Column("topic", "on topic")]
    depth = int(holes.depth.max())
    alternative = f"The share of judged documents among the first {depth} of each run, topic by topic"
    caption = "Dark blue is judged, yellow is not. Many light cells in a row: a run that the pool does not know;"
    caption += " in a column: a topic that was judged too little."
    least, share, *_ = min(rows, key=lambda row: row[1], default=("", 1.0))
    caption += f" Least is judged of {least}: {100 * share:.0f} %." if share < 1 else ""
    return alternative, caption, table_of(columns, rows, caption=f"Judged among the first {depth}")


def _of_depth(report: CollectionReport) -> tuple[str, str, Table]:
    from cranfield.base.tables import Column, table_of

    new = report.new_by_depth
    judged, relevant = new.judged.sum(axis=0).tolist(), new.relevant.sum(axis=0).tolist()
    rows = [(depth, *both) for depth, both in enumerate(zip(judged, relevant, strict=True), start=1)]
    columns = [Column(name, kind="number") for name in ("depth", "judged", "relevant")]
    alternative = f"New relevant documents at each of {counted(len(rows), 'depth')} of the pool"
    caption = "Bars that are still high at the right end say that a deeper pool would have found more."
    return alternative, caption, table_of(columns, rows, caption="What each depth of the pool added")


def _scores_report_pictures(material: Material) -> Iterator[Picture]:
    import numpy as np

    from cranfield.base.tables import Column, table_of
    from cranfield.report.figures import figure_of, precision_recall
    from cranfield.workflows.evaluate.figures import draw_strips

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
        columns = [Column("run"), *(Column(f"{level / 10:.1f}", digits=3, kind="number") for level in range(11))]
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
    from cranfield.report.figures import MOST_DRAWN

    if total <= MOST_DRAWN:
        return ""
    return f" The {MOST_DRAWN} {noun}s {which} are drawn; the table has all {total:,}."


def _cut(runs: int, most: int) -> str:
    return f" The best {most} of {runs:,} runs are drawn." if runs > most else ""
