"""How a step tells whoever started it what it is doing, without knowing who that is."""

from collections.abc import Callable
from datetime import UTC, datetime
from time import time

Progress = Callable[[str, int, int | None], None]
"""Called as (what is being done, how much is done, how much there is or None)."""


def silent(what: str, done: int, total: int | None) -> None:
    """Tell nobody."""


def now() -> str:
    """Give the time as it is stored: UTC, ISO 8601, to the millisecond. Nobody else looks at the clock."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment() -> float:
    """Give the time as leases count it: seconds since 1970."""
    return time()


def start_of_today() -> str:
    """Give the last midnight where the user sits, as times are stored."""
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
