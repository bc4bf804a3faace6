"""What a report and a card are made from, gathered by the same workflows as `evaluate`, `reuse` and `judge`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from cranfield.base.errors import InputError
from cranfield.base.files import Progress, silent
from cranfield.base.records import MAIN, MEASURES, Topic
from cranfield.base.text import now
from cranfield.evaluate.reading import Request, StoredName
from cranfield.evaluate.scores import Scores
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.release import NOW, Manifest, Rule
from cranfield.reuse.collection import CollectionReport
from cranfield.store import Store, documents, events, history, releases
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.collection import CITATION_SETTING, DESCRIPTION_SETTING, licence_of
from cranfield.workflows.evaluate.evaluate import Evaluation, evaluate
from cranfield.workflows.evaluate.figures import RECALL_LEVELS
from cranfield.workflows.inputs import PoolOptions, run_store
from cranfield.workflows.judge.agreement import AgreementReport, agreement_report
from cranfield.workflows.judge.organise import judging_progress, open_cases
from cranfield.workflows.pool.show import PoolView
from cranfield.workflows.reuse.field import Trusted, field_of
from cranfield.workflows.reuse.reuse import examine_collection
from cranfield.workflows.status import status as collection_status


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """What a report is to show. `public` leaves out the names of assessors."""

    measures: tuple[str, ...] = MEASURES
    qrels: str | None = None
    layers: tuple[str, ...] = (MAIN,)
    public: bool = False


@dataclass(frozen=True)
class TopicPart:
    """A topic, and how much is judged for it."""

    topic: Topic
    judged: int
    relevant: int
    not_exhausted: bool = False

    @property
    def very_many(self) -> bool:
        """Whether most of what is judged is relevant: the pool was probably too shallow."""
        return 2 * self.relevant > self.judged


class Material:
    """What a report and a card are about; what is not known is None, and `missing` says why.

    `disputed` documents are relevant to one assessor and not to another, and nobody has decided on them. `names`
    gives each assessor the name under which the report speaks of them. `layers` and `rule` are those that the qrels
    were made by: of the release, where they are one; none where they came from a file. `topics` are all in the order
    they were added, then those that only the qrels know. `checksums` are SHA-256 of everything the numbers depend on:
    documents and topics have one hash each, by their ids.
    """

    qrels: Qrels | None = None
    release: Manifest | None = None
    layers: tuple[str, ...] = ()
    rule: Rule = ()
    evaluation: Evaluation | None = None
    trust: Trusted | None = None
    curve: Scores | None = None
    bias: CollectionReport | None = None
    agreement: AgreementReport | None = None
    no_agreement = ""

    def __init__(self, store: Store, request: ReportRequest, progress: Progress = silent) -> None:
        self.request, self.made, self.missing = request, now(), list[str]()
        self.status, self.guidelines, self.licence = collection_status(store), store.guidelines(), licence_of(store)
        self.citation, self.description = (
            str(store.setting(name, "")) for name in (CITATION_SETTING, DESCRIPTION_SETTING)
        )
        self.history = history.head(store)
        self._read_qrels(store)
        self._score(store, progress)
        self.pool = PoolView(store) if self.status.pools else None
        self.pooled_runs = frozenset() if self.pool is None else frozenset(run for run, *_ in self.pool.runs)
        self.pool_sizes = (0, 0) if self.pool is None else (self.pool.documents, self.pool.judged)
        if self.pool is not None and self.qrels is not None:  # of a release: what was judged by then
            for sizes in releases.pool_judged(store, self.pool.facts.name, self.qrels.content_hash):
                self.pool_sizes = sizes
        self.pool_groups = () if self.pool is None else tuple(self.pool.groups)  # read while the store is open
        layers = self.layers or request.layers
        self.judging = judging_progress(store, layer=layers[0]) if self.status.pools else None
        self.disputed = len(open_cases(store, layer=layers[0], across=True))
        try:
            self.agreement = agreement_report(store, layers=layers)
        except InputError as error:
            self.no_agreement = str(error)
        known = enumerate(sorted(events.assessors(store)), start=1)
        self.names = {name: f"assessor {number}" if request.public else name for number, name in known}
        self.topics = tuple(self._topics(store))
        self.checksums = dict(self._checksums(store))

    def _read_qrels(self, store: Store) -> None:
        request = self.request
        try:
            selection = qrels_workflow.Selection(layers=request.layers, unjudged=True)
            self.qrels = qrels_workflow.qrels_for(store, request.qrels, selection)
        except InputError as error:
            if request.qrels is not None or request.layers != (MAIN,):
                raise
            self.missing.append(f"scores: {error}")
            return
        word = qrels_workflow.meant_by(store, request.qrels, layers=request.layers)
        if word == NOW:
            self.layers, self.rule = request.layers, qrels_workflow.collection_rule(store)
        self.release = next((one for one in qrels_workflow.list_releases(store) if one.name == word), None)
        if self.release is not None:
            self.layers, self.rule = self.release.layers, self.release.rule

    def _score(self, store: Store, progress: Progress) -> None:
        """Score all runs, with verdicts and the levels of recall, and hold out each group."""
        collection = run_store(store)
        runs = tuple(StoredName(one.name) for one in collection.facts())
        if self.qrels is None or not runs:
            self.missing += [] if runs else ["scores: no run was submitted"]
            return
        scoring = Request(
            qrels=self.qrels, runs=runs, measures=self.request.measures, collection=collection, scale=store.scale()
        )
        field = partial(field_of, scoring, PoolOptions(), store=store, progress=progress)
        self.evaluation = evaluate(scoring, field=field, learn="always")
        self.trust = self.evaluation.trust
        read = None if self.trust is None else self.trust.field.requested
        self.curve = evaluate(replace(scoring, measures=(RECALL_LEVELS,)), read=read).scores
        if self.trust is not None:
            # Single runs and families are left to `cranfield reuse`: for many runs they take long.
            self.bias = examine_collection(self.trust, without=("run", "family"))

    def _topics(self, store: Store) -> Iterator[TopicPart]:
        """How much is judged for each topic, and how much of it is relevant."""
        grades: dict[str, list[int]] = {}
        for name, _, grade in self.qrels if self.qrels is not None else ():
            if grade >= 0:
                grades.setdefault(name, []).append(grade)
        going_on = set(self.bias.not_exhausted) if self.bias is not None else set()
        known = documents.topics(store)
        only_in_qrels = [Topic(name, "") for name in grades if name not in {topic.id for topic in known}]
        for topic in (*known, *only_in_qrels):
            judged = grades.get(topic.id, [])
            relevant = sum(grade >= self.status.scale.relevant_from for grade in judged)
            yield TopicPart(topic, len(judged), relevant, topic.id in going_on)

    def _checksums(self, store: Store) -> Iterator[tuple[str, str]]:
        kept = ("kept_documents",) if self.status.outside else ()
        for table in ("documents", *kept, "topics"):
            rows = store.rows(f"SELECT content_hash FROM {table} ORDER BY id")  # noqa: S608 (one of two words)
            yield table.replace("_", " "), sha256("".join(f"{known}\n" for (known,) in rows).encode()).hexdigest()
        if self.qrels is not None:
            yield "qrels", self.qrels.content_hash
        if self.pool is not None:
            yield "pool", self.pool.facts.content_hash
        if self.guidelines:
            version = self.status.guidelines_version
            yield f"guidelines, version {version}", sha256(self.guidelines.encode()).hexdigest()
        yield from ((f"run {run.name}", run.content_hash) for run in self.status.runs)
