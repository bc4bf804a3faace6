"""Under which terms a collection may be used: a setting of it, which its report and its card repeat."""

from cranfield.errors import UsageError
from cranfield.store import Store
from cranfield.store.settings import put_setting, setting

SETTING = "licence"
LONGEST = 2000


def licence_of(store: Store) -> str:
    """Give the licence of a collection; nothing where none was named."""
    return str(setting(store, SETTING, ""))


def checked_licence(text: str) -> str:
    """Give the name of a licence, or a sentence about the terms, as one line; refuse a whole licence."""
    folded = " ".join(text.split())
    if len(folded) > LONGEST:
        raise UsageError(f"that is {len(folded):,} letters: name the licence, or say where it can be read")
    return folded


def set_licence(store: Store, text: str) -> None:
    """Say under which terms the collection may be used; an empty text takes it back."""
    folded = checked_licence(text)
    with store.write():
        put_setting(store, SETTING, folded)
