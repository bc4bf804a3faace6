"""Documents and topics written in the formats that are read, for tests that read them back."""

import csv
import json
import re
from collections.abc import Iterable
from typing import Any, TextIO

from cranfield.base.records import Document, Topic
from cranfield.corpus.formats.trec import TrecTopics
from cranfield.corpus.markup import escaped


def _line(record: dict[str, Any], metadata: dict[str, str]) -> str:
    return json.dumps(record | ({"metadata": dict(metadata)} if metadata else {}), ensure_ascii=False) + "\n"


def documents_as_json(documents: Iterable[Document], stream: TextIO) -> None:
    """One object per line in BEIR's spelling."""
    for one in documents:
        stream.write(_line({"_id": one.id, "title": one.title, "text": one.text}, one.metadata))


def documents_as_trec(documents: Iterable[Document], stream: TextIO) -> None:
    """`<DOC>` with DOCNO, TITLE, the metadata and TEXT."""
    for one in documents:
        stream.write(f"<DOC>\n<DOCNO>{escaped(one.id)}</DOCNO>\n")
        stream.write(f"<TITLE>{escaped(one.title)}</TITLE>\n" if one.title else "")
        for name, value in one.metadata.items():
            quotable = escaped(name).replace('"', "&quot;")
            stream.write(f'<META NAME="{quotable}">{escaped(value)}</META>\n')
        stream.write(f"<TEXT>\n{escaped(one.text)}\n</TEXT>\n</DOC>\n")


def _as_json(topics: Iterable[Topic], stream: TextIO) -> None:
    for one in topics:
        record = {"_id": one.id, "title": one.title, "description": one.description, "narrative": one.narrative}
        stream.write(_line({name: text for name, text in record.items() if text}, one.metadata))


def _as_smart(topics: Iterable[Topic], stream: TextIO) -> None:
    for one in topics:
        title, text = (one.title, one.description) if one.description else ("", one.title)
        title, text = (re.sub(r"^\.(?=[A-Z])", " .", part, flags=re.MULTILINE) for part in (title, text))
        stream.write(f".I {one.id}\n" + (f".T\n{title}\n" if title else "") + f".W\n{text}\n")


def _as_tabs(topics: Iterable[Topic], stream: TextIO) -> None:
    stream.writelines(f"{one.id}\t{' '.join(one.title.split())}\n" for one in topics)


def _as_csv(topics: Iterable[Topic], stream: TextIO) -> None:
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(["id", "title", "description", "narrative"])
    rows.writerows([one.id, one.title, one.description, one.narrative] for one in topics)


TOPIC_WRITERS = {"trec": TrecTopics.write, "jsonl": _as_json, "smart": _as_smart, "tsv": _as_tabs, "csv": _as_csv}
