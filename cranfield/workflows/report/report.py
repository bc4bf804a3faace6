"""The report about a collection: its page, its figures and its tables; its card, for programs; and its bundle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError, InputError, MissingExtra, UsageError
from cranfield.base.files import Progress, silent
from cranfield.base.records import MAIN, MEASURES, Topic
from cranfield.base.text import counted, now, table_of
from cranfield.base.writing import whole_file
from cranfield.corpus.formats import trec
from cranfield.evaluate.reading import Request, StoredName
from cranfield.evaluate.scores import Scores
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.release import NOW, Manifest, Rule
from cranfield.report import figures
from cranfield.report.page import Drawing, Page, render_html, render_page_markdown
from cranfield.report.renderers.csv import render_csv
from cranfield.reuse import card as reuse_cards
from cranfield.reuse.collection import CollectionReport
from cranfield.store import Store, documents, events, history, pools, releases
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.collection import CITATION_SETTING, DESCRIPTION_SETTING, licence_of
from cranfield.workflows.evaluate.evaluate import RECALL_LEVELS, Evaluation, draw_curves, draw_strips, evaluate
from cranfield.workflows.inputs import PoolOptions, default_measures, run_store
from cranfield.workflows.judge.agreement import AgreementReport, agreement_report
from cranfield.workflows.judge.organise import judging_progress, open_cases
from cranfield.workflows.pool.show import PoolView
from cranfield.workflows.report import sections
from cranfield.workflows.reuse.field import Trusted, field_of
from cranfield.workflows.reuse.reuse import ReusePlots, card_for, examine_collection
from cranfield.workflows.status import status as collection_status

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# What a report and a card are made from, gathered by the same workflows as `evaluate`, `reuse` and `judge`.


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """What a report is to show: without measures those of `evaluate`. `public` leaves out the names of assessors."""

    measures: tuple[str, ...] = ()
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

    def __init__(self, store: Store, request: ReportRequest, progress: Progress) -> None:
        self.made, self.missing, self.notes = now(), list[str](), tuple[str, ...]()
        if not request.measures:
            words, self.notes = default_measures(MEASURES, store, PoolOptions())
            request = replace(request, measures=words)
        self.request = request
        self.status, self.guidelines, self.licence = collection_status(store), store.guidelines(), licence_of(store)
        self.citation, self.description = (
            str(store.setting(name, "")) for name in (CITATION_SETTING, DESCRIPTION_SETTING)
        )
        self.history = history.head(store)
        try:
            selection = qrels_workflow.Selection(layers=request.layers, unjudged=True)
            self.qrels = qrels_workflow.qrels_for(store, request.qrels, selection)
        except InputError as error:
            if request.qrels is not None or request.layers != (MAIN,):
                raise
            self.missing.append(f"scores: {error}")
        else:
            word = qrels_workflow.meant_by(store, request.qrels, layers=request.layers)
            self.release = qrels_workflow.manifests(store).get(word)
            if word == NOW:
                self.layers, self.rule = request.layers, qrels_workflow.collection_rule(store)
            elif self.release is not None:
                self.layers, self.rule = self.release.layers, self.release.rule
        self._score(store, progress)
        self.pool = PoolView(store) if self.status.pools else None
        self.pooled_runs = frozenset() if self.pool is None else frozenset(run for run, *_ in self.pool.runs)
        self.pool_sizes = 0, 0, 1.0
        if self.pool is not None:
            waiting = [judged / size for _, size, judged, _ in self.pool.topics if 0 < judged < size - 1]
            self.pool_sizes = self.pool.documents, self.pool.judged, min(waiting, default=1.0)
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

    def _score(self, store: Store, progress: Progress) -> None:
        """Score all runs, with verdicts and the levels of recall, and hold out each group."""
        collection = run_store(store)
        runs = tuple(StoredName(one.name) for one in collection.facts())
        if self.qrels is None or not runs:
            self.missing += [] if runs else ["scores: no run was submitted"]
            return
        scoring = Request(
            qrels=self.qrels,
            runs=runs,
            measures=self.request.measures,
            progress=progress,
            collection=collection,
            scale=store.scale(),
        )
        field = partial(field_of, scoring, PoolOptions(), store=store)
        self.evaluation = evaluate(scoring, field=field, learn="always")
        self.trust = self.evaluation.trust
        read = None if self.trust is None else self.trust.field.requested
        self.curve = evaluate(replace(scoring, measures=(RECALL_LEVELS,)), read=read).scores
        if self.trust is not None:
            # Single runs and families are left to `cranfield reuse`: for many runs they take long.
            self.bias = examine_collection(self.trust)

    def _topics(self, store: Store) -> Iterator[TopicPart]:
        """How much is judged for each topic, and how much of it is relevant."""
        grades: dict[str, list[int]] = {}
        for name, _, grade in self.qrels if self.qrels is not None else ():
            if grade >= 0:
                grades.setdefault(name, []).append(grade)
        going_on = set(self.bias.new_by_depth.not_exhausted) if self.bias is not None else set()
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


# The report itself.


@dataclass(frozen=True, eq=False)
class Report:
    """The page, the card where one was requested, and the material of both."""

    page: Page
    material: Material
    card: dict[str, Any] | None = None

    def write(self, page: Path, card: Path | None) -> None:
        """Write the page, as Markdown where the file is called so, else as HTML; and the card."""
        render = render_page_markdown if page.suffix.lower() in (".md", ".markdown") else render_html
        texts = [(page, render(self.page)), *([(card, reuse_cards.card_text(self.card))] if card else [])]
        for path, text in texts:
            with whole_file(path, replace=True) as unfinished:
                unfinished.write_text(text, encoding="utf-8")


def report_on(
    store: Store, request: ReportRequest, *, with_card: bool = False, progress: Progress = silent
) -> Report:
    """Gather what is known and arrange it; all of it is of one moment, whatever is judged meanwhile."""
    with store.snapshot():
        material = Material(store, request, progress)
        drawings, missing = list[Drawing](), list(material.missing)
        try:
            drawings += _drawings(material)
        except MissingExtra as error:
            missing.append(f"figures: {error}")
        page = sections.collection_page(material, drawings, missing=missing)
        return Report(page, material, collection_card(material) if with_card else None)


# The figures of a page, each with what it shows in words, and what to look for.

MOST_STRIPS = 20


def _drawings(material: Material) -> Iterator[Drawing]:
    """Precision and recall, scores by topic, how far runs are judged, and what each depth of the pool added."""
    if (evaluation := material.evaluation) is None:
        return
    if (curve := material.curve) is not None:
        best = int(curve.summary.mean(axis=0).argmax())
        first, last = curve.summary[[0, -1], best].tolist()
        yield _drawn(
            *("precision-recall", "scores", draw_curves(curve)),
            f"Interpolated precision at eleven levels of recall, of {counted(len(curve.run_names), 'run')}; that of"
            f" {curve.run_names[best]}, the best, falls from {first:.2f} at recall 0 to {last:.2f} at recall 1",
            "Precision and recall. The left end shows the top of the rankings, the right end how the last relevant"
            " documents are found; where lines cross, the order of the runs depends on the recall wanted.",
        )
    scores = evaluation.scores
    order = np.argsort(-np.nan_to_num(scores.summary[0]), kind="stable").tolist()
    cut = f" The best {MOST_STRIPS} of {len(order):,} runs are shown." if len(order) > MOST_STRIPS else ""
    if drawn := [run for run in order[:MOST_STRIPS] if scores.scored[run].any()]:
        yield _drawn(
            *("by-topic", "topics", draw_strips(scores, runs=drawn)),
            f"{scores.measures[0]} of each run on each topic",
            f"{scores.measures[0]} on each topic. Runs with the same mean can differ on single topics:"
            f" points far to the left are topics on which a run fails.{cut}",
        )
    if (trust := material.trust) is None or not trust.trusts:
        return
    one, plots = trust.trusts[0], ReusePlots(trust, material.bias)
    shares = np.nan_to_num(one.coverage.judged[: trust.field.asked]).mean(axis=1)
    least = int(shares.argmin())
    lowest = f" Lowest mean share: {one.run_names[least]}, {shares[least]:.0%}." if shares[least] < 1 else ""
    yield _drawn(
        *("coverage", "pool", plots.coverage()),
        f"Share of judged documents in the top {int(one.coverage.depth.max())} of each run, by topic",
        "Dark blue: judged, yellow: unjudged. Many light cells in a row: a run that the pool does not cover;"
        f" in a column: a topic with too few judgments.{lowest}",
    )
    if material.bias is not None:
        relevant = material.bias.new_by_depth.relevant.sum(axis=0).tolist()
        yield _drawn(
            *("relevant-by-depth", "pool", plots.relevant_by_depth()),
            f"New relevant documents at each pool depth from 1 to {len(relevant)}: {', '.join(map(str, relevant))}",
            "Bars that are still high at the right end: a deeper pool would have found more relevant documents.",
        )


def _drawn(name: str, section: str, axes: Axes, alternative: str, caption: str) -> Drawing:
    return Drawing(name, figures.as_svg(figures.figure_of(axes)), alternative, caption, section)


# The collection card: what goes with a published collection. The names in it are a format, declared here.

_POOL = ("topic", "document", "position", "step", "stratum", "probability", "version", "run", "group", "rank")
_RUNS = ("run", "group", "family", "pooled", "topics", "rows", "content_hash", "file_sha256", "description")
VERSION = 1


def collection_card(material: Material) -> dict[str, Any]:
    """The card as what JSON can hold. It names no assessor; a licence is there where the collection has one."""
    status, reuse = material.status, None
    if (trust := material.trust) is not None and trust.field.levels and trust.trusts:
        with suppress(CranfieldError):
            reuse = card_for(trust, material.bias, material.history)
    pools = []
    if material.pool is not None:
        of_plan = "name", "plan", "plan_in_full", "seed", "judging_order", "one_per_cluster"
        facts = _picked(material.pool.facts, *of_plan, "content_hash", "made", "made_by")
        facts["one_per_cluster"] = bool(facts["one_per_cluster"])
        size, judged, least = material.pool_sizes
        pools = [{**facts, "documents": size, "judged": judged, "topic_judged": least}]
    fairness = None
    if (bias := material.bias) is not None:
        measures = []
        for one in bias.verdicts:
            row = {"measure": str(one.measure), "fairness": one.fairness, "reason": one.reason, "mean_loss": one.drop}
            if "group" in bias.levels:
                row |= _picked(bias.levels["group"].summaries[one.measure], "tau_b", "lowest_tau_b", "tau_ap")
            measures.append(row)
        fairness = {"fairness": bias.fairness, "measures": measures, **_picked(bias, "judged", "relevant")}
        fairness |= {"from_nobody": bias.provenance.orphans, "not_exhausted": bias.new_by_depth.not_exhausted}
    estimates = () if material.agreement is None else material.agreement.compared["overall"][0].estimates
    group_names = ("group", "runs", "documents", "only_this_group")
    groups = material.pool_groups
    return {
        "kind": reuse_cards.COLLECTION_KIND,
        "version": VERSION,
        "name": status.name,
        "licence": material.licence or None,
        "citation": material.citation or None,
        "about": material.description or None,
        "made": material.made,
        "made_by": f"cranfield {__version__}",
        "counts": _counts(material),
        "scale": {
            "relevant_from": status.scale.relevant_from,
            "grades": [_picked(one, "grade", "label", "gain", "text") for one in status.scale.grades],
        },
        "guidelines": {"version": status.guidelines_version},
        "pools": pools,
        "runs": [
            {"name": run["run"], **{key: run[key] for key in _RUNS if key not in ("run", "file_sha256")}}
            for run in _runs(material)
        ],
        "groups": [dict(zip(group_names, row, strict=True)) for row in groups],
        "qrels": _qrels_in_card(material),
        "agreement": [_picked(one, "coefficient", "value", "low", "high", "items") for one in estimates],
        "reusability": {"collection": fairness, "card": reuse_cards.encoded(reuse)},
        "checksums": dict(material.checksums),
        "history": list(material.history),
    }


def _counts(material: Material) -> dict[str, int]:
    status, known = material.status, material.status.counts
    counts = {
        "documents": known.documents,
        "topics": known.topics,
        "runs": len(status.runs),
        "groups": known.groups,
        "contributing_runs": known.contributing,
        "pooled": known.pooled,
        "assessors": known.assessors,
        "duplicate_clusters": known.clusters,
    }
    if status.outside:
        counts["documents_outside"] = status.documents_outside
    if material.trust is not None and (settled := material.trust.field.settled):
        counts["judged_to_settle"] = len(settled)
    if material.qrels is not None:
        grades = material.qrels.grades
        counts["judged"] = int((grades >= 0).sum())
        counts["relevant"] = int((grades >= status.scale.relevant_from).sum())
    return counts


def _picked(thing: object, *names: str) -> dict[str, Any]:
    """Some of what a thing has, under names that a card has it by too."""
    return {name: getattr(thing, name) for name in names}


def _runs(material: Material) -> list[dict[str, Any]]:
    """All runs, by the names of `_RUNS`."""
    own = "family", "topics", "rows", "content_hash", "file_sha256", "description"
    return [
        {"run": run.name, "group": run.group_name, "pooled": run.name in material.pooled_runs, **_picked(run, *own)}
        for run in material.status.runs
    ]


def _qrels_in_card(material: Material) -> dict[str, Any] | None:
    """Say what the qrels are, and how they came about: a release and a file have a story of their own.

    The primary assessors of a release, who are people, and its note stay out.
    """
    qrels, release = material.qrels, material.release
    if qrels is None:
        return None
    content: dict[str, Any] = {
        "name": qrels.name,
        "content_hash": qrels.content_hash,
        "topics": len(qrels.topic_ids),
        "grades": qrels.counts(),
        "layers": list(material.layers),
        "rule": list(material.rule),
    }
    if release is None:
        return content
    content |= {"made": release.made, "made_by": release.made_by}
    if release.file:
        return content | {"file": release.file, "file_sha256": release.file_sha256}
    versions = {"scales": dict(release.scales), "guidelines": dict(release.guidelines)}
    return content | {"up_to_event": release.up_to_event, **versions, "pools": dict(release.pools)}


# A publishable folder: topics, qrels, the pool with its provenance, the runs, the card and checksums.


def refuse_full(folder: Path) -> None:
    """Refuse a folder that has something in it, before anything is done."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: choose a new folder for the bundle")


def write_bundle(store: Store, release: str, folder: Path, *, progress: Progress = silent) -> list[Path]:
    """Lay out a release as a folder that can be published, and return the files.

    No assessor and no text of a document is in it. SHA256SUMS comes last: a folder without it is not complete.
    """
    refuse_full(folder)
    with store.snapshot():
        material = Material(store, ReportRequest(qrels=release, public=True), progress)
        topics, qrels = StringIO(), BytesIO()
        trec.TrecTopics.write(documents.topics(store), topics)
        qrels_workflow.released_qrels(store, release).write(qrels, "trec")
        content: dict[str, str | bytes] = {
            "topics.trec": topics.getvalue(),
            "qrels.txt": qrels.getvalue(),
            "runs.csv": render_csv(table_of(_RUNS, [[run[key] for key in _RUNS] for run in _runs(material)])),
        }
        if material.pool is not None:
            # One row for each pooled document and run that retrieved it; one without a run where none did.
            rows = store.rows(
                """SELECT entry.topic, entry.document, entry.position, entry.step, entry.stratum, entry.probability,
                          entry.version, ranks.run, sender.group_name, ranks.rank
                   FROM pool_entries AS entry
                   LEFT JOIN pool_ranks AS ranks USING (pool, topic, document)
                   LEFT JOIN pool_runs AS sender ON sender.pool = entry.pool AND sender.run = ranks.run
                   WHERE entry.pool = ? ORDER BY entry.topic, entry.position, ranks.rank, ranks.run""",
                pools.pool_number(store, material.pool.facts.name),
            )
            content["pool.csv"] = render_csv(table_of(_POOL, rows))
        content["card.json"] = reuse_cards.card_text(collection_card(material))
        if material.guidelines:
            content["guidelines.md"] = material.guidelines
    written = {name: text if isinstance(text, bytes) else text.encode() for name, text in content.items()}
    sums = "".join(f"{sha256(written[name]).hexdigest()}  {name}\n" for name in sorted(written))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in {**written, "SHA256SUMS": sums.encode()}.items():
        with whole_file(folder / name) as unfinished:
            unfinished.write_bytes(data)
    return [folder / name for name in (*written, "SHA256SUMS")]
