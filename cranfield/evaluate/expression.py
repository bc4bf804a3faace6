"""Measures as values: an expression like `nDCG(gain='exponential')@10` is parsed, printed and compared.

The spelling is ir_measures': a name, parameters in brackets, a cutoff after @. trec_eval's spelling (`map`, `P_10`,
`ndcg_cut.10,20`) is understood everywhere and printed in ours.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cranfield.errors import UnknownName, UsageError, quoted
from cranfield.evaluate.aggregate import Aggregate
from cranfield.evaluate.foreign import ForeignMeasure, foreign_measure
from cranfield.evaluate.lists import Lists, Values
from cranfield.evaluate.measure import COMMON, MeasureKind, Parameter, Setting, measures
from cranfield.evaluate.scanner import Scanned, scanned
from cranfield.evaluate.trec_names import in_our_words

Settings = tuple[tuple[str, Setting], ...]
GradeGains = tuple[tuple[int, float], ...]

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

    def values(self, lists: Lists) -> Values:
        """Give the value of each list."""
        settings = {name: value for name, value in self.settings if name not in COMMON}
        if self.cutoff is not None:
            settings["cutoff"] = self.cutoff
        chosen = lists.condensed if dict(self.settings).get("judged_only") else lists
        return self.kind.function(chosen, **settings)  # type: ignore[no-any-return]

    def with_setting(self, name: str, value: Setting) -> "Measure":
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
    if "gains" in kind.parameters and kind.name != "RBPGains" and not {"gain", "gains"} & settings.keys():
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
