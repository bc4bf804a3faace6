"""Search the documents."""

from cranfield.errors import InputError
from cranfield.store import Store
from cranfield.store.search import HIT_END, HIT_START, Hit, match_expression, search

__all__ = ["HIT_END", "HIT_START", "Hit", "search_documents"]


def search_documents(store: Store, query: str, *, limit: int = 10, every_word: bool = False) -> list[Hit]:
    """Search the documents; a query without a word is an error."""
    if not match_expression(query):
        raise InputError("the query has no word in it")
    return search(store, query, limit=limit, every_word=every_word)
