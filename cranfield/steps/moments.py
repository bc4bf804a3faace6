"""Moments as people and files write them, and as they are stored."""

from datetime import UTC, date, datetime, time

from cranfield.errors import InputError, quoted


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
