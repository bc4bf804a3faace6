"""Reads the letters of a measure expression: name, settings with their positions, cutoff."""

import re
from dataclasses import dataclass

from cranfield.errors import UsageError, quoted
from cranfield.evaluate.measure import Setting

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
