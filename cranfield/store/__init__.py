"""SQLite, and nothing but SQLite: where the nouns are kept."""

from cranfield.store.files import create_store
from cranfield.store.store import Store, open_store

__all__ = ["Store", "create_store", "open_store"]
