"""Show documents and topics."""

from itertools import islice

from cranfield.errors import UnknownName
from cranfield.records import Document, Topic
from cranfield.store import Store
from cranfield.store import documents as stored_documents
from cranfield.store import topics as stored_topics


def all_topics(store: Store) -> list[Topic]:
    """Give all topics in the order they were given."""
    return stored_topics.topics(store)


def show_document(store: Store, identifier: str) -> Document:
    """Give one document, or say which ids are spelled alike."""
    found = stored_documents.document(store, identifier)
    if found is None:
        raise UnknownName("document", identifier, stored_documents.ids_near(store, identifier))
    return found


def first_documents(store: Store, count: int) -> list[Document]:
    """Give the first documents in the order they came."""
    return list(islice(stored_documents.iter_documents(store), count))
