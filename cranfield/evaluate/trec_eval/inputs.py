"""Qrels and run files as trec_eval takes them, aligned.

Ordinary files take the fast way of the strict readers. Whatever those find unusual is read again as trec_eval does
it (`lenient`): text that is no number is 0, more than six columns are fine, a blank line in qrels is not.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError
from cranfield.base.files import Source
from cranfield.evaluate.align import AnyRun, align, first_repeat
from cranfield.evaluate.direct import judged_pairs, read_direct
from cranfield.evaluate.lists import NOT_POOLED, Lists
from cranfield.evaluate.trec_eval.options import Judged, Ranked, Refused, TrecOptions, lenient_qrels, lenient_run
from cranfield.qrels.formats.trec import read as read_qrels_rows
from cranfield.qrels.qrels import Qrels
from cranfield.runs.formats.trec import read as read_run_rows
from cranfield.runs.order import ranked
from cranfield.runs.run import Run

_UNUSUAL_BEGINNINGS = (b"\xef\xbb\xbf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_HARMLESS = frozenset({"not-q0", "rank-not-an-integer"})


@dataclass(frozen=True, eq=False)
class TrecInput:
    """Both files, aligned: one list per qrels topic, in byte order of the topics.

    `present` says which topics the run has, `judged_relevant` how many grades are above 0, and `broken` which topics
    cannot be calculated and what trec_eval says then.
    """

    topics: tuple[bytes, ...]
    lists: Lists
    present: NDArray[np.bool_]
    run_id: bytes
    judged_relevant: int
    broken: dict[int, str] = field(default_factory=dict)


def read_input(options: TrecOptions) -> TrecInput:
    """Read and align both files; a file that trec_eval refuses raises `Refused`."""
    qrels_file = Path(options.files[0])
    _look_at(qrels_file, options.files[0], noun="qrels")
    with _run_file(options) as run_file:
        qrels = _strict_qrels(qrels_file)
        run = None if qrels is None else _strict_run(run_file, qrels, options)
        if qrels is not None and run is not None:
            return _from_strict(qrels, run, options)
        judged, broken = lenient_qrels(qrels_file.read_bytes(), options)
        ranking, run_id = lenient_run(run_file.read_bytes(), options)
    return _from_lenient(judged, ranking, run_id, broken, options)


@contextmanager
def _run_file(options: TrecOptions) -> Iterator[Path]:
    """Give the run file; version 10 reads standard input where the name is -."""
    name = options.files[1]
    if name != "-" or options.version == "9":
        _look_at(Path(name), name, noun="results")
        yield Path(name)
        return
    with tempfile.NamedTemporaryFile(prefix="cranfield-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name)


def _look_at(path: Path, name: str, *, noun: str) -> None:
    try:
        if path.stat().st_size:
            with path.open("rb"):
                return
    except OSError:
        pass
    raise Refused(f"trec_eval.get_{noun}: Cannot read {noun} file '{name}'\ntrec_eval: Quit in file '{name}'\n", 2)


def _strict_qrels(path: Path) -> Qrels | None:
    """Give the qrels of an ordinary file; None where trec_eval may take it otherwise than we do."""
    if _begins_unusually(path):
        return None
    try:
        rows = read_qrels_rows(Source(path))
        return rows.qrels() if rows.plain and rows.strata is None else None
    except CranfieldError:
        return None


def _strict_run(path: Path, qrels: Qrels, options: TrecOptions) -> AnyRun | None:
    """Give the run of an ordinary file; None where trec_eval may take it otherwise than we do."""
    if _begins_unusually(path):
        return None
    judged = judged_pairs(qrels)
    direct = None if judged is None else read_direct(Source(path), judged, reference=options.version)
    if direct is not None and not any(topic.startswith("#") for topic in direct.topic_ids.to_pylist()):
        return replace(direct, tag=direct.last_tag)
    return _run_in_full(path)


def _run_in_full(path: Path) -> Run | None:
    try:
        rows = read_run_rows(Source(path))
    except CranfieldError:
        return None
    usual = len(rows.tags) == 1 and {problem.code for problem in rows.problems} <= _HARMLESS
    if not usual or any(topic.startswith("#") for topic in rows.topic_ids.to_pylist()):
        return None
    run = ranked(rows)
    return None if first_repeat(run) else run


def _begins_unusually(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(6).startswith(_UNUSUAL_BEGINNINGS)


def _from_strict(qrels: Qrels, run: AnyRun, options: TrecOptions) -> TrecInput:
    aligned = align(qrels, [run], reference=options.version)
    return TrecInput(
        topics=tuple(topic.encode() for topic in aligned.topic_ids),
        lists=_cut(aligned.lists, options),
        present=aligned.present[0],
        run_id=run.tag.encode(),
        judged_relevant=int((qrels.grades > 0).sum()),
    )


def _from_lenient(
    judged: Judged, ranking: Ranked, run_id: bytes, broken: dict[bytes, str], options: TrecOptions
) -> TrecInput:
    topics = sorted(judged)
    grades = [
        [judged[topic].get(document, int(NOT_POOLED)) for document, _ in ranking.get(topic, [])] for topic in topics
    ]
    levels = np.unique([grade for found in judged.values() for grade in found.values() if grade >= 0]).astype(
        np.int32
    )
    counts = np.array(
        [np.bincount(np.searchsorted(levels, _from_zero(judged[topic])), minlength=len(levels)) for topic in topics]
    )
    lists = Lists(
        grades=np.array([grade for found in grades for grade in found], dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum([len(found) for found in grades], dtype=np.int64)]),
        topics=np.arange(len(topics)),
        levels=levels,
        level_counts=counts.reshape(len(topics), len(levels)),
    )
    twice = {**_repeats(ranking, options), **{topic: text for topic, text in broken.items() if topic in judged}}
    return TrecInput(
        topics=tuple(topics),
        lists=_cut(lists, options),
        present=np.array([topic in ranking for topic in topics]),
        run_id=run_id,
        judged_relevant=sum(grade > 0 for found in judged.values() for grade in found.values()),
        broken={place: twice[topic] for place, topic in enumerate(topics) if topic in twice},
    )


def _from_zero(found: dict[bytes, int]) -> list[int]:
    return [grade for grade in found.values() if grade >= 0]


def _repeats(ranking: Ranked, options: TrecOptions) -> dict[bytes, str]:
    """Find documents that stand twice among the first ranks of a topic: trec_eval stops there, and only there."""
    found = {}
    for topic, rows in ranking.items():
        documents = sorted(document for document, _ in rows[: options.depth])
        for one, next_one in pairwise(documents):
            if one == next_one:
                found[topic] = f"trec_eval.form_res_qrels: duplicate docs {one.decode('utf-8', 'replace')}"
                break
    return found


def _cut(lists: Lists, options: TrecOptions) -> Lists:
    """Cut the lists at the greatest depth, then take out what is not judged: in this order."""
    lists = lists if options.depth is None else lists.cut(max(options.depth, 0))
    return lists.condensed if options.judged_only else lists
