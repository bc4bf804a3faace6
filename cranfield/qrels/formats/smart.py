"""Qrels of the SMART collections: topic, document and grade; or topic, document and two zeros, all relevant."""

from __future__ import annotations

import re
from typing import BinaryIO

from cranfield.base.files import Source
from cranfield.base.tables import Columns, Findings
from cranfield.qrels.qrels import Qrels, qrels_formats
from cranfield.qrels.reading import QRELS, QrelsRows, rows_in

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
        table = Columns.of(source, QRELS.columns, Findings(QRELS))
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
