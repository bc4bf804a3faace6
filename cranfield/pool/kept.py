"""What an earlier version of a pool has of a topic, and how its probabilities stay true when the pool grows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.errors import Problem, ProblemsFound, quoted
from cranfield.pool.arrow import named
from cranfield.pool.candidates import Candidates
from cranfield.pool.pool import Pool
from cranfield.pool.selecting import Stratum
from cranfield.runs.run import Codes, Places, Scores


@dataclass(frozen=True, eq=False)
class Kept:
    """The entries of a topic as candidate numbers, in their order, and what samples passed over.

    Strata are places in `sizes`, which gives (stratum, N_h, n_h).
    """

    numbers: Places
    strata: Codes
    probabilities: Scores
    undrawn: Places
    undrawn_strata: Codes
    sizes: tuple[tuple[Stratum, int, int], ...]


def kept_of(pool: Pool, candidates: Candidates) -> Kept:
    """Give what the pool has of the candidates' topic; nothing where it does not have the topic."""
    if candidates.topic not in pool.topics:
        return _NOTHING
    place = pool.topics.index(candidates.topic)
    rows = slice(int(pool.offsets[place]), int(pool.offsets[place + 1]))
    topics, documents, strata = pool.undrawn
    names = named(pool.document_ids, documents[topics == place])
    known = np.array([name in candidates.numbers for name in names], dtype=bool)
    passed_over = [candidates.numbers[name] for name in names if name in candidates.numbers]
    return Kept(
        numbers=numbers_of(candidates, pool.ids[rows]),
        strata=pool.strata[rows],
        probabilities=pool.probabilities[rows],
        undrawn=np.array(passed_over, dtype=np.int64),
        undrawn_strata=strata[topics == place][known],
        sizes=tuple(
            (stratum, int(pool.populations[place, code]), int(pool.drawn[place, code]))
            for code, stratum in enumerate(pool.stratum_table)
        ),
    )


def numbers_of(candidates: Candidates, names: Sequence[str]) -> Places:
    """Give the candidate numbers of documents of a pool, or say which of them no run has."""
    unknown = [name for name in names if name not in candidates.numbers]
    if unknown:
        message = (
            f"{quoted(unknown[0])} is in the pool of topic {quoted(candidates.topic)}, and none of its runs has it"
        )
        raise ProblemsFound("this pool is not of these runs", [Problem("not-in-runs", message)])
    return np.array([candidates.numbers[name] for name in names], dtype=np.int64)


def made_certain(kept: Kept, certain: Places, stratum: Stratum) -> Kept:
    """Give what was kept when some documents have become certain by a fixed step.

    Had they been left in their sample, those that were drawn would count 1 / π times and the others once: too much
    on average. So they leave the sample, drawn or not. The others were drawn with the probability they had, and keep
    it: one made from what is left would be another one for each draw, and none where nothing is left.
    """
    leaving = np.isin(kept.numbers, certain) & (kept.probabilities < 1)
    missed = np.isin(kept.undrawn, certain)
    if not leaving.any() and not missed.any():
        return kept
    count = len(kept.sizes)
    gone_drawn = np.bincount(kept.strata[leaving], minlength=count)
    gone = gone_drawn + np.bincount(kept.undrawn_strata[missed], minlength=count)
    sizes = [
        (known, population - int(gone[place]), drawn - int(gone_drawn[place]))
        for place, (known, population, drawn) in enumerate(kept.sizes)
    ]
    probabilities = kept.probabilities.copy()
    probabilities[leaving] = 1.0
    return replace(
        kept,
        strata=np.where(leaving, count, kept.strata).astype(np.int32),
        probabilities=probabilities,
        undrawn=kept.undrawn[~missed],
        undrawn_strata=kept.undrawn_strata[~missed],
        sizes=(*sizes, (stratum, int(leaving.sum()), int(leaving.sum()))),
    )


_NOTHING = Kept(
    np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int32), ()
)
