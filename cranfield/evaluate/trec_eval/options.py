"""The command line of trec_eval."""

import getopt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cranfield.evaluate.align import Reference
from cranfield.evaluate.trec_eval.catalogue import NICKNAMES, measures_of_version, nickname

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
