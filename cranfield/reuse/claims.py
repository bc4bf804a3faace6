"""What may be said of two runs: which is better, and how sure that is while documents are unjudged.

proved            the lead stays above 0 whatever the unjudged documents down to the depth that matters turn out to
                  be; where a measure looks deeper (AP: the depth is the pool's) and what lies below could turn the
                  lead, it is said to which rank it is proved
supported         it stays above 0 when the other run is given its largest likely loss, and the test says p < .05
conservative win  the other run has no hole, the measure can only rise when a hole turns out relevant, and it leads
open              none of these: the documents that would decide are named
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cranfield.errors import UsageError
from cranfield.evaluate.expression import Measure
from cranfield.reuse.holes import depth_is_of_pool
from cranfield.reuse.pair_weights import can_only_rise
from cranfield.reuse.pairs import TOLERANCE, Contest, Difference, difference_of
from cranfield.reuse.queued import QueuedDocument, by_weight, can_matter, leanings, queued
from cranfield.text import counted

Level = Literal["proved", "supported", "conservative win", "open"]

SIGNIFICANT = 0.05
"""Below this the paired test speaks for a difference."""


@dataclass(frozen=True)
class Claim:
    """What may be said of two runs, why, and what would decide it.

    `winner` leads with unjudged taken as not relevant; empty where the two are equal. `lead` is by how much, and
    `ends` its lowest and highest. `documents` are the holes that could decide an open pair, the heaviest first.
    `holes` counts the unjudged documents of both, and `down_to` is the rank below which they were not looked at, None
    where all of them were.
    """

    level: Level
    measure: str
    winner: str
    loser: str
    lead: float
    ends: tuple[float, float]
    exact: bool
    reason: str
    documents: tuple[QueuedDocument, ...] = ()
    holes: int = 0
    down_to: int | None = None

    @property
    def said(self) -> str:
        """What stands in a table: the level, to which rank it is proved where that is not the end, and who leads."""
        if not self.holes:
            return "nothing is unjudged"
        level = f"proved to rank {self.down_to}" if self.level == "proved" and self.down_to else self.level
        return f"{level}: {self.winner}" if self.winner else level


def claim_of(
    contest: Contest,
    *,
    loss95: tuple[float, float] | None = None,
    p_value: float | None = None,
    significant: float = SIGNIFICANT,
    name_documents: bool = True,
    corrected: bool = False,
) -> Claim:
    """Give what may be said of two runs.

    `loss95` are the largest likely losses of the first and the second run, below 0 where a run falls once its holes
    are judged; `p_value` is that of the paired test of their difference, perhaps `corrected` for many pairs. Without
    them nothing is called supported. Naming the documents that would decide takes most of the time where there are
    very many pairs.
    """
    if isinstance(contest.measure, Measure) and not contest.measure.quality:
        raise UsageError(f"{contest.measure} does not say which run is better")
    found = difference_of(contest)
    p = "corrected p" if corrected else "p"
    lead = _Lead(found, loss95, _down_to(contest), p)
    deep = replace(contest, closure="list") if lead.down_to and _has_no_depth_of_its_own(contest) else None
    if deep is not None and lead.ends[0] > TOLERANCE:
        whole = difference_of(deep)
        below = _Lead(whole, loss95, "", p)
        found, lead = (whole, below) if below.ends[0] > TOLERANCE else (found, lead)
    rises = can_only_rise(contest.measure, contest.highest)
    level, reason = _level(lead, p_value, significant, rises=rises)
    documents: tuple[QueuedDocument, ...] = ()
    if level == "open" and name_documents and np.isfinite(lead.ends).all():
        weights = leanings(contest)
        order = by_weight(weights, contest)
        documents = queued(contest, order[can_matter(contest)[order]], weights)
        reason += _what_decides(documents)
    holes = len((deep or contest).holes)
    if level == "proved" and not holes:
        chance = _chance(lead, p_value, significant)
        reason = f"{lead.winner} leads by {lead.value:.4f}, and nothing{lead.down_to} is unjudged{chance}"
    return Claim(
        level=level,
        measure=str(contest.measure),
        winner=lead.winner,
        loser=lead.loser,
        lead=lead.value,
        ends=lead.ends,
        exact=found.exact,
        reason=reason,
        documents=documents,
        holes=holes,
        down_to=None if deep is None or not lead.down_to else int(np.max(deep.depth)),  # type: ignore[arg-type]
    )


class _Lead:
    """A difference seen from the run that leads."""

    def __init__(self, found: Difference, loss95: tuple[float, float] | None, down_to: str, p: str) -> None:
        ahead = 0 if found.value >= 0 else 1
        self.value = abs(found.value)
        low, high = found.ends
        self.ends = (low, high) if ahead == 0 else (-high, -low)
        self.exact = found.exact
        self.down_to, self.p = down_to, p
        self.is_equal = self.value <= TOLERANCE
        self.winner = "" if self.is_equal else found.names[ahead]
        self.loser = "" if self.is_equal else found.names[1 - ahead]
        self.own_holes, self.other_holes = found.open_count[ahead], found.open_count[1 - ahead]
        self.gain = 0.0 if loss95 is None else max(-loss95[ahead], 0.0)
        self.loss = None if loss95 is None else loss95[1 - ahead] + self.gain


def _level(lead: _Lead, p_value: float | None, significant: float, *, rises: bool) -> tuple[Level, str]:
    if lead.is_equal:
        return "open", "the two scores are equal"
    if lead.ends[0] > TOLERANCE:
        return "proved", _why_proved(lead, p_value, significant)
    tested = p_value is not None and p_value < significant
    if lead.loss is not None and tested and lead.value - lead.loss > TOLERANCE:
        return "supported", (
            f"{lead.winner} leads by {lead.value:.4f}, more than {lead.loser} has probably lost "
            f"{'and it has gained ' if lead.gain else ''}({lead.loss:.4f}), with {lead.p} = {p_value:.3g}"
        )
    if rises and lead.own_holes and not lead.other_holes:
        return "conservative win", (
            f"{lead.winner} leads by {lead.value:.4f} with its {counted(lead.own_holes, 'unjudged document')} "
            f"taken as not relevant; {lead.loser} has none"
        )
    return "open", _why_open(lead, p_value, significant)


def _why_proved(lead: _Lead, p_value: float | None, significant: float) -> str:
    least = "" if lead.exact else "at least "
    said = f"{lead.winner} leads by {least}{lead.ends[0]:.4f} even if every unjudged document{lead.down_to}"
    return f"{said} goes against it{_chance(lead, p_value, significant)}"


def _chance(lead: _Lead, p_value: float | None, significant: float) -> str:
    """Say that a lead may be chance, where the test says so."""
    if p_value is None or p_value < significant:
        return ""
    return f"; but it may be chance: on these topics {lead.p} = {p_value:.3g}"


def _has_no_depth_of_its_own(contest: Contest) -> bool:
    return isinstance(contest.measure, Measure) and depth_is_of_pool(contest.measure)


def _down_to(contest: Contest) -> str:
    """Say down to which rank holes were looked at; nothing where all of them were."""
    reach = contest.reach
    if reach is None:
        return ""
    deepest, longest = int(np.max(reach)), int(contest.alignment.lists.length.max(initial=0))
    if deepest >= longest:
        return ""
    return f" down to rank {deepest}" if int(np.min(reach)) == deepest else " down to the depth of the pool"


def _why_open(lead: _Lead, p_value: float | None, significant: float) -> str:
    lowest = lead.ends[0] if abs(lead.ends[0]) >= 0.00005 else 0.0
    could = f"could make that {lowest:+.4f}" if lead.exact else f"might make that {lowest:+.4f} at worst"
    text = f"{lead.winner} leads by {lead.value:.4f}, and labels {could}"
    if not np.isfinite(lead.ends).all():
        text = f"{lead.winner} leads by {lead.value:.4f}, by a measure without bounds"
    if lead.loss is not None and lead.value - lead.loss <= TOLERANCE:
        return f"{text}; {lead.loser} may have lost {lead.loss:.4f}"
    if p_value is not None and p_value >= significant:
        return f"{text}; the test gives {lead.p} = {p_value:.3g}"
    return text


def _what_decides(documents: tuple[QueuedDocument, ...]) -> str:
    if not documents:
        return "; no unjudged document would change that"
    return f"; {counted(len(documents), 'unjudged document')} could decide it"
