"""Runs in sentences: what each score is, why it is doubtful, what of its wins and defeats stands, what settles it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.reuse_asking import account_of
from cranfield.workflows.settling import claim_with_test, highest_grade, with_documents
from cranfield.workflows.trust import Trust, Trusted
from cranfield.store import Store

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment
    from cranfield.reuse.claims import Claim
    from cranfield.reuse.identities import Identities
    from cranfield.reuse.pairs import Contest

NEIGHBOURS = 10
"""With how many runs next above and next below a run is compared: farther ones are seldom in doubt."""


@dataclass(frozen=True, eq=False)
class _Described:
    """A field of runs whose pairs can be looked at; documents are read when the first pair is."""

    found: Trusted
    store: Store | None

    @cached_property
    def _aligned(self) -> "tuple[Alignment, Identities]":
        field = self.found.field
        asked = Asked(qrels=field.read.qrels, runs=field.words)
        return with_documents(asked, self.store, topics=field.read.aligned.topic_ids)

    def contest(self, trust: Trust, run: int, other: int) -> "Contest":
        """Give two runs to be compared."""
        from cranfield.reuse.bounds import depth_that_matters
        from cranfield.reuse.pairs import contest_of

        depth = depth_that_matters(trust.measure, pool_depth=self.found.field.depth)
        highest = highest_grade(self.store)
        closure, further = self.found.bounds.closure, self.found.bounds.further
        return contest_of(
            *self._aligned,
            trust.measure,
            run,
            other,
            depth=depth,
            closure=closure,
            further=further,
            highest=highest,
        )

    def claim(self, trust: Trust, run: int, other: int) -> "Claim":
        """Give what may be said of two runs."""
        return claim_with_test(self.contest(trust, run, other), trust, run, other, name_documents=False)

    def settled_by(self, trust: Trust, run: int, other: int) -> int | None:
        """Give how many documents settle a pair if none is relevant; None where judging is not known to settle it."""
        from cranfield.reuse.settling import settle

        contest = self.contest(trust, run, other)
        return None if contest.part.kind == "none" else settle(contest).if_not_relevant


def accounts(found: Trusted, *, store: Store | None) -> Iterator[str]:
    """Give every run under every measure in sentences."""
    from cranfield.reuse.wording import account

    described = _Described(found, store)
    for run in range(found.field.asked):
        for trust in found.trusts:
            told = account_of(found, trust, run)
            if trust.assessment.evidence[run].holes:
                told = replace(told, **_pairs(described, trust, run))
            yield account(told)


def _pairs(described: _Described, trust: Trust, run: int) -> dict[str, Any]:
    """Give the runs it beats for good, those that beat it for good, those it may yet beat, and what settles one."""
    names = trust.assessment.run_names
    wins, lost, defeats, nearest = [], [], [], None
    for other in _neighbours(described.found, trust, run):
        claim = described.claim(trust, run, other)
        if claim.winner == names[run] and claim.level != "open":
            wins.append(names[other])
        elif claim.winner == names[other] and claim.level == "open":
            defeats.append(names[other])
            nearest = other if nearest is None else nearest
        elif claim.winner == names[other]:
            lost.append(names[other])
    needed = None if nearest is None else described.settled_by(trust, run, nearest)
    return {
        "standing_wins": {str(trust.measure): wins},
        "standing_defeats": lost,
        "open_defeats": defeats,
        "settled_by": {} if needed is None or nearest is None else {names[nearest]: needed},
    }


def _neighbours(found: Trusted, trust: Trust, run: int) -> list[int]:
    """Give the runs next to one by score: those above it from the nearest on, then those below."""
    score = trust.assessment.score
    others = [other for other in range(found.field.asked) if other != run]
    above = sorted((other for other in others if score[other] > score[run]), key=lambda other: score[other])
    below = sorted((other for other in others if score[other] <= score[run]), key=lambda other: -score[other])
    return above[:NEIGHBOURS] + below[:NEIGHBOURS]
