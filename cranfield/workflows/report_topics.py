"""What a report says about each topic: what is judged, what is relevant, and who found it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cranfield.workflows.report_material import Material
from cranfield.store import Store
from cranfield.store.pools import pool_number
from cranfield.store.topics import topics

if TYPE_CHECKING:
    from cranfield.report.reports.collection_facts import TopicPart
    from cranfield.report.table import Value

MOST_FOUND = 25
"""How many relevant documents of a topic are listed: those that fewest runs brought."""


def topic_parts(store: Store, material: Material) -> "Iterator[TopicPart]":
    """Give all topics in the order they were given, then those that only the qrels know."""
    from cranfield.records import Topic
    from cranfield.report.reports.collection_facts import TopicPart

    grades = _grades(material)
    brought, titles = _brought(store, material), _titles(store, material)
    going_on = set(material.bias.not_exhausted) if material.bias is not None else set()
    known = topics(store)
    strangers = [Topic(name, "") for name in grades if name not in {topic.id for topic in known}]
    for topic in (*known, *strangers):
        judged = grades.get(topic.id, {})
        relevant = {name: grade for name, grade in judged.items() if grade >= material.status.scale.relevant_from}
        rows = [
            (document, titles.get(document, ""), grade, *brought.get((topic.id, document), (None, None)))
            for document, grade in relevant.items()
        ]
        rows.sort(key=lambda row: (row[3] or 0, str(row[0])))
        yield TopicPart(topic, len(judged), len(relevant), topic.id in going_on, tuple(rows[:MOST_FOUND]))


def _grades(material: Material) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for topic, document, grade in material.qrels if material.qrels is not None else ():
        if grade >= 0:
            found.setdefault(topic, {})[document] = grade
    return found


def _brought(store: Store, material: Material) -> "dict[tuple[str, str], tuple[Value, Value]]":
    """Give for each pooled document how many runs brought it, and the best rank they gave it."""
    if material.pool is None:
        return {}
    rows = store.rows(
        "SELECT topic, document, count(*), min(rank) FROM pool_ranks WHERE pool = ? GROUP BY topic, document",
        pool_number(store, material.pool.facts.name),
    )
    return {(topic, document): (runs, rank) for topic, document, runs, rank in rows}


def _titles(store: Store, material: Material) -> dict[str, str]:
    """Give the titles of the judged documents; none for the public, as all that documents say."""
    if material.wanted.public:
        return {}
    rows = store.rows(
        "SELECT id, title FROM documents WHERE title <> '' AND id IN (SELECT document FROM judgments)"
        if material.status.judged
        else "SELECT id, title FROM documents WHERE title <> ''"
    )
    return dict(rows)
