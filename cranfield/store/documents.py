"""Documents: added in batches, read one by one or streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.base.errors import CollectionError, InputError, quoted
from cranfield.base.records import Document, OutsideSource, Topic
from cranfield.base.text import HIT_END, HIT_START, now
from cranfield.store.store import Query, Store, column, first, marks, nothing, records, stored, value

if TYPE_CHECKING:
    from cranfield.corpus.near_duplicates import Cluster


# Adding documents and topics that may be there already.


@dataclass(frozen=True)
class Added:
    """What became of a batch: how many are new, which were there already, and which clash with what is there.

    `places` are those of the clashing records in the batch, from 0.
    """

    new: int
    same: int = 0
    updated: int = 0
    places: tuple[int, ...] = ()


_WRITTEN = {
    "documents": "id, title, text, metadata, content_hash, source",
    "topics": "id, title, description, narrative, metadata, content_hash, source",
}
"""The columns of what is loaded; but for the source they are what a record has under these names."""


def add(store: Store, records: Sequence[Document | Topic], *, source: int, update: bool = False) -> Added:
    """Add a batch of documents, or of topics, inside `store.write()`.

    A record that is there with the same content is left alone; one with other content is replaced when `update` is
    asked for, and is clashing otherwise. A document that is replaced makes the known near-duplicates untrue: they
    are forgotten.
    """
    table = "topics" if records and isinstance(records[0], Topic) else "documents"
    columns, connection = _WRITTEN[table].split(", "), store.connection
    values = attrgetter(*columns[:-3])
    known = dict(store.among(f"SELECT id, content_hash FROM {table} WHERE id IN ({{}})", [one.id for one in records]))
    new, updated, places = list[Any](), list[Any](), list[int]()
    for place, one in enumerate(records):
        if len(one.title) > LONGEST_TITLE:
            raise InputError(f"{quoted(one.id)} has a title of more than {LONGEST_TITLE >> 20} MB; is that its text?")
        metadata = json.dumps(dict(one.metadata), ensure_ascii=False) if one.metadata else "{}"
        row, before = (*values(one), metadata, one.content_hash, source), known.get(one.id)
        if before not in (None, one.content_hash) and not update:
            places.append(place)
            continue
        known[one.id] = one.content_hash
        if before is None:
            new.append(row)
        elif before != one.content_hash:
            updated.append((*row[1:], one.id))
    connection.executemany(f"INSERT INTO {table} ({_WRITTEN[table]}) VALUES ({marks(columns)})", new)
    assignments = ", ".join(f"{column} = ?" for column in columns[1:])
    connection.executemany(f"UPDATE {table} SET {assignments} WHERE id = ?", updated)
    if table == "documents" and updated:
        connection.execute("DELETE FROM duplicates")
        connection.execute("DELETE FROM duplicate_scans")
    same = len(records) - len(new) - len(updated) - len(places)
    return Added(len(new), same, len(updated), tuple(places))


_COLUMNS = "id, text, title, metadata"
_AT_ONCE = 500


count = Query[int]("SELECT coalesce(max(number), 0) FROM documents", value)
"""The number of documents. Numbers are never reused and none is deleted, so the highest is the count."""


LONGEST_TITLE = 1 << 20
"""How many characters a title may have: it is shown whole, with every control character made visible."""


def _document(identifier: str, text: str, title: str, metadata: str) -> Document:
    if len(title) > LONGEST_TITLE:
        raise CollectionError(f"the title of document {identifier!r} has more than {LONGEST_TITLE >> 20} MB")
    return Document(identifier, text, title, stored(dict, metadata, f"the metadata of document {identifier!r}"))


fetch = Query(f"SELECT {_COLUMNS} FROM held_documents WHERE id = ?", first(_document))
"""One document whose text is here, by its id, or None."""


title_of = Query[str | None]("SELECT substr(title, 1, 1000) FROM held_documents WHERE id = ?", value)
"""The title of a document as a list shows it, or None."""


def each(store: Store, table: str = "documents") -> Iterator[tuple[Document, str]]:
    """(document, stored content hash) in the order they came, a page at a time: no read transaction stays open.

    Those of outside sources that were kept are in the table `kept_documents`.
    """
    last, columns = 0, f"{_COLUMNS}, content_hash, number"
    query = f"SELECT {columns} FROM {table} WHERE number > ? ORDER BY number LIMIT {_AT_ONCE}"
    while page := store.rows(query, last):
        last = page[-1][-1]
        yield from ((_document(*row[:4]), row[4]) for row in page)


ids = Query[list[str]]("SELECT id FROM documents", column)
"""The ids of all documents, in no promised order (they come from the index alone)."""


def unknown(store: Store, identifiers: Collection[str]) -> set[str]:
    """Those of the ids that are no documents of the collection; none where some stay outside, unlisted."""
    return set() if outside_sources(store) else set(identifiers) - content_hashes(store, identifiers).keys()


to_fetch = Query[str | None](
    """SELECT document FROM pool_entries WHERE document NOT IN (SELECT id FROM held_documents)
           AND EXISTS (SELECT 1 FROM outside_sources) LIMIT 1""",
    value,
)
"""A document of the pool that has to be fetched from outside, if there is one."""

without_text = Query[int](
    """SELECT count(DISTINCT document) FROM
           (SELECT topic, document FROM pool_entries UNION SELECT topic, document FROM queue_entries) AS wanted
       WHERE document NOT IN (SELECT id FROM held_documents) AND NOT EXISTS (SELECT 1 FROM outside_sources)
         AND NOT EXISTS (SELECT 1 FROM judgments WHERE judgments.topic = wanted.topic
                         AND judgments.document = wanted.document)""",
    value,
)
"""How many documents of pools and queues are to be judged, and are nowhere: assessors will see no text of them."""


def content_hashes(store: Store, identifiers: Collection[str]) -> dict[str, str]:
    """Id -> content hash of those of the ids that are documents of the collection."""
    return dict(store.among("SELECT id, content_hash FROM held_documents WHERE id IN ({})", list(identifiers)))


def texts(store: Store, identifiers: Sequence[str]) -> dict[str, str]:
    """Title and text, in a row, of those of the ids that are documents of the collection."""
    return dict(store.among("SELECT id, title || ' ' || text FROM held_documents WHERE id IN ({})", identifiers))


ids_near = Query[list[str]](
    """SELECT id FROM documents WHERE id IN (upper(?1), lower(?1))
       UNION SELECT * FROM (SELECT id FROM documents WHERE id < ?1 ORDER BY id DESC LIMIT 2)
       UNION SELECT * FROM (SELECT id FROM documents WHERE id >= ?1 ORDER BY id LIMIT 3)""",
    column,
)
"""A few ids next to this one in the order of ids, or in other case: what a mistyped id may have meant."""


# Topics: few, so read and written whole.


topics_with_hash = Query[list[tuple[Topic, str]]](
    "SELECT id, title, description, narrative, metadata, content_hash FROM topics ORDER BY number",
    lambda rows: [
        (Topic(name, title, description, narrative, stored(dict, metadata, f"the metadata of topic {name!r}")), known)
        for name, title, description, narrative, metadata, known in rows
    ],
)
"""(topic, stored content hash) in the order they were given."""


def topics(store: Store) -> list[Topic]:
    """All topics in the order they were given."""
    return column(topics_with_hash(store))


topic_ids = Query[list[str]]("SELECT id FROM topics ORDER BY number", column)
"""The ids of all topics in the order they were given."""


# The files that documents and topics came from.


class LoadedFile(NamedTuple):
    """A file as it was when it was loaded."""

    kind: str
    name: str
    format: str
    sha256: str


def add_source(store: Store, file: LoadedFile) -> int:
    """Record a file that is being loaded and give its number; to be called inside `store.write()`."""
    columns = "kind, name, format, sha256, records, added"
    return store.insert(f"INSERT INTO sources ({columns}) VALUES (?, ?, ?, ?, 0, ?)", *file, now())


def source_of(store: Store, table: str, identifier: str) -> int:
    """The number of the file that brought a document or topic."""
    return int(store.value(f"SELECT source FROM {table} WHERE id = ?", identifier))


def finish_source(store: Store, number: int, *, records: int) -> None:
    """Record how many records the file brought; one that brought none leaves no trace."""
    if records:
        store.connection.execute("UPDATE sources SET records = ? WHERE number = ?", [records, number])
    else:
        store.connection.execute("DELETE FROM sources WHERE number = ?", [number])


# Documents that stay outside: where they are, and those that were judged, as they were then.


def _outside(kind: str, place: str, columns: str, documents: int | None) -> OutsideSource:
    named = stored(dict, columns, f"what {kind}:{place} calls the parts of a document")
    return OutsideSource(kind, place, {part: str(word) for part, word in named.items()}, documents)


outside_sources = Query(
    "SELECT kind, place, columns, documents FROM outside_sources ORDER BY number", records(_outside)
)
"""The sources of documents outside, in the order they were added."""


def put_outside(store: Store, source: OutsideSource) -> None:
    """Add a source, or what is known of it now, inside `store.write()`."""
    columns = json.dumps(dict(source.columns), ensure_ascii=False)
    store.connection.execute(
        """INSERT INTO outside_sources (kind, place, columns, documents, added) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (kind, place) DO UPDATE SET columns = excluded.columns, documents = excluded.documents""",
        [source.kind, source.place, columns, source.documents, now()],
    )


remove_outside = Query[None]("DELETE FROM outside_sources WHERE kind = ? AND place = ?", nothing)
"""Remove a source, inside `store.write()`; what was judged of it stays."""


def keep(store: Store, fetched: Iterable[Document]) -> None:
    """Keep documents of outside sources as they are judged, inside `store.write()`; others are here already."""
    rows = [
        (one.id, one.title, one.text, json.dumps(dict(one.metadata), ensure_ascii=False), one.content_hash, now())
        for one in fetched
    ]
    store.connection.executemany(
        """INSERT OR IGNORE INTO kept_documents (id, title, text, metadata, content_hash, kept)
           SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = ?1)""",
        rows,
    )


is_kept = Query[int]("SELECT EXISTS (SELECT 1 FROM kept_documents WHERE id = ?)", value)
"""Whether a document of an outside source was judged, and so is kept."""

judged_in_versions = Query[list[str]](
    "SELECT id FROM kept_documents GROUP BY id HAVING count(*) > 1 ORDER BY min(number)", column
)
"""The documents that changed outside while they were judged."""


# Clusters of duplicate documents: the latest scan replaces the one before.


class Scan(NamedTuple):
    """One search for duplicates and its settings."""

    threshold: float
    shingle: int
    permutations: int
    seed: int
    documents: int


_SCAN = "threshold, shingle, permutations, seed, documents"
"""The columns of a scan, in the order of its fields."""


def put_clusters(store: Store, scan: Scan, clusters: Sequence[Cluster]) -> None:
    """Store a scan and its clusters inside `store.write()`."""
    query = f"INSERT INTO duplicate_scans ({_SCAN}, made) VALUES (?, ?, ?, ?, ?, ?)"
    number = store.insert(query, *scan, now())
    store.connection.execute("DELETE FROM duplicates")
    store.put(
        "duplicates",
        [
            (number, index, document, cluster.kind, similarity, document == cluster.representative)
            for index, cluster in enumerate(clusters, start=1)
            for document, similarity in cluster.members
        ],
    )


clusters = Query[list[tuple[int, str, str, float, bool]]](
    """SELECT cluster, document, kind, similarity, representative FROM duplicates
       ORDER BY cluster, representative DESC, document""",
    lambda rows: [(*row[:4], bool(row[4])) for row in rows],
)
"""(cluster, document, kind, similarity, is representative), the representative of each cluster first."""

latest_scan = Query(f"SELECT {_SCAN} FROM duplicate_scans ORDER BY number DESC LIMIT 1", first(Scan))
"""The settings of the latest scan, or None where there was none."""


# Full-text search over the documents: the embedded search engine (FTS5, BM25).

_PHRASE_OR_WORD = re.compile(r'"([^"]*)"|(\S+)')
_SNIPPET_WORDS = 24
_MOST_WORDS = 256


class Hit(NamedTuple):
    """A document that was found: higher scores are better; the snippet has its hits between the two marks."""

    document: str
    score: float
    title: str = ""
    snippet: str = ""


def match_expression(query: str) -> str:
    """The FTS5 expression for a query as people type it: words, and "phrases" in double quotes.

    Every word is quoted, so nothing in it can be taken for FTS5's own syntax; a word without a letter or digit
    is dropped. Words are alternatives.
    """
    phrases = [phrase or word for phrase, word in _PHRASE_OR_WORD.findall(query)]
    wanted = [phrase for phrase in dict.fromkeys(phrases) if any(letter.isalnum() for letter in phrase)]
    return " OR ".join('"' + phrase.replace('"', "").replace("\0", " ") + '"' for phrase in wanted[:_MOST_WORDS])


def search(store: Store, query: str, *, limit: int = 10) -> list[Hit]:
    """The best documents with a snippet each, best first; ties by document id descending."""
    snippet = f"snippet(documents_fts, 1, '{HIT_START}', '{HIT_END}', '…', {_SNIPPET_WORDS})"
    rows = _best(store, f", substr(documents.title, 1, 1000), {snippet}", query, limit)
    return [Hit(document, score, title, " ".join(snippet.split())) for document, score, title, snippet in rows]


def rank(store: Store, query: str, *, limit: int) -> list[tuple[str, float]]:
    """(document, score) of the best documents, without snippets: what a baseline run needs."""
    return _best(store, "", query, limit)


def _best(store: Store, columns: str, query: str, limit: int) -> list[Any]:
    found = f"""SELECT documents.id, -bm25(documents_fts){columns}
                FROM documents_fts JOIN documents ON documents.number = documents_fts.rowid
                WHERE documents_fts MATCH ? ORDER BY 2 DESC, 1 DESC LIMIT ?"""
    expression = match_expression(query)
    return store.rows(found, expression, limit) if expression else []
