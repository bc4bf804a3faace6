"""The command line of trec_eval."""

from __future__ import annotations

import getopt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from cranfield.evaluate.align import Reference

# The measures of trec_eval, in the order in which it prints them, and its nicknames for some of them together.

ORDER = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
    "relstring",
    "recall",
    "infAP",
    "gm_bpref",
    "Rprec_mult",
    "utility",
    "11pt_avg",
    "binG",
    "G",
    "dcg",
    "ideal_dcg",
    "ndcg",
    "ndcg_rel",
    "Rndcg",
    "ndcg_cut",
    "map_cut",
    "relative_P",
    "success",
    "set_P",
    "set_relative_P",
    "set_recall",
    "set_map",
    "set_F",
    "num_nonrel_judged_ret",
    "yaap",
    "rbp",
    "rbp_resid",
    "unj",
)

_ONLY_IN_10 = frozenset({"dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"})
_NOT_IN_ALL = frozenset({"dcg", "ideal_dcg", "yaap"})
_OFFICIAL = ORDER[: ORDER.index("P") + 1]
_SET = (*ORDER[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F")

NICKNAMES = ("official", "set", "all_trec")

LEVELS = tuple(level / 10 for level in range(11))
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
DEFAULT_CUTOFFS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("P", "recall", "ndcg_cut", "map_cut", "relative_P"), CUTOFFS),
    "success": (1, 5, 10),
    "unj": (5, 10, 20),
}
DEFAULT_LEVELS: dict[str, tuple[float, ...]] = {
    "iprec_at_recall": LEVELS,
    "Rprec_mult": tuple(step / 10 for step in range(2, 21, 2)),
}


def measures_of_version(version: Reference) -> list[str]:
    """Give the names a version knows, in printing order."""
    return [name for name in ORDER if version == "10" or name not in _ONLY_IN_10]


def nickname(name: str, version: Reference) -> Sequence[str] | None:
    """Give the measures a nickname stands for; None where it is none."""
    everything = [known for known in measures_of_version(version) if known not in _NOT_IN_ALL]
    return {"official": _OFFICIAL, "set": _SET, "all_trec": everything}.get(name)


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
    """What was asked for. `measures` are the names, `parameters` what followed their first point."""

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
    parameters: tuple[tuple[str, str], ...] = ()
    help: bool = False
    show_version: bool = False
    files: tuple[str, ...] = ()

    def parameter(self, name: str) -> str | None:
        """Give the parameters of a measure; of several the first, as trec_eval does."""
        return next((text for named, text in self.parameters if named == name), None)


def parsed(arguments: Sequence[str]) -> TrecOptions:
    """Read the command line as getopt does: letters may stand together, and options after files."""
    try:
        found, files = getopt.gnu_getopt(list(arguments), _SHORT, list(_LONG))
    except getopt.GetoptError as error:
        raise Refused(f"trec_eval: {error.msg}\n{USAGE}", 1) from None
    letters = {f"--{name.rstrip('=')}": letter for name, letter in _LONG.items()}
    pairs = [(letters.get(option, option.lstrip("-")), value) for option, value in found]
    options = TrecOptions(version=_version(pairs), files=tuple(files))
    for letter, value in pairs:
        options = _with(options, letter, value)
    if options.help or options.show_version:
        return options
    if len(files) != 2:
        raise Refused(USAGE, 1)
    if not options.measures:
        options = replace(options, measures=frozenset(nickname("official", options.version) or ()))
    return options


def whole_number(text: str) -> int:
    """Read what C's atol reads: blanks, a sign, digits; 0 where there are none."""
    text = text.lstrip(" \t\n\v\f\r")
    sign = text[:1] if text[:1] in ("+", "-") else ""
    digits = ""
    for letter in text[len(sign) :]:
        if not ("0" <= letter <= "9"):
            break
        digits += letter
    return int(sign + digits) if digits else 0


def _version(pairs: list[tuple[str, str]]) -> Reference:
    wanted = [value for letter, value in pairs if letter == "as"]
    if wanted and wanted[-1] not in ("9", "10"):
        raise Refused(f"trec_eval: --as takes 9 or 10, not '{wanted[-1]}'\n", 1)
    return "9" if wanted and wanted[-1] == "9" else "10"


_FLAGS: dict[str, dict[str, object]] = {
    "h": {"help": True},
    "v": {"show_version": True},
    "q": {"per_topic": True},
    "c": {"complete": True},
    "n": {"summary": False},
    "J": {"judged_only": True},
}


def _with(options: TrecOptions, letter: str, value: str) -> TrecOptions:
    if letter in _FLAGS:
        return replace(options, **_FLAGS[letter])  # type: ignore[arg-type]
    if letter == "m":
        return _with_measure(options, value)
    if letter in "lNM":
        field = {"l": "level", "N": "documents", "M": "depth"}[letter]
        return replace(options, **{field: whole_number(value)})  # type: ignore[arg-type]
    if letter == "Z":
        return replace(options, zscores=value)
    if letter == "D" and "." in value:
        raise Refused("trec_eval: -D with a topic is out of Cranfield's scope; evaluate --topics takes some\n", 1)
    if letter == "R" and value in _PREFERENCES:
        raise Refused("trec_eval: preference judgments are out of Cranfield's scope; it reads qrels\n", 1)
    if (letter == "R" and value != "qrels") or (letter == "T" and value != "trec_results"):
        raise Refused(f"trec_eval: Illegal format '{value}'\n", 2)
    return options


def _with_measure(options: TrecOptions, value: str) -> TrecOptions:
    name, point, text = value.partition(".")
    if point and not text:
        raise Refused(f"trec_eval: improper measure in parameter '{name}'\ntrec_eval: illegal measure '{value}'\n", 1)
    if name.startswith("prefs") or name.endswith("_avgjg") or name in ("all_prefs", "qrels_jg"):
        raise Refused(f"trec_eval: '{name}': preference measures are out of Cranfield's scope\n", 1)
    names = nickname(name, options.version) if name in NICKNAMES else (name,)
    if not set(names or ()) <= set(measures_of_version(options.version)):
        raise Refused(f"trec_eval: illegal measure '{name}'\n", 1)
    parameters = (*options.parameters, (name, text)) if point else options.parameters
    return replace(options, measures=options.measures | set(names or ()), parameters=parameters)


# Parameters of measures as trec_eval reads them: cutoffs, numbers, pairs of grade and gain.

Number = TypeVar("Number", int, float)

_NUMBER = re.compile(
    r"[ \t\n\v\f\r]*([+-]?)(?:(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)"
    r"|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(inf(?:inity)?)|(nan))",
    re.IGNORECASE,
)


def real_number(text: str) -> float:
    """Read what C's atof reads: the longest beginning that is a number, decimal or hexadecimal; 0 without one."""
    found = _NUMBER.match(text)
    if found is None:
        return 0.0
    sign, hexadecimal, decimal, infinite, _ = found.groups()
    if hexadecimal:
        size = _hexadecimal(hexadecimal)
    elif decimal:
        size = float(decimal)
    else:
        size = float("inf") if infinite else float("nan")
    return -size if sign == "-" else size


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("inf")


def cutoffs(text: str, name: str) -> tuple[int, ...]:
    """Read whole-number cutoffs; they are sorted, positive and distinct."""
    found = sorted(whole_number(word) for word in text.split(","))
    if found[0] <= 0:
        raise Refused(f"trec_eval: Negative cutoff detected\n{_cannot(name)}", 2)
    return tuple(_distinct(found, name))


def levels(text: str, name: str) -> tuple[float, ...]:
    """Read levels; they are sorted and distinct."""
    return tuple(_distinct(sorted(real_number(word) for word in text.split(",")), name))


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers in the order given."""
    return tuple(real_number(word) for word in text.split(","))


def pairs(text: str, name: str) -> tuple[tuple[str, float], ...]:
    """Read pairs like `1=3.5,2=9`."""
    found = [word.split("=") for word in text.split(",")]
    if any(len(pair) != 2 for pair in found):
        raise Refused(f"trec_eval: malformed pair parameters in '{text}'\n{_cannot(name)}", 2)
    return tuple((key, real_number(value)) for key, value in found)


def gains(found: tuple[tuple[str, float], ...]) -> tuple[tuple[int, float], ...]:
    """Give the pairs whose name is a whole number, as gains per grade; unjudged documents can have none."""
    named = tuple((int(key), value) for key, value in found if re.fullmatch(r"[+-]?[0-9]+", key))
    if any(grade < 0 for grade, _ in named):
        raise Refused("trec_eval: gains of documents that are not judged are out of Cranfield's scope\n", 1)
    return named


def _distinct(found: list[Number], name: str) -> list[Number]:
    if len(set(found)) != len(found):
        raise Refused(f"trec_eval: duplicate cutoffs detected\n{_cannot(name)}", 2)
    return found


def _cannot(name: str) -> str:
    return f"trec_eval: Cannot initialize measure '{name}'\n"


# Files read exactly as forgivingly, and exactly as strictly, as trec_eval reads them.

Judged = dict[bytes, dict[bytes, int]]
Ranked = dict[bytes, list[tuple[bytes, float]]]

_QRELS_COLUMNS, _RUN_COLUMNS = 4, 6
_HIGHEST = int(np.iinfo(np.int32).max)


def lenient_qrels(data: bytes, options: TrecOptions) -> tuple[Judged, dict[bytes, str]]:
    """Give the grades of each topic, and what trec_eval says of topics that judge a document twice."""
    judged: Judged = {}
    broken: dict[bytes, str] = {}
    after_comment = False
    rows = 0
    for line in _lines(data):
        # Version 10 looks for a comment once per row, so that a second comment in a row is taken for a row.
        if options.version == "10" and line.startswith(b"#") and not after_comment:
            after_comment = True
            continue
        after_comment = False
        words = line.split()
        rows += 1
        if len(words) != _QRELS_COLUMNS:
            raise _malformed("qrels", rows, options.files[0])
        topic, _, document, grade = words
        grades = judged.setdefault(topic, {})
        if document in grades:
            shown = document.decode("utf-8", "replace")
            broken.setdefault(topic, f"trec_eval.form_res_rels: duplicate docs {shown}\n")
        grades[document] = _grade(grade)
    return judged, broken


def lenient_run(data: bytes, options: TrecOptions) -> tuple[Ranked, bytes]:
    """Give the ranking of each topic and the tag of the last line."""
    ranking: Ranked = {}
    run_id = b""
    rows = 0
    for line in _lines(data):
        words = line.split(None, _RUN_COLUMNS)
        if not words or (options.version == "10" and words[0].startswith(b"#")):
            continue
        rows += 1
        if len(words) < _RUN_COLUMNS:
            raise _malformed("results", rows, options.files[1])
        run_id = words[5]
        ranking.setdefault(words[0], []).append((words[2], _score(words[4], options)))
    for found in ranking.values():
        found.sort(key=lambda row: row[0], reverse=True)
        found.sort(key=lambda row: (row[1] != row[1], -row[1] if row[1] == row[1] else 0.0))
    return ranking, run_id


def _lines(data: bytes) -> list[bytes]:
    """Cut the file at line feeds, up to the first NUL, where a C string ends."""
    lines = data.partition(b"\0")[0].split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _grade(text: bytes) -> int:
    return max(-_HIGHEST, min(_HIGHEST, whole_number(text.decode("latin-1"))))


def _score(text: bytes, options: TrecOptions) -> float:
    score = real_number(text.decode("latin-1"))
    if options.version == "10":
        return score
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(score))


def _malformed(noun: str, row: int, name: str) -> Refused:
    """Say which row is malformed; comments and empty lines are not counted, as there."""
    text = f"trec_eval.get_{noun}: Malformed line {row}\ntrec_eval: Quit in file '{name}'\n"
    return Refused(text, 2)
