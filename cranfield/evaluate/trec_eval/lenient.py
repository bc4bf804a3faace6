"""Files read exactly as forgivingly, and exactly as strictly, as trec_eval reads them."""

import numpy as np

from cranfield.evaluate.trec_eval.options import Refused, TrecOptions, whole_number
from cranfield.evaluate.trec_eval.parameters import real_number

Judged = dict[bytes, dict[bytes, int]]
Ranked = dict[bytes, list[tuple[bytes, float]]]

_QRELS_COLUMNS, _RUN_COLUMNS = 4, 6
_HIGHEST = int(np.iinfo(np.int32).max)


def lenient_qrels(data: bytes, options: TrecOptions) -> tuple[Judged, dict[bytes, str]]:
    """Give the grades of each topic, and what trec_eval says of topics that judge a document twice."""
    judged: Judged = {}
    broken: dict[bytes, str] = {}
    after_comment = False
    rows = 0
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
        grades[document] = _grade(grade)
    return judged, broken


def lenient_run(data: bytes, options: TrecOptions) -> tuple[Ranked, bytes]:
    """Give the ranking of each topic and the tag of the last line."""
    ranking: Ranked = {}
    run_id = b""
    rows = 0
    for line in _lines(data):
        words = line.split(None, _RUN_COLUMNS)
        if not words or (options.version == "10" and words[0].startswith(b"#")):
            continue
        rows += 1
        if len(words) < _RUN_COLUMNS:
            raise _malformed("results", rows, options.files[1])
        run_id = words[5]
        ranking.setdefault(words[0], []).append((words[2], _score(words[4], options)))
    for found in ranking.values():
        found.sort(key=lambda row: row[0], reverse=True)
        found.sort(key=lambda row: (row[1] != row[1], -row[1] if row[1] == row[1] else 0.0))
    return ranking, run_id


def _lines(data: bytes) -> list[bytes]:
    """Cut the file at line feeds, up to the first NUL, where a C string ends."""
    lines = data.partition(b"\0")[0].split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _grade(text: bytes) -> int:
    return max(-_HIGHEST, min(_HIGHEST, whole_number(text.decode("latin-1"))))


def _score(text: bytes, options: TrecOptions) -> float:
    score = real_number(text.decode("latin-1"))
    if options.version == "10":
        return score
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(score))


def _malformed(noun: str, row: int, name: str) -> Refused:
    """Say which row is malformed; comments and empty lines are not counted, as there."""
    text = f"trec_eval.get_{noun}: Malformed line {row}\ntrec_eval: Quit in file '{name}'\n"
    return Refused(text, 2)
