"""Moments as people and files write them, and as they are stored."""

from datetime import UTC, date, datetime, time
from math import ceil

from cranfield.errors import InputError, quoted
from cranfield.text import counted

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def stored_moment(text: str, *, end_of_day: bool = False) -> str:
    """Give a moment in ISO 8601 as it is stored: UTC, to the millisecond. Without a zone it is taken as UTC.

    A date alone is the beginning of that day, or its end where that is asked for.
    """
    words = text.strip()
    try:
        if len(words) <= len("2026-01-31"):
            moment = datetime.combine(date.fromisoformat(words), time.max if end_of_day else time.min, UTC)
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
