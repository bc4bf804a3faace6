"""What of a measure is compared, topic by topic, and what is shown of it."""

from dataclasses import dataclass
from math import inf, log
from typing import TYPE_CHECKING

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.compare.result import Values
    from cranfield.evaluate.expression import AnyMeasure


@dataclass(frozen=True)
class Comparable:
    """A measure as it is compared.

    `name` says what differences are of, `shown` what the standing is of: with `logarithms` topics are compared by
    those, and the standing has geometric means. `quality` says that a higher value means a better run, and `largest`
    which difference of two means is the largest possible one.
    """

    name: str
    shown: str
    logarithms: bool = False
    quality: bool = True
    largest: float = inf
    notes: tuple[str, ...] = ()


def comparable(measure: "AnyMeasure", values: "Values") -> "tuple[Comparable, Values]":
    """Give what is compared of a measure, and its values topic by topic.

    Geometric means are compared by logarithms: the difference of their means is the logarithm of a ratio of geometric
    means. What is added up is compared by its means. A median, or an end, is no sum of what topics have.
    """
    import numpy as np

    from cranfield.evaluate.aggregate import SMALLEST

    name, low, high = str(measure), *measure.bounds
    if measure.aggregate == "mean":
        return Comparable(name, name, quality=measure.quality, largest=high - low), values
    if measure.aggregate == "sum":
        per_topic = f"{name} per topic"
        return Comparable(per_topic, per_topic, quality=measure.quality), values
    if measure.aggregate == "geometric":
        note = (
            f"log {name}: a difference and its interval are those of logarithms; the means and the relative"
            " difference are those of the geometric means"
        )
        largest = log(high / SMALLEST) if high < inf else inf
        told = Comparable(
            f"log {name}", name, logarithms=True, quality=measure.quality, largest=largest, notes=(note,)
        )
        return told, np.log(np.maximum(values, SMALLEST))
    raise UsageError(
        f"{name} is the {measure.aggregate} of the topics, and cannot be compared topic by topic; take the mean"
    )
