"""Many opinions become one grade per topic and document, by a rule.

A rule is a list of names: the first that gives a grade decides. The usual one is adjudicated, else the primary
assessor, else the majority, else the latest. Propagated grades count only where nobody looked at the document itself.
Layers come in order: a later one adds pairs that the earlier ones have no grade for, and overrides nothing. Answers
to probes are no opinions: they never reach this place.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cranfield.base.errors import UsageError, quoted
from cranfield.judge.events import MAIN, Event
from cranfield.qrels.qrels import Grades, Qrels, pair_keys, sorted_qrels
from cranfield.qrels.rules import DEFAULT_RULE, Rule, check_rule
from cranfield.runs.columns import encoded, used_only
from cranfield.runs.run import Codes, Places

# What assessors said, as columns: what a merge rule chooses from.

OpinionRow = tuple[str, str, str, str, int, int, int, int, int]
"""Topic, document, layer, assessor, is it a decision, is it propagated, grade, number of the event, scale version."""

_COLUMNS = 9


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
    layer_names: tuple[str, ...]
    layers: Codes
    assessor_names: tuple[str, ...]
    assessors: Codes
    decided: NDArray[np.bool_]
    propagated: NDArray[np.bool_]
    grades: Grades
    events: Places
    scales: Places

    def __len__(self) -> int:
        return len(self.grades)

    @cached_property
    def pairs(self) -> Places:
        """One number per row for its topic and document."""
        return pair_keys(self.topics, self.documents)


def opinions_of(rows: Sequence[OpinionRow]) -> Opinions:
    """Make columns of rows."""
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * _COLUMNS
    topics, documents, layers, assessors = (encoded(column) for column in columns[:4])
    decided, propagated = (np.array(column, dtype=bool) for column in columns[4:6])
    return Opinions(
        topic_ids=topics[0],
        topics=topics[1],
        document_ids=documents[0],
        documents=documents[1],
        layer_names=tuple(layers[0].to_pylist()),
        layers=layers[1],
        assessor_names=tuple(assessors[0].to_pylist()),
        assessors=assessors[1],
        decided=decided,
        propagated=propagated,
        grades=np.array(columns[6], dtype=np.int32),
        events=np.array(columns[7], dtype=np.int64),
        scales=np.array(columns[8], dtype=np.int64),
    )


def opinions_in_text(parts: Sequence[tuple[str, int, str]]) -> Opinions | None:
    """Make columns of text, one part per topic: its id, how many rows, and the rows with tabs between the columns.

    It is several times as fast as rows one by one. None where an id or a name has a tab or a line end in it.
    """
    text = "\n".join(part[2] for part in parts).encode()
    counts = [count for _, count, _ in parts]
    table = _parsed(text) if text else None
    if table is None or table.num_rows != sum(counts):
        return None
    documents, layers, assessors = (encoded(table[name]) for name in ("document", "layer", "assessor"))
    return Opinions(
        topic_ids=pa.array([topic for topic, _, _ in parts], pa.large_string()),
        topics=np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        document_ids=documents[0],
        documents=documents[1],
        layer_names=tuple(layers[0].to_pylist()),
        layers=layers[1],
        assessor_names=tuple(assessors[0].to_pylist()),
        assessors=assessors[1],
        decided=table["decided"].to_numpy().astype(bool),
        propagated=table["propagated"].to_numpy().astype(bool),
        grades=table["grade"].to_numpy().astype(np.int32),
        events=table["event"].to_numpy(),
        scales=table["scale"].to_numpy(),
    )


def _parsed(text: bytes) -> pa.Table | None:
    coded = pa.dictionary(pa.int32(), pa.large_string())
    types = {"document": pa.string(), "layer": coded, "assessor": coded}
    types |= dict.fromkeys(("decided", "propagated", "grade", "event", "scale"), pa.int64())
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(column_names=list(types)),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, null_values=[], strings_can_be_null=False, check_utf8=True
            ),
        )
    except pa.ArrowInvalid:
        return None


def row_of(event: Event) -> OpinionRow:
    """Give a standing event that has a grade as a row."""
    if event.grade is None:
        raise ValueError(f"event {event.uuid} has no grade")
    decided, propagated = event.kind == "adjudicated", event.kind == "propagated"
    who = event.topic, event.document, event.layer, event.assessor
    return (*who, int(decided), int(propagated), event.grade, event.sequence, event.scale)


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


# Qrels frozen under a name, and the manifest that says how they came about.

RESERVED = "now"
"""What the judgments say at this moment is called so; no release can be."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a release was made from.

    `up_to_event` is the last event that could count; with it, the layers and the rule the same qrels can be folded
    from the events again. `scales` and `guidelines` count the deciding judgments by version (0: no guidelines).
    `pools` gives the content hash of each pool. For qrels that came from a file `file` and `file_sha256` say which.
    """

    name: str
    content_hash: str
    topics: int
    judged: int
    unjudged: int
    grades: Mapping[str, int] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    rule: Rule = ()
    primary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    up_to_event: int = 0
    scales: Mapping[str, int] = field(default_factory=dict)
    guidelines: Mapping[str, int] = field(default_factory=dict)
    pools: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    file_sha256: str = ""
    note: str = ""
    collection: str = ""
    made: str = ""
    made_by: str = ""
    version: int = 1

    def json(self) -> str:
        """Give it as JSON text, the same for the same content."""
        content = dict(zip(_KEYS, astuple(self), strict=True))
        return json.dumps(content, ensure_ascii=False, sort_keys=True, indent=1)


_KEYS = (
    *("name", "content_hash", "topics", "judged", "unjudged", "grades", "layers", "rule", "primary", "up_to_event"),
    *("scales", "guidelines", "pools", "file", "file_sha256", "note", "collection", "made", "made_by", "version"),
)
"""The keys of a manifest in JSON, in the order of its fields."""


def manifest_from(text: str) -> Manifest:
    """Read a manifest back."""
    fields = json.loads(text)
    lists = {name: tuple(fields[name]) for name in ("layers", "rule")}
    primary = {topic: tuple(names) for topic, names in fields["primary"].items()}
    content = {**fields, **lists, "primary": primary}
    return Manifest(*(content[key] for key in _KEYS))


def check_name(name: str) -> str:
    """Give the name of a release back, or say what is wrong with it."""
    if name == RESERVED:
        raise UsageError(f"a release cannot be called {quoted(name)}: that word means the judgments of this moment")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{quoted(name)} cannot name a release; use letters, digits and . _ + @ -, no blanks")
    return name


def counts_of(qrels: Qrels) -> dict[str, int]:
    """Count the rows by grade, the grades as text, as JSON wants its keys."""
    return {str(grade): count for grade, count in sorted(Counter(qrels.grades.tolist()).items())}
