"""The pools of single topics put together into one, with where every document comes from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.pool.arrow import named
from cranfield.pool.candidates import Candidates
from cranfield.pool.clusters import Collapsed
from cranfield.pool.draws import document_draws
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.plan import Plan
from cranfield.pool.pool import Duplicate, JudgingOrder, Pool, Source
from cranfield.pool.selecting import Stratum, TopicPool
from cranfield.runs.run import Codes, Places, Scores


@dataclass(frozen=True, eq=False)
class TopicPart:
    """The columns of one topic. Strata are (stratum, N_h, n_h) in the order they came."""

    topic: str
    documents: Codes
    strata: Codes
    stratum_sizes: tuple[tuple[Stratum, int, int], ...]
    probabilities: Scores
    contribution_counts: Places
    contribution_runs: Codes
    contribution_ranks: Codes
    undrawn: Codes
    undrawn_strata: Codes
    duplicates: tuple[tuple[int, int], ...]


def part_of(pool: TopicPool, collapsed: Collapsed, *, order: JudgingOrder) -> TopicPart:
    """Give the columns of one topic in judging order, with every (run, rank) of the pooled part."""
    candidates = collapsed.candidates
    chosen = pool.chosen
    strata = np.repeat(np.arange(len(pool.additions)), [len(addition.chosen) for addition in pool.additions])
    probabilities = np.concatenate([np.empty(0), *(addition.probabilities for addition in pool.additions)])
    places = _judging_places(candidates, chosen, pool.seed, order)
    chosen = chosen[places]
    counts, runs, ranks = contributions(candidates, chosen)
    undrawn = [np.empty(0, np.int64), *(addition.undrawn for addition in pool.additions)]
    documents = candidates.documents[chosen]
    return TopicPart(
        candidates.topic,
        documents,
        strata[places].astype(np.int32),
        tuple((addition.stratum, addition.population, len(addition.chosen)) for addition in pool.additions),
        probabilities[places],
        counts,
        runs,
        ranks,
        candidates.documents[np.concatenate(undrawn)],
        np.repeat(np.arange(-1, len(pool.additions)), [len(part) for part in undrawn]).astype(np.int32),
        represented(collapsed, documents),
    )


def represented(collapsed: Collapsed, documents: Codes) -> tuple[tuple[int, int], ...]:
    """Give (document, representative) in codes, where the representative is among some documents."""
    is_in = np.isin(collapsed.representatives, documents)
    return tuple(zip(collapsed.left_out[is_in].tolist(), collapsed.representatives[is_in].tolist(), strict=True))


def contributions(candidates: Candidates, chosen: Places) -> tuple[Places, Codes, Codes]:
    """Give for some candidates how many runs have them, and those runs with their ranks, candidate by candidate."""
    ranks = candidates.ranks.T[chosen]
    entry, runs = np.nonzero(ranks)
    return np.bincount(entry, minlength=len(chosen)).astype(np.int64), runs.astype(np.int32), ranks[entry, runs]


def _judging_places(candidates: Candidates, chosen: Places, seed: int, order: JudgingOrder) -> Places:
    """Give the places of the chosen in judging order: as the plan has them, by document id, or shuffled by seed."""
    if order == "plan":
        return np.arange(len(chosen))
    if order == "id":
        return np.argsort(-chosen, kind="stable")  # candidates are numbered by id, descending
    names = [candidates.ids[number] for number in chosen]
    return np.argsort(document_draws(seed, "judging order", candidates.topic, names), kind="stable")


def assembled(
    plan: Plan, runs: PooledRuns, parts: Sequence[TopicPart], *, seed: int, order: JudgingOrder, version: int = 1
) -> Pool:
    """Put the topics together."""
    table = sorted({stratum for part in parts for stratum, _, _ in part.stratum_sizes}, key=_by_step)
    codes = {stratum: code for code, stratum in enumerate(table)}
    populations, drawn = np.zeros((2, len(parts), len(table)), dtype=np.int64)
    for number, part in enumerate(parts):
        for stratum, population, count in part.stratum_sizes:
            populations[number, codes[stratum]] += population
            drawn[number, codes[stratum]] += count
    sizes = [len(part.documents) for part in parts]
    coding = [np.array([codes[stratum] for stratum, _, _ in part.stratum_sizes] or [0], np.int32) for part in parts]
    pairs = list(zip(parts, coding, strict=True))
    counts = _joined([part.contribution_counts for part in parts], np.int64)
    return Pool(
        plan=plan,
        seed=seed,
        order=order,
        sources=tuple(Source(run.name, run.team, run.content_hash) for run in runs.runs),
        topics=tuple(part.topic for part in parts),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        document_ids=runs.document_ids,
        documents=_joined([part.documents for part in parts], np.int32),
        strata=_joined([code[part.strata] for part, code in pairs], np.int32),
        probabilities=_joined([part.probabilities for part in parts], np.float64),
        versions=np.full(sum(sizes), version, dtype=np.int32),
        stratum_table=tuple(table),
        populations=populations,
        drawn=drawn,
        contribution_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        contribution_runs=_joined([part.contribution_runs for part in parts], np.int32),
        contribution_ranks=_joined([part.contribution_ranks for part in parts], np.int32),
        undrawn=(
            np.repeat(np.arange(len(parts)), [len(part.undrawn) for part in parts]).astype(np.int32),
            _joined([part.undrawn for part in parts], np.int32),
            _joined([code[part.undrawn_strata] for part, code in pairs], np.int32),
        ),
        duplicates=tuple(one for part in parts for one in duplicates_of(part.topic, part.duplicates, runs)),
        version=version,
    )


def _by_step(stratum: Stratum) -> tuple[int, bytes]:
    return stratum.step, stratum.name.encode()


def duplicates_of(topic: str, pairs: Sequence[tuple[int, int]], runs: PooledRuns) -> list[Duplicate]:
    """Give (document, representative) in codes by their ids."""
    codes = [code for pair in pairs for code in pair]
    names = iter(named(runs.document_ids, np.array(codes, dtype=np.int32)))
    return [Duplicate(topic, out, representative) for out, representative in zip(names, names, strict=True)]


def _joined(columns: Sequence[np.ndarray], kind: type[np.generic]) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype=kind), *columns]).astype(kind, copy=False)
