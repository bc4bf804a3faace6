"""Scores of many or large runs: read, aligned and scored some at a time, by all workers.

Of each run only its scores are kept, so that memory does not grow with the runs. Verdicts need the lists of all runs
at once, and are not made here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from cranfield.base.errors import Problem, ProblemsFound
from cranfield.base.files import HERE, Progress, Source
from cranfield.base.places import located
from cranfield.evaluate import direct, reading, ties
from cranfield.evaluate.align import AnyRun
from cranfield.evaluate.measure import AnyMeasure, Measure
from cranfield.evaluate.reading import Request, Tag
from cranfield.evaluate.scores import Scores
from cranfield.evaluate.ties import TiedScores
from cranfield.qrels.qrels import Qrels

VERDICTS = 1.5
"""How many bytes of memory verdicts take for each byte of text."""

ROWS_AT_ONCE = 1 << 20
"""How many rows are aligned and scored together; a longer run alone."""


@dataclass(frozen=True)
class _Piece:
    """The runs of a piece, None where one cannot be read; their scores, and which are of another collection."""

    runs: list[Tag | None]
    found: list[TiedScores]
    strange: list[Problem]


def pieces_of(request: Request, measures: Sequence[AnyMeasure]) -> list[list[str]]:
    """The files of a request in pieces of some size; none where it is small, or its scores need all runs at once."""
    words = [word for word in request.runs if isinstance(word, str) and located(word).is_file()]
    is_alone = len(words) == len(request.runs) and request.collection is None
    is_plain = request.duplicates == "plain" and request.topics != "common" and request.ties != "expected"
    is_piped = isinstance(request.qrels, Path) and Source(request.qrels).is_piped
    if is_piped or not (is_alone and is_plain and all(isinstance(one, Measure) for one in measures)):
        return []
    return reading.in_pieces(words)


def plain_qrels(request: Request) -> Qrels | None:
    """The qrels, if they are no sample and nothing is wrong with them."""
    qrels = reading.collected(partial(reading.read_qrels, request.qrels), [])
    return None if qrels is None or qrels.strata is not None else qrels


def exceed_memory(pieces: Sequence[Sequence[str]]) -> bool:
    """Whether the lists of all runs would take more than half of the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return VERDICTS * len(pieces) * reading.READ_AT_ONCE > memory / 2


def score_in_pieces(
    request: Request, measures: Sequence[AnyMeasure], pieces: Sequence[list[str]], qrels: Qrels, progress: Progress
) -> tuple[TiedScores, list[Tag]]:
    """Score the runs of a request, or raise everything that is wrong with any of them."""
    plain = replace(request, qrels=qrels, runs=(), topics=request.topic_set(), notes=(), workers=HERE)
    shared = plain, tuple(measures), direct.judged_pairs(qrels)
    tags, found, problems, strange = list[Tag | None](), list[TiedScores](), list[Problem](), list[Problem]()
    for piece, done in zip(pieces, request.workers.map(_scored, pieces, shared), strict=True):
        for word, run in zip(piece, done.runs, strict=True):
            if run is None:  # read again, where it is said what is wrong with it
                reading.collected(partial(reading.read_file, Source(located(word)), shared[2]), problems)
        tags += done.runs
        found += done.found
        strange += done.strange
        progress("scoring runs", len(tags), len(request.runs))
    if problems:
        raise reading.refused(problems, request)
    if strange:
        raise ProblemsFound("are these runs of another collection?", strange)
    named = reading.named_apart([run for run in tags if run is not None], request.runs)
    return _joined(found, [run.tag for run in named]), named


def _scored(
    words: Sequence[str], shared: tuple[Request, tuple[AnyMeasure, ...], direct.JudgedPairs | None]
) -> _Piece:
    """Read and score some files; as many rows at once as memory is meant to hold."""
    request, measures, pairs = shared
    done, waiting, rows = _Piece([], [], []), list[AnyRun](), 0
    for place, word in enumerate(words, start=1):
        source = Source(located(word))
        run = reading.collected(partial(reading.read_file, source, pairs), [])
        done.runs.append(None if run is None else Tag(run.tag, run.other_tags))
        if run is not None:
            is_new = run.tag and run.tag not in {one.tag for one in waiting}
            waiting.append(run if is_new else reading.renamed(run, source.name))
            rows += int(run.offsets[-1])
        if waiting and (rows >= ROWS_AT_ONCE or place == len(words)):
            try:
                aligned = reading.align_runs(request, request.qrels, waiting)  # type: ignore[arg-type]
                done.found.append(ties.score_with_ties(aligned, measures, request.ties, seed=0))
            except ProblemsFound as error:
                done.strange.extend(error.problems)
            waiting, rows = [], 0
    return done


def _joined(parts: Sequence[TiedScores], names: Sequence[str]) -> TiedScores:
    """The scores of all pieces, with the names that the runs have among all of them."""
    moved, first = list[ties.Moved](), 0
    for one in parts:
        own = dict(zip(one.scores.run_names, names[first:], strict=False))
        moved += [replace(each, run=own[each.run]) for each in one.moved]
        first += len(own)
    scores: Scores = replace(
        parts[0].scores,
        run_names=tuple(names),
        values=np.concatenate([one.scores.values for one in parts], axis=1),
        scored=np.concatenate([one.scores.scored for one in parts]),
        counts=tuple(count for one in parts for count in one.scores.counts),
    )
    return TiedScores(scores, tuple(moved))
