"""What a run is held against before it enters, and everything that is wrong with it, at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cranfield.base.errors import Problem, quoted
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.runs import metadata
from cranfield.runs.columns import Mask, Places, repeats
from cranfield.runs.reading import problem
from cranfield.runs.run import (
    NO_RANK,
    Order,
    Rows,
    Run,
    arranged,
    ranked,
    ranking,
    tie_groups,
    ties,
    ties_only_in_float32,
    within_topics,
)

with deferred:
    from pyarrow import compute as pc


# What there is to say about the order of a run: ties, and ranks that contradict the scores.


def order_problems(rows: Rows, *, order: Order) -> Iterator[Problem]:
    """Look at ranks and ties. Neither matters where the file's own order is meant.

    Rows without a usable score have no part in it, but the ranks that are meant must be there in all rows.
    """
    if order == "file":
        return
    if order == "rank":
        if rows.ranks is None:
            yield problem("no-ranks", "--order rank, but the file has no ranks")
        elif len(missing := np.flatnonzero(rows.ranks == NO_RANK)):
            text = f"--order rank, but {counted(len(missing), 'row has', 'rows have')} no usable rank"
            yield problem("no-ranks", text, lines=rows.lines.of(missing))
    scored = rows.scored
    contradicted, first = rank_conflicts(scored)
    if contradicted:
        topic = scored.topic_ids[int(scored.topics[first])].as_py()
        used = "scores are used" if order == "score" else "ranks are used"
        yield problem(
            "rank-disagrees",
            f"ranks contradict the scores in {counted(contradicted, 'topic')}, "
            f"first in topic {quoted(topic)}; the {used}",
            lines=scored.lines.of(np.array([first])),
            count=contradicted,
            topic=topic,
            remedy="" if order == "score" else "omit --order rank to use the scores",
        )
    if order != "score":
        return
    scores, offsets = scored.by_score.scores, scored.by_topic.offsets
    for code, find, words in (
        ("ties", ties, "with another document of the topic"),
        ("ties-in-32-bits", ties_only_in_float32, "only as 32-bit floats"),
    ):
        documents, topics = tie_groups(find(scores, offsets), offsets)
        if documents:
            many = f"{counted(documents, 'document')} in {counted(topics, 'topic')}"
            yield problem(code, f"{many} are tied {words}", count=documents)


def rank_conflicts(rows: Rows) -> tuple[int, int]:
    """The number of topics in which ranks contradict scores, and the first such row.

    Put in order of rank, the scores of a topic must not rise; where they do, the ranks contradict them. A topic in
    which a row has no usable rank is left out.
    """
    if rows.ranks is None or not len(rows):
        return 0, 0
    groups, by_score = rows.by_topic, rows.by_score.places
    ranks = arranged(rows.ranks, by_score)
    if not within_topics(ranks[1:] <= ranks[:-1], groups.offsets).any() and (ranks != NO_RANK).all():
        return 0, 0
    by_rank, scores = (found := ranking(rows, order="rank")).places, found.scores
    wrong = within_topics(scores[1:] > scores[:-1], groups.offsets)
    topic_of = np.repeat(np.arange(len(groups.topics)), np.diff(groups.offsets))
    usable = ~np.isin(topic_of, topic_of[arranged(rows.ranks, by_rank) == NO_RANK])
    wrong &= usable[1:]
    at = np.flatnonzero(wrong) + 1
    first = int((at if by_rank is None else by_rank[at]).min(initial=len(rows)))
    return len(np.unique(topic_of[at])), first


def _keys(rows: Rows) -> Places:
    """Topic and document of each row as one number."""
    return (rows.topics.astype(np.int64) << 32) | rows.documents


# Ids that are too long to be ids.

LONGEST_ID, LONGEST_TAG = 1000, 100
"""In characters. Ids are shown, typed and written on every line; what is longer is a text in the place of an id."""


def long_ids(rows: Rows) -> Iterator[Problem]:
    """Find topic and document ids that are too long, with all their lines."""
    for noun, ids, codes in (("topic", rows.topic_ids, rows.topics), ("document", rows.document_ids, rows.documents)):
        # Their bytes are counted first, since that is almost always enough.
        if (pc.max(pc.binary_length(ids)).as_py() or 0) <= LONGEST_ID:
            continue
        is_long = pc.greater(pc.utf8_length(ids), LONGEST_ID).to_numpy(zero_copy_only=False)
        if is_long.any():
            at, found = np.flatnonzero(is_long[codes]), ids.filter(pa.array(is_long)).to_pylist()
            many = f"{counted(len(found), f'{noun} id')} longer than {LONGEST_ID:,} characters"
            text = f"{many}: {quoted(found[0], limit=40)} has {len(found[0]):,}"
            yield problem("id-too-long", text, lines=rows.lines.of(at))


TAG_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}"
"""What a name may look like. NIST allows 25 letters, digits, - and _; this adds some, so that real names fit."""

KnownDocuments = Callable[[pa.Array], Mask]

_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Expectations:
    """What a collection expects of a run.

    `topics` are its topic ids, and `known_documents` tells which of some ids are in its corpus; None where it has
    none. `name` is what the run will be called if its tag is not to be used. A topic with more documents than
    `max_depth` gets an error.
    """

    topics: Collection[str] | None = None
    known_documents: KnownDocuments | None = None
    max_depth: int = 1000
    name: str | None = None
    order: Order = "score"


def check(rows: Rows, expectations: Expectations) -> list[Problem]:
    """Everything that is wrong with a run: errors (it is refused) first, then warnings (it is kept)."""
    problems = [*rows.problems, *_tag_problems(rows, expectations), *long_ids(rows)]
    problems += metadata.problems_of(rows.metadata, rows.name)
    if len(rows):
        problems += _topic_problems(rows, expectations)
        problems += repeat_problems(rows)
        problems += _unknown_documents(rows, expectations)
        problems += order_problems(rows, order=expectations.order)
    return sorted([found.at(rows.source.name) for found in problems], key=lambda found: found.severity)


def _tag_problems(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
    given = expectations.name is not None
    if len(rows.tags) > 1:
        shown = _shown([tag for tag, _ in rows.tags])
        yield problem(
            "several-tags",
            f"the rows have {counted(len(rows.tags), 'tag')}: {shown}",
            lines=[line for _, line in rows.tags[1:]],
            count=len(rows.tags),
            severity="warning" if given else None,
            remedy="the name from the command line is used; check that all rows belong to one run" if given else "",
        )
    for tag, line in rows.tags[not given :]:
        if len(tag) > LONGEST_TAG:
            yield problem("id-too-long", f"the tag {quoted(tag, limit=40)} has {len(tag):,} characters", lines=[line])
    if not (given or rows.tags or len(rows)):
        return
    # What the run will be called: its first tag, else a name that was given or is the file's.
    is_tag = bool(rows.tags) and not given
    name = rows.name if expectations.name is None else expectations.name
    if not re.fullmatch(TAG_PATTERN, name):
        remedy = "rename the file, or pass a name (letters, digits and . _ + -, at most 100 characters)"
        lines = [rows.tags[0][1]] if is_tag else []
        message = f"{quoted(name)} is not a valid run name"
        yield problem("bad-tag", message, lines=lines, remedy="" if is_tag else remedy)


def _topic_problems(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
    here = rows.topic_ids.to_pylist()
    known = set(here if expectations.topics is None else expectations.topics)
    if unknown := [code for code, topic in enumerate(here) if topic not in known]:
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
    if missing := sorted(known.difference(here)):
        yield problem(
            "missing-topic",
            f"{counted(len(missing), 'topic')} of the collection without rows: {_shown(missing)}",
            count=len(missing),
            topic=missing[0],
        )
    groups, limit = rows.by_topic, expectations.max_depth
    counts = np.diff(groups.offsets)
    if len(topics := np.flatnonzero(counts > limit)):
        topic = str(rows.topic_ids[int(groups.topics[np.argmax(counts)])].as_py())
        most = f"the most {counts.max():,} in topic {quoted(topic)}"
        at = groups.offsets[topics] + limit
        yield problem(
            "too-many-documents",
            f"{counted(len(topics), 'topic')} with more than {counted(limit, 'document')}, {most}",
            lines=np.sort(rows.lines.of(at if groups.rows is None else groups.rows[at])),
            count=len(topics),
            topic=topic,
        )


def repeat_problems(rows: Rows) -> Iterator[Problem]:
    """Find documents that stand more than once in a topic."""
    again = repeats(_keys(rows))
    if len(again):
        document = rows.document_ids[int(rows.documents[again[0]])].as_py()
        topic = rows.topic_ids[int(rows.topics[again[0]])].as_py()
        topics = len(np.unique(rows.topics[again]))
        several = not rows.tags and 1 < topics == len(rows.topic_ids)
        yield problem(
            "several-runs" if several else "repeated-document",
            f"{counted(len(again), 'row')} in {counted(topics, 'topic')} "
            f"{'repeats' if len(again) == 1 else 'repeat'} a document, "
            f"the first is {quoted(document)} in topic {quoted(topic)}"
            f"{'; the file names no run, and seems to hold several' if several else ''}",
            lines=rows.lines.of(again),
            topic=topic,
        )


def _unknown_documents(rows: Rows, expectations: Expectations) -> Iterator[Problem]:
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
        )


def _shown(names: list[str]) -> str:
    shown = ", ".join(quoted(name, limit=40) for name in names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown}, …"


# Mending what has one right answer.


def by_hand_first(problems: Sequence[Problem]) -> list[str]:
    """What keeps a file from being mended, and what would be mended after that; nothing where nothing does."""
    by_hand = [found.code for found in problems if found.is_error and not found.repairable]
    if not by_hand:
        return []
    sentences = [f"no corrected copy was written; fix by hand first: {', '.join(dict.fromkeys(by_hand))}"]
    if mended := dict.fromkeys(found.code for found in problems if found.repairable):
        sentences.append(f"--repair then fixes the rest: {', '.join(mended)}")
    return sentences


def repair(
    rows: Rows, problems: Sequence[Problem], *, name: str, order: Order = "score", max_depth: int = 1000
) -> tuple[Run | None, list[str]]:
    """The run as it should be, called `name`, and sentences that say what was done.

    Lines with too few columns are gone already, and surplus columns too: the reader leaves them out. Rows with a
    field missing go, and rows whose score is NaN sink below all others of their topic. Of a repeated document the row
    that ranks best stays; after that, each topic keeps its best `max_depth` documents. Where something has to be
    mended by hand first, or no row would be left, there is no run, and the sentences say why.
    """
    by_hand = by_hand_first(problems)
    if by_hand:
        return None, by_hand
    mended = {
        "too-few-columns": ("dropped", "line", "with too few columns"),
        "too-many-columns": ("dropped the extra columns of", "line", ""),
        "missing-field": ("dropped", "row", "with a missing field"),
        "score-nan": ("sank", "row", "with a NaN score below all others of the topic, in the order of the file"),
    }
    told = [(mended[found.code], found.count) for found in problems if found.code in mended]
    done = [f"{what} {counted(count, noun)} {why}".rstrip() for (what, noun, why), count in told]
    codes = {found.code for found in problems}
    if {"score-nan", "missing-field"} <= codes:  # both are NaN in the rows
        return None, ["no corrected copy was written; fix by hand first: missing-field, as some scores are NaN"]
    rows = _sunk(rows) if "score-nan" in codes else rows.scored
    if not np.isfinite(rows.scores).all():
        return None, ["no corrected copy was written: there is no score below the lowest of a topic"]
    best = arranged(np.arange(len(rows)), ranking(rows, order=order).places)
    kept = best[np.sort(np.unique(_keys(rows)[best], return_index=True)[1])]
    if repeats := len(best) - len(kept):
        done.append(f"dropped {counted(repeats, 'row')} that repeated a document; the best-ranked row is kept")
    starts = np.flatnonzero(np.diff(rows.topics[kept], prepend=-1))
    place = np.arange(len(kept)) - np.repeat(starts, np.diff(starts, append=len(kept)))  # in its topic
    if deep := int(np.count_nonzero(place >= max_depth)):
        done.append(f"dropped {counted(deep, 'row')} beyond rank {max_depth:,} of a topic")
    if not len(rows):
        return None, ["no corrected copy was written: it would have no rows"]
    rows = rows.only(np.sort(kept[place < max_depth]))
    return replace(ranked(rows, order=order), tag=name), done


def _sunk(rows: Rows) -> Rows:
    """The rows with NaN replaced by scores below all others of the topic, which fall in the order of the file.

    The steps are wide enough to be told apart as 32-bit floats too.
    """
    lost = np.flatnonzero(np.isnan(rows.scores))
    lowest = np.full(len(rows.topic_ids), np.inf)
    np.fmin.at(lowest, rows.topics, rows.scores)
    lowest[np.isinf(lowest)] = 0.0
    order = lost[np.argsort(rows.topics[lost], kind="stable")]
    topics = rows.topics[order]
    place = np.arange(1, len(order) + 1) - np.searchsorted(topics, topics)
    scores = rows.scores.copy()
    with np.errstate(over="ignore"):
        scores[order] = lowest[topics] - place * np.maximum(1.0, np.abs(lowest[topics]) * 1e-6)
    return replace(rows, scores=scores, problems=())
