"""Scores read back from what `evaluate --by-topic` wrote, as CSV or JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import (
    LINES_KEPT,
    InputError,
    Problem,
    ProblemsFound,
    SourceError,
    UnknownName,
    UsageError,
    quoted,
)
from cranfield.base.files import Source
from cranfield.base.text import counted
from cranfield.workflows.reuse.field import WORST_FIRST

if TYPE_CHECKING:
    from cranfield.evaluate.expression import AnyMeasure
    from cranfield.evaluate.scores import Scores


ALL = "all"
COLUMNS = ("run", "topic", "measure", "value", "qrels")
_NOISE = 1e-6
"""How far beyond its range a score may be by rounding."""
_SET_UNSAID = frozenset(("gains", "rel", "rounding"))
"""What an evaluation sets where a measure says nothing of it, by the scale of the collection or by `--as`."""


@dataclass(frozen=True, eq=False)
class Saved:
    """Scores that were read back, and what is to be told of them; `verdicts` by measure and run, where there are."""

    scores: Scores
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
    known = {named.name: named.measure for named in read.named.values() if not isinstance(named, str)}
    chosen = _chosen(read.values, measures, known)
    scores = _scores(chosen, known, "+".join(hashes), next(iter(read.orders), ""))
    return Saved(scores, (note,) if len(hashes) > 1 else (), read.verdicts)


def _told(found: Mapping[str, str]) -> str:
    return ", ".join(f"{value} (for example run {quoted(run)})" for value, run in found.items())


@dataclass(frozen=True)
class _Named:
    """A measure that a file names, the name that we write it with, and the lowest and highest value it can have."""

    measure: AnyMeasure
    name: str
    low: float
    high: float


@dataclass(eq=False)
class _Read:
    """What has been read: values by measure, run and topic, verdicts, each run's qrels, orders of ties, and problems.

    `named` has what each name of a measure means, or why it means none; values and verdicts go by the names that we
    write, whatever those in the file. One problem stands for all of its kind in a file: a file that is something else
    has it on each of its lines.
    """

    values: dict[tuple[str, str, str], float] = field(default_factory=dict)
    qrels_of: dict[str, str] = field(default_factory=dict)
    orders: dict[str, str] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: dict[tuple[str, str], Problem] = field(default_factory=dict)
    named: dict[str, _Named | str] = field(default_factory=dict)

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
        run, topic, text, value, qrels = (str(row[name]) for name in COLUMNS)
        if self.qrels_of.setdefault(run, qrels) != qrels:
            return "two-qrels", f"run {quoted(run)} has scores of two qrels, {self.qrels_of[run]} and {qrels}"
        if row.get("reference"):
            self.orders.setdefault(str(row["reference"]), run)
        if topic == ALL:
            return self._take_verdict(text, run, str(row.get("verdict") or ""))
        named = self._measure(text)
        return ("bad-measure", named) if isinstance(named, str) else self._take_value(named, run, topic, value)

    def _measure(self, text: str) -> _Named | str:
        if text not in self.named:
            self.named[text] = _named(text)
        return self.named[text]

    def _take_value(self, named: _Named, run: str, topic: str, value: str) -> tuple[str, str] | None:
        try:
            number = float(value)
        except ValueError:
            number = nan
        if not isfinite(number):
            return "bad-score", f"the value {quoted(value)} is not a finite number"
        measure, low, high = named.name, named.low, named.high
        if not low - _NOISE <= number <= high + _NOISE:
            return "out-of-range", f"the value {number:g} of {measure} lies outside of its range, {low:g} to {high:g}"
        if number != self.values.setdefault((measure, run, topic), number):
            return "two-values", f"run {quoted(run)} has two values of {measure} for topic {quoted(topic)}"
        return None

    def _take_verdict(self, text: str, run: str, verdict: str) -> tuple[str, str] | None:
        """Take the verdict of a run in, the worse of two; a file from elsewhere need not have any."""
        if not verdict:
            return None
        if verdict not in WORST_FIRST:
            return "bad-verdict", f"{quoted(verdict)} is no verdict; they are {', '.join(WORST_FIRST)}"
        named = self._measure(text)
        if isinstance(named, str):
            return "bad-measure", named
        known = self.verdicts.get((named.name, run), verdict)
        self.verdicts[named.name, run] = min(known, verdict, key=WORST_FIRST.index)
        return None


def _named(text: str) -> _Named | str:
    """Give the one measure that a name means, or say why it is not the name of one."""
    from cranfield.evaluate.expression import parse_measures

    try:
        found = parse_measures([text])
    except UsageError as error:
        return str(error)
    if len(found) != 1:
        return f"{quoted(text)} is not the name of one measure"
    return _Named(found[0], str(found[0]), *found[0].bounds)


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, object]]]:
    if source.head(1) == b"[":
        raise InputError(
            f"{source.name}: scores are not read from JSON; write JSON lines or CSV, with --format jsonl"
        )
    if source.head(1) == b"{":
        for number, line in source.lines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise InputError(f"{source.name}:{number}: not a JSON object")
            yield number, row
        return
    reader = csv.DictReader(line for _, line in source.lines())
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise SourceError(source.name, f"this is not CSV: {error}", reader.reader.line_num) from None


Values = Mapping[tuple[str, str, str], float]


def _chosen(values: Values, texts: Sequence[str], known: Mapping[str, AnyMeasure]) -> Values:
    """Give the values of the measures that are named; of all where none is."""
    from cranfield.evaluate.expression import parse_measures

    if not texts:
        return values
    there = {name: known[name] for name in dict.fromkeys(name for name, _, _ in values)}
    wanted = [_meant(measure, there, bare="(" not in text) for text in texts for measure in parse_measures([text])]
    return {key: values[key] for name in wanted for key in values if key[0] == name}


def _meant(measure: AnyMeasure, known: Mapping[str, AnyMeasure], *, bare: bool) -> str:
    """Give the name of the saved measure that is meant.

    A bare name may also mean the one saved measure that differs by what the evaluation set: in a collection `nDCG@5`
    may be written `nDCG(gains={1: 0, 2: 1})@5`. A name with brackets says itself what it means.
    """
    if str(measure) in known:
        return str(measure)
    found = [name for name, saved in known.items() if bare and _as_evaluated(measure, saved)]
    if len(found) != 1:
        raise UnknownName("measure of these scores", str(measure), known)
    return found[0]


def _as_evaluated(measure: AnyMeasure, saved: AnyMeasure) -> bool:
    """Say whether an evaluation that is asked for a measure may have written the saved one."""
    from cranfield.evaluate.expression import Measure

    if not isinstance(measure, Measure) or not isinstance(saved, Measure):
        return False
    settings = tuple((name, value) for name, value in saved.settings if name not in _SET_UNSAID)
    return (measure.name, measure.cutoff, measure.settings) == (saved.name, saved.cutoff, settings)


def _scores(values: Values, known: Mapping[str, AnyMeasure], qrels_hash: str, order: str) -> Scores:
    import numpy as np

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
        remedy = "score all runs on the same topics (evaluate --topics FILE) and save them again"
        raise InputError(f"{missing}, {'that is' if len(absent) == 1 else 'for example'} {example}; {remedy}")
    table = np.array([[[values[measure, run, topic] for topic in topics] for run in runs] for measure in measures])
    return Scores(
        measures=tuple(known[measure] for measure in measures),
        run_names=tuple(runs),
        topic_ids=tuple(topics),
        values=table,
        scored=np.ones(table.shape[1:], dtype=bool),
        qrels_hash=qrels_hash,
        told_order=order,
    )
