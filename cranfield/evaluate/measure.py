"""What a measure is: a function over lists, and what an expression like `nDCG(gain='exponential')@10` means.

The signature of the function declares the parameters, its docstring is the help. The spelling of expressions is
ir_measures': a name, parameters in brackets, a cutoff after @. trec_eval's spelling (`map`, `P_10`,
`ndcg_cut.10,20`) is understood everywhere and printed in ours.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import numpy as np

from cranfield.base.errors import UnknownName, UsageError, quoted
from cranfield.base.records import GradeScale
from cranfield.base.registry import Registry, deferred
from cranfield.evaluate.lists import Counts, GradeGains, Lists, Values, gain_function
from cranfield.evaluate.trec_eval.names import MEASURES, NICKNAMES, in_our_words

with deferred:
    from cranfield.evaluate import foreign

# How the values of many topics become one.

Aggregate = Literal["mean", "geometric", "median", "min", "max", "sum"]

SMALLEST = 1e-5
"""What a lower value counts as in a geometric mean, as in trec_eval, so that one 0 does not make the whole 0."""


def aggregated(values: np.ndarray, how: Aggregate) -> float:
    """One value for many topics; NaN for none."""
    if not len(values):
        return float("nan")
    if how == "mean":
        return sequential_sum(values) / len(values)
    if how == "geometric":
        return float(np.exp(sequential_sum(np.log(np.maximum(values, SMALLEST))) / len(values)))
    if how == "sum":
        return sequential_sum(values)
    if how == "median":
        return float(np.median(values))
    return float(values.min() if how == "min" else values.max())


def summaries(measures: Sequence[AnyMeasure], values: Iterable[np.ndarray], scored: np.ndarray) -> np.ndarray:
    """One value for each measure and run: the topics that count, put together as the measure says."""
    whole, each = scored.size and scored.all(), list[Sequence[float] | np.ndarray]()
    for measure, rows in zip(measures, values, strict=True):
        if whole and measure.aggregate == "mean":  # all runs at once: the very same as one after the other
            each.append(np.add.accumulate(np.asarray(rows, dtype=float), axis=1)[:, -1] / rows.shape[1])
        else:
            pairs = zip(rows, scored, strict=True)
            each.append([aggregated(row[kept], measure.aggregate) for row, kept in pairs])
    return np.array(each, dtype=float).reshape(len(measures), len(scored))


def sequential_sum(values: np.ndarray) -> float:
    """Add from the first to the last, as C programs do; numpy's own sum adds in pairs and may end otherwise."""
    return float(np.add.accumulate(np.asarray(values, dtype=float))[-1]) if len(values) else 0.0


Setting = int | float | str | bool | tuple[tuple[int, float], ...]
"""The value of a parameter. Gains per grade are pairs of grade and gain, by rising grade."""

CutoffKind = Literal["none", "optional", "needed", "level"]
RisesWith = Literal["grade", "judged", "unjudged", "unknown"]
Unjudged = Literal["nonrelevant", "skipped", "sampled", "counted"]


@dataclass(frozen=True)
class Range:
    """The numbers a parameter may have, ends included unless `open` says otherwise."""

    low: float
    high: float = float("inf")
    open: bool = False

    def __contains__(self, value: float) -> bool:
        return self.low < value < self.high if self.open else self.low <= value <= self.high

    def __str__(self) -> str:
        if self.high == float("inf"):
            return f"{'above' if self.open else 'from'} {self.low:g}"
        return f"{'between' if self.open else 'from'} {self.low:g} {'and' if self.open else 'to'} {self.high:g}"


class Parameter(NamedTuple):
    """One parameter of a measure: its kind, what it is if not given, and what it may be."""

    name: str
    kind: type
    default: Setting
    choices: tuple[str, ...] = ()
    range: Range | None = None

    def checked(self, value: Setting) -> Setting:
        """The value as the parameter's kind, or say what is wrong with it."""
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, self.kind) or (isinstance(value, bool) and self.kind is not bool):
            raise UsageError(f"{self.name} is {_KINDS[self.kind]}, not {quoted(value)}")
        if self.choices and value not in self.choices:
            raise UsageError(f"{self.name} is one of {', '.join(self.choices)}, not {quoted(value)}")
        if isinstance(value, tuple) and any(grade < 0 for grade, _ in value):
            raise UsageError(f"{self.name} are for grades of 0 or higher; unjudged documents have none")
        if self.range is not None and value not in self.range:  # type: ignore[operator]
            raise UsageError(f"{self.name} must be {self.range}, not {value}")
        return value


@dataclass(frozen=True, kw_only=True)
class MeasureKind:
    """A measure before its parameters are set, with all that other stages need to know of it.

    What it is:
    `aggregate` is how topics are put together if nothing else is said. `bounds` are the lowest and highest value a
    list can have, where there are such. `quality` says that a higher value means a better run. `graded` says that
    grades count as the numbers they are, whatever the scale says they are worth; `scale_gains` that the gains of the
    scale are its gains where an expression names none.

    How it moves:
    `monotone` says that moving a document up past a judged one of lower grade never makes the value worse.
    `rises_with` says what has to stand first among tied documents for the highest value, and last for the lowest:
    high grades (or gains, where the measure takes them), what is judged, what is not; unknown where that depends on
    the list. `additive` says that the value of a list is a sum over its ranks, of terms that know nothing of the
    other ranks.

    What unjudged documents do to it:
    `unjudged` says what one counts as: not relevant; nothing, being skipped; something the sample accounts for; or
    the very thing that is counted. `interval` names the way in which `reuse` finds the lowest and highest value over
    all labels of unjudged documents. `whole_list` says that without a cutoff they count down to the end of the list,
    not only to the pool depth. `weight` gives what a document at a rank is worth, times its gain, where that depends
    on no other document; the value is the sum of these, or with `best` the highest. `gains` gives the gain of each
    grade where it is neither a threshold's 1 or 0 nor the parameter `gains`, None where it depends on the topic.
    `tail` gives the share of the weight that lies below a rank, for weights that never end. These three are called
    with ranks or grades and all parameters by name.
    """

    name: str
    function: Callable[..., Any]
    parameters: Mapping[str, Parameter]
    cutoff: CutoffKind
    aggregate: Aggregate = "mean"
    bounds: tuple[float, float] | None = (0.0, 1.0)
    quality: bool = True
    graded: bool = False
    scale_gains: bool = True
    monotone: bool = True
    rises_with: RisesWith = "grade"
    additive: bool = False
    unjudged: Unjudged = "nonrelevant"
    interval: str = "bounds"
    whole_list: bool = False
    weight: Callable[..., Any] | None = None
    best: bool = False
    gains: Callable[..., Any] | None = None
    tail: Callable[..., Any] | None = None

    @property
    def has_threshold(self) -> bool:
        """Whether it divides documents into relevant and not relevant."""
        return "rel" in self.parameters and self.parameters["rel"].default == 1

    @property
    def help(self) -> str:
        """Formula, edge cases and source."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first line of the help."""
        return self.help.splitlines()[0].partition(" Source:")[0].rstrip(".")


measures: Registry[MeasureKind] = Registry(
    "measure", package="cranfield.evaluate.measures", group="cranfield.measures"
)


def measure(
    name: str, *aliases: str, monotone: bool = True, **facts: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a measure; `facts` are what `MeasureKind` says of it.

    One that is monotone rises with grades unless it is said.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        # The signature declares the parameters and the kind of cutoff.
        parameters: dict[str, Parameter] = {}
        cutoff: CutoffKind = "none"
        for parameter, declared in inspect.signature(function, eval_str=True).parameters.items():
            annotation, default, limits = declared.annotation, declared.default, None
            if declared.kind is not inspect.Parameter.KEYWORD_ONLY:
                continue
            if parameter == "cutoff":
                optional: CutoffKind = "needed" if default is inspect.Parameter.empty else "optional"
                cutoff = "level" if annotation is float else optional
                continue
            if get_origin(annotation) is Annotated:
                annotation, limits = get_args(annotation)
            choices = get_args(annotation) if get_origin(annotation) is Literal else ()
            kind = annotation if isinstance(annotation, type) and get_origin(annotation) is None else tuple
            parameters[parameter] = Parameter(parameter, str if choices else kind, default, choices, limits)
        rises = {"rises_with": "grade" if monotone else "unknown"} | facts
        kind_of_measure = MeasureKind(
            name=name, function=function, parameters=parameters, cutoff=cutoff, monotone=monotone, **rises
        )
        measures.register(name, *aliases)(kind_of_measure)
        return function

    return decorate


_KINDS = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "True or False",
    tuple: "a mapping like {1: 3, 2: 9}",
}

COMMON = {
    "judged_only": Parameter("judged_only", bool, default=False),
    "agg": Parameter("agg", str, "", choices=get_args(Aggregate)),
}
"""Parameters that every measure takes: scoring of condensed lists, and how topics are put together."""


@dataclass(frozen=True)
class ForeignMeasure:
    """A measure that ir_measures computes, by its expression as ir_measures prints it. Topics are averaged.

    ir_measures does not tell its lowest and highest value, nor what unjudged documents could change: no verdict.
    """

    expression: str

    aggregate: Aggregate = "mean"
    quality: bool = True
    bounds: tuple[float, float] = (-math.inf, math.inf)
    takes_verdict: bool = False

    def __str__(self) -> str:
        return self.expression


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
        gains: Any = dict(self.settings).get("gains", ())
        costs = any(worth < 0 for _, worth in gains)
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
        own = {name: value for name, value in self.settings if name in defaults}
        return {**defaults, **own, "cutoff": self.cutoff}

    def gains(self, highest: int) -> Values | None:
        """The gain of each grade from 0 to the highest; None where it depends on the topic's documents."""
        grades, parameters = np.arange(highest + 1, dtype=np.int32), self.parameters
        if "gains" in parameters:
            return gain_function(parameters.get("gain", "linear"), parameters["gains"])(grades)
        if self.kind.gains is not None:
            return self.kind.gains(grades, **parameters)  # type: ignore[no-any-return]
        return (grades >= (self.rel or 1)).astype(float)

    def weight(self, rank: Counts) -> Values | None:
        """What one unit of gain is worth at each rank; None where that depends on other documents."""
        if self.kind.weight is None or self.judged_only:
            return None
        return self.kind.weight(rank, **self.parameters)  # type: ignore[no-any-return]

    def values(self, lists: Lists) -> Values:
        """The value of each list."""
        settings = {name: value for name, value in self.settings if name not in COMMON}
        if self.cutoff is not None:
            settings["cutoff"] = self.cutoff
        chosen = lists.condensed if self.judged_only else lists
        return self.kind.function(chosen, **settings)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        shown = dict(self.settings)
        if self.threshold != 1 and self.kind.has_threshold:
            shown["rel"] = self.rel or 0
        inside = ", ".join(f"{name}={_printed(value)}" for name, value in sorted(shown.items()))
        level = "" if self.cutoff is None else f"@{_printed(self.cutoff)}"
        return f"{self.name}({inside}){level}" if inside else f"{self.name}{level}"


AnyMeasure = Measure | ForeignMeasure
"""A measure of ours, or one that ir_measures computes."""


def _printed(value: Setting) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{grade}: {_printed(gain)}" for grade, gain in value) + "}"
    short = f"{value:g}" if isinstance(value, float) else ""
    return short if short and float(short) == value else repr(value)


# Reads the letters of a measure expression: name, settings with their positions, cutoff.

_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BLANKS = re.compile(r"\s*")
_EXPRESSION = re.compile(r"(?:[^\s(]|\([^)]*\)?)+")
"""One of several with blanks between them, which may be inside brackets too."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Scanned(NamedTuple):
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

    def take(self, pattern: re.Pattern[str] | str, expected: str = "") -> str:
        """What stands here, after blanks, where it fits a pattern or is a sign; it must, where it is expected."""
        self.place = _BLANKS.match(self.text, self.place).end()  # type: ignore[union-attr]
        sought = re.compile(re.escape(pattern)) if isinstance(pattern, str) else pattern
        found = sought.match(self.text, self.place)
        if found is None and expected:
            raise self.fail(expected)
        self.place = self.place if found is None else found.end()
        return "" if found is None else found.group()

    def value(self) -> Setting:
        for quote in "'\"":
            if self.take(quote):
                inside = self.take(re.compile(f"[^{quote}]*"))
                self.take(quote, f"a closing {quote}")
                return inside
        if self.take("{"):
            pairs: dict[int, float] = {}
            while not self.take("}"):
                if pairs:
                    self.take(",", "a comma or }")
                grade = int(self.take(re.compile(r"[+-]?[0-9]{1,300}"), "a grade"))
                self.take(":", "a colon")
                pairs[grade] = float(self.take(_NUMBER, "a gain"))
            return tuple(sorted(pairs.items()))
        if number := self.take(_NUMBER):
            return float(number) if set(number) & set(".eE") else int(number)
        word = self.take(_WORD, "a value")
        return {"True": True, "False": False, "true": True, "false": False}.get(word, word)


def scanned(text: str) -> Scanned:
    """Take an expression apart, or say at which position it cannot go on."""
    reader = _Reader(text)
    name = reader.take(_NAME, "the name of a measure")
    settings: list[tuple[str, Setting, int]] = []
    if reader.take("("):
        while not reader.take(")"):
            if settings:
                reader.take(",", "a comma or )")
            parameter = reader.take(_NAME, "the name of a parameter")
            position = reader.place - len(parameter) + 1
            reader.take("=", "=")
            settings.append((parameter, reader.value(), position))
            if [one for one, _, _ in settings].count(parameter) > 1:
                raise UsageError(f"{text}: {parameter} is set twice")
    cutoff = float(reader.take(_NUMBER, "a number")) if reader.take("@") else None
    if reader.take(","):
        raise UsageError(f"{text}: expected one measure; repeat -m, or separate measures by blanks")
    if reader.place < len(text):
        raise reader.fail("the end")
    return Scanned(text, name, tuple(settings), cutoff)


def parse_measure(text: str, *, threshold: int = 1) -> Measure:
    """The one measure that an expression means."""
    found = parse_measures([text], threshold=threshold)
    if len(found) != 1:
        raise UsageError(f"{quoted(text)} stands for {len(found)} measures; expected one")
    return own_measures(found)[0]


def own_measures(found: Sequence[AnyMeasure]) -> list[Measure]:
    """Measures that see arrays alone; one of ir_measures among them is refused."""
    for one in found:
        if isinstance(one, ForeignMeasure):
            raise UsageError(f"{one} is computed by ir_measures; only evaluate supports it")
    return [one for one in found if isinstance(one, Measure)]


def parse_measures(texts: Sequence[str], *, threshold: int = 1, gains: GradeGains = ()) -> list[AnyMeasure]:
    """The measures that expressions mean, without repetitions, in the order given.

    A text may hold several expressions with blanks between them, and a name of trec_eval can mean several measures.
    `threshold` is what `rel` is where an expression does not say it, and `gains` what grades are worth where it says
    nothing of gains. A name that is not ours may be ir_measures'.
    """
    found: dict[AnyMeasure, None] = {}
    for text in texts:
        for part in _EXPRESSION.findall(text):
            # What has brackets or a cutoff is ours, and so is a word that trec_eval does not know.
            ours = {"@", "("} & set(part) or (part.isalnum() and part not in {*MEASURES, *NICKNAMES})
            for expression in [part] if ours else in_our_words(part) or [part]:
                found.setdefault(_measure(scanned(expression), threshold, gains))
    return list(found)


def parse_by_scale(texts: Sequence[str], scale: GradeScale) -> list[AnyMeasure]:
    """The same where the scale of a collection says what expressions do not.

    A bare `AP` then takes its threshold and a bare `nDCG` its gains, and their printed forms tell both.
    """
    return parse_measures(texts, threshold=scale.relevant_from, gains=scale.own_gains)


def _measure(expression: Scanned, threshold: int, gains: GradeGains) -> AnyMeasure:
    try:
        kind = measures.get(expression.name)
    except UnknownName as error:
        return foreign.foreign_measure(expression.text, error)
    known = {**kind.parameters, **COMMON}
    settings: dict[str, Setting] = {"rel": threshold} if kind.has_threshold else {}
    for name, value, position in expression.settings:
        if name == "dcg" and "gain" in kind.parameters and value in ("log2", "exp-log2"):  # as ir_measures has it
            name, value = "gain", "exponential" if value == "exp-log2" else "linear"
        if name not in known:
            raise UnknownName(f"parameter of {kind.name} in {expression.text!r} at position {position}", name, known)
        try:
            settings[name] = known[name].checked(value)
        except UsageError as error:
            raise UsageError(f"{expression.text}: {error} (position {position})") from None
    # What RBPGains divides by hangs on which grades are named: trec_eval's way, which a scale cannot know.
    if "gains" in kind.parameters and kind.scale_gains and not {"gain", "gains"} & settings.keys():
        settings["gains"] = gains
    # Without what is the default anyway, so that equal measures are equal.
    settings = {name: value for name, value in settings.items() if value != known[name].default}
    if settings.get("agg") == kind.aggregate:
        del settings["agg"]
    cutoff, where = expression.cutoff, f"{expression.text}: "
    if cutoff is None:
        if kind.cutoff in ("needed", "level"):
            example = "10" if kind.cutoff == "needed" else "0.5"
            raise UsageError(f"{where}{kind.name} needs a cutoff, such as {kind.name}@{example}")
    elif kind.cutoff == "none":
        raise UsageError(f"{where}{kind.name} has no cutoff")
    elif kind.cutoff == "level":
        if not 0 <= cutoff <= 1:
            raise UsageError(f"{where}a recall level must be a number from 0 to 1, not {cutoff:g}")
    elif not 1 <= cutoff <= DEEPEST or cutoff != int(cutoff):
        raise UsageError(f"{where}a cutoff must be an integer from 1 to {DEEPEST:,}, not {cutoff:g}")
    else:
        cutoff = int(cutoff)
    return Measure(kind.name, tuple(sorted(settings.items())), cutoff, threshold)
