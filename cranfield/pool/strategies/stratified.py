"""A sample by strata."""

import math
import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.errors import UsageError, quoted
from cranfield.pool.candidates import Candidates
from cranfield.pool.draws import document_draws
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import FixedOrder, Kind, Sample
from cranfield.runs.options import Option
from cranfield.runs.run import Codes, Places

_STRATUM = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([0-9]+(?:\.[0-9]+)?))?")
_BEST_RANK = "rank"


@strategies.register("stratified")
@dataclass(frozen=True)
class StratifiedSample:
    """From each stratum h n_h of its N_h documents, uniformly and without replacement: probability n_h / N_h.

    `strata=1-20:100,21-100:20` takes all documents whose best rank is up to 20, and 20 per cent of those from 21 to
    100. `order=rrf` cuts the strata from the order of a strategy instead: then 1-20 are its first twenty. A stratum
    without a rate gets what is left of the amount: `stratified until 800 strata=1-20:100,21-1000`. A rate above 0
    takes at least one document of a stratum that has any. Documents outside of all strata are not chosen.

    Source: the design of xinfAP and infNDCG (Yilmaz, Kanoulas and Aslam, SIGIR 2008); the rates as in NIST's pooling
    scripts. All probabilities are exact.
    """

    strata: Annotated[str, Option("ranks with rates in per cent, as in 1-20:100,21-100:20")] = "1-20:100,21-100:20"
    order: Annotated[str, Option("what is cut into strata: rank (the best one), or a fixed strategy")] = _BEST_RANK

    summary: ClassVar[str] = "a sample from strata of ranks or of a strategy's order"
    kind: ClassVar[Kind] = "sampling"

    def __post_init__(self) -> None:
        self._strata()
        self._fixed()

    def sample(self, candidates: Candidates, eligible: Places, wanted: int | None, *, seed: int) -> Sample:
        """Draw from one stratum after the other."""
        draws = document_draws(seed, "sample", candidates.topic, [candidates.ids[number] for number in eligible])
        places = self._places(candidates, seed)[eligible]
        left, strata = wanted, np.full(len(eligible), -1, dtype=np.int32)
        rows: list[Places] = []
        for number, (first, last, rate) in enumerate(self._strata()):
            inside = np.flatnonzero((places >= first) & (places <= last))
            strata[inside] = number
            size = _size(len(inside), rate, left)
            left = None if left is None else max(left - size, 0)
            rows.append(inside[np.argsort(draws[inside], kind="stable")[:size]])
        drawn = np.concatenate(rows).astype(np.int64)
        sizes, counts = np.bincount(strata[strata >= 0], minlength=len(rows)), np.array([len(part) for part in rows])
        names = tuple(f"{first}-{last}" for first, last, _ in self._strata())
        shares = counts / np.maximum(sizes, 1)
        return Sample(eligible[drawn], shares[strata[drawn]], strata[drawn], names, strata)

    def _places(self, candidates: Candidates, seed: int) -> Codes:
        """Give each candidate its best rank, or its place in the chosen order."""
        strategy = self._fixed()
        if strategy is None:
            return candidates.best_rank
        places = np.empty(len(candidates), dtype=np.int32)
        places[strategy.order(candidates, seed=seed)] = np.arange(1, len(candidates) + 1, dtype=np.int32)
        return places

    def _fixed(self) -> FixedOrder | None:
        if self.order == _BEST_RANK:
            return None
        strategy = strategies.get(self.order)()
        if not isinstance(strategy, FixedOrder):
            raise UsageError(
                f"option 'order' takes rank or a fixed strategy; {quoted(self.order)} is {strategy.kind}"
            )
        return strategy

    def _strata(self) -> list[tuple[int, int, float | None]]:
        parsed: list[tuple[int, int, float | None]] = []
        for word in self.strata.split(","):
            match = _STRATUM.fullmatch(word)
            rate = float(match[3]) if match and match[3] is not None else None
            if not match or not 1 <= int(match[1]) <= int(match[2]) or not 0 <= (rate or 0) <= 100:
                raise UsageError(
                    f"option 'strata' takes ranks with rates, as in 1-20:100,21-100:20; not {quoted(word)}"
                )
            if parsed and int(match[1]) <= parsed[-1][1]:
                raise UsageError(f"strata must rise and not overlap; {quoted(word)} does")
            parsed.append((int(match[1]), int(match[2]), rate))
        return parsed


def _size(population: int, rate: float | None, left: int | None) -> int:
    if rate is None:
        return population if left is None else min(left, population)
    return min(population, max(math.floor(population * rate / 100 + 0.5), 1 if rate > 0 else 0))
