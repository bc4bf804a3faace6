"""Measures as values: an expression like `nDCG(gain='exponential')@10` is parsed, printed and compared.

The spelling is ir_measures': a name, parameters in brackets, a cutoff after @. trec_eval's spelling (`map`, `P_10`,
`ndcg_cut.10,20`) is understood everywhere and printed in ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import UnknownName, UsageError, quoted
from cranfield.evaluate.foreign import ForeignMeasure, foreign_measure
from cranfield.evaluate.lists import GradeGains, Lists, Values, gain_function
from cranfield.evaluate.measure import COMMON, Aggregate, MeasureKind, Parameter, Setting, measures
from cranfield.evaluate.trec_eval.names import MEASURES, NICKNAMES, in_our_words

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

    def value(self) -> Setting:
        for quote in "'\"":
            if self.sign(quote):
                inside = self.take(re.compile(f"[^{quote}]*")) or ""
                if not self.sign(quote):
                    raise self.fail(f"a closing {quote}")
                return inside
        if self.sign("{"):
            return self._gains()
        number = self.take(_NUMBER)
        if number is not None:
            return float(number) if set(number) & set(".eE") else int(number)
        word = self.needed(_WORD, "a value")
        return {"True": True, "False": False, "true": True, "false": False}.get(word, word)

    def _gains(self) -> GradeGains:
        pairs: dict[int, float] = {}
        while not self.sign("}"):
            if pairs and not self.sign(","):
                raise self.fail("a comma or }")
            grade = int(self.needed(re.compile(r"[+-]?[0-9]+"), "a grade"))
            if not self.sign(":"):
                raise self.fail("a colon")
            pairs[grade] = float(self.needed(_NUMBER, "a gain"))
        return tuple(sorted(pairs.items()))


def scanned(text: str) -> Scanned:
    """Take an expression apart, or say at which position it cannot go on."""
    reader = _Reader(text)
    name = reader.needed(_NAME, "the name of a measure")
    settings: list[tuple[str, Setting, int]] = []
    if reader.sign("("):
        while not reader.sign(")"):
            if settings and not reader.sign(","):
                raise reader.fail("a comma or )")
            parameter = reader.needed(_NAME, "the name of a parameter")
            position = reader.place - len(parameter) + 1
            if not reader.sign("="):
                raise reader.fail("=")
            settings.append((parameter, reader.value(), position))
            if [one for one, _, _ in settings].count(parameter) > 1:
                raise UsageError(f"{text}: {parameter} is set twice")
    cutoff = float(reader.needed(_NUMBER, "a number")) if reader.sign("@") else None
    if reader.sign(","):
        raise UsageError(f"{text}: one measure was expected; of several each has its own -m, or blanks between them")
    if reader.take(re.compile(r".")) is not None:
        reader.place -= 1
        raise reader.fail("the end")
    return Scanned(text, name, tuple(settings), cutoff)


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
            # What has brackets or a cutoff is ours, and so is a word that trec_eval does not know.
            ours = {"@", "("} & set(part) or (part.isalnum() and part not in {*MEASURES, *NICKNAMES})
            for expression in [part] if ours else in_our_words(part) or [part]:
                found.setdefault(_measure(scanned(expression), threshold, gains))
    return list(found)


def _parts(text: str) -> Iterator[str]:
    """Cut at blanks that are not inside brackets."""
    depth, part = 0, ""
    for letter in f"{text} ":
        depth += (letter in "({") - (letter in ")}")
        if not letter.isspace() or depth > 0:
            part += letter
        elif part:
            yield part
            part = ""
    if part.strip():
        yield part[:-1]


def _measure(expression: Scanned, threshold: int, gains: GradeGains) -> AnyMeasure:
    try:
        kind = measures.get(expression.name)
    except UnknownName as error:
        return foreign_measure(expression.text, error)
    settings: dict[str, Setting] = {"rel": threshold} if _takes_threshold(kind) else {}
    for name, value, position in expression.settings:
        if name == "dcg" and "gain" in kind.parameters and value in ("log2", "exp-log2"):  # as ir_measures has it
            name, value = "gain", "exponential" if value == "exp-log2" else "linear"
        parameter = _parameter(kind, name, expression, position)
        try:
            settings[name] = parameter.checked(value)
        except UsageError as error:
            raise UsageError(f"{expression.text}: {error} (position {position})") from None
    # What RBPGains divides by hangs on which grades are named: trec_eval's way, which a scale cannot know.
    if "gains" in kind.parameters and kind.scale_gains and not {"gain", "gains"} & settings.keys():
        settings["gains"] = gains
    return Measure(kind.name, _settled(kind, settings), _cutoff(kind, expression), threshold)


def _takes_threshold(kind: MeasureKind) -> bool:
    """Say whether a measure divides documents into relevant and not relevant."""
    return "rel" in kind.parameters and kind.parameters["rel"].default == 1


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
