"""What assessors said, as columns: what a merge rule chooses from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cranfield.judge.events import Event
from cranfield.qrels.qrels import Grades, pair_keys
from cranfield.runs.columns import Coded, encoded
from cranfield.runs.run import Codes, Places

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
    columns: Sequence[Sequence[object]] = list(zip(*rows, strict=True)) if rows else [()] * _COLUMNS
    topics, documents, layers, assessors = (_coded(column) for column in columns[:4])
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


def _coded(column: Sequence[object]) -> Coded:
    return encoded(pa.chunked_array([pa.array(column, pa.large_string())]))
