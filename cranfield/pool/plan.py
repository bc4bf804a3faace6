"""The plan of a pool: a small language that reads aloud, and the value it means.

    depth 10; rrf k=60 until 100; sample 5% ranks=11-100

Grammar 1, as EBNF (words are divided by blanks; a value with blanks, `;` or `"` in it stands in double quotes, where
`""` means `"`; a number has at most 12 digits):

    plan      = step , { ";" , step } , [ ";" ] ;
    step      = [ "then" ] , ( cap | selection ) ;
    cap       = "cap" , number ;
    selection = strategy , { option | amount | scope } ;
    option    = name , "=" , value ;                       (* a field of the strategy *)
    amount    = number                                     (* so many more documents a topic; for depth: the rank *)
              | "until" , number                           (* until the topic has so many *)
              | percent , "%"                              (* that share of what the step can choose from *)
              | "budget" , number ;                        (* until all topics together have so many *)
    scope     = "by=" , ( "run" | "group" | "topic" )
              | "ranks=" , number , "-" , number           (* documents whose best rank lies there *)
              | "across" , "topics"                        (* a budget goes where it finds most *)
              | "floor=" , number | "cap=" , number        (* with across topics: at least, at most, for each topic *)
              | "stop=" , rule , { "," , rule } ;
    rule      = name , [ ":" , number ] ;
    number    = digit , { digit } ;
    percent   = number , [ "." , number ] ;

A later step adds only what is not there yet. The defaults of options belong to the version of the grammar: they
change only with it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from typing import Literal, get_args

from cranfield.base.errors import UnknownName, UsageError, nearest, quoted
from cranfield.pool.stopping import StoppingRule, parsed_rule, spelled_rule, stopping_rules
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import FillsUp, Kind, RankAmount, Strategy
from cranfield.runs.baseline import configured

GRAMMAR = 1
"""The version of the plan language; it is stored beside each plan."""

AmountKind = Literal["all", "count", "until", "share", "budget"]
By = Literal["run", "group", "topic"]


@dataclass(frozen=True, slots=True)
class Amount:
    """How much a step takes. `share` is in per cent."""

    kind: AmountKind = "all"
    number: float = 0

    def __str__(self) -> str:
        words = {"all": "", "count": "{}", "until": "until {}", "share": "{}%", "budget": "budget {}"}
        return words[self.kind].format(spelled_number(self.number))


@dataclass(frozen=True, slots=True)
class Scope:
    """What a step looks at, and the limits it keeps."""

    by: By = "run"
    ranks: tuple[int, int] | None = None
    across_topics: bool = False
    floor: int | None = None
    cap: int | None = None
    stop: tuple[StoppingRule, ...] = ()

    def __str__(self) -> str:
        words = [
            f"by={self.by}" if self.by != "run" else "",
            f"ranks={self.ranks[0]}-{self.ranks[1]}" if self.ranks else "",
            "across topics" if self.across_topics else "",
            f"floor={self.floor}" if self.floor is not None else "",
            f"cap={self.cap}" if self.cap is not None else "",
            "stop=" + ",".join(spelled_rule(rule) for rule in self.stop) if self.stop else "",
        ]
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True)
class Cap:
    """A step that cuts every topic down to its first documents."""

    number: int

    def __str__(self) -> str:
        return f"cap {self.number}"


@dataclass(frozen=True, slots=True)
class Selection:
    """A step that adds documents."""

    name: str
    strategy: Strategy
    amount: Amount = field(default_factory=Amount)
    scope: Scope = field(default_factory=Scope)

    def __str__(self) -> str:
        return self._spelled(_options(self.strategy, defaults_too=False))

    @property
    def spelled_out(self) -> str:
        """The step with every option, also those that have their default."""
        return self._spelled(_options(self.strategy, defaults_too=True))

    @property
    def reach(self) -> int | None:
        """The deepest rank the step looks at; None where it looks at whole runs."""
        if isinstance(self.strategy, RankAmount):
            return None if self.scope.by == "topic" else self.strategy.reach(int(self.amount.number))
        if self.strategy.kind == "sampling" and self.scope.ranks and self.scope.by == "run":
            return self.scope.ranks[1] if self.name == "sample" else None
        return None

    def _spelled(self, options: list[str]) -> str:
        return " ".join(word for word in (self.name, *options, str(self.amount), str(self.scope)) if word)


PlanStep = Selection | Cap


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order. `str` gives the canonical text, which parses to an equal plan."""

    steps: tuple[PlanStep, ...]
    grammar: int = GRAMMAR

    def __str__(self) -> str:
        return "; ".join(str(step) for step in self.steps)

    @property
    def spelled_out(self) -> str:
        """The plan with every option, also those that have their default: for the manifest."""
        return "; ".join(step.spelled_out if isinstance(step, Selection) else str(step) for step in self.steps)

    @property
    def reach(self) -> int | None:
        """The deepest rank that the plan looks at; None where it looks at whole runs. It is the pooled part."""
        reaches = [step.reach for step in self.steps if isinstance(step, Selection)]
        known = [reach for reach in reaches if reach is not None]
        return max(known) if known and len(known) == len(reaches) else None

    @property
    def is_live(self) -> bool:
        """Whether a step needs judgments."""
        return any(isinstance(step, Selection) and step.strategy.kind == "adaptive" for step in self.steps)


def spelled_number(number: float) -> str:
    """Give the shortest decimal that reads back as the same number, without an exponent: the grammar has none."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _options(strategy: Strategy, *, defaults_too: bool) -> list[str]:
    fields = dataclasses.fields(strategy)  # type: ignore[arg-type]
    given = [(known.name, getattr(strategy, known.name), known.default) for known in fields]
    return [
        f"{name.replace('_', '-')}={_word(value)}"
        for name, value, default in given
        if defaults_too or value != default
    ]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:.17g}" if isinstance(value, float) and float(f"{value:.12g}") != value else str(value)
    text = f"{value:.12g}" if isinstance(value, float) and float(f"{value:.12g}") == value else text
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if not text or re.search(r'[\s;"]', text) else text


# What a plan may not say, though it can be read.


def problems_of_step(step: Selection) -> Iterator[str]:
    """Say what is wrong with one step, taken by itself."""
    yield from _amount_problems(step)
    yield from _scope_problems(step)
    yield from _limit_problems(step)


def problems_of_plan(steps: Sequence[PlanStep]) -> Iterator[tuple[int, str]]:
    """Give (number of the step, what is wrong with it) for steps that are fine by themselves."""
    for place, step in enumerate(steps):
        before = [earlier for earlier in steps[:place] if isinstance(earlier, Selection)]
        if isinstance(step, Cap):
            yield from ((place, message) for message in _cap_problems(before))
        elif step.strategy.kind == "adaptive":
            yield from ((place, message) for message in _adaptive_problems(step, before))
        else:
            yield from ((place, message) for message in _order_problems(step, before))


def _adaptive_problems(step: Selection, before: Sequence[Selection]) -> Iterator[str]:
    if _has("adaptive", before):
        yield "a plan has one adaptive step; this is the second"
    if any(rule for rule in step.scope.stop if type(rule).__name__ == "Target") and not _has("sampling", before):
        yield "stop=target needs a sample before it, as in 'sample 100; mtf stop=target'"


def _order_problems(step: Selection, before: Sequence[Selection]) -> Iterator[str]:
    if step.strategy.kind == "fixed" and _has("sampling", before):
        yield f"{step.name} after a sample would falsify its probabilities: put it before the sample"
    if any(_spreads(earlier) for earlier in before):
        yield f"{step.name} cannot follow a budget across topics: put it before"
    elif step.amount.kind == "budget" and _has("adaptive", before):
        yield "a budget for all topics cannot follow an adaptive step: topics end one by one"


def _amount_problems(step: Selection) -> Iterator[str]:
    kind = step.amount.kind
    if isinstance(step.strategy, RankAmount):
        if kind != "count":
            yield f"{step.name} takes a rank, as in '{step.name} 10'"
    elif isinstance(step.strategy, FillsUp):
        yield from step.strategy.amount_problems(has_amount=kind != "all")
    elif step.strategy.kind == "sampling" and kind == "all":
        yield f"{step.name} needs an amount: a number, until a number, a share or a budget"
    elif step.strategy.kind == "adaptive" and kind == "share":
        yield f"{step.name} takes a number, until a number or a budget, not a share"


def _scope_problems(step: Selection) -> Iterator[str]:
    if step.scope.by == "topic" and not isinstance(step.strategy, RankAmount):
        yield "by=topic belongs to depth: 'depth 200 by=topic' goes as deep as 200 documents a topic allow"
    if step.scope.by == "topic" and str(getattr(step.strategy, "topics", "")):
        yield "topics= sets depths, and with by=topic the amount is a number of documents: use one of them"
    if step.scope.ranks and isinstance(step.strategy, RankAmount):
        yield f"{step.name} takes no ranks=: its amount is the rank"
    if step.scope.across_topics and step.strategy.kind != "adaptive":
        yield f"{step.name} cannot compare topics; without 'across topics' a budget is shared evenly"
    elif step.scope.across_topics and step.amount.kind != "budget":
        yield "'across topics' needs a budget, as in 'budget 15000 across topics'"


def _limit_problems(step: Selection) -> Iterator[str]:
    floor, cap = step.scope.floor, step.scope.cap
    if (floor is not None or cap is not None) and not step.scope.across_topics:
        yield "floor= and cap= need 'across topics'; the step 'cap N' cuts every topic"
    if floor is not None and cap is not None and floor > cap:
        yield f"the floor of {floor} is above the cap of {cap}"
    names = [name for rule in step.scope.stop for name, part in stopping_rules.items() if part is type(rule)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"the stopping rule {quoted(name)} is given twice"
    if step.scope.stop and step.strategy.kind != "adaptive":
        yield f"{step.name} is not adaptive: only what learns from judgments can stop by rule"


def _cap_problems(before: Sequence[Selection]) -> Iterator[str]:
    if not before:
        yield "cap has nothing before it to cut"
    if _has("sampling", before):
        yield "cap after a sample would falsify its probabilities: put it before the sample"
    if _has("adaptive", before):
        yield "cap cannot take back what was judged: give the adaptive step an amount instead"


def _has(kind: Kind, steps: Sequence[Selection]) -> bool:
    return any(step.strategy.kind == kind for step in steps)


def _spreads(step: Selection) -> bool:
    return step.scope.across_topics


# From the text of a plan to the plan: see `cranfield.pool.plan` for the grammar.

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


# A plan for fewer runs than it was made for: those that are left may all be shorter than a step goes.


def within_lists(plan: Plan, depth: int) -> Plan:
    """Give the plan with no step going beyond lists of this length; a step that begins below them is left out."""
    kept = [step for step in plan.steps if not _begins_below(step, depth)]
    return replace(plan, steps=tuple(_step_within(step, depth) for step in kept or plan.steps[:1]))


def _begins_below(step: PlanStep, depth: int) -> bool:
    return isinstance(step, Selection) and step.scope.ranks is not None and step.scope.ranks[0] > depth


def _step_within(step: PlanStep, depth: int) -> PlanStep:
    if not isinstance(step, Selection):
        return step
    scope: Scope = step.scope
    if scope.ranks is not None and scope.ranks[0] <= depth < scope.ranks[1]:
        return replace(step, scope=replace(scope, ranks=(scope.ranks[0], depth)))
    if isinstance(step.strategy, RankAmount) and scope.by == "run" and step.amount.number > depth:
        return replace(step, amount=Amount("count", depth))
    return step
