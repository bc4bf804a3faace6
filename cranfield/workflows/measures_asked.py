"""Measures as they were asked for: what they do not say themselves, the scale of the collection says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.records import GradeScale
from cranfield.store import Store
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.evaluate.expression import AnyMeasure, Measure
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
    """Give the gains of those grades that are not worth their own number.

    A grade that the scale skips is worth what the step below it is, where its own number is more than the step above
    is worth: nobody can give it, but bounds ask what every grade could bring.
    """
    named, below = [], 0.0
    steps = {step.grade: step.gain for step in scale.grades}
    for grade in range(min(0, scale.lowest), scale.highest + 1):
        above = next(step.gain for step in scale.grades if step.grade >= grade)
        below = steps.get(grade, below)
        if below != grade and (grade in steps or grade > above):
            named.append((grade, below))
    return tuple(named)


def grade_notes(measures: "Sequence[AnyMeasure]", store: Store | None) -> list[str]:
    """Say where grades, or holes, are worth something else than one would think."""
    return [*_notes_on_grades(measures, store), *_notes_on_holes(measures)]


def _notes_on_holes(measures: "Sequence[AnyMeasure]") -> list[str]:
    """Say for which measures a document that nobody judged is worth less than one that is not relevant."""
    from cranfield.evaluate.expression import Measure

    settings = [(str(one), dict(one.settings).get("gains")) for one in measures if isinstance(one, Measure)]
    found = [name for name, gains in settings if isinstance(gains, tuple) and dict(gains).get(0, 0.0) > 0]
    if not found:
        return []
    told = "a document without a judgment counts 0, and so less than one of grade 0"
    return [f"{', '.join(found)}: {told}: where there are some, a score can lie below what is possible in the end"]


def _notes_on_grades(measures: "Sequence[AnyMeasure]", store: Store | None) -> list[str]:
    """Say which measures take grades for what they are worth, where the scale says otherwise."""
    from cranfield.evaluate.expression import Measure

    if store is None or not gains_of(current_scale(store)[1]):
        return []
    gains = gains_of(current_scale(store)[1])
    found = [str(one) for one in measures if not isinstance(one, Measure) or _reads_grades(one, gains)]
    if not found:
        return []
    return [f"{', '.join(found)}: made from the grades themselves; the gains of the scale have no part in it"]


def _reads_grades(measure: "Measure", gains: "GradeGains") -> bool:
    """Say whether grades matter to a measure otherwise than the scale says."""
    settings = dict(measure.settings)
    if "gains" in measure.kind.parameters:
        return settings.get("gains") != gains
    return measure.name in ("ERR", "Q") or (measure.name == "RBP" and "gain" in settings)
