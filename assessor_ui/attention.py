"""How long an assessor really looked, and when a break is due."""

from collections.abc import Callable

Clock = Callable[[], float]

IDLE_LIMIT = 60.0
"""Seconds without a key after which nobody is taken to be reading."""

PAUSE = 300.0
"""Seconds without a key that count as a break."""


class Attention:
    """Seconds spent on one document. A gap between two keys counts at most `limit`: the rest was idle."""

    def __init__(self, clock: Clock, *, limit: float = IDLE_LIMIT) -> None:
        self._clock, self._limit = clock, limit
        self._counted, self._last = 0.0, clock()

    def begin(self, seconds: float = 0.0) -> None:
        """Start with a document; `seconds` were spent on it before."""
        self._counted, self._last = seconds, self._clock()

    def touch(self) -> None:
        """A key was pressed: somebody is there."""
        self._counted = self.seconds
        self._last = self._clock()

    @property
    def idle(self) -> float:
        """Seconds since the last key."""
        return self._clock() - self._last

    @property
    def seconds(self) -> float:
        """Seconds of attention so far."""
        return self._counted + min(self.idle, self._limit)


class Rest:
    """When a break is due: after `minutes` of work without a pause, and again after as long; None is never."""

    def __init__(self, clock: Clock, *, minutes: float | None) -> None:
        self._clock, self.minutes = clock, minutes
        self._since = self._last = self._reminded = clock()
        self._wanted = minutes

    def touch(self) -> None:
        """A key was pressed; after a long gap the work begins anew."""
        now = self._clock()
        if now - self._last >= PAUSE:
            self._since = self._reminded = now
        self._last = now

    @property
    def worked(self) -> float:
        """Minutes since the last break."""
        return (self._clock() - self._since) / 60

    def due(self) -> bool:
        """Say whether it is time to remind of a break; true once per stretch of work."""
        now = self._clock()
        if self.minutes is None or now - self._last >= PAUSE or now - self._reminded < self.minutes * 60:
            return False
        self._reminded = now
        return True

    def switch(self, *, usual: float) -> bool:
        """Turn the reminder off, or on again; say whether it is on now."""
        self.minutes = (self._wanted or usual) if self.minutes is None else None
        self._reminded = self._clock()
        return self.minutes is not None
