"""The card of a collection: what its pool taught about holes, for people who have the qrels and not the runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import InputError, Problem, ProblemsFound
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts
from cranfield.reuse.decoding import decoded, encoded
from cranfield.reuse.hole_model import Step
from cranfield.reuse.kappa import Kappa
from cranfield.reuse.spread import Spread, Upper

VERSION = 1

KIND = "cranfield-reuse-card"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known by one measure: `k` as from the lowest to the highest over topics, kappa, and held-out losses.

    `kappa` is None where the collection could teach nothing, and `untestable` says why. `losses` are those of the
    contributing runs, each without its own group. `families` has a kappa for each kind of system with groups enough.
    """

    measure: str
    k: tuple[int, int]
    kappa: Kappa | None
    untestable: str
    losses: Spread | None
    families: tuple[tuple[str, Kappa], ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """What a pool taught: whose qrels, how deep, how many groups, and one entry per measure.

    `pool_depth` is the depth of most topics, `topic_depths` that of the others.
    """

    kind: str
    version: int
    qrels_hash: str
    levels: tuple[int, ...]
    groups: int
    pool_depth: int
    topic_depths: tuple[tuple[str, int], ...]
    entries: tuple[Entry, ...]

    def entry(self, measure: Measure) -> Entry | None:
        """Give what is known by a measure, None where nothing is."""
        return next((one for one in self.entries if one.measure == str(measure)), None)

    def depths(self, topic_ids: Sequence[str]) -> Counts:
        """Give the pool depth of each topic."""
        others = dict(self.topic_depths)
        return np.array([others.get(topic, self.pool_depth) for topic in topic_ids], dtype=np.int64)

    def refuse_others(self, alignment: Alignment) -> None:
        """Refuse qrels that the card is not about: kappa belongs to the pool they were judged from."""
        if alignment.qrels_hash != self.qrels_hash:
            raise InputError(
                f"the card is about the qrels {self.qrels_hash[:12]}, but these are {alignment.qrels_hash[:12]};"
                " ask for the card of these qrels, or make one where the runs are"
            )


KEYS = {
    Card: "kind version qrels_hash levels groups pool_depth topic_depths entries",
    Entry: "measure k kappa untestable losses families",
    Kappa: "levels value by_grade by_group spread steps factor plain plain_factor growth groups holes relevant scale",
    Spread: "runs mean median upper largest worst mean_absolute",
    Step: "rate intercept run_slope topic_slope rank_slope octave lowest highest",
    Upper: "value n is_maximum",
}
"""The keys of each part of a card in JSON, in the order of its fields."""


def card_of(alignment: Alignment, *, pool_depth: Counts, groups: int, entries: Sequence[Entry]) -> Card:
    """Make the card of the qrels of an alignment; `pool_depth` is one number per topic."""
    depths, counts = np.unique(pool_depth, return_counts=True)
    usual = int(depths[counts.argmax()])
    others = [(topic, int(depth)) for topic, depth in zip(alignment.topic_ids, pool_depth, strict=True)]
    return Card(
        kind=KIND,
        version=VERSION,
        qrels_hash=alignment.qrels_hash,
        levels=tuple(alignment.lists.levels.tolist()),
        groups=groups,
        pool_depth=usual,
        topic_depths=tuple(pair for pair in others if pair[1] != usual),
        entries=tuple(entries),
    )


def entry_of(
    measure: Measure,
    depth: Counts,
    *,
    kappa: Kappa | None,
    untestable: str = "",
    losses: Spread | None = None,
    families: Sequence[tuple[str, Kappa]] = (),
) -> Entry:
    """Make the entry of a measure; `depth` is the depth that matters for each topic."""
    k = (int(depth.min()), int(depth.max())) if len(depth) else (0, 0)
    return Entry(str(measure), k, kappa, untestable, losses, tuple(families))


def card_content(card: Card) -> Any:
    """Give a card as what JSON can hold."""
    return encoded(card, KEYS)


def card_text(card: Card) -> str:
    """Give a card as JSON, the same bytes each time."""
    return json.dumps(card_content(card), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read_card(text: str, *, file: str = "") -> Card:
    """Read a card; everything that is wrong with it is listed at once."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise _refused([f"this is not JSON: {error}"], file) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise _refused([f"this is not a card: 'kind' should be {KIND!r}"], file)
    version = content.get("version")
    if version != VERSION:
        raise _refused([f"the card has version {version!r}, and this program reads version {VERSION}"], file)
    problems: list[str] = []
    card = decoded(Card, content, KEYS, problems)
    if problems or not isinstance(card, Card):
        raise _refused(problems, file)
    wrong = [*_impossible(card), *(line for entry in card.entries for line in _inconsistent(card, entry))]
    if wrong:
        raise _refused(wrong, file)
    return card


def _impossible(card: Card) -> list[str]:
    """Say which numbers of a card cannot be."""
    wrong = []
    if card.groups < 0:
        wrong.append(f"groups: a number from 0 up was expected, not {card.groups}")
    if min([card.pool_depth, *(depth for _, depth in card.topic_depths)]) < 1:
        wrong.append("a pool has a depth from 1 up")
    named = [entry.measure for entry in card.entries]
    wrong += [f"{name}: there are two entries" for name in sorted({name for name in named if named.count(name) > 1})]
    for entry in card.entries:
        for _, kappa in [*([("", entry.kappa)] if entry.kappa else []), *entry.families]:
            numbers = [kappa.value, *kappa.by_grade, kappa.factor.value, kappa.plain, kappa.growth, kappa.scale]
            rates = [step.rate for step in kappa.steps]
            if min(numbers, default=0.0) < 0 or not all(0 <= rate <= 1 for rate in rates) or kappa.groups < 0:
                wrong.append(f"{entry.measure}: kappa has a rate, a factor or a count that cannot be")
    return wrong


def _inconsistent(card: Card, entry: Entry) -> list[str]:
    """Say where an entry contradicts the card, or itself."""
    known = [*([("", entry.kappa)] if entry.kappa else []), *entry.families]
    wrong = [
        f"{entry.measure}: kappa is about the grades {kappa.levels}, the card about {card.levels}"
        for _, kappa in known
        if kappa.levels != card.levels or len(kappa.steps) != len(card.levels) - 1
    ]
    if (entry.kappa is None) != bool(entry.untestable):
        wrong.append(f"{entry.measure}: either a kappa or a reason why there is none was expected")
    return wrong


def _refused(problems: Sequence[str], file: str) -> ProblemsFound:
    return ProblemsFound(
        "this card cannot be used", [Problem("bad-card", problem, file=file) for problem in problems]
    )
