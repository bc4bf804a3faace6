"""What an event must be to be believed: a grade of its scale, a moment that can be read, seconds that can pass."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from math import isfinite

from cranfield.errors import quoted
from cranfield.judge.events import Event
from cranfield.records import GradeScale

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def is_moment(text: str) -> bool:
    """Say whether a text is a moment as events have it: UTC, ISO 8601, to the millisecond."""
    if not _MOMENT.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def faults_of(event: Event, scales: Mapping[int, GradeScale]) -> Iterator[tuple[str, str]]:
    """Give (code, what was seen) for all about an event that cannot be; `scales` are all versions there are."""
    scale = scales.get(event.scale)
    if event.grade is not None and (scale is None or event.grade not in [step.grade for step in scale.grades]):
        yield "grade-off-scale", f"the grade {event.grade}"
    if not is_moment(event.happened):
        yield "bad-time", f"the time {quoted(event.happened)}"
    if event.seconds is not None and not (isfinite(event.seconds) and event.seconds >= 0):
        yield "bad-seconds", f"{event.seconds:g} seconds"
