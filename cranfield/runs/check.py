"""What a run is held against before it enters, and everything that is wrong with it, at once."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.errors import Problem, quoted
from cranfield.runs.lengths import long_ids, long_tags
from cranfield.runs.order import Groups
from cranfield.runs.order_checks import order_problems
from cranfield.runs.problems import problem
from cranfield.runs.repeats import repeated_rows
from cranfield.runs.run import Order, Places, Rows
from cranfield.text import counted

TAG_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}"
"""What a name may look like. NIST allows 25 letters, digits, - and _; this adds some, so that real names fit."""

KnownDocuments = Callable[[pa.Array], NDArray[np.bool_]]

_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Expectations:
    """What a collection expects of a run.

    `topics` are its topic ids, and `known_documents` tells which of some ids are in its corpus; None where it has
    none. `name` is what the run will be called if its tag is not to be used. A topic with fewer documents than
    `min_depth` gets a warning, one with more than `max_depth` an error.
    """

    topics: Collection[str] | None = None
    known_documents: KnownDocuments | None = None
    max_depth: int = 1000
    min_depth: int = 1
    taken_tags: Collection[str] = field(default_factory=frozenset)
    tag_pattern: str = TAG_PATTERN
    name: str | None = None
    order: Order = "score"


def check(rows: Rows, expectations: Expectations) -> list[Problem]:
    """Give everything that is wrong with a run: errors (it is refused) first, then warnings (it is kept)."""
    problems = [*rows.problems, *_tag_problems(rows, expectations), *long_ids(rows)]
    if len(rows):
        problems += _topic_problems(rows, expectations)
        problems += _depth_problems(rows, expectations)
        problems += _document_problems(rows, expectations)
        problems += order_problems(rows, order=expectations.order)
    placed = [found.at(rows.source_name) for found in problems]
    return sorted(placed, key=lambda found: found.severity)


def _tag_problems(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
    given = expectations.name is not None
    if len(rows.tags) > 1:
        shown = _shown([tag for tag, _ in rows.tags])
        yield problem(
            "several-tags",
            f"the rows carry {counted(len(rows.tags), 'tag')}: {shown}",
            lines=[line for _, line in rows.tags[1:]],
            count=len(rows.tags),
            severity="warning" if given else None,
            remedy="the name that was given is used; make sure that all rows are of one run" if given else "",
        )
    yield from long_tags(rows.tags if given else rows.tags[1:])
    if given or rows.tags or len(rows):
        yield from _name_problems(rows, expectations)


def _name_problems(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
    """Look at what the run will be called: its first tag, else a name that was given or is the file's."""
    is_tag = bool(rows.tags) and expectations.name is None
    name = rows.name if expectations.name is None else expectations.name
    lines = [rows.tags[0][1]] if is_tag else []
    if not re.fullmatch(expectations.tag_pattern, name):
        remedy = "" if is_tag else "rename the file, or give a name of letters, digits and . _ + -, at most 100"
        yield problem("bad-tag", f"{quoted(name)} cannot be the name of a run", lines=lines, remedy=remedy)
    if name in expectations.taken_tags:
        remedy = "" if is_tag else "rename the file, or give another name"
        yield problem("taken-tag", f"a run called {quoted(name)} is already there", lines=lines, remedy=remedy)


def _topic_problems(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
    if expectations.topics is None:
        return
    known, here = set(expectations.topics), rows.topic_ids.to_pylist()
    unknown = [code for code, topic in enumerate(here) if topic not in known]
    if unknown:
        at = np.flatnonzero(np.isin(rows.topics, unknown))
        firsts = np.unique(rows.topics[at], return_index=True)[1]
        yield problem(
            "unknown-topic",
            f"{counted(len(unknown), 'topic')} ({counted(len(at), 'row')}) not in the collection: "
            f"{_shown([here[code] for code in unknown])}",
            lines=rows.lines.of(np.sort(at[firsts])),
            count=len(unknown),
            topic=here[unknown[0]],
        )
    missing = sorted(known.difference(here))
    if missing:
        yield problem(
            "missing-topic",
            f"{counted(len(missing), 'topic')} of the collection without a row: {_shown(missing)}",
            count=len(missing),
            topic=missing[0],
        )


def _depth_problems(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
    groups = rows.by_topic
    counts = np.diff(groups.offsets)
    few = np.flatnonzero(counts < expectations.min_depth)
    if len(few):
        worst = _topic(rows, groups, few[np.argmin(counts[few])])
        yield problem(
            "too-few-documents",
            f"{counted(len(few), 'topic')} with fewer than {counted(expectations.min_depth, 'document')}, "
            f"the fewest {counts.min()} in topic {quoted(worst)}",
            lines=np.sort(rows.lines.of(_row_at(groups, few, 0))),
            count=len(few),
            topic=worst,
        )
    many = np.flatnonzero(counts > expectations.max_depth)
    if len(many):
        worst = _topic(rows, groups, many[np.argmax(counts[many])])
        yield problem(
            "too-many-documents",
            f"{counted(len(many), 'topic')} with more than {counted(expectations.max_depth, 'document')}, "
            f"the most {counts.max():,} in topic {quoted(worst)}",
            lines=np.sort(rows.lines.of(_row_at(groups, many, expectations.max_depth))),
            count=len(many),
            topic=worst,
        )


def repeat_problems(rows: Rows) -> Iterator[Problem]:
    """Find documents that stand more than once in a topic."""
    repeats = repeated_rows(rows)
    if len(repeats):
        document = rows.document_ids[int(rows.documents[repeats[0]])].as_py()
        topic = rows.topic_ids[int(rows.topics[repeats[0]])].as_py()
        topics = len(np.unique(rows.topics[repeats]))
        yield problem(
            "repeated-document",
            f"{counted(len(repeats), 'row')} in {counted(topics, 'topic')} "
            f"{'repeats' if len(repeats) == 1 else 'repeat'} a document, "
            f"the first is {quoted(document)} in topic {quoted(topic)}",
            lines=rows.lines.of(repeats),
            count=len(repeats),
            topic=topic,
        )


def _document_problems(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
    yield from repeat_problems(rows)
    if expectations.known_documents is None:
        return
    unknown = ~expectations.known_documents(rows.document_ids)
    if unknown.any():
        at = np.flatnonzero(unknown[rows.documents])
        names = rows.document_ids.filter(pa.array(unknown)).slice(0, _NAMES_SHOWN + 1).to_pylist()
        distinct = int(np.count_nonzero(unknown))
        yield problem(
            "unknown-document",
            f"{counted(distinct, 'document')} ({counted(len(at), 'row')}) not in the corpus: {_shown(names)}",
            lines=rows.lines.of(at),
            count=len(at),
        )


def _row_at(groups: Groups, topics: Places, place: int) -> Places:
    at = groups.offsets[topics] + place
    return at if groups.rows is None else groups.rows[at]


def _topic(rows: Rows, groups: Groups, place: np.integer) -> str:
    return str(rows.topic_ids[int(groups.topics[place])].as_py())


def _shown(names: list[str]) -> str:
    shown = ", ".join(quoted(name, limit=40) for name in names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown}, …"
