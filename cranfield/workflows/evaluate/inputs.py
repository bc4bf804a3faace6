"""What an evaluation is asked for, and what it reads: qrels and runs, from files, a collection, or as they are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, cast

from cranfield.base.errors import (
    CollectionError,
    CranfieldError,
    Problem,
    ProblemsFound,
    SourceError,
    UsageError,
    quoted,
)
from cranfield.base.files import Progress, Source, silent, workers
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.store import runs as stored_runs
from cranfield.store.store import Store

with deferred:
    from cranfield.evaluate import align, direct
    from cranfield.evaluate import measure as measuring
    from cranfield.qrels import reading as qrels_reading
    from cranfield.runs import check, columns
    from cranfield.runs import reading as runs_reading
    from cranfield.runs import run as runs_run

if TYPE_CHECKING:
    import pyarrow as pa

    from cranfield.evaluate.align import Alignment, AnyRun, CodedPairs
    from cranfield.evaluate.measure import AnyMeasure
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.reading import SubtopicRow
    from cranfield.runs.columns import Codes
    from cranfield.runs.encoding import IdTable
    from cranfield.runs.run import Run


As = Literal["9", "10"]
Ties = Literal["trec", "best", "worst", "expected"]
Duplicates = Literal["plain", "novelty"]
LetterTest = Literal["tukey", "t"]

TOPIC_SETS = ("qrels", "common", "run")
DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RR")
ALL = "all"
"""What stands for the topic in rows that sum up all topics."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be evaluated: runs as stored names or files, against a file of qrels; both also as they are.

    `like` asks for the order of equal scores and the rounding of recall levels of a version of trec_eval; without it
    scores are compared as doubles and recall levels are exact. `topics` is qrels, common, run, or a file of ids, or
    the ids themselves. With novelty, near-duplicates of a document above count as not relevant; `clusters` says
    which those are, in a file or as document -> cluster. With `curve` there are also scores for a precision–recall
    curve. `letters` names the test behind significance letters, where they are wanted.
    """

    qrels: Path | Qrels
    runs: tuple[str | AnyRun, ...]
    measures: tuple[str, ...] = DEFAULT_MEASURES
    topics: str | tuple[str, ...] = "qrels"
    like: As | None = None
    ties: Ties = "trec"
    duplicates: Duplicates = "plain"
    clusters: Path | Mapping[str, Hashable] | None = None
    curve: bool = False
    letters: LetterTest | None = None

    def topic_set(self) -> str | tuple[str, ...]:
        """Give the topics by the name of their set, or the ids that were given or that a file names."""
        if isinstance(self.topics, tuple) or self.topics in TOPIC_SETS:
            return self.topics
        if not self.topics.strip():
            raise UsageError(f"topics are {', '.join(TOPIC_SETS)}, or a file of ids; nothing was named")
        lines = Source(Path(self.topics)).lines()
        return tuple(line.split()[0] for _, line in lines if line.strip() and not line.startswith("#"))


# The runs of a collection, as an evaluation needs them.


class StoredName(str):
    """The name of a stored run that nobody typed: it means that run, whatever files lie about."""

    __slots__ = ()


def stored_names(store: Store | None) -> tuple[StoredName, ...]:
    """Give the names of all runs of a collection; none where there is no collection."""
    return tuple(StoredName(facts.name) for facts in stored_runs.facts(store)) if store is not None else ()


class StoredRuns:
    """The runs of a collection; their ids are read once, so that all runs share them.

    Where `judged` gives qrels, a run is only held against these, and its ids and scores are not needed. They are
    asked for when the first run is decoded: until then they may still be on their way.
    """

    def __init__(self, store: Store | None, judged: Callable[[], Qrels | None] | None = None) -> None:
        self._store, self._judged = store, judged
        self._facts = {facts.name: facts for facts in stored_runs.facts(store)} if store is not None else {}
        self._topic_ids: dict[bytes, pa.Array] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    def why_missing(self, name: str) -> str:
        """Say why there is no such run, with the nearest names; nothing where there is no collection."""
        try:
            return "" if self._store is None else stored_runs.find(self._store, name).name
        except CranfieldError as error:
            return str(error)

    @cached_property
    def _tables(self) -> tuple[IdTable, IdTable]:
        store = cast("Store", self._store)
        return stored_runs.id_table(store, "topic"), stored_runs.id_table(store, "document")

    @cached_property
    def _pairs(self) -> CodedPairs | None:
        qrels = None if self._judged is None else self._judged()
        topics, documents = self._tables
        return None if qrels is None else align.coded_pairs(qrels, topics.ids, documents.ids)

    def fetched(self, name: str) -> Callable[[], AnyRun]:
        """Fetch one run; what is given decodes it, under the name it is stored by, with the ids of the collection."""
        log.info("fetching the stored run %s", name)
        _ = self._tables  # read here, since what is given may run in any thread
        return partial(self._decoded, name, stored_runs.fetch(cast("Store", self._store), name))

    def _decoded(self, name: str, stored: stored_runs.StoredRanking) -> AnyRun:
        kind = self._facts[name].ordered_by
        try:
            if self._pairs is not None:
                ranking = stored.order()
                return self._pairs.known(ranking, self._named(ranking.topics), name=name, has_ties=kind == "score")
            coded, ids = stored.run(), self._tables[1].ids
            topics = self._named(coded.topics)
            return runs_run.Run(name, topics, coded.offsets, ids, coded.documents, coded.scores, kind)  # type: ignore[arg-type]
        except CollectionError as error:
            remedy = "cranfield check says what else is damaged; go back to a backup, or withdraw and submit it again"
            problem = Problem("damaged-run", f"{error} ({quoted(name)})", remedy=remedy)
            raise ProblemsFound(f"run {quoted(name)} cannot be read", [problem]) from None

    def _named(self, topics: Codes) -> pa.Array:
        """Give the ids of topics; runs with the same topics share one array."""
        key = topics.tobytes()
        if key not in self._topic_ids:
            self._topic_ids[key] = columns.taken(self._tables[0].ids, topics)
        return self._topic_ids[key]


# What was last made of runs is kept, for whoever asks about the same ones more than once.

Aligned = tuple["list[AnyRun]", "Alignment"]
Made = TypeVar("Made")


@dataclass
class Cache(Generic[Made]):
    """The last thing that was made of stored runs, or of runs at hand, in memory, as long as this object lives.

    It is found again by contents: the hash of the qrels and of each run, and whatever else made it what it is. So it
    can never be stale, and a file that is only read is never written. Only the last one is kept: it is the large one.
    """

    _key: Hashable = None
    _kept: list[Made] = field(default_factory=list)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Give what is kept under this key, else make it and keep it."""
        if not self._kept or key != self._key:
            self._kept, self._key = [make()], key
        return self._kept[0]

    def known(self, key: Hashable) -> Made | None:
        """Give what is kept under this key; None where it is not there."""
        return self._kept[0] if self._kept and key is not None and key == self._key else None


class AlignmentCache(Cache[Aligned]):
    """The last alignment."""


def contents_of(words: Sequence[str | AnyRun], store: Store | None) -> Hashable:
    """Give what runs say: stored ones by their hashes, those at hand as they are.

    None where one of the words is no stored run, or a file as well: what a file says is known only when it is read.
    """
    facts = [] if store is None else stored_runs.facts(store)
    known = {one.name: (one.name, one.content_hash, one.ordered_by) for one in facts}
    if any(word not in known or Path(word).exists() for word in words if isinstance(word, str)):
        return None
    return tuple(known[word] if isinstance(word, str) else _ThisOne(word) for word in words)


@dataclass(frozen=True, eq=False)
class _ThisOne:
    """A run at hand, equal to itself alone; it is held, so that no other can take its place in memory."""

    run: AnyRun

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ThisOne) and other.run is self.run

    def __hash__(self) -> int:
        return id(self.run)


def what_qrels_say(qrels: Qrels) -> Hashable:
    """Give the hash of qrels, and their strata, which are no part of it."""
    strata = None if qrels.strata is None else qrels.strata.tobytes()
    return qrels.content_hash, strata, qrels.stratum_names


# Reading: whatever is wrong with any of the files is told at once.

Judged = TypeVar("Judged")
Named = TypeVar("Named", "Run", "AnyRun")
Reader = Callable[[Source], "AnyRun"]

WORKERS = 2


@dataclass(frozen=True, eq=False)
class Read:
    """Qrels and runs, and both brought together."""

    qrels: Qrels
    runs: list[AnyRun]
    aligned: Alignment


def read_aligned(
    request: Request,
    store: Store | None,
    progress: Progress = silent,
    kept: AlignmentCache | None = None,
    *,
    keep_rows: bool = False,
) -> Read:
    """Read and align everything; with `keep_rows` the alignment knows the rows of the qrels, as pools need them."""
    _refuse_stdin_twice(request.qrels, *request.runs, request.topics)
    highest = 0 if store is None else store.scale().highest
    with _qrels_coming(request.qrels) as (qrels_come, qrels_problems):

        def aligned() -> tuple[list[AnyRun], Alignment]:
            problems: list[Problem] = []
            stored = StoredRuns(store, None if request.like == "9" else qrels_come)
            found = _runs(
                request.runs, stored, progress, problems, lambda: _short_way(qrels_come(), request.like or "10")
            )
            qrels = qrels_come()
            if qrels is None or problems:
                raise _unusable([*qrels_problems, *problems])
            runs = _named_apart(found, request.runs)
            return runs, on_scale(align_as_asked(request, qrels, runs, keep_rows=keep_rows), highest)

        contents = None if kept is None else contents_of(request.runs, store)
        if kept is None or contents is None or (qrels := qrels_come()) is None:
            made = aligned()
            return Read(cast("Qrels", qrels_come()), *made)
        key = (what_qrels_say(qrels), contents, request.topic_set(), request.like, keep_rows, highest)
        return Read(qrels, *kept.get(key, aligned))


@contextmanager
def _qrels_coming(given: Path | Qrels) -> Iterator[tuple[Callable[[], Qrels | None], list[Problem]]]:
    """Read qrels, and make their hash, in another thread, while runs are fetched; gives also what is wrong with them.

    What comes through a pipe is read here: nobody could interrupt another thread that waits for it.
    """
    problems: list[Problem] = []
    with ThreadPoolExecutor(1) as aside:
        if not isinstance(given, Path) or not given.is_file():
            qrels = _collected(partial(_qrels, given), problems)
            yield lambda: qrels, problems
            return
        read = aside.submit(_collected, partial(_qrels, given), problems)
        aside.submit(lambda: (qrels := read.result()) and qrels.content_hash)
        yield read.result, problems


def without_pipes(request: Request) -> Request:
    """Give the same request with everything read that comes through pipes: who reads twice would find nothing."""
    _refuse_stdin_twice(request.qrels, *request.runs, request.topics)
    problems: list[Problem] = []
    qrels = _collected(partial(_qrels, request.qrels), problems) if _is_piped(request.qrels) else request.qrels
    runs = runs_without_pipes(request.runs, problems)
    if problems or qrels is None:
        raise _unusable(problems)
    topics = request.topic_set() if _is_piped(request.topics) else request.topics
    return replace(request, qrels=qrels, runs=runs, topics=topics)


def runs_without_pipes(words: Sequence[str | AnyRun], problems: list[Problem]) -> tuple[str | AnyRun, ...]:
    """Give the runs with those read that come through pipes, all at once: one process may fill several in turns."""
    piped = [word for word in words if isinstance(word, str) and _is_piped(word)]
    with workers(max(len(piped), 1)) as threads:
        coming: dict[str, Future[AnyRun]] = {word: threads.submit(in_full, Source(Path(word))) for word in piped}
        read = {word: run for word in piped if (run := _collected(coming[word].result, problems)) is not None}
    named = dict(zip(read, _named_apart(list(read.values()), list(read)), strict=True))
    return tuple(named.get(word, word) if isinstance(word, str) else word for word in words)


def _is_piped(word: object) -> bool:
    return isinstance(word, str | Path) and not isinstance(word, StoredName) and Source(Path(word)).is_piped


def read_runs(
    qrels: Path | Qrels, words: Sequence[str | AnyRun], *, like: As | None = None, progress: Progress = silent
) -> tuple[Qrels, list[AnyRun]]:
    """Read qrels and run files, runs the short way where possible."""
    _refuse_stdin_twice(qrels, *words)
    reader = partial(_short_way, reference=like or "10")
    return _read_both(partial(_qrels, qrels), words, StoredRuns(None), reader, progress)


def read_all_in_full(words: Sequence[str | Run], progress: Progress = silent) -> list[Run]:
    """Read run files with all their ids."""
    return cast("list[Run]", _read_both(tuple, words, StoredRuns(None), lambda _: in_full, progress)[1])


def read_in_full(request: Request, store: Store | None) -> tuple[Qrels, list[Run]]:
    """Read qrels, and runs with all their ids."""
    _refuse_stdin_twice(request.qrels, *request.runs, request.topics)
    found = _read_both(partial(_qrels, request.qrels), request.runs, StoredRuns(store), lambda _: in_full)
    return cast("tuple[Qrels, list[Run]]", found)


def read_with_subtopics(
    request: Request, store: Store | None, progress: Progress
) -> tuple[list[SubtopicRow], Qrels, str, list[Run]]:
    """Read everything with ids and subtopics; the qrels have a hash of their own then."""
    given = request.qrels
    _refuse_stdin_twice(given, *request.runs, request.topics)

    def judged() -> tuple[list[SubtopicRow], Qrels, str]:
        if isinstance(given, Path):
            return qrels_reading.read_subtopics(Source(given))
        rows = [qrels_reading.SubtopicRow(topic, "0", document, grade) for topic, document, grade in given]
        return rows, given, given.content_hash

    found, runs = _read_both(judged, request.runs, StoredRuns(store), lambda _: in_full, progress)
    return *found, cast("list[Run]", runs)


def _read_both(
    judged: Callable[[], Judged],
    words: Sequence[str | AnyRun],
    stored: StoredRuns,
    reader: Callable[[Judged | None], Reader],
    progress: Progress = silent,
) -> tuple[Judged, list[AnyRun]]:
    """Read judgments and then runs, or raise everything that is wrong with any of them."""
    problems: list[Problem] = []
    found = _collected(judged, problems)
    runs = _runs(words, stored, progress, problems, lambda: reader(found))
    if found is None or problems:
        raise _unusable(problems)
    return found, _named_apart(runs, words)


def align_as_asked(request: Request, qrels: Qrels, runs: Sequence[AnyRun], *, keep_rows: bool = False) -> Alignment:
    """Align over the topics that are asked for; a run of another collection is refused."""
    topics = request.topic_set()
    log.info("aligning %s with %s", counted(len(runs), "run"), counted(len(qrels), "judgment"))
    made = partial(align.align, qrels, runs, reference=request.like or "10")
    aligned = made(topics=topics, keep_rows=keep_rows)
    if ALL in aligned.topic_ids:
        message = "a topic is called 'all', which is the word for the summary over all topics; call it otherwise"
        raise ProblemsFound(f"{qrels.name} cannot be evaluated", [Problem("topic-called-all", message, topic=ALL)])
    strange = align.strangers(aligned)
    if strange and topics != "qrels":
        # A run may well have nothing of some topics: whether it is one of another collection all of them tell.
        strange = align.strangers(made())
    if strange:
        whose = f"the qrels {qrels.name}" if qrels.name else "these qrels"
        problems = [Problem("nothing-in-common", f"{said} of {whose}") for said in strange]
        raise ProblemsFound("is this a run of another collection?", problems)
    return aligned


def on_scale(aligned: Alignment, highest: int) -> Alignment:
    """Give the alignment of a collection whose scale goes up to a grade that perhaps nobody has given yet."""
    if highest <= aligned.lists.highest_grade:
        return aligned
    return replace(aligned, lists=replace(aligned.lists, highest_grade=highest, _relevant={}))


def in_full(source: Source) -> Run:
    """Read and rank a run file with all its ids, or raise everything that is wrong with it."""
    rows = runs_reading.read_rows(source)
    errors = [problem for problem in rows.problems if problem.severity == "error"]
    errors += [problem.at(rows.source_name) for problem in check.repeat_problems(rows)]
    if errors:
        raise ProblemsFound(f"{rows.source_name} cannot be evaluated", errors)
    return runs_run.ranked(rows)


def _qrels(given: Path | Qrels) -> Qrels:
    if not isinstance(given, Path):
        return given
    log.info("reading qrels %s", given)
    return qrels_reading.read_qrels(Source(given))


def _collected(make: Callable[[], Made], problems: list[Problem]) -> Made | None:
    """Make something; where something is wrong with a file, that is added to `problems`."""
    try:
        return make()
    except ProblemsFound as error:
        problems += error.problems
    except SourceError as error:
        problems.append(error.problem)
    return None


def _refuse_stdin_twice(*words: Path | Qrels | str | AnyRun | Sequence[str]) -> None:
    """Refuse to take two things from one stream: the second would find nothing there."""
    if [str(one) for one in words if isinstance(one, str | Path)].count("-") > 1:
        raise UsageError("standard input can be read once: give - for the qrels, the topics or one run, not for more")


def _unusable(problems: Sequence[Problem]) -> ProblemsFound:
    mended = any(problem.repairable for problem in problems)
    hint = "; cranfield runs check --repair FOLDER FILE… writes corrected copies" if mended else ""
    return ProblemsFound(f"these files cannot be evaluated{hint}", problems)


def _runs(
    words: Sequence[str | AnyRun],
    stored: StoredRuns,
    progress: Progress,
    problems: list[Problem],
    reader: Callable[[], Reader],
) -> list[AnyRun]:
    """Load stored runs and read files, two at a time; problems of files are added to `problems`."""
    named = dict.fromkeys(word for word in words if isinstance(word, str))
    absent = set()
    for word in named:
        is_file = word == "-" or Path(word).exists()
        if word in stored and not isinstance(word, StoredName) and is_file and word != "-":
            raise UsageError(f"{quoted(word)} is a stored run and a file; write ./{word} for the file")
        if word not in stored and not is_file and (why := stored.why_missing(word)):
            problems.append(Problem("no-such-run", f"there is no such file, and {why}", file=word))
            absent.add(word)
    read = in_full if all(word in stored for word in named) else reader()
    runs: list[AnyRun] = []
    with workers(max(WORKERS, sum(_is_piped(word) for word in named))) as threads:  # one process may fill all pipes
        coming = {
            word: threads.submit(stored.fetched(word) if word in stored else partial(read, Source(Path(word))))
            for word in named
            if word not in absent
        }
        for done, given in enumerate(words, start=1):
            run = given if not isinstance(given, str) else None
            if isinstance(given, str) and given in coming:
                run = _collected(coming[given].result, problems)
            if run is not None:
                runs.append(run)
            progress("reading runs", done, len(words))
    return runs


def _short_way(qrels: Qrels | None, reference: As) -> Reader:
    """Give the function that reads a run file the short way if it is an ordinary one, else the long way.

    No file of another format is an ordinary one: the format is looked for only where the short way is closed. Without
    qrels, which then have been refused, all that is wanted is what is wrong with the run.
    """
    judged = None if qrels is None else direct.judged_pairs(qrels)

    def read(source: Source) -> AnyRun:
        known = None if judged is None else direct.read_direct(source, judged, reference=reference)
        log.info("reading %s, %s", source.name, "the long way" if known is None else "an ordinary file")
        return in_full(source) if known is None else known

    return read


def _named_apart(runs: list[Named], words: Sequence[str | AnyRun]) -> list[Named]:
    """Give runs with the same tag the names of their files, or their paths where those are the same too.

    A run that has no file, since it came through a pipe or was made in Python, is then called (given).
    """
    tags = [run.tag for run in runs]
    paths = [word if isinstance(word, str) else word.tag for word in words]
    given = [word if isinstance(word, str) else f"{word.tag} (given)" for word in words]
    for others in ([Path(path).name for path in paths], paths, given):
        names = [other if not tag or tags.count(tag) > 1 else tag for tag, other in zip(tags, others, strict=True)]
        if len(set(names)) == len(names):
            return [run if run.tag == name else replace(run, tag=name) for run, name in zip(runs, names, strict=True)]
    twice = next((path for path in paths if paths.count(path) > 1), "")
    if not twice:
        return [replace(run, tag=path) for run, path in zip(runs, paths, strict=True)]
    raise UsageError(f"run {quoted(twice)} is given twice")


# Measures as they were asked for: what they do not say themselves, the scale of the collection says.


def measures_asked(
    texts: Sequence[str], store: Store | None, *, relevant_from: int | None = None
) -> list[AnyMeasure]:
    """Give the measures that expressions mean.

    In a collection a bare `AP` takes its threshold and a bare `nDCG` its gains, and their printed forms tell both.
    """
    if store is None:
        return measuring.parse_measures(texts, threshold=relevant_from or 1)
    scale = store.scale()
    return measuring.parse_measures(texts, threshold=relevant_from or scale.relevant_from, gains=scale.own_gains)


def grade_notes(measures: Sequence[AnyMeasure], store: Store | None) -> list[str]:
    """Say where grades, or unjudged documents, are worth something else than one would think."""
    scale_gains = () if store is None else store.scale().own_gains
    by_grade, below_zero = [], []
    for one in measures:
        own = dict(one.settings) if isinstance(one, measuring.Measure) else {}
        gains = own.get("gains")
        if isinstance(one, measuring.Measure) and "gains" in one.kind.parameters:
            otherwise = gains != scale_gains
        else:
            otherwise = not isinstance(one, measuring.Measure) or one.kind.graded or "gain" in own
        if scale_gains and otherwise:
            by_grade.append(str(one))
        if isinstance(gains, tuple) and dict(gains).get(0, 0.0) > 0:
            below_zero.append(str(one))
    notes = []
    if by_grade:
        said = "made from the grades themselves; the gains of the scale have no part in it"
        notes.append(f"{', '.join(by_grade)}: {said}")
    if below_zero:
        said = (
            "a document without a judgment counts 0, and so less than one of grade 0: where there are some, a score"
        )
        notes.append(f"{', '.join(below_zero)}: {said} can lie below what is possible in the end")
    return notes
