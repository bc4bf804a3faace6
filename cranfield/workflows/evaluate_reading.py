"""What an evaluation reads: qrels and runs, from files, from a collection, or as they are given."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from cranfield.errors import Problem, ProblemsFound, SourceError, UsageError, quoted
from cranfield.source import Source
from cranfield.workflows.evaluate_asked import TOPIC_SETS, As, Asked
from cranfield.workflows.keeping import KeptAlignment, contents_of, what_qrels_say
from cranfield.workflows.stored_runs import StoredName, StoredRuns
from cranfield.workflows.watching import Progress, silent
from cranfield.workflows.workers import workers
from cranfield.store import Store
from cranfield.store.scales import current_scale
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment, AnyRun, TopicSet
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.subtopics import SubtopicRow
    from cranfield.runs.run import Run

Named = TypeVar("Named", "Run", "AnyRun")
Reader = Callable[[Source], "AnyRun"]

log = logging.getLogger(__name__)

WORKERS = 2
ALL = "all"
"""What stands for the topic in rows that sum up all topics."""


@dataclass(frozen=True, eq=False)
class Read:
    """Qrels and runs, and both brought together."""

    qrels: "Qrels"
    runs: "list[AnyRun]"
    aligned: "Alignment"


def read_aligned(
    asked: Asked,
    store: Store | None,
    progress: Progress = silent,
    kept: KeptAlignment | None = None,
    *,
    keep_rows: bool = False,
) -> Read:
    """Read and align everything, and tell everything that is wrong with any of it at once.

    With `keep_rows` the alignment knows the rows of the qrels too, which questions about the pool need.
    """
    _refuse_stdin_twice(asked.qrels, *asked.runs, asked.topics)
    highest = 0 if store is None else current_scale(store)[1].highest
    with _coming(asked.qrels) as coming:

        def aligned() -> "tuple[list[AnyRun], Alignment]":
            problems: list[Problem] = []
            stored = StoredRuns(store, None if asked.like == "9" else coming.qrels)
            reader = partial(_short_way, coming.qrels, asked.like or "10")
            found = _runs(asked.runs, stored, progress, problems, reader=reader)
            qrels = coming.qrels()
            if qrels is None or problems:
                raise _unusable([*coming.problems, *problems])
            runs = _named_apart(found, asked.runs)
            return runs, on_scale(align_as_asked(asked, qrels, runs, keep_rows=keep_rows), highest)

        contents = None if kept is None else contents_of(asked.runs, store)
        if kept is None or contents is None or (qrels := coming.qrels()) is None:
            made = aligned()
            return Read(cast("Qrels", coming.qrels()), *made)
        key = (what_qrels_say(qrels), contents, _topics(asked), asked.like, keep_rows, highest)
        return Read(qrels, *kept.get(key, aligned))


def without_pipes(asked: Asked) -> Asked:
    """Give the same request with everything read that comes through pipes: who reads twice would find nothing."""
    _refuse_stdin_twice(asked.qrels, *asked.runs, asked.topics)
    problems: list[Problem] = []
    qrels = _qrels(asked.qrels, problems) if _is_piped(asked.qrels) else asked.qrels
    runs = runs_without_pipes(asked.runs, problems)
    if problems or qrels is None:
        raise _unusable(problems)
    topics = _topics(asked) if _is_piped(asked.topics) else asked.topics
    return replace(asked, qrels=qrels, runs=runs, topics=topics)


def runs_without_pipes(words: "Sequence[str | AnyRun]", problems: list[Problem]) -> "tuple[str | AnyRun, ...]":
    """Give the runs with those read that come through pipes, all at once: one process may fill several in turns."""
    piped = [word for word in words if isinstance(word, str) and _is_piped(word)]
    with workers(max(len(piped), 1)) as threads:
        coming: dict[str, Future[AnyRun]] = {word: threads.submit(in_full, Source(Path(word))) for word in piped}
        read = {word: run for word in piped if (run := _come(word, coming, problems)) is not None}
    named = dict(zip(read, _named_apart(list(read.values()), list(read)), strict=True))
    return tuple(named.get(word, word) if isinstance(word, str) else word for word in words)


def _is_piped(word: object) -> bool:
    return isinstance(word, str | Path) and not isinstance(word, StoredName) and Source(Path(word)).is_piped


def read_runs(
    qrels: "Path | Qrels",
    words: "Sequence[str | AnyRun]",
    *,
    like: As | None = None,
    progress: Progress = silent,
) -> "tuple[Qrels, list[AnyRun]]":
    """Read qrels and run files, runs the short way where possible; all problems are told at once."""
    problems: list[Problem] = []
    _refuse_stdin_twice(qrels, *words)
    judged = _qrels(qrels, problems)
    reader = partial(_short_way, lambda: judged, like or "10")
    runs = _runs(words, StoredRuns(None), progress, problems, reader=reader)
    if judged is None or problems:
        raise _unusable(problems)
    return judged, _named_apart(runs, words)


def read_all_in_full(words: "Sequence[str | Run]", progress: Progress = silent) -> "list[Run]":
    """Read run files with all their ids; all problems are told at once."""
    problems: list[Problem] = []
    found = _runs(words, StoredRuns(None), progress, problems, reader=lambda: in_full)
    if problems:
        raise _unusable(problems)
    return _named_apart(cast("list[Run]", found), words)


def read_in_full(asked: Asked, store: Store | None) -> "tuple[Qrels, list[Run]]":
    """Read qrels, and runs with all their ids; all problems are told at once."""
    problems: list[Problem] = []
    _refuse_stdin_twice(asked.qrels, *asked.runs, asked.topics)
    qrels = _qrels(asked.qrels, problems)
    found = _runs(asked.runs, StoredRuns(store), silent, problems, reader=lambda: in_full)
    if qrels is None or problems:
        raise _unusable(problems)
    return qrels, _named_apart(cast("list[Run]", found), asked.runs)


def read_with_subtopics(
    asked: Asked, store: Store | None, progress: Progress
) -> "tuple[list[SubtopicRow], Qrels, str, list[Run]]":
    """Read everything with ids and subtopics, and tell everything that is wrong with any of it at once."""
    from cranfield.qrels.subtopics import SubtopicRow, read_subtopics

    problems: list[Problem] = []
    _refuse_stdin_twice(asked.qrels, *asked.runs, asked.topics)
    judged = None
    if isinstance(asked.qrels, Path):
        judged = _collected(partial(read_subtopics, Source(asked.qrels)), problems)
    else:
        rows = [SubtopicRow(topic, "0", document, grade) for topic, document, grade in asked.qrels]
        judged = rows, asked.qrels, asked.qrels.content_hash
    runs = _runs(asked.runs, StoredRuns(store), progress, problems, reader=lambda: in_full)
    if judged is None or problems:
        raise _unusable(problems)
    return *judged, _named_apart(cast("list[Run]", runs), asked.runs)


def align_as_asked(asked: Asked, qrels: "Qrels", runs: "Sequence[AnyRun]", *, keep_rows: bool = False) -> "Alignment":
    """Align over the topics that are asked for; a run of another collection is refused."""
    from cranfield.evaluate.align import align, strangers

    topics = cast("TopicSet", _topics(asked))
    log.info("aligning %s with %s", counted(len(runs), "run"), counted(len(qrels), "judgment"))
    aligned = align(qrels, runs, topics=topics, reference=asked.like or "10", keep_rows=keep_rows)
    if ALL in aligned.topic_ids:
        message = "a topic is called 'all', which is the word for the summary over all topics; call it otherwise"
        raise ProblemsFound(f"{qrels.name} cannot be evaluated", [Problem("topic-called-all", message, topic=ALL)])
    strange = strangers(aligned)
    if strange and topics != "qrels":
        # A run may well have nothing of some topics: whether it is one of another collection all of them tell.
        strange = strangers(align(qrels, runs, reference=asked.like or "10"))
    if strange:
        whose = f"the qrels {qrels.name}" if qrels.name else "these qrels"
        problems = [Problem("nothing-in-common", f"{said} of {whose}") for said in strange]
        raise ProblemsFound("is this a run of another collection?", problems)
    return aligned


def on_scale(aligned: "Alignment", highest: int) -> "Alignment":
    """Give the alignment of a collection whose scale goes up to a grade that perhaps nobody has given yet."""
    if highest <= aligned.lists.highest_grade:
        return aligned
    return replace(aligned, lists=replace(aligned.lists, highest_grade=highest, _relevant={}))


def in_full(source: Source) -> "Run":
    """Read and rank a run file with all its ids, or raise everything that is wrong with it."""
    from cranfield.runs.check import repeat_problems
    from cranfield.runs.order import ranked
    from cranfield.runs.reading import read_rows

    rows = read_rows(source)
    errors = [problem for problem in rows.problems if problem.severity == "error"]
    errors += [problem.at(rows.source_name) for problem in repeat_problems(rows)]
    if errors:
        raise ProblemsFound(f"{rows.source_name} cannot be evaluated", errors)
    return ranked(rows)


def _topics(asked: Asked) -> str | tuple[str, ...]:
    """Give the topic set by its name, or the ids that were given or that a file names."""
    if isinstance(asked.topics, tuple) or asked.topics in TOPIC_SETS:
        return asked.topics
    if not asked.topics.strip():
        raise UsageError(f"topics are {', '.join(TOPIC_SETS)}, or a file of ids; nothing was named")
    lines = Source(Path(asked.topics)).lines()
    return tuple(line.split()[0] for _, line in lines if line.strip() and not line.startswith("#"))


Made = TypeVar("Made")


def _collected(make: Callable[[], Made], problems: list[Problem]) -> Made | None:
    """Make something; where something is wrong with a file, that is added to `problems`."""
    try:
        return make()
    except ProblemsFound as error:
        problems += error.problems
    except SourceError as error:
        problems.append(error.problem)
    return None


def _refuse_stdin_twice(*words: "Path | Qrels | str | AnyRun | Sequence[str]") -> None:
    """Refuse to take two things from one stream: the second would find nothing there."""
    if [str(one) for one in words if isinstance(one, str | Path)].count("-") > 1:
        raise UsageError("standard input can be read once: give - for the qrels, the topics or one run, not for more")


def _unusable(problems: Sequence[Problem]) -> ProblemsFound:
    mended = any(problem.repairable for problem in problems)
    hint = "; cranfield runs check --repair FOLDER FILE… writes corrected copies" if mended else ""
    return ProblemsFound(f"these files cannot be evaluated{hint}", problems)


@dataclass(frozen=True, eq=False)
class _Coming:
    """Qrels that are perhaps still being read, and what is wrong with them: complete once `qrels` has answered."""

    qrels: "Callable[[], Qrels | None]"
    problems: list[Problem]


@contextmanager
def _coming(given: "Path | Qrels") -> Iterator[_Coming]:
    """Read qrels, and make their hash, in another thread, while runs are fetched.

    What comes through a pipe is read here: nobody could interrupt another thread that waits for it.
    """
    problems: list[Problem] = []
    with ThreadPoolExecutor(1) as aside:
        if not isinstance(given, Path) or not given.is_file():
            qrels = _qrels(given, problems)
            yield _Coming(lambda: qrels, problems)
            return
        read = aside.submit(_qrels, given, problems)
        aside.submit(lambda: (qrels := read.result()) and qrels.content_hash)
        yield _Coming(read.result, problems)


def _qrels(given: "Path | Qrels", problems: list[Problem]) -> "Qrels | None":
    """Read the qrels where they are a file; what is wrong with it is added to `problems`."""
    from cranfield.qrels.reading import read_qrels

    if not isinstance(given, Path):
        return given
    log.info("reading qrels %s", given)
    return _collected(partial(read_qrels, Source(given)), problems)


def _runs(
    words: "Sequence[str | AnyRun]",
    stored: StoredRuns,
    progress: Progress,
    problems: list[Problem],
    *,
    reader: Callable[[], Reader],
) -> "list[AnyRun]":
    """Load stored runs and read files, two at a time; problems of files are added to `problems`."""
    named = dict.fromkeys(word for word in words if isinstance(word, str))
    for word in named:
        if word in stored and not isinstance(word, StoredName) and Path(word).exists():
            raise UsageError(f"{quoted(word)} is a stored run and a file; write ./{word} for the file")
    absent = {word: why for word in named if _is_nowhere(word, stored) and (why := stored.why_missing(word))}
    for word, why in absent.items():
        problems.append(Problem("no-such-run", f"there is no such file, and {why}", file=word))
    read = in_full if all(word in stored for word in named) else reader()
    runs: list[AnyRun] = []
    with workers(max(WORKERS, sum(_is_piped(word) for word in named))) as threads:  # one process may fill all pipes
        coming = {
            word: threads.submit(stored.fetched(word) if word in stored else partial(read, Source(Path(word))))
            for word in named
            if word not in absent
        }
        for done, given in enumerate(words, start=1):
            run = _come(given, coming, problems) if isinstance(given, str) else given
            if run is not None:
                runs.append(run)
            progress("reading runs", done, len(words))
    return runs


def _come(word: str, coming: "Mapping[str, Future[AnyRun]]", problems: list[Problem]) -> "AnyRun | None":
    """Give a run that is being read; None where it cannot be, which is told already or added to `problems`."""
    return _collected(coming[word].result, problems) if word in coming else None


def _is_nowhere(word: str, stored: StoredRuns) -> bool:
    return word not in stored and word != "-" and not Path(word).exists()


def _short_way(coming: "Callable[[], Qrels | None]", reference: As) -> Reader:
    """Give the function that reads a run file the short way if it is an ordinary one, else the long way.

    No file of another format is an ordinary one: the format is looked for only where the short way is closed. Without
    qrels, which then have been refused, all that is wanted is what is wrong with the run.
    """
    from cranfield.evaluate.direct import read_direct
    from cranfield.evaluate.judged_pairs import judged_pairs

    qrels = coming()
    judged = None if qrels is None else judged_pairs(qrels)

    def read(source: Source) -> "AnyRun":
        known = None if judged is None else read_direct(source, judged, reference=reference)
        log.info("reading %s, %s", source.name, "the long way" if known is None else "an ordinary file")
        return in_full(source) if known is None else known

    return read


def _named_apart(runs: "list[Named]", words: "Sequence[str | AnyRun]") -> "list[Named]":
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
