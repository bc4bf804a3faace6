"""Qrels and run files as trec_eval takes them, aligned.

Ordinary files take the fast way of the strict readers. Whatever those find unusual is read again exactly as
forgivingly, and as strictly, as trec_eval does it: text that is no number is 0, more than six columns are fine, a
blank line in qrels is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from cranfield.base.errors import CranfieldError
from cranfield.base.files import Source
from cranfield.evaluate.align import AnyRun, Reference, align
from cranfield.evaluate.direct import judged_pairs, read_direct
from cranfield.evaluate.lists import NOT_POOLED, Lists
from cranfield.evaluate.trec_eval.options import Refused, TrecOptions, real_number, whole_number
from cranfield.qrels.formats.trec import Trec
from cranfield.qrels.qrels import Qrels
from cranfield.runs import check
from cranfield.runs.columns import Mask, running_sum
from cranfield.runs.formats import trec as run_format
from cranfield.runs.run import ranked

Judged = dict[bytes, dict[bytes, int]]
Ranked = dict[bytes, list[tuple[bytes, float]]]

_UNUSUAL_BEGINNINGS = (b"\xef\xbb\xbf", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_HARMLESS = frozenset({"rank-not-an-integer"})
_QRELS_COLUMNS, _RUN_COLUMNS = 4, 6
_HIGHEST = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, eq=False)
class TrecInput:
    """Both files, aligned: one list per qrels topic, in byte order of the topics.

    `present` says which topics the run has, `judged_relevant` how many grades are above 0, and `broken` which topics
    cannot be calculated and what trec_eval says then.
    """

    topics: tuple[bytes, ...]
    lists: Lists
    present: Mask
    run_id: bytes
    judged_relevant: int
    broken: dict[int, str] = field(default_factory=dict)


def read_input(options: TrecOptions) -> TrecInput:
    """Read and align both files; a file that trec_eval refuses raises `Refused`."""
    qrels_file, standard_input = _readable(options.files[0], noun="qrels"), Source(Path("-"))
    is_piped = options.files[1] == "-" and options.version == "10"
    run_file = standard_input.spooled if is_piped else _readable(options.files[1], noun="results")
    read = _read_strictly(qrels_file, run_file, options.version)
    if read is None:
        found = _read_leniently(qrels_file.read_bytes(), run_file.read_bytes(), options)
    else:
        qrels, run = read
        aligned = align(qrels, [run], reference=options.version)
        topics, relevant = tuple(topic.encode() for topic in aligned.topic_ids), int((qrels.grades > 0).sum())
        found = TrecInput(topics, aligned.lists, aligned.present[0], run.tag.encode(), relevant)
    # Lists are cut at the greatest depth, then what is not judged is taken out: in this order.
    lists = found.lists if options.depth is None else found.lists.cut(max(options.depth, 0))
    return replace(found, lists=lists.condensed if options.judged_only else lists)


def _readable(name: str, *, noun: str) -> Path:
    path = Path(name)
    try:
        if path.stat().st_size:
            with path.open("rb"):
                return path
    except OSError:
        pass
    raise Refused(f"trec_eval.get_{noun}: Cannot read {noun} file '{name}'\ntrec_eval: Quit in file '{name}'\n", 2)


def _read_strictly(qrels_file: Path, run_file: Path, version: Reference) -> tuple[Qrels, AnyRun] | None:
    """Read ordinary files; None where trec_eval may take one of them otherwise than we do."""
    for path in (qrels_file, run_file):
        with path.open("rb") as stream:
            if stream.read(6).startswith(_UNUSUAL_BEGINNINGS):
                return None
    try:
        judged = Trec.read(Source(qrels_file))
        if not judged.plain or judged.strata is not None:
            return None
        qrels = judged.qrels(str(qrels_file))
        pairs = judged_pairs(qrels)
        direct = None if pairs is None else read_direct(Source(run_file), pairs, reference=version)
        if direct is not None and not any(topic.startswith("#") for topic in direct.topic_ids.to_pylist()):
            return qrels, replace(direct, tag=direct.last_tag)
        rows = run_format.Trec.read(Source(run_file))
    except CranfieldError:
        return None
    usual = len(rows.tags) == 1 and {problem.code for problem in rows.problems} <= _HARMLESS
    if not usual or any(topic.startswith("#") for topic in rows.topic_ids.to_pylist()):
        return None
    return None if any(check.repeat_problems(rows)) else (qrels, ranked(rows))


def _read_leniently(qrels_data: bytes, run_data: bytes, options: TrecOptions) -> TrecInput:
    judged, broken = _lenient_qrels(qrels_data, options)
    ranking, run_id = _lenient_run(run_data, options)
    topics = sorted(judged)
    grades = [
        [judged[topic].get(document, int(NOT_POOLED)) for document, _ in ranking.get(topic, [])] for topic in topics
    ]
    known = [[grade for grade in judged[topic].values() if grade >= 0] for topic in topics]
    levels = np.unique([grade for found in known for grade in found]).astype(np.int32)
    counts = np.array([np.bincount(np.searchsorted(levels, found), minlength=len(levels)) for found in known])
    lists = Lists(
        grades=np.array([grade for found in grades for grade in found], dtype=np.int32),
        offsets=running_sum([len(found) for found in grades]),
        topics=np.arange(len(topics)),
        levels=levels,
        level_counts=counts.reshape(len(topics), len(levels)),
    )
    for topic, rows in ranking.items():
        # A document that stands twice among the first ranks of a topic: trec_eval stops there, and only there.
        documents = sorted(document for document, _ in rows[: options.depth])
        twice = next((one for one, after in pairwise(documents) if one == after), None)
        if twice is not None and topic not in broken:
            broken[topic] = f"trec_eval.form_res_qrels: duplicate docs {twice.decode('utf-8', 'replace')}"
    return TrecInput(
        topics=tuple(topics),
        lists=lists,
        present=np.array([topic in ranking for topic in topics]),
        run_id=run_id,
        judged_relevant=sum(grade > 0 for found in known for grade in found),
        broken={place: broken[topic] for place, topic in enumerate(topics) if topic in broken},
    )


def _lenient_qrels(data: bytes, options: TrecOptions) -> tuple[Judged, dict[bytes, str]]:
    """The grades of each topic, and what trec_eval says of topics that judge a document twice."""
    judged: Judged = {}
    broken: dict[bytes, str] = {}
    after_comment, rows = False, 0
    for line in _lines(data):
        # Version 10 looks for a comment once per row, so that a second comment in a row is taken for a row.
        if options.version == "10" and line.startswith(b"#") and not after_comment:
            after_comment = True
            continue
        after_comment = False
        words = line.split()
        rows += 1
        if len(words) != _QRELS_COLUMNS:
            raise _malformed("qrels", rows, options.files[0])
        topic, _, document, grade = words
        grades = judged.setdefault(topic, {})
        if document in grades:
            shown = document.decode("utf-8", "replace")
            broken.setdefault(topic, f"trec_eval.form_res_rels: duplicate docs {shown}\n")
        grades[document] = max(-_HIGHEST, min(_HIGHEST, whole_number(grade.decode("latin-1"))))
    return judged, broken


def _lenient_run(data: bytes, options: TrecOptions) -> tuple[Ranked, bytes]:
    """The ranking of each topic and the tag of the last line."""
    ranking: Ranked = {}
    run_id, rows = b"", 0
    for line in _lines(data):
        words = line.split(None, _RUN_COLUMNS)
        if not words or (options.version == "10" and words[0].startswith(b"#")):
            continue
        rows += 1
        if len(words) < _RUN_COLUMNS:
            raise _malformed("results", rows, options.files[1])
        run_id, score = words[5], real_number(words[4].decode("latin-1"))
        if options.version == "9":
            with np.errstate(over="ignore", under="ignore"):
                score = float(np.float32(score))
        ranking.setdefault(words[0], []).append((words[2], score))
    for found in ranking.values():
        found.sort(key=lambda row: row[0], reverse=True)
        found.sort(key=lambda row: (row[1] != row[1], -row[1] if row[1] == row[1] else 0.0))
    return ranking, run_id


def _lines(data: bytes) -> list[bytes]:
    """Cut the file at line feeds, up to the first NUL, where a C string ends."""
    lines = data.partition(b"\0")[0].split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _malformed(noun: str, row: int, name: str) -> Refused:
    """Which row is malformed; comments and empty lines are not counted, as there."""
    return Refused(f"trec_eval.get_{noun}: Malformed line {row}\ntrec_eval: Quit in file '{name}'\n", 2)
