"""How long judging takes: measured where something was judged, else assumed, and which of the two."""

from dataclasses import dataclass
from statistics import median

from cranfield.errors import UsageError
from cranfield.store import Store
from cranfield.store.pools_live import seconds_of_judging
from cranfield.text import counted

ASSUMED_SECONDS = 30.0
"""Two documents a minute, where nothing has been measured: an assumption, and said to be one."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds of attention a document, and from how many judgments; 0 means that it is assumed."""

    seconds: float
    measured_on: int = 0

    def hours(self, documents: int) -> float:
        """Give the hours that some documents take."""
        return documents * self.seconds / 3600

    @property
    def pace(self) -> str:
        """The speed in words, and where it comes from."""
        basis = (
            f"the median of {counted(self.measured_on, 'judgment')}" if self.measured_on else "assumed, not measured"
        )
        number = "1 second" if self.seconds == 1 else f"{self.seconds:g} seconds"
        seconds = number if self.seconds >= 1 else "less than a second"
        return f"{seconds} a document ({basis})"

    def cost(self, documents: int) -> str:
        """Say what some documents cost."""
        return f"{time_in_words(self.hours(documents))} at {self.pace}"


def time_in_words(hours: float) -> str:
    """Give a time as one who plans says it: less than a minute, about 12 minutes, about 3.5 hours."""
    if hours * 60 < 1:
        return "less than a minute"
    return f"about {hours:,.1f} hours" if hours >= 1 else f"about {counted(round(60 * hours), 'minute')}"


def judging_speed(store: Store, *, seconds_per_document: float | None = None) -> Speed:
    """Give the speed of judging: the one that is given, else the measured median, else the assumption."""
    if seconds_per_document is not None:
        if not 0 < seconds_per_document < float("inf"):
            raise UsageError(f"seconds a document are a number above 0, not {seconds_per_document:g}")
        return Speed(seconds_per_document)
    measured = seconds_of_judging(store)
    return Speed(round(median(measured), 1), len(measured)) if measured else Speed(ASSUMED_SECONDS)
