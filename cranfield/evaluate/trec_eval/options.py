"""The command line of trec_eval."""

from __future__ import annotations

import getopt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.evaluate.align import Reference
from cranfield.evaluate.trec_eval.names import measures_of_version, nickname

USAGE = """Usage: cranfield trec-eval [-h] [-q] [-c] [-n] [-J] [-l LEVEL] [-M DEPTH] [-N DOCUMENTS] [-Z FILE]
                           [-m MEASURE[.PARAMETERS]]... [--as 9|10] QRELS RUN
   -h: help
   -q: print every topic, not the summary alone
   -m: a measure, or official (the default), set, all_trec
"""

_SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
_LONG = {
    "help": "h",
    "version": "v",
    "query_eval_wanted": "q",
    "measure=": "m",
    "complete_rel_info_wanted": "c",
    "level_for_rel=": "l",
    "nosummary": "n",
    "Debug_level=": "D",
    "Judged_docs_only": "J",
    "Number_docs_in_coll=": "N",
    "Max_retrieved_per_topic=": "M",
    "Rel_info_format=": "R",
    "Results_format=": "T",
    "Output_old_results_format=": "o",
    "Zscore=": "Z",
    "as=": "as",
}
_PREFERENCES = ("prefs", "qrels_prefs", "qrels_jg")


class Refused(Exception):
    """trec_eval would stop here: what it says on standard error, and its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message, self.status = message, status


@dataclass(frozen=True)
class TrecOptions:
    """The parsed options. `measures` are the names, `parameters` the text after the first point of each.

    Of several for one measure the first counts, as in trec_eval.
    """

    version: Reference = "10"
    per_topic: bool = False
    complete: bool = False
    level: int = 1
    summary: bool = True
    judged_only: bool = False
    documents: int = 0
    depth: int | None = None
    zscores: str | None = None
    measures: frozenset[str] = frozenset()
    parameters: Mapping[str, str] = field(default_factory=dict)
    help: bool = False
    show_version: bool = False
    files: tuple[str, ...] = ()


_FLAGS: dict[str, dict[str, object]] = {
    "h": {"help": True},
    "v": {"show_version": True},
    "q": {"per_topic": True},
    "c": {"complete": True},
    "n": {"summary": False},
    "J": {"judged_only": True},
}
_NUMBERS = {"l": "level", "N": "documents", "M": "depth"}


def parsed(arguments: Sequence[str]) -> TrecOptions:
    """Read the command line as getopt does: letters may stand together, and options after files."""
    try:
        found, files = getopt.gnu_getopt(list(arguments), _SHORT, list(_LONG))
    except getopt.GetoptError as error:
        raise Refused(f"trec_eval: {error.msg}\n{USAGE}", 1) from None
    letters = {f"--{name.rstrip('=')}": letter for name, letter in _LONG.items()}
    pairs = [(letters.get(option, option.lstrip("-")), value) for option, value in found]
    version = ([value for letter, value in pairs if letter == "as"] or ["10"])[-1]
    if version not in ("9", "10"):
        raise Refused(f"trec_eval: --as must be 9 or 10, not '{version}'\n", 1)
    settings: dict[str, Any] = {}
    measures, parameters = set[str](), dict[str, str]()
    for letter, value in pairs:
        if letter in _FLAGS:
            settings |= _FLAGS[letter]
        elif letter in _NUMBERS:
            settings[_NUMBERS[letter]] = whole_number(value)
        elif letter == "m":
            name, point, text = value.partition(".")
            if point and not text:
                illegal = f"trec_eval: illegal measure '{value}'\n"
                raise Refused(f"trec_eval: improper measure in parameter '{name}'\n{illegal}", 1)
            if name.startswith("prefs") or name.endswith("_avgjg") or name in ("all_prefs", "qrels_jg"):
                raise Refused(f"trec_eval: '{name}': preference measures are not supported\n", 1)
            names = set(nickname(name, version) or [name])
            if not names <= set(measures_of_version(version)):
                raise Refused(f"trec_eval: illegal measure '{name}'\n", 1)
            measures |= names
            if point:
                parameters.setdefault(name, text)
        elif letter == "Z":
            settings["zscores"] = value
        elif letter == "D" and "." in value:
            raise Refused(
                "trec_eval: -D with a topic is not supported; select topics with cranfield evaluate --topics FILE\n",
                1,
            )
        elif letter == "R" and value in _PREFERENCES:
            raise Refused("trec_eval: preference judgments are not supported, only qrels\n", 1)
        elif (letter == "R" and value != "qrels") or (letter == "T" and value != "trec_results"):
            raise Refused(f"trec_eval: Illegal format '{value}'\n", 2)
    if len(files) != 2 and not settings.keys() & {"help", "show_version"}:
        raise Refused(USAGE, 1)
    chosen = frozenset(measures or nickname("official", version) or ())
    reference: Reference = "9" if version == "9" else "10"
    return TrecOptions(reference, measures=chosen, parameters=parameters, files=tuple(files), **settings)


# Parameters of measures as trec_eval reads them: cutoffs, numbers, pairs of grade and gain.

_CANNOT = "trec_eval: Cannot initialize measure '{}'\n"
_WHOLE_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_NUMBER = re.compile(
    r"[ \t\n\v\f\r]*([+-]?)(?:(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)"
    r"|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(inf(?:inity)?)|(nan))",
    re.IGNORECASE,
)


def whole_number(text: str) -> int:
    """Read what C's atol reads: blanks, a sign, digits, as many as it can hold; 0 where there are none."""
    found = _WHOLE_NUMBER.match(text)
    return int(found[1][:18]) if found else 0


def real_number(text: str) -> float:
    """Read what C's atof reads: the longest beginning that is a number, decimal or hexadecimal; 0 without one."""
    found = _NUMBER.match(text)
    if found is None:
        return 0.0
    sign, hexadecimal, decimal, infinite, _ = found.groups()
    size = float("inf") if infinite else float("nan")
    if decimal:
        size = float(decimal)
    elif hexadecimal:
        try:
            size = float.fromhex(hexadecimal)
        except OverflowError:
            size = float("inf")
    return -size if sign == "-" else size


def cutoffs(text: str, name: str, *, whole: bool) -> tuple[float, ...]:
    """Read cutoffs, which are whole numbers above 0, or levels; they are sorted and distinct."""
    found = sorted((whole_number if whole else real_number)(word) for word in text.split(","))
    fault = "Negative cutoff" if whole and found[0] <= 0 else "duplicate cutoffs"
    if (whole and found[0] <= 0) or len(set(found)) != len(found):
        raise Refused(f"trec_eval: {fault} detected\n{_CANNOT.format(name)}", 2)
    return tuple(found)


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers in the order given."""
    return tuple(real_number(word) for word in text.split(","))


def pairs(text: str, name: str) -> tuple[tuple[str, float], ...]:
    """Read pairs like `1=3.5,2=9`."""
    found = [word.split("=") for word in text.split(",")]
    if any(len(pair) != 2 for pair in found):
        raise Refused(f"trec_eval: malformed pair parameters in '{text}'\n{_CANNOT.format(name)}", 2)
    return tuple((key, real_number(value)) for key, value in found)


def gains(found: tuple[tuple[str, float], ...]) -> tuple[tuple[int, float], ...]:
    """The pairs whose name is a whole number, as gains per grade; unjudged documents can have none."""
    named = tuple((whole_number(key), value) for key, value in found if re.fullmatch(r"[+-]?[0-9]+", key))
    if any(grade < 0 for grade, _ in named):
        raise Refused("trec_eval: gains of documents that are not judged are out of Cranfield's scope\n", 1)
    return named
