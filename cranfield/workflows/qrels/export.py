"""Write qrels to a file that others can read."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.files import whole_file
from cranfield.base.progress import Progress, silent
from cranfield.judge.events import MAIN
from cranfield.qrels.rules import Rule
from cranfield.store import documents, releases, scales
from cranfield.store.live_pools import thresholds
from cranfield.store.pools import pool_number
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import gains_of
from cranfield.workflows.qrels.current import (
    Chosen,
    meant_by,
    merged_now,
    older_grades,
    qrels_for,
    released_qrels,
    with_pooled,
)
from cranfield.workflows.report.material import Material, Wanted, material_of
from cranfield.workflows.report.report import card_for_collection, card_json, reuse_card

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cranfield.qrels.merge import Manifest
    from cranfield.qrels.qrels import Qrels


# Qrels in two grades: each grade is relevant or not by the scale it was given on.


def binary_qrels(
    store: Store,
    word: str | None,
    *,
    with_unjudged: bool = False,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
) -> Qrels:
    """Give the qrels that `word` means with 1 for relevant and 0 for not.

    Of the judgments and of a release made from them it is known by which version of the scale each grade was given;
    a file, and a release of a file, are read by the scale in force.
    """
    from cranfield.qrels.merge import binary_by_scale, manifest_from
    from cranfield.qrels.qrels import binary

    chosen = meant_by(store, word, layers=layers)
    if chosen == releases.NOW:
        with store.snapshot():
            opinions, merged = merged_now(store, layers=layers, rule=rule, up_to=up_to)
            qrels = binary_by_scale(opinions, merged, thresholds(store))
            return with_pooled(store, qrels) if with_unjudged else qrels
    qrels = qrels_for(store, chosen)
    if chosen in releases.names(store):
        manifest = manifest_from(releases.fetch(store, chosen).manifest)
        if len(manifest.scales) > 1:
            return _of_several_scales(store, manifest)
        for version in manifest.scales:
            return binary(qrels, relevant_from=thresholds(store)[int(version)])
    return binary(qrels, relevant_from=scales.current(store)[1].relevant_from)


def _of_several_scales(store: Store, manifest: Manifest) -> Qrels:
    """Fold a release from the events again, to see by which scale each of its grades was given."""
    from cranfield.qrels.merge import binary_by_scale
    from cranfield.qrels.qrels import judged_only

    frozen = released_qrels(store, manifest.name)
    opinions, merged = merged_now(
        store, layers=manifest.layers, rule=manifest.rule, up_to=manifest.up_to_event, primary=manifest.primary
    )
    if merged.qrels.content_hash != judged_only(frozen).content_hash:
        raise InputError(
            f"release {quoted(manifest.name)} has grades of several scales, and the events do not tell which has"
            " which; say from which grade on they are relevant with --binary-from"
        )
    grades = frozen.grades.copy()
    # Both are sorted by topic and document, so that the judged rows of one are the rows of the other.
    grades[grades >= 0] = binary_by_scale(opinions, merged, thresholds(store)).grades
    return replace(frozen, grades=grades)


def exported_qrels(
    store: Store, word: str | None, *, chosen: Chosen | None = None, binary_from: int | None = None
) -> Qrels:
    """Give the qrels that an export writes; `binary_from` 0 means: as relevant as the scale of each grade says."""
    from cranfield.qrels.qrels import binary

    asked = chosen or Chosen()
    if word not in (None, releases.NOW) and asked != Chosen():
        raise UsageError(f"{quoted(word)} is what it is; layers, rule, moment and unjudged documents are for 'now'")
    event = asked.event(store)
    # A moment is asked of the judgments, never of the only release that stands in for them.
    which = releases.NOW if asked != Chosen() else word
    give = binary_qrels if binary_from == 0 else qrels_for
    qrels = give(store, which, with_unjudged=asked.with_unjudged, layers=asked.layers, rule=asked.rule, up_to=event)
    if not len(qrels):
        raise InputError(f"there is nothing to write: no grade stands in {' or '.join(asked.layers)}")
    return binary(qrels, relevant_from=binary_from) if binary_from else qrels


def export_warning(store: Store, word: str | None, *, chosen: Chosen | None = None, in_two: bool = False) -> str:
    """Warn of grades that were given on an older scale; empty where there are none.

    In two grades by the scales themselves (`in_two`) each was read by its own.
    """
    asked = chosen or Chosen()
    which = releases.NOW if asked != Chosen() else word
    said = older_grades(store, which, layers=asked.layers, rule=asked.rule, up_to=asked.event(store))
    if not said.older:
        return ""
    return f"{said}; each is written " + ("as relevant or not by its own scale" if in_two else "as it was given")


def scale_lost(store: Store) -> str:
    """Say what a file of graded qrels does not tell: from which grade on documents are relevant, and gains."""
    from cranfield.evaluate.expression import parse_measures

    scale = scales.current(store)[1]
    gains = gains_of(scale)
    said, elsewhere = [], []
    if scale.relevant_from != 1:
        said.append(f"grades from {scale.relevant_from} on count as relevant here")
        elsewhere.append(f"-m 'AP(rel={scale.relevant_from})'")
    if gains:
        said.append("grades have gains of their own")
        elsewhere.append(f"-m '{parse_measures(['nDCG'], gains=gains)[0]}'")
    if not said:
        return ""
    return f"{' and '.join(said)}, which the file does not say: elsewhere {' '.join(elsewhere)}"


def write_qrels(qrels: Qrels, stream: BinaryIO, *, format: str = "trec") -> None:
    """Write qrels in a format that can be written."""
    from cranfield.qrels.reading import qrels_formats

    known = qrels_formats.get(format)
    if not hasattr(known, "write"):
        able = ", ".join(name for name, one in qrels_formats.items() if hasattr(one, "write"))
        raise UsageError(f"qrels are not written as {quoted(format)}, only as {able}")
    known.write(qrels, stream)


# A publishable folder: topics, qrels, the pool with its provenance, the runs, cards and checksums.

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

    guidelines, reuse = scales.current_guidelines(store)[1], reuse_card(material)
    made = [_text(folder / "guidelines.md", guidelines)] if guidelines else []
    return made + ([_text(folder / "reuse-card.json", card_text(reuse))] if reuse is not None else [])


def _topics(store: Store, folder: Path) -> Path:
    from cranfield.corpus.formats import topic_formats

    return _written(
        folder / "topics.trec", lambda stream: topic_formats.get("trec").write(documents.topics(store), stream)
    )


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


def _csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
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
