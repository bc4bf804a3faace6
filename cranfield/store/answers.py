"""What counts now, as an assessor's seat asks for it: of a topic, of one document, of his own past."""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import replace

from cranfield.judge.queue import NOTHING, Answers
from cranfield.store import engine
from cranfield.store.store import Store

_COLUMNS = "document, assessor, adjudicated, kind, grade IS NOT NULL, event, scale, guidelines"


def answers_of_topic(store: Store, layer: str, topic: str, *, assessor: str) -> dict[str, Answers]:
    """Give what stands about each document of a topic that anybody has answered, seen from one assessor."""
    query = f"SELECT {_COLUMNS} FROM judgments WHERE topic = ? AND layer = ? ORDER BY document"
    found: dict[str, Answers] = {}
    # Most documents have one answer, and most of those are alike but for the document: they share one object.
    alike: dict[tuple[object, ...], Answers] = {}
    for document, *answer in store.rows(query, topic, layer):
        before, key = found.get(document, NOTHING), tuple(answer[:4])
        if before is NOTHING and answer[0] != assessor:
            if key not in alike:
                alike[key] = _with(NOTHING, assessor, *answer)
            found[document] = alike[key]
        else:
            found[document] = _with(before, assessor, *answer)
    return found


def answers_of_document(store: Store, layer: str, topic: str, document: str, *, assessor: str) -> Answers:
    """Give what stands about one document, seen from one assessor."""
    query = f"SELECT {_COLUMNS} FROM judgments WHERE topic = ? AND document = ? AND layer = ?"
    found = NOTHING
    for _, *answer in store.rows(query, topic, document, layer):
        found = _with(found, assessor, *answer)
    return found


def _with(
    found: Answers,
    assessor: str,
    name: str,
    adjudicated: int,
    kind: str,
    has_grade: int,
    event: int,
    scale: int,
    guidelines: int,
) -> Answers:
    """Give what stands, with one more answer."""
    if adjudicated:
        return replace(found, decided=True)
    if name == assessor:
        versions = (scale, guidelines)
        return Answers(kind, event, versions, found.graded, found.refused, found.decided)
    if has_grade:
        return replace(found, graded=found.graded | {name})
    return replace(found, refused=True) if kind == "cannot-judge" else found


def pool_counts(store: Store, pool: str, layer: str, *, assessor: str) -> dict[str, tuple[int, int, int]]:
    """Give topic -> (done, of, postponed) of a pool as it stands for one assessor, where one answer is enough.

    It says the same as `judge.queue.state_of` for whoever is not second, in a sixth of the time.
    """
    answered = "adjudicated = 1 OR iif(assessor = :assessor, kind <> 'postponed', grade IS NOT NULL)"
    with engine.translated(store.path):
        rows = store.connection.execute(
            f"""WITH stood AS MATERIALIZED (
                    SELECT topic, (SELECT max(CASE WHEN {answered} THEN 2 ELSE assessor = :assessor END)
                                   FROM judgments WHERE judgments.topic = pool_entries.topic AND layer = :layer
                                   AND judgments.document = pool_entries.document) AS state
                    FROM pool_entries WHERE pool = (SELECT number FROM pools WHERE name = :pool))
                SELECT topic, count(*) FILTER (WHERE state = 2), count(*), count(*) FILTER (WHERE state = 1)
                FROM stood GROUP BY topic""",
            {"pool": pool, "layer": layer, "assessor": assessor},
        ).fetchall()
    return {topic: (done, of, postponed) for topic, done, of, postponed in rows}


def own_grades(
    store: Store, layer: str, topic: str, *, assessor: str, other_than: Collection[int] = ()
) -> dict[str, int | None]:
    """Give document -> grade of what one assessor has judged for a topic, as he said it last.

    What he answered when he was shown a document again is what he said last, though it never counts. A grade of one
    of the versions `other_than` is left away: the document is there, without it.
    """
    rows = store.rows(
        """SELECT document, grade, scale, event FROM judgments INDEXED BY judgments_by_assessor
           WHERE assessor = ?1 AND layer = ?2 AND topic = ?3 AND adjudicated = 0 AND grade IS NOT NULL
           UNION ALL
           SELECT document, grade, scale, sequence FROM judgment_events AS probe INDEXED BY judgment_events_probes
           WHERE purpose = 'probe' AND assessor = ?1 AND layer = ?2 AND topic = ?3 AND kind = 'judged'
             AND NOT EXISTS (SELECT 1 FROM judgment_events AS undo
                             WHERE undo.undoes = probe.uuid AND undo.undoes <> '')
           ORDER BY 4""",
        assessor,
        layer,
        topic,
    )
    return {document: None if scale in other_than else grade for document, grade, scale, _ in rows}


def own_relevance(store: Store, layer: str, topic: str, *, assessor: str) -> dict[str, bool]:
    """Give document -> whether one assessor has judged it relevant, by the scale he judged it on."""
    rows = store.rows(
        """SELECT document, grade >= relevant_from FROM judgments INDEXED BY judgments_by_assessor
           JOIN scales ON version = scale
           WHERE assessor = ? AND layer = ? AND topic = ? AND adjudicated = 0 AND grade IS NOT NULL""",
        assessor,
        layer,
        topic,
    )
    return {document: bool(relevant) for document, relevant in rows}


def judged_in_turn(store: Store, layer: str, topic: str, *, assessor: str) -> list[str]:
    """Give what one assessor has judged for a topic himself, earliest first."""
    rows = store.rows(
        """SELECT document FROM judgments INDEXED BY judgments_by_assessor
           WHERE assessor = ? AND layer = ? AND topic = ? AND kind = 'judged' ORDER BY event""",
        assessor,
        layer,
        topic,
    )
    return [row[0] for row in rows]


def probed(store: Store, layer: str, topic: str, *, assessor: str) -> set[str]:
    """Give what one assessor was shown again for a topic."""
    rows = store.rows(
        """SELECT document FROM judgment_events
           WHERE purpose = 'probe' AND assessor = ? AND topic = ? AND layer = ?""",
        assessor,
        topic,
        layer,
    )
    return {row[0] for row in rows}


def topics_of_own(store: Store, layer: str, *, assessor: str) -> list[str]:
    """Give the topics in which one assessor has answered something."""
    query = "SELECT DISTINCT topic FROM judgments WHERE assessor = ? AND layer = ? ORDER BY topic"
    return [row[0] for row in store.rows(query, assessor, layer)]


def latest_topic(store: Store, layer: str, *, assessor: str) -> str:
    """Give the topic of an assessor's latest answer; empty where there is none."""
    query = "SELECT topic FROM judgments WHERE assessor = ? AND layer = ? ORDER BY event DESC LIMIT 1"
    return str(store.value(query, assessor, layer) or "")


def own_past(store: Store, layer: str, *, assessor: str) -> Iterator[tuple[str, str]]:
    """Give (uuid of his latest answer, title of the document) of one assessor, latest first, read as needed.

    What he said when he was shown a document again is his latest answer to it, though what counts is another.
    """
    probes = deque(_answers_to_probes(store, layer, assessor=assessor))
    last = {pair: sequence for pair, sequence, _, _ in reversed(probes)}
    with engine.translated(store.path):
        for topic, document, sequence, uuid, title in store.connection.execute(
            """SELECT judgments.topic, judgments.document, judgments.event, uuid, coalesce(documents.title, '')
               FROM judgments JOIN judgment_events ON judgment_events.sequence = judgments.event
               LEFT JOIN documents ON documents.id = judgments.document
               WHERE judgments.assessor = ? AND judgments.layer = ? AND judgments.adjudicated = 0
               ORDER BY judgments.event DESC""",
            [assessor, layer],
        ):
            while probes and probes[0][1] > sequence:
                pair, answered, *told = probes.popleft()
                if last[pair] == answered:
                    yield told[0], told[1]
            if last.get((topic, document), 0) < sequence:
                yield uuid, title


def _answers_to_probes(store: Store, layer: str, *, assessor: str) -> list[tuple[tuple[str, str], int, str, str]]:
    """Give ((topic, document), sequence, uuid, title) of what he answered when shown again, latest first."""
    rows = store.rows(
        """SELECT topic, document, sequence, uuid, coalesce(documents.title, '') FROM judgment_events AS probe
           LEFT JOIN documents ON documents.id = document
           WHERE purpose = 'probe' AND assessor = ? AND layer = ? AND kind IN ('judged', 'cannot-judge')
             AND NOT EXISTS (SELECT 1 FROM judgment_events AS undo
                             WHERE undo.undoes = probe.uuid AND undo.undoes <> '')
           ORDER BY sequence DESC""",
        assessor,
        layer,
    )
    return [((topic, document), sequence, uuid, title) for topic, document, sequence, uuid, title in rows]


def pace_of(store: Store, *, assessor: str, since: str, limit: int) -> tuple[int, list[float]]:
    """Give how many answers of an assessor stand since a moment, and the seconds of the latest, earliest first."""
    answered = "kind IN ('judged', 'cannot-judge') AND assessor = ?"
    standing = """NOT EXISTS (SELECT 1 FROM judgment_events AS undo
                              WHERE undo.undoes = answer.uuid AND undo.undoes <> '')"""
    count = store.value(
        f"SELECT count(*) FROM judgment_events AS answer WHERE {answered} AND happened >= ? AND {standing}",
        assessor,
        since,
    )
    rows = store.rows(
        f"""SELECT seconds FROM judgment_events WHERE {answered} AND seconds IS NOT NULL
            ORDER BY happened DESC LIMIT ?""",
        assessor,
        limit,
    )
    return int(count), [row[0] for row in reversed(rows)]


def changes_of_others(store: Store) -> int:
    """Give a number that changes whenever another connection has written to the file."""
    return int(store.value("PRAGMA data_version"))
