"""What trec_eval prints, and the status it ends with."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cranfield._version import __version__
from cranfield.evaluate.aggregate import SMALLEST, sequential_sum
from cranfield.evaluate.lists import NOT_POOLED, Lists, Values
from cranfield.evaluate.trec_eval.catalogue import ORDER, measures_of_version
from cranfield.evaluate.trec_eval.inputs import TrecInput, read_input
from cranfield.evaluate.trec_eval.options import USAGE, Refused, TrecOptions, parsed
from cranfield.evaluate.trec_eval.values import Asked, relevance_string, values_of
from cranfield.evaluate.trec_eval.zscores import NamedValues, read_zscores, standardised

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
