"""The report about a collection: its page, its figures and its tables; and its card, for programs to read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError, UsageError
from cranfield.base.files import Progress, silent, whole_file
from cranfield.base.registry import deferred
from cranfield.base.text import now
from cranfield.report.page import Drawing, Page, render_html, render_page_markdown, tables_of
from cranfield.report.rendering import renderers
from cranfield.report.reports.collection import Board, CollectionFacts, PoolPart, QrelsPart, collection_page
from cranfield.reuse import card as reuse_cards
from cranfield.reuse.tables import trust_table
from cranfield.store import documents, pools
from cranfield.store.store import Store
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.collection import licence_of
from cranfield.workflows.evaluate.evaluate import best_group
from cranfield.workflows.report import material as materials
from cranfield.workflows.report.figures import draw_all
from cranfield.workflows.report.material import Material, ReportRequest
from cranfield.workflows.reuse.reuse import about_collection, card_for

with deferred:
    from cranfield.corpus import formats as corpus_formats
    from cranfield.qrels import reading as qrels_reading
    from cranfield.report import figures

if TYPE_CHECKING:
    from cranfield.qrels.release import Manifest
    from cranfield.reuse.collection import CollectionReport


@dataclass(frozen=True, eq=False)
class Report:
    """The page, its figures, the card where one was asked for, and what all was made from."""

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

    def write_tables(self, folder: Path, *, format: str) -> int:
        """Write each table of the page into a folder; gives how many they are."""
        render, suffix = renderers.get(format), {"latex": "tex", "markdown": "md"}.get(format, format)
        folder.mkdir(parents=True, exist_ok=True)
        tables = tables_of(self.page)
        for name, table in tables.items():
            _write(folder / f"{name}.{suffix}", render(table))
        return len(tables)

    def write_figures(self, folder: Path, *, kind: str) -> int:
        """Write each figure into a folder, as svg, png or pdf; gives how many they are."""
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
        material = materials.gather(store, request, progress=progress)
        drawings, no_drawings = draw_all(material)
        status, version, guidelines = material.status, store.versions()[1], store.guidelines()
        facts = CollectionFacts(
            name=status.name,
            made=now(),
            made_by=f"cranfield {__version__}",
            documents=status.documents,
            duplicate_clusters=status.duplicate_clusters,
            scale=status.scale,
            guidelines=guidelines,
            guidelines_version=version,
            topics=tuple(materials.topic_parts(store, material)),
            pool=_pool(material),
            judging=materials.judging_part(material),
            board=_board(material),
            bias=material.bias,
            bias_said=() if material.bias is None else tuple(about_collection(material.bias)),
            drawings=drawings,
            missing=(*material.missing, *([no_drawings] if no_drawings else [])),
            licence=licence_of(store),
            qrels=_qrels(material),
            checksums=tuple(checksums(store, material).items()),
            commands=tuple(_commands(material)),
        )
        card = collection_card(store, material) if with_card else None
        return Report(collection_page(facts), tuple(drawings), material, card)


def _qrels(material: Material) -> QrelsPart | None:
    if material.qrels is None:
        return None
    is_now = material.release is None and bool(material.layers)
    name = "what was judged when this page was made" if is_now else material.qrels.name
    return QrelsPart(name, material.qrels.content_hash, material.layers, material.rule)


def _pool(material: Material) -> PoolPart | None:
    shown = material.pool
    if shown is None:
        return None
    facts, leaning = shown.facts, shown.leaning
    return PoolPart(
        plan=facts.plan,
        plan_in_full=facts.plan_in_full,
        seed=facts.seed,
        content_hash=facts.content_hash,
        made=facts.made,
        made_by=facts.made_by,
        documents=shown.documents,
        topics=len(shown.topics),
        runs=tuple(shown.runs),
        groups=tuple(shown.groups),
        warnings=() if leaning is None else (leaning.message,),
    )


def _board(material: Material) -> Board | None:
    evaluation = material.evaluation
    if evaluation is None:
        return None
    scores, trust, letters = evaluation.scores, evaluation.trust, evaluation.letters
    fed = {run for run, *_ in material.pool.runs} if material.pool is not None else set()
    best = best_group(scores) if len(scores.run_names) > materials.LETTERED else None
    verdicts, tables = {}, {}
    if trust is not None:
        worst = {name: trust.worst(place) for place, name in enumerate(scores.run_names)}
        verdicts = {name: verdict.level for name, verdict in worst.items() if verdict is not None}
        for one in trust.trusts:
            tables[str(one.measure)] = trust_table(one, range(trust.field.asked))
    return Board(
        scores=scores,
        groups={run.name: (run.group_name, run.name in fed) for run in material.status.runs},
        letters=() if letters is None else letters.by_measure,
        letters_said="" if letters is None else letters.said,
        best=frozenset() if best is None else best.runs,
        best_said="" if best is None else best.said,
        trust=tables,
        verdicts=verdicts,
        notes=evaluation.facts,
    )


def checksums(store: Store, material: Material) -> dict[str, str]:
    """Give SHA-256 of everything the numbers hang on: documents and topics as one hash each, by their ids."""
    sums = {}
    for table in ("documents", "topics"):
        rows = store.rows(f"SELECT content_hash FROM {table} ORDER BY id")  # noqa: S608 (one of two words)
        sums[table] = sha256("".join(f"{known}\n" for (known,) in rows).encode()).hexdigest()
    if material.qrels is not None:
        sums["qrels"] = material.qrels.content_hash
    if material.pool is not None:
        sums["pool"] = material.pool.facts.content_hash
    version, text = store.versions()[1], store.guidelines()
    if text:
        sums[f"guidelines, version {version}"] = sha256(text.encode()).hexdigest()
    return sums | {f"run {run.name}": run.content_hash for run in material.status.runs}


def _commands(material: Material) -> Iterator[str]:
    """Give the commands that make the numbers of the page again."""
    request, evaluation = material.request, material.evaluation
    words = "".join(f" -m '{measure}'" for measure in request.measures)
    words += f" --qrels {request.qrels}" if request.qrels else ""
    words += "".join(f" --layer {layer}" for layer in request.layers if request.layers != ("main",))
    if material.pool is not None:
        yield "cranfield pool verify"
    if evaluation is not None:
        yield f"cranfield evaluate{words}" + (" --letters tukey" if evaluation.letters else "")
        if evaluation.trust is not None:
            yield f"cranfield reuse{words}"
    yield f"cranfield report{words}" + (" --public" if request.public else "")


# The collection card: what goes with a published collection. The names in it are a format, declared here.

_POOL = ("topic", "document", "position", "step", "stratum", "probability", "version", "run", "group", "rank")
_RUNS = ("run", "group", "family", "pooled", "topics", "rows", "content_hash", "file_sha256", "description")
KIND = "cranfield-collection-card"
VERSION = 1


def collection_card(store: Store, material: Material) -> dict[str, Any]:
    """Give the card as what JSON can hold. It names no assessor; a licence is there where the collection has one."""
    status, reuse = material.status, reuse_card(material)
    estimates = () if material.agreement is None else material.agreement.overall.estimates
    group_names = ("group", "runs", "documents", "only_this_group")
    groups = material.pool.groups if material.pool is not None else ()
    return {
        "kind": KIND,
        "version": VERSION,
        "name": status.name,
        "licence": licence_of(store) or None,
        "made": now(),
        "made_by": f"cranfield {__version__}",
        "counts": _counts(material),
        "scale": {
            "relevant_from": status.scale.relevant_from,
            "grades": [
                {"grade": one.grade, "label": one.label, "gain": one.gain, "text": one.text}
                for one in status.scale.grades
            ],
        },
        "guidelines": {"version": status.guidelines_version},
        "pools": _pools_in_card(material),
        "runs": _runs_in_card(material),
        "groups": [dict(zip(group_names, row, strict=True)) for row in groups],
        "qrels": _qrels_in_card(material),
        "agreement": [
            {"coefficient": one.coefficient, "value": one.value, "low": one.low, "high": one.high, "items": one.items}
            for one in estimates
        ],
        "reusability": {
            "collection": None if material.bias is None else _fairness(material.bias),
            "card": None if reuse is None else reuse_cards.card_content(reuse),
        },
        "checksums": checksums(store, material),
    }


def reuse_card(material: Material) -> reuse_cards.Card | None:
    """Give the card of the pool, with which others judge their runs; None where it is not known who fed it."""
    trust = None if material.evaluation is None else material.evaluation.trust
    if trust is None or trust.field.prefixes is None or not trust.trusts:
        return None
    try:
        return card_for(trust)
    except CranfieldError:
        return None


def card_json(card: dict[str, Any]) -> str:
    """Give a card as text; what is not a number is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(inner) for name, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else reuse_cards.encoded(value)

    return json.dumps(plain(card), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _counts(material: Material) -> dict[str, int]:
    status = material.status
    counts = {
        "documents": status.documents,
        "topics": status.topics,
        "runs": len(status.runs),
        "groups": status.groups,
        "contributing_runs": status.contributing,
        "pooled": status.pooled,
        "assessors": status.assessors,
        "duplicate_clusters": status.duplicate_clusters,
    }
    if material.qrels is not None:
        grades = material.qrels.grades
        counts["judged"] = int((grades >= 0).sum())
        counts["relevant"] = int((grades >= status.scale.relevant_from).sum())
    return counts


def _pools_in_card(material: Material) -> list[dict[str, Any]]:
    if material.pool is None:
        return []
    facts = material.pool.facts
    pool = {
        "name": facts.name,
        "plan": facts.plan,
        "plan_in_full": facts.plan_in_full,
        "seed": facts.seed,
        "judging_order": facts.judging_order,
        "one_per_cluster": bool(facts.one_per_cluster),
        "content_hash": facts.content_hash,
        "made": facts.made,
        "made_by": facts.made_by,
        "documents": material.pool.documents,
        "judged": material.pool.judged,
    }
    return [pool]


def _runs_in_card(material: Material) -> list[dict[str, Any]]:
    fed = {run for run, *_ in material.pool.runs} if material.pool is not None else set()
    return [
        {
            "name": run.name,
            "group": run.group_name,
            "family": run.family,
            "pooled": run.name in fed,
            "topics": run.topics,
            "rows": run.rows,
            "content_hash": run.content_hash,
            "description": run.description,
        }
        for run in material.status.runs
    ]


def _qrels_in_card(material: Material) -> dict[str, Any] | None:
    """Say what the qrels are, and how they came about: a release and a file have a story of their own."""
    qrels = material.qrels
    if qrels is None:
        return None
    return {
        "name": qrels.name,
        "content_hash": qrels.content_hash,
        "topics": len(qrels.topic_ids),
        "grades": qrels.counts(),
        "layers": list(material.layers),
        "rule": list(material.rule),
        **({} if material.release is None else _release_in_card(material.release)),
    }


def _release_in_card(release: Manifest) -> dict[str, Any]:
    """Give what only a release knows; not its primary assessors, who are people, nor its note."""
    made: dict[str, Any] = {"made": release.made, "made_by": release.made_by}
    if release.file:
        return made | {"file": release.file, "file_sha256": release.file_sha256}
    versions = {"scales": dict(release.scales), "guidelines": dict(release.guidelines)}
    return made | {"up_to_event": release.up_to_event, **versions, "pools": dict(release.pools)}


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
        raise UsageError(f"{folder} is not empty: a bundle needs a folder of its own")


def write_bundle(store: Store, release: str, folder: Path, *, progress: Progress = silent) -> list[Path]:
    """Lay out a release as a folder that can be published; gives the files.

    No assessor and no text of a document is in it. SHA256SUMS comes last: a folder without it is not complete.
    """
    refuse_full(folder)
    made: list[Path] = []

    def write(name: str, content: str | Callable[[TextIO], object]) -> None:
        with whole_file(folder / name) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as stream:
            stream.write(content) if isinstance(content, str) else content(stream)
        made.append(folder / name)

    def write_csv(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        write(name, lambda stream: csv.writer(stream, lineterminator="\n").writerows([head, *rows]))

    with store.snapshot():
        material = materials.gather(store, ReportRequest(qrels=release, public=True), progress=progress)
        folder.mkdir(parents=True, exist_ok=True)
        topics = documents.topics(store)
        write("topics.trec", lambda stream: corpus_formats.topic_formats.get("trec").write(topics, stream))
        path = folder / "qrels.txt"
        with whole_file(path) as unfinished, unfinished.open("wb") as binary:
            qrels_reading.write_qrels(qrels_workflow.released_qrels(store, release), binary)
        made.append(path)
        pooled = {run for run, *_ in material.pool.runs} if material.pool is not None else set()
        write_csv(
            "runs.csv",
            _RUNS,
            [
                (
                    run.name,
                    run.group_name,
                    run.family,
                    "true" if run.name in pooled else "false",
                    run.topics,
                    run.rows,
                    run.content_hash,
                    run.file_sha256,
                    run.description,
                )
                for run in material.status.runs
            ],
        )
        if material.pool is not None:
            write_csv("pool.csv", _POOL, _provenance(store, material.pool.facts.name))
        write("card.json", card_json(collection_card(store, material)))
        if guidelines := store.guidelines():
            write("guidelines.md", guidelines)
        if (reuse := reuse_card(material)) is not None:
            write("reuse-card.json", reuse_cards.card_text(reuse))
        sums = "".join(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made))
        write("SHA256SUMS", sums)
    return made


def _provenance(store: Store, pool: str) -> list[Sequence[object]]:
    """Give one row for each pooled document and run that brought it; one without a run where none did."""
    return store.rows(
        """SELECT entry.topic, entry.document, entry.position, entry.step, entry.stratum, entry.probability,
                  entry.version, ranks.run, sender.group_name, ranks.rank
           FROM pool_entries AS entry
           LEFT JOIN pool_ranks AS ranks USING (pool, topic, document)
           LEFT JOIN pool_runs AS sender ON sender.pool = entry.pool AND sender.run = ranks.run
           WHERE entry.pool = ? ORDER BY entry.topic, entry.position, ranks.rank, ranks.run""",
        pools.pool_number(store, pool),
    )
