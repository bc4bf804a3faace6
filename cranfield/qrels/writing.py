"""How qrels are written: in parts, as joined columns, so that reading gives the same qrels."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cranfield.errors import InputError, quoted
from cranfield.qrels.qrels import Qrels
from cranfield.runs.run import joined_text

_TEXT = pa.large_string()
_ROWS_AT_ONCE = 1 << 18


def write_trec(qrels: Qrels, stream: BinaryIO) -> None:
    """Write topic, 0, document and grade with one blank between; with a stratum before the grade for a sample."""
    commented = pc.starts_with(qrels.topic_ids, pattern="#").to_numpy(zero_copy_only=False)
    if commented.any():
        topic = qrels.topic_ids[int(np.flatnonzero(commented)[0])].as_py()
        raise InputError(f"topic {quoted(topic)} cannot stand in a TREC file: # begins a comment; write JSON lines")
    for part in _columns(qrels):
        words = [part["topic"], pa.scalar("0", _TEXT), part["document"]]
        words += [part["stratum"]] if "stratum" in part else []
        stream.write(_lines(words, part["grade"], " "))


def write_json_lines(qrels: Qrels, stream: BinaryIO) -> None:
    """Write one object per judgment."""
    for part in _columns(_renamed(qrels, json.dumps)):
        words = [pa.scalar('{"topic": ', _TEXT), part["topic"], pa.scalar(', "document": ', _TEXT), part["document"]]
        words += [pa.scalar(', "grade": ', _TEXT), part["grade"]]
        stream.write(_lines(words, pa.scalar("}", _TEXT), ""))


def write_separated(qrels: Qrels, stream: BinaryIO, *, delimiter: str, header: tuple[str, str, str]) -> None:
    """Write a header and rows; ids are quoted where that is needed and nowhere else."""
    stream.write((delimiter.join(header) + "\n").encode())

    def quoted_where_needed(word: str) -> str:
        doubled = word.replace('"', '""')
        return f'"{doubled}"' if delimiter in word or '"' in word else word

    for part in _columns(_renamed(qrels, quoted_where_needed)):
        stream.write(_lines([part["topic"], part["document"]], part["grade"], delimiter))


def _columns(qrels: Qrels) -> Iterator[dict[str, pa.Array]]:
    for rows in _slices(qrels):
        part = {
            "topic": qrels.topic_ids.cast(_TEXT).take(pa.array(qrels.topic_of_row[rows])),
            "document": qrels.document_ids.cast(_TEXT).take(pa.array(qrels.documents[rows])),
            "grade": pc.cast(pa.array(qrels.grades[rows]), _TEXT),
        }
        if qrels.strata is not None:
            part["stratum"] = pa.array(qrels.stratum_names, _TEXT).take(pa.array(qrels.strata[rows]))
        yield part


def _slices(qrels: Qrels) -> Iterator[slice]:
    return (slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(qrels), _ROWS_AT_ONCE))


def _lines(words: list[pa.Array], last: pa.Array, between: str) -> bytes:
    joined = pc.binary_join_element_wise(*words, last, pa.scalar(between, _TEXT))
    ended = pc.binary_join_element_wise(joined, pa.scalar("\n", _TEXT), pa.scalar("", _TEXT))
    return bytes(joined_text(ended))


def _renamed(qrels: Qrels, spell: Callable[[str], str]) -> Qrels:
    """Give qrels whose ids are spelled otherwise; they may no longer be in order, which writing does not need."""
    topics, documents = ([spell(word) for word in ids.to_pylist()] for ids in (qrels.topic_ids, qrels.document_ids))
    return replace(qrels, topic_ids=pa.array(topics, _TEXT), document_ids=pa.array(documents, _TEXT))
