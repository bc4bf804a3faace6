"""Judgment events, appended in one transaction with the current answers that follow from them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

from cranfield.base.errors import RESTORE, CollectionError
from cranfield.base.records import Pair
from cranfield.base.text import now
from cranfield.judge.events import NOBODY, Event, Evidence, PairKey, SourceKind, fold, key_of
from cranfield.store.history import EVENT_COLUMNS
from cranfield.store.store import Query, Store, column, grouped, marks

_FIELDS = ["sequence", *EVENT_COLUMNS.replace("shown_order", "order").replace(",", " ").split()]
"""The fields of an event, in the order of the columns."""

_INSERT = f"INSERT INTO judgment_events (sequence, {EVENT_COLUMNS}) VALUES ({marks(_FIELDS)})"
_VALUES = attrgetter(*_FIELDS)
_EVIDENCE = _FIELDS.index("evidence")
_NO_EVIDENCE = "[]"

NOT_UNDONE = "NOT EXISTS (SELECT 1 FROM judgment_events AS undo WHERE undo.undoes = {}.uuid AND undo.undoes <> '')"
"""Says in a query that an event, under the name it has there, was not taken back."""


def add_assessor(store: Store, name: str, *, kind: SourceKind = "person") -> None:
    """Make an assessor known, inside `store.write()`; a known one stays unchanged."""
    if store.row("SELECT 1 FROM assessors WHERE name = ?", name) is None:
        store.put("assessors", [(name, kind, now())])


assessors = Query[dict[str, SourceKind]]("SELECT name, kind FROM assessors ORDER BY name", dict)
"""The names of all assessors, each with its kind."""


FEW = 100
"""Up to this many events are projected one by one: a key press must not read all earlier events."""


def append_events(store: Store, events: Sequence[Event]) -> list[Event]:
    """Append events inside `store.write()` and bring what counts now up to date; give those that were new.

    An event whose UUID is there already is left out, so that the same packet can be merged twice.
    """
    uuids = [event.uuid for event in events]
    known = {row[0] for row in store.among("SELECT uuid FROM judgment_events WHERE uuid IN ({})", uuids)}
    by_uuid: dict[str, Event] = {}
    for event in events:
        if event.uuid not in known:
            by_uuid.setdefault(event.uuid, event)
    first, recorded = last_event(store)[0] + 1, now()
    added = [
        replace(event, recorded=recorded, sequence=first + place) for place, event in enumerate(by_uuid.values())
    ]
    for name, source in dict.fromkeys((event.assessor, event.source) for event in added):
        add_assessor(store, name, kind=source)
    rows = []
    for event in added:
        values = list(_VALUES(event))
        spans = [[one.start, one.end, one.text] for one in event.evidence]
        values[_EVIDENCE] = json.dumps(spans, ensure_ascii=False) if spans else _NO_EVIDENCE
        rows.append(values)
    store.connection.executemany(_INSERT, rows)
    # What can change is the standing answer to a pair: of an undo, to that of what it undoes.
    meant = [(event_with_uuid(store, event.undoes) if event.kind == "undone" else None) or event for event in added]
    subjects, fresh = dict.fromkeys(map(key_of, meant)), list[PairKey]()
    if len(added) > FEW:
        # Where there were events before, or one was taken back before it came (packets arrive in any order), the new
        # ones have to be folded in; everywhere else they are all there is.
        layers = list({key.layer for key in subjects})
        query = f"""SELECT DISTINCT topic, document, layer, assessor FROM judgment_events
                    WHERE sequence < ? AND layer IN ({marks(layers)})"""
        before = set(store.rows(query, first, *layers))
        query = f"SELECT undoes FROM judgment_events WHERE sequence < {first} AND undoes IN ({{}}) AND undoes <> ''"
        undone = {row[0] for row in store.among(query, [event.uuid for event in added])}
        before |= {key_of(event)[:4] for event in added if event.uuid in undone}
        answers = fold(added)
        fresh = [key for key in subjects if key[:4] not in before]
        store.put("judgments", [_row(key, answers[key]) for key in fresh if key in answers])
    for key in subjects.keys() - set(fresh):
        project(store, key)
    return added


def project(store: Store, key: PairKey) -> None:
    """Write what counts now for one pair and assessor, from its events, inside `store.write()`."""
    own = "topic = ?1 AND document = ?2 AND layer = ?3 AND assessor = ?4"
    store.connection.execute(f"DELETE FROM judgments WHERE {own} AND adjudicated = ?5", key)
    # What one assessor did with one document, and the undoing of it, in the order it was recorded.
    undoing = f"undoes <> '' AND undoes IN (SELECT uuid FROM judgment_events WHERE {own})"
    event = fold(_read(store, f"{own} OR {undoing} ORDER BY sequence", *key[:4])).get(key)
    if event is not None:
        store.put("judgments", [_row(key, event)])


def event_with_uuid(store: Store, uuid: str) -> Event | None:
    """One event by its UUID."""
    return next(_read(store, "uuid = ?", uuid), None)


def latest_answers(store: Store, layer: str, *, assessor: str, pair: Pair | None = None) -> Iterator[Event]:
    """What one assessor said last of each document, or of one, latest first, read as needed.

    The answer to a probe is the latest one to its document, though it never counts.
    """
    of_pair = " AND topic = ?3 AND document = ?4" if pair else ""
    said = f"""SELECT event, topic, document FROM judgments
               WHERE assessor = ?1 AND layer = ?2 AND adjudicated = 0{of_pair}
               UNION ALL SELECT sequence, topic, document FROM judgment_events AS probe
               WHERE assessor = ?1 AND layer = ?2 AND purpose = 'probe' AND kind IN ('judged', 'cannot-judge')
                 AND {NOT_UNDONE.format("probe")}{of_pair}
               ORDER BY 1 DESC"""
    seen: set[Pair] = set()
    for sequence, *subject in store.each(said, assessor, layer, *(pair or ())):
        if tuple(subject) not in seen:
            seen.add((subject[0], subject[1]))
            yield from _read(store, "sequence = ?", sequence)


note_without_answer = Query[str](
    """SELECT iif(kind = 'noted', note, '') FROM judgment_events
       WHERE layer = ? AND assessor = ? AND topic = ? AND document = ?
       AND kind IN ('noted', 'judged', 'cannot-judge') ORDER BY sequence DESC LIMIT 1""",
    lambda rows: "".join(column(rows)),
)
"""What an assessor noted of a document after their last answer to it, or before they answered."""


def events(store: Store, *, up_to: int | None = None, layers: Sequence[str] = ()) -> Iterator[Event]:
    """All events in the order they were recorded, up to a sequence number, of some layers or of all."""
    limit = "" if up_to is None else f" AND sequence <= {int(up_to)}"
    only = f" AND layer IN ({marks(layers)})" if layers else ""
    return _read(store, f"1{limit}{only} ORDER BY sequence", *layers)


def standing(store: Store, *, layers: Sequence[str] = (), pair: Pair | None = None) -> list[Event]:
    """The events that count now, of some layers or all, of one document or all, as they were recorded."""
    only = f" AND layer IN ({marks(layers)})" if layers else ""
    only += " AND topic = ? AND document = ?" if pair else ""
    counting = f"sequence IN (SELECT event FROM judgments WHERE 1{only}) ORDER BY sequence"
    return list(_read(store, counting, *layers, *(pair or ())))


def last_event(store: Store, *, recorded_by: str = "") -> tuple[int, str]:
    """The number and the UUID of the latest event, or of the latest up to a moment; (0, "") where there is none."""
    only, moment = (" WHERE recorded <= ?", [recorded_by]) if recorded_by else ("", [])
    query = f"SELECT sequence, uuid FROM judgment_events{only} ORDER BY sequence DESC LIMIT 1"
    return store.row(query, *moment) or (0, "")


def projection_faults(store: Store) -> list[str]:
    """Where what counts now is not the fold of the events."""
    wanted = {_row(key, event) for key, event in fold(events(store)).items()}
    found = set(store.rows("SELECT * FROM judgments"))
    faults = {"does not follow from the events": found - wanted, "is missing from judgments": wanted - found}
    return [f"judgment {row[0]} {row[1]} of {row[3]} {what}" for what, rows in faults.items() for row in sorted(rows)]


def _row(key: PairKey, event: Event) -> tuple[object, ...]:
    return (*key, event.kind, event.grade, event.scale, event.guidelines, event.sequence)


def _read(store: Store, where: str, *values: Any) -> Iterator[Event]:
    """The events for which a condition holds."""
    for row in store.each(f"SELECT sequence, {EVENT_COLUMNS} FROM judgment_events WHERE {where}", *values):
        fields = dict(zip(_FIELDS, row, strict=True))
        try:
            spans = () if fields["evidence"] == _NO_EVIDENCE else json.loads(str(fields["evidence"]))
            fields["evidence"] = tuple(Evidence(int(start), int(end), str(text)) for start, end, text in spans)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            number = fields["sequence"]
            raise CollectionError(f"{store.path}: event {number} has evidence that cannot be read") from error
        yield Event(**fields)


# The grades that count now, as a merge rule and a comparison of assessors want them.

_STANDS_IN = f"(kind = 'propagated' OR (kind = 'imported' AND assessor = '{NOBODY}'))"
"""`Event.stands_in` in a query."""

_ROW = f"topic, document, layer, assessor, adjudicated, {_STANDS_IN}, grade, event, scale"


def opinion_rows(store: Store, layers: Sequence[str]) -> list[Any]:
    """(topic, document, layer, assessor, is decision, stands in, grade, event, scale) of what stands."""
    return store.rows(f"SELECT {_ROW} FROM judgments WHERE {_graded(layers)}", *layers)


def opinion_text(store: Store, layers: Sequence[str]) -> list[tuple[str, int, str]]:
    """The same as text: for each topic its id, the number of rows, and the rows with tabs between the columns.

    A Python object for each of some hundred thousand cells takes longer than all the rest.
    """
    row = " || char(9) || ".join(f"({column.strip()})" for column in _ROW.split(",")[1:])
    columns = f"topic, count(*), group_concat({row}, char(10))"
    return store.rows(f"SELECT {columns} FROM judgments WHERE {_graded(layers)} GROUP BY topic", *layers)


def _graded(layers: Sequence[str]) -> str:
    return f"grade IS NOT NULL AND layer IN ({marks(layers)})"


layers_with_grades = Query[list[tuple[str, int]]](
    "SELECT layer, count(*) FROM judgments WHERE grade IS NOT NULL GROUP BY layer ORDER BY layer", list
)
"""(layer, number of standing grades)."""

has_grades = Query[bool]("SELECT 1 FROM judgments WHERE layer = ? AND grade IS NOT NULL LIMIT 1", bool)
"""Whether anything stands in a layer."""


primary_assessors = Query[dict[str, list[str]]](
    "SELECT topic, assessor FROM assignments WHERE role = 'primary'", grouped
)
"""Topic -> its primary assessors."""


def pooled_documents(store: Store, *, pool: str = "", passed_over: bool = False) -> list[Pair]:
    """The different (topic, document) that are to be judged: in one pool or in all, or found by searching.

    Those that a draw has `passed_over` are in the pools too, but not to be judged.
    """
    if pool:
        query = "SELECT topic, document FROM pool_entries JOIN pools ON number = pool WHERE name = ?"
        return store.rows(query, pool)
    tables = ("pool_entries", "found_documents", *(("pool_undrawn",) if passed_over else ()))
    return store.rows(" UNION ".join(f"SELECT topic, document FROM {table}" for table in tables))


def versions_used(store: Store, events: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Count events by the version of the scale, and by the version of the guidelines, they were made under."""
    query = "SELECT scale, guidelines FROM judgment_events WHERE sequence IN (SELECT value FROM json_each(?))"
    scales, guidelines = zip(*store.rows(query, json.dumps(events)), strict=True) if events else ((), ())
    return Counter(scales), Counter(guidelines)


def disputed_pairs(store: Store, layer: str, *, across: bool = False, pair: Pair | None = None) -> list[Pair]:
    """The (topic, document) with different grades by those who looked at them, and no decision yet; or one of them.

    `across`: only those between relevant and not relevant, each by the scale of its grade.
    """
    of_pair = " AND topic = ? AND document = ?" if pair else ""
    any_grade = "" if across else " OR min(grade) < max(grade)"
    return store.rows(
        f"""SELECT topic, document FROM judgments JOIN scales ON version = scale
            WHERE layer = ? AND grade IS NOT NULL AND NOT {_STANDS_IN}{of_pair}
            GROUP BY topic, document HAVING max(adjudicated) = 0
              AND (min(grade >= relevant_from) < max(grade >= relevant_from){any_grade})
            ORDER BY topic, document""",
        *(layer, *(pair or ())),
    )


Graded = tuple[bool, int]
"""Whether a grade was relevant by the scale it was given on, and the grade."""


def double_judgments(store: Store, layers: Sequence[str]) -> list[tuple[str, str, str, Graded, int]]:
    """(topic, document, assessor, grade, scale) of what two or more looked at, once for each assessor.

    Decisions and grades that stand in are no opinions. Where somebody judged in two layers, the later answer counts.
    """
    rows = store.rows(
        f"""WITH opinions AS (SELECT topic, document, assessor, grade, scale, max(event) FROM judgments
                              WHERE {_graded(layers)} AND adjudicated = 0 AND NOT {_STANDS_IN}
                              GROUP BY topic, document, assessor)
            SELECT topic, document, assessor, grade >= relevant_from, grade, scale
            FROM opinions JOIN scales ON version = scale
            WHERE (topic, document) IN (SELECT topic, document FROM opinions GROUP BY 1, 2 HAVING count(*) > 1)
            ORDER BY topic, document, assessor""",
        *layers,
    )
    return [(*row[:3], row[3:5], row[5]) for row in rows]


def probe_answers(store: Store, layers: Sequence[str]) -> list[tuple[str, Graded, Graded]]:
    """(assessor, first grade, grade when they saw the document again), without undone answers."""
    rows = store.rows(
        f"""SELECT probe.assessor, early.grade >= earlier.relevant_from, early.grade,
                   probe.grade >= later.relevant_from, probe.grade
            FROM judgment_events AS probe
            JOIN judgment_events AS early ON early.sequence =
                   (SELECT min(sequence) FROM judgment_events AS first
                    WHERE first.topic = probe.topic AND first.document = probe.document
                      AND first.layer = probe.layer AND first.assessor = probe.assessor
                      AND first.purpose <> 'probe' AND first.kind IN ('judged', 'imported')
                      AND first.sequence < probe.sequence AND {NOT_UNDONE.format("first")})
            JOIN scales AS earlier ON earlier.version = early.scale
            JOIN scales AS later ON later.version = probe.scale
            WHERE probe.purpose = 'probe' AND probe.kind = 'judged'
              AND probe.layer IN ({marks(layers)}) AND {NOT_UNDONE.format("probe")}
            ORDER BY probe.sequence""",
        *layers,
    )
    return [(row[0], row[1:3], row[3:]) for row in rows]


answered_pairs = Query[set[Pair]]("SELECT DISTINCT topic, document FROM judgments WHERE layer = ?", set)
"""The (topic, document) that have a standing answer in a layer, with a grade or without."""


# What assessors found by searching: part of what is judged, beside the pools.


class Found(NamedTuple):
    """A document that an assessor found by searching, with which words and when."""

    topic: str
    document: str
    assessor: str
    words: str
    found: str


def add_found(store: Store, *found: Found) -> None:
    """Record finds inside `store.write()`; what was found before stays as it is."""
    store.put("found_documents", found, existing="OR IGNORE")


def finds(store: Store, topic: str = "") -> list[Found]:
    """What was found for a topic, in the order it was found, or for all."""
    only, values = (" WHERE topic = ? ORDER BY found, document", [topic]) if topic else ("", [])
    query = f"SELECT topic, document, assessor, words, found FROM found_documents{only}"
    return [Found(*row) for row in store.rows(query, *values)]


def durations(values: list[Any]) -> list[float]:
    """Seconds of attention as they are stored; what a file says about itself is input like any other."""
    if not all(0 <= one < inf for one in values):
        raise CollectionError(f"the file has a duration that is negative or infinite: {RESTORE}")
    return values


# What can be wrong with the tables of judging, beyond what their constraints keep out.

LONGEST_LEASE = 400 * 86_400.0
"""Packets reserve documents for days, but nobody for years: a later lease was given by a wrong clock."""


def faults(store: Store, *, moment: float) -> Iterator[str]:
    """What cannot be: in what counts now, in events, leases, queues and assignments."""
    yield from projection_faults(store)
    for query, sentence in _FAULTS:
        for row in store.rows(query, *([moment + LONGEST_LEASE] if "?1" in query else [])):
            yield sentence.format(*row)


_FAULTS = (
    (
        """SELECT sequence, undoes FROM judgment_events AS undo WHERE kind = 'undone' AND NOT EXISTS (
               SELECT 1 FROM judgment_events AS undone WHERE undone.uuid = undo.undoes)""",
        "event {} undoes {}, which does not exist",
    ),
    (
        "SELECT sequence, position FROM judgment_events WHERE position < 0 OR (position = 0 AND shown_order <> '')",
        "event {} has position {} in its queue",
    ),
    (
        """SELECT sequence, grade, scale FROM judgment_events AS event WHERE grade IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM grades WHERE grades.scale = event.scale AND grades.grade = event.grade)""",
        "event {} has grade {}, which is not on version {} of the scale",
    ),
    (
        """SELECT sequence, happened, iif(seconds IS NULL, '', printf(', duration %g seconds', seconds))
           FROM judgment_events
           WHERE seconds NOT BETWEEN 0 AND 1e12 OR julianday(happened) IS NULL
              OR happened NOT GLOB '????-??-??T??:??:??.???Z'""",
        "event {} has the invalid time or duration {!r}{}",
    ),
    (
        """SELECT document, topic, assessor, expires FROM leases
           WHERE session = '' OR expires > ?1 OR expires <= 0""",
        "the lease of document {!r}, topic {!r}, by {!r} is invalid (expires {})",
    ),
    (
        """SELECT queues.name, topic, count(*) FROM queue_entries JOIN queues ON number = queue GROUP BY queue, topic
           HAVING (count(DISTINCT position), min(position), max(position)) <> (count(*), 1, count(*))""",
        "the positions of queue {!r}, topic {!r}, do not run from 1 to {}",
    ),
    (
        "SELECT topic FROM assignments WHERE role = 'primary' GROUP BY topic HAVING count(*) > 1",
        "topic {!r} has more than one primary assessor",
    ),
    (
        """SELECT DISTINCT topic FROM assignments WHERE topic NOT IN (SELECT id FROM topics)
           AND topic NOT IN (SELECT topic FROM pool_topics)""",
        "topic {!r} is assigned, but not in the collection",
    ),
)
"""A query for what is wrong, and the sentence about each of its rows."""
