"""Comparisons as rows of data: one for each pair, or one for each pair and topic."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from cranfield.workflows.compare import Compared
from cranfield.workflows.compare_how import TUKEY, TUKEY_BESIDE, Comparing
from cranfield.workflows.compare_notes import Wanted, all_notes, power_record
from cranfield.workflows.evaluate_notes import notes_of, short_hash

if TYPE_CHECKING:
    import pandas

    from cranfield.compare.comparison import PairResult
    from cranfield.evaluate.scores import Scores
    from cranfield.workflows.evaluate import Evaluated

MADE_WITH = ("qrels", "reference")
"""The last columns of every row."""


_PAIR = (
    *("a", "b", "topics", "mean_a", "mean_b", "difference", "low", "high", "relative", "effect", "hedges", "wins"),
    *("ties", "losses", "statistic", "p", "adjusted_p", "exact", "degenerate"),
)
"""The columns of a pair, in the order of the fields of its result."""


def long_records(
    compared: Sequence[Compared], scores: "Scores", *, wanted: Wanted | None = None
) -> list[dict[str, Any]]:
    """Give one record per measure and pair with everything that is known of it, and what all were made with.

    `test_draws` says how often the test drew, 0 where it drew nothing; a measure of few values is counted instead.
    """
    return [
        {
            "measure": one.measure,
            **dict(zip(_PAIR, astuple(result), strict=True)),
            "test_draws": one.test_draws,
            **_seeds(one, result),
            **power,
            **made_how(one.how),
            **_made_with(scores),
        }
        for one in compared
        for power in [power_record(one, wanted or Wanted())]
        for result in one.results
    ]


def topic_records(compared: Sequence[Compared], scores: "Scores") -> list[dict[str, Any]]:
    """Give one record per measure, pair and topic: both scores and their difference, as they were compared.

    Of a geometric mean these are logarithms, as the name of the measure says; of several seeds the mean.
    """
    return [record for one in compared for result in one.results for record in topics_of(one, result, scores)]


def topics_of(one: Compared, result: "PairResult", scores: "Scores") -> list[dict[str, Any]]:
    """Give the records of one pair."""
    first, second = (one.scores.values[one.scores.labels.index(name)].tolist() for name in (result.a, result.b))
    return [
        {
            "measure": one.measure,
            "a": result.a,
            "b": result.b,
            "topic": topic,
            "score_a": score_a,
            "score_b": score_b,
            "difference": score_a - score_b,
            **_made_with(scores),
        }
        for topic, score_a, score_b in zip(scores.topic_ids, first, second, strict=True)
    ]


def _made_with(scores: "Scores") -> dict[str, str]:
    return dict(zip(MADE_WITH, (short_hash(scores.qrels_hash), scores.order), strict=True))


def made_how(how: Comparing) -> dict[str, Any]:
    """Give how pairs were compared, by name. Tukey's test is a correction: the p beside it is a paired t's.

    `draws` are those of the intervals.
    """
    return {
        "test": TUKEY_BESIDE if how.test == TUKEY else how.test,
        "correction": how.correction,
        "alpha": how.alpha,
        "tolerance": how.tolerance,
        "draws": how.interval_draws,
        "seed": how.seed,
    }


def _seeds(one: Compared, result: "PairResult") -> dict[str, Any]:
    """Give how many seeds the entries of a pair have and how far their means lie apart, where there are any."""
    if not one.how.systems:
        return {}
    places = {"a": one.scores.labels.index(result.a), "b": one.scores.labels.index(result.b)}
    counts = {f"seeds_{side}": int(one.scores.seeds.count[place]) for side, place in places.items()}
    return counts | {f"seed_deviation_{side}": between_seeds(one, place) for side, place in places.items()}


def between_seeds(one: Compared, place: int) -> float | None:
    """Give the standard deviation of the means of an entry's seeds; nothing where there is only one."""
    seeds = one.scores.seeds
    return float(seeds.deviation[place]) if seeds.count[place] > 1 else None


def compared_frame(
    found: "Evaluated",
    compared: Sequence[Compared],
    records: Sequence[Mapping[str, Any]],
    *,
    notes: Sequence[str] = (),
    by_topic: bool = False,
) -> "pandas.DataFrame":
    """Give records as a pandas frame; its attributes carry what all were made with and what is to be told."""
    import pandas as pd

    scores, made = found.scores, made_how(compared[0].how)
    frame = pd.DataFrame(list(records))
    frame = frame.drop(columns=[name for name in (*made, *MADE_WITH) if name in frame])
    told = [*notes, *notes_of(found), *all_notes(compared, by_topic=by_topic)]
    frame.attrs.update(qrels=scores.qrels_hash, reference=scores.order, notes=told, **made)
    return frame
