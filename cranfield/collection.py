"""The Python API: what can be done with qrels and runs, and with a collection.

`Files` and `Collection` give results, as the command line prints them. `Opened` is what Python users open: the same
methods, with frames for results. `import cranfield` brings this module along, so nothing heavy is imported here
before something is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial, wraps
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, cast

from cranfield.base.errors import InputError, Problem, ProblemsFound, UsageError, check_known, quoted
from cranfield.base.files import Progress, located, silent
from cranfield.base.registry import deferred
from cranfield.base.spread import HERE, Cluster, Processes, Workers
from cranfield.base.text import Result, Value, facts_table, few, html, visible_line
from cranfield.workflows.inputs import Cached, Inputs, PoolOptions, words_of

with deferred:
    import pandas as pd

    from cranfield.compare import by_measure
    from cranfield.evaluate import frames, reading
    from cranfield.evaluate import measure as measuring
    from cranfield.qrels import qrels as qrels_core
    from cranfield.report import figures
    from cranfield.runs import reading as runs_reading
    from cranfield.runs import sets
    from cranfield.store import events
    from cranfield.store import runs as stored_runs
    from cranfield.workflows import check as check_workflow
    from cranfield.workflows import collection as collections
    from cranfield.workflows import compare as compare_workflow
    from cranfield.workflows import corpus as corpus_workflow
    from cranfield.workflows import display
    from cranfield.workflows import qrels as qrels_workflow
    from cranfield.workflows import status as status_workflow
    from cranfield.workflows.evaluate import evaluate as evaluate_workflow
    from cranfield.workflows.judge import judge as judge_workflow
    from cranfield.workflows.pool import pool as pool_workflow
    from cranfield.workflows.report import report as report_workflow
    from cranfield.workflows.runs import runs as runs_workflow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.scores import Scores
    from cranfield.qrels.qrels import Qrels
    from cranfield.runs.run import Run
    from cranfield.store import Store
    from cranfield.workflows.inputs import Found, PathLike, Watch
    from cranfield.workflows.reuse.reuse import ReuseResult

    Judged = PathLike | Mapping[str, Mapping[str, int]] | pd.DataFrame
    Nameless = PathLike | pd.DataFrame
    Ranked = Nameless | Mapping[str, Mapping[str, float]]
    Grouped = PathLike | Mapping[str, str] | pd.DataFrame

_EVENT_COLUMNS = (
    *("topic", "document", "layer", "assessor", "kind", "grade", "seconds", "confidence", "reason", "note"),
    *("purpose", "source", "source_name", "scale", "guidelines"),
    *("happened", "recorded", "sequence", "uuid", "undoes"),
)

NAMES_SHOWN = 12
"""How many runs a summary of the inputs names."""

Options = ParamSpec("Options")


class Files(Cached):
    """Qrels and runs from files, frames and mappings; files are read when they are needed, and once.

    `given` are paths, or runs that are at hand; `called` are their names where those were given.
    """

    def __init__(
        self,
        qrels: object,
        runs: object,
        pool: PoolOptions,
        progress: Watch,
        *,
        skip_bad: bool = False,
        workers: Workers = HERE,
    ) -> None:
        super().__init__(None, qrels_or_file(qrels), pool, progress, workers=workers)
        self.called, self.given = frames.named_runs(runs)
        self._judged = cast("Path | Qrels", self.given_qrels)
        files = [str(self._judged)] if isinstance(self._judged, Path) else []
        files += [one for one in self.given if isinstance(one, str)]
        missing = [Problem("unreadable", "no such file", file=file) for file in files if _is_missing(file)]
        if missing:
            raise ProblemsFound("these files cannot be opened", missing)
        if skip_bad:
            with progress() as shown:
                good = reading.without_bad(self._request(self.given, shown))
            kept = {id(one) for one in good.runs}
            self.called = self.called and tuple(compress(self.called, [id(one) in kept for one in self.given]))
            self.given, self.left_out = cast("tuple[str | Run, ...]", good.runs), good.notes
        self._read: tuple[Qrels, dict[str, AnyRun]] | None = None
        # With all their ids.
        self._in_full: dict[str, AnyRun] = {}

    def names(self) -> tuple[str, ...]:
        """The names of all runs; files are read for that where they were not yet."""
        return tuple(self._read_all()[1]) if self.called is None else self.called

    def members(self) -> Sequence[runs_reading.Member]:
        """Who the runs belong to; a run that is not here is refused."""
        groups = cast("tuple[runs_reading.Member, ...]", self.pool_options.groups or ())
        unknown = [one.run for one in groups if one.run not in self.names()]
        if unknown and not self.left_out:  # whose tags are not known
            raise InputError(f"the groups name runs that are not among these: {', '.join(map(quoted, unknown))}")
        return groups

    def judged(self) -> Qrels:
        """The qrels as they are."""
        return self._read_all()[0]

    def listed(self) -> tuple[str, ...]:
        """The names of all runs, or those of their files: nothing is read for that."""
        return self.called or tuple(Path(one).name if isinstance(one, str) else one.tag for one in self.given)

    def close(self) -> None:
        """Forget what was read."""
        super().close()
        self._read = None
        self._in_full.clear()

    def in_full(self, runs: Sequence[str | AnyRun], progress: Progress = silent) -> tuple[AnyRun, ...]:
        """Runs of a request so that their documents are known by name; only those are read, and once."""
        names = [run if isinstance(run, str) else run.tag for run in runs]
        given = dict(zip(self.names(), self.given, strict=True))
        new = [name for name in dict.fromkeys(names) if name not in self._in_full]
        if new:
            request = reading.Request(
                qrels=qrels_core.qrels_of([]), runs=tuple(given[name] for name in new), progress=progress
            )
            found = reading.read_in_full(request)[1]
            self._in_full |= {name: reading.renamed(run, name) for run, name in zip(found, new, strict=True)}
        return tuple(self._in_full[name] for name in names)

    def find(
        self, names: Sequence[str] | None, words: Sequence[str], *, with_ids: bool, as_files: bool, progress: Progress
    ) -> Found:
        """The qrels and the runs; measures of others need documents by name too.

        Files that are large together stay files: they are scored in pieces.
        """
        parsed = measuring.parse_measures(words)
        with_ids = with_ids or any(not isinstance(one, measuring.Measure) for one in parsed)
        files = [one for one in self.given if isinstance(one, str)]
        as_files = as_files and not with_ids and names is None and self.called is None and self._read is None
        if as_files and len(files) == len(self.given) and reading.in_pieces(files):
            return self._judged, self.given
        known: Any = self.names() if with_ids else self._read_all(progress)[1]
        check_known("run", map(str, names or ()), known)
        chosen = tuple(known) if names is None else names
        if with_ids:
            return self._judged, self.in_full(chosen, progress)
        judged, read = self._read_all(progress)
        return judged, tuple(read[name] for name in chosen)

    def with_others(self, request: reading.Request) -> reading.Request:
        """Add the runs that are here and were not requested; files are read now."""
        _, runs = self._read_all()
        if request.runs == self.given:
            return replace(request, runs=tuple(runs.values()))
        known = {run if isinstance(run, str) else run.tag for run in request.runs}
        return replace(request, runs=(*request.runs, *(run for name, run in runs.items() if name not in known)))

    def _read_all(self, progress: Progress = silent) -> tuple[Qrels, dict[str, AnyRun]]:
        if self._read is None:
            qrels, found = reading.read_short(self._request(self.given, progress), keep_keys=True)
            names = self.called or tuple(run.tag for run in found)
            self._read = qrels, {name: reading.renamed(run, name) for run, name in zip(found, names, strict=True)}
        return self._read

    def _request(self, runs: tuple[str | AnyRun, ...], progress: Progress) -> reading.Request:
        return reading.Request(qrels=self._judged, runs=runs, workers=self.workers, progress=progress)


class Collection(Cached):
    """An open collection: what can be asked of its runs and qrels, and its stages."""

    store: Store

    def members(self) -> Sequence[runs_reading.Member]:
        """Who the runs belong to."""
        facts = stored_runs.facts(self.store)
        return [runs_reading.Member(one.name, one.group_name, one.role == "contributing") for one in facts]

    def listed(self) -> tuple[str, ...]:
        """The names of all runs."""
        return self.names()

    def close(self) -> None:
        super().close()
        self.store.close()

    def find(
        self, names: Sequence[str] | None, words: Sequence[str], *, with_ids: bool, as_files: bool, progress: Progress
    ) -> Found:
        """The qrels, and the runs with these names, or all."""
        known = self.names()
        found = known if names is None else sets.expanded([*map(str, names)], known)
        check_known("run", [name for name in found if name not in known and not located(name).exists()], known)
        return self.qrels_found(), known if names is None else self.stored(found)

    @property
    def corpus(self) -> corpus_workflow.Corpus:
        """Documents and topics."""
        return corpus_workflow.Corpus(self.store)

    @property
    def runs(self) -> runs_workflow.Runs:
        """The submitted runs."""
        return runs_workflow.Runs(self.store)

    @property
    def judge(self) -> judge_workflow.Judge:
        """Judging: sessions, assignment, progress, agreement, adjudication, packets."""
        return judge_workflow.Judge(self.store)

    @property
    def pool(self) -> pool_workflow.Pool:
        """Pools: build, extend, top up, show, explain, verify."""
        return pool_workflow.Pool(self.store)

    @property
    def qrels(self) -> qrels_workflow.Qrels:
        """Qrels: export, import, release, list, diff, licence and rule."""
        return qrels_workflow.Qrels(self.store)

    def status(self) -> status_workflow.Status:
        """The state of the collection and the next step."""
        return status_workflow.status(self.store)

    def check(self, against: PathLike | None = None) -> check_workflow.Soundness:
        """Verify the integrity of the file."""
        with self.progress() as progress:
            other = None if against is None else Path(against)
            return check_workflow.check(self.store, against=other, progress=progress)

    def backup(self, file: PathLike) -> None:
        """Copy the file, also while it is in use."""
        collections.back_up(self.store, Path(file))


def _framed(
    method: Callable[Concatenate[Inputs, Options], Result],
) -> Callable[Concatenate[Opened, Options], pd.DataFrame]:
    """A method of `Inputs` as one of `Opened` that gives the frame of its result."""

    @wraps(method)
    def framed(self: Opened, *arguments: Options.args, **options: Options.kwargs) -> pd.DataFrame:
        return method(self.results, *arguments, **options).frame()

    framed.__annotations__ = {**method.__annotations__, "return": "pandas.DataFrame"}
    return cast("Callable[Concatenate[Opened, Options], pd.DataFrame]", framed)


class Opened(AbstractContextManager["Opened"]):
    """Qrels and runs. They are read once, and can then be scored and compared as often as needed.

    The methods have the names of the commands. A wrong call or bad input raises a `CranfieldError`, whose message
    says what to do. Work that takes longer than a second shows a progress bar, in a notebook and on a terminal.
    """

    def __init__(self, results: Files | Collection) -> None:
        self.results = results

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the collection; files need no closing."""
        self.results.close()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs."""
        return self.results.names()

    @property
    def groups(self) -> pd.DataFrame:
        """The group of each run, and its role: `pooled` (contributing) or `new`."""
        members = self.results.members()
        rows = [(one.run, one.group, "pooled" if one.pooled else "new") for one in members]
        return pd.DataFrame(rows, columns=["run", "group", "role"])

    @property
    def plot(self) -> Plots:
        """Figures of scores on matplotlib axes: strips, precision_recall and differences."""
        return Plots(self.results)

    evaluate = _framed(Inputs.evaluate)
    compare = _framed(Inputs.compare)
    settle = _framed(Inputs.settle)
    simulate = _framed(Inputs.simulate)
    explain = _framed(Inputs.explain)

    def reuse(
        self, *runs: str, measures: str | Sequence[str] | None = None, thresholds: Mapping[str, float] | None = None
    ) -> ReuseResult:
        """Assess how reliable scores are: for non-contributing runs in general, and for each run (all by default).

        `thresholds` apply to this call.
        """
        return self.results.reuse(*runs, measures=measures, thresholds=thresholds)

    def qrels(self, *, unjudged: bool = False, form: frames.Form = "frame") -> Any:
        """The qrels: topic, document and grade. `unjudged` adds pooled documents without a judgment, as grade -1.

        `form` is what another library takes: a frame for `pyterrier` or `ir_measures`, an object of `ranx` or
        `trectools`.
        """
        known = self.results.judged()
        qrels = known if unjudged else qrels_core.judged_only(known)
        given = frames.given_back(qrels, form)
        if form == "frame":
            given.attrs.update(qrels=qrels.content_hash, name=qrels.name)
        return given

    def run(self, name: str, *, form: frames.Form = "frame") -> Any:
        """A run: topic, document, rank and score, best first with ties as they are scored; `form` as in `qrels`."""
        with self.results.requested("AP", [name], with_ids=True) as request:
            return frames.given_back(reading.read_in_full(request)[1][0], form)

    def pool(
        self, name: str = "", *, by: Literal["document", "run", "group", "topic", "depth", "version"] = "document"
    ) -> pd.DataFrame:
        """A pool of the collection, the latest by default: its documents, or one table about it."""
        inputs = self.results
        return pool_workflow.Pool(inputs.collection("a pool")).show(name or inputs.pool_options.pool, by=by).frame()

    def judgments(self, *, layers: str | Sequence[str] = (), every: bool = False) -> pd.DataFrame:
        """The judgments that count now, one row for each assessor and document; with `every` all events.

        All layers are included unless `layers` are named.
        """
        store, words = self.results.collection("a judgment"), words_of(layers)
        rows = events.events(store, layers=words) if every else events.standing(store, layers=words)
        frame = pd.DataFrame(map(attrgetter(*_EVENT_COLUMNS), rows), columns=list(_EVENT_COLUMNS))
        return frame.astype({"grade": "Int64", "seconds": "float64", "confidence": "float64"})

    def agreement(
        self,
        by: Literal["overall", "pair", "topic", "probes", "confusion"] = "overall",
        *,
        layers: str | Sequence[str] = ("main",),
    ) -> pd.DataFrame:
        """Agreement of the assessors: one row for each coefficient, with its confidence interval."""
        judge = judge_workflow.Judge(self.results.collection("agreement"))
        return judge.agreement(by=by, layers=words_of(layers)).frame()

    def report(
        self,
        path: PathLike = "report.html",
        *,
        measures: str | Sequence[str] = (),
        public: bool = False,
        card: PathLike | None = None,
    ) -> Path:
        """Write the report of the collection, as HTML or Markdown according to the file name; returns its path.

        `public` omits the names of assessors; `card` is a file for the collection card.
        """
        inputs = self.results
        store, qrels = inputs.collection("a report"), inputs.given_qrels
        if qrels is not None and not isinstance(qrels, str | Path):
            raise UsageError("a report needs the judgments of the collection, a release or a file as qrels")
        request = report_workflow.ReportRequest(
            measures=words_of(measures),
            qrels=None if qrels is None else str(qrels),
            public=public,
            layers=inputs.layers,
        )
        with inputs.progress() as progress:
            made = report_workflow.report_on(store, request, with_card=card is not None, progress=progress)
        made.write(Path(path), None if card is None else Path(card))
        return Path(path)

    def _facts(self) -> dict[str, Value]:
        inputs = self.results
        if inputs.is_closed:
            return {"closed": "yes"}
        where = {} if inputs.store is None else {"collection": str(inputs.store.path)}
        names, qrels = inputs.listed(), inputs.given_qrels
        judged = f"{len(qrels):,} rows, given" if isinstance(qrels, qrels_core.Qrels) else qrels or "as judged now"
        return {**where, "qrels": str(judged), "runs": f"{len(names):,}: {few(names, NAMES_SHOWN)}"}

    def __repr__(self) -> str:
        return visible_line(f"Opened({'; '.join(f'{name}: {value}' for name, value in self._facts().items())})")

    def _repr_html_(self) -> str:
        return html([facts_table(self._facts(), caption="Opened")])


class Plots:
    """Figures of scores. Each is drawn on `ax`, or on a new figure of pyplot, and returns the axes."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs

    def _scores(self, measure: str, runs: Sequence[str] | None) -> Scores:
        with self._inputs.requested(measure, runs) as request:
            return self._inputs.evaluated(request, verdicts=False).scores

    def strips(self, measure: str = "AP", *, runs: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
        """Scores by topic: each run as a row of points, one per topic, with its mean as a bar.

        For a measure with another aggregate, such as `AP(agg=median)`, the bar shows that aggregate. It is the figure
        of `cranfield evaluate --plot`.
        """
        return evaluate_workflow.draw_strips(self._scores(measure, runs), on=ax or figures.shown_axes)

    def precision_recall(self, *, runs: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
        """Interpolated precision at the eleven recall levels, averaged over topics, one line per run.

        It is the figure of `cranfield evaluate -m iprec_at_recall --plot`.
        """
        scores = self._scores(evaluate_workflow.RECALL_LEVELS, runs)
        return evaluate_workflow.draw_curves(scores, on=ax or figures.shown_axes)

    def differences(self, first: str, second: str, measure: str = "AP", *, ax: Axes | None = None) -> Axes:
        """The difference of two runs, first − second, on each topic, from the largest gain to the largest loss.

        It is the figure of `cranfield compare --plot` for two runs.
        """
        scores = self._scores(measure, [first, second])
        (compared,) = by_measure.compare_scores(scores, by_measure.Options())
        return compare_workflow.draw_differences(compared, scores.topic_ids, on=ax or figures.shown_axes)


def open_collection(
    path: PathLike,
    *,
    qrels: Judged | None = None,
    layers: str | Sequence[str] = (),
    pool: str = "",
    groups: Grouped | None = None,
    pool_depth: int | None = None,
    card: PathLike | None = None,
    progress: bool = True,
    jobs: int = 1,
    cluster: object = None,
) -> Opened:
    """Open a collection. Its runs are scored with its current judgments, or with other `qrels`.

    `qrels` are the name of a release, a file, a frame, or topic -> document -> grade. The current judgments are those
    of the main layer, unless `layers` are named. Verdicts use the latest pool, the one named by `pool`, or the pool
    described by `groups`, `pool_depth` and `card` as in `open_files`. `progress=False` shows no progress bars. Large
    jobs are spread as in `open_files`.
    """
    options = pool_given(groups=groups, depth=pool_depth, card=card, pool=pool)
    # Checked before the collection is opened, so that nothing stays open if they are wrong.
    judged = qrels if qrels is None or isinstance(qrels, str) else qrels_or_file(qrels)
    store, watch = collections.open_collection(Path(path)), partial(display.shown_progress, wanted=progress)
    workers = Cluster(cluster) if cluster else Processes(jobs)
    return Opened(Collection(store, judged, options, watch, layers=words_of(layers), workers=workers))


def open_files(
    *,
    qrels: Judged,
    runs: Nameless | Sequence[Nameless] | Mapping[str, Ranked],
    groups: Grouped | None = None,
    pool_depth: int | None = None,
    card: PathLike | None = None,
    skip_bad: bool = False,
    progress: bool = True,
    jobs: int = 1,
    cluster: object = None,
) -> Opened:
    """Open qrels and runs without a collection.

    `qrels` are a file, a frame, or topic -> document -> grade. `runs` are files or frames, one or a list, or a
    mapping of name -> file, frame, or topic -> document -> score. `groups` name the contributing runs: a file with
    run tag, group and `pooled` or `new` on each line, tab separated; a frame with run, group and role; or run ->
    group for the contributing runs. `pool_depth` is the depth of the pool; `card` is the file in which a published
    collection describes its pool. `skip_bad` leaves out run files that have errors; `attrs["notes"]` of each frame
    name them. `progress=False` shows no progress bars.

    Large jobs are spread over `jobs` processes, or over the Dask `cluster`: its address, or a `distributed.Client`.
    Results are the same.
    """
    options = pool_given(groups=groups, depth=pool_depth, card=card)
    watch = partial(display.shown_progress, wanted=progress)
    workers = Cluster(cluster) if cluster else Processes(jobs)
    return Opened(Files(qrels, runs, options, watch, skip_bad=skip_bad, workers=workers))


def qrels_or_file(value: object) -> Path | Qrels:
    """Qrels from a frame or a mapping; a path is read later."""
    return located(value) if isinstance(value, str | os.PathLike) else frames.qrels_given(value)


def pool_given(
    *, groups: object = None, depth: int | None = None, card: str | os.PathLike[str] | None = None, pool: str = ""
) -> PoolOptions:
    """What Python users say about the pool, checked as far as possible without the runs."""
    if depth is not None and (type(depth) is not int or depth < 1):
        raise UsageError(f"pool_depth is an integer from 1, not {depth!r}")
    path = None if card is None else Path(card)
    if path is not None and _is_missing(str(path)):
        raise ProblemsFound("this card cannot be opened", [Problem("unreadable", "no such file", file=str(path))])
    members = None if groups is None else frames.groups_given(groups)
    return PoolOptions(groups=members, depth=depth, card=path, pool=pool)


def _is_missing(file: str) -> bool:
    return file != "-" and not located(file).exists()
