"""From the text of a plan to the plan: see `cranfield.pool.plan` for the grammar.

Everything that is wrong is said at once, each with its position (counted from 1), what was expected and the nearest
known word.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import get_args

from cranfield.errors import UnknownName, UsageError, nearest, quoted
from cranfield.pool.checking import problems_of_plan, problems_of_step
from cranfield.pool.plan import Amount, By, Cap, Plan, PlanStep, Scope, Selection
from cranfield.pool.stopping import parsed_rule
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Strategy
from cranfield.runs.options import configured

_WORD = re.compile(r'[^\s;="]+="(?:[^"]|"")*"(?=[\s;]|$)|[^\s;]+|;')
_DIGITS = 12
_NUMBER = re.compile(f"[0-9]{{1,{_DIGITS}}}")
_PERCENT = re.compile(r"[0-9]{1,12}(\.[0-9]+)?")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_RANKS = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_SCOPE_WORDS = ("by", "ranks", "floor", "cap", "stop")


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a plan and the position of its first letter, from 1."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Something that cannot be meant, and where."""

    position: int
    message: str


@dataclass
class _Reading:
    """One step while it is read: what is known of it, and what is wrong with it."""

    name: _Word
    part: type[Strategy]
    words: list[_Word]
    options: dict[str, _Word] = field(default_factory=dict)
    amount: Amount = field(default_factory=Amount)
    scope: dict[str, object] = field(default_factory=dict)
    wrong: list[_Wrong] = field(default_factory=list)
    end: int = 1

    def take(self) -> _Word:
        return self.words.pop(0)

    def fail(self, word: _Word, message: str) -> None:
        self.wrong.append(_Wrong(word.position, message))


def parse(text: str) -> Plan:
    """Give the plan that a text means, or raise a `UsageError` that lists everything wrong with it."""
    steps, positions, wrong = _read(text)
    for step, position in zip(steps, positions, strict=True):
        if isinstance(step, Selection):
            wrong += [_Wrong(position, message) for message in problems_of_step(step)]
    if not wrong:
        wrong = [_Wrong(positions[place], message) for place, message in problems_of_plan(steps)]
    if wrong:
        raise UsageError(_told(text, wrong))
    return Plan(tuple(steps))


def parse_stored(text: str) -> Plan:
    """Give the plan of a pool that was built: it is only read.

    Whether a plan makes sense was asked when its pool was built. A rule that came later must not make the pool
    unreadable.
    """
    steps, _, wrong = _read(text)
    if wrong:
        raise UsageError(_told(text, wrong))
    return Plan(tuple(steps))


def _read(text: str) -> tuple[list[PlanStep], list[int], list[_Wrong]]:
    """Give the steps that can be read, their positions, and what cannot be read."""
    steps: list[PlanStep] = []
    wrong: list[_Wrong] = []
    positions: list[int] = []
    for words in _divided(text):
        step, found = _step(words, end=len(text) + 1)
        wrong += found
        if step is not None:
            steps.append(step)
            positions.append(words[0].position)
    if not steps and not wrong:
        wrong.append(_Wrong(1, f"expected the name of a strategy, found the end {_known(strategies.names())}"))
    return steps, positions, wrong


def _divided(text: str) -> list[list[_Word]]:
    """Give the words of each step; empty steps are passed over."""
    steps: list[list[_Word]] = [[]]
    for match in _WORD.finditer(text):
        if match.group() == ";":
            steps.append([])
        elif match.group().lower() != "then" or steps[-1]:
            steps[-1].append(_Word(match.group(), match.start() + 1))
    return [words for words in steps if words]


def _step(words: Sequence[_Word], *, end: int) -> tuple[PlanStep | None, list[_Wrong]]:
    first, *rest = words
    if first.text == "cap":
        return _cap(first, rest, end)
    try:
        part = strategies.get(first.text)
    except UnknownName as error:
        known = sorted([*error.known, "cap"])
        return None, [_Wrong(first.position, str(UnknownName("pooling strategy", first.text, known)))]
    name = next(name for name, known_part in strategies.items() if known_part is part)
    reading = _Reading(first, part, rest, end=end)
    while reading.words:
        _read_word(reading)
    strategy = _strategy(reading)
    if reading.wrong or strategy is None:
        return None, reading.wrong
    return Selection(name, strategy, reading.amount, Scope(**reading.scope)), []  # type: ignore[arg-type]


def _cap(first: _Word, rest: Sequence[_Word], end: int) -> tuple[Cap | None, list[_Wrong]]:
    if len(rest) == 1 and _NUMBER.fullmatch(rest[0].text) and int(rest[0].text) > 0:
        return Cap(int(rest[0].text)), []
    seen = quoted(rest[-1].text) if rest else "the end of the step"
    position = rest[-1].position if rest else first.position + len(first.text)
    return None, [_Wrong(position, f"cap takes one number from 1 up, as in 'cap 800'; found {seen}")]


def _read_word(reading: _Reading) -> None:
    word = reading.take()
    if "=" in word.text:
        _setting(reading, word)
    elif word.text in ("until", "budget"):
        number = _number_after(reading, word)
        if number is not None:
            _amount(reading, word, Amount("until" if word.text == "until" else "budget", number))
    elif word.text == "across":
        if reading.words and reading.words[0].text == "topics":
            reading.take()
            reading.scope["across_topics"] = True
        else:
            reading.fail(word, "expected 'topics' after 'across'")
    elif _PERCENT.fullmatch(word.text.removesuffix("%")):
        _bare_number(reading, word)
    else:
        _unexpected(reading, word)


def _bare_number(reading: _Reading, word: _Word) -> None:
    is_share = word.text.endswith("%")
    if not is_share and reading.words and reading.words[0].text == "%":
        reading.take()
        is_share = True
    if is_share:
        _amount(reading, word, Amount("share", float(word.text.removesuffix("%"))))
    elif _NUMBER.fullmatch(word.text):
        _amount(reading, word, Amount("count", int(word.text)))
    else:
        reading.fail(word, f"expected a whole number of documents or a share such as 5%, found {quoted(word.text)}")


def _amount(reading: _Reading, word: _Word, amount: Amount) -> None:
    if reading.amount.kind != "all":
        reading.fail(word, f"a step has one amount; this one has {quoted(reading.amount)} already")
    elif amount.number <= 0 or (amount.kind == "share" and amount.number > 100):
        limit = "more than 0 and at most 100 per cent" if amount.kind == "share" else "at least 1"
        reading.fail(word, f"an amount is {limit}, not {amount.number:g}")
    else:
        reading.amount = amount


def _number_after(reading: _Reading, word: _Word) -> int | None:
    if reading.words and _NUMBER.fullmatch(reading.words[0].text):
        return int(reading.take().text)
    seen = quoted(reading.words[0].text) if reading.words else "the end of the step"
    position = reading.words[0].position if reading.words else word.position + len(word.text)
    is_long = bool(reading.words) and reading.words[0].text.isdecimal()
    expected = f"a number of at most {_DIGITS} digits" if is_long else "a number"
    if reading.words and "=" not in reading.words[0].text:
        reading.take()
    reading.wrong.append(_Wrong(position, f"expected {expected} after {quoted(word.text)}, found {seen}"))
    return None


def _setting(reading: _Reading, word: _Word) -> None:
    name, _, value = word.text.partition("=")
    if '"' in value:
        if not _QUOTED.fullmatch(value):
            reading.fail(
                word, f"a value with '\"' in it stands in double quotes, '\"' written twice: {quoted(value)}"
            )
            return
        value = value[1:-1].replace('""', '"')
    options = _option_names(reading.part)
    if name.replace("-", "_") in options:
        if name in reading.options:
            reading.fail(word, f"the option {quoted(name)} is given twice")
        reading.options[name] = _Word(value, word.position)
    elif name in _SCOPE_WORDS:
        if name in reading.scope:
            reading.fail(word, f"{quoted(name)} is given twice")
        _scope(reading, name, _Word(value, word.position))
    else:
        known = sorted([option.replace("_", "-") for option in options] + list(_SCOPE_WORDS))
        reading.fail(word, str(UnknownName(f"option of {reading.name.text}", name, known)))


def _scope(reading: _Reading, name: str, value: _Word) -> None:
    if name == "by":
        if value.text in get_args(By):
            reading.scope["by"] = value.text
        else:
            reading.fail(value, str(UnknownName("value of 'by':", value.text, get_args(By))))
    elif name == "ranks":
        match = _RANKS.fullmatch(value.text)
        if match and 1 <= int(match[1]) <= int(match[2]):
            reading.scope["ranks"] = (int(match[1]), int(match[2]))
        else:
            reading.fail(value, f"expected ranks as in ranks=11-100, from 1 and rising, found {quoted(value.text)}")
    elif name == "stop":
        _stop(reading, value)
    elif _NUMBER.fullmatch(value.text) and int(value.text) > 0:
        reading.scope[name] = int(value.text)
    else:
        reading.fail(value, f"{name} takes a number from 1 up, not {quoted(value.text)}")


def _stop(reading: _Reading, value: _Word) -> None:
    rules = []
    for text in value.text.split(","):
        try:
            rules.append(parsed_rule(text))
        except UsageError as error:
            reading.fail(value, str(error))
    reading.scope["stop"] = tuple(rules)


def _strategy(reading: _Reading) -> Strategy | None:
    """Set the options one by one, so that everything wrong with them is said."""
    given = {name: word.text for name, word in reading.options.items()}
    if not given:
        return reading.part()
    wrong = False
    for name, word in reading.options.items():
        try:
            configured(reading.part, {name: word.text})
        except UsageError as error:
            reading.fail(word, str(error))
            wrong = True
    if wrong:
        return None
    try:
        return configured(reading.part, given)
    except UsageError as error:
        reading.fail(reading.name, str(error))
        return None


def _unexpected(reading: _Reading, word: _Word) -> None:
    expected = "an amount (10, until 100, 5%, budget 1000), an option or a scope"
    reading.fail(word, f"expected {expected}, found {quoted(word.text)}{_guess(reading, word.text)}")


def _guess(reading: _Reading, text: str) -> str:
    """Say what may have been meant by a word that is none."""
    options = [f"{option.replace('_', '-')}=" for option in _option_names(reading.part)]
    known = ["until", "budget", "across", *options, *(f"{scope}=" for scope in _SCOPE_WORDS)]
    if text.removesuffix("%").replace(".", "").isdecimal():
        return f"; a number has at most {_DIGITS} digits"
    if text.lower() == "then" or text.endswith(","):
        return "; steps are divided by ';'"
    near = nearest(text, [*known, *strategies.names()])
    if near and near[0] in strategies.names():
        return f"; steps are divided by ';': did you mean '; {near[0]}'?"
    return f"; did you mean {quoted(near[0])}?" if near else ""


def _option_names(part: type[Strategy]) -> list[str]:
    return [known.name for known in fields(part)]  # type: ignore[arg-type]


def _known(names: Sequence[str]) -> str:
    return f"(known: {', '.join(names)})"


def _told(text: str, wrong: Sequence[_Wrong]) -> str:
    lines = [
        f"  at position {found.position}: {found.message}" for found in sorted(wrong, key=lambda one: one.position)
    ]
    return "\n".join([f"this plan cannot be used: {quoted(text, limit=300)}", *lines])
