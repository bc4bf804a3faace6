"""Judgments from outside judging sessions: imported from files, or propagated to near-duplicates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID, uuid4, uuid5

from cranfield.base.errors import InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.base.files import Source
from cranfield.base.records import MAIN
from cranfield.base.text import Changed, Result, Table, beside, counted, now, stored_moment, table_of
from cranfield.judge import external
from cranfield.judge.events import NOBODY, Event, SourceKind
from cranfield.qrels import reading
from cranfield.qrels.qrels import JUNK, Qrels
from cranfield.store import Store, documents, events
from cranfield.store.store import grouped
from cranfield.workflows import corpus
from cranfield.workflows import qrels as qrels_workflow

NAMESPACE = UUID("6f7d3c1e-2f0b-5d0a-9b7e-5c1a4e0f6a11")
"""The space of the UUIDs of imported events: the same content always gets the same one."""

MACHINE = "machine/"
"""How the layers of machines begin."""

_LONGEST_NAME = 80
_UNREADABLE = "?"


def import_judgments(
    store: Store, path: Path, *, layer: str = MAIN, assessor: str = "", format: str | None = None
) -> Changed:
    """Import a file of judgments, all or nothing; importing the same again does nothing.

    Topics and documents must be in the collection, where it has some, and grades on the current scale. Rows with a
    grade below 0 are skipped: -1 means pooled but not judged, and lower grades are junk (spam, in the web tracks).
    """
    if not layer or not layer.isprintable() or layer != layer.strip() or len(layer) > _LONGEST_NAME:
        raise UsageError(f"{quoted(layer)} is not a valid layer name; use one line without surrounding blanks")
    source = Source(path)
    rows, unreadable = reading.read_judgments(source, format=format)
    judged = []
    for row in rows:
        if row.grade >= 0:
            try:
                time = stored_moment(row.time) if row.time else ""
            except InputError:
                time = f"{_UNREADABLE}{row.time}"
            judged.append(replace(row, assessor=row.assessor or assessor or NOBODY, time=time))
    problems = [*unreadable, *_problems(store, judged)]
    if problems:
        placed = [problem.at(source.name) for problem in problems]
        raise ProblemsFound(f"{source.name}: nothing was imported", placed)
    others = {(*row[:2], row[6]) for row in events.opinion_rows(store, [layer]) if row[3] != NOBODY}
    if judged and all(row.assessor == NOBODY and (row.topic, row.document, row.grade) in others for row in judged):
        raise InputError(
            f"{source.name}: every judgment repeats a grade of this collection, as its own export does; nothing was"
            " imported; to count them as those of one more assessor, name them: --assessor NAME"
        )
    with store.write():
        made = list(_events(store, judged, layer, source.path.name))
        # A grade that stands otherwise gives way, if the event that says so is a new one.
        standing = {row[:4]: row[6] for row in events.opinion_rows(store, [layer]) if not row[4]} if made else {}
        for name in {row.assessor for row in judged} - {NOBODY}:
            # Whoever is named is a person who may judge here later, unless the layer is a machine's.
            kind: SourceKind = "machine" if layer.startswith(MACHINE) else "person"
            events.add_assessor(store, name, kind=kind)
        added = events.append_events(store, made)
    grades = [((*event.pair, layer, event.assessor), event.grade) for event in added]
    replaced = {key for key, grade in grades if standing.get(key, grade) != grade}
    names = ", ".join(sorted({event.assessor for event in made}))
    junk = sum(row.grade <= JUNK for row in rows)
    unjudged = len(rows) - len(judged) - junk
    same = len(made) - len(added)
    skipped = f"row{'s' * (unjudged != 1)} skipped (pooled but not judged)"
    more = beside({"already present": same, skipped: unjudged})
    notes = [f"{path}: {counted(len(added), 'judgment')} imported{more}; assessors: {names or 'none'}"]
    if junk:
        notes.append(
            f"warning: {counted(junk, 'row')} with a grade of -2 or below (junk) skipped: use the lowest"
            " grade of the scale if they were judged not relevant"
        )
    if replaced:
        notes.append(f"warning: {counted(len(replaced), 'earlier grade')} of the same assessor replaced")
    counts = {"new": len(added), "same": same, "unjudged": unjudged, "replaced": len(replaced), "junk": junk}
    return Changed({**counts, "assessors": names}, tuple(notes))


def take_qrels(store: Store, qrels: Qrels, file: str) -> str:
    """Take imported qrels as the judgments of a collection in which nobody has judged, inside `store.write()`.

    Gives a sentence about what became of them. Qrels of several files add up as long as no two grades of them differ.
    """
    standing = {row[:2]: (row[3], row[6]) for row in events.opinion_rows(store, [MAIN])}
    rows = [reading.FileJudgment(0, *row, assessor=NOBODY) for row in qrels if row[2] >= 0]
    off_scale = {row.grade for row in rows} - {step.grade for step in store.scale().grades}
    differing = sum(standing.get((row.topic, row.document), (NOBODY, row.grade))[1] != row.grade for row in rows)
    why = ""
    if any(assessor != NOBODY for assessor, _ in standing.values()):
        why = "assessors have judged here; cranfield judge import adds the judgments of a file to theirs"
    elif off_scale:
        why = (
            f"the scale has no grade {', '.join(map(str, sorted(off_scale)))}; cranfield init --scale chooses another"
        )
    elif differing:
        why = f"{counted(differing, 'grade differs', 'grades differ')} from those imported before"
    if why:
        return f"note: not taken as judgments, only for scoring and comparing by this name: {why}"
    events.append_events(store, list(_events(store, rows, MAIN, file)))
    return "taken as judgments; where an assessor judges one of these documents too, the assessor's grade counts"


def _problems(store: Store, rows: Sequence[reading.FileJudgment]) -> list[Problem]:
    findings = reading.Refusals()
    topics, wanted = set(documents.topic_ids(store)), list({row.document for row in rows})
    unknown = documents.unknown(store, wanted) if documents.count(store) else set()
    on_scale = {step.grade for step in store.scale().grades}
    seen = Counter((row.topic, row.document, row.assessor, row.time) for row in rows)
    for row in rows:
        is_bad_name = len(row.assessor) > _LONGEST_NAME or not row.assessor.isprintable()
        is_again = seen[row.topic, row.document, row.assessor, row.time] > 1
        for code, is_wrong, example in (
            ("unknown-topic", topics and row.topic not in topics, row.topic),
            ("unknown-document", row.document in unknown, row.document),
            ("off-the-scale", row.grade not in on_scale, str(row.grade)),
            ("bad-assessor", is_bad_name, row.assessor),
            ("bad-time", row.time.startswith(_UNREADABLE), row.time.removeprefix(_UNREADABLE)),
            ("judged-twice", is_again, f"{row.topic} {row.document} by {row.assessor}"),
        ):
            if is_wrong:
                findings.add(code, [row.line], example=example)
    return list(findings.problems())


def _events(store: Store, rows: Sequence[reading.FileJudgment], layer: str, file: str) -> Iterator[Event]:
    """The events, those without a time first and the others in the order they happened."""
    version, moment = store.versions()[0], now()
    hashes = documents.content_hashes(store, {row.document for row in rows})
    for row in sorted(rows, key=lambda row: row.time):
        content = [layer, row.topic, row.document, row.assessor, str(row.grade), row.time, row.note]
        yield Event(
            uuid=str(uuid5(NAMESPACE, "\x1f".join(content))),
            kind="imported",
            topic=row.topic,
            document=row.document,
            assessor=row.assessor,
            happened=row.time or moment,
            layer=layer,
            grade=row.grade,
            note=row.note,
            source="machine" if layer.startswith(MACHINE) else "import",
            source_name=file,
            scale=version,
            document_hash=hashes.get(row.document, ""),
        )


# Grades propagated to the near-duplicates of judged documents, marked as such.


@dataclass(frozen=True)
class Propagated(Result):
    """What was propagated: new grades, those that stood already, old ones withdrawn.

    `differing` are the (topic, document, grade) of near-duplicates that were judged differently.
    """

    new: int
    same: int
    withdrawn: int
    differing: Sequence[tuple[str, str, int]]
    remarks: Sequence[str] = field(default=(), compare=False)
    only_rows = True

    def table(self) -> Table:
        """The near-duplicates that were judged differently."""
        caption = "Near-duplicates with different grades: not propagated"
        return table_of(["topic", "document", "grade"], self.differing, caption=caption)


def propagate(store: Store, *, layer: str = MAIN) -> Propagated:
    """Give every near-duplicate of a judged document its grade, in the same layer.

    The clusters are those of the latest search. A grade passes only where all judged members of a cluster agree.
    What passed earlier and no longer would (the source was judged again, or members now differ) is withdrawn.
    """
    corpus.stored_scan(store)
    clusters = list(grouped((row[0], row[1]) for row in documents.clusters(store)).values())
    with store.write():
        standing = events.standing(store, layers=[layer])
        # The events that decide the grade of each judged document, by the collection's merge rule.
        opinions, merged = qrels_workflow.merged_now(store, qrels_workflow.Selection(layers=(layer,)))
        deciding = set(opinions.events[merged.rows].tolist())
        given = {event.pair: event for event in standing if event.sequence in deciding and event.kind != "propagated"}
        sources, differing = external.propagated({pair: event.grade or 0 for pair, event in given.items()}, clusters)
        hashes = documents.content_hashes(store, {document for _, document in sources})
        # What was passed on before, and what is now, by where it goes and from which judgment it comes.
        passed = {(*one.pair, one.source_name): one for one in standing if one.kind == "propagated"}
        wanted = {(*pair, (source := given[pair[0], judged]).uuid): source for pair, judged in sources.items()}
        made = [
            Event(
                uuid=str(uuid4()),
                kind="propagated",
                topic=topic,
                document=document,
                assessor=source.assessor,
                happened=now(),
                layer=layer,
                grade=source.grade,
                reason=f"near-duplicate of {source.document}",
                source=source.source,
                source_name=source.uuid,
                scale=source.scale,
                guidelines=source.guidelines,
                document_hash=hashes.get(document, ""),
            )
            for (topic, document, _), source in wanted.items()
            if (topic, document, source.uuid) not in passed
        ]
        undone = [
            replace(
                event,
                uuid=str(uuid4()),
                kind="undone",
                happened=now(),
                undoes=event.uuid,
                grade=None,
                reason="",
                source_name="",
                document_hash="",
            )
            for key, event in passed.items()
            if key not in wanted
        ]
        events.append_events(store, [*undone, *made])
    new, same, withdrawn = len(made), len(wanted) - len(made), len(undone)
    remark = f"{counted(new, 'grade')} propagated" + beside({"already present": same, "withdrawn": withdrawn})
    return Propagated(new, same, withdrawn, differing, [remark])
