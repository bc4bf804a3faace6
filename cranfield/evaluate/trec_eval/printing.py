"""What trec_eval prints, and the status it ends with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cranfield._version import __version__
from cranfield.evaluate.lists import NOT_POOLED, Lists, Values, gain_function
from cranfield.evaluate.measure import COMMON, SMALLEST, measures, scanned, sequential_sum
from cranfield.evaluate.measures import gain, precision
from cranfield.evaluate.trec_eval import options as parameters
from cranfield.evaluate.trec_eval.inputs import TrecInput, read_input
from cranfield.evaluate.trec_eval.names import LEVELS, MEASURES, ORDER, measures_of_version
from cranfield.evaluate.trec_eval.options import USAGE, Refused, TrecOptions
from cranfield.runs.columns import Mask, running_sum

# The values of trec_eval's measures: our own where both agree, its own arithmetic where they differ.

_DEFAULT_P = 0.9
_COEFFICIENTS = 4


class Wanted(NamedTuple):
    """One measure that is wanted: its lists, its name, its parameters as text, and the options."""

    lists: Lists
    name: str
    text: str | None
    options: TrecOptions

    @property
    def full_name(self) -> str:
        """The name as printed when parameters join it."""
        return f"{self.name}_{self.text}" if self.text else self.name

    def ours(self, expression: str, **settings: Any) -> Values:
        """The values of our measure; its parameters may be any that trec_eval takes."""
        found = scanned(expression)
        kind = measures.get(found.name)
        settings = {name: value for name, value, _ in found.settings if name not in COMMON} | settings
        if kind.has_threshold:
            settings["rel"] = self.options.level
        if found.cutoff is not None:
            settings["cutoff"] = int(found.cutoff)
        return kind.function(self.lists, **settings)  # type: ignore[no-any-return]


def values_of(wanted: Wanted) -> dict[str, Values]:
    """The values of a measure under the names it prints."""
    lists, name, text, measure = wanted.lists, wanted.name, wanted.text, MEASURES[wanted.name]
    steps = measure.usual
    if text and measure.takes in ("cutoffs", "levels"):
        steps = parameters.cutoffs(text, name, whole=measure.takes == "cutoffs")
    pairs = parameters.pairs(text, name) if text and (name == "rbp" or measure.takes == "gains") else ()
    gains = parameters.gains(pairs)
    match name:
        case "gm_map" | "gm_bpref":
            value = np.maximum(wanted.ours(measure.expression), SMALLEST)
            return {name: np.array([math.log(one) for one in value.tolist()])}
        case "iprec_at_recall":
            return {f"{name}_{level:3.2f}": _interpolated(wanted, level) for level in steps}
        case "Rprec_mult":
            # Below 0 it looks at no rank: 0, and not the -0.0000 that a division by a negative depth would print.
            return {f"{name}_{times:3.2f}": wanted.ours("Rprec", times=max(times, 0.0)) for times in steps}
        case "utility":
            numbers = parameters.numbers(text) if text else (1.0, -1.0, 0.0, 0.0)
            if len(numbers) != _COEFFICIENTS:
                raise Refused("trec_eval.calc_utility: improper number of coefficients\n", 4)
            named = dict(zip("abcd", numbers, strict=True))
            value = wanted.ours("Utility", documents=wanted.options.documents, **named)
        case "11pt_avg":
            value = _eleven_points(wanted)
        case "Rndcg":
            # Not a number where there are relevant documents and none has a gain: 0 is divided by 0.
            has_gain = gain_function("linear", gains)(lists.levels) > 0
            nothing = (lists.level_counts[:, has_gain].sum(axis=1) == 0)[lists.topics]
            nothing &= lists.relevant_count(wanted.options.level) > 0
            value = np.where(nothing, np.nan, wanted.ours("RnDCG", gains=gains))
        case "set_F":
            value = wanted.ours("SetF", beta=parameters.numbers(text)[0] if text else 1.0)
        case "rbp":
            p, judged = dict(pairs).get("p", _DEFAULT_P), lists.judged
            if gains:
                worth = gain.scaled_gains(lists, gains)
                value = (1.0 - p) * judged.total(worth * gain.powers(p, judged.rank))
            else:
                value = wanted.ours("RBP(gain=topic)", p=p)
        case "rbp_resid":
            return {name: np.where(lists.unjudged.count > 0, wanted.ours(measure.expression), 0.0)}
        case _ if measure.takes == "cutoffs":
            return {f"{name}_{cutoff}": wanted.ours(measure.expression.format(cutoff)) for cutoff in steps}
        case _ if measure.takes == "gains":
            value = wanted.ours(measure.expression, gains=gains)
        case _:
            return {name: wanted.ours(measure.expression)}
    return {wanted.full_name: value}


def _eleven_points(wanted: Wanted) -> Values:
    """The mean of the interpolated precisions, added from the last level to the first.

    trec_eval walks the list once from its end and takes the levels in turn, so that a level which is higher than the
    one after it is never met: it and all before it get the highest precision of the list.
    """
    levels = parameters.numbers(wanted.text) if wanted.text else LEVELS
    relevant = wanted.lists.relevant_count(wanted.options.level)
    top = _interpolated(wanted, 0.0)
    reached = wanted.lists.relevant(wanted.options.level).count
    met, passed = np.zeros(len(wanted.lists), dtype=bool), np.zeros(len(wanted.lists), dtype=bool)
    total = np.zeros(len(wanted.lists))
    for level in reversed(levels):
        needed = precision.documents_needed(level, relevant, wanted.options.version)
        beyond = ~met & (needed > reached)
        met |= ~beyond
        passed |= met & ((needed > reached) | (needed <= 0))
        total = total + np.where(beyond, 0.0, np.where(passed, top, _interpolated(wanted, level)))
        reached = np.where(met & ~passed, needed, reached)
    return total / len(levels)


def _interpolated(wanted: Wanted, level: float) -> Values:
    """Interpolated precision; not a number where an empty list is divided by its length, 0."""
    rel, version = wanted.options.level, wanted.options.version
    needed = precision.documents_needed(level, wanted.lists.relevant_count(rel), version)
    value = precision.interpolated_precision(wanted.lists, cutoff=level, rel=rel, rounding=version)
    return np.where((wanted.lists.length == 0) & (needed <= 0), np.nan, value)


# Z-scores: deviations from the mean of reference runs, in standard deviations.

MISSING = -1000000.0
"""What is printed where the reference has no mean for a measure and topic."""

NamedValues = dict[str, dict[str, Values]]
"""The values of each measure under each name that is printed, one per topic."""

_COLUMNS = 4
_FAILED = 255


def as_zscores(values: NamedValues, topics: Sequence[bytes], path: Path) -> NamedValues:
    """The values as z-scores, by a file of topic, measure, mean and standard deviation."""
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if not data:
        raise Refused(f"trec_eval.get_zscores: Cannot read zscores file '{path}'\n", _FAILED)
    reference: dict[tuple[bytes, bytes], tuple[float, float]] = {}
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=1):
        words = line.split()
        if len(words) != _COLUMNS:
            raise Refused(f"trec_eval.get_zscores: Malformed line {number}\n", _FAILED)
        mean, deviation = (parameters.real_number(word.decode("latin-1")) for word in words[2:])
        reference[words[0], words[1]] = mean, deviation

    def score(value: float, topic: bytes, printed: str) -> float:
        mean, deviation = reference.get((topic, printed.encode()), (math.nan, 0.0))
        if deviation:
            return (value - mean) / deviation
        return 0.0 if value == mean else MISSING

    return {
        name: {
            printed: np.array([score(*one, printed) for one in zip(row.tolist(), topics, strict=True)])
            for printed, row in named.items()
        }
        for name, named in values.items()
    }


_LINE = b"%-22s\t%s\t%s\n"
_COUNTS = frozenset({"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"})
_ONLY_IN_SUMMARY = frozenset({"runid", "num_q", "gm_map", "gm_bpref"})
_GEOMETRIC = frozenset({"gm_map", "gm_bpref"})
_WITHOUT_LISTS = frozenset({"runid", "num_q"})
_CANNOT = 4
_NOTHING_IN_COMMON = 7


class Printed(NamedTuple):
    """Everything a call gives: the bytes for standard output, the text for standard error, the exit status."""

    output: bytes = b""
    errors: str = ""
    status: int = 0


def trec_eval(arguments: Sequence[str]) -> Printed:
    """Do what trec_eval does with this command line."""
    try:
        options = parameters.parsed(arguments)
        if options.show_version:
            return Printed(errors=f"trec_eval version {options.version} as Cranfield {__version__} has it\n")
        if options.help:
            names = " ".join(measures_of_version(options.version))
            known = f"Measures of version {options.version}: {names}"
            return Printed(output=f"{USAGE}\n{known}\nWhat they mean: cranfield measures\n".encode())
        given = read_input(options)
        cells, message = _evaluated_topics(given, options)
        if not len(cells) and not message:
            text = "trec_eval: No queries with both results and relevance info\n"
            return Printed(errors=text, status=_NOTHING_IN_COMMON)
        wanted = [name for name in ORDER if name in options.measures]
        output = b"".join(_lines(given, options, cells, wanted, stopped=bool(message)))
        return Printed(output, message, _CANNOT if message else 0)
    except Refused as refused:
        return Printed(errors=refused.message, status=refused.status)


def _evaluated_topics(given: TrecInput, options: TrecOptions) -> tuple[list[int], str]:
    """The topics that are evaluated, and what is said when one stops the program before the end."""
    cells: list[int] = []
    needs_lists = not options.measures <= _WITHOUT_LISTS
    first = next(
        name for name in ORDER if name in options.measures and (not needs_lists or name not in _WITHOUT_LISTS)
    )
    cannot = f"trec_eval: Can't calculate measure '{first}'\n"
    for place, topic in enumerate(given.topics):
        present = bool(given.present[place])
        if not present and (options.version == "9" or not options.complete):
            if options.version == "9" or not needs_lists:
                continue
            return cells, f"trec_eval: result qid '{topic.decode('utf-8', 'replace')}' not found in qrels\n{cannot}"
        if needs_lists and place in given.broken and (present or "rels:" in given.broken[place]):
            return cells, given.broken[place] + cannot
        if needs_lists and not cells and not given.lists.level_counts[place].any():
            return cells, cannot
        cells.append(place)
    return cells, ""


def _lines(
    given: TrecInput, options: TrecOptions, cells: list[int], wanted: list[str], *, stopped: bool
) -> Iterator[bytes]:
    """The lines of the evaluated topics, and the summary unless a topic stopped the program.

    Z-scores are printed with a Z before the name, counts too as numbers with decimals.
    """
    absent = ~given.present[cells]
    lists = _evaluated_lists(given, options, cells, absent)
    asked = {name: Wanted(lists, name, options.parameters.get(name), options) for name in wanted if name != "runid"}
    letters = asked.pop("relstring", None)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {name: values_of(one) for name, one in asked.items()}
    for named in values.values():
        for printed, value in named.items():
            # What the one unknown document has brought to missing topics goes, as far as version 10 takes it away.
            if printed in ("num_ret", "utility", "rbp_resid") or printed.startswith("unj"):
                value[absent] = 0.0
    topics = [given.topics[place] for place in cells]
    if options.zscores is not None:
        values = as_zscores(values, topics, Path(options.zscores))

    def line(measure: str, printed: str, topic: bytes, value: float) -> bytes:
        if measure in _COUNTS and options.zscores is None:
            return _LINE % (printed.encode(), topic, b"%d" % int(value))
        shown = "  -nan" if math.isnan(value) else f"{value:6.4f}"
        return (b"" if options.zscores is None else b"Z") + _LINE % (printed.encode(), topic, shown.encode())

    for place, topic in enumerate(topics if options.per_topic else ()):
        for name in wanted:
            if name == "relstring" and letters is not None:
                string = "" if absent[place] and not letters.text else relevance_string(letters, place)
                yield _LINE % (letters.full_name.encode(), topic, f"'{string}'".encode())
            elif name not in _ONLY_IN_SUMMARY:
                for printed, value in values[name].items():
                    yield line(name, printed, topic, float(value[place]))
    count = len(given.topics) if options.complete else len(topics)
    for name in wanted if options.summary and not stopped else ():
        if name == "runid":
            yield _LINE % (b"runid", b"all", given.run_id)
        for printed, value in values.get(name, {}).items():
            # The summary: a sum for counts, a geometric mean where the name says so, else the mean.
            total = sequential_sum(value)
            if name == "num_q":
                total = count
            elif name == "num_rel" and options.complete:
                total = given.judged_relevant
            elif name in _GEOMETRIC:
                total = math.exp((total + (count - len(value)) * math.log(SMALLEST)) / count)
            elif name not in _COUNTS:
                total /= count
            yield line(name, printed, b"all", total)


def _evaluated_lists(given: TrecInput, options: TrecOptions, cells: list[int], absent: Mask) -> Lists:
    """The lists of the evaluated topics; a missing one has one document that nobody knows, as in version 10."""
    taken_out = options.judged_only or (options.depth is not None and options.depth <= 0)
    unknown = np.array([] if taken_out else [NOT_POOLED], dtype=np.int32)
    every, offsets = given.lists.grades, given.lists.offsets
    parts = [
        unknown if gone else every[offsets[cell] : offsets[cell + 1]]
        for cell, gone in zip(cells, absent, strict=True)
    ]
    return replace(
        given.lists,
        grades=np.concatenate([np.empty(0, dtype=np.int32), *parts]),
        offsets=running_sum([len(part) for part in parts]),
        topics=np.arange(len(cells)),
        level_counts=given.lists.level_counts[cells],
    )


def relevance_string(wanted: Wanted, cell: int) -> str:
    """The grades at the first ranks, one letter each: - not pooled, . pooled and not judged, > above 9."""
    size = int(parameters.real_number(wanted.text)) if wanted.text else 10
    start, end = (int(place) for place in wanted.lists.offsets[cell : cell + 2])
    grades = wanted.lists.grades[start : max(start, min(end, start + size))].tolist()
    return "".join(
        ">" if grade > 9 else str(grade) if grade >= 0 else "-" if grade == NOT_POOLED else "." for grade in grades
    )
