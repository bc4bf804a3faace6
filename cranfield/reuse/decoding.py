"""Frozen dataclasses from JSON, strictly: every field there, nothing else, and everything of its kind.

Which keys the fields have in JSON is declared by the caller: for each class one text, in the order of its fields.
"""

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cranfield.errors import quoted

Keys = Mapping[type, str]


class _Wrong(Exception):
    """A value that is not of its kind."""


def encoded(value: Any, keys: Keys | None = None) -> Any:
    """Give a dataclass as what JSON can hold; a NaN becomes null."""
    if keys and type(value) in keys:
        pairs = zip(keys[type(value)].split(), dataclasses.fields(value), strict=True)
        return {key: encoded(getattr(value, one.name), keys) for key, one in pairs}
    if isinstance(value, tuple | list):
        return [encoded(one, keys) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def decoded(kind: Any, value: Any, keys: Keys, problems: list[str], where: str = "") -> Any:
    """Give a value of JSON as its kind; what is wrong is added to `problems`, and then the answer is None."""
    if dataclasses.is_dataclass(kind):
        return _record(kind, value, keys, problems, where)
    if get_origin(kind) in (Union, types.UnionType):
        inner = next(one for one in get_args(kind) if one is not type(None))
        return None if value is None else decoded(inner, value, keys, problems, where)
    if get_origin(kind) is tuple:
        return _row(kind, value, keys, problems, where)
    try:
        return _plain(kind, value)
    except _Wrong as error:
        problems.append(f"{where or 'the file'}: {error}, not {quoted(value)}")
        return None


def _record(kind: Any, value: Any, keys: Keys, problems: list[str], where: str) -> Any:
    if not isinstance(value, dict):
        problems.append(f"{where or 'the file'}: an object was expected, not {quoted(value)}")
        return None
    types_of_fields = get_type_hints(kind)
    fields = zip(keys[kind].split(), dataclasses.fields(kind), strict=True)
    hints = {key: types_of_fields[one.name] for key, one in fields}
    before = len(problems)
    problems += [f"{_at(where, name)}: this field is missing" for name in hints if name not in value]
    problems += [f"{_at(where, name)}: there is no such field" for name in value if name not in hints]
    values = [
        decoded(hint, value[name], keys, problems, _at(where, name)) for name, hint in hints.items() if name in value
    ]
    return kind(*values) if len(problems) == before else None


def _row(kind: Any, value: Any, keys: Keys, problems: list[str], where: str) -> Any:
    if not isinstance(value, list):
        problems.append(f"{where}: a list was expected, not {quoted(value)}")
        return None
    inner = get_args(kind)
    if inner[-1] is Ellipsis:
        inner = (inner[0],) * len(value)
    if len(inner) != len(value):
        problems.append(f"{where}: {len(inner)} values were expected, not {len(value)}")
        return None
    pairs = enumerate(zip(inner, value, strict=True))
    return tuple(decoded(one, each, keys, problems, f"{where}[{place}]") for place, (one, each) in pairs)


def _plain(kind: Any, value: Any) -> Any:
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        raise _Wrong(f"one of {', '.join(map(str, get_args(kind)))} was expected")
    if kind is float:
        if value is None:
            return math.nan
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
        raise _Wrong("a number was expected")
    names = {int: "a whole number", str: "a text", bool: "true or false"}
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise _Wrong(f"{names[kind]} was expected")


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
