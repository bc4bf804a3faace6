"""Z-scores: values told as deviations from the mean of reference runs, in standard deviations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cranfield.evaluate.lists import Values
from cranfield.evaluate.trec_eval.options import Refused
from cranfield.evaluate.trec_eval.parameters import real_number

MISSING = -1000000.0
"""What is printed where the reference has no mean for a measure and topic."""

NamedValues = dict[str, dict[str, Values]]
"""The values of each measure under each name that is printed, one per topic."""

Reference = dict[tuple[bytes, bytes], tuple[float, float]]

_COLUMNS = 4
_FAILED = 255


def read_zscores(path: Path) -> Reference:
    """Read a file of topic, measure, mean and standard deviation."""
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if not data:
        raise Refused(f"trec_eval.get_zscores: Cannot read zscores file '{path}'\n", _FAILED)
    found: Reference = {}
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=1):
        words = line.split()
        if len(words) != _COLUMNS:
            raise Refused(f"trec_eval.get_zscores: Malformed line {number}\n", _FAILED)
        topic, measure, mean, deviation = words
        found[topic, measure] = (real_number(mean.decode("latin-1")), real_number(deviation.decode("latin-1")))
    return found


def standardised(values: NamedValues, topics: Sequence[bytes], reference: Reference) -> NamedValues:
    """Give the values as z-scores."""
    return {
        name: {printed: _row(value, printed.encode(), topics, reference) for printed, value in named.items()}
        for name, named in values.items()
    }


def _row(value: Values, printed: bytes, topics: Sequence[bytes], reference: Reference) -> Values:
    known = (reference.get((topic, printed)) for topic in topics)
    return np.array([_standardised(one, found) for one, found in zip(value.tolist(), known, strict=True)])


def _standardised(value: float, known: tuple[float, float] | None) -> float:
    if known is None:
        return MISSING
    mean, deviation = known
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING
