"""The stage of the qrels: which ones a command means, written to files, frozen as releases, compared."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from cranfield._version import __version__
from cranfield.base.errors import RESTORE, CollectionError, InputError, UnknownName, UsageError, check_known, quoted
from cranfield.base.files import Progress, Source, located, silent
from cranfield.base.records import MAIN
from cranfield.base.registry import deferred
from cranfield.base.text import Listing, Result, Table, beside, counted, now, stored_moment, table_of
from cranfield.judge.events import fold
from cranfield.qrels import merge, reading
from cranfield.qrels import qrels as columns
from cranfield.qrels.release import (
    DEFAULT_RULE,
    NOW,
    Manifest,
    Release,
    Rule,
    check_name,
    manifest_from,
    parse_rule,
    releases_table,
)
from cranfield.store import Store, documents, events, history, live_pools, pools, releases
from cranfield.workflows import collection as collections

with deferred:
    from cranfield.evaluate import measure as measuring
    from cranfield.workflows.judge import imports
    from cranfield.workflows.report import report as reports

RULE_SETTING = "merge_rule"
NOTHING_JUDGED = (
    "no judgments yet: judge with cranfield judge, import judgments with cranfield judge import FILE,"
    " or name a qrels file"
)
UNEVEN = (
    "documents of a stratum were sampled with different probabilities; xinfAP, infNDCG, statAP and statP assume"
    " equal ones and are biased here"
)

# The qrels that a command uses: of a file, of a release, or what the judgments say now.


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which judgments are meant by `now`: of which layers, merged by which rule, as of which moment or event.

    Without a rule it is the collection's. With `unjudged` the documents that were pooled and not judged are there
    too, with the grade -1, and where a pool is a sample each row has its stratum.
    """

    layers: tuple[str, ...] = (MAIN,)
    rule: Rule | None = None
    as_of: str = ""
    unjudged: bool = False

    def event(self, store: Store) -> int | None:
        """The number of the last event that counts; None where all of them do."""
        if not self.as_of or self.as_of.isdecimal():
            return int(self.as_of[:18]) if self.as_of else None
        return events.last_event(store, recorded_by=stored_moment(self.as_of, end_of_day=True))[0]


ALL = Selection()


def qrels_for(
    store: Store | None, word: str | None = None, selection: Selection = ALL, *, binary: bool = False
) -> columns.Qrels:
    """The qrels that `word` means: `now`, the name of a release, or a file.

    Without a word: what is judged now; where nothing is judged, the only release. The selection is for `now`; a
    release and a file are what they are. In `binary` ones of a collection 1 is relevant and 0 is not, by the scale
    each grade was given on: that is known of the judgments and of a release made from them; a file, and a release of
    a file, are read by the scale in force.
    """
    chosen = word if store is None else meant_by(store, word, layers=selection.layers)
    if store is not None and chosen == NOW:
        with store.snapshot():
            opinions, merged = merged_now(store, selection)
            qrels = merge.binary_by_scale(opinions, merged, live_pools.thresholds(store)) if binary else merged.qrels
            return with_pooled(store, qrels) if selection.unjudged else qrels
    return _kept_qrels(store, chosen, binary=binary)


def _kept_qrels(store: Store | None, word: str | None, *, binary: bool) -> columns.Qrels:
    """The qrels of a release, or of a file."""
    if word is None:
        raise UsageError("no qrels: name a qrels file, or a collection with -C")
    known, versions = ({} if store is None else releases.known(store)), list[str]()
    if store is not None and word in known:
        if Path(word).exists():
            raise UsageError(f"{quoted(word)} is both a release and a file; write ./{word} for the file")
        if binary:
            made = manifest_from(known[word].manifest)
            if len(versions := list(made.scales)) > 1:
                raise InputError(
                    f"release {quoted(word)} has grades of several scales; the judgments tell them apart:"
                    f" cranfield qrels export now --binary --as-of {made.up_to_event} --rule {','.join(made.rule)}"
                )
        qrels = released_qrels(store, word)
    elif store is not None and not located(word).exists() and word != "-" and not {"/", "."} & set(word):
        raise UnknownName("release or qrels file", word, [NOW, *known])
    else:
        qrels = reading.read_qrels(Source(located(word)))
    if store is None or not binary:
        return qrels
    relevant_from = live_pools.thresholds(store)[int(versions[0])] if versions else store.scale().relevant_from
    return columns.binary(qrels, relevant_from=relevant_from)


def meant_by(store: Store, word: str | None, *, layers: Sequence[str] = (MAIN,)) -> str:
    """The word that says which qrels are meant, where none was given too: `now`, a release, or a file."""
    if word is not None:
        return word
    if any(events.has_grades(store, layer) for layer in layers):
        return NOW
    names = list(releases.known(store))
    if len(names) != 1:
        several = f"no judgments here, and several releases: name one of {', '.join(names)}"
        raise InputError(several if names else NOTHING_JUDGED)
    return names[0]


def with_pooled(store: Store, qrels: columns.Qrels) -> columns.Qrels:
    """Add what was pooled and not judged, with the grade -1, and the strata where a pool is a sample."""
    return _with_strata(store, columns.with_unjudged(qrels, events.pooled_documents(store, passed_over=True)))


def _with_strata(store: Store, qrels: columns.Qrels) -> columns.Qrels:
    """Qrels with the strata of the sample; as they are where no pool is a sample."""
    known = pools.sampled_strata(store)
    return qrels if known is None else columns.with_strata(qrels, *known)


def merged_now(store: Store, selection: Selection = ALL) -> tuple[merge.Opinions, merge.Merged]:
    """What stands, or stood at an event, and what the rule makes of it; with the primary assessors of now."""
    layers, up_to = selection.layers, selection.event(store)
    if up_to is not None:
        stood = fold(events.events(store, up_to=up_to, layers=layers)).values()
        opinions = merge.opinions_of([merge.row_of(event) for event in stood if event.grade is not None])
    else:
        read = merge.opinions_in_text(events.opinion_text(store, layers))
        opinions = read or merge.opinions_of(events.opinion_rows(store, layers))
    rule, primary = collection_rule(store, selection), events.primary_assessors(store)
    return opinions, merge.merged(opinions, rule=rule, primary=primary, layers=layers)


def released_qrels(store: Store, name: str) -> columns.Qrels:
    """The qrels of a release, which are checked to be what was released.

    Where they include unjudged documents, and the pools are those it was made from, each row has its stratum.
    """
    facts = releases.fetch(store, name)
    qrels = columns.qrels_of(releases.rows(store, name), name=name)
    if qrels.content_hash != facts.content_hash:
        raise CollectionError(f"release {quoted(name)} does not match its hash: {RESTORE}")
    try:
        manifest = manifest_from(facts.manifest)
    except InputError:
        return qrels
    is_whole = manifest.unjudged and not manifest.file
    same_pools = manifest.pools == {one.name: one.content_hash for one in pools.pool_facts(store)}
    return _with_strata(store, qrels) if is_whole and same_pools else qrels


def collection_rule(store: Store, selection: Selection = ALL) -> Rule:
    """The rule by which opinions are merged: that of the selection, else the one of this collection."""
    return selection.rule or tuple(map(str, store.setting(RULE_SETTING, DEFAULT_RULE)))


# Warnings about qrels: grades of an older scale, and samples that strata do not describe.


def older_grades(store: Store, word: str | None = None, selection: Selection = ALL) -> str:
    """How many deciding grades were given on another scale than the present one.

    One sentence; empty where there are none, and for files, of which nothing is known.
    """
    others, older = store.other_scales(), 0
    chosen = meant_by(store, word, layers=selection.layers)
    if chosen == NOW:
        opinions, merged = merged_now(store, selection)
        older = int(np.isin(opinions.scales[merged.rows], list(others)).sum())
    elif chosen in (known := releases.known(store)):
        scales = manifest_from(known[chosen].manifest).scales
        older = sum(count for version, count in scales.items() if int(version) in others)
    return f"{counted(older, 'grade was', 'grades were')} assigned on an older scale" if older else ""


def scoring_warnings(store: Store, word: str | None, layers: Sequence[str], qrels: columns.Qrels) -> Iterator[str]:
    """Warnings for scores by judgments that are fewer than a release has, by qrels with grades of an older scale, or
    whose strata do not describe the sample.
    """
    if word is None and meant_by(store, word, layers=layers) == NOW:
        judged = int((qrels.grades >= 0).sum())
        for name, facts in releases.known(store).items():
            if facts.rows > judged and (whole := manifest_from(facts.manifest).judged) > judged:
                own, others = counted(judged, "judgment"), counted(whole, "judgment")
                yield f"scored with the {own} made here; release {quoted(name)} has {others}: --qrels {name}"
    if store.other_scales() and (older := older_grades(store, word, Selection(layers=tuple(layers)))):
        on_scale = f"its gains, relevant from grade {store.scale().relevant_from}"
        yield f"{older}; all are interpreted on the current scale: {on_scale}"
    if qrels.strata is not None and pools.draws_unevenly(store):
        yield UNEVEN


def manifests(store: Store) -> dict[str, Manifest]:
    """The manifests of all releases by name, in the order they were made."""
    return {name: manifest_from(facts.manifest) for name, facts in releases.known(store).items()}


def release_faults(store: Store) -> list[str]:
    """Say which releases are not what their hash or their manifest says."""
    faults = []
    for name, facts in releases.known(store).items():
        try:
            released_qrels(store, name)
        except Exception as error:  # noqa: BLE001 (a damaged file can raise anything)
            faults.append(f"release {name!r}: {error}")
        try:
            manifest = manifest_from(facts.manifest)
        except InputError:
            faults.append(f"the manifest of release {name!r} cannot be read")
            continue
        rows = manifest.judged + manifest.unjudged
        if (manifest.name, manifest.content_hash, rows) != (name, facts.content_hash, facts.rows):
            faults.append(f"the manifest of release {name!r} does not match the release")
    return faults


# What can be done with qrels.


@dataclass(frozen=True)
class Export(Result):
    """Qrels to be written as a file, and what the file does not say."""

    qrels: columns.Qrels
    format: str
    remarks: Sequence[str]

    def table(self) -> Table:
        """One row for each topic and document."""
        return table_of(["topic", "document", "grade"], list(self.qrels))

    def write(self, stream: BinaryIO) -> None:
        """Write the file."""
        self.qrels.write(stream, self.format)


class Qrels:
    """What can be done with the qrels of a collection; `diff` works on files too, without one."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def export(
        self, which: str | None = None, *, format: str = "trec", binary: bool = False, selection: Selection = ALL
    ) -> Export:
        """Qrels to be written as a file; `binary` by the scale each grade was given on."""
        store = self.store
        if selection != ALL:
            if which not in (None, NOW):
                raise UsageError(
                    f"--layer, --rule, --as-of and --unjudged apply to 'now' only, not to {quoted(which)}"
                )
            # A time selects judgments, never the only release, which stands in where there are none.
            which = NOW
        qrels = qrels_for(store, which, selection, binary=binary)
        if not qrels.grades.size:
            raise InputError(f"nothing to export: no judgments in layer {' or '.join(selection.layers)}")
        judged, junk = (int(np.count_nonzero(rows)) for rows in (qrels.grades >= 0, qrels.grades <= columns.JUNK))
        others = {"pooled but not judged": len(qrels) - judged - junk, f"junk (grade {columns.JUNK} or below)": junk}
        size = f"{counted(judged, 'judgment')} on {counted(len(qrels.topic_ids), 'topic')}{beside(others)}"
        remarks = [f"{size}; content hash {qrels.content_hash}"]
        if store.other_scales() and (older := older_grades(store, which, selection)):
            how = "as relevant or not on its own scale" if binary else "as it was assigned"
            remarks.insert(0, f"warning: {older}; each is written {how}")
        lost, scale = dict[str, str](), store.scale()  # what a file of graded qrels cannot say
        if (lowest := scale.relevant_from) != 1:
            lost[f"relevant from grade {lowest}"] = f"-m 'AP(rel={lowest})'"
        if scale.own_gains:
            lost["gains of the grades"] = f"-m '{measuring.parse_measures(['nDCG'], gains=scale.own_gains)[0]}'"
        if lost and not binary:
            used = " ".join(lost.values())
            remarks.append(f"note: not in the file: {' and '.join(lost)}; in other tools use {used}")
        if qrels.strata is not None:
            column = ": the column before the grade is the stratum, for xinfAP"
            none = f", but {format} has no column for the strata; use --to trec for xinfAP"
            remarks.append(f"the pool is a sample{column if format == 'trec' else none}")
        return Export(qrels, format, remarks)

    def release(
        self,
        name: str,
        *,
        note: str = "",
        bundle: Path | None = None,
        sign: Path | None = None,
        selection: Selection = ALL,
        progress: Progress = silent,
    ) -> Release:
        """Freeze what is judged under a name, with how it came about; `bundle` is a folder to publish.

        A release that is there already is put into a bundle as it is. `sign` is the SSH key with which the checksums
        of the bundle are signed.
        """
        if bundle is not None:
            reports.refuse_full(bundle)
        if sign is not None:
            if bundle is None:
                raise UsageError("--sign signs the files of a bundle: name its folder with --bundle")
            if not sign.is_file():
                raise InputError(f"no such key: {sign}")
            if shutil.which("ssh-keygen") is None:
                raise InputError("--sign needs ssh-keygen, which is part of OpenSSH")
        check_name(name)
        store = self.store
        known = manifests(store).get(name)
        if known is not None and bundle is not None and selection == ALL and not note:
            manifest = known
        else:
            with store.write():
                event = selection.event(store)
                opinions, merged = merged_now(store, selection)
                if not len(merged.qrels):
                    raise InputError(f"nothing to release: no judgments in layer {' or '.join(selection.layers)}")
                qrels = with_pooled(store, merged.qrels) if selection.unjudged else merged.qrels
                versions = events.versions_used(store, opinions.events[merged.rows].tolist())
                by_scale, by_guidelines = ({str(key): one[key] for key in sorted(one)} for one in versions)
                manifest = _freeze(
                    store,
                    qrels,
                    name,
                    note,
                    layers=tuple(selection.layers),
                    rule=collection_rule(store, selection),
                    primary={topic: tuple(names) for topic, names in events.primary_assessors(store).items()},
                    up_to_event=events.last_event(store)[0] if event is None else event,
                    scales=by_scale,
                    guidelines=by_guidelines,
                )
        notes = []
        if bundle is not None:
            files = counted(len(reports.write_bundle(store, name, bundle, progress=progress)), "file")
            notes.append(f"wrote {files} to {bundle}; check them with sha256sum -c SHA256SUMS")
            if sign is not None:
                notes.append(f"signed as {_signed(bundle / 'SHA256SUMS', sign)}; {VERIFY}")
        older = older_grades(store, name)
        remarks = [f"warning: {older}; each is released as it was assigned"] if older else []
        if manifest is not known and not selection.unjudged and selection.layers == (MAIN,) and not selection.as_of:
            pooled = {*events.pooled_documents(store)} - events.answered_pairs(store, MAIN)
            rows = "not in the release; --unjudged adds them with the grade -1"
            remarks += [f"note: {counted(len(pooled), 'pooled document')} not judged, and {rows}"] if pooled else []
        done = f"{name} was released on {manifest.made[:10]}" if manifest is known else f"released {name}"
        return Release(manifest, notes, [*remarks, f"{done}: {_sizes(manifest)}"])

    def import_(
        self,
        file: Path,
        name: str,
        *,
        format: str | None = None,
        note: str = "",
        change: Callable[[columns.Qrels], columns.Qrels] | None = None,
    ) -> Release:
        """Freeze the qrels of a file under a name; the same qrels under the same name are left as they are.

        Where nobody has judged yet they are the judgments of the collection too (`imports.take_qrels`).
        `change` makes of what the file says what is meant: other grades, other ids.
        """
        check_name(name)
        store, source = self.store, Source(file)
        qrels = reading.read_qrels(source, format=format)
        qrels = qrels if change is None else change(qrels)
        with store.write():
            # Where there is a corpus, topics and documents that it lacks are reported.
            topics, ids = qrels.topics, qrels.document_ids.to_pylist()
            known_topics = set(documents.topic_ids(store)) or set(topics)
            absent = documents.unknown(store, ids) if documents.count(store) else set()
            unknown = {"topic": [one for one in topics if one not in known_topics]}
            unknown["document"] = [one for one in ids if one in absent]
            remarks = [
                f"warning: {counted(len(ids), noun)} not in this collection, for example {quoted(ids[0])}"
                for noun, ids in unknown.items()
                if ids
            ]
            known = manifests(store).get(name)
            same = known if known is not None and known.content_hash == qrels.content_hash else None
            origin = {"file": source.data_set or source.path.name, "file_sha256": source.file_sha256}
            manifest = same or _freeze(store, qrels, name, note, **origin)
            taken = imports.take_qrels(store, qrels, origin["file"])
        what = "already released as" if same else "released as"
        remarks.append(f"{file} {what} {name}: {_sizes(manifest)}; content hash {manifest.content_hash}")
        return Release(manifest, remarks=[*remarks, taken], new=not same)

    def list(self, name: str = "") -> Release | Listing:
        """List the releases, or give all that is known of one, and say in which layers there are judgments."""
        known = manifests(self.store)
        if name:
            check_known("release", [name], known)
            return Release(known[name])
        made = list(known.values())
        layers = events.layers_with_grades(self.store)
        standing = ", ".join(f"{layer} {count:,}" for layer, count in layers) or "none"
        said = f"{counted(len(known), 'release')}; judgments by layer: {standing}"
        return Listing(releases_table(made), releases_table(made, short=True), remarks=[said])

    def diff(self, before: str, after: str, **options: Any) -> columns.Difference:
        """Compare two sets of qrels, each a release, a file or `now`; the options are those of `diff`."""
        return diff(self.store, before, after, **options)

    def licence(self, text: str | None = None) -> str:
        """The terms under which the collection may be used; `text` sets them, `none` removes them."""
        if text is not None:
            licence = "" if text == "none" else collections.one_line(text)
            with self.store.write():
                self.store.set(collections.LICENCE_SETTING, licence)
        return collections.licence_of(self.store)

    def rule(self, words: str = "") -> Rule:
        """The rule by which this collection merges opinions; `words` choose another. Releases stay as they are."""
        if words:
            rule = parse_rule(words)
            with self.store.write():
                self.store.set(RULE_SETTING, list(rule))
        return collection_rule(self.store)


def diff(
    store: Store | None, before: str, after: str, *, layers: Sequence[str] = (MAIN,), unjudged: bool = False
) -> columns.Difference:
    """Compare two sets of qrels, each a release, a file or `now`: one row for each change."""
    selection = Selection(layers=tuple(layers), unjudged=unjudged)
    both = [qrels_for(store, word, selection) for word in (before, after)]
    found = columns.difference(*both)
    kinds = Counter(change.what for change in found.changes)
    counts = ", ".join(f"{kinds[kind]:,} {kind}" for kind in ("added", "removed", "changed"))
    remarks = [f"{before} -> {after}: {counts}" if found.changes else f"{before} and {after} are identical"]
    return replace(found, remarks=remarks)


def _freeze(store: Store, qrels: columns.Qrels, name: str, note: str, **story: Any) -> Manifest:
    judged = int((qrels.grades >= 0).sum())
    manifest = Manifest(
        name=name,
        content_hash=qrels.content_hash,
        topics=len(qrels.topic_ids),
        judged=judged,
        unjudged=len(qrels) - judged,
        grades=qrels.counts(),
        pools={facts.name: facts.content_hash for facts in pools.pool_facts(store)},
        note=note,
        collection=store.setting("name", ""),
        made=now(),
        made_by=f"cranfield {__version__}",
        history=history.head(store),
        **story,
    )
    facts = releases.ReleaseFacts(name, qrels.content_hash, len(qrels), manifest.json(), manifest.made)
    releases.add(store, facts, qrels)
    return manifest


VERIFY = "verify with: ssh-keygen -Y verify -f ALLOWED_SIGNERS -I WHO -n cranfield -s SHA256SUMS.sig < SHA256SUMS"


def _signed(file: Path, key: Path) -> Path:
    """Sign a file with an SSH key; ssh-keygen asks for the passphrase, or the agent has it."""
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", "cranfield", str(file.absolute())]
    # A passphrase is asked for on the terminal, where there is one.
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)  # noqa: S603
    if ended.returncode:
        said = ended.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise InputError(f"released, but {file} was not signed: {said[0]}; sign it with: {shlex.join(command)}")
    return file.with_name(f"{file.name}.sig")


def _sizes(manifest: Manifest) -> str:
    return f"{counted(manifest.judged, 'judgment')} on {counted(manifest.topics, 'topic')}"
