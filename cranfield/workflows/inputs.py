"""Qrels and runs, and what can be done with them: the API under the command line and Python.

`Inputs` serves the command line; `Files` and `Collection`, for Python users, are built on it. Every command imports
this module, so heavy modules are deferred here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from cranfield.base.errors import CranfieldError, InputError, UnknownName, UsageError
from cranfield.base.files import Progress, Source, located
from cranfield.base.records import BINARY, MAIN, MEASURES
from cranfield.base.registry import deferred
from cranfield.base.spread import HERE, Workers
from cranfield.qrels import release
from cranfield.qrels.release import NOW

with deferred:
    from cranfield.compare import by_measure
    from cranfield.evaluate import align, reading
    from cranfield.evaluate import measure as measuring
    from cranfield.pool import plan as plans
    from cranfield.reuse import card as cards
    from cranfield.runs import reading as runs_reading
    from cranfield.runs import run as runs_run
    from cranfield.runs import sets
    from cranfield.store import pools, releases
    from cranfield.store import runs as stored_runs
    from cranfield.workflows import compare as comparing
    from cranfield.workflows import corpus
    from cranfield.workflows import qrels as qrels_workflow
    from cranfield.workflows import settle as settling
    from cranfield.workflows import simulate as simulating
    from cranfield.workflows.evaluate import evaluate as evaluation
    from cranfield.workflows.reuse import field as fields
    from cranfield.workflows.reuse import reuse as reusing

if TYPE_CHECKING:
    import os

    from cranfield.evaluate.align import AnyRun
    from cranfield.qrels.qrels import Qrels
    from cranfield.simulate.tables import Simulation
    from cranfield.store import Store

    PathLike = str | os.PathLike[str]
    Clusters = PathLike | Mapping[str, Hashable] | None
    Found = tuple[Path | Qrels, tuple[str | AnyRun, ...]]
    """The qrels and the runs of a request."""

Watch = Callable[[], AbstractContextManager[Progress]]
"""Opens a progress bar, or nothing that shows."""

Outcome = TypeVar("Outcome")
Words = str | Sequence[str]
"""One word, or several."""

CHOICES: Mapping[str, tuple[object, ...]] = {
    "ties": ("trec", "best", "worst", "expected"),
    "duplicates": ("plain", "novelty"),
    "until": ("certain", "likely"),
}


@dataclass(frozen=True, kw_only=True)
class PoolOptions:
    """What users say about the pool.

    `groups` says which runs contributed, as a file or as it is; `depth` is the pool depth; `card` is what a published
    collection says of itself, and `bundle` what its release does; `pool` names one of several pools of a collection.
    """

    groups: Path | Sequence[runs_reading.Member] | None = None
    depth: int | None = None
    card: Path | None = None
    pool: str = ""
    bundle: release.Bundle | None = None


class Inputs:
    """Runs and qrels (the current judgments, a release, or a file), and the results made of them.

    `layers` are those whose judgments count. Without a collection, qrels may be a release bundle, which says what is
    relevant and has the card of its pool. `warn` receives warnings about the qrels. With `skip_bad` run files that
    have errors are left out, and the notes of each result name them. `workers` share large jobs.
    """

    def __init__(
        self,
        store: Store | None,
        qrels: str | Path | Qrels | None,
        pool: PoolOptions,
        progress: Watch,
        *,
        layers: Sequence[str] = (),
        warn: Callable[[str], None] | None = None,
        skip_bad: bool = False,
        workers: Workers = HERE,
    ) -> None:
        qrels = located(qrels) if store is None and isinstance(qrels, str) else qrels
        self.store, self.given_qrels, self.pool_options, self.progress = store, qrels, pool, progress
        if store is None and isinstance(qrels, Path) and may_be_bundle(Path(qrels)):
            bundle = release.open_bundle(Path(qrels))
            self.given_qrels = bundle.qrels
            card = bundle.card if pool.groups is None and pool.card is None else pool.card
            self.pool_options = replace(pool, card=card, bundle=bundle)
        self.layers, self.warn, self.skip_bad, self.workers = tuple(layers) or (MAIN,), warn, skip_bad, workers
        self.left_out: tuple[str, ...] = ()

    def evaluate(
        self,
        measures: Words | None = None,
        *,
        runs: Sequence[str] | None = None,
        by_topic: bool = False,
        topics: PathLike | Sequence[str] = "qrels",
        ties: Literal["trec", "best", "worst", "expected"] = "trec",
        duplicates: Literal["plain", "novelty"] = "plain",
        clusters: Clusters = None,
        verdicts: bool = True,
    ) -> evaluation.Evaluation:
        """Scores of runs (default: all), one row per run, topic and measure; topic `all` is the summary.

        Each score has an interval (`low`, `high`) over all grades of the unjudged documents, the share judged, the
        expected loss with its upper bound, a verdict and its reason; `verdicts=False` omits them, and so do other
        orders of `ties` and novelty, of whose scores they would not be. `measures` are nDCG, AP and P, with the
        cutoff 10 or the depth of a shallower pool. `topics` is qrels, common, run, a file of
        topic ids, or a list of ids. The frame has the runs in their order; tables show the best by the first measure
        first. The frame's `attrs` hold the hash of the qrels, the tie order, and in `notes` what the command line
        prints.
        """
        chosen = self.requested(
            measures, runs, as_files=True, topics=topics, clusters=clusters, ties=ties, duplicates=duplicates
        )
        with chosen as request:
            return replace(self.evaluated(request, verdicts=verdicts), by_topic=by_topic)

    def compare(
        self,
        *runs: str,
        measures: Words | None = None,
        baselines: Words = (),
        test: str = "t",
        correction: str | None = None,
        alpha: float = 0.05,
        tolerance: float = 0.0,
        draws: int | None = None,
        seed: int = 1,
        topics: PathLike | Sequence[str] = "qrels",
        duplicates: Literal["plain", "novelty"] = "plain",
        clusters: Clusters = None,
        verdicts: bool = True,
    ) -> comparing.Comparison:
        """Compare runs (all by default): one row for each measure and pair; differences are a − b.

        `claim` says what unjudged documents leave of a lead: robust, supported or open, with
        `claim_reason`; `verdicts=False` omits both. The frame's `attrs` hold the hash of the qrels, the test, the
        correction and the draws, and in `notes` the messages of the command line, among them the difference that
        these topics detect with probability 0.8. The default correction is Holm's, or Tukey's own.
        """
        options = by_measure.Options(
            baselines=words_of(baselines),
            test=test,
            correction=correction or "",
            alpha=alpha,
            tolerance=tolerance,
            draws=draws,
            seed=seed,
        )
        chosen: Any = {"topics": topics, "duplicates": duplicates, "clusters": clusters}
        with self.requested(measures, runs or None, default=("nDCG@10", "AP"), **chosen) as request:
            return comparing.compare_runs(self, request, options, verdicts=verdicts)

    def reuse(
        self, *runs: str, measures: Words | None = None, thresholds: Mapping[str, float] | None = None
    ) -> reusing.ReuseResult:
        """Assess how reliable scores are: for non-contributing runs in general, and for each run (all by default).

        `thresholds` apply to this call.
        """
        return reusing.reuse(self, runs, measures, thresholds=thresholds)

    def settle(
        self,
        first: str,
        second: str,
        *,
        measures: Words | None = None,
        until: Literal["certain", "likely"] = "certain",
        everything: bool = False,
        queue: str = "",
        into: str = "main",
    ) -> settling.Queue:
        """Find the documents whose judgments decide between two runs.

        One row for each document, in the order that is expected to decide soonest: `until` it is certain which run
        is ahead, or likely (95%). `expected` judgments should do, between `expected_low` and `expected_high`, and
        `worst_case` whatever the grades. With `everything` all documents that could matter are listed. `queue` stores
        them in the collection for `cranfield judge --queue`; their judgments go into the layer `into`.
        `attrs["notes"]` summarises the comparison.
        """
        return settling.settle(
            self, first, second, measures, until=until, everything=everything, queue=queue, into=into
        )

    def simulate(
        self,
        *plans: str,
        budgets: Sequence[int] = (),
        measures: Words | None = None,
        runs: Sequence[str] | None = None,
        relevant_from: int | None = None,
        seed: int = 0,
    ) -> Simulation:
        """Replay pooling plans against the known judgments: one row for each plan and measure.

        Each row has the cost of the plan, the share of the known relevant documents that it finds, and its effect on
        the ranking of the runs. `budgets` continue the last step of a plan up to that many documents over all topics.
        Grades from `relevant_from` on are relevant: that of the collection's scale, else 1. Depths are replayed where
        no plan is named. `attrs["notes"]` says what a replay cannot show.
        """
        with self.requested(measures, runs, default=("nDCG@10", "AP"), with_ids=True) as request:
            options: Any = {"budgets": budgets, "relevant_from": relevant_from, "seed": seed}
            return simulating.simulate_plans(self, request, plans, **options)

    def explain(self, topic: str, *runs: str, depth: int = 30, measures: Words = "AP") -> evaluation.Explanation:
        """Ranked lists of runs for a topic: each rank with its document, its judgment, and P, R and DCG so far.

        The relevance threshold and gains are those of the measure: `P(rel=2)` counts grades from 2 on as relevant.
        """
        with self.requested(measures, runs or None, with_ids=True) as request:
            return evaluation.explain_lists(request, topic, depth=depth)

    def collection(self, word: str) -> Store:
        """The collection that a word of the command line needs."""
        if self.store is None:
            raise UsageError(f"{word} needs a collection; open one with open_collection")
        return self.store

    def names(self) -> tuple[str, ...]:
        """The names of all runs that have not been withdrawn."""
        facts = () if self.store is None else stored_runs.facts(self.store)
        return tuple(reading.StoredName(one.name) for one in facts)

    def judged(self) -> Qrels:
        """The qrels, and what is pooled and not judged, as grade -1, as far as it is known."""
        if self.given_qrels is None or isinstance(self.given_qrels, str):
            selection = qrels_workflow.Selection(layers=self.layers, unjudged=True)
            return qrels_workflow.qrels_for(self.store, self.given_qrels, selection)
        return reading.read_qrels(self.given_qrels)

    @contextmanager
    def requested(
        self,
        measures: Words | None,
        runs: Sequence[str] | None,
        *,
        default: Sequence[str] = MEASURES,
        with_ids: bool = False,
        as_files: bool = False,
        topics: PathLike | Sequence[str] = "qrels",
        clusters: Clusters = None,
        **options: Any,
    ) -> Iterator[reading.Request]:
        """The request, with its qrels and runs (all runs for None); an unknown choice of an option is refused.

        Without measures it is the `default`, down to the depth of a shallower pool, which a note says.
        `with_ids` where documents are needed by name; `as_files` where many files can be read some at a time.
        """
        if isinstance(runs, str):
            raise UsageError(f"runs is a list of names: [{runs!r}]")
        refuse_unknown(options)
        if measures is None:
            words, notes = default_measures(default, self.store, self.pool_options)
        else:
            words, notes = words_of(measures), ()
        if options.get("duplicates") == "novelty":
            options["clusters"] = corpus.clusters_for(clusters, self.store)
        if (bundle := self.pool_options.bundle) is not None:  # in full: its scale has the threshold and the gains
            words = tuple(map(str, measuring.parse_by_scale(words, bundle.scale)))
        with self.progress() as progress:
            qrels, chosen = self.find(runs, words, with_ids=with_ids, as_files=as_files, progress=progress)
            request = reading.Request(
                qrels=qrels,
                runs=chosen,
                measures=words,
                topics=tuple(map(str, topics)) if isinstance(topics, list | tuple) else str(topics),
                notes=(*notes, *self.left_out),
                workers=self.workers,
                progress=progress,
                collection=None if self.store is None else run_store(self.store),
                scale=BINARY if self.store is None else self.store.scale(),
                **options,
            )
            yield reading.without_bad(request) if self.skip_bad else request

    def evaluated(self, request: reading.Request, *, verdicts: bool) -> evaluation.Evaluation:
        """Score, with verdicts or without."""
        field = partial(self.field, request) if verdicts else None
        return evaluation.evaluate(request, read=self.reader(request), field=field)

    def reader(self, request: reading.Request) -> Callable[[], reading.Read] | None:
        """What gives the aligned runs of a request, where they are kept."""
        return None

    def field(self, request: reading.Request) -> fields.Field:
        """The field of runs that verdicts need."""
        return fields.field_of(request, self.pool_options, store=self.store)

    def in_full(self, runs: Sequence[str | AnyRun]) -> Sequence[str | AnyRun]:
        """Runs of a request so that their documents are known by name."""
        return runs

    def find(
        self, names: Sequence[str] | None, words: Sequence[str], *, with_ids: bool, as_files: bool, progress: Progress
    ) -> Found:
        """The qrels, and the runs with these names, or all."""
        plain = all(Path(word).is_file() and not word.lower().endswith(".parquet") for word in names or ())
        runs = tuple(names if plain else sets.expanded(names)) if names else self.names()
        if not runs:
            raise UsageError("no runs: name run files and --qrels, or a collection with -C")
        runs = self.stored(runs) if names and self.store is not None else runs
        if isinstance(self.given_qrels, Path):
            return self.given_qrels, runs
        try:
            return self.qrels_found(), runs
        except InputError:
            # A misspelt bundle is more to the point than that nothing is judged here.
            known = self.names()
            for word in runs if names else ():
                if word not in (*known, "-") and not located(word).exists():
                    raise UnknownName("run, file or release bundle", word, known) from None
            raise

    def stored(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words, with the name of a stored run for the file it was submitted as: its verdict is that run's."""
        facts = [] if self.store is None else stored_runs.facts(self.store)
        names, found = {one.name for one in facts}, list[str]()
        for word in words:
            # Only a file, or a run in a set, of the same name is read for that: many runs are large.
            set_of_runs, _, tag = word.rpartition("#")
            alike = [
                one for one in facts if word not in names and (one.file_name == Path(word).name or one.tag == tag)
            ]
            known = ""
            if alike and set_of_runs and not Path(word).exists():
                with suppress(CranfieldError):  # what is wrong is said when it is scored
                    known = runs_run.ranked(runs_reading.read_rows(Source(located(word)))).content_hash
            elif alike and Path(word).is_file():
                known = Source(Path(word)).file_sha256
            same = [one.name for one in alike if known in (one.content_hash, one.file_sha256) and known]
            found.append(reading.StoredName(same[0]) if same else word)
        return tuple(found)

    def qrels_found(self) -> Path | Qrels:
        """The qrels: the current judgments are looked up anew each time, a file is read later."""
        word, store = self.given_qrels, self.store
        if word is not None and not isinstance(word, str):
            return word
        if store is not None and word not in (None, NOW) and word not in releases.known(store):
            path = located(str(word))
            if path.exists() or {"/", "."} & set(str(word)) or word == "-":
                return path
        qrels = self.judged()
        if store is None or self.warn is None:
            return qrels
        if word == NOW and not (qrels.grades >= 0).any():
            raise InputError(qrels_workflow.NOTHING_JUDGED)
        for warning in qrels_workflow.scoring_warnings(store, word, self.layers, qrels):
            self.warn(f"warning: {warning}")
        return qrels


class Cached(Inputs):
    """Qrels and runs that stay open: what was last read of them, for scores or for verdicts, is kept."""

    def __init__(self, *inputs: Any, **options: Any) -> None:
        super().__init__(*inputs, **options)
        self.is_closed = False
        self._kept: dict[str, tuple[Hashable, Any]] = {}

    def close(self) -> None:
        """Close the file of a collection, and end the processes of large jobs."""
        self.is_closed = True
        self.workers.close()

    def reader(self, request: reading.Request) -> Callable[[], reading.Read]:
        """What reads and aligns runs, where what was last read of them is of no use."""

        def read() -> reading.Read:
            keyed, key = self._keyed(request)
            if key is not None and self._kept.get("field", (None,))[0] == key:
                field: fields.Field = self._kept["field"][1]
                return field.requested()
            return self._remembered("read", key, lambda: reading.read_aligned(keyed))

        return read

    def field(self, request: reading.Request) -> fields.Field:
        """The field of runs that verdicts need, with the other open runs, which may have contributed."""
        request, key = self._keyed(request)

        def make() -> fields.Field:
            everything = self.with_others(request)
            if len(everything.runs) > len(request.runs) and request.topics == "common":
                everything = replace(everything, topics=reading.read_aligned(request).aligned.topic_ids)
            found = Inputs.field(self, everything)
            request.progress("estimating losses", 0, None)
            return replace(found, words=tuple(request.runs))

        return self._remembered("field", key, make)

    def with_others(self, request: reading.Request) -> reading.Request:
        """Add the other open runs; a collection itself knows its contributing runs."""
        return request

    def _keyed(self, request: reading.Request) -> tuple[reading.Request, Hashable]:
        """The request with its qrels read, and the cache key of its alignment.

        The key is None where it is not known before files are read: runs or topics that are files, and qrels that
        cannot be read, which are reported with all other errors.
        """
        if isinstance(request.qrels, Path):
            try:
                request = replace(request, qrels=reading.read_qrels(request.qrels))
            except CranfieldError:
                return request, None
        qrels = cast("Qrels", request.qrels)
        words, known = self.with_others(request).runs, self.names()
        if any(word not in known or located(word).exists() for word in words if isinstance(word, str)):
            return request, None
        if isinstance(request.topics, str) and request.topics not in reading.TOPIC_SETS:
            return request, None
        state = None
        if self.store is not None:  # numbers that change with anything that is written, here or by others
            state = int(self.store.value("PRAGMA data_version")), self.store.connection.total_changes
        strata = None if qrels.strata is None else (qrels.strata.tobytes(), qrels.stratum_names)
        return request, (qrels.content_hash, strata, words, len(request.runs), request.topics, state)

    def _remembered(self, what: str, key: Hashable, make: Callable[[], Outcome]) -> Outcome:
        """The cached value if it has this key, else a new one; with None for a key nothing is cached.

        The key is of contents, so that the cache can never be stale. Only the last value is kept: it is large.
        """
        if key is None:
            return make()
        if self._kept.get(what, (None,))[0] != key:
            self._kept[what] = key, make()
        return cast("Outcome", self._kept[what][1])


def may_be_bundle(path: Path) -> bool:
    """Whether a path is a folder or an archive, which no file of qrels or runs is."""
    return path.is_dir() or (path.name.lower().endswith(release.ARCHIVES) and path.is_file())


def run_store(store: Store) -> align.RunStore:
    """The runs of a collection, as an evaluation reaches them."""
    return align.RunStore(
        facts=partial(stored_runs.facts, store),
        find=partial(stored_runs.find, store),
        ids=partial(stored_runs.ids, store),
        fetch=partial(stored_runs.fetch, store),
    )


def default_measures(
    words: Sequence[str], store: Store | None, options: PoolOptions
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """These measures down to the depth of the pool, where it is shallower, and the sentence that says so.

    The depth is that of the plan, of the card, or as given; a pool without one depth changes nothing.
    """
    depth = options.depth or 0
    if options.groups is None and options.card is not None:
        depth = options.bundle.depth if options.bundle else cards.read_card(Source(options.card).text()).pool_depth
    elif options.groups is None and store is not None and pools.pool_facts(store):
        depth = plans.full_depth(pools.facts_of_pool(store, options.pool).plan)
    if not 0 < depth < 10:
        return tuple(words), ()
    words = tuple(re.sub("@10$", f"@{depth}", word) for word in words)
    return words, (f"measures to the pool depth {depth}: {', '.join(words)}; -m chooses others",)


def words_of(words: Words) -> tuple[str, ...]:
    """One word, or several, as a tuple. A measure of ir_measures is the word it prints as; its ERR is gdeval's."""
    given: object = [words] if isinstance(words, str) else words
    parts = tuple(given) if isinstance(given, Iterable) else (given,)
    if own := [str(part) for part in parts if hasattr(part, "runtime_impl")]:
        raise UsageError(f"{', '.join(own)}: a measure that a script defines; only ir_measures itself computes it")
    if any(type(part).__module__ == "ir_measures.measures.accuracy" for part in parts):
        meaning = "the probability that a relevant document ranks above a non-relevant one"
        raise UsageError(f"Accuracy of ir_measures is {meaning}; only ir_measures itself computes it")
    found = tuple(
        re.sub(r"^ERR\b", "ERR(max_grade=4)", str(part)) if type(part).__module__.startswith("ir_measures.") else part
        for part in parts
    )
    if not all(isinstance(word, str) for word in found):
        raise UsageError(f"expected a string or a list of strings, such as 'AP' or ['AP', 'RR'], not {words!r}")
    return cast("tuple[str, ...]", found)


def refuse_unknown(options: Mapping[str, object]) -> None:
    """Refuse an unknown choice: a misspelt one must not be taken for the default."""
    for name, value in options.items():
        if name in CHOICES and value not in CHOICES[name]:
            known = ", ".join(repr(choice) for choice in CHOICES[name])
            raise UsageError(f"{name} is one of {known}, not {value!r}")
