"""How a step tells whoever started it what it is doing, without knowing who that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime
from datetime import time as datetime_time
from math import ceil
from time import time

from cranfield.base.errors import InputError, quoted
from cranfield.base.text import counted

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


# Threads that read files, and that nobody has to wait for.


@contextmanager
def workers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Give some threads to read in; where something goes wrong here they are left alone.

    A thread that reads from a pipe can wait for ever, and whoever presses Ctrl-C does not want to wait with it.
    """
    threads = ThreadPoolExecutor(count)
    try:
        yield threads
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()


# Moments as people and files write them, and as they are stored.

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def stored_moment(text: str, *, end_of_day: bool = False) -> str:
    """Give a moment in ISO 8601 as it is stored: UTC, to the millisecond. Without a zone it is taken as UTC.

    A date alone is the beginning of that day, or its end where that is asked for.
    """
    words = text.strip()
    try:
        if len(words) <= len("2026-01-31"):
            moment = datetime.combine(
                date.fromisoformat(words), datetime_time.max if end_of_day else datetime_time.min, UTC
            )
        else:
            moment = datetime.fromisoformat(words)
    except ValueError:
        raise InputError(f"{quoted(text)} is not a time; write 2026-01-31 or 2026-01-31T17:30Z") from None
    known = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return known.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_words(seconds: float) -> str:
    """Give how long something may take, rounded up: minutes, from two hours on hours, from two days on days."""
    for unit, name in ((_DAY, "day"), (_HOUR, "hour")):
        if seconds > 2 * unit:
            return counted(ceil(seconds / unit), name)
    return counted(max(ceil(seconds / _MINUTE), 1), "minute")
