"""Options of a part: the keyword parameters of its function, set from words on a command line.

A part may also be a frozen dataclass, whose fields are its options; entry points bring such parts. An annotation
`Annotated[float, Option("what it means", at_least=0)]` says what an option is and which numbers it may be.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from cranfield.base.errors import UnknownName, UsageError, quoted

_NOUNS = {int: "whole number", float: "number", bool: "yes, no", str: "word"}
_TRUTH = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class DescribedOption:
    """One option as it is listed for a reader."""

    name: str
    values: str
    default: str
    help: str


def configured(part: Callable[..., Any], words: Mapping[str, Any]) -> Any:
    """Give the function with its options filled in, or the dataclass made, from words or values.

    An unknown option or a value that cannot be meant is a `UsageError` that says what there is. A dash in a name
    means an underscore.
    """
    declared, values = _declared(part), dict[str, Any]()
    for given, word in words.items():
        name = given.replace("-", "_")
        if name not in declared:
            raise UnknownName("option", given, declared)
        values[name] = _parsed(name, word, declared[name][0]) if isinstance(word, str) else word
    if isinstance(part, type):
        return part(**values)
    _check(declared, values)
    return partial(part, **values)


def check_options(part: object) -> None:
    """Raise a `UsageError` for the first field of a dataclass whose value its annotation does not allow."""
    declared = _declared(type(part))
    _check(declared, {name: getattr(part, name) for name in declared})


def described_options(part: Callable[..., Any]) -> list[DescribedOption]:
    """List the options of a part in the order of its declaration."""
    return [
        DescribedOption(
            name,
            ", ".join(get_args(kind))
            if get_origin(kind) is Literal
            else f"{_NOUNS.get(kind, str(kind))} {option.range}".strip(),
            str(default),
            option.help,
        )
        for name, (kind, option, default) in _declared(part).items()
    ]


def _declared(part: Callable[..., Any]) -> dict[str, tuple[Any, Option, Any]]:
    """Give the type of each option, what is said of it, and its default."""
    hints, found = get_type_hints(part, include_extras=True), {}
    for name, parameter in inspect.signature(part).parameters.items():
        if isinstance(part, type) or parameter.kind is parameter.KEYWORD_ONLY:
            kind, *extras = get_args(hints[name]) if get_origin(hints[name]) is Annotated else [hints[name]]
            option = next((extra for extra in extras if isinstance(extra, Option)), Option(""))
            found[name] = kind, option, parameter.default
    return found


def _check(declared: Mapping[str, tuple[Any, Option, Any]], values: Mapping[str, Any]) -> None:
    for name, (kind, option, _) in declared.items():
        value = values.get(name)
        if get_origin(kind) is Literal and name in values and value not in get_args(kind):
            raise UnknownName(f"value of option {quoted(name)}:", str(value), get_args(kind))
        if kind in (int, float) and value is not None:
            least = -math.inf if option.at_least is None else option.at_least
            most = math.inf if option.at_most is None else option.at_most
            if not (math.isfinite(value) and least <= value <= most):
                expected = f"a number {option.range}" if option.range else "a finite number"
                raise UsageError(f"option {quoted(name)} must be {expected}, not {value}")


def _parsed(name: str, word: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        if word not in get_args(kind):
            raise UnknownName(f"value of option {quoted(name)}:", word, get_args(kind))
        return word
    if kind is bool:
        if word.lower() not in _TRUTH:
            raise UsageError(f"option {quoted(name)} takes yes or no, not {quoted(word)}")
        return _TRUTH[word.lower()]
    try:
        return kind(word)
    except ValueError:
        noun = "a whole number" if kind is int else "a number"
        raise UsageError(f"option {quoted(name)} takes {noun}, not {quoted(word)}") from None
