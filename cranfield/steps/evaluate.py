"""Score runs, from files or from a collection, against qrels."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from cranfield.errors import Problem, ProblemsFound, SourceError, UsageError, quoted
from cranfield.source import Source
from cranfield.steps.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.runs import coded_run, id_table, run_facts
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment, AnyRun, TopicSet
    from cranfield.evaluate.direct import DirectRows
    from cranfield.evaluate.explain import Step
    from cranfield.evaluate.measures.average import Rounding
    from cranfield.evaluate.scores import Scores
    from cranfield.evaluate.ties import Moved
    from cranfield.qrels.qrels import Qrels
    from cranfield.runs.ids import IdTable
    from cranfield.runs.run import Order, Run

Named = TypeVar("Named", "Run", "AnyRun")
As = Literal["9", "10"]
Ties = Literal["trec", "best", "worst", "expected"]

SEED = 1
"""Where the random orders of an expected score begin, so that it comes out the same every time."""

WORKERS = 2


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be evaluated: runs as stored names or files, against a file of qrels.

    `like` asks for the order of equal scores and the rounding of recall levels of a version of trec_eval; without it
    scores are compared as doubles and recall levels are exact. `topics` is qrels, common, run, or a file of ids.
    """

    qrels: Path
    runs: tuple[str, ...]
    measures: tuple[str, ...] = ("AP", "nDCG@10", "P@10", "RR")
    topics: str = "qrels"
    like: As | None = None
    ties: Ties = "trec"


def evaluate(asked: Asked, *, store: Store | None = None, progress: Progress = silent) -> "Scores":
    """Read, align and score."""
    return evaluate_and_tell(asked, store=store, progress=progress)[0]


def evaluate_and_tell(
    asked: Asked, *, store: Store | None = None, progress: Progress = silent
) -> "tuple[Scores, list[Moved]]":
    """Read, align and score; gives the scores, and which of them hang on the order of tied documents."""
    import numpy as np

    from cranfield.evaluate.align import align
    from cranfield.evaluate.expression import parse_measures
    from cranfield.evaluate.ties import moved_by_ties, score_with_ties

    measures = parse_measures(asked.measures, threshold=_threshold(store))
    if not measures:
        raise UsageError("no measure was given; see cranfield measures")
    qrels, runs = _read(asked, store, progress)
    wanted = asked.topics if asked.topics in ("qrels", "common", "run") else _topics_in(Path(asked.topics))
    aligned = align(qrels, runs, topics=cast("TopicSet", wanted), reference=asked.like or "10")
    _refuse_strangers(aligned)
    rounding: Rounding = asked.like or "exact"
    rng = np.random.default_rng(SEED)
    scores = score_with_ties(aligned, measures, ties=asked.ties, rng=rng, rounding=rounding)
    told = moved_by_ties(aligned, scores) if asked.ties == "trec" else []
    return scores, told


def explain_lists(
    asked: Asked, topic: str, *, depth: int = 30, store: Store | None = None
) -> "list[tuple[str, list[Step]]]":
    """Give for each run its name and its list for a topic, laid open."""
    from cranfield.evaluate.explain import explain

    problems: list[Problem] = []
    found = _runs(asked.runs, store, silent, problems, read=_in_full)
    qrels = _qrels(asked.qrels, problems)
    rel, reference = _threshold(store), asked.like or "10"
    return [
        (run.tag, explain(qrels, run, topic, rel=rel, depth=depth, reference=reference))
        for run in _named_apart(cast("list[Run]", found), asked.runs)
    ]


def _threshold(store: Store | None) -> int:
    return 1 if store is None else current_scale(store)[1].relevant_from


def _read(asked: Asked, store: Store | None, progress: Progress) -> "tuple[Qrels, list[AnyRun]]":
    """Read everything, and tell everything that is wrong with any of it at once."""
    problems: list[Problem] = []
    found = _runs(asked.runs, store, progress, problems, read=_directly)
    qrels = _qrels(asked.qrels, problems)
    return qrels, _named_apart(_known(found, qrels, asked.like or "10"), asked.runs)


def _qrels(path: Path, problems: list[Problem]) -> "Qrels":
    """Read the qrels; what is wrong with them or has been found wrong with the runs is raised."""
    from cranfield.qrels.reading import read_qrels

    try:
        qrels = read_qrels(Source(path))
    except ProblemsFound as error:
        problems = [*error.problems, *problems]
    except SourceError as error:
        problems = [error.problem, *problems]
    if problems:
        raise ProblemsFound("these files cannot be evaluated", problems)
    return qrels


def _runs(
    words: Sequence[str],
    store: Store | None,
    progress: Progress,
    problems: list[Problem],
    *,
    read: "Callable[[str], DirectRows | Run]",
) -> "list[DirectRows | Run]":
    """Load stored runs and read files, two at a time; problems of files are added to `problems`."""
    stored = _StoredRuns(store)
    for word in words:
        if word in stored and Path(word).exists():
            raise UsageError(f"{quoted(word)} is a stored run and a file; write ./{word} for the file")
    runs: list[DirectRows | Run] = []
    with ThreadPoolExecutor(WORKERS) as workers:
        in_files = {word: workers.submit(read, word) for word in words if word not in stored}
        for done, word in enumerate(words, start=1):
            try:
                runs.append(stored.run(word) if word in stored else in_files[word].result())
            except SourceError as error:
                problems.append(error.problem)
            except ProblemsFound as error:
                problems += error.problems
            progress("reading runs", done, len(words))
    return runs


def _directly(word: str) -> "DirectRows | Run":
    """Read a run file the short way if it is an ordinary one, else the long way."""
    from cranfield.evaluate.direct import read_direct
    from cranfield.runs.reading import format_of

    source = Source(Path(word))
    if format_of(source).__name__ != "Trec":
        return _in_full(word)
    return read_direct(source) or _in_full(word)


def _in_full(word: str) -> "Run":
    """Read and rank a run file with all its ids, or raise everything that is wrong with it."""
    from cranfield.runs.order import ranked
    from cranfield.runs.reading import read_rows

    rows = read_rows(Source(Path(word)))
    errors = [problem for problem in rows.problems if problem.severity == "error"]
    if errors:
        raise ProblemsFound(f"{rows.source_name} cannot be evaluated", errors)
    return ranked(rows)


def _known(found: "list[DirectRows | Run]", qrels: "Qrels", reference: As) -> "list[AnyRun]":
    """Look up what was read the short way."""
    from cranfield.evaluate.direct import DirectRows, known_runs

    direct = [rows for rows in found if isinstance(rows, DirectRows)]
    made = iter(known_runs(direct, qrels, reference=reference) if direct else [])
    return [next(made) if isinstance(rows, DirectRows) else rows for rows in found]


class _StoredRuns:
    """The runs of a collection; their ids are read once, so that all runs share them."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._facts = {facts.name: facts for facts in run_facts(store)} if store is not None else {}

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    @cached_property
    def _tables(self) -> "tuple[IdTable, IdTable]":
        store = cast("Store", self._store)
        return id_table(store, "topic"), id_table(store, "document")

    def run(self, name: str) -> "Run":
        """Give one run, under the name it is stored by, with the ids of the whole collection."""
        import pyarrow as pa

        from cranfield.runs.run import Run

        coded = coded_run(cast("Store", self._store), name)
        topics, documents = self._tables
        order = cast("Order", self._facts[name].ordered_by)
        codes = pa.array(coded.topics)
        return Run(name, topics.ids.take(codes), coded.offsets, documents.ids, coded.documents, coded.scores, order)


def _refuse_strangers(aligned: "Alignment") -> None:
    """Refuse runs that have nothing in common with the qrels."""
    from cranfield.evaluate.align import strangers

    found = strangers(aligned)
    if found:
        problems = [Problem("nothing-in-common", f"{said} of these qrels") for said in found]
        raise ProblemsFound("is this a run of another collection?", problems)


def _named_apart(runs: "list[Named]", words: Sequence[str]) -> "list[Named]":
    """Give runs with the same tag the names of their files."""
    tags = [run.tag for run in runs]
    return [
        replace(run, tag=word) if tags.count(run.tag) > 1 or not run.tag else run
        for run, word in zip(runs, words, strict=True)
    ]


def _topics_in(path: Path) -> list[str]:
    """Read topic ids from a file: the first word of each line."""
    return [line.split()[0] for _, line in Source(path).lines() if line.strip() and not line.startswith("#")]


def with_measures(asked: Asked, measures: Sequence[str]) -> Asked:
    """Give the same request with other measures."""
    return replace(asked, measures=tuple(measures))
