"""Compare runs: differences with intervals, corrected significance, and what the topic set can show at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.errors import UnknownName, UsageError
from cranfield.workflows.compare_how import (
    DRAWING_TESTS,
    TUKEY,
    TUKEY_BESIDE,
    Comparing,
    entries_of,
    with_names_of,
)
from cranfield.workflows.compare_measure import Comparable, comparable
from cranfield.workflows.compare_notes import few_topics_notes, notes_on_test
from cranfield.workflows.evaluate import Asked, Evaluated, evaluate_and_tell
from cranfield.workflows.evaluate_reading import Read
from cranfield.workflows.keeping import KeptAlignment
from cranfield.workflows.saved_scores import read_scores
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store

if TYPE_CHECKING:
    from cranfield.compare.comparison import PairResult
    from cranfield.compare.pairing import PairedScores
    from cranfield.compare.power import DiscriminativePower
    from cranfield.compare.result import SignificanceTest, Values
    from cranfield.evaluate.scores import Scores

__all__ = ["Compared", "Comparing", "compare_runs", "compare_saved", "compare_scores"]


@dataclass(frozen=True)
class Compared:
    """The comparison under one measure.

    `letters` groups what does not differ (all pairs only); `beaten` names what an entry is significantly above.
    `deviation` is the standard deviation of paired differences over all entries, from which the power figures follow.
    `how` says how it was compared, `test_draws` how often the test drew. `notes` are about significance, `pair_notes`
    about differences, `interval_notes` about their intervals.
    """

    of: Comparable
    scores: "PairedScores"
    results: "tuple[PairResult, ...]"
    letters: dict[str, tuple[str, ...]]
    beaten: dict[str, tuple[str, ...]]
    power: "DiscriminativePower"
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
    def standing(self) -> "Values":
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
) -> tuple[Evaluated, list[Compared]]:
    """Score runs and compare them under each measure; gives the evaluation too, with what is to be told of it.

    Baselines and seeds may be named by the files that were asked for, or by the tags in them.
    """
    if len(asked.runs) < 2:
        raise UsageError("a comparison needs at least two runs")
    found = evaluate_and_tell(asked, store=store, progress=progress, kept=kept, read=read)
    return found, compare_scores(found.scores, with_names_of(how, asked.runs, found.scores.run_names))


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
        _compared(*comparable(measure, values), scores, how)
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]


def _compared(of: Comparable, values: "Values", scores: "Scores", how: Comparing) -> Compared:
    from cranfield.compare.letters import beaten, letters_of
    from cranfield.compare.pairing import paired_scores, pairs
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


def _shown(result: "PairResult", of: Comparable) -> "PairResult":
    """Give a pair with its means as they are shown; of logarithms the ratio of two means is no ratio of scores."""
    from math import exp, expm1

    if not of.logarithms:
        return result
    first, second = exp(result.mean_a), exp(result.mean_b)
    return replace(result, mean_a=first, mean_b=second, relative=expm1(result.difference))


def _results(entries: "PairedScores", chosen: list[int] | None, how: Comparing, draws: int) -> "list[PairResult]":
    from cranfield.compare.comparison import compare_all, compare_by_tukey
    from cranfield.compare.drawing import seeded

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


def _test(how: Comparing, draws: int) -> "SignificanceTest":
    from cranfield.compare.significance import tests

    test: Any = tests.get(how.test)
    return partial(test, draws=draws) if how.test in DRAWING_TESTS else test


def _place(labels: Sequence[str], name: str) -> int:
    if name not in labels:
        raise UnknownName("baseline", name, labels)
    return list(labels).index(name)
