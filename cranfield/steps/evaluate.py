"""Score runs, from files or from a collection, against qrels."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from cranfield.errors import InputError, Problem, ProblemsFound, SourceError, UsageError, quoted
from cranfield.source import Source
from cranfield.steps.clusters import clusters_for
from cranfield.steps.keeping import KeptAlignment, contents_of, what_qrels_say
from cranfield.steps.plotting import LEVELS
from cranfield.steps.stored_runs import StoredRuns
from cranfield.steps.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.scales import current_scale
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment, AnyRun, TopicSet
    from cranfield.evaluate.explain import Step
    from cranfield.evaluate.expression import AnyMeasure
    from cranfield.evaluate.novelty import RankChange
    from cranfield.evaluate.scores import Scores
    from cranfield.evaluate.ties import Moved
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.subtopics import SubtopicRow
    from cranfield.runs.run import Run

Named = TypeVar("Named", "Run", "AnyRun")
As = Literal["9", "10"]
Ties = Literal["trec", "best", "worst", "expected"]
Duplicates = Literal["plain", "novelty"]

SEED = 1
"""Where the random orders of an expected score begin, so that it comes out the same every time."""

WORKERS = 2
TOPIC_SETS = ("qrels", "common", "run")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be evaluated: runs as stored names or files, against a file of qrels.

    `like` asks for the order of equal scores and the rounding of recall levels of a version of trec_eval; without it
    scores are compared as doubles and recall levels are exact. `topics` is qrels, common, run, or a file of ids. With
    novelty, near-duplicates of a document above count as not relevant; `clusters` is a file of them. With `curve`
    there are also scores for a precision–recall curve.
    """

    qrels: Path
    runs: tuple[str, ...]
    measures: tuple[str, ...] = ("AP", "nDCG@10", "P@10", "RR")
    topics: str = "qrels"
    like: As | None = None
    ties: Ties = "trec"
    duplicates: Duplicates = "plain"
    clusters: Path | None = None
    curve: bool = False


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """Scores, and what is to be told with them.

    `moved` are the summaries that hang on the order of tied documents. With novelty `plain` are the scores without
    it, and `changes` the places of the runs in both. `curve` are scores at the eleven recall levels.
    """

    scores: "Scores"
    moved: "tuple[Moved, ...]" = ()
    plain: "Scores | None" = None
    changes: "tuple[RankChange, ...]" = ()
    curve: "Scores | None" = None
    notes: tuple[str, ...] = ()


def evaluate(asked: Asked, *, store: Store | None = None, progress: Progress = silent) -> "Scores":
    """Read, align and score."""
    return evaluate_and_tell(asked, store=store, progress=progress).scores


def evaluate_and_tell(
    asked: Asked, *, store: Store | None = None, progress: Progress = silent, kept: KeptAlignment | None = None
) -> Evaluated:
    """Read, align and score; gives the scores, and what should be known about them.

    Whoever evaluates the stored runs again and again hands in `kept`: then they are read and aligned once.
    """
    import numpy as np

    from cranfield.evaluate.expression import Measure, parse_measures
    from cranfield.evaluate.scores import score
    from cranfield.evaluate.ties import moved_by_ties, score_with_ties

    measures = parse_measures(asked.measures, threshold=_threshold(store))
    if not measures:
        raise UsageError("no measure was given; see cranfield measures")
    if not all(isinstance(measure, Measure) for measure in measures):
        return _with_foreign(asked, measures, store, progress)
    clusters = clusters_for(asked.clusters, store) if asked.duplicates == "novelty" else {}
    qrels, runs, aligned = _read(asked, store, progress, kept)
    rng = np.random.default_rng(SEED)
    scores = score_with_ties(aligned, measures, ties=asked.ties, rng=rng, rounding=asked.like or "exact")
    if asked.duplicates == "novelty":
        novel = _novel(asked, aligned, qrels, runs, clusters)
        found = _against_plain(score(novel, measures, rounding=asked.like or "exact"), scores)
        return replace(found, curve=_curve(asked, novel, store), notes=(_copies_note(aligned, novel),))
    told = moved_by_ties(aligned, scores) if asked.ties == "trec" else []
    return Evaluated(
        scores=scores,
        moved=tuple(told),
        curve=_curve(asked, aligned, store),
        notes=tuple(_sample_notes(qrels, aligned)),
    )


def _aligned(asked: Asked, qrels: "Qrels", runs: "Sequence[AnyRun]") -> "Alignment":
    from cranfield.evaluate.align import align

    wanted = asked.topics if asked.topics in TOPIC_SETS else _topics_in(Path(asked.topics))
    aligned = align(qrels, runs, topics=cast("TopicSet", wanted), reference=asked.like or "10")
    _refuse_strangers(aligned)
    return aligned


def _curve(asked: Asked, aligned: "Alignment", store: Store | None) -> "Scores | None":
    """Score at the recall levels of a precision–recall curve, where one is asked for."""
    from cranfield.evaluate.expression import parse_measures
    from cranfield.evaluate.scores import score

    if not asked.curve:
        return None
    return score(aligned, parse_measures(LEVELS, threshold=_threshold(store)), rounding=asked.like or "exact")


def _novel(
    asked: Asked, aligned: "Alignment", qrels: "Qrels", runs: "Sequence[AnyRun]", clusters: Mapping[str, Hashable]
) -> "Alignment":
    from cranfield.evaluate.novelty import by_novelty

    if asked.ties != "trec":
        raise UsageError("with --duplicates novelty ties stay as they are: which copy is first hangs on their order")
    return by_novelty(aligned, qrels, runs, clusters)


def _against_plain(scores: "Scores", plain: "Scores") -> Evaluated:
    from cranfield.evaluate.novelty import rank_changes

    return Evaluated(scores=scores, plain=plain, changes=tuple(rank_changes(scores, plain)))


def _copies_note(aligned: "Alignment", novel: "Alignment") -> str:
    lost = int(((aligned.lists.grades > 0) & (novel.lists.grades == 0)).sum())
    return f"novelty: {counted(lost, 'retrieved document')} with a grade above 0 counted as not relevant, as copies"


def _with_foreign(asked: Asked, measures: "list[AnyMeasure]", store: Store | None, progress: Progress) -> Evaluated:
    """Score by our own measures and by those of ir_measures, which sees documents and subtopics."""
    import numpy as np

    from cranfield.evaluate.expression import Measure
    from cranfield.evaluate.foreign import ForeignMeasure, foreign_values
    from cranfield.evaluate.scores import score

    ours = [measure for measure in measures if isinstance(measure, Measure)]
    theirs = [measure for measure in measures if isinstance(measure, ForeignMeasure)]
    if asked.ties != "trec" or asked.duplicates != "plain":
        raise UsageError(f"{theirs[0]} is computed by ir_measures, which has neither --ties nor --duplicates")
    judged, qrels, qrels_hash, runs = _read_with_subtopics(asked, store, progress)
    if ours and qrels_hash != qrels.content_hash:
        raise InputError(f"{asked.qrels}: documents are judged for several subtopics; {ours[0]} needs one grade each")
    aligned = replace(_aligned(asked, qrels, runs), qrels_hash=qrels_hash)
    own = score(aligned, ours, rounding=asked.like or "exact")
    parts = iter(own.values), iter(foreign_values(theirs, judged, runs, aligned))
    values = np.array([next(parts[isinstance(measure, ForeignMeasure)]) for measure in measures])
    named = iter(own.measures)
    shown = tuple(next(named) if isinstance(measure, Measure) else measure for measure in measures)
    return Evaluated(scores=replace(own, measures=shown, values=values), curve=_curve(asked, aligned, store))


def _sample_notes(qrels: "Qrels", aligned: "Alignment") -> list[str]:
    """Say what qrels that are a sample mean for the scores."""
    if qrels.strata is None:
        return []
    judged = int((qrels.grades >= 0).sum())
    drawn = f"the qrels are a sample, {judged:,} of {len(qrels):,} documents drawn"
    notes = [f"{drawn}: xinfAP, infNDCG, statAP and statP estimate what others take for not relevant"]
    empty = aligned.lists.sample.strata_without_draws()
    return [*notes, *([f"nothing was drawn from {counted(empty, 'stratum', 'strata')}"] if empty else [])]


def explain_lists(
    asked: Asked, topic: str, *, depth: int = 30, store: Store | None = None
) -> "list[tuple[str, list[Step]]]":
    """Give for each run its name and its list for a topic, laid open."""
    from cranfield.evaluate.explain import explain

    problems: list[Problem] = []
    qrels = _qrels(asked.qrels, problems)
    found = _runs(asked.runs, store, silent, problems, read=_in_full)
    if qrels is None or problems:
        raise _unusable(problems)
    rel, reference = _threshold(store), asked.like or "10"
    return [
        (run.tag, explain(qrels, run, topic, rel=rel, depth=depth, reference=reference))
        for run in _named_apart(cast("list[Run]", found), asked.runs)
    ]


def _threshold(store: Store | None) -> int:
    return 1 if store is None else current_scale(store)[1].relevant_from


def _read(
    asked: Asked, store: Store | None, progress: Progress, kept: KeptAlignment | None
) -> "tuple[Qrels, list[AnyRun], Alignment]":
    """Read and align everything, and tell everything that is wrong with any of it at once."""
    problems: list[Problem] = []
    qrels = _qrels(asked.qrels, problems)

    def aligned() -> "tuple[list[AnyRun], Alignment]":
        read = _in_full if qrels is None else _short_way(qrels, asked.like or "10")
        found = _runs(asked.runs, store, progress, problems, read=read)
        if qrels is None or problems:
            raise _unusable(problems)
        runs = _named_apart(found, asked.runs)
        return runs, _aligned(asked, qrels, runs)

    contents = None if kept is None else contents_of(asked.runs, store)
    if kept is None or contents is None or qrels is None:
        return cast("Qrels", qrels), *aligned()
    topics = tuple(_topics_in(Path(asked.topics))) if asked.topics not in TOPIC_SETS else asked.topics
    return qrels, *kept.get((what_qrels_say(qrels), contents, topics, asked.like), aligned)


def _read_with_subtopics(
    asked: Asked, store: Store | None, progress: Progress
) -> "tuple[list[SubtopicRow], Qrels, str, list[Run]]":
    """Read everything with ids and subtopics, and tell everything that is wrong with any of it at once."""
    from cranfield.qrels.subtopics import read_subtopics

    problems: list[Problem] = []
    judged = None
    try:
        judged = read_subtopics(Source(asked.qrels))
    except ProblemsFound as error:
        problems += error.problems
    except SourceError as error:
        problems.append(error.problem)
    runs = _runs(asked.runs, store, progress, problems, read=_in_full)
    if judged is None or problems:
        raise _unusable(problems)
    return *judged, _named_apart(cast("list[Run]", runs), asked.runs)


def _unusable(problems: Sequence[Problem]) -> ProblemsFound:
    mended = any(problem.repairable for problem in problems)
    hint = "; cranfield runs check --repair FOLDER FILE… writes corrected copies" if mended else ""
    return ProblemsFound(f"these files cannot be evaluated{hint}", problems)


def _qrels(path: Path, problems: list[Problem]) -> "Qrels | None":
    """Read the qrels; where something is wrong with them, it is added to `problems`."""
    from cranfield.qrels.reading import read_qrels

    try:
        return read_qrels(Source(path))
    except ProblemsFound as error:
        problems += error.problems
    except SourceError as error:
        problems.append(error.problem)
    return None


def _runs(
    words: Sequence[str],
    store: Store | None,
    progress: Progress,
    problems: list[Problem],
    *,
    read: "Callable[[Source], AnyRun]",
) -> "list[AnyRun]":
    """Load stored runs and read files, two at a time; problems of files are added to `problems`."""
    stored = StoredRuns(store)
    for word in words:
        if word in stored and Path(word).exists():
            raise UsageError(f"{quoted(word)} is a stored run and a file; write ./{word} for the file")
    runs: list[AnyRun] = []
    with ThreadPoolExecutor(WORKERS) as workers:
        coming = {
            word: workers.submit(stored.fetched(word) if word in stored else partial(read, Source(Path(word))))
            for word in dict.fromkeys(words)
        }
        for done, word in enumerate(words, start=1):
            try:
                runs.append(coming[word].result())
            except SourceError as error:
                problems.append(error.problem)
            except ProblemsFound as error:
                problems += error.problems
            progress("reading runs", done, len(words))
    return runs


def _short_way(qrels: "Qrels", reference: As) -> "Callable[[Source], AnyRun]":
    """Give the function that reads a run file the short way if it is an ordinary one, else the long way."""
    from cranfield.evaluate.direct import read_direct
    from cranfield.evaluate.judged_pairs import judged_pairs
    from cranfield.runs.reading import format_of

    judged = judged_pairs(qrels)

    def read(source: Source) -> "AnyRun":
        if judged is None or format_of(source).__name__ != "Trec":
            return _in_full(source)
        return read_direct(source, judged, reference=reference) or _in_full(source)

    return read


def _in_full(source: Source) -> "Run":
    """Read and rank a run file with all its ids, or raise everything that is wrong with it."""
    from cranfield.runs.order import ranked
    from cranfield.runs.reading import read_rows

    rows = read_rows(source)
    errors = [problem for problem in rows.problems if problem.severity == "error"]
    if errors:
        raise ProblemsFound(f"{rows.source_name} cannot be evaluated", errors)
    return ranked(rows)


def _refuse_strangers(aligned: "Alignment") -> None:
    """Refuse runs that have nothing in common with the qrels."""
    from cranfield.evaluate.align import strangers

    found = strangers(aligned)
    if found:
        problems = [Problem("nothing-in-common", f"{said} of these qrels") for said in found]
        raise ProblemsFound("is this a run of another collection?", problems)


def _named_apart(runs: "list[Named]", words: Sequence[str]) -> "list[Named]":
    """Give runs with the same tag the names of their files."""
    tags, names = [run.tag for run in runs], [Path(word).name for word in words]
    files = names if len(set(names)) == len(names) else words
    return [
        replace(run, tag=file) if tags.count(run.tag) > 1 or not run.tag else run
        for run, file in zip(runs, files, strict=True)
    ]


def _topics_in(path: Path) -> list[str]:
    """Read topic ids from a file: the first word of each line."""
    return [line.split()[0] for _, line in Source(path).lines() if line.strip() and not line.startswith("#")]


def with_measures(asked: Asked, measures: Sequence[str]) -> Asked:
    """Give the same request with other measures."""
    return replace(asked, measures=tuple(measures))
