"""What a report and a card are made from, gathered by the same workflows as `evaluate`, `reuse` and `judge`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from cranfield.base.errors import InputError
from cranfield.base.files import Progress, silent
from cranfield.base.records import MAIN, Topic
from cranfield.base.tables import Value
from cranfield.base.text import now
from cranfield.evaluate.scores import Scores
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.release import NOW, Manifest, Rule
from cranfield.reuse.collection import CollectionReport
from cranfield.reuse.provenance import Level
from cranfield.store import Store, documents, events, pools
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.collection import licence_of
from cranfield.workflows.evaluate.evaluate import Evaluation, evaluate, letters_of
from cranfield.workflows.evaluate.figures import RECALL_LEVELS
from cranfield.workflows.judge.agreement import AgreementReport, agreement_report
from cranfield.workflows.judge.organise import JudgingProgress, judging_progress
from cranfield.workflows.pool.show import PoolView
from cranfield.workflows.reading import Request, stored_names
from cranfield.workflows.reuse.field import PoolOptions, field_of
from cranfield.workflows.reuse.reuse import examine_collection
from cranfield.workflows.status import Status
from cranfield.workflows.status import status as collection_status

MEASURES = ("nDCG@10", "AP", "P@10")
LETTERED = 40
"""Up to how many runs get significance letters: more letters than an alphabet has tell nothing."""

HELD_OUT = 200
"""Up to how many contributing runs are held out one by one: the time grows with their cube."""

MOST_FOUND = 25
"""How many relevant documents of a topic are listed: those retrieved by the fewest runs."""


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """What a report is asked for. `public` leaves out the names of assessors and the text of documents."""

    measures: tuple[str, ...] = MEASURES
    qrels: str | None = None
    layers: tuple[str, ...] = (MAIN,)
    public: bool = False


@dataclass(frozen=True)
class TopicPart:
    """A topic with what is judged for it; `found` are relevant ones: (document, title, grade, runs, best rank)."""

    topic: Topic
    judged: int
    relevant: int
    not_exhausted: bool = False
    found: tuple[tuple[Value, ...], ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """What is known; what is not is None, and `missing` says why.

    `names` gives each assessor the name under which the report speaks of them. `layers` and `rule` are those that the
    qrels were made by: of the release, where they are one; none where they came from a file. `topics` are all in the
    order they were added, then those that only the qrels know. `checksums` are SHA-256 of everything the numbers
    depend on: documents and topics have one hash each, by their ids.
    """

    request: ReportRequest
    made: str
    status: Status
    guidelines: str
    licence: str
    qrels: Qrels | None
    release: Manifest | None
    layers: tuple[str, ...]
    rule: Rule
    evaluation: Evaluation | None
    curve: Scores | None
    bias: CollectionReport | None
    pool: PoolView | None
    pooled_runs: frozenset[str]
    judging: JudgingProgress | None
    agreement: AgreementReport | None
    no_agreement: str
    names: Mapping[str, str]
    topics: tuple[TopicPart, ...]
    checksums: Mapping[str, str]
    missing: tuple[str, ...]


def gather(store: Store, request: ReportRequest, *, progress: Progress = silent) -> Material:
    """Gather everything; what a young collection does not have yet is missing, and no error."""
    status, missing = collection_status(store), list[str]()
    try:
        selection = qrels_workflow.Selection(layers=request.layers, unjudged=True)
        qrels = qrels_workflow.qrels_for(store, request.qrels, selection)
    except InputError as error:
        if request.qrels is not None or request.layers != (MAIN,):
            raise
        missing.append(f"scores: {error}")
        qrels = None
    evaluation, curve, bias = _scores(store, request, qrels, progress, missing)
    layers: tuple[str, ...] = ()
    rule: Rule = ()
    release: Manifest | None = None
    if qrels is not None and (word := qrels_workflow.meant_by(store, request.qrels, layers=request.layers)) == NOW:
        layers, rule = request.layers, qrels_workflow.collection_rule(store)
    elif qrels is not None:
        release = next((one for one in qrels_workflow.list_releases(store) if one.name == word), None)
        layers, rule = (layers, rule) if release is None else (release.layers, release.rule)
    agreement, no_agreement = None, ""
    try:
        agreement = agreement_report(store, layers=layers or request.layers)
    except InputError as error:
        no_agreement = str(error)
    pool, known = PoolView(store) if status.pools else None, enumerate(sorted(events.assessors(store)), start=1)
    material = Material(
        request=request,
        made=now(),
        status=status,
        guidelines=store.guidelines(),
        licence=licence_of(store),
        qrels=qrels,
        release=release,
        layers=layers,
        rule=rule,
        evaluation=evaluation,
        curve=curve,
        bias=bias,
        pool=pool,
        pooled_runs=frozenset() if pool is None else frozenset(run for run, *_ in pool.runs),
        judging=judging_progress(store, layer=(layers or request.layers)[0]) if status.pools else None,
        agreement=agreement,
        no_agreement=no_agreement,
        names={name: f"assessor {number}" if request.public else name for number, name in known},
        topics=(),
        checksums={},
        missing=tuple(missing),
    )
    return replace(material, topics=tuple(_topics(store, material)), checksums=dict(_checksums(store, material)))


def _scores(
    store: Store, request: ReportRequest, qrels: Qrels | None, progress: Progress, missing: list[str]
) -> tuple[Evaluation | None, Scores | None, CollectionReport | None]:
    """Score all runs, with verdicts, letters and the levels of recall, and hold out each contributor."""
    runs = stored_names(store)
    if qrels is None or not runs:
        missing += [] if runs else ["scores: no run was submitted"]
        return None, None, None
    scoring = Request(qrels=qrels, runs=runs, measures=request.measures)
    field = partial(field_of, scoring, PoolOptions(), store=store, progress=progress)
    evaluation = evaluate(scoring, store=store, field=field)
    trust = evaluation.trust
    read = None if trust is None else partial(trust.field.read.first, trust.field.asked)
    curve = evaluate(replace(scoring, measures=(RECALL_LEVELS,)), store=store, read=read).scores
    if 2 <= len(runs) <= LETTERED and evaluation.scores.scored.all():
        evaluation = replace(evaluation, letters=letters_of(evaluation.scores, "tukey"))
    if trust is None:
        return evaluation, curve, None
    contributors = sum(bool(trust.field.contributed(run)) for run in range(len(trust.field.read.runs)))
    without: tuple[Level, ...] = ()
    if contributors > HELD_OUT:
        without = ("run",)
        missing.append(
            f"hold-outs of single runs: there are {contributors:,} contributing runs; cranfield reuse computes them"
        )
    return evaluation, curve, examine_collection(trust, without=without)


def _topics(store: Store, material: Material) -> Iterator[TopicPart]:
    """What is judged for each topic, what is relevant, and who found it."""
    grades: dict[str, dict[str, int]] = {}
    for name, document, grade in material.qrels if material.qrels is not None else ():
        if grade >= 0:
            grades.setdefault(name, {})[document] = grade
    runs_and_rank: dict[tuple[str, str], tuple[Value, Value]] = {}
    if material.pool is not None:
        pooled = store.rows(
            "SELECT topic, document, count(*), min(rank) FROM pool_ranks WHERE pool = ? GROUP BY topic, document",
            pools.pool_number(store, material.pool.facts.name),
        )
        runs_and_rank = {(name, document): (runs, rank) for name, document, runs, rank in pooled}
    titles: dict[str, str] = {}
    if not material.request.public:  # titles are text of documents
        judged_only = " AND id IN (SELECT document FROM judgments)" if material.status.counts.judged else ""
        titles = dict(store.rows(f"SELECT id, title FROM documents WHERE title <> ''{judged_only}"))  # noqa: S608
    going_on = set(material.bias.not_exhausted) if material.bias is not None else set()
    known = documents.topics(store)
    only_in_qrels = [Topic(name, "") for name in grades if name not in {topic.id for topic in known}]
    for topic in (*known, *only_in_qrels):
        judged = grades.get(topic.id, {})
        relevant = {name: grade for name, grade in judged.items() if grade >= material.status.scale.relevant_from}
        rows = [
            (document, titles.get(document, ""), grade, *runs_and_rank.get((topic.id, document), (None, None)))
            for document, grade in relevant.items()
        ]
        rows.sort(key=lambda row: (row[3] or 0, str(row[0])))
        yield TopicPart(topic, len(judged), len(relevant), topic.id in going_on, tuple(rows[:MOST_FOUND]))


def _checksums(store: Store, material: Material) -> Iterator[tuple[str, str]]:
    for table in ("documents", "topics"):
        rows = store.rows(f"SELECT content_hash FROM {table} ORDER BY id")  # noqa: S608 (one of two words)
        yield table, sha256("".join(f"{known}\n" for (known,) in rows).encode()).hexdigest()
    if material.qrels is not None:
        yield "qrels", material.qrels.content_hash
    if material.pool is not None:
        yield "pool", material.pool.facts.content_hash
    if material.guidelines:
        version = material.status.guidelines_version
        yield f"guidelines, version {version}", sha256(material.guidelines.encode()).hexdigest()
    yield from ((f"run {run.name}", run.content_hash) for run in material.status.runs)
