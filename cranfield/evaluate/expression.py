"""Measures as values: an expression like `nDCG(gain='exponential')@10` is parsed, printed and compared.

The spelling is ir_measures': a name, parameters in brackets, a cutoff after @. trec_eval's spelling (`map`, `P_10`,
`ndcg_cut.10,20`) is understood everywhere and printed in ours.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from io import StringIO
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError, UnknownName, UsageError, quoted
from cranfield.base.text import counted
from cranfield.evaluate.align import Alignment, documents_of
from cranfield.evaluate.lists import GradeGains, Lists, Values, gain_function
from cranfield.evaluate.measure import COMMON, Aggregate, MeasureKind, Parameter, Setting, measures
from cranfield.evaluate.trec_eval.options import DEFAULT_CUTOFFS, DEFAULT_LEVELS, NICKNAMES, nickname
from cranfield.qrels.judgment_files import SubtopicRow
from cranfield.runs.run import Run

# Reads the letters of a measure expression: name, settings with their positions, cutoff.

_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BLANKS = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Scanned:
    """The parts of an expression; settings are (name, value, position of the name from 1)."""

    text: str
    name: str
    settings: tuple[tuple[str, Setting, int], ...] = ()
    cutoff: float | None = None


class _Reader:
    """A place in a text that moves to the right."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def fail(self, expected: str) -> UsageError:
        seen = quoted(self.text[self.place]) if self.place < len(self.text) else "the end"
        return UsageError(f"{self.text}: expected {expected} at position {self.place + 1}, found {seen}")

    def take(self, pattern: re.Pattern[str]) -> str | None:
        self.place = _BLANKS.match(self.text, self.place).end()  # type: ignore[union-attr]
        found = pattern.match(self.text, self.place)
        if found is None:
            return None
        self.place = found.end()
        return found.group()

    def needed(self, pattern: re.Pattern[str], expected: str) -> str:
        found = self.take(pattern)
        if found is None:
            raise self.fail(expected)
        return found

    def sign(self, letter: str) -> bool:
        return self.take(re.compile(re.escape(letter))) is not None


def scanned(text: str) -> Scanned:
    """Take an expression apart, or say at which position it cannot go on."""
    reader = _Reader(text)
    name = reader.needed(_NAME, "the name of a measure")
    settings: list[tuple[str, Setting, int]] = []
    if reader.sign("("):
        while not reader.sign(")"):
            if settings and not reader.sign(","):
                raise reader.fail("a comma or )")
            settings.append(_setting(reader))
            names = [one for one, _, _ in settings]
            if len(set(names)) < len(names):
                raise UsageError(f"{text}: {names[-1]} is set twice")
    cutoff = float(reader.needed(_NUMBER, "a number")) if reader.sign("@") else None
    if reader.sign(","):
        raise UsageError(f"{text}: one measure was expected; of several each has its own -m, or blanks between them")
    if reader.take(re.compile(r".")) is not None:
        reader.place -= 1
        raise reader.fail("the end")
    return Scanned(text, name, tuple(settings), cutoff)


def _setting(reader: _Reader) -> tuple[str, Setting, int]:
    name = reader.needed(_NAME, "the name of a parameter")
    position = reader.place - len(name) + 1
    if not reader.sign("="):
        raise reader.fail("=")
    return name, _value(reader), position


def _value(reader: _Reader) -> Setting:
    for quote in "'\"":
        if reader.sign(quote):
            inside = reader.take(re.compile(f"[^{quote}]*")) or ""
            if not reader.sign(quote):
                raise reader.fail(f"a closing {quote}")
            return inside
    if reader.sign("{"):
        return _mapping(reader)
    number = reader.take(_NUMBER)
    if number is not None:
        return float(number) if set(number) & set(".eE") else int(number)
    word = reader.needed(_WORD, "a value")
    return {"True": True, "False": False, "true": True, "false": False}.get(word, word)


def _mapping(reader: _Reader) -> tuple[tuple[int, float], ...]:
    pairs: dict[int, float] = {}
    while not reader.sign("}"):
        if pairs and not reader.sign(","):
            raise reader.fail("a comma or }")
        grade = int(reader.needed(re.compile(r"[+-]?[0-9]+"), "a grade"))
        if not reader.sign(":"):
            raise reader.fail("a colon")
        pairs[grade] = float(reader.needed(_NUMBER, "a gain"))
    return tuple(sorted(pairs.items()))


# trec_eval's names for measures, in our words.

_PLAIN = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_nonrel_judged_ret": "NumJudgedNonrel",
    "map": "AP",
    "gm_map": "AP(agg=geometric)",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "gm_bpref": "Bpref(agg=geometric)",
    "recip_rank": "RR",
    "infAP": "infAP",
    "11pt_avg": "IPrecAvg",
    "binG": "BinG",
    "G": "G",
    "dcg": "DCG",
    "ideal_dcg": "IdealDCG",
    "ndcg": "nDCG",
    "ndcg_rel": "nDCGRel",
    "Rndcg": "RnDCG",
    "set_P": "SetP",
    "set_relative_P": "SetP(relative=True)",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "utility": "Utility",
    "yaap": "YAAP",
    "rbp": "RBP(p=0.9, gain=topic)",
    "rbp_resid": "RBPResidual(p=0.9)",
}
_CUT: dict[str, Callable[[str], str]] = {
    "P": "P@{}".format,
    "recall": "R@{}".format,
    "ndcg_cut": "nDCG@{}".format,
    "map_cut": "AP@{}".format,
    "relative_P": "RelativeP@{}".format,
    "success": "Success@{}".format,
    "unj": "Unjudged(over=cutoff)@{}".format,
    "iprec_at_recall": "IPrec@{}".format,
    "Rprec_mult": "Rprec(times={})".format,
}
_NOT_NUMBERS = ("runid", "relstring")
_LEVELS = ("iprec_at_recall", "Rprec_mult")
_COEFFICIENTS = 4
_SIGNED = r"[+-]?[0-9.]+"
_WITH_NUMBERS = re.compile(rf"(utility|set_F|11pt_avg)[._]({_SIGNED}(?:,{_SIGNED})*)")
_WITH_PERSISTENCE = re.compile(r"rbp[._]((?:p|[0-9]+)=[0-9.]+(?:,(?:p|[0-9]+)=[0-9.]+)*)")
_PREFERENCES = re.compile(r"prefs?_\w+(\.\S*)?|\w+_avgjg(_\w+)?(\.\S*)?")
_GAINS = ("ndcg", "dcg", "ideal_dcg", "ndcg_rel", "Rndcg", "G")
_WITH_CUTOFF = re.compile(rf"({'|'.join(_CUT)})(?:_([0-9.]+)|\.([0-9.,]+))?")
_WITH_GAINS = re.compile(rf"({'|'.join(_GAINS)})[._]((?:[0-9]+=[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?,?)+)")


def in_our_words(text: str) -> list[str] | None:
    """Give the expressions that a name of trec_eval means; None where it is no such name.

    A family without a cutoff means its usual ones, and a nickname (`official`, `all_trec`, `set`) many measures;
    what is not a number (runid, relstring) is left out of those. Cutoffs lose what is behind their decimal point, as
    they do there. Measures of preferences are refused.
    """
    if text in _PLAIN:
        return [_PLAIN[text]]
    if text in ("runid", "relstring"):
        raise UsageError(f"{text} is not a number; cranfield trec-eval prints it")
    if _PREFERENCES.fullmatch(text):
        raise UsageError(f"{text}: measures of preferences are out of scope")
    if text in NICKNAMES:
        names = [name for name in nickname(text, "10") or () if name not in _NOT_NUMBERS]
        return [expression for name in names for expression in in_our_words(name) or []]
    family = _WITH_CUTOFF.fullmatch(text)
    if family:
        name, one, several = family.groups()
        cutoffs = several.split(",") if several else [one] if one else _usual(name)
        return [_CUT[name](_shortened(cutoff, whole=name not in _LEVELS)) for cutoff in cutoffs]
    graded = _WITH_GAINS.fullmatch(text)
    if graded:
        pairs = ", ".join(pair.replace("=", ": ") for pair in graded.group(2).rstrip(",").split(","))
        return [f"{_PLAIN[graded.group(1)]}(gains={{{pairs}}})"]
    return _with_parameters(text)


def _with_parameters(text: str) -> list[str] | None:
    """Give the expression of a measure whose parameters have names here and none there."""
    numbered = _WITH_NUMBERS.fullmatch(text)
    if numbered:
        name, given = numbered.group(1), numbered.group(2).split(",")
        if name == "11pt_avg":
            return [f"IPrecMean(levels='{','.join(given)}')"]
        wanted = _COEFFICIENTS if name == "utility" else 1
        if len(given) != wanted:
            raise UsageError(f"{text}: {name} takes {counted(wanted, 'number')}, not {len(given)}")
        names = "abcd" if name == "utility" else ("beta",)
        settings = ", ".join(f"{word}={value}" for word, value in zip(names, given, strict=True))
        return [f"{_PLAIN[name]}({settings})"]
    persistent = _WITH_PERSISTENCE.fullmatch(text)
    if persistent:
        named = dict(pair.split("=") for pair in persistent.group(1).split(","))
        p = named.pop("p", "0.9")
        gains = ", ".join(f"{grade}: {worth}" for grade, worth in named.items())
        return [f"RBPGains(p={p}, gains={{{gains}}})" if gains else f"RBP(p={p}, gain=topic)"]
    return None


def trec_names_of() -> dict[str, list[str]]:
    """Give for each of our expressions the names that mean it."""
    found: dict[str, list[str]] = {}
    for name, expression in _PLAIN.items():
        found.setdefault(expression.split("(")[0], []).append(name)
    for name, made in _CUT.items():
        found.setdefault(re.split("[(@]", made("1"))[0], []).append(f"{name}_k")
    return found


def _usual(name: str) -> list[str]:
    usual: tuple[float, ...] = DEFAULT_CUTOFFS.get(name) or DEFAULT_LEVELS[name]
    return [f"{cutoff:g}" for cutoff in usual]


def _shortened(cutoff: str, *, whole: bool) -> str:
    if not cutoff.replace(".", "", 1).isdigit():
        return cutoff
    return str(int(float(cutoff))) if whole else f"{float(cutoff):g}"


# Measures that we have not and ir_measures has: diversity, compatibility, models of users (extra `ir-measures`).

EXTRA = "ir-measures"
_ABSENT_PARAMETER = re.compile(r"invalid param (\w+)=<object object")
_REFUSALS = (ValueError, AssertionError, KeyError, TypeError)
_PROVIDER = re.compile(r"- (\S+) \((pip install [^)]+)\)")


@dataclass(frozen=True)
class ForeignMeasure:
    """A measure that ir_measures computes, by its expression as ir_measures prints it. Topics are averaged."""

    expression: str

    @property
    def aggregate(self) -> Aggregate:
        """How the values of topics are put together."""
        return "mean"

    @property
    def quality(self) -> bool:
        """Whether a higher value means a better run."""
        return True

    takes_verdict = False

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value of a list: ir_measures does not tell them."""
        return -math.inf, math.inf

    def __str__(self) -> str:
        return self.expression


def foreign_measure(text: str, unknown: UnknownName) -> ForeignMeasure:
    """Give the measure that ir_measures means by an expression whose name we do not know."""
    library = _library()
    if library is None:
        raise UsageError(
            f"{unknown}; what only ir_measures has needs the extra {EXTRA!r}: pip install 'cranfield[{EXTRA}]'"
        )
    try:
        return ForeignMeasure(str(library.parse_measure(text)))
    except NameError:
        known = [*unknown.known, *foreign_names(without=unknown.known)]
        raise UnknownName("measure", unknown.name, known) from None
    except KeyError as error:
        raise UsageError(f"{text}: ir_measures knows no parameter {error} of {unknown.name}") from None
    except (ValueError, AssertionError, TypeError) as error:
        raise UsageError(f"{text}: ir_measures cannot read this: {error}") from None


def foreign_names(*, without: Iterable[str] = ()) -> list[str]:
    """Give the names that ir_measures adds to the ones given; none where it is not installed."""
    library = _library()
    ours = set(without)
    return [] if library is None else sorted(name for name in library.measures.registry if name not in ours)


def described(measure: ForeignMeasure) -> str:
    """Give what ir_measures says about a measure."""
    parsed = importlib.import_module("ir_measures").parse_measure(str(measure))
    lines = [f"{measure}, computed by ir_measures", "", inspect.cleandoc(parsed.__doc__ or "").strip(), ""]
    lines += [f"  {name}  ({about.desc})" for name, about in parsed.SUPPORTED_PARAMS.items()]
    return "\n".join(lines) + "\n"


def foreign_values(
    measures: Sequence[ForeignMeasure], judged: Iterable[SubtopicRow], runs: Sequence[Run], aligned: Alignment
) -> NDArray[np.float64]:
    """Give the value of each measure for each run and topic of an alignment; 0 where a run lacks the topic."""
    library = _library()
    if library is None:
        raise UsageError(f"{measures[0]} needs the extra {EXTRA!r}: pip install 'cranfield[{EXTRA}]'")
    parsed = [library.parse_measure(str(measure)) for measure in measures]
    rows = [library.Qrel(row.topic, row.document, row.grade, row.subtopic) for row in judged if row.grade >= 0]
    places = {topic: place for place, topic in enumerate(aligned.topic_ids)}
    values = np.zeros((len(measures), *aligned.shape))
    with redirect_stderr(StringIO()):
        evaluator = _evaluator(library, parsed, rows)
        for number, run in enumerate(runs):
            for found in evaluator.iter_calc(_ranking(library, run, aligned)):
                if found.query_id in places:
                    values[parsed.index(found.measure), number, places[found.query_id]] = found.value
    return values


def _ranking(library: ModuleType, run: Run, aligned: Alignment) -> list[Any]:
    """Give the lists with falling numbers above 0: Compat takes a document that is not retrieved for one with 0."""
    ranked = [(topic, documents_of(run, topic, reference=aligned.reference)) for topic in aligned.topic_ids]
    return [
        library.ScoredDoc(topic, document, float(len(documents) - place))
        for topic, documents in ranked
        for place, document in enumerate(documents)
    ]


def _evaluator(library: ModuleType, measures: list[Any], rows: list[Any]) -> Any:
    """Give ir_measures' evaluator, or its refusal in one sentence."""
    try:
        return library.evaluator(measures, rows)
    except _REFUSALS as error:
        said = str(error)
    # One that will not do spoils all: which ones that are, each alone tells.
    refused = [str(measure) for measure in measures if not _takes(library, measure, rows)]
    raise _refused(said, ", ".join(refused or map(str, measures)))


def _takes(library: ModuleType, measure: Any, rows: list[Any]) -> bool:
    """Say whether ir_measures can compute one measure."""
    try:
        library.evaluator([measure], rows)
    except _REFUSALS:
        return False
    return True


def _refused(said: str, names: str) -> CranfieldError:
    absent = _ABSENT_PARAMETER.search(said)
    if absent:
        return UsageError(f"{names}: ir_measures needs the parameter {absent[1]}")
    providers = [f"{name}: {install}" for name, install in _PROVIDER.findall(said)]
    if providers:
        return UsageError(
            f"{names}: ir_measures leaves this to a library that is not installed; {'; '.join(providers)}"
        )
    if said.startswith("Unsupported measures"):
        return UsageError(
            f"{names}: no library behind ir_measures computes this; a cutoff or parameter may be missing"
        )
    return UsageError(f"{names}: ir_measures refuses this: {said}")


def _library() -> ModuleType | None:
    try:
        import ir_measures
    except ImportError:
        return None
    found: ModuleType = ir_measures
    return found


Settings = tuple[tuple[str, Setting], ...]

DEEPEST = 10**9
"""The highest cutoff: no list is as long."""


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters set, comparable and hashable.

    `settings` are the parameters that differ from their defaults, sorted by name. `threshold` is what `rel` is when
    nothing is said, as a collection has it; where it is not 1 the printed form always tells `rel`.
    """

    name: str
    settings: Settings = ()
    cutoff: int | float | None = None
    threshold: int = field(default=1, compare=False)

    @property
    def kind(self) -> MeasureKind:
        """The measure before its parameters are set."""
        return measures.get(self.name)

    @property
    def aggregate(self) -> Aggregate:
        """How the values of topics are put together."""
        chosen = dict(self.settings).get("agg", "")
        return chosen or self.kind.aggregate  # type: ignore[return-value]

    @property
    def rel(self) -> int | None:
        """The lowest grade that is relevant; None where the measure has no such threshold."""
        if "rel" not in self.kind.parameters:
            return None
        return int(dict(self.settings).get("rel", self.kind.parameters["rel"].default))  # type: ignore[arg-type]

    @property
    def quality(self) -> bool:
        """Whether a higher value means a better run."""
        return self.kind.quality

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value of a list, as far as they are known.

        Where a grade costs something nothing is known: the best possible ranking has no such document, a run may.
        """
        gains = dict(self.settings).get("gains")
        costs = isinstance(gains, tuple) and any(worth < 0 for _, worth in gains)
        return (-math.inf, math.inf) if costs or self.kind.bounds is None else self.kind.bounds

    @property
    def judged_only(self) -> bool:
        """Whether unjudged documents are taken out of the lists first."""
        return bool(dict(self.settings).get("judged_only"))

    @property
    def takes_verdict(self) -> bool:
        """Whether a verdict can be given: not on facts and counts, estimates from samples or condensed lists."""
        scored = self.quality and self.kind.unjudged in ("nonrelevant", "skipped")
        return scored and not self.judged_only and self.aggregate != "sum"

    @property
    def parameters(self) -> dict[str, Any]:
        """The value of every parameter of its own, and of the cutoff (None where it has none)."""
        defaults = {name: one.default for name, one in self.kind.parameters.items()}
        return {
            **defaults,
            **{name: value for name, value in self.settings if name in defaults},
            "cutoff": self.cutoff,
        }

    def gains(self, highest: int) -> Values | None:
        """Give the gain of each grade from 0 to the highest; None where it depends on the topic's documents."""
        grades, parameters = np.arange(highest + 1, dtype=np.int32), self.parameters
        if "gains" in parameters:
            return gain_function(parameters.get("gain", "linear"), parameters["gains"])(grades)
        if self.kind.gains is not None:
            return self.kind.gains(grades, **parameters)  # type: ignore[no-any-return]
        return (grades >= (self.rel or 1)).astype(float)

    def weight(self, rank: NDArray[np.int64]) -> Values | None:
        """Give what one unit of gain is worth at each rank; None where that depends on other documents."""
        if self.kind.weight is None or self.judged_only:
            return None
        return self.kind.weight(rank, **self.parameters)  # type: ignore[no-any-return]

    def tail(self, rank: NDArray[np.int64]) -> Values | None:
        """Give the share of all weight that lies below each rank; None where weights end, or there are none."""
        return None if self.kind.tail is None else self.kind.tail(rank, **self.parameters)

    def values(self, lists: Lists) -> Values:
        """Give the value of each list."""
        settings = {name: value for name, value in self.settings if name not in COMMON}
        if self.cutoff is not None:
            settings["cutoff"] = self.cutoff
        chosen = lists.condensed if self.judged_only else lists
        return self.kind.function(chosen, **settings)  # type: ignore[no-any-return]

    def with_setting(self, name: str, value: Setting) -> Measure:
        """Give the same measure with one parameter set otherwise."""
        parameter = _parameter(self.kind, name)
        kept = dict(self.settings)
        kept[name] = parameter.checked(value)
        return replace(self, settings=_settled(self.kind, kept))

    def __str__(self) -> str:
        shown = dict(self.settings)
        if self.threshold != 1 and _takes_threshold(self.kind):
            shown["rel"] = self.rel or 0
        inside = ", ".join(f"{name}={_printed(value)}" for name, value in sorted(shown.items()))
        level = "" if self.cutoff is None else f"@{_printed(self.cutoff)}"
        return f"{self.name}({inside}){level}" if inside else f"{self.name}{level}"


AnyMeasure = Measure | ForeignMeasure
"""A measure of ours, or one that ir_measures computes."""


def parse_measure(text: str, *, threshold: int = 1) -> Measure:
    """Give the one measure that an expression means."""
    found = parse_measures([text], threshold=threshold)
    if len(found) != 1:
        raise UsageError(f"{quoted(text)} means {len(found)} measures, one was expected")
    return own_measures(found)[0]


def own_measures(found: Sequence[AnyMeasure]) -> list[Measure]:
    """Give measures that see arrays alone; one of ir_measures among them is refused."""
    for one in found:
        if isinstance(one, ForeignMeasure):
            raise UsageError(f"{one} is computed by ir_measures from documents; it can be evaluated, but not here")
    return [one for one in found if isinstance(one, Measure)]


def parse_measures(texts: Sequence[str], *, threshold: int = 1, gains: GradeGains = ()) -> list[AnyMeasure]:
    """Give the measures that expressions mean, without repetitions, in the order given.

    A text may hold several expressions with blanks between them, and a name of trec_eval can mean several measures.
    `threshold` is what `rel` is where an expression does not say it, and `gains` what grades are worth where it says
    nothing of gains. A name that is not ours may be ir_measures'.
    """
    found: dict[AnyMeasure, None] = {}
    for text in texts:
        for part in _parts(text):
            for expression in in_our_words(part) or [part]:
                found.setdefault(_measure(scanned(expression), threshold, gains))
    return list(found)


def _parts(text: str) -> Iterator[str]:
    """Cut at blanks that are not inside brackets."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter in "({") - (letter in ")}")
        if letter.isspace() and depth <= 0:
            if part:
                yield part
            part = ""
        else:
            part += letter
    if part:
        yield part


def _measure(expression: Scanned, threshold: int, gains: GradeGains) -> AnyMeasure:
    try:
        kind = measures.get(expression.name)
    except UnknownName as error:
        return foreign_measure(expression.text, error)
    settings: dict[str, Setting] = {}
    if _takes_threshold(kind):
        settings["rel"] = threshold
    for given, value, position in expression.settings:
        name, value = _in_our_settings(kind, given, value)
        parameter = _parameter(kind, name, expression, position)
        try:
            settings[name] = parameter.checked(value)
        except UsageError as error:
            raise UsageError(f"{expression.text}: {error} (position {position})") from None
    # What RBPGains divides by hangs on which grades are named: trec_eval's way, which a scale cannot know.
    if "gains" in kind.parameters and kind.scale_gains and not {"gain", "gains"} & settings.keys():
        settings["gains"] = gains
    cutoff = _cutoff(kind, expression)
    return Measure(kind.name, _settled(kind, settings), cutoff, threshold)


def _takes_threshold(kind: MeasureKind) -> bool:
    """Say whether a measure divides documents into relevant and not relevant."""
    return "rel" in kind.parameters and kind.parameters["rel"].default == 1


def _in_our_settings(kind: MeasureKind, name: str, value: Setting) -> tuple[str, Setting]:
    """Translate what ir_measures calls otherwise."""
    if name == "dcg" and "gain" in kind.parameters and value in ("log2", "exp-log2"):
        return "gain", "exponential" if value == "exp-log2" else "linear"
    return name, value


def _parameter(kind: MeasureKind, name: str, expression: Scanned | None = None, position: int = 0) -> Parameter:
    known = {**kind.parameters, **COMMON}
    if name in known:
        return known[name]
    place = f" in {expression.text!r} at position {position}" if expression else ""
    raise UnknownName(f"parameter of {kind.name}{place}", name, known)


def _settled(kind: MeasureKind, settings: dict[str, Setting]) -> Settings:
    """Drop what is the default anyway, so that equal measures are equal."""
    known = {**kind.parameters, **COMMON}
    different = {name: value for name, value in settings.items() if value != known[name].default}
    if different.get("agg") == kind.aggregate:
        del different["agg"]
    return tuple(sorted(different.items()))


def _cutoff(kind: MeasureKind, expression: Scanned) -> int | float | None:
    given = expression.cutoff
    where = f"{expression.text}: "
    if kind.cutoff == "none" and given is not None:
        raise UsageError(f"{where}{kind.name} takes no cutoff")
    if given is None:
        if kind.cutoff in ("needed", "level"):
            example = "10" if kind.cutoff == "needed" else "0.5"
            raise UsageError(f"{where}{kind.name} needs a cutoff, as in {kind.name}@{example}")
        return None
    if kind.cutoff == "level":
        if not 0 <= given <= 1:
            raise UsageError(f"{where}a recall level is a number from 0 to 1, not {given:g}")
        return float(given)
    if not 1 <= given <= DEEPEST or given != int(given):
        raise UsageError(f"{where}a cutoff is a whole number from 1 up to {DEEPEST:,}, not {given:g}")
    return int(given)


def _printed(value: Setting) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{grade}: {_printed(gain)}" for grade, gain in value) + "}"
    short = f"{value:g}" if isinstance(value, float) else ""
    return short if short and float(short) == value else repr(value)
