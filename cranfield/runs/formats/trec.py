"""The six TREC columns: topic, Q0, document, rank, score, tag."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv

from cranfield.base.files import Source
from cranfield.base.tables import Findings
from cranfield.runs import metadata
from cranfield.runs.columns import encoded, joined, joined_text
from cranfield.runs.reading import (
    RUN,
    TREC_COLUMNS,
    columns_of,
    ranks_of,
    run_formats,
    scores_of,
    tags_of,
    with_problems,
)
from cranfield.runs.run import Rows, Run
from cranfield.runs.words import CODED, WORD, Layout, read_words

_ITERATION = re.compile(rb"[Qq][0-9]+|0")
_NUMBERS = {"rank": pa.int64(), "score": pa.float64()}
_TYPES = {"topic": CODED, "iteration": CODED, "document": WORD, **_NUMBERS, "tag": CODED}
_TAGLESS = {name: kind for name, kind in _TYPES.items() if name != "tag"}
_LONG = 1 << 18
_READERS = {"rank": lambda words: (ranks_of(words), {}), "score": scores_of}


@run_formats.register("trec")
class Trec:
    """Six columns between blanks or tabs, as trec_eval reads them."""

    summary = "six columns divided by blanks or tabs: topic Q0 document rank score tag"
    suffixes = (".run", ".trec", ".res", ".txt")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines of six columns, or of some more or fewer whose second is Q0."""
        if metadata.is_header(head):
            return True
        lines = _first_lines(head)
        text = [words for words in lines if len(words) >= 3 and words[0][:1] not in (b"{", b"[", b"<")]
        return 2 * sum(len(words) == 6 or _ITERATION.fullmatch(words[1]) is not None for words in text) > len(lines)

    @staticmethod
    def read(source: Source) -> Rows:
        """Read the file block by block; a row without a usable score stays, with NaN.

        In a file that begins with ir_metadata lines that begin with # are comments, and nowhere else.
        """
        head = source.head()
        header = metadata.header_of(source) if metadata.is_header(head) else ""
        findings, types, lines = Findings(RUN, TREC_COLUMNS), _TYPES, _first_lines(head)
        without_tag = [words for words in lines if len(words) == len(_TAGLESS) and _ITERATION.fullmatch(words[1])]
        if 2 * len(without_tag) > len(lines):
            findings.add("no-tag", [1])
            types = _TAGLESS
        layout = Layout(types, _READERS, {"score": np.inf}, strict=False, comment=b"#" if header else b"")
        table, numbering, _ = read_words(source, layout, findings)
        tags = tags_of(*encoded(table["tag"]), numbering) if "tag" in types else ()
        with ThreadPoolExecutor(1) as aside:
            if len(table) >= _LONG:
                aside.submit(lambda: source.file_sha256)  # beside the coding; the source keeps it
            topics, documents = encoded(table["topic"]), encoded(table["document"])
        scores, ranks = table["score"].to_numpy(), table["rank"].to_numpy()
        rows = Rows(source, *topics, *documents, scores, ranks, tags, numbering, metadata=header)
        return with_problems(rows, findings)

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write ranks from 1 and scores with as many digits as they need to come back unchanged."""
        for part in columns_of(run):
            words = (part["topic"], "Q0", part["document"], part["rank"], part["score"], f"{run.tag}\n")
            stream.write(joined_text(joined(*words, between=" ")))


def _first_lines(head: bytes) -> list[list[bytes]]:
    """The words of the first lines that are not blank, from which the layout is told."""
    if metadata.is_header(head):
        return [line.split() for line in head.splitlines() if line.strip() and not line.startswith(b"#")][:50]
    return [line.split() for line in head.splitlines()[:50] if line.strip()]
