"""What is said with a comparison: what limits its tests and intervals, what a topic set tells apart or could."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeVar

from cranfield.errors import UsageError
from cranfield.workflows.compare_how import TUKEY
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.compare.comparison import PairResult
    from cranfield.workflows.compare import Compared
    from cranfield.workflows.compare_how import Comparing

Number = TypeVar("Number", float, int)

_NOISE = 1e-12

ONE_TOPIC = "one topic: no test, interval or effect size is possible"


def notes_on_test(results: "Sequence[PairResult]", how: "Comparing", *, draws: int) -> list[str]:
    """Say where the test could find nothing, or is not defined, and what is counted otherwise than it does."""
    if results[0].topics == 1:
        return [ONE_TOPIC]
    notes = [*_out_of_reach(results, how, draws)]
    if any(result.degenerate and result.difference for result in results):
        notes.append("where all differences are equal the test is undefined; p is then 2^(1-n) for n topics")
    if how.tolerance:
        notes.append(f"won/tied/lost: differences up to {how.tolerance:g} are ties; tests know no such tolerance")
    return notes


def _out_of_reach(results: "Sequence[PairResult]", how: "Comparing", draws: int) -> list[str]:
    """Say why no pair at all can be significant, where that is so, and what would help."""
    from cranfield.compare.drawing import draws_needed
    from cranfield.compare.reach import SIGNS, smallest_drawn, smallest_of_signs, times_corrected
    from cranfield.compare.words import CORRECTIONS, TESTS

    topics, times = results[0].topics, times_corrected(how.correction, len(results))
    after = f" after {CORRECTIONS[how.correction]}" if times > 1 else ""
    others = "--test t or tukey" if len(results) > 1 and not how.baselines else "--test t"
    if how.test in SIGNS and (smallest := smallest_of_signs(topics)) * times > how.alpha:
        p = f"the smallest p on {topics} topics is {smallest:.3g} ({TESTS[how.test]})"
        larger = f", {counted(times, 'pair')} make that {min(smallest * times, 1):.2g}{after}" if times > 1 else ""
        return [f"{p}{larger}: no pair can be significant at alpha {how.alpha:g}; take more topics, or {others}"]
    if draws and smallest_drawn(draws) * times > how.alpha:
        needed = draws_needed(times, alpha=how.alpha)
        which = f"no pair of {len(results):,}" if times > 1 else "no pair"
        other = ", or --test tukey" if "tukey" in others and how.test != TUKEY else ""
        return [f"with {draws:,} draws {which} can be significant{after}; use --draws {needed} or more{other}"]
    return []


def few_topics_notes(results: "Sequence[PairResult]") -> list[str]:
    """Say how far intervals on few topics can be believed, where there are any."""
    from cranfield.compare.intervals import COVERAGE

    topics = results[0].topics
    if topics not in COVERAGE or not any(result.high > result.low for result in results):
        return []
    held = f"they hold the true difference in about {COVERAGE[topics]:.0%} of cases instead of 95%"
    return [f"on {topics} topics these intervals are too narrow: {held}, and less where differences are skewed"]


def all_notes(compared: "Sequence[Compared]", *, by_topic: bool = False) -> list[str]:
    """Give what is said of comparisons, each sentence once; topic by topic there are no intervals to speak of."""
    return list(
        dict.fromkeys(
            note
            for one in compared
            for note in (*one.notes, *one.pair_notes, *(() if by_topic else one.interval_notes))
        )
    )


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a topic set should be able to show: a true difference, where one is named, with this chance."""

    power: float = 0.8
    difference: float | None = None

    def __post_init__(self) -> None:
        from cranfield.compare.result import check_share

        check_share("power", self.power)
        if self.difference is not None and not 0 <= self.difference < inf:
            raise UsageError(f"a wanted difference is a number from 0 up, not {self.difference!r}")


def power_record(one: "Compared", wanted: Wanted) -> "dict[str, float | int | None]":
    """Give what the topics of a measure tell apart and would find, as data; None where it cannot be said.

    With a wanted difference also how many topics it needs.
    """
    detectable = _or_none(lambda: _detectable(one, wanted.power))
    found: dict[str, float | int | None] = {
        "discriminative_power": one.power.share,
        "detectable_difference": None if detectable is None or detectable > one.of.largest else detectable,
    }
    if wanted.difference is None:
        return found
    return found | {"topics_needed": _or_none(lambda: _topics(one, wanted.difference or 0.0, wanted.power))}


def _detectable(one: "Compared", power: float) -> float:
    from cranfield.compare.power import detectable_difference

    if why := _why_unknown(one):
        raise UsageError(why)
    topics = one.scores.values.shape[1]
    return detectable_difference(topics, deviation=one.deviation, power=power, alpha=one.how.alpha)


def _topics(one: "Compared", difference: float, power: float) -> int:
    """Give how many topics a difference needs; a `UsageError` says why where that cannot be said."""
    from cranfield.compare.power import MOST_TOPICS, topics_needed

    if not difference:
        raise UsageError("no number of topics finds a true difference of 0")
    if difference > one.of.largest:
        raise UsageError(
            f"no two runs differ by {difference:g}: the largest possible difference is {one.of.largest:.4g}"
        )
    if why := _why_unknown(one):
        raise UsageError(f"how many topics a true difference of {difference:g} needs cannot be said: {why}")
    try:
        return topics_needed(difference=difference, deviation=one.deviation, power=power, alpha=one.how.alpha)
    except UsageError:
        told = f"a true difference of {difference:g} needs more than {MOST_TOPICS:,} topics to be found"
        raise UsageError(told) from None


def _or_none(known: "Callable[[], Number]") -> "Number | None":
    try:
        return known()
    except UsageError:
        return None


def power_notes(compared: "Sequence[Compared]", wanted: Wanted) -> list[str]:
    """Say for each measure what its topics tell apart, what they would find, and what a wanted difference needs."""
    notes = []
    for one in compared:
        notes.append(f"{one.measure}: {discriminative_power(one)}; {smallest_difference(one, power=wanted.power)}")
        if wanted.difference is not None:
            notes.append(f"{one.measure}: {needed_topics(one, wanted.difference, power=wanted.power)}")
    return notes


def discriminative_power(one: "Compared") -> str:
    """Say which share of the pairs is significant, by the corrected p, and the smallest difference that is."""
    found, topics = one.power, counted(one.scores.values.shape[1], "topic")
    smallest = f", the smallest difference {found.smallest_difference:.4f}" if found.significant else ""
    pairs = f"{found.significant:,} of {counted(found.pairs, 'pair')} significant on {topics}{smallest}"
    return f"discriminative power {found.share:.0%} ({pairs})"


def smallest_difference(one: "Compared", *, power: float = 0.8) -> str:
    """Say which difference these topics would probably show, or why that cannot be said."""
    try:
        smallest = _detectable(one, power)
    except UsageError as error:
        return f"which difference would be found cannot be said: {error}"
    chance = f"with {power:.0%} chance (paired t)"
    if smallest > one.of.largest:
        return f"no difference that is possible would be found {chance}: it takes more topics"
    return f"a single true difference of {smallest:.4f} would be found {chance}"


def needed_topics(one: "Compared", difference: float, *, power: float = 0.8) -> str:
    """Say how many topics a wanted difference would need, or why that cannot be said."""
    try:
        needed = _topics(one, difference, power)
    except UsageError as error:
        return str(error)
    return (
        f"a true difference of {difference:g} needs {needed:,} topics to be found with {power:.0%} chance (paired t)"
    )


def _why_unknown(one: "Compared") -> str:
    """Say why nothing is known about how much differences vary; nothing where it is."""
    if one.scores.values.shape[1] < 2:
        return "it takes two topics to see how much differences vary"
    return "" if one.deviation > _NOISE else "here no difference varies between topics"
