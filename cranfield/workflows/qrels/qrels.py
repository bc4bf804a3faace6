"""The stage of the qrels: written to files, frozen as releases, compared, published."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from cranfield._version import __version__
from cranfield.base.errors import InputError, UnknownName, UsageError, quoted
from cranfield.base.files import Progress, Source, silent, whole_file
from cranfield.base.registry import deferred
from cranfield.base.tables import Column, Result, Table, Value, facts_table, table_of
from cranfield.base.text import counted, now, stored_moment
from cranfield.judge.events import MAIN
from cranfield.qrels.rules import Rule, parse_rule
from cranfield.store import documents, events, live_pools, pools, releases
from cranfield.store.store import Store
from cranfield.workflows import collection as collections
from cranfield.workflows.qrels import current

with deferred:
    from cranfield.corpus import formats as corpus_formats
    from cranfield.evaluate import expression
    from cranfield.qrels import merge, reading
    from cranfield.qrels import qrels as columns
    from cranfield.reuse import card
    from cranfield.workflows.evaluate import inputs as evaluate_inputs
    from cranfield.workflows.report import material as materials
    from cranfield.workflows.report import report as reports

if TYPE_CHECKING:
    from cranfield.qrels.merge import Manifest
    from cranfield.qrels.qrels import Difference
    from cranfield.qrels.qrels import Qrels as Judged

SUMS = "SHA256SUMS"
HASH_SHOWN = 16

_POOL = ("topic", "document", "position", "step", "stratum", "probability", "version", "run", "group", "rank")
_RUNS = ("run", "group", "family", "pooled", "topics", "rows", "content_hash", "file_sha256", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which judgments are meant: of which layers, merged by which rule, as of which event or moment."""

    layers: tuple[str, ...] = (MAIN,)
    rule: Rule | None = None
    as_of: str = ""
    up_to_event: int | None = None
    unjudged: bool = False

    def event(self, store: Store) -> int | None:
        """Give the number of the last event that counts; None where all of them do."""
        if self.as_of:
            return events.sequence_at(store, stored_moment(self.as_of, end_of_day=True))
        return self.up_to_event


@dataclass(frozen=True)
class Export(Result):
    """Qrels to be written as a file, and what the file does not say."""

    qrels: Judged
    format: str
    remarks: Sequence[str]

    def table(self) -> Table:
        """Give one row for each topic and document."""
        return table_of(["topic", "document", "grade"], list(self.qrels))

    def write(self, stream: BinaryIO) -> None:
        """Write the file."""
        write_qrels(self.qrels, stream, format=self.format)


@dataclass(frozen=True)
class Release(Result):
    """Qrels that were frozen under a name, with all that is known of them; `new` is false where they were already."""

    manifest: Manifest
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    new: bool = True

    def table(self) -> Table:
        """Give the facts of the manifest."""
        one = self.manifest
        facts: dict[str, Value] = {
            "release": one.name,
            "content hash": one.content_hash,
            "topics": one.topics,
            "judged": one.judged,
            "pooled, not judged": one.unjudged,
            "grades": _counts(one.grades),
            "layers": ", ".join(one.layers),
            "rule": ", else ".join(one.rule),
            "up to event": one.up_to_event,
            "by version of the scale": _counts(one.scales),
            "by version of the guidelines": _counts(one.guidelines),
            "pools": ", ".join(f"{name} {known[:HASH_SHOWN]}" for name, known in one.pools.items()),
            "file": one.file,
            "file SHA-256": one.file_sha256,
            "note": one.note,
            "made": one.made,
            "made by": one.made_by,
        }
        return facts_table(facts)

    def tables(self) -> list[Table]:
        """Give the facts that say something."""
        table = self.table()
        return [replace(table, rows=tuple(row for row in table.rows if row[1] not in ("", None)))]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items())


@dataclass(frozen=True)
class Releases(Result):
    """The releases of a collection; the remark says in which layers there are judgments."""

    manifests: tuple[Manifest, ...]
    remarks: Sequence[str]

    def table(self) -> Table:
        """Give one row for each release."""
        return self._table(None, None)

    def tables(self) -> list[Table]:
        """Give the same, with the beginning of each hash and the day."""
        return [self._table(HASH_SHOWN, 10)]

    def _table(self, digits: int | None, day: int | None) -> Table:
        rows = [
            (
                one.name,
                one.topics,
                one.judged,
                one.unjudged,
                one.content_hash[:digits],
                one.file or f"{', '.join(one.layers)} by {', '.join(one.rule)}",
                one.made[:day],
            )
            for one in self.manifests
        ]
        return table_of(["release", "topics", "judged", "unjudged", "content_hash", "made_from", "made"], rows)


@dataclass(frozen=True)
class Diff(Result):
    """What was added, removed and changed between two sets of qrels."""

    difference: Difference
    by: str
    remarks: Sequence[str]

    def table(self) -> Table:
        """Give one row for each change, topic, or pair of grades."""
        found, grades = self.difference, [Column("before", kind="number"), Column("after", kind="number")]
        if self.by == "topic":
            topics = [(one.topic, one.added, one.removed, one.changed, one.same) for one in found.topics]
            return table_of(["topic", "added", "removed", "changed", "same"], topics)
        if self.by == "grade":
            moves = [(*pair, count) for pair, count in sorted(found.moves.items(), key=lambda move: str(move[0]))]
            return table_of([*grades, "pairs"], moves)
        rows = [(one.what, one.topic, one.document, one.before, one.after) for one in found.changes]
        return table_of(["what", "topic", "document", *grades], rows)


class Qrels:
    """What can be done with the qrels of a collection; `diff` works on files too, without one."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def export(
        self,
        which: str | None = None,
        *,
        format: str = "trec",
        binary: bool = False,
        binary_from: int | None = None,
        selection: Selection | None = None,
    ) -> Export:
        """Give qrels to be written as a file; `binary` by the scale each grade was given on, or from a grade up."""
        store, chosen = self.store, selection or Selection()
        if which not in (None, releases.NOW) and chosen != Selection():
            raise UsageError(
                f"{quoted(which)} is what it is; layers, rule, moment and unjudged documents are for 'now'"
            )
        # A moment is asked of the judgments, never of the only release that stands in for them.
        which = releases.NOW if chosen != Selection() else which
        by_scale = binary and binary_from is None
        give = binary_qrels if by_scale else current.qrels_for
        of = {"layers": chosen.layers, "rule": chosen.rule, "up_to": chosen.event(store)}
        qrels = give(store, which, with_unjudged=chosen.unjudged, **of)  # type: ignore[arg-type]
        if not len(qrels):
            raise InputError(f"there is nothing to write: no grade stands in {' or '.join(chosen.layers)}")
        qrels = columns.binary(qrels, relevant_from=binary_from) if binary_from else qrels
        remarks = [f"{reading.contents(qrels)}; content hash {qrels.content_hash}"]
        if older := str(current.older_grades(store, which, **of)):  # type: ignore[arg-type]
            how = "as relevant or not by its own scale" if by_scale else "as it was given"
            remarks.insert(0, f"warning: {older}; each is written {how}")
        if not binary and binary_from is None and (lost := _scale_lost(store)):
            remarks.append(f"note: {lost}")
        if qrels.strata is not None and format == "trec":
            remarks.append(
                "the pool is a sample: the stratum of each document stands before its grade, as xinfAP needs it"
            )
        elif qrels.strata is not None:
            remarks.append(f"the pool is a sample, but {format} has no place for the strata; write trec for xinfAP")
        return Export(qrels, format, remarks)

    def release(
        self,
        name: str,
        *,
        note: str = "",
        bundle: Path | None = None,
        selection: Selection | None = None,
        progress: Progress = silent,
    ) -> Release:
        """Freeze what is judged under a name, with how it came about; `bundle` is a folder to publish."""
        if bundle is not None:
            _refuse_full(bundle)
        merge.check_name(name)
        store, chosen = self.store, selection or Selection()
        with store.write():
            event = chosen.event(store)
            rule = current.collection_rule(store) if chosen.rule is None else chosen.rule
            opinions, merged = current.merged_now(store, layers=chosen.layers, rule=rule, up_to=event)
            if not len(merged.qrels):
                raise InputError(f"nothing to release: no grade stands in {' or '.join(chosen.layers)}")
            qrels = current.with_pooled(store, merged.qrels) if chosen.unjudged else merged.qrels
            versions = events.versions_used(store, opinions.events[merged.rows].tolist())
            by_scale, by_guidelines = ({str(key): one[key] for key in sorted(one)} for one in versions)
            manifest = _freeze(
                store,
                qrels,
                name,
                note,
                layers=chosen.layers,
                rule=rule,
                primary={topic: tuple(names) for topic, names in events.primary_assessors(store).items()},
                up_to_event=events.last_sequence(store) if event is None else event,
                scales=by_scale,
                guidelines=by_guidelines,
            )
        notes = []
        if bundle is not None:
            files = counted(len(write_bundle(store, name, bundle, progress=progress)), "file")
            notes.append(f"laid out {files} in {bundle}: check them with sha256sum -c SHA256SUMS")
        older = str(current.older_grades(store, name))
        remarks = [f"warning: {older}; each is frozen as it was given"] if older else []
        return Release(manifest, notes, [*remarks, f"released {name}: {_sizes(manifest)}"])

    def import_(self, file: Path, name: str, *, format: str | None = None, note: str = "") -> Release:
        """Freeze the qrels of a file under a name; the same qrels under the same name are left as they are."""
        merge.check_name(name)
        store, source = self.store, Source(file)
        qrels = reading.read_qrels(source, format=format)
        with store.write():
            remarks = [f"warning: {sentence}" for sentence in _unknown_ids(store, qrels)]
            wanted = name, qrels.content_hash
            same = [one for one in current.list_releases(store) if (one.name, one.content_hash) == wanted]
            if same:
                manifest = same[0]
            else:
                told = {"file": source.path.name, "file_sha256": source.file_sha256}
                manifest = _freeze(store, qrels, name, note, **told)
        what = "is there already:" if same else "released"
        remarks.append(f"{file} {what} {name}: {_sizes(manifest)}; content hash {manifest.content_hash}")
        return Release(manifest, remarks=remarks, new=not same)

    def list(self, name: str = "") -> Release | Releases:
        """List the releases, or give all that is known of one, and say in which layers there are judgments."""
        manifests = current.list_releases(self.store)
        if name:
            for manifest in manifests:
                if manifest.name == name:
                    return Release(manifest)
            raise UnknownName("release", name, [manifest.name for manifest in manifests])
        layers = events.layers_with_grades(self.store)
        standing = ", ".join(f"{layer} {count:,}" for layer, count in layers) or "none"
        said = f"{counted(len(manifests), 'release')}; standing grades by layer: {standing}"
        return Releases(tuple(manifests), [said])

    def diff(self, before: str, after: str, **options: Any) -> Diff:
        """Compare two sets of qrels, each a release, a file or `now`; the options are those of `diff`."""
        return diff(self.store, before, after, **options)

    def licence(self, text: str | None = None) -> str:
        """Give under which terms the collection may be used, or say it; an empty text takes it back."""
        if text is not None:
            collections.set_licence(self.store, text)
        return collections.licence_of(self.store)

    def rule(self, words: str = "") -> Rule:
        """Give the rule by which this collection merges opinions, or choose it."""
        if words:
            current.set_rule(self.store, parse_rule(words))
        return current.collection_rule(self.store)


def diff(
    store: Store | None,
    before: str,
    after: str,
    *,
    layers: Sequence[str] = (MAIN,),
    unjudged: bool = False,
    by: str = "document",
) -> Diff:
    """Compare two sets of qrels, each a release, a file or `now`; one row `by` document, topic or grade."""
    both = [current.qrels_for(store, word, layers=layers, with_unjudged=unjudged) for word in (before, after)]
    found = columns.difference(*both)
    counts = ", ".join(f"{found.count(what):,} {what}" for what in ("added", "removed", "changed"))
    remarks = [f"{before} -> {after}: {counts}" if found.changes else f"{before} and {after} say the same"]
    hidden = sum(
        min(one.before or 0, one.after or 0) < 0 and None in (one.before, one.after) for one in found.changes
    )
    if hidden:
        remedy = ": --unjudged adds such rows to now" if not unjudged and "now" in (before, after) else ""
        were = "is only a row" if hidden == 1 else "are only rows"
        which = "for what is pooled and not judged, which one side leaves out"
        remarks.append(f"{hidden:,} of these {were} {which}{remedy}")
    return Diff(found, by, remarks)


def binary_qrels(
    store: Store,
    word: str | None,
    *,
    with_unjudged: bool = False,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
) -> Judged:
    """Give the qrels that `word` means with 1 for relevant and 0 for not, by the scale each grade was given on.

    Of the judgments and of a release made from them it is known by which version of the scale each grade was given;
    a file, and a release of a file, are read by the scale in force.
    """
    chosen = current.meant_by(store, word, layers=layers)
    thresholds = live_pools.thresholds(store)
    if chosen == releases.NOW:
        with store.snapshot():
            opinions, merged = current.merged_now(store, layers=layers, rule=rule, up_to=up_to)
            qrels = merge.binary_by_scale(opinions, merged, thresholds)
            return current.with_pooled(store, qrels) if with_unjudged else qrels
    qrels = current.qrels_for(store, chosen)
    relevant_from = store.scale().relevant_from
    if chosen in releases.names(store):
        manifest = merge.manifest_from(releases.fetch(store, chosen).manifest)
        if len(manifest.scales) > 1:
            return _of_several_scales(store, manifest, thresholds)
        for version in manifest.scales:
            relevant_from = thresholds[int(version)]
    return columns.binary(qrels, relevant_from=relevant_from)


def _of_several_scales(store: Store, manifest: Manifest, thresholds: Mapping[int, int]) -> Judged:
    """Fold a release from the events again, to see by which scale each of its grades was given."""
    frozen = current.released_qrels(store, manifest.name)
    opinions, merged = current.merged_now(
        store, layers=manifest.layers, rule=manifest.rule, up_to=manifest.up_to_event, primary=manifest.primary
    )
    if merged.qrels.content_hash != columns.judged_only(frozen).content_hash:
        raise InputError(
            f"release {quoted(manifest.name)} has grades of several scales, and the events do not tell which has"
            " which; say from which grade on they are relevant with --binary-from"
        )
    grades = frozen.grades.copy()
    # Both are sorted by topic and document, so that the judged rows of one are the rows of the other.
    grades[grades >= 0] = merge.binary_by_scale(opinions, merged, thresholds).grades
    return replace(frozen, grades=grades)


def _scale_lost(store: Store) -> str:
    """Say what a file of graded qrels does not tell: from which grade on documents are relevant, and gains."""
    scale = store.scale()
    gains = evaluate_inputs.gains_of(scale)
    said, elsewhere = [], []
    if scale.relevant_from != 1:
        said.append(f"grades from {scale.relevant_from} on count as relevant here")
        elsewhere.append(f"-m 'AP(rel={scale.relevant_from})'")
    if gains:
        said.append("grades have gains of their own")
        elsewhere.append(f"-m '{expression.parse_measures(['nDCG'], gains=gains)[0]}'")
    return f"{' and '.join(said)}, which the file does not say: elsewhere {' '.join(elsewhere)}" if said else ""


def write_qrels(qrels: Judged, stream: BinaryIO, *, format: str = "trec") -> None:
    """Write qrels in a format that can be written."""
    known = reading.qrels_formats.get(format)
    if not hasattr(known, "write"):
        able = ", ".join(name for name, one in reading.qrels_formats.items() if hasattr(one, "write"))
        raise UsageError(f"qrels are not written as {quoted(format)}, only as {able}")
    known.write(qrels, stream)


def _freeze(store: Store, qrels: Judged, name: str, note: str, **story: Any) -> Manifest:
    judged = int((qrels.grades >= 0).sum())
    manifest = merge.Manifest(
        name=name,
        content_hash=qrels.content_hash,
        topics=len(qrels.topic_ids),
        judged=judged,
        unjudged=len(qrels) - judged,
        grades=merge.counts_of(qrels),
        pools={facts.name: facts.content_hash for facts in pools.pool_facts(store)},
        note=note,
        collection=store.setting("name", ""),
        made=now(),
        made_by=f"cranfield {__version__}",
        **story,
    )
    facts = releases.ReleaseFacts(name, qrels.content_hash, len(qrels), manifest.json(), manifest.made)
    releases.add(store, facts, qrels)
    return manifest


def _sizes(manifest: Manifest) -> str:
    return f"{counted(manifest.judged, 'judgment')} on {counted(manifest.topics, 'topic')}"


def _unknown_ids(store: Store, qrels: Judged) -> list[str]:
    """Say how much of foreign qrels this collection does not know; nothing where it has no corpus."""
    known_topics = set(documents.topic_ids(store))
    topics = [topic for topic in qrels.topics if topic not in known_topics] if known_topics else []
    missing = {"topic": topics}
    if documents.count(store):
        ids = qrels.document_ids.to_pylist()
        known = documents.known(store, ids)
        missing["document"] = [one for one in ids if one not in known]
    return [
        f"{counted(len(ids), noun)} not in this collection, for example {quoted(ids[0])}"
        for noun, ids in missing.items()
        if ids
    ]


# A publishable folder: topics, qrels, the pool with its provenance, the runs, cards and checksums.


def _refuse_full(folder: Path) -> None:
    """Refuse a folder that has something in it, before anything is done."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: a bundle needs a folder of its own")


def write_bundle(store: Store, release: str, folder: Path, *, progress: Progress = silent) -> list[Path]:
    """Lay out a release as a folder that can be published; gives the files.

    No assessor and no text of a document is in it. SHA256SUMS comes last: a folder without it is not complete.
    """
    _refuse_full(folder)
    made: list[Path] = []

    def write(name: str, content: str | Callable[[TextIO], object]) -> None:
        with whole_file(folder / name) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as stream:
            stream.write(content) if isinstance(content, str) else content(stream)
        made.append(folder / name)

    def write_csv(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        write(name, lambda stream: csv.writer(stream, lineterminator="\n").writerows([head, *rows]))

    with store.snapshot():
        material = materials.gather(store, materials.ReportRequest(qrels=release, public=True), progress=progress)
        folder.mkdir(parents=True, exist_ok=True)
        topics = documents.topics(store)
        write("topics.trec", lambda stream: corpus_formats.topic_formats.get("trec").write(topics, stream))
        path = folder / "qrels.txt"
        with whole_file(path) as unfinished, unfinished.open("wb") as binary:
            write_qrels(current.released_qrels(store, release), binary)
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
        write("card.json", reports.card_json(reports.collection_card(store, material)))
        if guidelines := store.guidelines():
            write("guidelines.md", guidelines)
        if (reuse := reports.reuse_card(material)) is not None:
            write("reuse-card.json", card.card_text(reuse))
        sums = "".join(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made))
        write(SUMS, sums)
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
