"""Parameters of measures as trec_eval reads them: cutoffs, numbers, pairs of grade and gain."""

import re
from typing import TypeVar

from cranfield.evaluate.trec_eval.options import Refused, whole_number

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
