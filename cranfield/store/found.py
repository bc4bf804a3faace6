"""What assessors found by searching: part of what is judged, beside the pools."""

from cranfield.store.store import Store


def add_found(store: Store, topic: str, document: str, *, assessor: str, words: str, now: str) -> None:
    """Record a find inside `store.write()`; what was found before stays as it is."""
    store.connection.execute(
        "INSERT OR IGNORE INTO found_documents VALUES (?, ?, ?, ?, ?)", [topic, document, assessor, words, now]
    )


def found_documents(store: Store, topic: str) -> list[str]:
    """Give what was found for a topic, in the order it was found."""
    query = "SELECT document FROM found_documents WHERE topic = ? ORDER BY found, document"
    return [row[0] for row in store.rows(query, topic)]


def found_topics(store: Store) -> list[str]:
    """Give the topics for which something was found."""
    return [row[0] for row in store.rows("SELECT DISTINCT topic FROM found_documents ORDER BY topic")]
