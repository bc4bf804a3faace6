"""Which pairs of a comparison people see, and what a table says of entries: thousands of pairs are no table."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.workflows.evaluate_letters import MOST_LETTERS
from cranfield.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.compare.comparison import PairResult
    from cranfield.workflows.compare import Compared

PAIRS_SHOWN = 40
AGAINST_BASELINES = 60
"""Up to so many pairs with a baseline are all shown: each of them was asked for."""

NAMES_SHOWN = 5

ALL_IN_DATA = "--format csv gives all"


@dataclass(frozen=True)
class Shown:
    """The pairs that are shown, and a sentence where they are not all; those `turned` stand as b against a."""

    pairs: "tuple[PairResult, ...]"
    turned: "frozenset[tuple[str, str]]" = frozenset()
    said: str = ""


def shown_pairs(one: "Compared") -> Shown:
    """Choose the pairs that people see.

    Against baselines all of them, the highest run first, as long as that is a table one can read, else the clearest.
    Of all pairs, where they are few, all of them, the clearest first. Where they are many the clearest would be the
    top against the bottom, which nobody asks about: then the highest run stands against those below it.
    """
    from cranfield.compare.comparison import clearness

    results, total = one.results, counted(len(one.results), "pair")
    place = {one.scores.labels[number]: rank for rank, number in enumerate(one.order)}
    if one.how.baselines and len(results) <= AGAINST_BASELINES:
        bases = list(one.how.baselines)
        return Shown(tuple(sorted(results, key=lambda result: (bases.index(result.b), place[result.a]))))
    clearest = sorted(results, key=clearness)
    if len(results) <= PAIRS_SHOWN:
        return Shown(tuple(clearest))
    if one.how.baselines:
        return Shown(tuple(clearest[:PAIRS_SHOWN]), said=f"the {PAIRS_SHOWN} clearest of {total}; {ALL_IN_DATA}")
    best = one.scores.labels[one.order[0]]
    against = sorted(_with(results, best), key=lambda result: place[_other(result, best)])[:PAIRS_SHOWN]
    turned = frozenset((result.a, result.b) for result in against if result.b == best)
    which = "each other run" if len(against) == len(place) - 1 else f"the next {len(against)} runs"
    return Shown(tuple(against), turned, f"{best} against {which}, of {total}; {ALL_IN_DATA}")


def _with(results: "Sequence[PairResult]", entry: str) -> "list[PairResult]":
    return [result for result in results if entry in (result.a, result.b)]


def _other(result: "PairResult", entry: str) -> str:
    return result.b if result.a == entry else result.a


def level_with_the_best(one: "Compared") -> frozenset[str] | None:
    """Give the entries that do not differ significantly from the highest; None where letters are few enough."""
    if max(map(len, one.letters.values()), default=0) <= MOST_LETTERS:
        return None
    best = one.scores.labels[one.order[0]]
    level = (_other(result, best) for result in _with(one.results, best) if result.adjusted_p > one.how.alpha)
    return frozenset([best, *level])


def level_heading(one: "Compared") -> str:
    """Give what stands above the column of those entries."""
    return "level with the best" if one.of.quality else "level with the highest"


def named(entries: "Sequence[str]") -> str:
    """Give the names of entries, of many the first ones and how many more there are."""
    more = len(entries) - NAMES_SHOWN
    return ", ".join(entries[:NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def said_of_letters(one: "Compared") -> str:
    """Say what the last column of a standing means: what an entry is above, or what it shares a letter with."""
    if one.how.baselines:
        return f"beats: significantly better than ({how_tested(one)})" if one.of.quality else _higher(one)
    if level_with_the_best(one) is None:
        return f"runs that share a letter do not differ significantly ({how_tested(one)})"
    return f"{level_heading(one)}: not significantly different from it ({how_tested(one)}); {ALL_IN_DATA} pairs"


def _higher(one: "Compared") -> str:
    return f"higher than: significantly ({how_tested(one)}); a higher {one.of.shown} does not mean a better run"


def how_tested(one: "Compared") -> str:
    """Give test, draws, correction and alpha in words."""
    from cranfield.compare.words import said_of_test

    return f"{said_of_test(one.how.test, one.how.correction, draws=one.test_draws)}, alpha {one.how.alpha:g}"
