"""Compare runs: differences with intervals, corrected significance, and what the topic set can show at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite, log, nan
from os.path import normpath
from typing import TYPE_CHECKING, Any, TypeVar

from cranfield.base.errors import UnknownName, UsageError, quoted
from cranfield.base.progress import Progress, silent
from cranfield.base.text import counted
from cranfield.store.store import Store
from cranfield.workflows.evaluate.evaluate import Evaluation, evaluate
from cranfield.workflows.evaluate.inputs import Asked, KeptAlignment, Read

if TYPE_CHECKING:
    from cranfield.compare.comparison import PairedScores, PairResult
    from cranfield.compare.differences import SignificanceTest, Values
    from cranfield.compare.power import DiscriminativePower
    from cranfield.evaluate.expression import AnyMeasure
    from cranfield.evaluate.scores import Scores


# How runs are compared: what a user may ask for, checked, and by the names that things are registered with.

TUKEY, TUKEY_BESIDE = "tukey", "t"
"""Tukey's test over all runs, and the test of single pairs whose p stands beside it."""

DRAWING_TESTS = ("randomisation", "bootstrap")
DEFAULT_CORRECTION = "holm"
LEAST_DRAWS = 100


@dataclass(frozen=True)
class Comparing:
    """How runs are compared.

    Test and correction may be given by any of their names, and are kept by the first. Without a correction it is
    Holm's, or what Tukey's test has in it; Tukey's test takes no other. Without `draws`, intervals and Tukey's test
    have 10,000 and other drawing tests as many as the number of pairs asks for. `systems` maps the name of a system
    to its runs (seeds), which then count as one entry. Without baselines all pairs meet.
    """

    baselines: tuple[str, ...] = ()
    test: str = "t"
    correction: str = ""
    alpha: float = 0.05
    tolerance: float = 0.0
    draws: int | None = None
    seed: int = 1
    level: float = 0.95
    systems: Mapping[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        from cranfield.compare.differences import seeded

        test = _test_named(self.test)
        object.__setattr__(self, "test", test)
        object.__setattr__(self, "correction", _correction_named(self.correction, test))
        for name, value, highest in (("alpha", self.alpha, 1.0), ("tolerance", self.tolerance, inf)):
            _check_number(name, value, highest)
        seeded(self.seed)
        if self.draws is not None and (not _is_whole(self.draws) or self.draws < LEAST_DRAWS):
            raise UsageError(f"draws are a whole number from {LEAST_DRAWS} up, not {self.draws!r}")

    @property
    def interval_draws(self) -> int:
        """How often topics are drawn for an interval, and permuted for Tukey's test."""
        from cranfield.compare.differences import DRAWS

        return DRAWS if self.draws is None else self.draws

    def test_draws(self, pairs: int) -> int:
        """Give how often the test draws, for so many pairs; 0 where it draws nothing."""
        from cranfield.compare.differences import DRAWS, enough_draws

        if self.test == TUKEY:
            return self.interval_draws
        if self.test not in DRAWING_TESTS:
            return 0
        if self.draws is not None:
            return self.draws
        return DRAWS if self.correction == "none" else enough_draws(pairs, alpha=self.alpha)


def _test_named(name: object) -> str:
    from cranfield.compare.significance import tests

    if name == TUKEY:
        return TUKEY
    if not isinstance(name, str) or name not in tests:
        raise UnknownName("significance test", str(name), [TUKEY, *tests.names()])
    return tests.canonical(name)


def _correction_named(name: object, test: str) -> str:
    from cranfield.compare.corrections import corrections

    if test == TUKEY:
        if name not in ("", TUKEY):
            raise UsageError(
                f"Tukey's test corrects for all pairs itself, and takes no {quoted(name)}; leave the correction out"
            )
        return TUKEY
    if name == TUKEY:
        raise UsageError("Tukey's test is chosen as the test: --test tukey, without a correction")
    if not isinstance(name, str):
        raise UnknownName("correction", str(name), corrections.names())
    return corrections.canonical(name or DEFAULT_CORRECTION)


def _check_number(name: str, value: object, highest: float) -> None:
    """Refuse what is no number from 0 up; where there is a highest one, both ends are no sense either."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else nan
    if not (0 < number < highest if isfinite(highest) else 0 <= number < inf):
        wanted = f"a number between 0 and {highest:g}" if isfinite(highest) else "a number from 0 up"
        raise UsageError(f"{name} is {wanted}, not {value!r}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def seed_systems(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Give the runs of each system that is written as `NAME=RUN,RUN,…`."""
    systems: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, runs = word.partition("=")
        members = tuple(run for run in runs.split(",") if run)
        if not equals or not name or not members:
            raise UsageError(f"{quoted(word)} is not a system; write NAME=RUN,RUN,…")
        if name in systems:
            raise UsageError(f"two systems are called {quoted(name)}; name all runs of a system in one --system")
        systems[name] = members
    return systems


def with_names_of(how: Comparing, words: Sequence[object], names: Sequence[str]) -> Comparing:
    """Give the same with runs by their names, where baselines and seeds are given as the files that were typed.

    `words` are the runs as they were asked for, `names` what they are called, in the same order. A file may be typed
    in two ways, `b.run` and `./b.run`.
    """
    typed = {word: name for word, name in zip(words, names, strict=True) if isinstance(word, str)}
    paths = {normpath(word): name for word, name in typed.items()}

    def named(word: str) -> str:
        meant = typed.get(word) or paths.get(normpath(word), word)
        if meant != word and word in names:
            raise UsageError(f"{quoted(word)} is the file of run {quoted(meant)}, and the name of another run")
        return meant

    seeds = {system: tuple(map(named, members)) for system, members in (how.systems or {}).items()}
    return replace(how, baselines=tuple(map(named, how.baselines)), systems=seeds or how.systems)


def entries_of(runs: Sequence[str], systems: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Give the entry each run belongs to: itself, or its system."""
    belongs: dict[str, str] = {}
    for system, members in systems.items():
        for member in members:
            if member not in runs:
                raise UnknownName("run", member, runs)
            if member in belongs:
                raise UsageError(f"{quoted(member)} is a seed of two systems")
            belongs[member] = system
        if system in runs and system not in members:
            raise UsageError(f"{quoted(system)} is a run of its own; give the system another name")
    return [belongs.get(run, run) for run in runs]


# What of a measure is compared, topic by topic, and what is shown of it.


@dataclass(frozen=True)
class Comparable:
    """A measure as it is compared.

    `name` says what differences are of, `shown` what the standing is of: with `logarithms` topics are compared by
    those, and the standing has geometric means. `quality` says that a higher value means a better run, and `largest`
    which difference of two means is the largest possible one.
    """

    name: str
    shown: str
    logarithms: bool = False
    quality: bool = True
    largest: float = inf
    notes: tuple[str, ...] = ()


def comparable(measure: AnyMeasure, values: Values) -> tuple[Comparable, Values]:
    """Give what is compared of a measure, and its values topic by topic.

    Geometric means are compared by logarithms: the difference of their means is the logarithm of a ratio of geometric
    means. What is added up is compared by its means. A median, or an end, is no sum of what topics have.
    """
    import numpy as np

    from cranfield.evaluate.measure import SMALLEST

    name, low, high = str(measure), *measure.bounds
    if measure.aggregate == "mean":
        return Comparable(name, name, quality=measure.quality, largest=high - low), values
    if measure.aggregate == "sum":
        per_topic = f"{name} per topic"
        return Comparable(per_topic, per_topic, quality=measure.quality), values
    if measure.aggregate == "geometric":
        note = (
            f"log {name}: a difference and its interval are those of logarithms; the means and the relative"
            " difference are those of the geometric means"
        )
        largest = log(high / SMALLEST) if high < inf else inf
        told = Comparable(
            f"log {name}", name, logarithms=True, quality=measure.quality, largest=largest, notes=(note,)
        )
        return told, np.log(np.maximum(values, SMALLEST))
    raise UsageError(
        f"{name} is the {measure.aggregate} of the topics, and cannot be compared topic by topic; take the mean"
    )


# What is said with a comparison: what limits its tests and intervals, what a topic set tells apart or could.

Number = TypeVar("Number", float, int)

_NOISE = 1e-12

ONE_TOPIC = "one topic: no test, interval or effect size is possible"


def notes_on_test(results: Sequence[PairResult], how: Comparing, *, draws: int) -> list[str]:
    """Say where the test could find nothing, or is not defined, and what is counted otherwise than it does."""
    if results[0].topics == 1:
        return [ONE_TOPIC]
    notes = [*_out_of_reach(results, how, draws)]
    if any(result.degenerate and result.difference for result in results):
        notes.append("where all differences are equal the test is undefined; p is then 2^(1-n) for n topics")
    if how.tolerance:
        notes.append(f"won/tied/lost: differences up to {how.tolerance:g} are ties; tests know no such tolerance")
    return notes


def _out_of_reach(results: Sequence[PairResult], how: Comparing, draws: int) -> list[str]:
    """Say why no pair at all can be significant, where that is so, and what would help."""
    from cranfield.compare.comparison import (
        CORRECTIONS,
        SIGNS,
        TESTS,
        smallest_drawn,
        smallest_of_signs,
        times_corrected,
    )
    from cranfield.compare.differences import draws_needed

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


def few_topics_notes(results: Sequence[PairResult]) -> list[str]:
    """Say how far intervals on few topics can be believed, where there are any."""
    from cranfield.compare.differences import COVERAGE

    topics = results[0].topics
    if topics not in COVERAGE or not any(result.high > result.low for result in results):
        return []
    held = f"they hold the true difference in about {COVERAGE[topics]:.0%} of cases instead of 95%"
    return [f"on {topics} topics these intervals are too narrow: {held}, and less where differences are skewed"]


def all_notes(compared: Sequence[Compared], *, by_topic: bool = False) -> list[str]:
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
        from cranfield.compare.differences import check_share

        check_share("power", self.power)
        if self.difference is not None and not 0 <= self.difference < inf:
            raise UsageError(f"a wanted difference is a number from 0 up, not {self.difference!r}")


def power_record(one: Compared, wanted: Wanted) -> dict[str, float | int | None]:
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


def _detectable(one: Compared, power: float) -> float:
    from cranfield.compare.power import detectable_difference

    if why := _why_unknown(one):
        raise UsageError(why)
    topics = one.scores.values.shape[1]
    return detectable_difference(topics, deviation=one.deviation, power=power, alpha=one.how.alpha)


def _topics(one: Compared, difference: float, power: float) -> int:
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


def _or_none(known: Callable[[], Number]) -> Number | None:
    try:
        return known()
    except UsageError:
        return None


def power_notes(compared: Sequence[Compared], wanted: Wanted) -> list[str]:
    """Say for each measure what its topics tell apart, what they would find, and what a wanted difference needs."""
    notes = []
    for one in compared:
        notes.append(f"{one.measure}: {discriminative_power(one)}; {smallest_difference(one, power=wanted.power)}")
        if wanted.difference is not None:
            notes.append(f"{one.measure}: {needed_topics(one, wanted.difference, power=wanted.power)}")
    return notes


def discriminative_power(one: Compared) -> str:
    """Say which share of the pairs is significant, by the corrected p, and the smallest difference that is."""
    found, topics = one.power, counted(one.scores.values.shape[1], "topic")
    smallest = f", the smallest difference {found.smallest_difference:.4f}" if found.significant else ""
    pairs = f"{found.significant:,} of {counted(found.pairs, 'pair')} significant on {topics}{smallest}"
    return f"discriminative power {found.share:.0%} ({pairs})"


def smallest_difference(one: Compared, *, power: float = 0.8) -> str:
    """Say which difference these topics would probably show, or why that cannot be said."""
    try:
        smallest = _detectable(one, power)
    except UsageError as error:
        return f"which difference would be found cannot be said: {error}"
    chance = f"with {power:.0%} chance (paired t)"
    if smallest > one.of.largest:
        return f"no difference that is possible would be found {chance}: it takes more topics"
    return f"a single true difference of {smallest:.4f} would be found {chance}"


def needed_topics(one: Compared, difference: float, *, power: float = 0.8) -> str:
    """Say how many topics a wanted difference would need, or why that cannot be said."""
    try:
        needed = _topics(one, difference, power)
    except UsageError as error:
        return str(error)
    return (
        f"a true difference of {difference:g} needs {needed:,} topics to be found with {power:.0%} chance (paired t)"
    )


def _why_unknown(one: Compared) -> str:
    """Say why nothing is known about how much differences vary; nothing where it is."""
    if one.scores.values.shape[1] < 2:
        return "it takes two topics to see how much differences vary"
    return "" if one.deviation > _NOISE else "here no difference varies between topics"


@dataclass(frozen=True)
class Compared:
    """The comparison under one measure.

    `letters` groups what does not differ (all pairs only); `beaten` names what an entry is significantly above.
    `deviation` is the standard deviation of paired differences over all entries, from which the power figures follow.
    `how` says how it was compared, `test_draws` how often the test drew. `notes` are about significance, `pair_notes`
    about differences, `interval_notes` about their intervals.
    """

    of: Comparable
    scores: PairedScores
    results: tuple[PairResult, ...]
    letters: dict[str, tuple[str, ...]]
    beaten: dict[str, tuple[str, ...]]
    power: DiscriminativePower
    deviation: float
    how: Comparing
    test_draws: int = 0
    notes: tuple[str, ...] = ()
    pair_notes: tuple[str, ...] = ()
    interval_notes: tuple[str, ...] = ()

    @property
    def measure(self) -> str:
        """What the differences are of."""
        return self.of.name

    @property
    def standing(self) -> Values:
        """What the entries are ranked by, one value each: the means, or geometric means."""
        import numpy as np

        return np.exp(self.scores.means) if self.of.logarithms else self.scores.means

    @property
    def order(self) -> list[int]:
        """The places of the entries from the highest down."""
        means = self.scores.means.tolist()
        return sorted(range(len(means)), key=lambda place: -means[place])


def compare_runs(
    asked: Asked,
    how: Comparing,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    kept: KeptAlignment | None = None,
    read: Read | None = None,
) -> tuple[Evaluation, list[Compared]]:
    """Score runs and compare them under each measure; gives the evaluation too, with what is to be told of it.

    Baselines and seeds may be named by the files that were asked for, or by the tags in them.
    """
    if len(asked.runs) < 2:
        raise UsageError("a comparison needs at least two runs")
    found = evaluate(asked, store=store, progress=progress, kept=kept, read=read)
    return found, compare_scores(found.scores, with_names_of(how, asked.runs, found.scores.run_names))


def compare_scores(scores: Scores, how: Comparing) -> list[Compared]:
    """Compare scores that are there already."""
    if not scores.scored.all():
        raise UsageError("the runs are scored on different topics; compare them on --topics qrels or common")
    return [
        _compared(*comparable(measure, values), scores, how)
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]


def _compared(of: Comparable, values: Values, scores: Scores, how: Comparing) -> Compared:
    from cranfield.compare.comparison import beaten, letters_of, paired_scores, pairs
    from cranfield.compare.power import discriminative_power, residual_deviation

    entries = paired_scores(scores.run_names, values, systems=entries_of(scores.run_names, how.systems or {}))
    chosen = [_place(entries.labels, name) for name in how.baselines] or None
    draws = how.test_draws(len(pairs(len(entries.labels), baselines=chosen)[0]))
    results = [_shown(result, of) for result in _results(entries, chosen, how, draws)]
    drawn = 0 if all(result.exact for result in results) and how.test != TUKEY else draws
    topics = entries.values.shape[1]
    return Compared(
        of=of,
        scores=entries,
        results=tuple(results),
        letters={} if how.baselines else letters_of(results, entries.labels, alpha=how.alpha),
        beaten=beaten(results, alpha=how.alpha),
        power=discriminative_power(
            [result.adjusted_p for result in results], [result.difference for result in results], alpha=how.alpha
        ),
        deviation=residual_deviation(entries.values) if topics > 1 else 0.0,
        how=how,
        test_draws=drawn,
        notes=tuple(notes_on_test(results, how, draws=drawn)),
        pair_notes=of.notes,
        interval_notes=tuple(few_topics_notes(results)),
    )


def _shown(result: PairResult, of: Comparable) -> PairResult:
    """Give a pair with its means as they are shown; of logarithms the ratio of two means is no ratio of scores."""
    from math import exp, expm1

    if not of.logarithms:
        return result
    first, second = exp(result.mean_a), exp(result.mean_b)
    return replace(result, mean_a=first, mean_b=second, relative=expm1(result.difference))


def _results(entries: PairedScores, chosen: list[int] | None, how: Comparing, draws: int) -> list[PairResult]:
    from cranfield.compare.comparison import compare_all, compare_by_tukey
    from cranfield.compare.differences import seeded

    alike: dict[str, Any] = {
        "baselines": chosen,
        "level": how.level,
        "tolerance": how.tolerance,
        "draws": how.interval_draws,
        "rng": seeded(how.seed),
    }
    if how.test == TUKEY:
        return compare_by_tukey(entries, test=TUKEY_BESIDE, **alike)
    return compare_all(entries, test=_test(how, draws), correction=how.correction, **alike)


def _test(how: Comparing, draws: int) -> SignificanceTest:
    from cranfield.compare.significance import tests

    test: Any = tests.get(how.test)
    return partial(test, draws=draws) if how.test in DRAWING_TESTS else test


def _place(labels: Sequence[str], name: str) -> int:
    if name not in labels:
        raise UnknownName("baseline", name, labels)
    return list(labels).index(name)
