"""Take in judgments that were made elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from cranfield.base.errors import InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.base.files import Source
from cranfield.base.progress import now, stored_moment
from cranfield.judge.events import MAIN, Event, SourceKind
from cranfield.judge.external import Passed, Torn, propagated
from cranfield.store.documents import clusters_of, content_hashes, document_count, known_among, topic_ids
from cranfield.store.events import add_assessor, append_many, event_with_uuid, opinion_rows, standing
from cranfield.store.scales import current_scale
from cranfield.store.store import Store
from cranfield.workflows.corpus import stored_scan
from cranfield.workflows.qrels.current import merged_now

if TYPE_CHECKING:
    from cranfield.qrels.judgment_files import Given
    from cranfield.qrels.reading import Refusals


NAMESPACE = UUID("6f7d3c1e-2f0b-5d0a-9b7e-5c1a4e0f6a11")
"""The space of the UUIDs of imported events: the same content always gets the same one."""

NOBODY = "imported"
"""The assessor of judgments of which a file does not say whose they are."""

MACHINE = "machine/"
"""How the layers of machines begin."""

_LONGEST_NAME = 80
_UNREADABLE = "?"


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file brought: new judgments, those that were there, rows that say "not judged", grades replaced.

    `junk` are rows with a grade of -2 or below, as the web tracks have it for spam: they bring nothing either.
    """

    new: int
    same: int
    unjudged: int
    replaced: int
    assessors: tuple[str, ...]
    junk: int = 0


def import_judgments(
    store: Store, path: Path, *, layer: str = MAIN, assessor: str = "", format: str | None = None
) -> Imported:
    """Import a file of judgments, all or nothing; importing the same again does nothing.

    Topics and documents must be known where the collection has some, and grades must be on the scale in force. Rows
    with a grade below 0 bring nothing: -1 says that a document was pooled and not judged, and what is below is junk
    that no scale here has.
    """
    from cranfield.qrels.judgment_files import read_judgments
    from cranfield.qrels.reading import JUNK

    check_layer(layer)
    source = Source(path)
    read = read_judgments(source, format=format)
    judged = [_told(row, assessor or NOBODY) for row in read.rows if row.grade >= 0]
    problems = [*read.problems, *_problems(store, judged)]
    if problems:
        placed = [problem.at(source.name) for problem in problems]
        raise ProblemsFound(f"{source.name}: nothing was imported", placed)
    with store.write():
        events = list(_events(store, judged, layer, source.path.name))
        replaced = _replaced(store, events)
        for name in {row.assessor for row in judged} - {NOBODY}:
            # Whoever is named is a person who may sit down here later, unless the layer is a machine's.
            add_assessor(store, name, kind="machine" if layer.startswith(MACHINE) else "person", now=now())
        added = append_many(store, events, now=now())
    names = tuple(sorted({event.assessor for event in events}))
    fresh = {(event.topic, event.document, event.assessor) for event in added}
    changed = len([key for key in replaced if key in fresh])
    junk = sum(row.grade <= JUNK for row in read.rows)
    unjudged = len(read.rows) - len(judged) - junk
    return Imported(len(added), len(events) - len(added), unjudged, changed, names, junk)


def check_layer(layer: str) -> str:
    """Give the name of a layer back, or say that it is none."""
    if not layer or not layer.isprintable() or layer != layer.strip() or len(layer) > _LONGEST_NAME:
        raise UsageError(f"{quoted(layer)} is no name of a layer; give one line without blanks around it")
    return layer


def _told(row: Given, nobody: str) -> Given:
    """Give a row with the name of whoever gave it, and with its time as it is stored; one that is none is marked."""
    try:
        moment = stored_moment(row.time) if row.time else ""
    except InputError:
        moment = f"{_UNREADABLE}{row.time}"
    return replace(row, assessor=row.assessor or nobody, time=moment)


def _problems(store: Store, rows: Sequence[Given]) -> list[Problem]:
    from cranfield.qrels.reading import Refusals

    findings = Refusals()
    _check_ids(store, rows, findings)
    on_scale = {step.grade for step in current_scale(store)[1].grades}
    seen = Counter((row.topic, row.document, row.assessor, row.time) for row in rows)
    for row in rows:
        if row.grade not in on_scale:
            findings.add("off-the-scale", [row.line], example=str(row.grade))
        if len(row.assessor) > _LONGEST_NAME or not row.assessor.isprintable():
            findings.add("bad-assessor", [row.line], example=row.assessor)
        if row.time.startswith(_UNREADABLE):
            findings.add("bad-time", [row.line], example=row.time.removeprefix(_UNREADABLE))
        if seen[row.topic, row.document, row.assessor, row.time] > 1:
            findings.add("judged-twice", [row.line], example=f"{row.topic} {row.document} by {row.assessor}")
    return list(findings.problems())


def _check_ids(store: Store, rows: Sequence[Given], findings: Refusals) -> None:
    topics = set(topic_ids(store))
    wanted = list({row.document for row in rows})
    documents = known_among(store, wanted) if document_count(store) else set(wanted)
    for row in rows:
        if topics and row.topic not in topics:
            findings.add("unknown-topic", [row.line], example=row.topic)
        if row.document not in documents:
            findings.add("unknown-document", [row.line], example=row.document)


def _events(store: Store, rows: Sequence[Given], layer: str, file: str) -> Iterator[Event]:
    """Give the events, those without a time first and the others in the order they happened."""
    version, moment = current_scale(store)[0], now()
    hashes = content_hashes(store, list({row.document for row in rows}))
    source: SourceKind = "machine" if layer.startswith(MACHINE) else "import"
    for row in sorted(rows, key=lambda row: row.time):
        said = [layer, row.topic, row.document, row.assessor, str(row.grade), row.time, row.note]
        yield Event(
            uuid=str(uuid5(NAMESPACE, "\x1f".join(said))),
            kind="imported",
            topic=row.topic,
            document=row.document,
            assessor=row.assessor,
            happened=row.time or moment,
            layer=layer,
            grade=row.grade,
            note=row.note,
            source=source,
            source_name=file,
            scale=version,
            document_hash=hashes.get(row.document, ""),
        )


def _replaced(store: Store, events: Sequence[Event]) -> set[tuple[str, str, str]]:
    """Give the (topic, document, assessor) whose standing grade is another than the imported one."""
    layers = sorted({event.layer for event in events})
    standing = {row[:4]: row[6] for row in opinion_rows(store, layers) if not row[4]} if layers else {}
    return {
        (event.topic, event.document, event.assessor)
        for event in events
        if standing.get((event.topic, event.document, event.layer, event.assessor), event.grade) != event.grade
    }


# Pass grades on to near-duplicates of judged documents, marked as such.

NAMESPACE_JUDGE_PROPAGATE = UUID("b8f5a1c4-90d2-5b6e-8a43-7f2d0c9e1b52")
"""The space of the UUIDs of propagated events: the same source and target always get the same one."""


@dataclass(frozen=True, slots=True)
class Propagated:
    """What was passed on: new grades, those that stood already, old ones taken back, and clusters torn apart."""

    new: int
    same: int
    withdrawn: int
    torn: tuple[Torn, ...]


def propagate(store: Store, *, layer: str = MAIN, exact_only: bool = False) -> Propagated:
    """Give every near-duplicate of a judged document its grade, in the same layer.

    The clusters are those of the latest search. A grade passes only where all judged members of a cluster agree.
    What passed earlier and no longer would (the source was judged again, or its cluster is torn) is taken back.
    """
    stored_scan(store)
    clusters = _clusters(store, exact_only=exact_only)
    with store.write():
        given = _given(store, layer)
        passed, torn = propagated({pair: event.grade or 0 for pair, event in given.items()}, clusters)
        events = _events_judge_propagate(store, passed, given, layer)
        earlier = [event for event in standing(store, layers=[layer]) if event.kind == "propagated"]
        wanted = {event.uuid for event in events}
        stale = [event for event in earlier if event.uuid not in wanted]
        undone = [_undoing(event) for event in stale]
        added = append_many(store, [*undone, *events], now=now())
    new = sum(event.kind == "propagated" for event in added)
    return Propagated(new, len(events) - new, len(added) - new, tuple(torn))


def _clusters(store: Store, *, exact_only: bool) -> dict[str, list[str]]:
    """Give the clusters, the representative first."""
    found = clusters_of(store)
    kept = {name: [one for one in members if one[1] == "exact" or not exact_only] for name, members in found.items()}
    return {str(name): [one[0] for one in members] for name, members in kept.items() if len(members) > 1}


def _given(store: Store, layer: str) -> dict[tuple[str, str], Event]:
    """Give the events that decide the grade of each document somebody looked at, by the collection's rule."""
    opinions, merged = merged_now(store, layers=[layer])
    deciding = set(opinions.events[merged.rows].tolist())
    events = [event for event in standing(store, layers=[layer]) if event.sequence in deciding]
    return {(event.topic, event.document): event for event in events if event.kind != "propagated"}


def _events_judge_propagate(
    store: Store, passed: Sequence[Passed], given: Mapping[tuple[str, str], Event], layer: str
) -> list[Event]:
    hashes = content_hashes(store, list({one.document for one in passed}))
    made = []
    for one in passed:
        source = given[one.topic, one.source]
        made.append(
            Event(
                uuid=_uuid(store, source, one.document),
                kind="propagated",
                topic=one.topic,
                document=one.document,
                assessor=source.assessor,
                happened=now(),
                layer=layer,
                grade=one.grade,
                reason=f"near-duplicate of {one.source}",
                source=source.source,
                source_name=source.uuid,
                scale=source.scale,
                guidelines=source.guidelines,
                document_hash=hashes.get(one.document, ""),
            )
        )
    return made


def _uuid(store: Store, source: Event, document: str) -> str:
    """Give the UUID of a propagated event; after one that was taken back here, that of the next turn."""
    turn = 0
    while True:
        made = str(uuid5(NAMESPACE_JUDGE_PROPAGATE, f"{source.uuid}\x1f{document}\x1f{turn}"))
        if event_with_uuid(store, _undo_of(made)) is None:
            return made
        turn += 1


def _undo_of(uuid: str) -> str:
    return str(uuid5(NAMESPACE_JUDGE_PROPAGATE, f"undone\x1f{uuid}"))


def _undoing(event: Event) -> Event:
    return Event(
        uuid=_undo_of(event.uuid),
        kind="undone",
        topic=event.topic,
        document=event.document,
        assessor=event.assessor,
        happened=now(),
        layer=event.layer,
        undoes=event.uuid,
        source=event.source,
        scale=event.scale,
        guidelines=event.guidelines,
    )
