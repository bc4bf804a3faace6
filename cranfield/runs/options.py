"""Options of a part: the fields of its frozen dataclass, set from words on a command line.

A field says in its annotation what it means and what it may be:

    k1: Annotated[float, Option("how slowly repeated words stop counting", at_least=0)] = 1.2
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from cranfield.errors import UnknownName, UsageError, quoted

Part = TypeVar("Part")

_WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """What an option means, and the numbers it may be."""

    help: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def range(self) -> str:
        """The numbers allowed, in words; empty where there is no limit."""
        bounds = {"at least": self.at_least, "at most": self.at_most}
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)

    def allows(self, value: float) -> bool:
        """Say whether `value` is finite and within the range."""
        return (
            math.isfinite(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedOption:
    """One option as it is listed for a reader."""

    name: str
    values: str
    default: str
    help: str


def configured(part: type[Part], options: Mapping[str, str]) -> Part:
    """Give a `part` whose fields are set from the words in `options`; a dash in a name means an underscore.

    An unknown option or a value that cannot be meant is a `UsageError` that says what there is.
    """
    hints = get_type_hints(part)
    known = [field.name for field in dataclasses.fields(_dataclass(part))]
    values: dict[str, Any] = {}
    for given, word in options.items():
        name = given.replace("-", "_")
        if name not in known:
            raise UnknownName("option", given, known)
        values[name] = _parsed(name, word, hints[name])
    return part(**values)


def check_options(part: object) -> None:
    """Raise a `UsageError` for the first field whose value is outside of what its annotation allows."""
    for name, (kind, option) in _annotated(type(part)).items():
        value = getattr(part, name)
        if get_origin(kind) is Literal and value not in get_args(kind):
            raise UnknownName(f"value of option {quoted(name)}:", str(value), get_args(kind))
        if kind in (int, float) and not option.allows(value):
            expected = f"a number {option.range}" if option.range else "a finite number"
            raise UsageError(f"option {quoted(name)} must be {expected}, not {value}")


def described_options(part: type[object]) -> list[DescribedOption]:
    """List the options of `part` in the order of its fields."""
    annotated = _annotated(part)
    fields = dataclasses.fields(_dataclass(part))
    return [
        DescribedOption(
            field.name, _values(*annotated[field.name]), str(field.default), annotated[field.name][1].help
        )
        for field in fields
    ]


def _annotated(part: type[object]) -> dict[str, tuple[Any, Option]]:
    hints = get_type_hints(part, include_extras=True)
    return {field.name: _kind_and_option(hints[field.name]) for field in dataclasses.fields(_dataclass(part))}


def _kind_and_option(hint: Any) -> tuple[Any, Option]:
    if get_origin(hint) is not Annotated:
        return hint, Option("")
    kind, *extras = get_args(hint)
    return kind, next((extra for extra in extras if isinstance(extra, Option)), Option(""))


def _dataclass(part: type[object]) -> Any:
    if not dataclasses.is_dataclass(part):
        raise TypeError(f"{part.__name__} is not a dataclass: its fields are its options")
    return part


def _values(kind: Any, option: Option) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    noun = {int: "whole number", float: "number", bool: "yes, no", str: "word"}.get(kind, str(kind))
    return f"{noun} {option.range}".strip()


def _parsed(name: str, word: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        if word not in get_args(kind):
            raise UnknownName(f"value of option {quoted(name)}:", word, get_args(kind))
        return word
    if kind is bool:
        if word.lower() not in _WORDS:
            raise UsageError(f"option {quoted(name)} takes yes or no, not {quoted(word)}")
        return _WORDS[word.lower()]
    if kind is str:
        return word
    try:
        return kind(word)
    except ValueError:
        noun = "a whole number" if kind is int else "a number"
        raise UsageError(f"option {quoted(name)} takes {noun}, not {quoted(word)}") from None
