"""What is true of the collection as a whole: its name and its settings, as JSON values by name."""

import json
from typing import Any

from cranfield.store.store import Store


def put_setting(store: Store, name: str, value: Any) -> None:
    """Set one value; to be called inside `store.write()`."""
    store.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [name, json.dumps(value)])


def setting(store: Store, name: str, default: Any = None) -> Any:
    """Give one value, or the default where it was never set."""
    value = store.value("SELECT value FROM settings WHERE name = ?", name)
    return default if value is None else json.loads(value)


def settings(store: Store) -> dict[str, Any]:
    """Give all values by name."""
    return {name: json.loads(value) for name, value in store.rows("SELECT name, value FROM settings ORDER BY name")}
