"""Topics: few, so read and written whole."""

import json
from collections.abc import Sequence

from cranfield.records import Topic
from cranfield.store.adding import Added, add_rows
from cranfield.store.store import Store

_WRITTEN = ("id", "title", "description", "narrative", "metadata", "content_hash", "source")


def add_topics(store: Store, topics: Sequence[Topic], *, source: int, update: bool = False) -> Added:
    """Add topics inside `store.write()`; see `add_rows` for what happens to those that are there already."""
    return add_rows(store, "topics", _WRITTEN, [_row(topic, source) for topic in topics], update=update)


def _row(topic: Topic, source: int) -> tuple[str, str, str, str, str, str, int]:
    metadata = json.dumps(dict(topic.metadata), ensure_ascii=False)
    return topic.id, topic.title, topic.description, topic.narrative, metadata, topic.content_hash, source


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
