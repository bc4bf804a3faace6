"""Measures as they were asked for: what they do not say themselves, the scale of the collection says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.records import GradeScale
from cranfield.store import Store
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.evaluate.expression import AnyMeasure
    from cranfield.evaluate.measures.gain import GradeGains


def measures_asked(
    texts: Sequence[str], store: Store | None, *, relevant_from: int | None = None
) -> "list[AnyMeasure]":
    """Give the measures that expressions mean.

    In a collection a bare `AP` takes its threshold and a bare `nDCG` its gains, and their printed forms tell both.
    """
    from cranfield.evaluate.expression import parse_measures

    if store is None:
        return parse_measures(texts, threshold=relevant_from or 1)
    scale = current_scale(store)[1]
    return parse_measures(texts, threshold=relevant_from or scale.relevant_from, gains=gains_of(scale))


def gains_of(scale: GradeScale) -> "GradeGains":
    """Give the gains of those grades that are not worth their own number."""
    return tuple((step.grade, step.gain) for step in scale.grades if step.gain != step.grade)


def grade_notes(measures: "Sequence[AnyMeasure]", store: Store | None) -> list[str]:
    """Say which measures take grades for what they are worth, where the scale says otherwise."""
    from cranfield.evaluate.expression import Measure

    if store is None or not gains_of(current_scale(store)[1]):
        return []
    found = [
        str(one)
        for one in measures
        if isinstance(one, Measure)
        and (one.name in ("ERR", "Q") or (one.name == "RBP" and "gain" in dict(one.settings)))
    ]
    if not found:
        return []
    return [f"{', '.join(found)}: made from the grades themselves; the gains of the scale have no part in it"]
