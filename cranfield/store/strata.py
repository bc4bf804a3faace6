"""From which stratum of a sample each pooled document comes."""

from dataclasses import dataclass

from cranfield.store.store import Store

Pair = tuple[str, str]
"""A topic and a document."""


@dataclass(frozen=True, slots=True)
class SampledStrata:
    """The stratum of each document that is to be judged, and of each that a sample passed over."""

    chosen: dict[Pair, str]
    passed_over: dict[Pair, str]


def sampled_strata(store: Store) -> SampledStrata | None:
    """Give the strata of all pools together; None where no sample passed over anything.

    A document has one stratum. What a fixed or adaptive step chose is certain, whatever a sample did with it beside;
    of several samples the one of the earliest pool and step counts.
    """
    samples = set(store.rows("SELECT DISTINCT pool, step FROM pool_undrawn"))
    if not samples:
        return None
    pools = dict(store.rows("SELECT number, name FROM pools"))
    chosen: dict[Pair, str] = {}
    entries = store.rows("SELECT pool, step, topic, document, stratum FROM pool_entries ORDER BY pool, step")
    for pool, step, topic, document, stratum in sorted(entries, key=lambda row: row[:2] in samples):
        chosen.setdefault((topic, document), _name(pools, pool, step, stratum))
    passed_over: dict[Pair, str] = {}
    for pool, step, topic, document, stratum in store.rows(
        "SELECT pool, step, topic, document, stratum FROM pool_undrawn ORDER BY pool, step"
    ):
        if (topic, document) not in chosen:
            passed_over.setdefault((topic, document), _name(pools, pool, step, stratum))
    return SampledStrata(chosen, passed_over)


def draws_unevenly(store: Store) -> bool:
    """Say whether a sample drew documents of one stratum with different probabilities."""
    return bool(
        store.value(
            """SELECT EXISTS (SELECT 1 FROM pool_entries WHERE probability < 1
                              GROUP BY pool, topic, step, stratum, version
                              HAVING max(probability) - min(probability) > 1e-9)"""
        )
    )


def _name(pools: dict[int, str], pool: int, step: int, stratum: str) -> str:
    """Name a stratum by the step and what the plan calls it, in one word, as the columns of a TREC file want it."""
    before = f"{pools[pool]}/" if len(pools) > 1 else ""
    return "_".join(f"{before}{step}:{stratum}".split())
