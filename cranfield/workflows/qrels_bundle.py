"""A publishable folder: topics, qrels, the pool with its provenance, the runs, cards and checksums."""

import csv
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cranfield.errors import UsageError
from cranfield.workflows.qrels_export import write_qrels
from cranfield.workflows.qrels_of import released_qrels
from cranfield.workflows.report_card import card_for_collection, card_json, reuse_card
from cranfield.workflows.report_material import Material, Wanted, material_of
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.pools import pool_number
from cranfield.store.scales import current_guidelines
from cranfield.store.topics import topics
from cranfield.writing import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SUMS = "SHA256SUMS"

_POOL = ("topic", "document", "position", "step", "stratum", "probability", "version", "run", "group", "rank")
_RUNS = ("run", "group", "family", "pooled", "topics", "rows", "content_hash", "file_sha256", "description")


def check_folder(folder: Path) -> None:
    """Refuse a folder that has something in it, before anything is done."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: a bundle needs a folder of its own")


def write_bundle(store: Store, release: str, folder: Path, *, progress: Progress = silent) -> list[Path]:
    """Lay out a release as a folder that can be published; gives the files.

    No assessor and no text of a document is in it. SHA256SUMS comes last: a folder without it is not complete.
    """
    check_folder(folder)
    with store.snapshot():
        return _bundled(store, release, folder, progress)


def _bundled(store: Store, release: str, folder: Path, progress: Progress) -> list[Path]:
    material = material_of(store, Wanted(qrels=release, public=True), progress=progress)
    folder.mkdir(parents=True, exist_ok=True)
    made = [_topics(store, folder), _qrels(store, release, folder), _runs(material, folder)]
    made += [_pool(store, material, folder)] if material.pool is not None else []
    made.append(_text(folder / "card.json", card_json(card_for_collection(store, material))))
    made += _further(store, material, folder)
    sums = "".join(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made))
    return [*made, _text(folder / SUMS, sums)]


def _further(store: Store, material: Material, folder: Path) -> list[Path]:
    """Write what not every collection has: guidelines, and the card that others judge their runs with."""
    from cranfield.reuse.card import card_text

    guidelines, reuse = current_guidelines(store)[1], reuse_card(material)
    made = [_text(folder / "guidelines.md", guidelines)] if guidelines else []
    return made + ([_text(folder / "reuse-card.json", card_text(reuse))] if reuse is not None else [])


def _topics(store: Store, folder: Path) -> Path:
    from cranfield.corpus.formats import topic_formats

    return _written(folder / "topics.trec", lambda stream: topic_formats.get("trec").write(topics(store), stream))


def _qrels(store: Store, release: str, folder: Path) -> Path:
    path = folder / "qrels.txt"
    with whole_file(path) as unfinished, unfinished.open("wb") as stream:
        write_qrels(released_qrels(store, release), stream)
    return path


def _pool(store: Store, material: Material, folder: Path) -> Path:
    """Write one row for each pooled document and run that brought it; one without a run where none did."""
    assert material.pool is not None
    rows = store.rows(
        """SELECT entry.topic, entry.document, entry.position, entry.step, entry.stratum, entry.probability,
                  entry.version, ranks.run, sender.group_name, ranks.rank
           FROM pool_entries AS entry
           LEFT JOIN pool_ranks AS ranks USING (pool, topic, document)
           LEFT JOIN pool_runs AS sender ON sender.pool = entry.pool AND sender.run = ranks.run
           WHERE entry.pool = ? ORDER BY entry.topic, entry.position, ranks.rank, ranks.run""",
        pool_number(store, material.pool.facts.name),
    )
    return _csv(folder / "pool.csv", _POOL, rows)


def _runs(material: Material, folder: Path) -> Path:
    fed = {run for run, *_ in material.pool.runs} if material.pool is not None else set()
    rows = [
        (
            run.name,
            run.group_name,
            run.family,
            "true" if run.name in fed else "false",
            run.topics,
            run.rows,
            run.content_hash,
            run.file_sha256,
            run.description,
        )
        for run in material.status.runs
    ]
    return _csv(folder / "runs.csv", _RUNS, rows)


def _csv(path: Path, head: "Sequence[str]", rows: "Iterable[Sequence[object]]") -> Path:
    def write(stream: TextIO) -> None:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)

    return _written(path, write)


def _text(path: Path, text: str) -> Path:
    return _written(path, lambda stream: stream.write(text))


def _written(path: Path, write: Callable[[TextIO], object]) -> Path:
    with whole_file(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as stream:
        write(stream)
    return path
