"""Compare runs: differences with intervals, corrected significance, and what the topic set can show at all."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.errors import UnknownName, UsageError, quoted
from cranfield.steps.evaluate import Asked, Evaluated, evaluate_and_tell
from cranfield.steps.evaluate_notes import HASH_SHOWN, notes_of
from cranfield.steps.keeping import KeptAlignment
from cranfield.steps.saved_scores import read_scores
from cranfield.steps.watching import Progress, silent
from cranfield.store import Store

if TYPE_CHECKING:
    import pandas

    from cranfield.compare.comparison import PairResult
    from cranfield.compare.pairing import PairedScores
    from cranfield.compare.power import DiscriminativePower
    from cranfield.compare.result import SignificanceTest, Values
    from cranfield.evaluate.expression import AnyMeasure
    from cranfield.evaluate.scores import Scores

TUKEY = "tukey"
DRAWING_TESTS = ("randomisation", "bootstrap")


@dataclass(frozen=True)
class Comparing:
    """How runs are compared.

    `systems` maps the name of a system to its runs (seeds), which then count as one entry. Without baselines all
    pairs meet.
    """

    baselines: tuple[str, ...] = ()
    test: str = "t"
    correction: str = "holm"
    alpha: float = 0.05
    tolerance: float = 0.0
    draws: int = 10_000
    seed: int = 1
    level: float = 0.95
    systems: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Compared:
    """The comparison under one measure.

    `letters` groups what does not differ (all pairs only); `beaten` names what an entry beats. `deviation` is the
    standard deviation of paired differences over all entries, from which the power figures follow.
    """

    measure: str
    scores: "PairedScores"
    results: "tuple[PairResult, ...]"
    letters: dict[str, str]
    beaten: dict[str, tuple[str, ...]]
    power: "DiscriminativePower"
    deviation: float
    notes: tuple[str, ...] = ()


def compare_runs(
    asked: Asked,
    how: Comparing,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    kept: KeptAlignment | None = None,
) -> tuple[Evaluated, list[Compared]]:
    """Score runs and compare them under each measure; gives the evaluation too, with what is to be told of it."""
    if len(asked.runs) < 2:
        raise UsageError("a comparison needs at least two runs")
    found = evaluate_and_tell(asked, store=store, progress=progress, kept=kept)
    return found, compare_scores(found.scores, how)


def compare_saved(
    files: Sequence[Path], how: Comparing, *, allow_mixed_qrels: bool = False
) -> tuple[Evaluated, list[Compared]]:
    """Compare scores that `evaluate --by-topic` wrote; scores of different qrels are refused unless asked for."""
    scores = read_scores(files, allow_mixed_qrels=allow_mixed_qrels)
    return Evaluated(scores=scores), compare_scores(scores, how)


def compare_scores(scores: "Scores", how: Comparing) -> "list[Compared]":
    """Compare scores that are there already."""
    if not scores.scored.all():
        raise UsageError("the runs are scored on different topics; compare them on --topics qrels or common")
    return [
        _compared(*_comparable(measure, values), scores, how)
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]


def _comparable(measure: "AnyMeasure", values: "Values") -> "tuple[str, Values]":
    """Give the name and the values that are compared, topic by topic, for a measure.

    Geometric means are compared by logarithms: the difference of their means is the logarithm of a ratio of geometric
    means. What is added up is compared by its means. A median, or an end, is no sum of what topics have.
    """
    import numpy as np

    from cranfield.evaluate.aggregate import SMALLEST

    if measure.aggregate == "mean":
        return str(measure), values
    if measure.aggregate == "sum":
        return f"{measure} per topic", values
    if measure.aggregate == "geometric":
        return f"log {measure}", np.log(np.maximum(values, SMALLEST))
    raise UsageError(
        f"{measure} is the {measure.aggregate} of the topics, and cannot be compared topic by topic; take the mean"
    )


def _compared(measure: str, values: "Values", scores: "Scores", how: Comparing) -> Compared:
    from cranfield.compare.letters import beaten, letters_of
    from cranfield.compare.pairing import paired_scores
    from cranfield.compare.power import discriminative_power, residual_deviation

    entries = paired_scores(scores.run_names, values, systems=_systems(scores.run_names, how.systems or {}))
    results = tuple(_results(entries, how))
    letters = {} if how.baselines else letters_of(results, entries.labels, alpha=how.alpha)
    return Compared(
        measure=measure,
        scores=entries,
        results=results,
        letters={label: "".join(given) for label, given in letters.items()},
        beaten=beaten(results, alpha=how.alpha),
        power=discriminative_power(
            [result.adjusted_p for result in results], [result.difference for result in results], alpha=how.alpha
        ),
        deviation=residual_deviation(entries.values) if entries.values.shape[1] > 1 else 0.0,
        notes=tuple(_notes(results, how)),
    )


def _results(entries: "PairedScores", how: Comparing) -> "list[PairResult]":
    import numpy as np

    from cranfield.compare.comparison import compare_all, compare_by_tukey

    rng = np.random.default_rng(how.seed)
    chosen = [_place(entries.labels, name) for name in how.baselines] or None
    if how.test == TUKEY:
        return compare_by_tukey(
            entries,
            baselines=chosen,
            test="t",
            level=how.level,
            tolerance=how.tolerance,
            draws=how.draws,
            rng=rng,
        )
    return compare_all(
        entries,
        baselines=chosen,
        test=_test(how),
        correction=how.correction,
        level=how.level,
        tolerance=how.tolerance,
        draws=how.draws,
        rng=rng,
    )


def _test(how: Comparing) -> "SignificanceTest":
    from cranfield.compare.significance import tests

    if how.test not in [*tests.names(), *(alias for name in tests.names() for alias in tests.aliases(name))]:
        raise UnknownName("significance test", how.test, [TUKEY, *tests.names()])
    test: Any = tests.get(how.test)
    draws = any(test is tests.get(name) for name in DRAWING_TESTS)
    return partial(test, draws=how.draws) if draws else test


def _notes(results: "Sequence[PairResult]", how: Comparing) -> list[str]:
    from cranfield.compare.drawing import draws_needed

    notes = []
    drawn = how.test in DRAWING_TESTS and not all(result.exact for result in results)
    needed = draws_needed(len(results), alpha=how.alpha)
    if drawn and how.correction in ("holm", "bonferroni") and how.draws < needed:
        notes.append(
            f"with {how.draws:,} draws no pair of {len(results):,} can be significant after {how.correction};"
            f" use --draws {needed} or more, or --test tukey"
        )
    if any(result.degenerate for result in results):
        notes.append("where all differences are equal the test is undefined; p is then 2^(1-n) for n topics")
    return notes


def long_records(compared: Sequence[Compared], qrels_hash: str) -> list[dict[str, Any]]:
    """Give one record per measure and pair with everything that is known of it."""
    return [
        {"measure": one.measure, **asdict(result), "qrels": qrels_hash[:HASH_SHOWN]}
        for one in compared
        for result in one.results
    ]


def compared_frame(found: Evaluated, compared: Sequence[Compared]) -> "pandas.DataFrame":
    """Give the pairs as a pandas frame; its attributes carry the hash of the qrels and what is to be told."""
    import pandas as pd

    scores = found.scores
    frame = pd.DataFrame(long_records(compared, scores.qrels_hash)).drop(columns="qrels")
    notes = [*notes_of(found), *(note for one in compared for note in one.notes)]
    frame.attrs.update(qrels=scores.qrels_hash, reference=scores.order, notes=notes)
    return frame


def _systems(runs: Sequence[str], systems: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Give the entry each run belongs to."""
    belongs: dict[str, str] = {}
    for system, members in systems.items():
        for member in members:
            if member not in runs:
                raise UnknownName("run", member, runs)
            if member in belongs:
                raise UsageError(f"{quoted(member)} is a seed of two systems")
            belongs[member] = system
    return [belongs.get(run, run) for run in runs]


def _place(labels: Sequence[str], name: str) -> int:
    if name not in labels:
        raise UnknownName("baseline", name, labels)
    return list(labels).index(name)


def with_seed_systems(how: Comparing, words: Sequence[str]) -> Comparing:
    """Add systems written as `NAME=RUN,RUN,…`."""
    systems: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, runs = word.partition("=")
        members = tuple(run for run in runs.split(",") if run)
        if not equals or not name or not members:
            raise UsageError(f"{quoted(word)} is not a system; write NAME=RUN,RUN,…")
        systems[name] = members
    return replace(how, systems=systems)


def smallest_difference(one: Compared, *, power: float = 0.8, alpha: float = 0.05) -> str:
    """Say which difference these topics would probably show."""
    from cranfield.compare.power import detectable_difference

    topics = one.scores.values.shape[1]
    if topics < 2 or not one.deviation:
        return "no statement about power is possible"
    smallest = detectable_difference(topics, deviation=one.deviation, power=power, alpha=alpha)
    return f"a single true difference of {smallest:.4f} would be found with {power:.0%} chance (paired t)"


def needed_topics(one: Compared, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> str:
    """Say how many topics a wanted difference would need."""
    from cranfield.compare.power import topics_needed

    if not one.deviation or not difference:
        return "no statement about the number of topics is possible"
    needed = topics_needed(difference=difference, deviation=one.deviation, power=power, alpha=alpha)
    return (
        f"a true difference of {difference:g} needs {needed:,} topics to be found with {power:.0%} chance (paired t)"
    )
