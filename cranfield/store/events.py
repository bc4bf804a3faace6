"""Judgment events: appended in one transaction together with what counts now."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from cranfield.errors import CollectionError
from cranfield.judge.events import Event, Evidence, PairKey, SourceKind, key_of
from cranfield.judge.fold import fold
from cranfield.store.store import Store

_COLUMNS = (
    *("uuid", "kind", "layer", "topic", "document", "assessor", "grade", "undoes", "reason", "note", "evidence"),
    *(
        "purpose",
        "source",
        "source_name",
        "seconds",
        "confidence",
        "scale",
        "guidelines",
        "document_hash",
        "shown_order",
        "position",
    ),
    *("session", "happened", "recorded"),
)
_INSERT = f"INSERT INTO judgment_events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_INSERT_NUMBERED = f"INSERT INTO judgment_events (sequence, {', '.join(_COLUMNS)}) VALUES (?{', ?' * len(_COLUMNS)})"
_FIELDS = attrgetter(*("order" if name == "shown_order" else name for name in _COLUMNS))
_EVIDENCE = _COLUMNS.index("evidence")
_NO_EVIDENCE = "[]"
_AT_ONCE = 500
_SELECT = f"SELECT sequence, {', '.join(_COLUMNS)} FROM judgment_events"


def add_assessor(store: Store, name: str, *, kind: SourceKind = "person", now: str) -> None:
    """Make an assessor known, inside `store.write()`; one who is known already stays as he is."""
    store.connection.execute("INSERT OR IGNORE INTO assessors VALUES (?, ?, ?)", [name, kind, now])


def assessors(store: Store) -> dict[str, SourceKind]:
    """Give the names of all assessors with what they are."""
    return dict(store.rows("SELECT name, kind FROM assessors ORDER BY name"))


def append_events(store: Store, events: Iterable[Event], *, now: str) -> list[Event]:
    """Append events inside `store.write()` and bring what counts now up to date; give those that were new.

    An event whose UUID is there already is left out, so that the same packet can be merged twice.
    """
    added = []
    for event in events:
        if store.row("SELECT 1 FROM judgment_events WHERE uuid = ?", event.uuid):
            continue
        add_assessor(store, event.assessor, kind=event.source, now=now)
        recorded = replace(event, recorded=now)
        cursor = store.connection.execute(_INSERT, _values(recorded))
        added.append(replace(recorded, sequence=int(cursor.lastrowid or 0)))
    for event in added:
        project(store, _subject(store, event))
    return added


def append_many(store: Store, events: Sequence[Event], *, now: str) -> list[Event]:
    """Do what `append_events` does, for thousands of events at once: an import, a packet."""
    known = _known_uuids(store, [event.uuid for event in events])
    by_uuid: dict[str, Event] = {}
    for event in events:
        if event.uuid not in known:
            by_uuid.setdefault(event.uuid, event)
    first = last_sequence(store) + 1
    added = [replace(event, recorded=now, sequence=first + place) for place, event in enumerate(by_uuid.values())]
    for name, source in dict.fromkeys((event.assessor, event.source) for event in added):
        add_assessor(store, name, kind=source, now=now)
    store.connection.executemany(_INSERT_NUMBERED, ([event.sequence, *_values(event)] for event in added))
    subjects = dict.fromkeys(_subject(store, event) if event.kind == "undone" else key_of(event) for event in added)
    before = _answered_before(store, first, {key.layer for key in subjects})
    undone = _undone_before(store, first, [event.uuid for event in added])
    before |= {(event.layer, event.topic, event.document, event.assessor) for event in added if event.uuid in undone}
    answers = fold(added)
    fresh = [key for key in subjects if (key.layer, key.topic, key.document, key.assessor) not in before]
    rows = [_row(key, answers[key]) for key in fresh if key in answers]
    store.connection.executemany(f"INSERT INTO judgments VALUES ({', '.join('?' * 10)})", rows)
    for key in subjects.keys() - set(fresh):
        project(store, key)
    return added


def _known_uuids(store: Store, uuids: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(uuids), _AT_ONCE):
        part = uuids[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(part))
        found |= {row[0] for row in store.rows(f"SELECT uuid FROM judgment_events WHERE uuid IN ({marks})", *part)}
    return found


def _undone_before(store: Store, first: int, uuids: Sequence[str]) -> set[str]:
    """Give which of some events were taken back before they came: packets arrive in any order."""
    found: set[str] = set()
    for start in range(0, len(uuids), _AT_ONCE):
        part = uuids[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(part))
        query = f"SELECT undoes FROM judgment_events WHERE sequence < ? AND undoes IN ({marks}) AND undoes <> ''"
        found |= {row[0] for row in store.rows(query, first, *part)}
    return found


def _answered_before(store: Store, first: int, layers: Iterable[str]) -> set[tuple[str, str, str, str]]:
    """Give (layer, topic, document, assessor) of all events before one: there the new ones have to be folded in."""
    wanted = list(layers)
    marks = ", ".join("?" * len(wanted))
    query = f"""SELECT DISTINCT layer, topic, document, assessor FROM judgment_events
                WHERE sequence < ? AND layer IN ({marks})"""
    return set(store.rows(query, first, *wanted))


def _subject(store: Store, event: Event) -> PairKey:
    """Give the pair whose standing answer an event can change: an undo is about what it undoes."""
    if event.kind != "undone":
        return key_of(event)
    undone = event_with_uuid(store, event.undoes)
    return key_of(event) if undone is None else key_of(undone)


def project(store: Store, key: PairKey) -> None:
    """Write what counts now for one pair and assessor, from its events, inside `store.write()`."""
    where = [key.topic, key.document, key.layer, key.assessor, int(key.adjudicated)]
    store.connection.execute(
        """DELETE FROM judgments WHERE topic = ? AND document = ? AND layer = ? AND assessor = ?
           AND adjudicated = ?""",
        where,
    )
    event = fold(events_of_pair(store, key)).get(key)
    if event is not None:
        store.connection.execute(
            "INSERT INTO judgments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*where, event.kind, event.grade, event.scale, event.guidelines, event.sequence],
        )


def events_of_pair(store: Store, key: PairKey) -> list[Event]:
    """Give what one assessor did with one document, and the undoing of it, in the order it was recorded."""
    own = f"{_SELECT} WHERE topic = ? AND document = ? AND layer = ? AND assessor = ? ORDER BY sequence"
    found = [_event(row) for row in store.rows(own, key.topic, key.document, key.layer, key.assessor)]
    marks = ", ".join("?" * len(found))
    others = store.rows(f"{_SELECT} WHERE undoes IN ({marks}) AND undoes <> ''", *(event.uuid for event in found))
    known = {event.uuid for event in found}
    undoing = [event for row in others if (event := _event(row)).uuid not in known]
    return sorted([*found, *undoing], key=lambda event: event.sequence)


def event_with_uuid(store: Store, uuid: str) -> Event | None:
    """Give one event by its UUID."""
    row = store.row(f"{_SELECT} WHERE uuid = ?", uuid)
    return None if row is None else _event(row)


def latest_answer(store: Store, layer: str, topic: str, document: str, *, assessor: str) -> Event | None:
    """Give what one assessor said last of one document, or None: what counts, or what he said when shown it again."""
    key = PairKey(layer, topic, document, assessor)
    happened = events_of_pair(store, key)
    undone = {event.undoes for event in happened if event.kind == "undone"}
    said = [
        event
        for event in happened
        if event.purpose == "probe" and event.kind in ("judged", "cannot-judge") and event.uuid not in undone
    ]
    stands = fold(happened).get(key)
    return max((*said, *([stands] if stands else [])), key=lambda event: event.sequence, default=None)


def events(store: Store, *, up_to: int | None = None, layers: Sequence[str] = ()) -> Iterator[Event]:
    """Give all events in the order they were recorded, up to a sequence number, of some layers or of all."""
    limit = "" if up_to is None else f" AND sequence <= {int(up_to)}"
    only = f" AND layer IN ({', '.join('?' * len(layers))})" if layers else ""
    for row in store.connection.execute(f"{_SELECT} WHERE 1{limit}{only} ORDER BY sequence", list(layers)):
        yield _event(row)


def events_of_session(store: Store, session: str) -> list[Event]:
    """Give the events of one sitting, in order."""
    return [_event(row) for row in store.rows(f"{_SELECT} WHERE session = ? ORDER BY sequence", session)]


def standing(store: Store, *, layers: Sequence[str] = ()) -> list[Event]:
    """Give the events that count now, of some layers or of all, in the order they were recorded."""
    only = f" AND layer IN ({', '.join('?' * len(layers))})" if layers else ""
    rows = store.rows(
        f"{_SELECT} WHERE sequence IN (SELECT event FROM judgments WHERE 1{only}) ORDER BY sequence", *layers
    )
    return [_event(row) for row in rows]


def standing_of(store: Store, layer: str, topic: str, document: str) -> list[Event]:
    """Give the events that count now for one document, of all assessors, in the order they were recorded."""
    where = "WHERE layer = ? AND topic = ? AND document = ?"
    rows = store.rows(
        f"{_SELECT} WHERE sequence IN (SELECT event FROM judgments {where}) ORDER BY sequence", layer, topic, document
    )
    return [_event(row) for row in rows]


def last_sequence(store: Store) -> int:
    """Give the number of the latest event; 0 where there is none."""
    return int(store.value("SELECT max(sequence) FROM judgment_events") or 0)


def sequence_at(store: Store, moment: str) -> int:
    """Give the number of the last event recorded up to a moment (as `now` writes it)."""
    return int(store.value("SELECT max(sequence) FROM judgment_events WHERE recorded <= ?", moment) or 0)


def projection_faults(store: Store) -> list[str]:
    """Say where what counts now is not the fold of the events."""
    wanted = {_row(key, event) for key, event in fold(events(store)).items()}
    found = set(store.rows("SELECT * FROM judgments"))
    return [
        *(f"judgment {row[0]} {row[1]} of {row[3]} does not come from the events" for row in sorted(found - wanted)),
        *(f"judgment {row[0]} {row[1]} of {row[3]} is missing from judgments" for row in sorted(wanted - found)),
    ]


def _row(key: PairKey, event: Event) -> tuple[object, ...]:
    where = (key.topic, key.document, key.layer, key.assessor, int(key.adjudicated))
    return (*where, event.kind, event.grade, event.scale, event.guidelines, event.sequence)


def _values(event: Event) -> list[object]:
    values = list(_FIELDS(event))
    spans = [[one.start, one.end, one.text] for one in event.evidence]
    values[_EVIDENCE] = json.dumps(spans, ensure_ascii=False) if spans else _NO_EVIDENCE
    return values


def _event(row: Sequence[object]) -> Event:
    fields = dict(zip(("sequence", *_COLUMNS), row, strict=True))
    try:
        spans = () if fields["evidence"] == _NO_EVIDENCE else json.loads(str(fields["evidence"]))
        fields["evidence"] = tuple(Evidence(int(start), int(end), str(text)) for start, end, text in spans)
    except (ValueError, TypeError) as error:
        raise CollectionError(f"event {fields['sequence']} has evidence that cannot be read") from error
    fields["order"] = fields.pop("shown_order")
    return Event(**fields)  # type: ignore[arg-type]
