"""Compare runs: differences with intervals, corrected significance, and what the topic set can show at all."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.errors import UnknownName, UsageError, quoted
from cranfield.steps.evaluate import Asked, Evaluated, evaluate_and_tell
from cranfield.steps.evaluate_notes import notes_of, short_hash
from cranfield.steps.evaluate_reading import Read
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

TUKEY, TUKEY_BESIDE = "tukey", "t"
"""Tukey's test over all runs, and the test of single pairs whose p stands beside it."""

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
    standard deviation of paired differences over all entries, from which the power figures follow. `how` says how
    it was compared.
    """

    measure: str
    scores: "PairedScores"
    results: "tuple[PairResult, ...]"
    letters: dict[str, str]
    beaten: dict[str, tuple[str, ...]]
    power: "DiscriminativePower"
    deviation: float
    how: Comparing
    notes: tuple[str, ...] = ()


def compare_runs(
    asked: Asked,
    how: Comparing,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    kept: KeptAlignment | None = None,
    read: Read | None = None,
) -> tuple[Evaluated, list[Compared]]:
    """Score runs and compare them under each measure; gives the evaluation too, with what is to be told of it."""
    if len(asked.runs) < 2:
        raise UsageError("a comparison needs at least two runs")
    found = evaluate_and_tell(asked, store=store, progress=progress, kept=kept, read=read)
    return found, compare_scores(found.scores, how)


def compare_saved(
    files: Sequence[Path], how: Comparing, *, measures: Sequence[str] = (), allow_mixed_qrels: bool = False
) -> "tuple[Evaluated, list[Compared], Mapping[tuple[str, str], str]]":
    """Compare scores that `evaluate --by-topic` wrote; scores of different qrels are refused unless asked for.

    All measures of the files are compared, or only those that are named. Gives also the verdicts that were saved, by
    measure and run.
    """
    saved = read_scores(files, measures=measures, allow_mixed_qrels=allow_mixed_qrels)
    return Evaluated(scores=saved.scores, notes=saved.notes), compare_scores(saved.scores, how), saved.verdicts


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
        how=how,
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
            test=TUKEY_BESIDE,
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
    if any(result.degenerate and result.difference for result in results):
        notes.append("where all differences are equal the test is undefined; p is then 2^(1-n) for n topics")
    return notes


def long_records(compared: Sequence[Compared], qrels_hash: str, reference: str = "") -> list[dict[str, Any]]:
    """Give one record per measure and pair with everything that is known of it, and what all were made with."""
    return [
        {
            "measure": one.measure,
            **asdict(result),
            **_seeds(one, result),
            **made_how(one.how),
            "qrels": short_hash(qrels_hash),
            "reference": reference,
        }
        for one in compared
        for result in one.results
    ]


def made_how(how: Comparing) -> dict[str, Any]:
    """Give how pairs were compared, by name. Tukey's test is a correction: the p beside it is a paired t's."""
    test, correction = (TUKEY_BESIDE, TUKEY) if how.test == TUKEY else (how.test, how.correction)
    return {"test": test, "correction": correction, "alpha": how.alpha, "draws": how.draws, "seed": how.seed}


def _seeds(one: Compared, result: "PairResult") -> dict[str, Any]:
    """Give how many seeds the entries of a pair have and how far their means lie apart, where there are any."""
    if not one.how.systems:
        return {}
    seeds, labels = one.scores.seeds, one.scores.labels
    places = {"a": labels.index(result.a), "b": labels.index(result.b)}
    counts = {f"seeds_{side}": int(seeds.count[place]) for side, place in places.items()}
    return counts | {f"seed_deviation_{side}": float(seeds.deviation[place]) for side, place in places.items()}


def compared_frame(
    found: Evaluated,
    compared: Sequence[Compared],
    records: Sequence[Mapping[str, Any]] | None = None,
    *,
    notes: Sequence[str] = (),
) -> "pandas.DataFrame":
    """Give the pairs as a pandas frame; its attributes carry what all were made with and what is to be told.

    `records` are those of the pairs, where more is known of them than the comparison says.
    """
    import pandas as pd

    scores = found.scores
    known = long_records(compared, scores.qrels_hash) if records is None else records
    made = made_how(compared[0].how) if compared else {}
    frame = pd.DataFrame(list(known)).drop(columns=[*made, "qrels", "reference"])
    notes = [*notes, *notes_of(found), *(note for one in compared for note in one.notes)]
    frame.attrs.update(qrels=scores.qrels_hash, reference=scores.order, notes=notes, **made)
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
        if system in runs and system not in members:
            raise UsageError(f"{quoted(system)} is a run of its own; give the system another name")
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
        if name in systems:
            raise UsageError(f"two systems are called {quoted(name)}; name all runs of a system in one --system")
        systems[name] = members
    return replace(how, systems=systems)
