"""The card of a collection: the models of unjudged documents fitted to its pool, for users without the runs.

How popular unjudged documents are among the contributors stands in it too, down to a size limit: a newcomer then has
nearly the same expected loss as if the runs were at hand.
"""

from __future__ import annotations

import binascii
import dataclasses
import json
import math
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

import numpy as np

from cranfield.base.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.evaluate.align import Alignment, KeyTable
from cranfield.evaluate.lists import Counts, Values
from cranfield.evaluate.measure import Measure
from cranfield.reuse.labels import NOBODY, Retrieved
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.unjudged_model import Chain, Spread, Step, UnjudgedModel, Upper

VERSION = 3
"""Older cards are read too: those of version 2 have no fusion scores, those of version 1 no models by depth and no
term for the coverage of a run either."""

MOST_PAIRS = 50_000
"""A card carries the fusion scores of so many unjudged documents, the most popular ones: 12 bytes each."""

STEPS = 32
"""A score is kept as one byte: steps of 1/32 of its natural logarithm, above that of a document nobody retrieves."""

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The depths k that a card has a model for, down to the pool depth: enough for any measure and cutoff."""

KIND, COLLECTION_KIND = "cranfield-reuse-card", "cranfield-collection-card"
"""What a card of a pool alone is called, and one of a whole collection, which has that of its pool in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known by one measure: `k` from the lowest to the highest over topics, the model, and held-out losses.

    `model` is None where the collection could teach nothing, and `untestable` says why. `losses` are those of the
    contributing runs, each without its own group. `families` has a model for each kind of system with groups enough.
    """

    measure: str
    k: tuple[int, int]
    model: UnjudgedModel | None
    untestable: str
    losses: Spread | None
    families: tuple[tuple[str, UnjudgedModel], ...] = ()


@dataclass(frozen=True, slots=True)
class Fusion:
    """Reciprocal-rank-fusion scores of the most popular unjudged documents over the contributors' lists.

    `pairs` are 64-bit keys of pairs of topic and document, little endian; `scores` a byte each: the steps of the
    logarithm above that of a document `nobody` retrieves. Both in Base64. `others` is the mean of all other pairs.
    """

    nobody: float
    steps: int
    others: float
    pairs: str
    scores: str

    @staticmethod
    def of(alignment: Alignment, provenance: Provenance) -> Fusion | None:
        """The scores of what the contributors retrieve and nobody judged; None where the documents are not known."""
        lists = alignment.lists
        if alignment.pair_keys is None:
            return None
        found = Retrieved(alignment, provenance, np.full(len(alignment.topic_ids), lists.length.max(initial=0)))
        unjudged = np.unique(found.pair[lists.grades[found.rows] < 0])
        wanted = found.keys[unjudged]
        steps = np.minimum(STEPS * np.log1p(found.fusion[unjudged] / NOBODY), 255.0)
        order = np.argsort(-steps, kind="stable")
        others, kept = order[MOST_PAIRS:], np.sort(order[:MOST_PAIRS])
        parts = wanted[kept].astype("<u8").tobytes(), np.rint(steps[kept]).astype(np.uint8).tobytes()
        coded = (binascii.b2a_base64(one, newline=False).decode() for one in parts)
        return Fusion(NOBODY, STEPS, round(float(steps[others].mean()), 1) if len(others) else 0.0, *coded)

    def popularity(self, alignment: Alignment) -> Values | None:
        """The popularity of each document of the lists; None where the documents are not known."""
        if alignment.pair_keys is None:
            return None
        pairs, steps = self.columns()
        at = KeyTable.of(pairs).places(alignment.pair_keys)
        return math.log(self.nobody) + np.append(steps, self.others)[at] / self.steps

    def columns(self) -> tuple[Any, Any]:
        """The keys and the steps; a ValueError where they cannot be."""
        pairs, steps = (binascii.a2b_base64(one, strict_mode=True) for one in (self.pairs, self.scores))
        keys = np.frombuffer(pairs, dtype="<u8").astype(np.uint64)
        if len(keys) != len(steps) or min(self.nobody, self.steps) <= 0:
            raise ValueError
        return keys, np.frombuffer(steps, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Card:
    """What a pool taught: whose qrels, how deep, how many groups, models by the depth k, and one entry per measure.

    `pool_depth` is the depth of most topics, `topic_depths` that of the others. `fusion` has the popularity of
    unjudged documents; without it that is left aside. `history` is where the history of the collection stood: the
    number of its entries, and the hash of the last one.
    """

    kind: str
    version: int
    qrels_hash: str
    levels: tuple[int, ...]
    groups: int
    pool_depth: int
    topic_depths: tuple[tuple[str, int], ...]
    models: tuple[tuple[int, UnjudgedModel], ...]
    entries: tuple[Entry, ...]
    fusion: Fusion | None
    history: tuple[int, str] | None

    def entry(self, measure: Measure, depth: Counts) -> Entry | None:
        """What is known by a measure: its own entry, else the model of the next depth k that the card has."""
        known = next((one for one in self.entries if one.measure == str(measure)), None)
        if known is None and self.models:
            deepest = int(depth.max(initial=1))
            models = [model for k, model in self.models if k >= deepest]
            known = entry_of(measure, depth, model=models[0] if models else self.models[-1][1])
        return known

    def depths(self, topic_ids: Sequence[str]) -> Counts:
        """The pool depth of each topic."""
        others = dict(self.topic_depths)
        return np.array([others.get(topic, self.pool_depth) for topic in topic_ids], dtype=np.int64)

    def refuse_others(self, alignment: Alignment) -> None:
        """Refuse qrels that the card is not about: the model belongs to the pool they were judged from."""
        if alignment.qrels_hash != self.qrels_hash:
            raise InputError(
                f"the card belongs to the qrels {self.qrels_hash[:12]}, but these are {alignment.qrels_hash[:12]};"
                " use the card of these qrels"
            )


KEYS = {
    Card: "kind version qrels_hash levels groups pool_depth topic_depths models entries fusion history",
    Fusion: "nobody steps others pairs scores",
    Entry: "measure k kappa untestable losses families",
    UnjudgedModel: (
        "levels value by_grade by_group spread blind popular unlike plain plain_factor growth groups holes relevant"
    ),
    Chain: "steps shift factor scale",
    Spread: "runs mean median upper largest worst mean_absolute",
    Step: "rate intercept run_slope topic_slope rank_slope octave lowest highest terms",
    Upper: "value n is_maximum",
}
"""The keys of each part of a card in JSON, in the order of its fields."""


def card_of(
    alignment: Alignment,
    provenance: Provenance,
    entries: Sequence[Entry],
    *,
    models: Sequence[tuple[int, UnjudgedModel]] = (),
    history: tuple[int, str] | None = None,
) -> Card:
    """Make the card of the qrels of an alignment."""
    depths, counts = np.unique(provenance.depth, return_counts=True)
    usual = int(depths[counts.argmax()])
    others = zip(alignment.topic_ids, provenance.depth.tolist(), strict=True)
    return Card(
        kind=KIND,
        version=VERSION,
        qrels_hash=alignment.qrels_hash,
        levels=tuple(alignment.lists.levels.tolist()),
        groups=len(provenance.groups),
        pool_depth=usual,
        topic_depths=tuple(pair for pair in others if pair[1] != usual),
        models=tuple(models),
        entries=tuple(entries),
        fusion=Fusion.of(alignment, provenance),
        history=history,
    )


def entry_of(
    measure: Measure,
    depth: Counts,
    *,
    model: UnjudgedModel | None,
    untestable: str = "",
    losses: Spread | None = None,
    families: Sequence[tuple[str, UnjudgedModel]] = (),
) -> Entry:
    """Make the entry of a measure; `depth` is the depth that matters for each topic."""
    k = (int(depth.min()), int(depth.max())) if len(depth) else (0, 0)
    return Entry(str(measure), k, model, untestable, losses, tuple(families))


def encoded(value: Any) -> Any:
    """A card, or a part of one, as what JSON can hold; a NaN becomes null."""
    if type(value) in KEYS:
        pairs = zip(KEYS[type(value)].split(), dataclasses.fields(value), strict=True)
        value = {key: getattr(value, one.name) for key, one in pairs}
    if isinstance(value, dict):
        return {key: encoded(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [encoded(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def card_text(card: Card | dict[str, Any] | None) -> str:
    """A card, of a pool or of a whole collection, as JSON, the same bytes each time."""
    return json.dumps(encoded(card), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read_card(text: str, *, file: str = "") -> Card:
    """Read a card; everything that is wrong with it is listed at once."""

    def refuse(*problems: str) -> NoReturn:
        raise ProblemsFound("invalid card", [Problem("bad-card", problem, file=file) for problem in problems])

    try:
        content = json.loads(text)
    except ValueError as error:
        refuse(f"not JSON: {error}")
    except RecursionError:
        refuse("its values are nested too deeply")
    if isinstance(content, dict) and content.get("kind") == COLLECTION_KIND:
        reusability = content.get("reusability")
        content = reusability.get("card") if isinstance(reusability, dict) else None
        if content is None:
            refuse("this card does not describe the pool: its contributing runs were not known")
    if not isinstance(content, dict) or content.get("kind") != KIND:
        refuse(f"not a card: 'kind' must be {COLLECTION_KIND!r} or {KIND!r}")
    version = content.get("version")
    if version not in (1, 2, VERSION):
        refuse(f"the card has version {version!r}; this program reads version {VERSION}")
    if version == 1:
        content = _from_version_1(content)
    if version != VERSION:
        content |= {"version": VERSION, "fusion": None}
    content.setdefault("history", None)  # cards of qrels files have none
    problems: list[str] = []
    card: Card = _decoded(Card, content, problems)
    if problems := problems or _impossible(card):
        refuse(*problems)
    return card


def _from_version_1(value: Any) -> Any:
    """The same card as version 2 has it, but for the number; what is wrong with it stays wrong."""
    if isinstance(value, list):
        return [_from_version_1(one) for one in value]
    if not isinstance(value, dict):
        return value
    changed = {name: _from_version_1(one) for name, one in value.items()}
    if "entries" in changed:
        changed["models"] = []
    elif "run_slope" in changed:
        changed["terms"] = []
    elif "steps" in changed:
        names = [name for name in KEYS[Chain].split() if name in changed]
        # The chances were kept as a new run has them, so that nothing is left to grow.
        chain = {name: changed.pop(name) for name in names} | {"shift": []}
        changed |= {"blind": chain, "popular": None, "unlike": 0.0, "growth": 1.0}
    return changed


_NAMES = {int: "an integer", str: "a string", bool: "true or false", float: "a number"}


def _decoded(kind: Any, value: Any, problems: list[str], where: str = "") -> Any:
    """Give a value of JSON as its kind, strictly: every field there, nothing else, and everything of its kind.

    What is wrong is added to `problems`, and then the answer is None.
    """
    before = len(problems)

    def refuse(expected: str) -> None:
        problems.append(f"{where or 'the file'}: expected {expected}, not {quoted(value)}")

    if get_origin(kind) in (Union, types.UnionType):
        inner = next(one for one in get_args(kind) if one is not type(None))
        return None if value is None else _decoded(inner, value, problems, where)
    if kind in KEYS:
        if not isinstance(value, dict):
            return refuse("an object")
        hints = dict(zip(KEYS[kind].split(), get_type_hints(kind).values(), strict=True))
        at = {name: f"{where}.{name}" if where else name for name in (*hints, *value)}
        problems += [f"{at[name]}: missing field" for name in hints if name not in value]
        problems += [f"{at[name]}: unknown field" for name in value if name not in hints]
        values = [_decoded(hints[name], value[name], problems, at[name]) for name in hints if name in value]
        return kind(*values) if len(problems) == before else None
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            return refuse("a list")
        inners = get_args(kind)
        inners = (inners[0],) * len(value) if inners[-1] is Ellipsis else inners
        if len(inners) != len(value):
            return refuse(f"{len(inners)} values")
        pairs = enumerate(zip(inners, value, strict=True))
        return tuple(_decoded(one, each, problems, f"{where}[{place}]") for place, (one, each) in pairs)
    if kind is float:
        if value is None:
            return math.nan
        if type(value) in (int, float) and math.isfinite(value):
            return float(value)
    elif type(value) is kind:
        return value
    return refuse(_NAMES[kind])


def _impossible(card: Card) -> list[str]:
    """Where a card contradicts itself, so that it could not be used."""
    wrong = []
    if min([card.pool_depth, *(depth for _, depth in card.topic_depths)]) < 1:
        wrong.append("a pool depth must be at least 1")
    try:
        _ = card.fusion and card.fusion.columns()
    except ValueError:
        wrong.append("fusion: pairs and scores do not belong together")
    models = [(f"k = {k}", model) for k, model in card.models]
    for entry in card.entries:
        models += [(entry.measure, one) for one in (entry.model, *(model for _, model in entry.families)) if one]
        if (entry.model is None) != bool(entry.untestable):
            wrong.append(f"{entry.measure}: expected either kappa or untestable")
    for where, model in models:
        chains = [len(chain.steps) for chain in (model.blind, model.popular) if chain]
        if model.levels != card.levels or {*chains} != {len(card.levels) - 1}:
            wrong.append(f"{where}: kappa covers the grades {model.levels}, the card {card.levels}")
    return wrong
