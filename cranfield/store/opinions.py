"""The grades that count now, as a merge rule and a comparison of assessors want them."""

from collections.abc import Sequence
from typing import Any

from cranfield.store.store import Store

_ROW = "topic, document, layer, assessor, adjudicated, kind = 'propagated', grade, event, scale"


def opinion_rows(store: Store, layers: Sequence[str]) -> list[Any]:
    """Give (topic, document, layer, assessor, is decision, is propagated, grade, event, scale) of what stands."""
    return store.rows(f"SELECT {_ROW} FROM judgments WHERE {_graded(layers)}", *layers)


def opinion_text(store: Store, layers: Sequence[str]) -> list[tuple[str, int, str]]:
    """Give the same as text: for each topic its id, the number of rows, and the rows with tabs between the columns.

    A Python object for each of some hundred thousand cells takes longer than all the rest.
    """
    row = " || char(9) || ".join(f"({column.strip()})" for column in _ROW.split(",")[1:])
    columns = f"topic, count(*), group_concat({row}, char(10))"
    return store.rows(f"SELECT {columns} FROM judgments WHERE {_graded(layers)} GROUP BY topic", *layers)


def _graded(layers: Sequence[str]) -> str:
    return f"grade IS NOT NULL AND layer IN ({', '.join('?' * len(layers))})"


def layers_with_grades(store: Store) -> list[tuple[str, int]]:
    """Give (layer, number of standing grades)."""
    return store.rows("SELECT layer, count(*) FROM judgments WHERE grade IS NOT NULL GROUP BY layer ORDER BY layer")


def has_grades(store: Store, layer: str) -> bool:
    """Say whether anything stands in a layer."""
    query = "SELECT EXISTS (SELECT 1 FROM judgments WHERE layer = ? AND grade IS NOT NULL)"
    return bool(store.value(query, layer))


def primary_assessors(store: Store) -> dict[str, list[str]]:
    """Give topic -> its primary assessors."""
    found: dict[str, list[str]] = {}
    for topic, assessor in store.rows("SELECT topic, assessor FROM assignments WHERE role = 'primary'"):
        found.setdefault(topic, []).append(assessor)
    return found


def pooled_documents(store: Store, *, pool: str = "") -> list[tuple[str, str]]:
    """Give the different (topic, document) that are to be judged: in one pool or in all, or found by searching."""
    if pool:
        query = "SELECT topic, document FROM pool_entries JOIN pools ON number = pool WHERE name = ?"
        return store.rows(query, pool)
    return store.rows("SELECT topic, document FROM pool_entries UNION SELECT topic, document FROM found_documents")


def documents_in_pools(store: Store) -> list[tuple[str, str]]:
    """Give the different (topic, document) in any pool: to be judged, found by searching, passed over by a draw."""
    return store.rows(
        """SELECT topic, document FROM pool_entries UNION SELECT topic, document FROM found_documents
           UNION SELECT topic, document FROM pool_undrawn"""
    )


def finds(store: Store) -> list[tuple[str, str, str, str, str]]:
    """Give (topic, document, assessor, words, when) of all that was found by searching."""
    return store.rows("SELECT topic, document, assessor, words, found FROM found_documents")


def versions_used(store: Store, events: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Count events by the version of the scale, and by the version of the guidelines, they were made under."""
    counts: tuple[dict[int, int], dict[int, int]] = {}, {}
    wanted = set(events)
    for sequence, scale, guidelines in store.rows("SELECT sequence, scale, guidelines FROM judgment_events"):
        if sequence in wanted:
            counts[0][scale] = counts[0].get(scale, 0) + 1
            counts[1][guidelines] = counts[1].get(guidelines, 0) + 1
    return counts


def disputed_pairs(store: Store, layer: str) -> list[tuple[str, str]]:
    """Give the (topic, document) with different grades by those who looked at them, and no decision yet.

    A grade that is relevant on one scale and not on another counts as two.
    """
    return store.rows(
        """SELECT topic, document FROM judgments JOIN scales ON version = scale
           WHERE layer = ? AND grade IS NOT NULL AND kind <> 'propagated'
           GROUP BY topic, document HAVING max(adjudicated) = 0
             AND (min(grade) < max(grade) OR min(grade >= relevant_from) < max(grade >= relevant_from))
           ORDER BY topic, document""",
        layer,
    )


Graded = tuple[bool, int]
"""Whether a grade was relevant by the scale it was given on, and the grade."""


def double_judgments(store: Store, layers: Sequence[str]) -> list[tuple[str, str, str, Graded, str, int]]:
    """Give (topic, document, assessor, grade, when, scale) of what two or more looked at, once for each assessor.

    Decisions and propagated grades are no opinions. Where somebody judged in two layers, the later answer counts.
    """
    rows = store.rows(
        f"""WITH opinions AS (SELECT topic, document, assessor, grade, event, scale FROM judgments
                              WHERE {_graded(layers)} AND adjudicated = 0 AND kind <> 'propagated'),
                 several AS (SELECT topic, document FROM opinions
                             GROUP BY topic, document HAVING count(DISTINCT assessor) > 1)
            SELECT opinions.topic, opinions.document, opinions.assessor, opinions.grade >= relevant_from,
                   opinions.grade, happened, opinions.scale
            FROM opinions JOIN several USING (topic, document) JOIN judgment_events ON sequence = event
                 JOIN scales ON version = opinions.scale
            ORDER BY event""",
        *layers,
    )
    return [
        (topic, document, assessor, (bool(relevant), grade), when, scale)
        for topic, document, assessor, relevant, grade, when, scale in {row[:3]: row for row in rows}.values()
    ]


def probe_answers(store: Store, layers: Sequence[str]) -> list[tuple[str, Graded, Graded]]:
    """Give (assessor, first grade, grade when he saw the document again); what was taken back is left out."""
    kept = "NOT EXISTS (SELECT 1 FROM judgment_events AS undo WHERE undo.undoes = {0}.uuid AND undo.undoes <> '')"
    rows = store.rows(
        f"""SELECT probe.assessor, early.grade >= earlier.relevant_from, early.grade,
                   probe.grade >= later.relevant_from, probe.grade
            FROM judgment_events AS probe
            JOIN judgment_events AS early ON early.sequence =
                   (SELECT min(sequence) FROM judgment_events AS first
                    WHERE first.topic = probe.topic AND first.document = probe.document
                      AND first.layer = probe.layer AND first.assessor = probe.assessor
                      AND first.purpose <> 'probe' AND first.kind IN ('judged', 'imported')
                      AND first.sequence < probe.sequence AND {kept.format("first")})
            JOIN scales AS earlier ON earlier.version = early.scale
            JOIN scales AS later ON later.version = probe.scale
            WHERE probe.purpose = 'probe' AND probe.kind = 'judged'
              AND probe.layer IN ({", ".join("?" * len(layers))}) AND {kept.format("probe")}
            ORDER BY probe.sequence""",
        *layers,
    )
    return [(name, (bool(first), before), (bool(again), now)) for name, first, before, again, now in rows]


def answered_pairs(store: Store, layer: str) -> set[tuple[str, str]]:
    """Give the (topic, document) that have a standing answer in a layer, with a grade or without."""
    return set(store.rows("SELECT DISTINCT topic, document FROM judgments WHERE layer = ?", layer))
