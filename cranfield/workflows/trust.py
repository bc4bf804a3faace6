"""How far scores can be trusted: the verdict of each run under each measure, with its interval and expected loss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.errors import CollectionError, InputError
from cranfield.workflows.reuse_field import Field
from cranfield.store import Store
from cranfield.store.settings import put_setting, setting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cranfield.evaluate.expression import AnyMeasure, Measure
    from cranfield.reuse.assess import Assessment, Learn
    from cranfield.reuse.bounds import Bounds, Closure
    from cranfield.reuse.lessons import Lessons
    from cranfield.reuse.pairs import RankIntervals
    from cranfield.reuse.thresholds import Thresholds
    from cranfield.reuse.verdict import Verdict

SEED = 1
"""Where the drawn labels of holes begin, so that a verdict comes out the same every time."""

SETTING = "thresholds"

WORST_FIRST = ("UNRELIABLE", "UNTESTABLE", "PROVISIONAL", "CAUTION", "SAFE", "POOLED")


@dataclass(frozen=True, eq=False)
class Trust:
    """All runs of a field under one measure. The place of a run is its place in the field.

    `rank` is 1 + the runs that are better; `ranks` are its best and worst places by exact intervals, `likely_ranks`
    by [score, score + upper end of the expected loss].
    """

    measure: "Measure"
    assessment: "Assessment"
    kind: str
    why_no_interval: str
    rank: "NDArray[np.int64]"
    ranks: "RankIntervals"
    likely_ranks: "RankIntervals"

    def verdict(self, run: int) -> "Verdict | None":
        """Give the verdict of a run; None where the measure takes none."""
        return self.assessment.verdicts[run]


@dataclass(frozen=True, eq=False)
class Trusted:
    """What was found out about a field of runs, measure by measure, and the thresholds in force."""

    field: Field
    trusts: "tuple[Trust, ...]"
    thresholds: "Thresholds"
    bounds: "Bounds"

    def of(self, measure: "AnyMeasure") -> "Trust | None":
        """Give what was found under a measure; None for one that takes no verdict."""
        return next((trust for trust in self.trusts if trust.measure == measure), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known about all verdicts: who fed the pool, and measures that look deeper than it went."""
        changed = [
            f"{name} {value:g} ({default:g})"
            for name, value, default, _ in self.thresholds.rows()
            if value != default
        ]
        told: tuple[str, ...] = (f"thresholds that are not the usual ones: {', '.join(changed)}",) if changed else ()
        if self.trusts and self.field.positives_only:
            told += ("no document is judged not relevant: what was judged cannot be told from what was not",)
        deepest = int(self.field.depth.max(initial=0))
        deeper = [
            str(one.measure)
            for one in self.trusts
            if isinstance(one.measure.cutoff, int)
            and one.measure.cutoff > deepest
            and self.field.prefixes is not None
        ]
        if not deeper:
            return (*self.field.notes, *told)
        said = f"the pool goes to rank {deepest}, and {', '.join(deeper)} deeper: contributors have holes there too"
        return (*self.field.notes, *told, f"{said}, and what they are worth is learned from the ranks above")

    def worst(self, run: int) -> "Verdict | None":
        """Give the worst verdict of a run under all measures."""
        found = [verdict for trust in self.trusts if (verdict := trust.verdict(run)) is not None]
        return min(found, key=lambda verdict: WORST_FIRST.index(verdict.level), default=None)


def trusted(
    field: Field,
    measures: "Sequence[AnyMeasure]",
    *,
    store: Store | None = None,
    thresholds: Mapping[str, float] | None = None,
    closure: "Closure" = "at-k",
    further: int = 0,
    learn: "Learn" = "always",
) -> Trusted:
    """Give the verdicts of all runs of a field. `learn` says whether kappa is wanted where no run has a hole."""
    from cranfield.evaluate.expression import own_measures
    from cranfield.reuse.bounds import bounds, depth_that_matters
    from cranfield.reuse.lessons import Lessons
    from cranfield.reuse.verdict import takes_verdict

    table = thresholds_in_force(store, thresholds)
    chosen = [measure for measure in own_measures(measures) if takes_verdict(measure)]
    found = bounds(
        field.read.aligned,
        chosen,
        depth={measure: depth_that_matters(measure, pool_depth=field.depth) for measure in chosen},
        closure=closure,
        further=further,
        highest=None,
    )
    provenance = field.knowledge.provenance
    lessons = None if provenance is None else Lessons(field.read.aligned, provenance)
    trusts = tuple(
        _trust(field, measure, found, place, table, lessons, learn) for place, measure in enumerate(chosen)
    )
    return Trusted(field, trusts, table, found)


def _trust(
    field: Field,
    measure: "Measure",
    found: "Bounds",
    place: int,
    table: "Thresholds",
    lessons: "Lessons | None",
    learn: "Learn",
) -> Trust:
    import numpy as np

    from cranfield.reuse.assess import assessed
    from cranfield.reuse.pairs import rank_interval

    assessment = assessed(
        field.read.aligned,
        measure,
        field.knowledge,
        low=found.lowest[place],
        high=found.highest[place],
        rng=np.random.default_rng(SEED),
        thresholds=table,
        lessons=lessons,
        learn=learn,
    )
    score = assessment.score
    upper = score if assessment.loss is None else score + np.nan_to_num(np.maximum(assessment.loss.upper, 0.0))
    low = np.where(np.isnan(assessment.low), score, np.minimum(assessment.low, score))
    high = np.where(np.isnan(assessment.high), score, np.maximum(assessment.high, score))
    return Trust(
        measure=measure,
        assessment=assessment,
        kind=found.kinds[place],
        why_no_interval=found.reasons[place],
        rank=1 + (score[np.newaxis, :] > score[:, np.newaxis]).sum(axis=1),
        ranks=rank_interval(low, high),
        likely_ranks=rank_interval(score, upper),
    )


def thresholds_in_force(store: Store | None, values: Mapping[str, float] | None = None) -> "Thresholds":
    """Give the thresholds: what was asked for, then what the collection says, then the defaults."""
    from cranfield.reuse.thresholds import Thresholds

    kept = setting(store, SETTING, {}) if store is not None else {}
    try:
        table = Thresholds().with_values(kept)
    except InputError as error:
        raise CollectionError(f"the collection's thresholds cannot be used: {error}") from error
    return table.with_values(values or {})


def keep_thresholds(store: Store, values: Mapping[str, float]) -> "Thresholds":
    """Set thresholds for this collection, beside those that are set already."""
    from cranfield.reuse.thresholds import Thresholds

    kept = {**setting(store, SETTING, {}), **values}
    table = Thresholds().with_values(kept)
    with store.write():
        put_setting(store, SETTING, kept)
    return table
