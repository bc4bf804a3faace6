"""Measures that we have not and ir_measures has: diversity, compatibility, models of users (extra `ir-measures`)."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from types import ModuleType

import numpy as np

from cranfield.base.errors import UnknownName, UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Values
from cranfield.evaluate.measure import ForeignMeasure
from cranfield.qrels.reading import SubtopicRow
from cranfield.runs.run import Run

EXTRA = "ir-measures"


def foreign_measure(text: str, unknown: UnknownName) -> ForeignMeasure:
    """The measure that ir_measures means by an expression whose name we do not know."""
    library = _library()
    if library is None:
        raise UsageError(f"{unknown}; for measures of ir_measures: pip install {EXTRA}")
    try:
        return ForeignMeasure(str(library.parse_measure(text)))
    except NameError:
        raise unknown from None
    except KeyError as error:
        raise UsageError(f"{text}: ir_measures has no parameter {error} of {unknown.name}") from None
    except (ValueError, AssertionError, TypeError) as error:
        raise UsageError(f"{text}: ir_measures cannot parse this: {error}") from None


def described(measure: ForeignMeasure) -> str:
    """What ir_measures says about a measure."""
    parsed = _library().parse_measure(str(measure))  # type: ignore[union-attr]
    lines = [f"{measure}, computed by ir_measures", "", inspect.cleandoc(parsed.__doc__ or "").strip(), ""]
    lines += [f"  {name}  ({about.desc})" for name, about in parsed.SUPPORTED_PARAMS.items()]
    return "\n".join(lines) + "\n"


def foreign_values(
    measures: Sequence[ForeignMeasure], judged: Iterable[SubtopicRow], runs: Sequence[Run], aligned: Alignment
) -> Values:
    """The value of each measure for each run and topic of an alignment; 0 where a run lacks the topic."""
    library = _library()
    if library is None:
        raise UsageError(f"{measures[0]} needs the extra {EXTRA!r}: pip install {EXTRA}")
    parsed = [library.parse_measure(str(measure)) for measure in measures]
    rows = [library.Qrel(row.topic, row.document, row.grade, row.subtopic) for row in judged if row.grade >= 0]
    places = {topic: place for place, topic in enumerate(aligned.topic_ids)}
    values = np.zeros((len(measures), *aligned.scored.shape))
    with redirect_stderr(StringIO()):
        try:
            evaluator = library.evaluator(parsed, rows)
        except (ValueError, AssertionError, KeyError, TypeError) as error:
            names, said = ", ".join(map(str, parsed)), " ".join(str(error).partition("=<object")[0].split())
            raise UsageError(f"{names}: ir_measures reports: {said}") from None
        for number, run in enumerate(runs):
            # Falling numbers above 0: Compat takes a document that is not retrieved for one with 0.
            ranking = [
                library.ScoredDoc(topic, document, float(len(documents) - place))
                for topic, documents, _ in run
                if topic in places
                for place, document in enumerate(documents)
            ]
            for found in evaluator.iter_calc(ranking):
                if found.query_id in places:
                    values[parsed.index(found.measure), number, places[found.query_id]] = found.value
    return values


def _library() -> ModuleType | None:
    try:
        import ir_measures
    except ImportError:
        return None
    found: ModuleType = ir_measures
    return found
