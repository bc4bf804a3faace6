"""Many opinions become one grade per topic and document, by a rule.

A rule is a list of names: the first that gives a grade decides. The usual one is adjudicated, else the primary
assessor, else the majority, else the latest. Grades that stand in for an opinion, propagated or imported without an
assessor, count only where nobody here looked at the document itself.
Layers come in order: a later one adds pairs that the earlier ones have no grade for, and overrides nothing. Answers
to probes are no opinions: they never reach this place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cranfield.base.errors import UnknownName
from cranfield.base.records import MAIN
from cranfield.judge.events import Event
from cranfield.qrels.qrels import Grades, Qrels, pair_keys, sorted_qrels
from cranfield.qrels.release import DEFAULT_RULE, NOW, RULE_WORDS, Rule
from cranfield.runs.columns import Coded, Codes, Mask, Places, encoded, text_of, used_only, values_of
from cranfield.runs.words import CODED, WORD, parsed_words

# What assessors said, as columns: what a merge rule chooses from.

OpinionRow = tuple[str, str, str, str, int, int, int, int, int]
"""Topic, document, layer, assessor, is it a decision, does it stand in, grade, number of the event, scale version."""

_WORDS = ("topic", "document", "layer", "assessor")
_NUMBERS = ("decided", "stands_in", "grade", "event", "scale")


@dataclass(frozen=True, eq=False)
class Opinions:
    """Standing grades, one row for each layer, topic, document and assessor; a decision has a row of its own.

    `events` numbers the event that each row comes from, `scales` the version of the scale its grade was given on. Ids
    and names are distinct; the columns hold their codes.
    """

    topic_ids: pa.Array
    topics: Codes
    document_ids: pa.Array
    documents: Codes
    layer_names: pa.Array
    layers: Codes
    assessor_names: pa.Array
    assessors: Codes
    decided: Mask
    stands_in: Mask
    grades: Grades
    events: Places
    scales: Places

    @cached_property
    def pairs(self) -> Places:
        """One number per row for its topic and document."""
        return pair_keys(self.topics, self.documents)


def opinions_of(rows: Sequence[OpinionRow]) -> Opinions:
    """Make columns of rows."""
    columns: Sequence[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(_WORDS + _NUMBERS)
    words, numbers = columns[: len(_WORDS)], columns[len(_WORDS) :]
    return _opinions([encoded(column) for column in words], [np.array(column, dtype=np.int64) for column in numbers])


def opinions_in_text(parts: Sequence[tuple[str, int, str]]) -> Opinions | None:
    """Make columns of text, one part per topic: its id, how many rows, and the rows with tabs between the columns.

    It is several times as fast as rows one by one. None where an id or a name has a tab or a line end in it.
    """
    types = {"document": WORD, "layer": CODED, "assessor": CODED, **dict.fromkeys(_NUMBERS, pa.int64())}
    counts = [count for _, count, _ in parts]
    text = "\n".join(rows for _, _, rows in parts).encode()
    table = parsed_words(text, "\t", types, rows=sum(counts))
    if table is None:  # also where there are no rows at all
        return None
    topics = text_of([topic for topic, _, _ in parts]), np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    words = [encoded(table[name]) for name in _WORDS[1:]]
    return _opinions([topics, *words], [values_of(table[name]) for name in _NUMBERS])


def _opinions(words: Sequence[Coded], numbers: Sequence[Places]) -> Opinions:
    topics, documents, layers, assessors = words
    decided, stands_in, grades, events, scales = numbers
    flags = decided.astype(bool), stands_in.astype(bool)
    return Opinions(*topics, *documents, *layers, *assessors, *flags, grades.astype(np.int32), events, scales)


def row_of(event: Event) -> OpinionRow:
    """A standing event that has a grade as a row."""
    decided, stands_in = event.kind == "adjudicated", event.stands_in
    who = event.topic, event.document, event.layer, event.assessor
    return (*who, int(decided), int(stands_in), event.grade or 0, event.sequence, event.scale)


# One opinion is chosen for each pair.

Rows = Places
Primary = Mapping[str, Sequence[str]]
"""The primary assessors of a topic; usually one."""


@dataclass(frozen=True, eq=False)
class Merged:
    """One grade per topic and document, and the rows of the opinions that decided, in no promised order."""

    qrels: Qrels
    rows: Rows


def merged(
    opinions: Opinions, *, rule: Rule = DEFAULT_RULE, primary: Primary | None = None, layers: Sequence[str] = (MAIN,)
) -> Merged:
    """Choose one opinion for each pair. A pair for which no name of the rule gives a grade is left out."""
    pairs, names = opinions.pairs, opinions.layer_names.to_pylist()
    parts: list[Rows] = [np.empty(0, dtype=np.int64)]
    for layer in dict.fromkeys(layers):
        rows = np.flatnonzero(opinions.layers == (names.index(layer) if layer in names else -1))
        stands_in = opinions.stands_in[rows]
        if stands_in.any():  # such a grade gives way where somebody judged the document itself
            rows = rows[~stands_in | ~np.isin(pairs[rows], pairs[rows[~stands_in]])]
        alone = np.zeros(len(rows), dtype=bool)
        if not {*rule} <= {"adjudicated", "primary"}:  # these two pass over an opinion even where it is the only one
            # Most opinions are the only one of their pair, and nothing is to be decided there.
            order = np.argsort(pairs[rows], kind="stable")
            differs = np.diff(pairs[rows][order], prepend=-1, append=-1) != 0
            alone[order] = differs[1:] & differs[:-1]
            alone &= ~opinions.decided[rows]
        chosen = (_choose(word, opinions, rows[~alone], primary or {}) for word in rule)
        parts.append(_first_of_pairs(opinions, [rows[alone], *chosen]))
    rows = _first_of_pairs(opinions, parts)
    return Merged(_qrels(opinions, rows, opinions.grades[rows]), rows)


def binary_by_scale(opinions: Opinions, chosen: Merged, relevant_from: Mapping[int, int]) -> Qrels:
    """1 for relevant and 0 for not, each grade by the scale it was given on; `relevant_from` is by version."""
    thresholds = np.array([relevant_from.get(version, 1) for version in range(max(relevant_from, default=0) + 1)])
    grades = opinions.grades[chosen.rows] >= thresholds[opinions.scales[chosen.rows]]
    return _qrels(opinions, chosen.rows, grades.astype(np.int32))


def _qrels(opinions: Opinions, rows: Rows, grades: Grades) -> Qrels:
    topics = used_only(opinions.topic_ids, opinions.topics[rows])
    documents = used_only(opinions.document_ids, opinions.documents[rows])
    return sorted_qrels(topics, documents, grades, name=NOW)


def _first_of_pairs(opinions: Opinions, parts: Sequence[Rows]) -> Rows:
    """Join lists of rows that have a pair once each; of several rows of a pair the first counts."""
    rows = np.concatenate(parts)
    return np.asarray(rows[np.unique(opinions.pairs[rows], return_index=True)[1]])


def _choose(word: str, opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """What a word of a rule chooses among some rows, as `RULE_WORDS` says: at most one for each pair."""
    decided = opinions.decided[rows]
    if word == "adjudicated":
        return _last(opinions, rows[decided], opinions.events)
    rows = rows[~decided]  # decisions are not counted among what they decide
    match word:
        case "primary":
            topics, names = opinions.topic_ids.to_pylist(), opinions.assessor_names.to_pylist()
            is_primary = [name in primary.get(topic, ()) for topic in topics for name in names]
            own = opinions.topics[rows].astype(np.int64) * len(names) + opinions.assessors[rows]
            rows = rows[np.array(is_primary, dtype=bool)[own]]
        case "majority":
            _, pair = np.unique(opinions.pairs[rows], return_inverse=True)
            _, kind, often = np.unique((pair << 32) | opinions.grades[rows], return_inverse=True, return_counts=True)
            rows = rows[2 * often[kind] > np.bincount(pair)[pair]]
        case "median":
            order = rows[np.lexsort((opinions.events[rows], opinions.grades[rows], opinions.pairs[rows]))]
            _, starts, sizes = np.unique(opinions.pairs[order], return_index=True, return_counts=True)
            rows = order[starts + (sizes - 1) // 2]
        case "highest":
            return _last(opinions, rows, opinions.grades)
        case "lowest":
            return _last(opinions, rows, -opinions.grades)
        case "latest":
            pass
        case _:
            raise UnknownName("merge rule", word, RULE_WORDS)
    return _last(opinions, rows, opinions.events)


def _last(opinions: Opinions, rows: Rows, key: Places | Grades) -> Rows:
    """The row with the highest key of each pair; of equal ones the one recorded last."""
    order = rows[np.lexsort((opinions.events[rows], key[rows], opinions.pairs[rows]))]
    pairs = opinions.pairs[order]
    ends: Rows = order[np.append(pairs[1:] != pairs[:-1], len(pairs) > 0)] if len(order) else order
    return ends
