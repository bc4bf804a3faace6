"""The report about a collection: its page, its figures and its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError
from cranfield.base.progress import Progress, now, silent
from cranfield.store import scales
from cranfield.store.store import Store
from cranfield.workflows.collection import licence_of
from cranfield.workflows.report.material import (
    Material,
    Picture,
    Wanted,
    drawings_of,
    judging_part,
    material_of,
    pictures_of,
    topic_parts,
)
from cranfield.workflows.reuse.reuse import about_collection, depth_words, rows_of

if TYPE_CHECKING:
    from cranfield.base.tables import Table
    from cranfield.qrels.merge import Manifest
    from cranfield.report.page import Page
    from cranfield.report.reports.collection import Board, PoolPart, QrelsPart
    from cranfield.reuse.card import Card
    from cranfield.reuse.collection import CollectionReport


@dataclass(frozen=True, eq=False)
class Reported:
    """A report: the page, its figures as they are drawn, and what it was made from."""

    page: Page
    pictures: tuple[Picture, ...]
    material: Material


def collection_report(store: Store, wanted: Wanted, *, progress: Progress = silent) -> Reported:
    """Gather what is known and arrange it; all of it is of one moment, whatever is judged meanwhile."""
    with store.snapshot():
        return report_of(store, material_of(store, wanted, progress=progress))


def report_of(store: Store, material: Material) -> Reported:
    """Arrange what was gathered."""
    from cranfield.report.reports.collection import CollectionFacts, collection_page

    pictures, no_pictures = pictures_of(material)
    status, (version, guidelines) = material.status, scales.current_guidelines(store)
    facts = CollectionFacts(
        name=status.name,
        made=now(),
        made_by=f"cranfield {__version__}",
        documents=status.documents,
        duplicate_clusters=status.duplicate_clusters,
        scale=status.scale,
        guidelines=guidelines,
        guidelines_version=version,
        topics=tuple(topic_parts(store, material)),
        pool=_pool(material),
        judging=judging_part(material),
        board=_board(material),
        bias=material.bias,
        bias_said=() if material.bias is None else tuple(about_collection(material.bias)),
        drawings=drawings_of(pictures),
        missing=(*material.missing, *([no_pictures] if no_pictures else [])),
        licence=licence_of(store),
        qrels=_qrels(material),
        checksums=tuple(checksums(store, material).items()),
        commands=tuple(_commands(material)),
    )
    return Reported(collection_page(facts), tuple(pictures), material)


def _qrels(material: Material) -> QrelsPart | None:
    from cranfield.report.reports.collection import QrelsPart

    if material.qrels is None:
        return None
    is_now = material.release is None and bool(material.layers)
    name = "what was judged when this page was made" if is_now else material.qrels.name
    return QrelsPart(name, material.qrels.content_hash, material.layers, material.rule)


def _pool(material: Material) -> PoolPart | None:
    from cranfield.report.reports.collection import PoolPart

    shown = material.pool
    if shown is None:
        return None
    facts, leaning = shown.facts, shown.leaning
    return PoolPart(
        name=facts.name,
        plan=facts.plan,
        plan_in_full=facts.plan_in_full,
        seed=facts.seed,
        content_hash=facts.content_hash,
        made=facts.made,
        made_by=facts.made_by,
        documents=shown.documents,
        judged=shown.judged,
        topics=len(shown.topics),
        runs=tuple(shown.runs),
        groups=tuple(shown.groups),
        warnings=() if leaning is None else (leaning.message,),
    )


def _board(material: Material) -> Board | None:
    from cranfield.report.reports.collection import Board

    evaluated, trust = material.evaluated, material.trust
    if evaluated is None:
        return None
    fed = {run for run, *_ in material.pool.runs} if material.pool is not None else set()
    worst = (
        {} if trust is None else {name: trust.worst(place) for place, name in enumerate(evaluated.scores.run_names)}
    )
    return Board(
        scores=evaluated.scores,
        groups={run.name: (run.group_name, run.name in fed) for run in material.status.runs},
        letters=() if evaluated.letters is None else evaluated.letters.by_measure,
        letters_said="" if evaluated.letters is None else evaluated.letters.said,
        best=frozenset() if material.best is None else material.best.runs,
        best_said="" if material.best is None else material.best.said,
        trust=dict(_trust_tables(material)),
        verdicts={name: verdict.level for name, verdict in worst.items() if verdict is not None},
        notes=evaluated.facts,
    )


def _trust_tables(material: Material) -> Iterator[tuple[str, Table]]:
    from cranfield.reuse.tables import trust_table

    found = material.trust
    for trust in found.trusts if found is not None else ():
        rows = rows_of(trust, range(found.field.asked if found is not None else 0))
        yield str(trust.measure), trust_table(rows, measure=str(trust.measure), depth=depth_words(trust))


def checksums(store: Store, material: Material) -> dict[str, str]:
    """Give SHA-256 of everything the numbers hang on: documents and topics as one hash each, by their ids."""
    found = {what: _hash_of_rows(store, what) for what in ("documents", "topics")}
    if material.qrels is not None:
        found["qrels"] = material.qrels.content_hash
    if material.pool is not None:
        found["pool"] = material.pool.facts.content_hash
    version, text = scales.current_guidelines(store)
    if text:
        found[f"guidelines, version {version}"] = sha256(text.encode()).hexdigest()
    return found | {f"run {run.name}": run.content_hash for run in material.status.runs}


def _hash_of_rows(store: Store, table: str) -> str:
    digest = sha256()
    for (known,) in store.rows(f"SELECT content_hash FROM {table} ORDER BY id"):  # noqa: S608 (one of two words)
        digest.update(f"{known}\n".encode())
    return digest.hexdigest()


def _commands(material: Material) -> Iterator[str]:
    wanted = material.wanted
    options = "".join(f" --layer {layer}" for layer in wanted.layers if wanted.layers != ("main",))
    options = (f" --qrels {wanted.qrels}" if wanted.qrels else "") + options
    measures = "".join(f" -m '{measure}'" for measure in wanted.measures)
    if material.pool is not None:
        yield "cranfield pool verify"
    if material.evaluated is not None:
        yield f"cranfield evaluate{measures}{options}" + (" --letters tukey" if material.evaluated.letters else "")
    if material.trust is not None:
        yield f"cranfield reuse{measures}{options}"
    yield f"cranfield report{measures}{options}" + (" --public" if wanted.public else "")


def write_page(page: Page, path: Path) -> None:
    """Write the page: as Markdown where the file is called so, else as HTML."""
    from cranfield.base.files import whole_file
    from cranfield.report.page import render_html, render_page_markdown

    render = render_page_markdown if path.suffix.lower() in (".md", ".markdown") else render_html
    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(render(page), encoding="utf-8")


_SUFFIXES: Mapping[str, str] = {"latex": "tex", "markdown": "md"}


def write_tables(page: Page, folder: Path, *, format: str) -> list[Path]:
    """Write each table of the page into a folder; gives the files."""
    from cranfield.base.files import whole_file
    from cranfield.report.page import tables_of
    from cranfield.report.rendering import renderers

    render = renderers.get(format)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in tables_of(page).items():
        path = folder / f"{name}.{_SUFFIXES.get(format, format)}"
        with whole_file(path, replace=True) as unfinished:
            unfinished.write_text(render(table), encoding="utf-8")
        written.append(path)
    return written


def write_figures(pictures: tuple[Picture, ...], folder: Path, *, kind: str) -> list[Path]:
    """Write each figure into a folder, as svg, png or pdf; gives the files."""
    from cranfield.report.figures import save

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{picture.name}.{kind}" for picture in pictures]
    for picture, path in zip(pictures, paths, strict=True):
        save(picture.figure, path)
    return paths


# The collection card: what goes with a published collection, for programs to read.

KIND = "cranfield-collection-card"
VERSION = 1


def report_and_card(store: Store, wanted: Wanted, *, progress: Progress = silent) -> tuple[Reported, dict[str, Any]]:
    """Make a report, and the card of the same moment."""
    with store.snapshot():
        made = collection_report(store, wanted, progress=progress)
        return made, card_for_collection(store, made.material)


def card_for_collection(store: Store, material: Material) -> dict[str, Any]:
    """Give the card as what JSON can hold. It names no assessor; a licence is there where the collection has one."""
    from cranfield.reuse.card import card_content

    status = material.status
    reuse = reuse_card(material)
    made: dict[str, Any] = {
        "kind": KIND,
        "version": VERSION,
        "name": status.name,
        "licence": licence_of(store) or None,
        "made": now(),
        "made_by": f"cranfield {__version__}",
        "counts": _counts(material),
        "scale": _scale(material),
        "guidelines": {"version": status.guidelines_version},
        "pools": [_pool_report_card(material)] if material.pool is not None else [],
        "runs": _runs(material),
        "groups": _groups(material),
        "qrels": _qrels_report_card(material),
        "agreement": _agreement(material),
        "reusability": {
            "collection": None if material.bias is None else _fairness(material.bias),
            "card": None if reuse is None else card_content(reuse),
        },
        "checksums": checksums(store, material),
    }
    return made


def reuse_card(material: Material) -> Card | None:
    """Give the card of the pool, with which others judge their runs; None where it is not known who fed it."""
    from cranfield.workflows.reuse.reuse import card_for

    if material.trust is None or material.trust.field.prefixes is None or not material.trust.trusts:
        return None
    try:
        return card_for(material.trust)
    except CranfieldError:
        return None


def write_card(card: dict[str, Any], path: Path) -> None:
    """Write a card, complete or not at all."""
    from cranfield.base.files import whole_file

    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(card_json(card), encoding="utf-8")


def card_json(card: dict[str, Any]) -> str:
    """Give a card as text; what is not a number is null."""
    from cranfield.reuse.card import encoded

    plain = {name: _plain(value, encoded) for name, value in card.items()}
    return json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _plain(value: Any, encoded: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner, encoded) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, encoded) for inner in value]
    return encoded(value)


def _counts(material: Material) -> dict[str, int]:
    status = material.status
    counts = {"documents": status.documents, "topics": status.topics, "runs": len(status.runs)}
    counts |= {"groups": status.groups, "contributing_runs": status.contributing, "pooled": status.pooled}
    counts |= {"assessors": status.assessors, "duplicate_clusters": status.duplicate_clusters}
    if material.qrels is not None:
        grades = material.qrels.grades
        counts["judged"] = int((grades >= 0).sum())
        counts["relevant"] = int((grades >= status.scale.relevant_from).sum())
    return counts


def _scale(material: Material) -> dict[str, Any]:
    scale = material.status.scale
    grades = [{"grade": one.grade, "label": one.label, "gain": one.gain, "text": one.text} for one in scale.grades]
    return {"relevant_from": scale.relevant_from, "grades": grades}


def _pool_report_card(material: Material) -> dict[str, Any]:
    assert material.pool is not None
    facts = material.pool.facts
    told = {"name": facts.name, "plan": facts.plan, "plan_in_full": facts.plan_in_full, "seed": facts.seed}
    told |= {"judging_order": facts.judging_order, "one_per_cluster": bool(facts.one_per_cluster)}
    told |= {"content_hash": facts.content_hash, "made": facts.made, "made_by": facts.made_by}
    return told | {"documents": material.pool.documents, "judged": material.pool.judged}


def _runs(material: Material) -> list[dict[str, Any]]:
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


def _groups(material: Material) -> list[dict[str, Any]]:
    if material.pool is None:
        return []
    names = ("group", "runs", "documents", "only_this_group")
    return [dict(zip(names, row, strict=True)) for row in material.pool.groups]


def _qrels_report_card(material: Material) -> dict[str, Any] | None:
    """Say what the qrels are, and how they came about: a release and a file have a story of their own."""
    from cranfield.qrels.merge import counts_of

    if material.qrels is None:
        return None
    told = {"name": material.qrels.name, "content_hash": material.qrels.content_hash}
    return told | {
        "topics": len(material.qrels.topic_ids),
        "grades": counts_of(material.qrels),
        "layers": list(material.layers),
        "rule": list(material.rule),
        **({} if material.release is None else _story(material.release)),
    }


def _story(release: Manifest) -> dict[str, Any]:
    """Give what only a release knows; not its primary assessors, who are people, nor its note."""
    told: dict[str, Any] = {"made": release.made, "made_by": release.made_by}
    if release.file:
        return told | {"file": release.file, "file_sha256": release.file_sha256}
    versions = {"scales": dict(release.scales), "guidelines": dict(release.guidelines)}
    return told | {"up_to_event": release.up_to_event, **versions, "pools": dict(release.pools)}


def _agreement(material: Material) -> list[dict[str, Any]]:
    found = () if material.agreement is None else material.agreement.overall.estimates
    return [
        {"coefficient": one.coefficient, "value": one.value, "low": one.low, "high": one.high, "items": one.items}
        for one in found
    ]


def _fairness(bias: CollectionReport) -> dict[str, Any]:
    measures = []
    for one in bias.verdicts:
        told = {"measure": str(one.measure), "fairness": one.fairness, "reason": one.reason, "mean_loss": one.drop}
        if "group" in bias.levels:
            summary = bias.levels["group"].summary(one.measure)
            told |= {"tau_b": summary.tau_b, "lowest_tau_b": summary.lowest_tau_b, "tau_ap": summary.tau_ap}
        measures.append(told)
    counts = {"judged": bias.judged, "relevant": bias.relevant, "from_nobody": bias.orphans}
    return {"fairness": bias.fairness, "measures": measures, **counts, "not_exhausted": list(bias.not_exhausted)}
