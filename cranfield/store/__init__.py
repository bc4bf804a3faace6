"""SQLite, and nothing but SQLite: where the nouns are kept."""

from cranfield.store.store import Store, create_store, open_store

__all__ = ["Store", "create_store", "open_store"]
