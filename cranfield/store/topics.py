"""Topics: few, so read and written whole."""

import json
from collections.abc import Sequence

from cranfield.records import Topic
from cranfield.store.documents import Added
from cranfield.store.store import Store


def add_topics(store: Store, topics: Sequence[Topic], *, source: int, update: bool = False) -> Added:
    """Add topics inside `store.write()`, with the same rules as documents."""
    known = dict(store.rows("SELECT id, content_hash FROM topics"))
    new = [topic for topic in topics if topic.id not in known]
    changed = [topic for topic in topics if known.get(topic.id, topic.content_hash) != topic.content_hash]
    table = store.tables.table("topics")
    table.insert_all([_row(topic, source) for topic in new], pk="number")
    if update:
        for topic in changed:
            row = _row(topic, source)
            table.update(store.value("SELECT number FROM topics WHERE id = ?", topic.id), row)
    return Added(
        new=len(new),
        same=len(topics) - len(new) - len(changed),
        updated=len(changed) if update else 0,
        clashing=() if update else tuple(topic.id for topic in changed),
    )


def _row(topic: Topic, source: int) -> dict[str, object]:
    return {
        "id": topic.id,
        "title": topic.title,
        "description": topic.description,
        "narrative": topic.narrative,
        "metadata": json.dumps(dict(topic.metadata), ensure_ascii=False),
        "content_hash": topic.content_hash,
        "source": source,
    }


def topics(store: Store) -> list[Topic]:
    """Give all topics in the order they were given."""
    return [topic for topic, _ in topics_with_hash(store)]


def topics_with_hash(store: Store) -> list[tuple[Topic, str]]:
    """Give (topic, stored content hash) in the order they were given."""
    rows = store.rows("SELECT id, title, description, narrative, metadata, content_hash FROM topics ORDER BY number")
    return [(Topic(row[0], row[1], row[2], row[3], json.loads(row[4])), row[5]) for row in rows]


def topic_ids(store: Store) -> list[str]:
    """Give the ids of all topics in the order they were given."""
    return [row[0] for row in store.rows("SELECT id FROM topics ORDER BY number")]


def topic_count(store: Store) -> int:
    """Give the number of topics."""
    return int(store.value("SELECT count(*) FROM topics"))
