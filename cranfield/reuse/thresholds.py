"""The numbers that decide a verdict: one table, with what each of them means."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any

from cranfield.errors import Problem, ProblemsFound, UnknownName, UsageError, quoted


def _number(default: float, meaning: str, *, highest: float = 1.0) -> Any:
    return field(default=default, metadata={"meaning": meaning, "highest": highest})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All thresholds of the verdicts, as shares or as multiples of the tolerance; set per collection where wanted."""

    tolerance: float = _number(0.01, "how many points of a measure from 0 to 1 a reader forgives")
    unreliable_judged: float = _number(0.5, "UNRELIABLE where a smaller share of the first k is judged")
    topic_judged: float = _number(0.5, "a topic is mostly unjudged where a smaller share of its first k is judged")
    unreliable_topics: float = _number(0.2, "UNRELIABLE where a larger share of the topics is mostly unjudged")
    unreliable_loss: float = _number(3, "UNRELIABLE where the expected loss exceeds so many tolerances", highest=1e6)
    caution_loss: float = _number(1, "CAUTION where the expected loss exceeds so many tolerances", highest=1e6)
    caution_upper: float = _number(
        3, "CAUTION where the upper end of the loss exceeds so many tolerances", highest=1e6
    )
    caution_judged: float = _number(0.8, "CAUTION where a smaller share of the first k is judged")
    fewest_groups: float = _number(3, "UNTESTABLE with fewer contributing groups", highest=1e6)
    fewest_holes: float = _number(
        10, "UNTESTABLE where holding groups out makes fewer holes with known labels", highest=1e6
    )
    largest_share: float = _number(
        0.5, "UNTESTABLE where one group owns a larger share of the unique relevant documents"
    )
    fitting_share: float = _number(
        0.9, "UNTESTABLE where a smaller share of what is said to have been pooled is in the qrels"
    )
    fair: float = _number(0.02, "the pool is fair to outsiders where contributors lose a smaller share on average")
    unfair: float = _number(0.06, "the pool is unfair where they lose this share or more; between the two: with care")
    enough_groups: float = _number(10, "with fewer contributing groups it is said that they are few", highest=1e6)
    fewest_unique: float = _number(
        5, "the pool is untestable where fewer judged documents came from one group alone", highest=1e6
    )
    told_orphans: float = _number(
        0.05, "a larger share of judged documents that no contributor at hand explains is told"
    )
    most_orphans: float = _number(0.5, "the pool is untestable where that share is larger than this")

    def rows(self) -> Iterator[tuple[str, float, float, str]]:
        """Give (name, value in force, default, meaning) of each threshold, in the order of the table."""
        for name, one in zip(_NAMES, fields(self), strict=True):
            default = one.default
            yield name, getattr(self, one.name), float(default), one.metadata["meaning"]  # type: ignore[arg-type]

    def with_values(self, values: Mapping[str, float]) -> "Thresholds":
        """Give the table with some values set otherwise; whatever is wrong with them is said all at once."""
        known = dict(zip(_NAMES, fields(self), strict=True))
        problems = []
        for name, value in values.items():
            if name not in known:
                problems.append(str(UnknownName("threshold", name, known)))
            elif not _is_number(value) or not 0 <= value <= known[name].metadata["highest"]:
                highest = known[name].metadata["highest"]
                problems.append(f"{name} is a number from 0 to {highest:g}, not {quoted(value)}")
        fair, unfair = values.get("fair", self.fair), values.get("unfair", self.unfair)
        if not problems and fair > unfair:
            problems.append(f"fair ({fair:g}) must not lie above unfair ({unfair:g})")
        if problems:
            raise ProblemsFound(
                "these thresholds cannot be used", [Problem("bad-threshold", problem) for problem in problems]
            )
        return replace(self, **{known[name].name: float(value) for name, value in values.items()})


_NAMES = (
    *("tolerance", "unreliable_judged", "topic_judged", "unreliable_topics", "unreliable_loss", "caution_loss"),
    *("caution_upper", "caution_judged", "fewest_groups", "fewest_holes", "largest_share", "fitting_share"),
    *("fair", "unfair", "enough_groups", "fewest_unique", "told_orphans", "most_orphans"),
)
"""What users write and collections keep, in the order of the fields."""


def threshold_of(text: str) -> tuple[str, float]:
    """Give (name, value) of a setting like `tolerance=0.02`."""
    name, equals, value = text.partition("=")
    try:
        return name.strip(), float(value) if equals else float("nan")
    except ValueError:
        raise UsageError(f"a threshold is set as NAME=NUMBER, not {quoted(text)}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
