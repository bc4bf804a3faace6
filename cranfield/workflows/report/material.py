"""What a report and a card are made from, gathered by the same workflows as `evaluate`, `reuse` and `judge`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError
from cranfield.base.files import Progress, silent
from cranfield.base.records import Topic
from cranfield.base.tables import Column, Table, Value, table_of
from cranfield.judge.agreement import COEFFICIENTS, Estimate
from cranfield.judge.events import MAIN
from cranfield.qrels.release import NOW
from cranfield.report.reports.collection import JudgingPart, TopicPart
from cranfield.store import documents
from cranfield.store.events import assessors
from cranfield.store.pools import pool_number
from cranfield.store.store import Store
from cranfield.workflows.evaluate.evaluate import evaluate, letters_of
from cranfield.workflows.evaluate.inputs import Request, stored_names
from cranfield.workflows.judge.agreement import agreement_report
from cranfield.workflows.judge.organise import judging_progress
from cranfield.workflows.pool.show import show_pool
from cranfield.workflows.qrels import Selection, collection_rule, list_releases, meant_by, qrels_for
from cranfield.workflows.reuse.field import PoolOptions
from cranfield.workflows.reuse.reuse import examine_collection
from cranfield.workflows.status import status as collection_status

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.release import Manifest, Rule
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.provenance import Level
    from cranfield.workflows.evaluate.evaluate import Evaluation
    from cranfield.workflows.judge.agreement import AgreementReport, Group
    from cranfield.workflows.judge.organise import JudgingProgress
    from cranfield.workflows.pool.show import PoolView
    from cranfield.workflows.status import Status

MEASURES = ("nDCG@10", "AP", "P@10")
LETTERED = 40
"""Up to how many runs get significance letters: more letters than an alphabet has tell nothing."""

HELD_OUT = 200
"""Up to how many runs that fed the pool are held out one by one: the time grows with their cube."""

MOST_FOUND = 25
"""How many relevant documents of a topic are listed: those that fewest runs brought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What a report is asked for. `public` leaves out the names of assessors and the text of documents."""

    measures: tuple[str, ...] = MEASURES
    qrels: str | None = None
    layers: tuple[str, ...] = (MAIN,)
    public: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """What is known; what is not is None, and `missing` says why.

    `names` gives each assessor the name under which the report speaks of them. `layers` and `rule` are those that the
    qrels were made by: of the release, where they are one; none where they came from a file.
    """

    request: ReportRequest
    status: Status
    qrels: Qrels | None
    release: Manifest | None
    layers: tuple[str, ...]
    rule: Rule
    evaluation: Evaluation | None
    bias: CollectionReport | None
    pool: PoolView | None
    judging: JudgingProgress | None
    agreement: AgreementReport | None
    no_agreement: str
    names: Mapping[str, str]
    missing: tuple[str, ...]


def gather(store: Store, request: ReportRequest, *, progress: Progress = silent) -> Material:
    """Gather everything; what a young collection does not have yet is missing, and no error."""
    status, missing = collection_status(store), list[str]()
    try:
        qrels = qrels_for(store, request.qrels, Selection(layers=request.layers, unjudged=True))
    except InputError as error:
        if request.qrels is not None or request.layers != (MAIN,):
            raise
        missing.append(f"scores, since {error}")
        qrels = None
    evaluation, bias = _scores(store, request, qrels, progress, missing)
    layers, rule, release = _origin(store, request, qrels)
    looked_at = layers or request.layers
    agreement, no_agreement = None, ""
    try:
        agreement = agreement_report(store, layers=looked_at)
    except InputError as error:
        no_agreement = str(error)
    known = enumerate(sorted(assessors(store)), start=1)
    return Material(
        request=request,
        status=status,
        qrels=qrels,
        release=release,
        layers=layers,
        rule=rule,
        evaluation=evaluation,
        bias=bias,
        pool=show_pool(store) if status.pools else None,
        judging=judging_progress(store, layer=looked_at[0]) if status.pools else None,
        agreement=agreement,
        no_agreement=no_agreement,
        names={name: f"assessor {number}" if request.public else name for number, name in known},
        missing=tuple(missing),
    )


def _scores(
    store: Store, request: ReportRequest, qrels: Qrels | None, progress: Progress, missing: list[str]
) -> tuple[Evaluation | None, CollectionReport | None]:
    """Score all runs, with verdicts and letters, and hold out what fed the pool."""
    runs = stored_names(store)
    if qrels is None or not runs:
        missing += [] if runs else ["scores, since no run was submitted"]
        return None, None
    asked = Request(qrels=qrels, runs=runs, measures=request.measures, curve=True)
    evaluation = evaluate(asked, pool=PoolOptions(), store=store, progress=progress)
    trust = evaluation.trust
    if 2 <= len(runs) <= LETTERED and evaluation.scores.scored.all():
        evaluation = replace(evaluation, letters=letters_of(evaluation.scores, "tukey"))
    if trust is None:
        return evaluation, None
    fed = sum(bool(trust.field.contributed(run)) for run in range(len(trust.field.read.runs)))
    if fed > HELD_OUT:
        missing.append(f"what single runs would lose, since {fed:,} of them fed the pool; cranfield reuse tells it")
    without: tuple[Level, ...] = ("run",) if fed > HELD_OUT else ()
    return evaluation, examine_collection(trust, without=without)


def _origin(
    store: Store, request: ReportRequest, qrels: Qrels | None
) -> tuple[tuple[str, ...], Rule, Manifest | None]:
    """Give the layers and the rule that qrels were made by, and the release, where they are one."""
    if qrels is None:
        return (), (), None
    word = meant_by(store, request.qrels, layers=request.layers)
    if word == NOW:
        return request.layers, collection_rule(store), None
    release = next((one for one in list_releases(store) if one.name == word), None)
    return ((), (), None) if release is None else (release.layers, release.rule, release)


# What a report says about judging: progress, speed, agreement, drift.

_OF_PAIRS = ("raw", "positive", "kappa", "kappa-quadratic", "alpha-ordinal")
_OF_GROUPS = ("raw", "positive", "fleiss", "alpha-ordinal")


def judging_part(material: Material) -> JudgingPart | None:
    """Give what is known of judging; None where there is no pool to judge."""
    progress, names = material.judging, material.names
    if progress is None:
        return None
    return JudgingPart(
        documents=progress.documents,
        judged=progress.judged,
        missing=progress.missing,
        seconds=progress.seconds,
        assessors=tuple(
            (names.get(one.assessor, "?"), one.judged, one.cannot, one.postponed, one.seconds, one.last[:10])
            for one in progress.assessors
        ),
        agreement=dict(_agreement_tables(material)),
        no_agreement=material.no_agreement,
    )


def _agreement_tables(material: Material) -> Iterator[tuple[str, Table]]:
    report = material.agreement
    if report is None:
        return
    if report.overall.estimates and report.pairs:
        numbers = [Column(name, kind="number", digits=3) for name in ("value", "low", "high")]
        columns = [Column("coefficient"), *numbers, Column("items", kind="number"), Column("what", "what it is")]
        rows = [
            (one.coefficient, one.value, one.low, one.high, one.items, COEFFICIENTS[one.coefficient])
            for one in report.overall.estimates
        ]
        yield "agreement", table_of(columns, rows, caption="Agreement of all assessors, with 95 % intervals")
        yield "agreement-pairs", _pairs_table(material, report, probes=False)
        yield "agreement-topics", _groups_table(report.topics, "Agreement topic by topic", ("topic",))
        note = "a share of relevant documents that rises or falls from block to block means that the standard drifted"
        drift = _groups_table(report.periods, "Over time: did the standard drift?", ("from", "to"), [note])
        yield "agreement-over-time", drift
    if report.probes:
        yield "agreement-with-oneself", _pairs_table(material, report, probes=True)


def _pairs_table(material: Material, report: AgreementReport, *, probes: bool) -> Table:
    """Give how far two assessors agree, or (`probes`) each with themselves."""
    head = ("assessor",) if probes else ("first", "second")
    rows = [
        (
            *(material.names.get(name, "?") for name in (one.first, one.second)[: len(head)]),
            *_values(one.estimates, _OF_PAIRS),
            one.shift,
        )
        for one in (report.probes if probes else report.pairs)
    ]
    columns = [*map(Column, head), Column("items", kind="number")]
    columns += [Column(name, kind="number", digits=3) for name in (*_OF_PAIRS, "shift")]
    caption = (
        "The same document seen again: how far assessors agree with themselves" if probes else "Agreement of two"
    )
    note = "shift: by how much the second gives higher grades, in the mean"
    return table_of(columns, rows, caption=caption, notes=[note])


def _groups_table(groups: Sequence[Group], caption: str, head: tuple[str, ...], notes: Sequence[str] = ()) -> Table:
    rows = [
        (
            *((one.name,) if len(head) == 1 else (one.start[:16], one.end[:16])),
            *_values(one.estimates, _OF_GROUPS),
            one.share_relevant,
        )
        for one in groups
    ]
    columns = [*map(Column, head), Column("items", kind="number")]
    columns += [Column(name, kind="number", digits=3) for name in _OF_GROUPS]
    columns.append(Column("relevant", "share relevant", "number", digits=3))
    return table_of(columns, rows, caption=caption, notes=notes)


def _values(estimates: Sequence[Estimate], names: Sequence[str]) -> tuple[Value, ...]:
    by_name = {one.coefficient: one.value for one in estimates}
    return max((one.items for one in estimates), default=0), *(by_name.get(name) for name in names)


# What a report says about each topic: what is judged, what is relevant, and who found it.


def topic_parts(store: Store, material: Material) -> Iterator[TopicPart]:
    """Give all topics in the order they were given, then those that only the qrels know."""
    grades: dict[str, dict[str, int]] = {}
    for name, document, grade in material.qrels if material.qrels is not None else ():
        if grade >= 0:
            grades.setdefault(name, {})[document] = grade
    runs_and_rank: dict[tuple[str, str], tuple[Value, Value]] = {}
    if material.pool is not None:
        pooled = store.rows(
            "SELECT topic, document, count(*), min(rank) FROM pool_ranks WHERE pool = ? GROUP BY topic, document",
            pool_number(store, material.pool.facts.name),
        )
        runs_and_rank = {(name, document): (runs, rank) for name, document, runs, rank in pooled}
    titles: dict[str, str] = {}
    if not material.request.public:  # titles are text of documents
        judged_only = " AND id IN (SELECT document FROM judgments)" if material.status.judged else ""
        titles = dict(store.rows(f"SELECT id, title FROM documents WHERE title <> ''{judged_only}"))  # noqa: S608
    going_on = set(material.bias.not_exhausted) if material.bias is not None else set()
    known = documents.topics(store)
    strangers = [Topic(name, "") for name in grades if name not in {topic.id for topic in known}]
    for topic in (*known, *strangers):
        judged = grades.get(topic.id, {})
        relevant = {name: grade for name, grade in judged.items() if grade >= material.status.scale.relevant_from}
        rows = [
            (document, titles.get(document, ""), grade, *runs_and_rank.get((topic.id, document), (None, None)))
            for document, grade in relevant.items()
        ]
        rows.sort(key=lambda row: (row[3] or 0, str(row[0])))
        yield TopicPart(topic, len(judged), len(relevant), topic.id in going_on, tuple(rows[:MOST_FOUND]))
