"""How a step tells whoever started it what it is doing, without knowing who that is."""

from collections.abc import Callable
from datetime import UTC, datetime

Progress = Callable[[str, int, int | None], None]
"""Called as (what is being done, how much is done, how much there is or None)."""


def silent(what: str, done: int, total: int | None) -> None:
    """Tell nobody."""


def now() -> str:
    """Give the time as it is stored: UTC, ISO 8601, to the millisecond. The one place that looks at the clock."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
