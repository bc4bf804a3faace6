"""Freeze qrels under a name, list what is frozen, compare."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield._version import __version__
from cranfield.errors import InputError, quoted
from cranfield.judge.events import MAIN
from cranfield.qrels.rules import Rule
from cranfield.source import Source
from cranfield.workflows.moments import stored_moment
from cranfield.workflows.qrels_of import collection_rule, merged_now, qrels_for, released_qrels, with_pooled
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.documents import document_count, known_among
from cranfield.store.events import last_sequence, sequence_at
from cranfield.store.opinions import layers_with_grades, primary_assessors, versions_used
from cranfield.store.pools import pool_facts
from cranfield.store.releases import ReleaseFacts, add_release, release_names, releases
from cranfield.store.settings import setting
from cranfield.store.topics import topic_ids
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.qrels.difference import Difference
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.release import Manifest

__all__ = ["layers_with_grades"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which judgments are meant: of which layers, merged by which rule, as of which event or moment."""

    layers: tuple[str, ...] = (MAIN,)
    rule: Rule | None = None
    up_to: int | None = None
    as_of: str = ""
    with_unjudged: bool = False

    def event(self, store: Store) -> int | None:
        """Give the number of the last event that counts; None where all of them do."""
        if self.as_of:
            return sequence_at(store, stored_moment(self.as_of, end_of_day=True))
        return self.up_to


def make_release(store: Store, name: str, *, chosen: Chosen | None = None, note: str = "") -> "Manifest":
    """Freeze what is judged under a name, with the story of how it came about."""
    from cranfield.qrels.release import check_name

    check_name(name)
    asked = chosen or Chosen()
    with store.write():
        event = asked.event(store)
        rule = collection_rule(store) if asked.rule is None else asked.rule
        opinions, merged = merged_now(store, layers=asked.layers, rule=rule, up_to=event)
        if not len(merged.qrels):
            raise InputError(f"nothing to release: no grade stands in {' or '.join(asked.layers)}")
        qrels = with_pooled(store, merged.qrels) if asked.with_unjudged else merged.qrels
        scales, guidelines = versions_used(store, opinions.events[merged.rows].tolist())
        manifest = replace(
            _manifest(store, name, qrels, note),
            layers=asked.layers,
            rule=rule,
            primary={topic: tuple(names) for topic, names in primary_assessors(store).items()},
            up_to_event=last_sequence(store) if event is None else event,
            scales=_as_text(scales),
            guidelines=_as_text(guidelines),
        )
        _put(store, manifest, qrels)
    return manifest


@dataclass(frozen=True, slots=True)
class ImportedRelease:
    """Qrels of a file, frozen. `new` is false where the same were there already; `strangers` says what is unknown."""

    manifest: "Manifest"
    new: bool
    strangers: tuple[str, ...] = ()


def import_release(
    store: Store, path: Path, name: str, *, format: str | None = None, note: str = ""
) -> ImportedRelease:
    """Freeze the qrels of a file under a name; the same qrels under the same name are left as they are."""
    from cranfield.qrels.reading import read_qrels
    from cranfield.qrels.release import check_name, manifest_from

    check_name(name)
    source = Source(path)
    qrels = read_qrels(source, format=format)
    with store.write():
        strangers = tuple(_strangers(store, qrels))
        for facts in releases(store):
            if facts.name == name and facts.content_hash == qrels.content_hash:
                return ImportedRelease(manifest_from(facts.manifest), new=False, strangers=strangers)
        made = replace(_manifest(store, name, qrels, note), file=source.path.name, file_sha256=source.file_sha256)
        _put(store, made, qrels)
    return ImportedRelease(made, new=True, strangers=strangers)


def list_releases(store: Store) -> "list[Manifest]":
    """Give the manifests of all releases in the order they were made."""
    from cranfield.qrels.release import manifest_from

    return [manifest_from(facts.manifest) for facts in releases(store)]


def compare_qrels(
    store: Store | None, before: str, after: str, *, layers: Sequence[str] = (MAIN,), with_unjudged: bool = False
) -> "Difference":
    """Compare two sets of qrels, each a release, a file or `now`."""
    from cranfield.qrels.difference import difference

    both = [qrels_for(store, word, layers=layers, with_unjudged=with_unjudged) for word in (before, after)]
    return difference(*both)


def release_faults(store: Store) -> list[str]:
    """Say which releases are not what their hash or their manifest says."""
    from cranfield.qrels.release import manifest_from

    faults = []
    for name in release_names(store):
        try:
            released_qrels(store, name)
        except Exception as error:  # noqa: BLE001 (whatever a damaged file brings about is a finding)
            faults.append(f"release {name!r}: {error}")
    for facts in releases(store):
        try:
            said = manifest_from(facts.manifest)
        except (ValueError, TypeError, KeyError):
            faults.append(f"the manifest of release {facts.name!r} cannot be read")
            continue
        if (said.name, said.content_hash, said.judged + said.unjudged) != (
            facts.name,
            facts.content_hash,
            facts.rows,
        ):
            faults.append(f"the manifest of release {facts.name!r} says something else than the release")
    return faults


def _manifest(store: Store, name: str, qrels: "Qrels", note: str) -> "Manifest":
    from cranfield.qrels.release import Manifest, counts_of

    judged = int((qrels.grades >= 0).sum())
    return Manifest(
        name=name,
        content_hash=qrels.content_hash,
        topics=len(qrels.topic_ids),
        judged=judged,
        unjudged=len(qrels) - judged,
        grades=counts_of(qrels),
        pools={facts.name: facts.content_hash for facts in pool_facts(store)},
        note=note,
        collection=setting(store, "name", ""),
        made=now(),
        made_by=f"cranfield {__version__}",
    )


def _put(store: Store, manifest: "Manifest", qrels: "Qrels") -> None:
    facts = ReleaseFacts(manifest.name, qrels.content_hash, len(qrels), manifest.json(), manifest.made)
    add_release(store, facts, qrels)


def _strangers(store: Store, qrels: "Qrels") -> list[str]:
    """Say how much of foreign qrels this collection does not know; nothing where it has no corpus."""
    found = []
    known = set(topic_ids(store))
    topics = [topic for topic in qrels.topics if topic not in known] if known else []
    if topics:
        found.append(f"{counted(len(topics), 'topic')} not in this collection, for example {quoted(topics[0])}")
    if document_count(store):
        ids = qrels.document_ids.to_pylist()
        there = known_among(store, ids)
        missing = [one for one in ids if one not in there]
        if missing:
            said = f"{counted(len(missing), 'document')} not in this collection, for example {quoted(missing[0])}"
            found.append(said)
    return found


def _as_text(counts: dict[int, int]) -> dict[str, int]:
    return {str(version): count for version, count in sorted(counts.items())}
