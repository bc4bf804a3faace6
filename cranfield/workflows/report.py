"""The report about a collection: its page, its figures and its tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield._version import __version__
from cranfield.workflows.licence import licence_of
from cranfield.workflows.report_judging import judging_part
from cranfield.workflows.report_material import MEASURES, Material, Wanted, material_of
from cranfield.workflows.report_pictures import Picture, drawings_of, pictures_of
from cranfield.workflows.report_topics import topic_parts
from cranfield.workflows.reuse_asking import about_collection, depth_words, rows_of
from cranfield.workflows.watching import Progress, now, silent
from cranfield.store import Store
from cranfield.store.scales import current_guidelines

if TYPE_CHECKING:
    from cranfield.report.page import Page
    from cranfield.report.reports.collection_facts import Board, PoolPart, QrelsPart
    from cranfield.report.table import Table

__all__ = ["MEASURES", "Reported", "Wanted", "collection_report", "write_figures", "write_page", "write_tables"]


@dataclass(frozen=True, eq=False)
class Reported:
    """A report: the page, its figures as they are drawn, and what it was made from."""

    page: "Page"
    pictures: tuple[Picture, ...]
    material: Material


def collection_report(store: Store, wanted: Wanted, *, progress: Progress = silent) -> Reported:
    """Gather what is known and arrange it; all of it is of one moment, whatever is judged meanwhile."""
    with store.snapshot():
        return report_of(store, material_of(store, wanted, progress=progress))


def report_of(store: Store, material: Material) -> Reported:
    """Arrange what was gathered."""
    from cranfield.report.reports.collection import collection_page
    from cranfield.report.reports.collection_facts import CollectionFacts

    pictures, no_pictures = pictures_of(material)
    status, (version, guidelines) = material.status, current_guidelines(store)
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


def _qrels(material: Material) -> "QrelsPart | None":
    from cranfield.report.reports.collection_facts import QrelsPart

    if material.qrels is None:
        return None
    is_now = material.release is None and bool(material.layers)
    name = "what was judged when this page was made" if is_now else material.qrels.name
    return QrelsPart(name, material.qrels.content_hash, material.layers, material.rule)


def _pool(material: Material) -> "PoolPart | None":
    from cranfield.report.reports.collection_facts import PoolPart

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


def _board(material: Material) -> "Board | None":
    from cranfield.report.reports.collection_facts import Board

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
        notes=evaluated.notes,
    )


def _trust_tables(material: Material) -> "Iterator[tuple[str, Table]]":
    from cranfield.report.reuse_tables import trust_table

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
    version, text = current_guidelines(store)
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


def write_page(page: "Page", path: Path) -> None:
    """Write the page: as Markdown where the file is called so, else as HTML."""
    from cranfield.report.html import render_html
    from cranfield.report.page_markdown import render_page_markdown
    from cranfield.writing import whole_file

    render = render_page_markdown if path.suffix.lower() in (".md", ".markdown") else render_html
    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(render(page), encoding="utf-8")


_SUFFIXES: Mapping[str, str] = {"latex": "tex", "markdown": "md"}


def write_tables(page: "Page", folder: Path, *, format: str) -> list[Path]:
    """Write each table of the page into a folder; gives the files."""
    from cranfield.report.page import tables_of
    from cranfield.report.rendering import renderers
    from cranfield.writing import whole_file

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
