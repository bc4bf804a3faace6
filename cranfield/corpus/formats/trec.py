"""The format of TREC: documents in `<DOC> <DOCNO>`, topics in `<top> <num> <title> <desc> <narr>`, and XML topics.

Documents: the text is in `<TEXT>` (several are joined) or lies loose in `<DOC>`; other elements become metadata.
`<doc id="…" title="…">` without a DOCNO is taken too.

Topics: with or without end tags, with or without the words "Number:", "Topic:", "Description:", "Narrative:";
`<topic number="…"> <query>` as newer tracks write it; and topics that lie in `<DOC>` like documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TextIO

from cranfield.base.errors import Problem
from cranfield.base.files import Source
from cranfield.base.records import Topic
from cranfield.base.tables import Schema
from cranfield.corpus import reading
from cranfield.corpus.markup import (
    DROPPED,
    Field,
    attributes,
    closed_fields,
    elements,
    escaped,
    open_fields,
    plain,
    tag_pattern,
    without_specials,
)

DOCUMENT = Schema({"id": ("docno", "docid", "id"), "title": ("title", "headline", "ttl", "head", "hl")})
DOCUMENT_TEXT = frozenset({"", "text", "lp", "leadpara", "body", "abstract", "contents"})

TOPIC = Schema(
    {
        "id": ("num", "number", "identifier", "docno", "id", "topic_id", "qid"),
        "title": ("title", "query"),
        "description": ("desc", "description", "question"),
        "narrative": ("narr", "narrative"),
    }
)
TOPIC_LABELS = {
    "num": "number",
    "title": "topic",
    "desc": "description",
    "narr": "narrative",
    "dom": "domain",
    "smry": "summary",
    "con": "concepts",
    "fac": "factors",
    "nat": "nationality",
    "time": "time",
    "def": "definitions",
}
"""The word that old topics repeat behind a tag, as in `<con> Concept(s):`; also what the metadata is called."""

_DOC = tag_pattern("doc")
_TOPICS = ("top", "topic", "inex_topic", "doc")
_LABEL = {
    tag: re.compile(rf"\s*+{word.removesuffix('s')}(?:\(s\)|s)?:", re.IGNORECASE)
    for tag, word in TOPIC_LABELS.items()
}


@reading.document_formats.register("trec", "trectext", "sgml")
class TrecDocuments:
    """Documents in TREC's SGML."""

    summary = "TREC SGML: <DOC> <DOCNO> with <TEXT> or loose text"
    suffixes = (".trec", ".trectext", ".sgml", ".sgm")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a `<DOC>` tag that is not within a topic."""
        found = _DOC.search(head)
        topic = tag_pattern("top", "topic").search(head)
        return found is not None and (topic is None or found.start() < topic.start())

    @staticmethod
    def read(source: Source) -> Iterator[Any]:
        """The documents and problems, record by record."""
        for record in _records(source, _DOC):
            if isinstance(record, Problem):
                yield record
                continue
            found, metadata = _sorted_out(closed_fields(record.text), record.attributes, DOCUMENT_TEXT)
            parts = _parts(found, DOCUMENT) | {"text": found.pop("", "")}
            parts["title"] = reading.one_line(parts.get("title", ""))
            yield from reading.checked(reading.DOCUMENT, parts, found | metadata, record.line)


@reading.topic_formats.register("trec", "xml", "sgml")
class TrecTopics:
    """Topics in TREC's SGML and XML."""

    summary = "TREC topics: <top> <num> <title> <desc> <narr>, or <topic number=…> <query>, or <DOC> <DOCNO>"
    suffixes = (".trec", ".xml", ".sgml", ".topics")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a tag that starts a topic."""
        return tag_pattern(*_TOPICS).search(head) is not None

    @staticmethod
    def read(source: Source) -> Iterator[Any]:
        """The topics and problems, record by record."""
        head = source.head()
        starts = {name: match.start() for name in _TOPICS if (match := tag_pattern(name).search(head))}
        # Only the first tag that can start a topic starts topics in this file.
        for record in _records(source, tag_pattern(min(starts, key=starts.__getitem__, default="top"))):
            if isinstance(record, Problem):
                yield record
                continue
            found, metadata = _sorted_out(open_fields(record.text), record.attributes, frozenset({""}), _LABEL)
            found.pop("head", None)
            parts = {"title": found.get("", ""), **_parts(found, TOPIC)}
            about = {TOPIC_LABELS.get(name, name): value.strip() for name, value in found.items() if name}
            yield from reading.checked(reading.TOPIC, parts, about | metadata, record.line)

    @staticmethod
    def write(topics: Iterable[Topic], stream: TextIO) -> None:
        """Write topics as TREC does: fields without end tags, with their labels; metadata as `<META NAME="…">`."""
        for topic in topics:
            title = f"Topic: {topic.title}" if _LABEL["title"].match(topic.title) else topic.title
            stream.write(f"<top>\n\n<num> Number: {escaped(topic.id)}\n<title> {escaped(title)}\n\n")
            if topic.description:
                stream.write(f"<desc> Description:\n{escaped(topic.description)}\n\n")
            if topic.narrative:
                stream.write(f"<narr> Narrative:\n{escaped(topic.narrative)}\n\n")
            for name, value in topic.metadata.items():
                quotable = escaped(name).replace('"', "&quot;")
                stream.write(f'<META NAME="{quotable}">{escaped(value)}</META>\n')
            stream.write("</top>\n\n")


class _Record(NamedTuple):
    """A record as text: the attributes of its start tag, and what stands between the tags."""

    line: int
    attributes: dict[str, str]
    text: str


def _records(source: Source, pattern: re.Pattern[bytes]) -> Iterator[_Record | Problem]:
    for found in elements(source, pattern):
        if isinstance(found, Problem):
            yield found
            continue
        whole, problems = reading.decoded(found.tag + found.body, found.line)
        yield from problems
        if not any(one.is_error for one in problems):
            tag, _, text = whole.partition(">")
            yield _Record(found.line, attributes(tag), without_specials(text))


def _sorted_out(
    fields: Iterable[Field], given: dict[str, str], text: frozenset[str], labels: Mapping[str, re.Pattern[str]] = {}
) -> tuple[dict[str, str], dict[str, str]]:
    """(Field values by name, text under the empty name; what `<META NAME="…">` says).

    A field loses the label that repeats its tag, as in `<num> Number: 101`.
    """
    found = {name: value for name, value in given.items() if value}
    metadata: dict[str, str] = {}
    for part in fields:
        label = labels[part.name].match(part.raw) if part.name in labels else None
        value = "" if part.name in DROPPED else plain(part.raw[label.end() :].lstrip() if label else part.raw)
        if not value:
            continue
        name, target = ("" if part.name in text else part.name), found
        if part.attributes:
            about = attributes(part.attributes)
            if name == "meta" and "name" in about:
                name, target = about["name"], metadata
            elif number := about.get("number"):
                value = f"{number}: {value.strip()}"
        if name in target:
            value = f"{target[name]}\n\n{value}" if not name else f"{target[name]}\n{value}"
        target[name] = value
    return found, metadata


def _parts(found: dict[str, str], schema: Schema) -> dict[str, str]:
    """Take the parts of a record out of its fields; what is left there is metadata."""
    return {part: found.pop(name).strip() for part, name in schema.roles(found).items()}
