"""What a measure is: a function over lists; its signature declares the parameters, its docstring is the help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import Registry

# How the values of many topics become one.

Aggregate = Literal["mean", "geometric", "median", "min", "max", "sum"]

SMALLEST = 1e-5
"""What a lower value counts as in a geometric mean, as in trec_eval, so that one 0 does not make the whole 0."""


def aggregated(values: np.ndarray, how: Aggregate) -> float:
    """Give one value for many topics; NaN for none."""
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


def aggregated_rows(values: np.ndarray, scored: np.ndarray, how: Aggregate) -> np.ndarray:
    """Give one value for each row, over the topics that count there; the very same as row by row."""
    if how != "mean" or not scored.all() or not values.shape[1]:
        return np.array([aggregated(row[kept], how) for row, kept in zip(values, scored, strict=True)], dtype=float)
    means: np.ndarray = np.add.accumulate(np.asarray(values, dtype=float), axis=1)[:, -1] / values.shape[1]
    return means


def sequential_sum(values: np.ndarray) -> float:
    """Add from the first to the last, as C programs do; numpy's own sum adds in pairs and may end otherwise."""
    return float(np.add.accumulate(np.asarray(values, dtype=float))[-1]) if len(values) else 0.0


Setting = int | float | str | bool | tuple[tuple[int, float], ...]
"""The value of a parameter. Gains per grade are pairs of grade and gain, by rising grade."""

CutoffKind = Literal["none", "optional", "needed", "level"]
RisesWith = Literal["grade", "judged", "unjudged", "unknown"]
Unjudged = Literal["nonrelevant", "skipped", "sampled", "counted"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a measure: its kind, what it is if not given, and what it may be."""

    name: str
    kind: type
    default: Setting
    choices: tuple[str, ...] = ()
    range: Range | None = None

    def checked(self, value: Setting) -> Setting:
        """Give the value as the parameter's kind, or say what is wrong with it."""
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, self.kind) or (isinstance(value, bool) and self.kind is not bool):
            raise UsageError(f"{self.name} is {_KINDS[self.kind]}, not {quoted(value)}")
        if self.choices and value not in self.choices:
            raise UsageError(f"{self.name} is one of {', '.join(self.choices)}, not {quoted(value)}")
        if isinstance(value, tuple) and any(grade < 0 for grade, _ in value):
            raise UsageError(f"{self.name} are for grades from 0 up: what is not judged has none")
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
    interval: str = "enumerated"
    whole_list: bool = False
    weight: Callable[..., Any] | None = None
    best: bool = False
    gains: Callable[..., Any] | None = None
    tail: Callable[..., Any] | None = None

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
        parameters, cutoff = _declared(function)
        facts.setdefault("rises_with", "grade" if monotone else "unknown")
        kind = MeasureKind(
            name=name, function=function, parameters=parameters, cutoff=cutoff, monotone=monotone, **facts
        )
        measures.register(name, *aliases)(kind)
        return function

    return decorate


def _declared(function: Callable[..., Any]) -> tuple[dict[str, Parameter], CutoffKind]:
    """Read the parameters and the kind of cutoff from a signature."""
    parameters, cutoff = {}, "none"
    for name, declared in inspect.signature(function, eval_str=True).parameters.items():
        if declared.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        if name != "cutoff":
            parameters[name] = _parameter(name, declared.annotation, declared.default)
        elif declared.annotation is float:
            cutoff = "level"
        else:
            cutoff = "needed" if declared.default is inspect.Parameter.empty else "optional"
    return parameters, cutoff  # type: ignore[return-value]


def _parameter(name: str, annotation: Any, default: Setting) -> Parameter:
    limits = None
    if get_origin(annotation) is Annotated:
        annotation, limits = get_args(annotation)
    if get_origin(annotation) is Literal:
        return Parameter(name, str, default, choices=get_args(annotation))
    kind = annotation if isinstance(annotation, type) and get_origin(annotation) is None else tuple
    return Parameter(name, kind, default, range=limits)


_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a word",
    bool: "True or False",
    tuple: "a mapping like {1: 3, 2: 9}",
}

COMMON = {
    "judged_only": Parameter("judged_only", bool, default=False),
    "agg": Parameter("agg", str, "", choices=get_args(Aggregate)),
}
"""Parameters that every measure takes: scoring of condensed lists, and how topics are put together."""
