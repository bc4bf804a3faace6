"""Columns between blanks: TREC's four, or five with a stratum before the grade; those of the SMART collections."""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from cranfield.base.errors import InputError, quoted
from cranfield.base.files import Source
from cranfield.base.tables import Columns, Findings
from cranfield.qrels.qrels import Qrels, qrels_formats
from cranfield.qrels.reading import GRADE_LIMIT, QRELS, QrelsRows, grades_of, rows_in
from cranfield.runs.columns import encoded, used_only, values_of
from cranfield.runs.words import CODED, WORD, Layout, first_words, read_words

_HEADINGS = (b"query-id", b"query_id", b"topic", b"qid")
_FIVE = {"topic": CODED, "iteration": CODED, "document": WORD, "stratum": CODED, "grade": pa.int64()}
_FOUR = {name: kind for name, kind in _FIVE.items() if name != "stratum"}


@qrels_formats.register("trec")
class Trec:
    """Columns between blanks or tabs, as trec_eval reads them; # begins a comment line."""

    summary = "columns separated by blanks or tabs: topic iteration document [stratum] grade"

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines of four or five columns that are neither JSON nor a header of names."""
        lines = [line.split() for line in head.splitlines()[:50] if line.strip() and not line.startswith(b"#")]
        if not lines:
            return True
        if lines[0][0].lower() in _HEADINGS or lines[0][0][:1] in (b"{", b"["):
            return False
        return 2 * sum(len(words) in (len(_FOUR), len(_FIVE)) for words in lines) > len(lines)

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the file block by block; the first line that is no comment says how many columns it has."""
        findings = Findings(QRELS)
        types = _FIVE if len(first_words(source, comment=b"#")) == len(_FIVE) else _FOUR
        layout = Layout(types, {"grade": grades_of}, {"grade": GRADE_LIMIT}, strict=True, comment=b"#")
        table, lines, plain = read_words(source, layout, findings)
        strata, names = None, ()
        if "stratum" in types:
            stratum_ids, strata = used_only(*encoded(table["stratum"]))
            names = tuple(stratum_ids.to_pylist())
        return QrelsRows(
            *used_only(*encoded(table["topic"])),
            *encoded(table["document"]),
            grades=values_of(table["grade"]).astype(np.int32),
            strata=strata,
            stratum_names=names,
            lines=lines,
            problems=() if plain else findings.problems(),
            plain=plain,
        )

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write topic, 0, document and grade with one blank between; with a stratum before the grade for a sample."""
        if topic := next((topic for topic in qrels.topic_ids.to_pylist() if topic.startswith("#")), ""):
            raise InputError(
                f"topic {quoted(topic)} cannot be written to a TREC file, where # begins a comment; use --to jsonl"
            )
        for lines in qrels.lines("", " 0 ", " ", "\n", strata=True):
            stream.write(lines)


# Qrels of the SMART collections.

_ROW = re.compile(r"\s*(\S+)\s+(?:(\S+)\s+([+-]?\d+)|(?!Q?0\s)(\S+)\s+0\s+0(?:\.0*)?)\s*", re.ASCII)


@qrels_formats.register("smart")
class Smart:
    """Three columns (Cranfield, MED), or four with 0 and 0.000000 behind each relevant document (CACM, CISI)."""

    summary = "columns separated by blanks: topic document grade, or topic document 0 0 (Cranfield, CACM, CISI, MED)"

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise rows of either kind."""
        lines = [line for line in head.decode("utf-8", "replace").splitlines()[:50] if line.strip()]
        return bool(lines) and all(map(_ROW.fullmatch, lines))

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the rows; where they have no grade each document is relevant."""
        table = Columns.of(source, QRELS)
        for number, line in source.lines():
            if match := _ROW.fullmatch(line):
                table.add(number, [match[1], match[2] or match[4], match[3] or "1"])
            elif line.strip():
                table.findings.add("bad-row", [number], example=line)
        return rows_in(table)

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write topic, document and grade."""
        for lines in qrels.lines("", " ", " ", "\n"):
            stream.write(lines)
