"""Scores read back from what `evaluate --by-topic` wrote, as CSV or JSON lines."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.evaluate.scores import Scores

ALL = "all"
COLUMNS = ("run", "topic", "measure", "value", "qrels")


def read_scores(files: Sequence[Path], *, allow_mixed_qrels: bool = False) -> "Scores":
    """Give the scores of all files together, on the topics and measures that every run has."""
    values: dict[tuple[str, str, str], float] = {}
    hashes: dict[str, str] = {}
    orders: dict[str, str] = {}
    problems: list[Problem] = []
    for file in files:
        for line, row in _rows(Source(file)):
            problem = _take(row, values, hashes, orders)
            if problem:
                problems.append(Problem("bad-score", problem, file=str(file), lines=(line,)))
    if problems:
        raise ProblemsFound("these scores cannot be compared", problems)
    if len(hashes) > 1 and not allow_mixed_qrels:
        raise InputError(
            f"the scores were made with different qrels: {_told(hashes)}; evaluate all runs with the same qrels, or"
            " give --allow-mixed-qrels if you know what you do"
        )
    if len(orders) > 1:
        raise InputError(f"the scores were made with different orders of ties: {_told(orders)}; evaluate all alike")
    return _scores(values, "+".join(hashes))


def _told(found: Mapping[str, str]) -> str:
    return ", ".join(f"{value} (for example run {quoted(run)})" for value, run in found.items())


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, object]]]:
    if source.head(1) == b"{":
        for number, line in source.lines():
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise InputError(f"{source.name}:{number}: not a JSON object")
            yield number, row
        return
    lines = source.lines()
    reader = csv.DictReader(line for _, line in lines)
    yield from enumerate(reader, start=2)


def _take(
    row: Mapping[str, object],
    values: dict[tuple[str, str, str], float],
    hashes: dict[str, str],
    orders: dict[str, str],
) -> str:
    """Take one row in, or say what is wrong with it. A file from elsewhere need not tell the order of ties."""
    missing = [name for name in COLUMNS if row.get(name) is None]
    if missing:
        return f"there is no {missing[0]}; expected what cranfield evaluate --by-topic --format csv writes"
    run, topic, measure, value, qrels = (str(row[name]) for name in COLUMNS)
    hashes.setdefault(qrels, run)
    if row.get("reference"):
        orders.setdefault(str(row["reference"]), run)
    if topic == ALL:
        return ""
    key = (measure, run, topic)
    try:
        number = float(value)
    except ValueError:
        number = nan
    if not isfinite(number):
        return f"the value {quoted(value)} is not a finite number"
    if number != values.setdefault(key, number):
        return f"run {quoted(run)} has two values of {measure} for topic {quoted(topic)}"
    return ""


def _scores(values: Mapping[tuple[str, str, str], float], qrels_hash: str) -> "Scores":
    import numpy as np

    from cranfield.evaluate.expression import parse_measures
    from cranfield.evaluate.scores import Scores

    measures = list(dict.fromkeys(measure for measure, _, _ in values))
    runs = list(dict.fromkeys(run for _, run, _ in values))
    topics = sorted({topic for _, _, topic in values})
    if not runs:
        raise InputError("there are no scores of single topics; write them with cranfield evaluate --by-topic")
    absent = [
        key
        for measure in measures
        for run in runs
        for topic in topics
        if (key := (measure, run, topic)) not in values
    ]
    if absent:
        measure, run, topic = absent[0]
        example = f"{measure} of run {quoted(run)} for topic {quoted(topic)}"
        raise InputError(f"{len(absent):,} scores are missing, for example {example}")
    table = np.array([[[values[measure, run, topic] for topic in topics] for run in runs] for measure in measures])
    return Scores(
        measures=tuple(parse_measures(measures)),
        run_names=tuple(runs),
        topic_ids=tuple(topics),
        values=table,
        scored=np.ones(table.shape[1:], dtype=bool),
        qrels_hash=qrels_hash,
    )
