"""Many opinions become one grade per topic and document, by a rule.

A rule is a list of names: the first that gives a grade decides. The usual one is adjudicated, else the primary
assessor, else the majority, else the latest. Propagated grades count only where nobody looked at the document itself.
Layers come in order: a later one adds pairs that the earlier ones have no grade for, and overrides nothing. Answers
to probes are no opinions: they never reach this place.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.judge.events import MAIN
from cranfield.qrels.opinions import Opinions
from cranfield.qrels.qrels import Grades, Qrels, sorted_qrels
from cranfield.qrels.rules import DEFAULT_RULE, Rule, check_rule
from cranfield.runs.columns import used_only

Rows = NDArray[np.int64]
Primary = Mapping[str, Sequence[str]]
"""The primary assessors of a topic; usually one."""


@dataclass(frozen=True, eq=False)
class Merged:
    """One grade per topic and document, and the rows of the opinions that decided, in no promised order."""

    qrels: Qrels
    rows: Rows


def merged(
    opinions: Opinions,
    *,
    rule: Rule = DEFAULT_RULE,
    primary: Primary | None = None,
    layers: Sequence[str] = (MAIN,),
    name: str = "",
) -> Merged:
    """Choose one opinion for each pair. A pair for which no name of the rule gives a grade is left out."""
    check_rule(rule)
    parts = [_of_layer(opinions, layer, rule, primary or {}) for layer in dict.fromkeys(layers)]
    rows = parts[0] if len(parts) == 1 else _first_of_pairs(opinions, parts)
    return Merged(_qrels(opinions, rows, opinions.grades[rows], name), rows)


def binary_by_scale(opinions: Opinions, chosen: Merged, relevant_from: Mapping[int, int]) -> Qrels:
    """Give 1 for relevant and 0 for not, each grade by the scale it was given on; `relevant_from` is by version."""
    thresholds = np.array([relevant_from.get(version, 1) for version in range(max(relevant_from, default=0) + 1)])
    grades = opinions.grades[chosen.rows] >= thresholds[opinions.scales[chosen.rows]]
    return _qrels(opinions, chosen.rows, grades.astype(np.int32), chosen.qrels.name)


def _qrels(opinions: Opinions, rows: Rows, grades: Grades, name: str) -> Qrels:
    topics = used_only(opinions.topic_ids, opinions.topics[rows])
    documents = used_only(opinions.document_ids, opinions.documents[rows])
    return sorted_qrels(topics, documents, grades, name=name)


def _of_layer(opinions: Opinions, layer: str, rule: Rule, primary: Primary) -> Rows:
    """Give the rows that a rule chooses in one layer, one for each pair."""
    if layer not in opinions.layer_names:
        return np.empty(0, dtype=np.int64)
    rows = _seen_before_propagated(opinions, np.flatnonzero(opinions.layers == opinions.layer_names.index(layer)))
    if all(word in _SELECTIVE for word in rule):
        return _first_of_pairs(opinions, [_CHOICES[word](opinions, rows, primary) for word in rule])
    alone = _alone(opinions, rows)
    rest = rows[~alone]
    return _first_of_pairs(opinions, [rows[alone], *(_CHOICES[word](opinions, rest, primary) for word in rule)])


def _alone(opinions: Opinions, rows: Rows) -> NDArray[np.bool_]:
    """Say which opinions are the only one of their pair: nothing is to be decided there, and they are most of all."""
    order = np.argsort(opinions.pairs[rows], kind="stable")
    pairs = opinions.pairs[rows][order]
    differs = np.concatenate([[True], pairs[1:] != pairs[:-1], [True]])
    alone = np.empty(len(rows), dtype=bool)
    alone[order] = differs[1:] & differs[:-1]
    return alone & ~opinions.decided[rows]


def _seen_before_propagated(opinions: Opinions, rows: Rows) -> Rows:
    """Leave out propagated grades of pairs that somebody looked at."""
    propagated = opinions.propagated[rows]
    if not propagated.any():
        return rows
    seen = np.isin(opinions.pairs[rows], opinions.pairs[rows[~propagated]])
    return rows[~propagated | ~seen]


def _first_of_pairs(opinions: Opinions, parts: Sequence[Rows]) -> Rows:
    """Join lists of rows; of several rows of a pair the first counts."""
    rows = np.concatenate(parts)
    if len(parts) > 1 and all(not len(part) for part in parts[1:]):
        return rows
    _, first = np.unique(opinions.pairs[rows], return_index=True)
    kept: Rows = rows[first]
    return kept


def _adjudicated(opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """The decision between assessors; the latest where there are several."""
    return _last(opinions, rows[opinions.decided[rows]], opinions.events)


def _primary(opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """The grade of the topic's primary assessor."""
    names = {assessor: code for code, assessor in enumerate(opinions.assessor_names)}
    topics = {topic: code for code, topic in enumerate(opinions.topic_ids.to_pylist())}
    keys = [
        (topics[topic] << 32) | names[assessor]
        for topic, assessors in primary.items()
        for assessor in assessors
        if topic in topics and assessor in names
    ]
    own = (opinions.topics.astype(np.int64) << 32) | opinions.assessors
    said = _said(opinions, rows)
    return _last(opinions, said[np.isin(own[said], np.array(keys, dtype=np.int64))], opinions.events)


def _majority(opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """The grade that more than half of the assessors gave."""
    said = _said(opinions, rows)
    _, pair = np.unique(opinions.pairs[said], return_inverse=True)
    _, kind, often = np.unique((pair << 32) | opinions.grades[said], return_inverse=True, return_counts=True)
    everybody = np.bincount(pair)
    return _last(opinions, said[2 * often[kind] > everybody[pair]], opinions.events)


def _latest(opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """The grade that was recorded last."""
    return _last(opinions, _said(opinions, rows), opinions.events)


def _highest(opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """The highest grade that anybody gave."""
    return _last(opinions, _said(opinions, rows), opinions.grades)


def _lowest(opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """The lowest grade that anybody gave."""
    return _last(opinions, _said(opinions, rows), -opinions.grades)


def _median(opinions: Opinions, rows: Rows, primary: Primary) -> Rows:
    """The middle grade, of two middle ones the lower; unlike a mean it is always a grade of the scale."""
    said = _said(opinions, rows)
    order = said[np.lexsort((opinions.events[said], opinions.grades[said], opinions.pairs[said]))]
    _, starts, sizes = np.unique(opinions.pairs[order], return_index=True, return_counts=True)
    middle: Rows = order[starts + (sizes - 1) // 2]
    return middle


_CHOICES: Mapping[str, Callable[[Opinions, Rows, Primary], Rows]] = {
    "adjudicated": _adjudicated,
    "primary": _primary,
    "majority": _majority,
    "latest": _latest,
    "highest": _highest,
    "lowest": _lowest,
    "median": _median,
}
"""What each word of a rule chooses among some rows: at most one for each pair."""


_SELECTIVE = ("adjudicated", "primary")
"""The names that pass over an opinion even where it is the only one."""


def _said(opinions: Opinions, rows: Rows) -> Rows:
    """Give the opinions among the rows: decisions are not counted among what they decide."""
    return rows[~opinions.decided[rows]]


def _last(opinions: Opinions, rows: Rows, key: NDArray[np.int64] | NDArray[np.int32]) -> Rows:
    """Give the row with the highest key of each pair; of equal ones the one recorded last."""
    order = rows[np.lexsort((opinions.events[rows], key[rows], opinions.pairs[rows]))]
    pairs = opinions.pairs[order]
    ends: Rows = order[np.append(pairs[1:] != pairs[:-1], len(pairs) > 0)] if len(order) else order
    return ends
