"""What trec_eval prints, and the status it ends with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cranfield._version import __version__
from cranfield.evaluate.lists import NOT_POOLED, Lists, Values, gain_function
from cranfield.evaluate.measure import SMALLEST, sequential_sum
from cranfield.evaluate.measures import average, counts, gain, incomplete, precision, user_models
from cranfield.evaluate.trec_eval import options as parameters
from cranfield.evaluate.trec_eval.inputs import TrecInput, read_input
from cranfield.evaluate.trec_eval.options import (
    DEFAULT_CUTOFFS,
    DEFAULT_LEVELS,
    LEVELS,
    ORDER,
    USAGE,
    Refused,
    TrecOptions,
    measures_of_version,
    parsed,
    real_number,
)

# The values of trec_eval's measures: our own where both agree, its own arithmetic where they differ.

Named = Iterator[tuple[str, Values]]
Function = Callable[["Asked"], Named]

_RESIDUAL_P = 0.9
_DEFAULT_P = 0.9
_COEFFICIENTS = 4


@dataclass(frozen=True)
class Asked:
    """One measure that is wanted: its lists, its name, its parameters as text, and the options."""

    lists: Lists
    name: str
    text: str | None
    options: TrecOptions

    @property
    def full_name(self) -> str:
        """The name as printed when parameters join it."""
        return f"{self.name}_{self.text}" if self.text else self.name

    @property
    def rel(self) -> int:
        """The lowest grade that is relevant."""
        return self.options.level


def values_of(asked: Asked) -> dict[str, Values]:
    """Give the values of a measure under the names it prints."""
    return dict(_FUNCTIONS[asked.name](asked))


def _plain(function: Callable[..., Values], **settings: object) -> Function:
    def values(asked: Asked) -> Named:
        yield asked.name, function(asked.lists, rel=asked.rel, **settings)

    return values


def _plain_without_level(function: Callable[..., Values]) -> Function:
    def values(asked: Asked) -> Named:
        yield asked.name, function(asked.lists)

    return values


def _cut(function: Callable[..., Values], **settings: object) -> Function:
    def values(asked: Asked) -> Named:
        wanted = parameters.cutoffs(asked.text, asked.name) if asked.text else DEFAULT_CUTOFFS[asked.name]
        for cutoff in wanted:
            threshold = {} if asked.name in ("ndcg_cut", "unj") else {"rel": asked.rel}
            yield f"{asked.name}_{cutoff}", function(asked.lists, cutoff=cutoff, **threshold, **settings)

    return values


def _levels(asked: Asked) -> tuple[float, ...]:
    return parameters.levels(asked.text, asked.name) if asked.text else DEFAULT_LEVELS[asked.name]


def _rprec_mult(asked: Asked) -> Named:
    relevant, found = asked.lists.relevant_count(asked.rel), asked.lists.relevant(asked.rel)
    for times in _levels(asked):
        depth = np.trunc(times * relevant + 0.9).astype(np.int64)
        count = found.where(found.rank <= depth[found.cell]).count
        yield f"{asked.name}_{times:3.2f}", np.where(depth > 0, count / np.maximum(depth, 1), 0.0)


def _iprec(asked: Asked) -> Named:
    for level in _levels(asked):
        yield f"{asked.name}_{level:3.2f}", _interpolated(asked, level)


def _eleven_points(asked: Asked) -> Named:
    """The mean of the interpolated precisions, added from the last level to the first.

    trec_eval walks the list once from its end and takes the levels in turn, so that a level which is higher than the
    one after it is never met: it and all before it get the highest precision of the list.
    """
    levels = parameters.numbers(asked.text) if asked.text else LEVELS
    relevant = asked.lists.relevant_count(asked.rel)
    top = _interpolated(asked, 0.0)
    reached = asked.lists.relevant(asked.rel).count
    met, passed = np.zeros(len(asked.lists), dtype=bool), np.zeros(len(asked.lists), dtype=bool)
    total = np.zeros(len(asked.lists))
    for level in reversed(levels):
        needed = average.documents_needed(level, relevant, asked.options.version)
        beyond = ~met & (needed > reached)
        met |= ~beyond
        passed |= met & ((needed > reached) | (needed <= 0))
        total = total + np.where(beyond, 0.0, np.where(passed, top, _interpolated(asked, level)))
        reached = np.where(met & ~passed, needed, reached)
    yield asked.full_name, total / len(levels)


def _interpolated(asked: Asked, level: float) -> Values:
    """Interpolated precision; not a number where an empty list is divided by its length, 0."""
    version = asked.options.version
    needed = average.documents_needed(level, asked.lists.relevant_count(asked.rel), version)
    value = average.interpolated_precision(asked.lists, cutoff=level, rel=asked.rel, rounding=version)
    return np.where((asked.lists.length == 0) & (needed <= 0), np.nan, value)


def _geometric(function: Callable[..., Values]) -> Function:
    def values(asked: Asked) -> Named:
        value = np.maximum(function(asked.lists, rel=asked.rel), SMALLEST)
        yield asked.name, np.array([math.log(one) for one in value.tolist()])

    return values


def _graded(function: Callable[..., Values], **settings: object) -> Function:
    def values(asked: Asked) -> Named:
        gains = parameters.gains(parameters.pairs(asked.text, asked.name)) if asked.text else ()
        yield asked.full_name, function(asked.lists, gains=gains, **settings)

    return values


def _rndcg(asked: Asked) -> Named:
    """Not a number where there are relevant documents and none has a gain: 0 is divided by 0."""
    lists = asked.lists
    gains = parameters.gains(parameters.pairs(asked.text, asked.name)) if asked.text else ()
    worth = gain_function("linear", gains)(lists.levels) > 0
    nothing = (lists.level_counts[:, worth].sum(axis=1) == 0)[lists.topics] & (lists.relevant_count(asked.rel) > 0)
    for name, value in _graded(gain.ndcg_at_levels, rel=asked.rel)(asked):
        yield name, np.where(nothing, np.nan, value)


def _utility(asked: Asked) -> Named:
    numbers = parameters.numbers(asked.text) if asked.text else (1.0, -1.0, 0.0, 0.0)
    if len(numbers) != _COEFFICIENTS:
        raise Refused("trec_eval.calc_utility: improper number of coefficients\n", 4)
    named = dict(zip("abcd", numbers, strict=True))
    value = precision.utility(asked.lists, **named, documents=asked.options.documents, rel=asked.rel)
    yield asked.full_name, value


def _set_f(asked: Asked) -> Named:
    beta = parameters.numbers(asked.text)[0] if asked.text else 1.0
    yield asked.full_name, precision.set_f(asked.lists, beta=beta, rel=asked.rel)


def _rbp(asked: Asked) -> Named:
    found = parameters.pairs(asked.text, asked.name) if asked.text else ()
    persistence = dict(found).get("p", _DEFAULT_P)
    named = parameters.gains(found)
    judged = asked.lists.judged
    if named:
        worth = user_models.scaled_gains(asked.lists, named)
        powers = user_models.powers(persistence, judged.rank)
        yield asked.full_name, (1.0 - persistence) * judged.total(worth * powers)
    else:
        value = user_models.rank_biased_precision(asked.lists, p=persistence, gain="topic")
        yield asked.full_name, value


def _rbp_residual(asked: Asked) -> Named:
    value = user_models.rank_biased_residual(asked.lists, p=_RESIDUAL_P)
    yield asked.name, np.where(asked.lists.unjudged.count > 0, value, 0.0)


def _relstring(asked: Asked) -> Named:
    yield asked.full_name, np.zeros(len(asked.lists))


def relevance_string(asked: Asked, cell: int) -> str:
    """Give the grades at the first ranks, one letter each: - not pooled, . pooled and not judged, > above 9."""
    size = int(parameters.real_number(asked.text)) if asked.text else 10
    start, end = (int(place) for place in asked.lists.offsets[cell : cell + 2])
    grades = asked.lists.grades[start : max(start, min(end, start + size))].tolist()
    return "".join(_letter(grade) for grade in grades)


def _letter(grade: int) -> str:
    if grade > 9:
        return ">"
    if grade >= 0:
        return str(grade)
    return "-" if grade == np.iinfo(np.int32).min else "."


_FUNCTIONS: dict[str, Function] = {
    "num_q": _plain_without_level(counts.topic_count),
    "num_ret": _plain_without_level(counts.retrieved_count),
    "num_rel": _plain(counts.relevant_count),
    "num_rel_ret": _plain(counts.relevant_retrieved_count),
    "map": _plain(average.average_precision),
    "gm_map": _geometric(average.average_precision),
    "Rprec": _plain(average.r_precision),
    "bpref": _plain(incomplete.binary_preference),
    "recip_rank": _plain(average.reciprocal_rank),
    "iprec_at_recall": _iprec,
    "P": _cut(precision.precision),
    "relstring": _relstring,
    "recall": _cut(precision.recall),
    "infAP": _plain(incomplete.inferred_average_precision),
    "gm_bpref": _geometric(incomplete.binary_preference),
    "Rprec_mult": _rprec_mult,
    "utility": _utility,
    "11pt_avg": _eleven_points,
    "binG": _plain(average.binary_g),
    "G": _graded(gain.normalized_gain),
    "dcg": _graded(gain.discounted_cumulated_gain),
    "ideal_dcg": _graded(gain.ideal_discounted_cumulated_gain),
    "ndcg": _graded(gain.normalized_discounted_cumulated_gain),
    "ndcg_rel": _graded(gain.ndcg_at_relevant),
    "Rndcg": _rndcg,
    "ndcg_cut": _cut(gain.normalized_discounted_cumulated_gain),
    "map_cut": _cut(average.average_precision),
    "relative_P": _cut(precision.relative_precision),
    "success": _cut(precision.success),
    "set_P": _plain(precision.set_precision),
    "set_relative_P": _plain(precision.set_precision, relative=True),
    "set_recall": _plain(precision.set_recall),
    "set_map": _plain(precision.set_average_precision),
    "set_F": _set_f,
    "num_nonrel_judged_ret": _plain(counts.judged_nonrelevant_count),
    "yaap": _plain(average.yet_another_average_precision),
    "rbp": _rbp,
    "rbp_resid": _rbp_residual,
    "unj": _cut(incomplete.unjudged_share, over="cutoff"),
}


# Z-scores: values told as deviations from the mean of reference runs, in standard deviations.

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


_WHOLE = frozenset({"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"})
_ONLY_IN_SUMMARY = frozenset({"runid", "num_q", "gm_map", "gm_bpref"})
_GEOMETRIC = frozenset({"gm_map", "gm_bpref"})
_WITHOUT_LISTS = frozenset({"runid", "num_q"})
_CANNOT = 4
_NOTHING_IN_COMMON = 7


@dataclass(frozen=True)
class Printed:
    """Everything a call gives: the bytes for standard output, the text for standard error, the exit status."""

    output: bytes = b""
    errors: str = ""
    status: int = 0


@dataclass(frozen=True, eq=False)
class _Table:
    """The values of all wanted measures for the topics that are evaluated: measure -> printed name -> values.

    Z-scores are printed with a Z before the name, counts too as numbers with decimals.
    """

    topics: Sequence[bytes]
    values: NamedValues
    strings: dict[str, list[str]] = field(default_factory=dict)
    as_zscores: bool = False

    def line(self, measure: str, printed: str, topic: bytes, value: float) -> bytes:
        """Give one line of output."""
        if measure in _WHOLE and not self.as_zscores:
            return _line(printed, topic, str(int(value)))
        shown = "  -nan" if math.isnan(value) else f"{value:6.4f}"
        return (b"Z" if self.as_zscores else b"") + _line(printed, topic, shown)


def trec_eval(arguments: Sequence[str]) -> Printed:
    """Do what trec_eval does with this command line."""
    try:
        options = parsed(arguments)
        if options.show_version:
            return Printed(errors=f"trec_eval version {options.version} as Cranfield {__version__} has it\n")
        if options.help:
            return Printed(output=_help(options).encode())
        return _evaluated(options)
    except Refused as refused:
        return Printed(errors=refused.message, status=refused.status)


def _help(options: TrecOptions) -> str:
    names = " ".join(measures_of_version(options.version))
    return f"{USAGE}\nMeasures of version {options.version}: {names}\nWhat they mean: cranfield measures\n"


def _evaluated(options: TrecOptions) -> Printed:
    given = read_input(options)
    cells, message = _evaluated_topics(given, options)
    if not len(cells) and not message:
        text = "trec_eval: No queries with both results and relevance info\n"
        return Printed(errors=text, status=_NOTHING_IN_COMMON)
    wanted = [name for name in ORDER if name in options.measures]
    table = _table(given, options, cells, wanted)
    lines = list(_topic_lines(table, wanted)) if options.per_topic else []
    if message:
        return Printed(b"".join(lines), message, _CANNOT)
    if options.summary:
        lines.extend(_summary_lines(table, wanted, given, options))
    return Printed(b"".join(lines))


def _evaluated_topics(given: TrecInput, options: TrecOptions) -> tuple[list[int], str]:
    """Give the topics that are evaluated, and what is said when one stops the program before the end."""
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


def _table(given: TrecInput, options: TrecOptions, cells: list[int], wanted: list[str]) -> _Table:
    absent = np.array([not given.present[place] for place in cells], dtype=bool)
    lists = _chosen(given.lists, cells, absent, options)
    asked = {name: Asked(lists, name, options.parameter(name), options) for name in wanted if name != "runid"}
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {name: values_of(one) for name, one in asked.items()}
    _clear_absent(values, absent)
    topics = [given.topics[place] for place in cells]
    if options.zscores is not None:
        values = standardised(values, topics, read_zscores(Path(options.zscores)))
    strings = {}
    if "relstring" in asked:
        one = asked["relstring"]
        cleared = absent if one.full_name == "relstring" else np.zeros(len(cells), dtype=bool)
        strings[one.full_name] = ["" if cleared[cell] else relevance_string(one, cell) for cell in range(len(cells))]
    return _Table(topics, values, strings, as_zscores=options.zscores is not None)


def _chosen(lists: Lists, cells: list[int], absent: np.ndarray, options: TrecOptions) -> Lists:
    """Give the lists of some topics; a missing one is a list of one document that nobody knows, as in version 10."""
    taken_out = options.judged_only or (options.depth is not None and options.depth <= 0)
    unknown = np.array([] if taken_out else [NOT_POOLED], dtype=np.int32)
    parts = [lists.grades[lists.offsets[cell] : lists.offsets[cell + 1]] for cell in cells]
    parts = [unknown if gone else part for part, gone in zip(parts, absent, strict=True)]
    lengths = [len(part) for part in parts]
    return replace(
        lists,
        grades=np.concatenate([np.empty(0, dtype=np.int32), *parts]),
        offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        topics=np.arange(len(cells)),
        level_counts=lists.level_counts[cells],
        _relevant={},
    )


def _clear_absent(values: NamedValues, absent: np.ndarray) -> None:
    """Take away what the one unknown document has brought to missing topics, as far as version 10 does."""
    for named in values.values():
        for printed, value in named.items():
            if printed in ("num_ret", "utility", "rbp_resid") or printed.startswith("unj"):
                value[absent] = 0.0


def _topic_lines(table: _Table, wanted: list[str]) -> Iterator[bytes]:
    shown = [name for name in wanted if name not in _ONLY_IN_SUMMARY]
    for place, topic in enumerate(table.topics):
        for name in shown:
            if name == "relstring":
                for printed, strings in table.strings.items():
                    yield _line(printed, topic, f"'{strings[place]}'")
                continue
            for printed, value in table.values[name].items():
                yield table.line(name, printed, topic, float(value[place]))


def _summary_lines(table: _Table, wanted: list[str], given: TrecInput, options: TrecOptions) -> Iterator[bytes]:
    topics = len(given.topics) if options.complete else len(table.topics)
    for name in wanted:
        if name == "runid":
            yield b"%-22s\t%s\t%s\n" % (b"runid", b"all", given.run_id)
        elif name != "relstring":
            for printed, value in table.values[name].items():
                yield table.line(name, printed, b"all", _whole(name, value, topics, given, options))


def _whole(name: str, value: Values, topics: int, given: TrecInput, options: TrecOptions) -> float:
    """Give the summary of a measure: a sum for counts, a geometric mean where the name says so, else the mean."""
    if name == "num_q":
        return topics
    if name == "num_rel" and options.complete:
        return given.judged_relevant
    total = sequential_sum(value)
    if name in _WHOLE:
        return total
    if name in _GEOMETRIC:
        return math.exp((total + (topics - len(value)) * math.log(SMALLEST)) / topics)
    return total / topics


def _line(name: str, topic: bytes, value: str) -> bytes:
    return b"%-22s\t%s\t%s\n" % (name.encode(), topic, value.encode())
