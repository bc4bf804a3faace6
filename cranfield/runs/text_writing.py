"""How a run is written: in parts, as joined columns, without a loop over rows."""

import json
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from cranfield.runs.run import Run, joined_text

_TEXT = pa.large_string()
_ROWS_AT_ONCE = 1 << 19


def write_trec(run: Run, stream: BinaryIO) -> None:
    """Write the six TREC columns, one blank between them."""
    for part in columns_of(run):
        lines = pc.binary_join_element_wise(
            part["topic"],
            pa.scalar("Q0", _TEXT),
            part["document"],
            part["rank"].cast(_TEXT),
            part["score"].cast(_TEXT),
            pa.scalar(f"{run.tag}\n", _TEXT),
            pa.scalar(" ", _TEXT),
        )
        stream.write(joined_text(lines))


def write_json_lines(run: Run, stream: BinaryIO) -> None:
    """Write one object per row."""
    quoted = Run(run.tag, _as_json(run.topic_ids), run.offsets, _as_json(run.document_ids), run.documents, run.scores)
    empty = pa.scalar("", _TEXT)
    for part in columns_of(quoted):
        lines = pc.binary_join_element_wise(
            pa.scalar('{"topic": ', _TEXT),
            part["topic"],
            pa.scalar(', "document": ', _TEXT),
            part["document"],
            pa.scalar(', "rank": ', _TEXT),
            part["rank"].cast(_TEXT),
            pa.scalar(', "score": ', _TEXT),
            part["score"].cast(_TEXT),
            pa.scalar(f', "tag": {json.dumps(run.tag)}}}\n', _TEXT),
            empty,
        )
        stream.write(joined_text(lines))


def write_csv(run: Run, stream: BinaryIO) -> None:
    """Write a header and one row per document, divided by commas, quoted where needed."""
    stream.write(b"topic,document,rank,score,tag\n")
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    for part in columns_of(run):
        pyarrow.csv.write_csv(pa.table(part), stream, options)


def columns_of(run: Run) -> Iterator[dict[str, pa.Array]]:
    """Give the columns topic, document, rank (from 1), score and tag, some rows at a time."""
    counts = np.diff(run.offsets)
    topics = np.repeat(np.arange(len(counts)), counts)
    ranks = np.arange(1, run.row_count + 1) - run.offsets[topics]
    topic_ids, document_ids = run.topic_ids.cast(_TEXT), run.document_ids.cast(_TEXT)
    for start in range(0, run.row_count, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        yield {
            "topic": topic_ids.take(pa.array(topics[part])),
            "document": document_ids.take(pa.array(run.documents[part])),
            "rank": pa.array(ranks[part]),
            "score": pa.array(run.scores[part]),
            "tag": pa.repeat(pa.scalar(run.tag, _TEXT), len(ranks[part])),
        }


def _as_json(ids: pa.Array) -> pa.Array:
    return pa.array([json.dumps(value) for value in ids.to_pylist()], _TEXT)
