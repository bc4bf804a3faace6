"""Scores read back from what `evaluate --by-topic` wrote, as CSV or JSON lines."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import LINES_KEPT, InputError, Problem, ProblemsFound, UnknownName, quoted
from cranfield.source import Source
from cranfield.steps.trust import WORST_FIRST
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.scores import Scores

ALL = "all"
COLUMNS = ("run", "topic", "measure", "value", "qrels")
_NOISE = 1e-6
"""How far beyond its range a score may be by rounding."""


@dataclass(frozen=True, eq=False)
class Saved:
    """Scores that were read back, and what is to be told of them; `verdicts` by measure and run, where there are."""

    scores: "Scores"
    notes: tuple[str, ...] = ()
    verdicts: Mapping[tuple[str, str], str] = field(default_factory=dict)


def read_scores(files: Sequence[Path], *, measures: Sequence[str] = (), allow_mixed_qrels: bool = False) -> Saved:
    """Give the scores of all files together, on the topics that every run has; of all measures, or of those named."""
    read = _Read()
    for file in files:
        read.take_file(Source(file))
    if read.problems:
        raise ProblemsFound("these scores cannot be compared", list(read.problems.values()))
    hashes: dict[str, str] = {}
    for run, qrels in read.qrels_of.items():
        hashes.setdefault(qrels, run)
    if len(hashes) > 1 and not allow_mixed_qrels:
        raise InputError(
            f"the scores were made with different qrels: {_told(hashes)}; evaluate all runs with the same qrels, or"
            " give --allow-mixed-qrels if you know what you do"
        )
    if len(read.orders) > 1:
        raise InputError(
            f"the scores were made with different orders of ties: {_told(read.orders)}; evaluate all alike"
        )
    note = f"the scores were made with different qrels, and differ for that alone too: {_told(hashes)}"
    scores = _scores(_chosen(read.values, measures), "+".join(hashes), next(iter(read.orders), ""))
    return Saved(scores, (note,) if len(hashes) > 1 else (), _by_measure(read.verdicts))


def _told(found: Mapping[str, str]) -> str:
    return ", ".join(f"{value} (for example run {quoted(run)})" for value, run in found.items())


@dataclass(eq=False)
class _Read:
    """What has been read: values by measure, run and topic, verdicts, each run's qrels, orders of ties, and problems.

    One problem stands for all of its kind in a file: a file that is something else has it on each of its lines.
    """

    values: dict[tuple[str, str, str], float] = field(default_factory=dict)
    qrels_of: dict[str, str] = field(default_factory=dict)
    orders: dict[str, str] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: dict[tuple[str, str], Problem] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take_file(self, source: Source) -> None:
        """Take the rows of a file in, and collect what is wrong with them."""
        topics = rows = 0
        for line, row in _rows(source):
            wrong = self._take(row)
            if wrong:
                self._add(*wrong, source.name, line)
            topics += str(row.get("topic")) != ALL
            rows += 1
        if not topics:
            said = "no score of a single topic, only summaries" if rows else "no score at all"
            self._add("no-topics", f"{said}; write them with cranfield evaluate --by-topic", source.name, None)

    def _add(self, code: str, message: str, file: str, line: int | None) -> None:
        known = self.problems.get((file, code))
        lines = (*(known.lines if known else ()), *([line] if line else []))
        shown = known.message if known else message
        count = known.count + 1 if known else 1
        self.problems[file, code] = Problem(code, shown, file=file, lines=lines[:LINES_KEPT], count=count)

    def _take(self, row: Mapping[str, object]) -> tuple[str, str] | None:
        """Take one row in, or say what is wrong with it. A file from elsewhere need not tell the order of ties."""
        missing = [name for name in COLUMNS if row.get(name) is None]
        if missing:
            wanted = "expected what cranfield evaluate --by-topic --format csv writes"
            return "no-such-column", f"there is no {missing[0]}; {wanted}"
        run, topic, measure, value, qrels = (str(row[name]) for name in COLUMNS)
        if self.qrels_of.setdefault(run, qrels) != qrels:
            return "two-qrels", f"run {quoted(run)} has scores of two qrels, {self.qrels_of[run]} and {qrels}"
        if row.get("reference"):
            self.orders.setdefault(str(row["reference"]), run)
        if topic == ALL:
            return self._take_verdict(measure, run, str(row.get("verdict") or ""))
        try:
            number = float(value)
        except ValueError:
            number = nan
        if not isfinite(number):
            return "bad-score", f"the value {quoted(value)} is not a finite number"
        low, high = self._bounds(measure)
        if not low - _NOISE <= number <= high + _NOISE:
            return "out-of-range", f"the value {number:g} of {measure} lies outside of its range, {low:g} to {high:g}"
        if number != self.values.setdefault((measure, run, topic), number):
            return "two-values", f"run {quoted(run)} has two values of {measure} for topic {quoted(topic)}"
        return None

    def _bounds(self, measure: str) -> tuple[float, float]:
        """Give the lowest and highest value of a measure, as far as they are known."""
        if measure not in self.bounds:
            self.bounds[measure] = _bounds_of(measure)
        return self.bounds[measure]

    def _take_verdict(self, measure: str, run: str, verdict: str) -> tuple[str, str] | None:
        """Take the verdict of a run in, the worse of two; a file from elsewhere need not have any."""
        if verdict and verdict not in WORST_FIRST:
            return "bad-verdict", f"{quoted(verdict)} is no verdict; they are {', '.join(WORST_FIRST)}"
        if verdict:
            known = self.verdicts.get((measure, run), verdict)
            self.verdicts[measure, run] = min(known, verdict, key=WORST_FIRST.index)
        return None


def _bounds_of(name: str) -> tuple[float, float]:
    from cranfield.evaluate.expression import Measure, parse_measures

    known = [one.kind.bounds if isinstance(one, Measure) else None for one in parse_measures([name])]
    return known[0] or (-inf, inf)


def _by_measure(verdicts: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Give verdicts by the names of measures as we write them."""
    from cranfield.evaluate.expression import parse_measures

    names = {name: str(parse_measures([name])[0]) for name in dict.fromkeys(name for name, _ in verdicts)}
    return {(names[name], run): verdict for (name, run), verdict in verdicts.items()}


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, object]]]:
    if source.head(1) == b"[":
        raise InputError(
            f"{source.name}: scores are not read from JSON; write JSON lines or CSV, with --format jsonl"
        )
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


Values = Mapping[tuple[str, str, str], float]


def _chosen(values: Values, texts: Sequence[str]) -> Values:
    """Give the values of the measures that are named; of all where none is."""
    from cranfield.evaluate.expression import parse_measures

    if not texts:
        return values
    known = {
        str(one): name for name in dict.fromkeys(name for name, _, _ in values) for one in parse_measures([name])
    }
    wanted = []
    for measure in parse_measures(texts):
        if str(measure) not in known:
            raise UnknownName("measure of these scores", str(measure), known)
        wanted.append(known[str(measure)])
    return {key: values[key] for name in wanted for key in values if key[0] == name}


def _scores(values: Values, qrels_hash: str, order: str) -> "Scores":
    import numpy as np

    from cranfield.evaluate.expression import parse_measures
    from cranfield.evaluate.scores import Scores

    measures = list(dict.fromkeys(measure for measure, _, _ in values))
    runs = list(dict.fromkeys(run for _, run, _ in values))
    topics = sorted({topic for _, _, topic in values})
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
        missing = f"{counted(len(absent), 'score')} {'is' if len(absent) == 1 else 'are'} missing"
        raise InputError(f"{missing}, {'that is' if len(absent) == 1 else 'for example'} {example}")
    table = np.array([[[values[measure, run, topic] for topic in topics] for run in runs] for measure in measures])
    return Scores(
        measures=tuple(parse_measures(measures)),
        run_names=tuple(runs),
        topic_ids=tuple(topics),
        values=table,
        scored=np.ones(table.shape[1:], dtype=bool),
        qrels_hash=qrels_hash,
        told_order=order,
    )
