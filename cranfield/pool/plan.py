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

import dataclasses
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from cranfield.pool.stopping import StoppingRule, spelled_rule
from cranfield.pool.strategy import RankAmount, Strategy

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
