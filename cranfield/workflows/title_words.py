"""How many of the relevant documents have the words of the title: a sign of what the pool could find at all."""

import re
from typing import TYPE_CHECKING

from cranfield.store import Store
from cranfield.store.documents import document_count
from cranfield.store.search import documents_with_word, frequency_of_word
from cranfield.store.topics import topics

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels

_WORD = re.compile(r"\w+")
_EVERYWHERE = 0.5
"""A word in more than this share of the documents says nothing."""


def title_words(store: Store, qrels: "Qrels", *, relevant_from: int) -> tuple[float, int] | None:
    """Give the mean titlestat of the known relevant documents and the number of topics; None without text."""
    from cranfield.reuse.titles import mean_titlestat

    size = document_count(store)
    if not size:
        return None
    relevant: dict[str, list[str]] = {}
    for topic, document, grade in qrels:
        if grade >= relevant_from:
            relevant.setdefault(topic, []).append(document)
    titles = {topic.id: _WORD.findall(topic.title.lower()) for topic in topics(store) if topic.id in relevant}
    words = {word for title in titles.values() for word in title}
    frequency = {word: frequency_of_word(store, word) for word in words}
    common = [word for word in words if frequency[word] > _EVERYWHERE * size]
    found = {topic: _words_of(store, titles[topic], relevant[topic]) for topic in titles}
    mean, count = mean_titlestat(titles, found, frequency, stop_words=common)
    return (mean, count) if count else None


def _words_of(store: Store, title: list[str], documents: list[str]) -> list[set[str]]:
    having = {word: documents_with_word(store, word, documents) for word in dict.fromkeys(title)}
    return [{word for word, ids in having.items() if document in ids} for document in documents]
