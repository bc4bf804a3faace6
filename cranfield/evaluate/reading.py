"""The request of an evaluation, and how it is read: qrels and runs from files, a collection, or Python.

The errors of all files are reported together.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, cast

import numpy as np

from cranfield.base.errors import CranfieldError, Problem, ProblemsFound, SourceError, UsageError, quoted
from cranfield.base.files import Progress, Source, located, reading_threads, silent
from cranfield.base.records import BINARY, GradeScale
from cranfield.base.spread import HERE, WORTH, Workers
from cranfield.base.text import counted, few
from cranfield.evaluate import align, direct
from cranfield.evaluate.align import Alignment, AnyRun, RunStore, StoredRuns
from cranfield.evaluate.measure import AnyMeasure, Measure
from cranfield.evaluate.scores import ALL, Moved, Scores, TiedScores, score_with_ties
from cranfield.qrels import reading as qrels_reading
from cranfield.qrels.qrels import Qrels
from cranfield.runs import check
from cranfield.runs import reading as runs_reading
from cranfield.runs import run as runs_run
from cranfield.runs.run import Run

Ties = Literal["trec", "best", "worst", "expected"]
Duplicates = Literal["plain", "novelty"]

TOPIC_SETS = ("qrels", "common", "run")
THREADS = 2
READ_AT_ONCE = 1 << 25
"""Files of 32 MB together are one piece of work for another process, about a tenth of a second."""
MANY = 4 * WORTH
"""Fewer such pieces are not worth waiting until processes have begun, or a cluster answers."""
SIZE_ELSEWHERE = 1 << 24
"""What a file counts as whose size is not known here: one of a URL, or a run of a folder."""
PACKED = 4
"""How many bytes of text a byte of a Parquet set stands for, about."""
_NAMES_SHOWN = 5
Made = TypeVar("Made")
Tagged = TypeVar("Tagged", bound="AnyRun | Tag")

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be evaluated: runs by stored names or files, against a file of qrels; either may be in memory.

    `topics` is qrels, common, run, or a file of ids, or the ids themselves. With novelty, near-duplicates of a
    document above count as not relevant; `clusters` says which those are: document -> cluster. `notes` are what every
    result should say about its runs: those that were left out. `workers` do what is worth spreading, and `progress`
    hears how far it is. `collection` has the stored runs, and `scale` its grades; without one, grades from 1 on are
    relevant and are their own gains.
    """

    qrels: Path | Qrels
    runs: tuple[str | AnyRun, ...]
    measures: tuple[str, ...] = ("AP", "nDCG@10", "P@10", "RR")
    topics: str | tuple[str, ...] = "qrels"
    ties: Ties = "trec"
    duplicates: Duplicates = "plain"
    clusters: Mapping[str, Hashable] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    workers: Workers = HERE
    progress: Progress = silent
    collection: RunStore | None = None
    scale: GradeScale = BINARY

    def topic_set(self) -> str | tuple[str, ...]:
        """The topics by the name of their set, or the ids that were given or that a file names."""
        if isinstance(self.topics, tuple) or self.topics in TOPIC_SETS:
            return self.topics
        if not self.topics.strip():
            raise UsageError(f"--topics is {', '.join(TOPIC_SETS)}, or a file of topic ids; the name is empty")
        lines = Source(located(self.topics)).lines()
        return tuple(line.split()[0] for _, line in lines if line.strip() and not line.startswith("#"))


# The runs of a collection, as an evaluation needs them.


class StoredName(str):
    """The name of a stored run that nobody typed: it means that run, whatever files lie about."""

    __slots__ = ()


# Reading and aligning.


@dataclass(frozen=True)
class Tag:
    """What is left of a run: its name, and the other tags of its file."""

    tag: str
    other_tags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Read:
    """Qrels and runs, and their alignment."""

    qrels: Qrels
    runs: list[AnyRun]
    aligned: Alignment


def read_aligned(request: Request, *, keep_rows: bool = False) -> Read:
    """Read and align everything.

    With `keep_rows` the alignment knows the rows of the qrels, and which documents of two runs are the same.
    """
    qrels, runs = read_short(request, keep_keys=keep_rows)
    return Read(qrels, runs, align_runs(request, qrels, runs, keep_rows=keep_rows))


def read_in_full(request: Request) -> tuple[Qrels, list[Run]]:
    """Read qrels, and runs with all their ids."""
    qrels, runs = read_short(request, in_full=True)
    return qrels, cast("list[Run]", runs)


def without_pipes(request: Request) -> Request:
    """The same request with everything read that comes through pipes, which can be read only once."""
    piped = tuple(word for word in request.runs if _is_piped(word))
    if piped or _is_piped(request.qrels):
        qrels, read = read_in_full(replace(request, runs=piped))
        named = dict(zip(piped, read, strict=True))
        runs = tuple(named.get(word, word) if isinstance(word, str) else word for word in request.runs)
        request = replace(request, qrels=qrels, runs=runs)
    return replace(request, topics=request.topic_set()) if _is_piped(request.topics) else request


def without_bad(request: Request) -> Request:
    """The same request without the run files that have errors, which its notes name; an error if none is left.

    Every file is read for that, and again for the evaluation. What comes through a pipe can be read only
    once, and so stays as it was read. A file that is not there is left to be refused: its name is a wrong one.
    """
    _refuse_one_stream_for_two(request)
    problems: list[Problem] = []
    qrels = collected(partial(read_qrels, request.qrels), problems)
    in_full = qrels is None or any(map(_is_piped, request.runs))
    found = _read_runs(request, None if in_full else lambda: qrels, problems)
    kept, left_out = list[str | AnyRun](), list[str]()
    for word, run in zip(request.runs, found, strict=True):
        if run is None and _is_file(word):
            name = Source(located(str(word))).name
            wrong = [problem for problem in problems if problem.file == name and problem.is_error]
            named = [f"{one.code} (line {one.lines[0]})" if one.lines else one.code for one in wrong]
            left_out.append(f"warning: {name} is left out (--skip-bad): {', '.join(dict.fromkeys(named))}")
        else:
            kept.append(run if run is not None and _is_piped(word) else word)
    if qrels is None or not kept:
        raise refused(problems, request)
    notes = (*request.notes, *dict.fromkeys(left_out))
    return replace(request, qrels=qrels if _is_piped(request.qrels) else request.qrels, runs=tuple(kept), notes=notes)


def _refuse_one_stream_for_two(request: Request) -> None:
    """Refuse to take two things from standard input: the second would find nothing there."""
    if [str(one) for one in (request.qrels, request.topics, *request.runs) if isinstance(one, str | Path)].count(
        "-"
    ) > 1:
        raise UsageError("standard input can be read only once: use - for the qrels, the topics or a single run")


def _is_file(word: object) -> bool:
    return isinstance(word, str) and not isinstance(word, StoredName) and (word == "-" or located(word).exists())


def refused(problems: list[Problem], request: Request) -> ProblemsFound:
    """The error that lists the problems of all files, and what can be done about them."""
    bad = {problem.file: None for problem in problems if problem.file}
    files = {Source(located(str(word))).name for word in request.runs if _is_file(word)}
    typed = {str(word) for word in request.runs if not isinstance(word, StoredName)}
    hint = ""
    if bad and bad.keys() <= files and len(typed) - len(bad) > 1:  # enough is left to go on with
        hint = f"; --skip-bad goes on without {few([*map(quoted, bad)], _NAMES_SHOWN)}"
    if any(problem.repairable for problem in problems):
        hint += "; cranfield runs check --repair FOLDER FILE… writes repaired copies"
    return ProblemsFound(f"these files cannot be evaluated{hint}", problems)


def read_short(request: Request, *, in_full: bool = False, keep_keys: bool = False) -> tuple[Qrels, list[AnyRun]]:
    """Read qrels and runs, or raise everything that is wrong with any of them.

    Unless runs are wanted in full, of an ordinary one only what the qrels say of its rows is kept, perhaps with keys.
    A file of qrels is read in another thread, while runs are fetched; then its hash is made there, which every score
    needs. What comes through a pipe is read here: nobody could interrupt another thread that waits for it.
    """
    _refuse_one_stream_for_two(request)
    problems: list[Problem] = []
    qrels_problems: list[Problem] = []

    def read() -> Qrels | None:
        qrels = collected(partial(read_qrels, request.qrels), qrels_problems)
        _ = getattr(qrels, "content_hash", None)  # is made here, and kept
        return qrels

    aside = ThreadPoolExecutor(1)
    coming: Future[Qrels | None] = Future()
    if isinstance(request.qrels, Path) and request.qrels.is_file():
        coming = aside.submit(read)
    else:
        coming.set_result(read())

    def come() -> Qrels | None:
        aside.shutdown()  # while threads are at work, no process is copied
        return coming.result()

    found = _read_runs(request, None if in_full else come, problems, keep_keys=keep_keys)
    qrels = come()
    if qrels is None or problems:
        raise refused([*qrels_problems, *problems], request)
    return qrels, named_apart(cast("list[AnyRun]", found), request.runs)


def _read_runs(
    request: Request,
    qrels_come: Callable[[], Qrels | None] | None,
    problems: list[Problem],
    *,
    keep_keys: bool = False,
) -> list[AnyRun | None]:
    """Load stored runs and read files, two at a time: one for each word, None where `problems` say what is wrong.

    Where qrels come, only what they say of each row is kept: stored runs are held against them by codes, and an
    ordinary file takes the short way. No file of another format is ordinary: the format is looked for only where the
    short way is closed. Without qrels, which then have been refused, all that is wanted is what is wrong with a run.
    """
    stored = StoredRuns(request.collection, qrels_come, keep_keys=keep_keys)
    named = dict.fromkeys(word for word in request.runs if isinstance(word, str))
    typed = [word for word in named if word not in stored or not isinstance(word, StoredName)]
    unknown = _unknown(typed, stored, request.collection) if typed and request.collection is not None else {}
    problems += unknown.values()
    qrels = None if qrels_come is None or all(word in stored for word in named) else qrels_come()
    pairs = None if qrels is None else direct.judged_pairs(qrels)
    ready = dict[str, AnyRun]()
    many = request.workers.count > 1 and len(named) >= WORTH  # what the workers cannot read is read here
    files = [word for word in named if many and word not in stored and located(word).is_file()]
    if pieces := in_pieces(files, request.workers) if files else []:
        for piece, some in zip(pieces, request.workers.map(_read_files, pieces, (pairs, keep_keys)), strict=True):
            ready |= {word: run for word, run in zip(piece, some, strict=True) if run is not None}
            request.progress("reading runs", len(ready), len(request.runs))
    runs: list[AnyRun | None] = []
    with reading_threads(max(THREADS, sum(map(_is_piped, named)))) as threads:  # one process may fill all pipes
        wanted = [word for word in named if word not in unknown and word not in ready]
        read = partial(read_file, pairs=pairs, keep_keys=keep_keys)
        jobs = [stored.fetched(word) if word in stored else partial(read, Source(located(word))) for word in wanted]
        coming = dict(zip(wanted, map(threads.submit, jobs), strict=True))
        for done, given in enumerate(request.runs, start=1):
            run = ready.get(given) if isinstance(given, str) else given
            if isinstance(given, str) and given in coming:
                run = collected(coming[given].result, problems)
            runs.append(run)
            request.progress("reading runs", done, len(request.runs))
    return runs


def _unknown(words: Iterable[str], stored: StoredRuns, collection: RunStore) -> dict[str, Problem]:
    """What is wrong with words that are neither files nor stored runs; one that is both is refused at once."""
    found: dict[str, Problem] = {}
    for word in words:
        is_file = word == "-" or located(word).exists()
        if word in stored and is_file and word != "-":
            raise UsageError(f"{quoted(word)} is both a stored run and a file; write ./{word} for the file")
        if word not in stored and not is_file:
            try:
                collection.find(word)
            except CranfieldError as why:
                found[word] = Problem("no-such-run", f"no such file, and {why}", file=word)
    return found


def in_pieces(files: Sequence[str], workers: Workers = HERE) -> list[list[str]]:
    """Files in pieces of some size, where they are many enough to be read by these workers.

    The runs of a set have equal shares of it, which count more than text: so well is it packed.
    """
    sources = [Source(located(word)) for word in files]
    sharing = Counter(source.whole for source in sources if source.run)
    pieces, size = list[list[str]]([[]]), 0
    for word, source in zip(files, sources, strict=True):
        if size >= READ_AT_ONCE:
            pieces.append([])
            size = 0
        pieces[-1].append(word)
        share = PACKED / sharing[source.whole] if source.run else 1
        size += round((source.size or 0) * share) or SIZE_ELSEWHERE
    return pieces if len(pieces) >= MANY or (len(pieces) >= WORTH and workers.is_quick) else []


def _read_files(words: Sequence[str], shared: tuple[direct.JudgedPairs | None, bool]) -> list[AnyRun | None]:
    """The runs of some files, None where one cannot be read; `shared` are judged pairs, and whether to keep keys."""
    read = partial(read_file, pairs=shared[0], keep_keys=shared[1])
    return [collected(partial(read, Source(located(word))), []) for word in words]


def read_file(source: Source, pairs: direct.JudgedPairs | None, *, keep_keys: bool = False) -> AnyRun:
    """The run of a file; with judged pairs what they say of its rows is enough, if it is an ordinary file."""
    known = None if pairs is None else direct.read_direct(source, pairs, keep_keys=keep_keys)
    log.info("reading %s, %s", source.name, "the long way" if known is None else "an ordinary file")
    if known is not None:
        return known
    rows = runs_reading.read_rows(source)
    errors = [problem for problem in rows.problems if problem.is_error]
    errors += [problem.at(rows.source.name) for problem in check.repeat_problems(rows)]
    if errors:
        raise ProblemsFound(f"{rows.source.name} cannot be evaluated", errors)
    return runs_run.ranked(rows)


def _is_piped(word: object) -> bool:
    return isinstance(word, str | Path) and not isinstance(word, StoredName) and Source(located(word)).is_piped


def read_qrels(given: Path | Qrels) -> Qrels:
    if not isinstance(given, Path):
        return given
    log.info("reading qrels %s", given)
    return qrels_reading.read_qrels(Source(given))


def collected(make: Callable[[], Made], problems: list[Problem]) -> Made | None:
    """What `make` returns; None, with its problems added to `problems`, where a file has errors."""
    try:
        return make()
    except ProblemsFound as error:
        problems += error.problems
    except SourceError as error:
        problems.append(error.problem)
    return None


def named_apart(runs: Sequence[Tagged], words: Sequence[str | AnyRun]) -> list[Tagged]:
    """Name runs with the same tag by their files, or by their paths where the file names are the same too.

    A run without a file, from a pipe or from Python, is then called (given).
    """
    tags = [run.tag for run in runs]
    paths = [str(located(word)) if isinstance(word, str) else word.tag for word in words]
    given = [path if isinstance(word, str) else f"{path} (given)" for path, word in zip(paths, words, strict=True)]
    for others in ([located(path).name for path in paths], paths, given):
        names = [other if not tag or tags.count(tag) > 1 else tag for tag, other in zip(tags, others, strict=True)]
        if len(set(names)) == len(names):
            return [renamed(run, name) for run, name in zip(runs, names, strict=True)]
    if twice := [path for path in paths if paths.count(path) > 1]:
        raise UsageError(f"run {quoted(twice[0])} is listed twice")
    return [renamed(run, path) for run, path in zip(runs, paths, strict=True)]


def renamed(run: Tagged, name: str) -> Tagged:
    return run if run.tag == name else replace(run, tag=name)


def align_runs(request: Request, qrels: Qrels, runs: Sequence[AnyRun], *, keep_rows: bool = False) -> Alignment:
    """Align over the requested topics; a run of another collection is refused.

    The scale of the collection may go up to a grade that nobody has given yet.
    """
    topics = request.topic_set()
    log.info("aligning: runs %d, judgments %d", len(runs), len(qrels.grades))
    aligned = align.align(qrels, runs, topics=topics, keep_rows=keep_rows)
    if ALL in aligned.topic_ids:
        message = "a topic is called 'all', the name of the summary over all topics; rename it"
        raise ProblemsFound(f"{qrels.name} cannot be evaluated", [Problem("topic-called-all", message, topic=ALL)])
    strange = align.strangers(aligned)
    if strange and topics != "qrels":
        # A run may well have nothing of some topics: whether it is one of another collection all of them tell.
        strange = align.strangers(align.align(qrels, runs))
    if strange:
        whose = f"the qrels {qrels.name}" if qrels.name else "these qrels"
        problems = [Problem("nothing-in-common", f"{message} of {whose}") for message in strange]
        raise ProblemsFound("are these runs of another collection?", problems)
    highest = 0 if request.collection is None else request.scale.highest
    if highest <= aligned.lists.highest_grade:
        return aligned
    return replace(aligned, lists=replace(aligned.lists, highest_grade=highest))


# Many or large runs are read, aligned and scored some at a time, by all workers. Of each only its scores are kept,
# so that memory does not grow with the runs. Verdicts need the lists of all runs at once.

SEED = 1
"""Where random orders of ties begin: so that they come out the same every time."""

VERDICTS = 1.5
"""How many bytes of memory verdicts take for each byte of text."""

ROWS_AT_ONCE = 1 << 20
"""How many rows are aligned and scored together; a longer run alone."""


class _Scored(NamedTuple):
    """The runs of a piece, their scores, what is wrong with its files, and which are of another collection."""

    runs: list[Tag]
    found: list[TiedScores]
    problems: list[Problem]
    strange: list[Problem]


def pieces_of(request: Request, measures: Sequence[AnyMeasure]) -> list[list[str]]:
    """The files of a request in pieces of some size; none where it is small, or its scores need all runs at once."""
    words = [word for word in request.runs if isinstance(word, str) and located(word).is_file()]
    is_alone = len(words) == len(request.runs) and request.collection is None
    is_plain = request.duplicates == "plain" and request.topics != "common" and request.ties != "expected"
    if _is_piped(request.qrels) or not (is_alone and is_plain and all(isinstance(one, Measure) for one in measures)):
        return []
    return in_pieces(words, request.workers)


def score_runs(
    request: Request, measures: Sequence[AnyMeasure], *, read: Callable[[], Read] | None = None, at_once: bool = False
) -> tuple[TiedScores, Sequence[AnyRun | Tag], list[str]]:
    """Score by our own measures, with ties as requested: the scores, the runs, and what should be known of both.

    A caller that has read and aligned the runs passes `read`. Many or large files are scored in pieces, unless their
    lists are there `at_once`.
    """
    if not at_once and len(request.runs) >= WORTH and (pieces := pieces_of(request, measures)):
        qrels = collected(partial(read_qrels, request.qrels), [])
        if qrels is not None and qrels.strata is None:
            return *score_in_pieces(request, measures, pieces, qrels), []
    known, notes = read_aligned(request) if read is None else read(), list[str]()
    if known.qrels.strata is not None:
        drawn, many = int((known.qrels.grades >= 0).sum()), len(known.qrels)
        said = "use xinfAP, infNDCG, statAP and statP; other measures count the rest as not relevant"
        notes.append(f"the qrels are a sample, {drawn:,} of {many:,} documents judged: {said}")
        if empty := known.aligned.lists.sample.strata_without_draws():
            notes.append(f"{counted(empty, 'stratum', 'strata')} without a sampled document")
    found = score_with_ties(known.aligned, measures, request.ties, seed=SEED)
    return found, known.runs, [*notes, found.note] if found.note else notes


def exceed_memory(pieces: Sequence[Sequence[str]]) -> bool:
    """Whether the lists of all runs would take more than half of the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return VERDICTS * len(pieces) * READ_AT_ONCE > memory / 2


def score_in_pieces(
    request: Request, measures: Sequence[AnyMeasure], pieces: Sequence[list[str]], qrels: Qrels
) -> tuple[TiedScores, list[Tag]]:
    """Score the runs of a request, or raise everything that is wrong with any of them."""
    plain = replace(
        request, qrels=qrels, runs=(), topics=request.topic_set(), notes=(), workers=HERE, progress=silent
    )
    shared = plain, tuple(measures), direct.judged_pairs(qrels)
    tags, found, problems, strange = _Scored([], [], [], [])
    for done in request.workers.map(_scored_piece, pieces, shared):
        tags += done.runs
        found += done.found
        problems += done.problems
        strange += done.strange
        request.progress("scoring runs", len(tags), len(request.runs))
    if problems:
        raise refused(problems, request)
    if strange:
        raise ProblemsFound("are these runs of another collection?", strange)
    # The scores of all pieces, with the names that the runs have among all of them.
    named, moved, first = named_apart(tags, request.runs), list[Moved](), 0
    names = tuple(run.tag for run in named)
    for one in found:
        own = dict(zip(one.scores.run_names, names[first:], strict=False))
        moved += [replace(each, run=own[each.run]) for each in one.moved]
        first += len(own)
    scores: Scores = replace(
        found[0].scores,
        run_names=names,
        values=np.concatenate([one.scores.values for one in found], axis=1),
        scored=np.concatenate([one.scores.scored for one in found]),
        counts=tuple(count for one in found for count in one.scores.counts),
    )
    return TiedScores(scores, tuple(moved)), named


def _scored_piece(
    words: Sequence[str], shared: tuple[Request, tuple[AnyMeasure, ...], direct.JudgedPairs | None]
) -> _Scored:
    """Read and score some files; as many rows at once as memory is meant to hold."""
    request, measures, pairs = shared
    done, waiting, rows = _Scored([], [], [], []), list[AnyRun](), 0
    for place, word in enumerate(words, start=1):
        source = Source(located(word))
        if (run := collected(partial(read_file, source, pairs), done.problems)) is not None:
            done.runs.append(Tag(run.tag, run.other_tags))
            is_new = run.tag and run.tag not in {one.tag for one in waiting}
            waiting.append(run if is_new else renamed(run, source.name))
            rows += int(run.offsets[-1])
        if waiting and (rows >= ROWS_AT_ONCE or place == len(words)):
            try:
                aligned = align_runs(request, request.qrels, waiting)  # type: ignore[arg-type]
                done.found.append(score_with_ties(aligned, measures, request.ties, seed=0))
            except ProblemsFound as error:
                done.strange.extend(error.problems)
            waiting, rows = [], 0
    return done
