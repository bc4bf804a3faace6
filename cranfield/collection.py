"""The API under both fronts: what can be done with qrels and runs, and with a collection.

`Files` and `Collection` give results, which the command line prints. `Opened` is what Python users open: the same
methods, with frames for results. `import cranfield` brings this module along, so nothing heavy is imported here
before something is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.base.tables import Result, Value, facts_table, html
from cranfield.workflows.reuse import reuse as reuse_workflow

with deferred:
    import pandas as pd

    from cranfield.compare import by_measure
    from cranfield.qrels import qrels as qrels_core
    from cranfield.report import figures
    from cranfield.store import events
    from cranfield.workflows import check as check_workflow
    from cranfield.workflows import collection as collections
    from cranfield.workflows import compare as compare_workflow
    from cranfield.workflows import corpus as corpus_workflow
    from cranfield.workflows import display
    from cranfield.workflows import inputs as input_kinds
    from cranfield.workflows import qrels as qrels_workflow
    from cranfield.workflows import settle as settle_workflow
    from cranfield.workflows import simulate as simulate_workflow
    from cranfield.workflows import status as status_workflow
    from cranfield.workflows.evaluate import evaluate as evaluate_workflow
    from cranfield.workflows.evaluate import explain as explain_workflow
    from cranfield.workflows.evaluate import figures as evaluate_figures
    from cranfield.workflows.judge import judge as judge_workflow
    from cranfield.workflows.pool import pool as pool_workflow
    from cranfield.workflows.report import material as report_material
    from cranfield.workflows.report import report as report_workflow
    from cranfield.workflows.runs import runs as runs_workflow

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from rich.console import RenderableType

    from cranfield.store.store import Store

    PathLike = str | os.PathLike[str]
    Judged = PathLike | Mapping[str, Mapping[str, int]] | pd.DataFrame
    Nameless = PathLike | pd.DataFrame
    Ranked = Nameless | Mapping[str, Mapping[str, float]]
    Grouped = PathLike | Mapping[str, str] | pd.DataFrame
    Clusters = PathLike | Mapping[str, Hashable] | None

_EVENT_COLUMNS = (
    *("topic", "document", "layer", "assessor", "kind", "grade", "seconds", "confidence", "reason", "note"),
    *("purpose", "source", "source_name", "scale", "guidelines"),
    *("happened", "recorded", "sequence", "uuid", "undoes"),
)

Options = ParamSpec("Options")
Outcome = TypeVar("Outcome")


class Files:
    """Qrels and runs. They are read once, and can then be scored and compared as often as needed."""

    def __init__(self, inputs: input_kinds.Inputs) -> None:
        self.inputs = inputs

    def evaluate(
        self,
        measures: str | Sequence[str] = ("AP", "nDCG@10", "P@10", "RR"),
        *,
        runs: Sequence[str] | None = None,
        by_topic: bool = False,
        topics: PathLike | Sequence[str] = "qrels",
        like: Literal["9", "10"] | None = None,
        ties: Literal["trec", "best", "worst", "expected"] = "trec",
        duplicates: Literal["plain", "novelty"] = "plain",
        clusters: Clusters = None,
        letters: Literal["tukey", "t"] | None = None,
        verdicts: bool = True,
        best_first: bool = False,
    ) -> evaluate_workflow.Evaluation:
        """Scores of runs (default: all), one row per run, topic and measure; topic `all` is the summary.

        Each score has an interval (`low`, `high`) over all grades of the unjudged documents, the share judged, the
        expected loss with its upper bound, a verdict and its reason; `verdicts=False` omits them. `topics` is
        qrels, common, run, a file of topic ids, or a list of ids. `like` selects the version of trec_eval to
        reproduce. `best_first` sorts runs by the first measure. The frame's `attrs` hold the hash of the qrels, the
        tie order, and in `notes` what the command line prints.
        """
        options = dict[str, Any](like=like, ties=ties, duplicates=duplicates, letters=letters)
        request = self.inputs.request(measures, runs, topics=topics, clusters=clusters, **options)
        with self.inputs.progress() as progress:
            result = self.inputs.evaluated(request, verdicts=verdicts, progress=progress)
        return replace(result, by_topic=by_topic, best_first=best_first)

    def compare(
        self,
        *runs: str,
        measures: str | Sequence[str] = ("AP", "nDCG@10"),
        baselines: str | Sequence[str] = (),
        test: str = "t",
        correction: str | None = None,
        alpha: float = 0.05,
        tolerance: float = 0.0,
        draws: int | None = None,
        seed: int = 1,
        systems: Mapping[str, Sequence[str]] | None = None,
        difference: float | None = None,
        power: float = 0.8,
        topics: PathLike | Sequence[str] = "qrels",
        like: Literal["9", "10"] | None = None,
        duplicates: Literal["plain", "novelty"] = "plain",
        clusters: Clusters = None,
        verdicts: bool = True,
        by_topic: bool = False,
    ) -> compare_workflow.Comparison:
        """Compare runs (all by default): one row for each measure and pair; differences are a − b.

        `claim` says what unjudged documents leave of a lead: robust, supported, conservative win or open, with
        `claim_reason`; `verdicts=False` omits both. `systems` maps the name of a system to its runs, which then count
        as one entry. The frame's `attrs` hold the hash of the qrels, the test, the correction and the draws, and in
        `notes` the messages of the command line, among them the difference that these topics detect with probability
        `power`, and the number of topics that a true `difference` needs. The default correction is Holm's, or
        Tukey's own. `by_topic` gives one row for each measure, pair and topic: both scores and their difference.
        """
        settings: Any = {"like": like, "duplicates": duplicates}
        request = self.inputs.request(measures, runs or None, topics=topics, clusters=clusters, **settings)
        options = by_measure.Options(
            baselines=(baselines,) if isinstance(baselines, str) else tuple(baselines),
            test=test,
            correction=correction or "",
            alpha=alpha,
            tolerance=tolerance,
            draws=draws,
            seed=seed,
            systems={name: tuple(members) for name, members in (systems or {}).items()},
            power=power,
            difference=difference,
        )
        return compare_workflow.compare_runs(self.inputs, request, options, verdicts=verdicts, by_topic=by_topic)

    def reuse(
        self,
        *runs: str,
        measures: str | Sequence[str] = ("nDCG@10", "P@10", "AP"),
        closure: Literal["at-k", "list", "open"] = "at-k",
        further: int = 0,
        thresholds: Mapping[str, float] | None = None,
    ) -> reuse_workflow.ReuseResult:
        """Assess how reliable scores are: for non-contributing runs in general, and for each run (all by default).

        `closure` says which unjudged documents may be relevant: those within the cutoff, those in the whole list, or
        also `further` documents that no run retrieved. `thresholds` apply to this call.
        """
        return reuse_workflow.reuse(self.inputs, runs, measures, closure, further=further, thresholds=thresholds)

    def settle(
        self,
        first: str,
        second: str | None = None,
        *,
        measures: str | Sequence[str] = ("nDCG@10",),
        closure: Literal["at-k", "list", "open"] = "at-k",
        everything: bool = False,
        queue: str = "",
        into: str = "main",
    ) -> settle_workflow.Queue:
        """Find the documents whose judgments decide between two runs; for one run, those that make it SAFE.

        One row for each document, the most influential first: those that suffice if none of them is relevant, or
        with `everything` all that could matter. `queue` stores them in the collection for `cranfield judge --queue`;
        their judgments go into the layer `into`. `attrs["notes"]` summarises the comparison.
        """
        return settle_workflow.settle(
            self.inputs, first, second, measures, closure, everything=everything, queue=queue, into=into
        )

    def simulate(
        self,
        *plans: str,
        budgets: Sequence[int] = (),
        measures: str | Sequence[str] = ("nDCG@10", "AP"),
        runs: Sequence[str] | None = None,
        outsiders: bool = False,
        difference: float | None = None,
        seconds_per_document: float | None = None,
        seed: int = 0,
    ) -> Result:
        """Replay pooling plans against the known judgments: one row for each plan and measure.

        Each row has the cost of the plan, the share of the known relevant documents that it finds, and its effect on
        the ranking of the runs. `budgets` continue the last step of a plan up to that many documents over all topics.
        `outsiders` also replays every plan without each group; `difference` adds the number of topics needed to
        detect it. Depths are replayed where no plan is named. `attrs["notes"]` says what a replay cannot show.
        """
        options = simulate_workflow.SimulateOptions(
            plans=plans,
            budgets=tuple(budgets),
            groups=self.inputs.pool.groups,
            outsiders=outsiders,
            difference=difference,
            seconds=seconds_per_document,
            seed=seed,
        )
        request = self.inputs.request(measures, runs, with_ids=True)
        with self.inputs.progress() as progress:
            return simulate_workflow.simulate_plans(request, options, store=self.inputs.store, progress=progress)

    def explain(
        self,
        topic: str,
        *runs: str,
        depth: int = 30,
        measures: str | Sequence[str] = "AP",
        like: Literal["9", "10"] | None = None,
        ties: Literal["trec", "best", "worst"] = "trec",
        duplicates: Literal["plain", "novelty"] = "plain",
        clusters: Clusters = None,
    ) -> explain_workflow.Explanation:
        """Ranked lists of runs for a topic: each rank with its document, its judgment, and P, R and DCG so far.

        The relevance threshold and gains are those of `measures`: `P(rel=2)` counts grades from 2 on as relevant.
        """
        options = dict[str, Any](like=like, ties=ties, duplicates=duplicates)
        request = self.inputs.request(measures, runs or None, with_ids=True, clusters=clusters, **options)
        return explain_workflow.explain_lists(request, topic, depth=depth, store=self.inputs.store)


class Collection(Files):
    """An open collection: the methods of `Files` on its runs and qrels, and its stages."""

    @property
    def store(self) -> Store:
        """The open file."""
        return self.inputs.collection("this")

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

    def check(self) -> check_workflow.Soundness:
        """Verify the integrity of the file."""
        with self.inputs.progress() as progress:
            return check_workflow.check(self.store, progress=progress)

    def backup(self, file: PathLike) -> None:
        """Copy the file, also while it is in use."""
        collections.back_up(self.store, Path(file))


def _passed_on(
    method: Callable[Concatenate[Files, Options], Outcome],
) -> Callable[Concatenate[Opened, Options], Outcome]:
    """A method of `Files` as one of `Opened`."""

    @wraps(method)
    def passed_on(self: Opened, *arguments: Options.args, **options: Options.kwargs) -> Outcome:
        return method(self.results, *arguments, **options)

    return cast("Callable[Concatenate[Opened, Options], Outcome]", passed_on)


def _framed(
    method: Callable[Concatenate[Files, Options], Result],
) -> Callable[Concatenate[Opened, Options], pd.DataFrame]:
    """A method of `Files` as one of `Opened` that gives the frame of its result."""

    @wraps(method)
    def framed(self: Opened, *arguments: Options.args, **options: Options.kwargs) -> pd.DataFrame:
        return method(self.results, *arguments, **options).frame()

    framed.__annotations__ = {**method.__annotations__, "return": "pandas.DataFrame"}
    return cast("Callable[Concatenate[Opened, Options], pd.DataFrame]", framed)


class Opened:
    """Qrels and runs. They are read once, and can then be scored and compared as often as needed.

    The methods have the names of the commands. A wrong call or bad input raises a `CranfieldError`, whose message
    says what to do. Work that takes longer than a second shows a progress bar, in a notebook and on a terminal.
    """

    def __init__(self, results: Files) -> None:
        self.results = results

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the collection; files need no closing."""
        self.results.inputs.close()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs."""
        return self.results.inputs.names()

    @property
    def groups(self) -> pd.DataFrame:
        """The group of each run, and its role: `pooled` (contributing) or `new`."""
        members = self.results.inputs.members()
        rows = [(one.run, one.group, "pooled" if one.pooled else "new") for one in members]
        return pd.DataFrame(rows, columns=["run", "group", "role"])

    @property
    def plot(self) -> Plots:
        """Figures of scores on matplotlib axes: strips, precision_recall and differences."""
        return Plots(self.results.inputs)

    evaluate = _framed(Files.evaluate)
    compare = _framed(Files.compare)
    reuse = _passed_on(Files.reuse)
    settle = _framed(Files.settle)
    simulate = _framed(Files.simulate)
    explain = _framed(Files.explain)

    def qrels(self, *, unjudged: bool = False) -> pd.DataFrame:
        """The qrels: topic, document and grade. `unjudged` adds pooled documents without a judgment, as grade -1."""
        qrels = self.results.inputs.judged(unjudged=unjudged)
        qrels = qrels if unjudged else qrels_core.judged_only(qrels)
        frame = pd.DataFrame(list(qrels), columns=["topic", "document", "grade"])
        frame.attrs.update(qrels=qrels.content_hash, name=qrels.name)
        return frame

    def pool(
        self,
        name: str = "",
        *,
        by: Literal["document", "run", "group", "topic", "depth", "version", "overlap"] = "document",
    ) -> pd.DataFrame:
        """A pool of the collection, the latest by default: its documents, or one table about it."""
        inputs = self.results.inputs
        pool = pool_workflow.Pool(inputs.collection("a pool"))
        return pool.show(name or inputs.pool.pool, by=by).frame()

    def judgments(self, *, layers: str | Sequence[str] = (), every: bool = False) -> pd.DataFrame:
        """The judgments that count now, one row for each assessor and document; with `every` all events.

        All layers are included unless `layers` are named.
        """
        store, words = self.results.inputs.collection("a judgment"), input_kinds.words_of(layers)
        rows = events.events(store, layers=words) if every else events.standing(store, layers=words)
        frame = pd.DataFrame(map(attrgetter(*_EVENT_COLUMNS), rows), columns=list(_EVENT_COLUMNS))
        return frame.astype({"grade": "Int64", "seconds": "float64", "confidence": "float64"})

    def agreement(
        self,
        by: Literal["overall", "pair", "topic", "time", "probes", "confusion"] = "overall",
        *,
        layers: str | Sequence[str] = ("main",),
        seed: int = 1,
        draws: int = 1000,
        blocks: int = 5,
    ) -> pd.DataFrame:
        """Agreement of the assessors: one row for each coefficient, with its confidence interval."""
        judge = judge_workflow.Judge(self.results.inputs.collection("agreement"))
        words = input_kinds.words_of(layers)
        return judge.agreement(by=by, layers=words, seed=seed, draws=draws, blocks=blocks).frame()

    def report(
        self,
        path: PathLike = "report.html",
        *,
        measures: str | Sequence[str] = ("nDCG@10", "AP", "P@10"),
        public: bool = False,
        card: PathLike | None = None,
    ) -> Path:
        """Write the report of the collection, as HTML or Markdown according to the file name; returns its path.

        `public` omits the names of assessors and the titles of documents; `card` is a file for the collection card.
        """
        inputs = self.results.inputs
        store, qrels = inputs.collection("a report"), inputs.qrels
        if qrels is not None and not isinstance(qrels, str | Path):
            raise UsageError("a report needs the judgments of the collection, a release or a file as qrels")
        request = report_material.ReportRequest(
            measures=input_kinds.words_of(measures),
            qrels=None if qrels is None else str(qrels),
            public=public,
            layers=inputs.layers,
        )
        with inputs.progress() as progress:
            made = report_workflow.report_on(store, request, with_card=card is not None, progress=progress)
        if card is not None:
            made.write_card(Path(card))
        made.write_page(Path(path))
        return Path(path)

    def _facts(self) -> dict[str, Value]:
        known = self.results.inputs
        return {"closed": "yes"} if known.is_closed else known.facts()

    def __repr__(self) -> str:
        known = self._facts()
        if "closed" in known:
            return "Opened(closed)"
        where = f"collection {known['collection']!r}" if "collection" in known else f"files, qrels {known['qrels']}"
        many = str(known["runs"]).partition(":")[0]
        return f"Opened({where}, {'no' if many == 'none' else many} runs)"

    def _repr_html_(self) -> str:
        return html([facts_table(self._facts(), caption="Opened")])

    def __rich__(self) -> RenderableType:
        return display.grouped([facts_table(self._facts(), caption="Opened")])


class Plots:
    """Figures of scores. Each is drawn on `ax`, or on a new figure of pyplot, and returns the axes."""

    def __init__(self, inputs: input_kinds.Inputs) -> None:
        self._inputs = inputs

    def _scores(
        self, measure: str, runs: Sequence[str] | None, topics: PathLike | Sequence[str]
    ) -> evaluate_workflow.Evaluation:
        request = self._inputs.request(measure, runs, topics=topics)
        return self._inputs.evaluated(request, verdicts=False)

    def strips(
        self,
        measure: str = "AP",
        *,
        runs: Sequence[str] | None = None,
        topics: PathLike | Sequence[str] = "qrels",
        ax: Axes | None = None,
    ) -> Axes:
        """Scores by topic: each run as a row of points, one per topic, with its mean as a bar.

        For a measure with another aggregate, such as `AP(agg=median)`, the bar shows that aggregate. It is the figure
        of `cranfield evaluate --plot`.
        """
        return evaluate_figures.draw_strips(self._scores(measure, runs, topics).scores, on=ax or figures.shown_axes)

    def precision_recall(
        self,
        *,
        runs: Sequence[str] | None = None,
        topics: PathLike | Sequence[str] = "qrels",
        ax: Axes | None = None,
    ) -> Axes:
        """Interpolated precision at the eleven recall levels, averaged over topics, one line per run.

        It is the figure of `cranfield evaluate -m iprec_at_recall --plot`.
        """
        scores = self._scores(evaluate_figures.RECALL_LEVELS, runs, topics).scores
        return evaluate_figures.draw_curves(scores, on=ax or figures.shown_axes)

    def differences(
        self,
        first: str,
        second: str,
        measure: str = "AP",
        *,
        topics: PathLike | Sequence[str] = "qrels",
        ax: Axes | None = None,
    ) -> Axes:
        """The difference of two runs, first − second, on each topic, from the largest gain to the largest loss.

        It is the figure of `cranfield compare --plot` for two runs.
        """
        scores = self._scores(measure, [first, second], topics).scores
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
) -> Opened:
    """Open a collection. Its runs are scored with its current judgments, or with other `qrels`.

    `qrels` are the name of a release, a file, a frame, or topic -> document -> grade. The current judgments are those
    of the main layer, unless `layers` are named. Verdicts use the latest pool, the one named by `pool`, or the pool
    described by `groups`, `pool_depth` and `card` as in `open_files`. `progress=False` shows no progress bars.
    """
    options = input_kinds.pool_given(groups=groups, depth=pool_depth, card=card, pool=pool)
    # Checked before the collection is opened, so that nothing stays open if they are wrong.
    judged = qrels if qrels is None or isinstance(qrels, str) else input_kinds.qrels_or_file(qrels)
    chosen = (layers,) if isinstance(layers, str) else tuple(layers)
    store, watch = collections.open_collection(Path(path)), partial(display.shown_progress, wanted=progress)
    return Opened(Collection(input_kinds.Inputs(store, judged, options, watch, layers=chosen)))


def open_files(
    *,
    qrels: Judged,
    runs: Nameless | Sequence[Nameless] | Mapping[str, Ranked],
    groups: Grouped | None = None,
    pool_depth: int | None = None,
    card: PathLike | None = None,
    progress: bool = True,
) -> Opened:
    """Open qrels and runs without a collection.

    `qrels` are a file, a frame, or topic -> document -> grade. `runs` are files or frames, one or a list, or a
    mapping of name -> file, frame, or topic -> document -> score. `groups` name the contributing runs: a file with
    run tag, group and `pooled` or `new` on each line, tab separated; a frame with run, group and role; or run ->
    group for the contributing runs. `pool_depth` is the depth of the pool; `card` is the file in which a published
    collection describes its pool. `progress=False` shows no progress bars.
    """
    options = input_kinds.pool_given(groups=groups, depth=pool_depth, card=card)
    watch = partial(display.shown_progress, wanted=progress)
    return Opened(Files(input_kinds.FilesInputs(qrels, runs, options, watch)))
