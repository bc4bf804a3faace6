"""The report about a collection: its page, its figures and its tables; its card, for programs; and its bundle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError, UsageError
from cranfield.base.files import Progress, silent, whole_file
from cranfield.base.tables import Value, table_of
from cranfield.corpus.formats import trec
from cranfield.qrels import reading as qrels_reading
from cranfield.report import figures
from cranfield.report.page import Drawing, Page, render_html, render_page_markdown, tables_of
from cranfield.report.renderers.csv import csv_text, render_csv
from cranfield.report.rendering import renderers
from cranfield.reuse import card as reuse_cards
from cranfield.reuse.collection import CollectionReport
from cranfield.store import Store, documents, pools
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.pool.show import PoolView
from cranfield.workflows.report import sections
from cranfield.workflows.report.figures import draw_all
from cranfield.workflows.report.material import Material, ReportRequest
from cranfield.workflows.reuse.reuse import card_for


@dataclass(frozen=True, eq=False)
class Report:
    """The page, its figures, the card where one was requested, and the material of all of them."""

    page: Page
    drawings: tuple[Drawing, ...]
    material: Material
    card: dict[str, Any] | None = None

    def write_page(self, path: Path) -> None:
        """Write the page: as Markdown where the file is called so, else as HTML."""
        render = render_page_markdown if path.suffix.lower() in (".md", ".markdown") else render_html
        _write(path, render(self.page))

    def write_card(self, path: Path) -> None:
        """Write the card."""
        _write(path, card_json(self.card or {}))

    def write_tables(self, folder: Path, *, format: str, raw: bool = False) -> int:
        """Write each table of the page into a folder, and return their number; `raw` is for CSV."""
        render = partial(csv_text, raw=True) if raw and format == "csv" else renderers.get(format)
        suffix = {"latex": "tex", "markdown": "md"}.get(format, format)
        folder.mkdir(parents=True, exist_ok=True)
        tables = tables_of(self.page)
        for name, table in tables.items():
            _write(folder / f"{name}.{suffix}", render(table))
        return len(tables)

    def write_figures(self, folder: Path, *, kind: str) -> int:
        """Write each figure into a folder, as svg, png or pdf, and return their number."""
        folder.mkdir(parents=True, exist_ok=True)
        for drawing in self.drawings:
            figures.save(drawing.figure, folder / f"{drawing.name}.{kind}")
        return len(self.drawings)


def _write(path: Path, text: str) -> None:
    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def report_on(
    store: Store, request: ReportRequest, *, with_card: bool = False, progress: Progress = silent
) -> Report:
    """Gather what is known and arrange it; all of it is of one moment, whatever is judged meanwhile."""
    with store.snapshot():
        material = Material(store, request, progress)
        drawings, no_drawings = draw_all(material)
        missing = [*material.missing, *([no_drawings] if no_drawings else [])]
        page = sections.collection_page(material, drawings, missing=missing)
        return Report(page, tuple(drawings), material, collection_card(material) if with_card else None)


# The collection card: what goes with a published collection. The names in it are a format, declared here.

_POOL = ("topic", "document", "position", "step", "stratum", "probability", "version", "run", "group", "rank")
_RUNS = ("run", "group", "family", "pooled", "topics", "rows", "content_hash", "file_sha256", "description")
KIND = "cranfield-collection-card"
VERSION = 1


def collection_card(material: Material) -> dict[str, Any]:
    """The card as what JSON can hold. It names no assessor; a licence is there where the collection has one."""
    status, reuse = material.status, reuse_card(material)
    estimates = () if material.agreement is None else material.agreement.overall.estimates
    group_names = ("group", "runs", "documents", "only_this_group")
    groups = material.pool.groups if material.pool is not None else ()
    return {
        "kind": KIND,
        "version": VERSION,
        "name": status.name,
        "licence": material.licence or None,
        "made": material.made,
        "made_by": f"cranfield {__version__}",
        "counts": _counts(material),
        "scale": {
            "relevant_from": status.scale.relevant_from,
            "grades": [_picked(one, "grade", "label", "gain", "text") for one in status.scale.grades],
        },
        "guidelines": {"version": status.guidelines_version},
        "pools": [] if material.pool is None else [_pool_in_card(material.pool)],
        "runs": [
            {"name": row["run"], **{key: row[key] for key in _RUNS if key not in ("run", "file_sha256")}}
            for row in (dict(zip(_RUNS, run, strict=True)) for run in _runs(material))
        ],
        "groups": [dict(zip(group_names, row, strict=True)) for row in groups],
        "qrels": _qrels_in_card(material),
        "agreement": [_picked(one, "coefficient", "value", "low", "high", "items") for one in estimates],
        "reusability": {
            "collection": None if material.bias is None else _fairness(material.bias),
            "card": None if reuse is None else reuse_cards.encoded(reuse, reuse_cards.KEYS),
        },
        "checksums": dict(material.checksums),
        "history": list(material.history),
    }


def reuse_card(material: Material) -> reuse_cards.Card | None:
    """The card of the pool, with which others judge their runs; None where the contributing runs are not known."""
    trust = None if material.evaluation is None else material.evaluation.trust
    if trust is None or trust.field.prefixes is None or not trust.trusts:
        return None
    try:
        return card_for(trust)
    except CranfieldError:
        return None


def card_json(card: dict[str, Any]) -> str:
    """A card as text; what is not a number is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(inner) for name, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else reuse_cards.encoded(value)

    return json.dumps(plain(card), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _counts(material: Material) -> dict[str, int]:
    status = material.status
    counts = {
        "documents": status.counts.documents,
        "topics": status.counts.topics,
        "runs": len(status.runs),
        "groups": status.groups,
        "contributing_runs": status.contributing,
        "pooled": status.counts.pooled,
        "assessors": status.assessors,
        "duplicate_clusters": status.counts.clusters,
    }
    if material.qrels is not None:
        grades = material.qrels.grades
        counts["judged"] = int((grades >= 0).sum())
        counts["relevant"] = int((grades >= status.scale.relevant_from).sum())
    return counts


def _picked(thing: object, *names: str) -> dict[str, Any]:
    """Some of what a thing has, under names that a card has it by too."""
    return {name: getattr(thing, name) for name in names}


def _pool_in_card(pool: PoolView) -> dict[str, Any]:
    of_plan = "name", "plan", "plan_in_full", "seed", "judging_order", "one_per_cluster"
    facts = _picked(pool.facts, *of_plan, "content_hash", "made", "made_by")
    facts["one_per_cluster"] = bool(facts["one_per_cluster"])
    return {**facts, "documents": pool.documents, "judged": pool.judged}


def _runs(material: Material) -> list[tuple[Value, ...]]:
    """The columns `_RUNS` of all runs."""
    return [
        (
            run.name,
            run.group_name,
            run.family,
            run.name in material.pooled_runs,
            run.topics,
            run.rows,
            run.content_hash,
            run.file_sha256,
            run.description,
        )
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


def _fairness(bias: CollectionReport) -> dict[str, Any]:
    measures = []
    for one in bias.verdicts:
        row = {"measure": str(one.measure), "fairness": one.fairness, "reason": one.reason, "mean_loss": one.drop}
        if "group" in bias.levels:
            summary = bias.levels["group"].summary(one.measure)
            row |= {"tau_b": summary.tau_b, "lowest_tau_b": summary.lowest_tau_b, "tau_ap": summary.tau_ap}
        measures.append(row)
    counts = {"judged": bias.judged, "relevant": bias.relevant, "from_nobody": bias.orphans}
    return {"fairness": bias.fairness, "measures": measures, **counts, "not_exhausted": list(bias.not_exhausted)}


# A publishable folder: topics, qrels, the pool with its provenance, the runs, cards and checksums.


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
        qrels_reading.write_qrels(qrels_workflow.released_qrels(store, release), qrels)
        content: dict[str, str | bytes] = {
            "topics.trec": topics.getvalue(),
            "qrels.txt": qrels.getvalue(),
            "runs.csv": render_csv(table_of(_RUNS, _runs(material))),
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
        content["card.json"] = card_json(collection_card(material))
        if material.guidelines:
            content["guidelines.md"] = material.guidelines
        if (reuse := reuse_card(material)) is not None:
            content["reuse-card.json"] = reuse_cards.card_text(reuse)
    written = {name: text if isinstance(text, bytes) else text.encode() for name, text in content.items()}
    sums = "".join(f"{sha256(written[name]).hexdigest()}  {name}\n" for name in sorted(written))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in {**written, "SHA256SUMS": sums.encode()}.items():
        with whole_file(folder / name) as unfinished:
            unfinished.write_bytes(data)
    return [folder / name for name in (*written, "SHA256SUMS")]
