"""The plan of a pool: a small language that reads aloud, and the value it means.

    depth 10; rrf k=60 until 100; sample 5% ranks=11-100

Grammar 1, as EBNF (words are separated by blanks; a value with blanks, `;` or `"` in it stands in double quotes,
where `""` means `"`; a number has at most 12 digits):

    plan      = step , { ";" , step } , [ ";" ] ;
    step      = [ "then" ] , ( cap | selection ) ;
    cap       = "cap" , number ;
    selection = strategy , { option | amount | scope } ;
    option    = name , "=" , value ;                       (* a field of the strategy *)
    amount    = number                                     (* so many more documents per topic; for depth: the rank *)
              | "until" , number                           (* until the topic has that many *)
              | percent , "%"                              (* that share of what the step can choose from *)
              | "budget" , number ;                        (* until all topics together have that many *)
    scope     = "by=" , ( "run" | "group" | "topic" )
              | "ranks=" , number , "-" , number           (* documents whose best rank is in that range *)
              | "across" , "topics"                        (* spend a budget where it finds most *)
              | "floor=" , number | "cap=" , number        (* with across topics: minimum, maximum per topic *)
              | "stop=" , rule , { "," , rule } ;
    rule      = name , [ ":" , number ] ;
    number    = digit , { digit } ;
    percent   = number , [ "." , number ] ;

A later step adds only what is not there yet. The defaults of options belong to the version of the grammar: they
change only with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NoReturn, TypeVar, get_args

from cranfield.base.errors import UnknownName, UsageError, check_known, nearest, quoted
from cranfield.pool.stopping import StoppingRule, parsed_rule
from cranfield.pool.strategy import RankAmount, Strata, Strategy, spelled_number, strategies

GRAMMAR = 1
"""The version of the plan language; it is stored beside each plan."""

AmountKind = Literal["all", "count", "until", "share", "budget"]
By = Literal["run", "group", "topic"]


@dataclass(frozen=True)
class Amount:
    """How much a step takes. `share` is in per cent."""

    kind: AmountKind = "all"
    number: float = 0

    def __str__(self) -> str:
        words = {"all": "", "count": "{}", "until": "until {}", "share": "{}%", "budget": "budget {}"}
        return words[self.kind].format(spelled_number(self.number))


@dataclass(frozen=True)
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
            "stop=" + ",".join(map(str, self.stop)) if self.stop else "",
        ]
        return " ".join(filter(None, words))


@dataclass(frozen=True)
class Cap:
    """A step that cuts every topic down to its first documents."""

    number: int

    def __str__(self) -> str:
        return f"cap {self.number}"


@dataclass(frozen=True)
class Selection:
    """A step that adds documents."""

    strategy: Strategy
    amount: Amount = field(default_factory=Amount)
    scope: Scope = field(default_factory=Scope)

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return self.strategy.name

    @property
    def reach(self) -> int | None:
        """The deepest rank the step looks at; None where it looks at whole runs."""
        amount = self.strategy.amount
        if isinstance(amount, RankAmount) and self.scope.by != "topic":
            return max([int(self.amount.number), *amount.own_depths.values()])
        if self.name == "sample" and self.scope.ranks and self.scope.by == "run":
            return self.scope.ranks[1]
        return None

    def __str__(self) -> str:
        return self.spelled()

    def spelled(self, *, with_defaults: bool = False) -> str:
        """The text of the step; `with_defaults` also with the options that have their default."""
        options = [
            f"{name.replace('_', '-')}={_spelled_value(value)}"
            for name, value in self.strategy.options.items()
            if with_defaults or value != self.strategy.defaults[name]
        ]
        return " ".join(filter(None, (self.name, *options, str(self.amount), str(self.scope))))


PlanStep = Selection | Cap


@dataclass(frozen=True)
class Plan:
    """Steps in order. `str` gives the canonical text, which parses to an equal plan."""

    steps: tuple[PlanStep, ...]

    def __str__(self) -> str:
        return "; ".join(str(step) for step in self.steps)

    def __reduce__(self) -> Any:
        # A plan goes to other processes as its text: functions that were decorated cannot go there.
        return parse_stored, (self.spelled_out,)

    @property
    def spelled_out(self) -> str:
        """The plan with every option, also those that have their default: for the manifest."""
        return "; ".join(
            step.spelled(with_defaults=True) if isinstance(step, Selection) else str(step) for step in self.steps
        )

    @property
    def selections(self) -> list[tuple[int, Selection]]:
        """The steps that add documents, with their numbers from 1."""
        return [(place, step) for place, step in enumerate(self.steps, start=1) if isinstance(step, Selection)]

    @property
    def adaptive(self) -> tuple[int, Selection] | None:
        """The step that needs judgments, with its number; None: the pool is built at once."""
        return next(((number, step) for number, step in self.selections if step.strategy.kind == "adaptive"), None)

    @property
    def static_steps(self) -> list[tuple[int, PlanStep]]:
        """The steps, with their numbers from 1, that come before anything adaptive."""
        numbered = list(enumerate(self.steps, start=1))
        return numbered[: self.adaptive[0] - 1] if self.adaptive else numbered

    @property
    def is_reproducible(self) -> bool:
        """Whether the plan chooses the same on every machine."""
        return all(step.strategy.reproducible for _, step in self.selections)

    @property
    def reach(self) -> int | None:
        """The deepest rank that the plan looks at; None where it looks at whole runs. It is the pooled part."""
        reaches = [step.reach for _, step in self.selections]
        known = [reach for reach in reaches if reach is not None]
        return max(known) if known and len(known) == len(reaches) else None

    def within(self, depth: int) -> Plan:
        """The plan with no step going beyond lists of this length; a step that begins below them is left out.

        That is for fewer runs than it was made for: those that are left may all be shorter than a step goes.
        """
        left: list[PlanStep] = []
        for step in self.steps:
            ranks = step.scope.ranks if isinstance(step, Selection) else None
            if ranks is not None and ranks[0] > depth:
                continue
            if isinstance(step, Selection) and ranks is not None and depth < ranks[1]:
                left.append(replace(step, scope=replace(step.scope, ranks=(ranks[0], depth))))
            elif isinstance(step, Selection) and step.scope.by == "run" and (step.reach or 0) > depth:
                left.append(replace(step, amount=Amount("count", min(depth, int(step.amount.number)))))
            else:
                left.append(step)
        return replace(self, steps=tuple(left or self.steps[:1]))


def full_depth(plan: str, *, alone: bool = False) -> int:
    """The k of a plan that begins with `depth k` and caps nothing: it has the first k of each run; else 0.

    With `alone` the plan is that and nothing else.
    """
    first = re.match(r"depth (\d{1,9})$" if alone else r"depth (\d{1,9})(;|$)", plan)
    return int(first[1]) if first and "; cap " not in plan else 0


def _spelled_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    if isinstance(value, float):
        text = f"{value:.12g}" if float(f"{value:.12g}") == value else f"{value:.17g}"
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if not text or re.search(r'[\s;"]', text) else text


# What a plan may not say, though it can be read.


def _problems_of_step(step: Selection) -> Iterator[str]:
    """What is wrong with one step, taken by itself."""
    amount, scope, kind = step.strategy.amount, step.scope, step.strategy.kind
    is_rank = isinstance(amount, RankAmount)
    if is_rank and step.amount.kind != "count":
        yield f"{step.name} needs a rank, as in '{step.name} 10'"
    elif isinstance(amount, Strata):
        has_amount, without = step.amount.kind != "all", [name for name, rate in amount.rates.items() if rate is None]
        if len(without) > 1:
            yield f"one stratum may go without a rate, to get what the others leave; {' and '.join(without)} do"
        elif without and not has_amount:
            yield f"the stratum {without[0]} has no rate and so needs an amount, as in 'stratified until 800'"
        elif has_amount and not without:
            yield "stratified accepts an amount only for a stratum without a rate, as in strata=1-20:100,21-1000"
    elif kind == "sampling" and step.amount.kind == "all":
        yield f"{step.name} needs an amount: a number, until a number, a share or a budget"
    elif kind == "adaptive" and step.amount.kind == "share":
        yield f"the amount of {step.name} must be a number, until a number or a budget, not a share"
    if scope.by == "topic" and not is_rank:
        yield "by=topic works with depth only: 'depth 200 by=topic' pools each topic as deep as 200 documents allow"
    if scope.by == "topic" and isinstance(amount, RankAmount) and amount.own_depths:
        yield "topics= sets depths, and with by=topic the amount is a number of documents: use one of them"
    if scope.ranks and is_rank:
        yield f"{step.name} does not accept ranks=: its amount is the rank"
    if scope.across_topics and kind != "adaptive":
        yield f"{step.name} cannot compare topics; without 'across topics' a budget is shared evenly"
    elif scope.across_topics and step.amount.kind != "budget":
        yield "'across topics' needs a budget, as in 'budget 15000 across topics'"
    if (scope.floor is not None or scope.cap is not None) and not scope.across_topics:
        yield "floor= and cap= need 'across topics'; the step 'cap N' cuts every topic"
    if scope.stop and kind != "adaptive":
        yield f"{step.name} is not adaptive: only adaptive steps accept stop="


def _problems_after(before: Sequence[Selection], step: PlanStep) -> Iterator[str]:
    """Why a step that is fine by itself cannot follow others."""
    kinds = {earlier.strategy.kind for earlier in before}
    if isinstance(step, Cap):
        if not before:
            yield "cap has no step before it"
        if "sampling" in kinds:
            yield "cap after a sample would invalidate its inclusion probabilities: put it before the sample"
        if "adaptive" in kinds:
            yield "cap cannot take back what was judged: give the adaptive step an amount instead"
    elif step.strategy.kind == "adaptive":
        if "adaptive" in kinds:
            yield "a plan has one adaptive step; this is the second"
        if any(rule.needs_sample for rule in step.scope.stop) and "sampling" not in kinds:
            yield "stop=target needs a sample before it, as in 'sample 100; mtf stop=target'"
    else:
        if step.strategy.kind == "fixed" and "sampling" in kinds:
            yield f"{step.name} after a sample would invalidate its inclusion probabilities: put it before the sample"
        if any(earlier.scope.across_topics for earlier in before):
            yield f"{step.name} cannot follow a budget across topics: put it before"
        elif step.amount.kind == "budget" and "adaptive" in kinds:
            yield "a budget for all topics cannot follow an adaptive step: topics end one by one"


# From the text of a plan to the plan.

_WORD = re.compile(
    r'(?:[^\s;="]+="(?:[^"]|"")*"|(?:until|budget)\s+[0-9]+|across\s+topics|[0-9.]+\s+%)(?=[\s;]|$)|[^\s;]+|;'
)
"""A setting in quotes, or what is said in two words; else a word."""

_NUMBER = re.compile(r"[0-9]{1,12}")
_AMOUNT = re.compile(r"(?:(until|budget)\s+)?([0-9]{1,12}|[0-9]{1,12}(?:\.[0-9]+)?\s*(?=%))(%?)")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_RANKS = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_SCOPE_WORDS = ("by", "ranks", "floor", "cap", "stop")

Word = tuple[str, int]
"""A word of a plan and the position of its first letter, from 1."""

Mistake = tuple[int, str]
"""A position, and what is wrong there."""

Result = TypeVar("Result")


def parse(text: str, *, is_checked: bool = True) -> Plan:
    """The plan that a text means; a `UsageError` lists everything that is wrong with it, with its position.

    A number alone is a depth. One that is not `is_checked` is only read, whether it makes sense or not.
    """
    text, divided = f"depth {text}" if text.strip().isdecimal() else text, list[list[Word]]([[]])
    for match in _WORD.finditer(text):
        if match.group() == ";":
            divided.append([])
        elif match.group().lower() != "then" or divided[-1]:
            divided[-1].append((match.group(), match.start() + 1))
    steps: list[tuple[PlanStep, int]] = []
    mistakes: list[Mistake] = []
    for words in filter(None, divided):
        reader = _StepReader(words)
        step = reader.read()
        mistakes += reader.mistakes
        if step is not None:
            steps.append((step, words[0][1]))
    if not steps and not mistakes:
        known = ", ".join(strategies.names())
        mistakes.append((1, f"expected the name of a strategy, found the end (known: {known})"))
    for step, position in steps if is_checked else ():
        if isinstance(step, Selection):
            mistakes += [(position, message) for message in _problems_of_step(step)]
    # How steps follow each other is looked at when each is right by itself.
    for place, (step, position) in enumerate(steps if is_checked and not mistakes else ()):
        before = [earlier for earlier, _ in steps[:place] if isinstance(earlier, Selection)]
        mistakes += [(position, message) for message in _problems_after(before, step)]
    if mistakes:
        lines = [f"  at position {position}: {message}" for position, message in sorted(mistakes, key=itemgetter(0))]
        raise UsageError("\n".join([f"this plan cannot be used: {quoted(text, limit=300)}", *lines]))
    return Plan(tuple(step for step, _ in steps))


parse_stored = partial(parse, is_checked=False)
"""Reads the plan of a pool that was built, and checked then: a rule that came later must not make it unreadable."""


class _StepReader:
    """One step while it is read: the words that are left, what is known of it, and what is wrong with it."""

    def __init__(self, words: Sequence[Word]) -> None:
        (self.name, self.position), *self.words = words
        self.options: dict[str, Word] = {}
        self.amount = Amount()
        self.scope: dict[str, Any] = {}
        self.mistakes: list[Mistake] = []

    def read(self) -> PlanStep | None:
        """The step, or None where something is wrong with it."""
        if self.name == "cap":
            number, position = self.words[-1] if self.words else ("", self.position + len(self.name))
            if len(self.words) == 1 and _NUMBER.fullmatch(number) and int(number) > 0:
                return Cap(int(number))
            found = quoted(number) if self.words else "the end of the step"
            self.mistakes.append((position, f"cap needs one number of at least 1, as in 'cap 800'; found {found}"))
            return None
        named = self._attempt(self.position, strategies.get, self.name)
        if named is None:
            return None
        self.strategy = named
        while self.words:
            word, position = self.words.pop(0)
            self._attempt(position, self._read_word, word, position)
        # One option after the other, so that everything wrong with them is said.
        for name, (value, position) in self.options.items():
            self.strategy = self._attempt(position, self.strategy.configured, {name: value}) or self.strategy
        return None if self.mistakes else Selection(self.strategy, self.amount, Scope(**self.scope))

    def _attempt(self, position: int, read: Callable[..., Result], *inputs: Any) -> Result | None:
        """What `read` makes of its inputs; None where that is a mistake."""
        try:
            return read(*inputs)
        except UsageError as error:
            self.mistakes.append((position, str(error)))
            return None

    def _read_word(self, word: str, position: int) -> None:
        if "=" in word:
            self._read_setting(word, position)
        elif match := _AMOUNT.fullmatch(word):
            kind: Any = match[1] or ("share" if match[3] else "count")
            number = float(match[2]) if kind == "share" else int(match[2])
            if self.amount.kind != "all":
                raise UsageError(f"a step has one amount; this one already has {quoted(self.amount)}")
            if number <= 0 or (kind == "share" and number > 100):
                limit = "more than 0 and at most 100%" if kind == "share" else "at least 1"
                raise UsageError(f"an amount must be {limit}, not {number:g}")
            self.amount = Amount(kind, number)
        elif word.split() == ["across", "topics"]:
            self.scope["across_topics"] = True
        else:
            self._refuse_word(word)

    def _refuse_word(self, word: str) -> NoReturn:
        """Say what could stand where a word does, and perhaps what was meant."""
        options = [f"{name.replace('_', '-')}=" for name in self.strategy.options]
        known = ["until 100", "budget 1000", "across topics", *options, *(f"{scope}=" for scope in _SCOPE_WORDS)]
        near = nearest(word, known)
        guess = f"did you mean {quoted(near[0])}?" if near else "steps are separated by ';'"
        expected = "an amount (10, until 100, 5%, budget 1000), an option or a scope"
        raise UsageError(f"expected {expected}, found {quoted(word)}; {guess}")

    def _read_setting(self, word: str, position: int) -> None:
        name, _, value = word.partition("=")
        if '"' in value:
            if not _QUOTED.fullmatch(value):
                wanted = "a value with '\"' in it must be in double quotes, with '\"' written twice"
                raise UsageError(f"{wanted}: {quoted(value)}")
            value = value[1:-1].replace('""', '"')
        if name in self.options or name in self.scope:
            raise UsageError(f"{quoted(name)} is given twice")
        if name.replace("-", "_") in self.strategy.options:
            self.options[name] = value, position
        elif name == "by":
            check_known("value of 'by':", [value], get_args(By))
            self.scope["by"] = value
        elif name == "ranks":
            match = _RANKS.fullmatch(value)
            if not match or not 1 <= int(match[1]) <= int(match[2]):
                raise UsageError(f"expected ranks as in ranks=11-100, from 1 and rising, found {quoted(value)}")
            self.scope["ranks"] = (int(match[1]), int(match[2]))
        elif name == "stop":
            rules = [self._attempt(position, parsed_rule, text) for text in value.split(",")]
            self.scope["stop"] = tuple(rule for rule in rules if rule is not None)
        elif name not in _SCOPE_WORDS:
            known = sorted([*(option.replace("_", "-") for option in self.strategy.options), *_SCOPE_WORDS])
            raise UnknownName(f"option of {self.name}", name, known)
        elif not _NUMBER.fullmatch(value) or int(value) < 1:
            raise UsageError(f"{name} must be a number of at least 1, not {quoted(value)}")
        else:
            self.scope[name] = int(value)
