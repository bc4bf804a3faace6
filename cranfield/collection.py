"""What Python users open: a collection, or bare files. Both give the same interface, and pandas frames come out.

`import cranfield` brings this module along: so nothing heavy is imported here before something is opened.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import os

    import pandas
    from rich.console import RenderableType

    from cranfield.workflows.inputs import Work
    from cranfield.workflows.results import Plots, ReuseResult


if TYPE_CHECKING:
    PathLike = str | os.PathLike[str]
    Judged = PathLike | Mapping[str, Mapping[str, int]] | pandas.DataFrame
    Nameless = PathLike | pandas.DataFrame
    Ranked = Nameless | Mapping[str, Mapping[str, float]]
    Grouped = PathLike | Mapping[str, str] | pandas.DataFrame
    Clusters = PathLike | Mapping[str, Hashable] | None


class Opened:
    """Runs and qrels at hand, to be scored, compared and doubted as often as one likes: they are read once.

    The words are those of the command line. A wrong call or bad input is a `CranfieldError`, whose text says what to
    do. Work that takes longer than a second shows a bar, in a notebook and on a terminal.
    """

    def __init__(self, work: Work) -> None:
        self._work = work

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the collection; files need no closing."""
        self._work.is_closed = True
        self._work.material.close()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs."""
        return self._work.material.names()

    @property
    def groups(self) -> pandas.DataFrame:
        """Who the runs belong to: run, group, and whether it was `pooled` or is `new`."""
        import pandas as pd

        rows = [(one.run, one.group, "pooled" if one.pooled else "new") for one in self._work.material.members()]
        return pd.DataFrame(rows, columns=["run", "group", "role"])

    @property
    def plot(self) -> Plots:
        """Figures of scores: strips, precision_recall and differences, each on matplotlib axes."""
        from cranfield.workflows.results import Plots

        return Plots(self._work)

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
    ) -> pandas.DataFrame:
        """Score runs (all, if none is named): one row for each run, topic and measure; topic `all` is the mean.

        Each score says how far it can be trusted: the lowest and highest value that unjudged documents allow (`low`,
        `high`), the share judged, the expected loss with its upper end, verdict and reason; `verdicts=False` leaves
        that out. `topics` is qrels, common, run, a file of ids, or a list of ids. `like` is the version of trec_eval
        to be reproduced. The frame's `attrs` tell the hash of the qrels, the reference, and in `notes` what the
        command line would say.
        """
        from cranfield.workflows.frames import scores_frame

        asked = self._work.asked(
            measures,
            runs,
            topics=topics,
            like=like,
            ties=ties,
            duplicates=duplicates,
            clusters=clusters,
            letters=letters,
        )
        with self._work.watched() as progress:
            found = self._work.evaluated(asked, verdicts=verdicts, progress=progress)
        return scores_frame(*found, by_topic=by_topic)

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
    ) -> pandas.DataFrame:
        """Compare runs (all of them if none is named): one row for each measure and pair, differences being a − b.

        `claim` is what may be said while documents are unjudged: proved, supported, conservative win or open, with
        `claim_reason`; `verdicts=False` leaves that out. `systems` maps the name of a system to its runs, which then
        count as one entry. The frame's `attrs` tell the hash of the qrels, the test, the correction and the draws,
        and in `notes` what the command line would say: among it what the topics could have shown with a chance of
        `power`, and how many a true `difference` would need. Without a correction it is Holm's, or Tukey's own.
        With `by_topic` there is one row for each measure, pair and topic: both scores and their difference.
        """
        from cranfield.workflows.compare.compare import Comparing
        from cranfield.workflows.frames import compared

        asked = self._work.asked(
            measures, runs or None, topics=topics, like=like, duplicates=duplicates, clusters=clusters
        )
        seeds = {name: tuple(members) for name, members in (systems or {}).items()}
        named = (baselines,) if isinstance(baselines, str) else tuple(baselines)
        how = Comparing(named, test, correction or "", alpha, tolerance, draws, seed, systems=seeds)
        return compared(
            self._work,
            asked,
            runs or None,
            how,
            verdicts=verdicts,
            power=power,
            difference=difference,
            by_topic=by_topic,
        )

    def reuse(
        self,
        *runs: str,
        measures: str | Sequence[str] = ("nDCG@10", "P@10", "AP"),
        closure: Literal["at-k", "list", "open"] = "at-k",
        further: int = 0,
        thresholds: Mapping[str, float] | None = None,
    ) -> ReuseResult:
        """Say how far scores can be trusted: for outsiders of the collection, and for each run (all by default).

        `closure` says which holes may be relevant: those within the depth that matters, in the whole list, or also
        `further` documents that nobody retrieved. `thresholds` are set for this call.
        """
        from cranfield.workflows.frames import examined

        return examined(self._work, runs, measures, closure=closure, further=further, thresholds=thresholds)

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
    ) -> pandas.DataFrame:
        """Find the documents whose judging decides between two runs; of one run, those that make its score safe.

        One row for each document, the heaviest first: those that suffice if none of them is relevant, or with
        `everything` all that could matter. `queue` keeps them in the collection for `cranfield judge --queue`, and
        their judgments go into the layer `into`. `attrs["notes"]` says how the runs stand.
        """
        from cranfield.workflows.frames import settled_frame

        return settled_frame(
            self._work, first, second, measures, closure=closure, everything=everything, queue=queue, into=into
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
    ) -> pandas.DataFrame:
        """Play plans against the judgments that are known: one row for each plan and measure.

        It tells what each plan would have cost, found (a share of the known relevant documents), and done to the
        ranking of the runs; `budgets` play the last step until all topics together have so many documents. With
        `outsiders` every plan is played without each group too; `difference` also tells the topics it would need.
        Without plans depths are played. `attrs["notes"]` says what a replay cannot know.
        """
        from cranfield.workflows.frames import simulated_frame
        from cranfield.workflows.simulate import Simulating

        how = Simulating(
            plans=plans,
            budgets=tuple(budgets),
            groups=self._work.material.told.groups,
            outsiders=outsiders,
            difference=difference,
            seconds=seconds_per_document,
            seed=seed,
        )
        return simulated_frame(self._work, measures, runs, how)

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
    ) -> pandas.DataFrame:
        """Lay open the lists of runs for a topic: each rank with its document, what is known of it, P, R and DCG.

        Of `measures` the threshold counts: `P(rel=2)` takes grades from 2 up as relevant.
        """
        from cranfield.workflows.evaluate.tables import explain_lists
        from cranfield.workflows.frames import lists_frame

        asked = self._work.asked(
            measures,
            runs or None,
            with_ids=True,
            like=like,
            ties=ties,
            duplicates=duplicates,
            clusters=clusters,
        )
        return lists_frame(explain_lists(asked, topic, depth=depth, store=self._work.store))

    def qrels(self, *, unjudged: bool = False) -> pandas.DataFrame:
        """Give what runs are scored by: topic, document and grade; -1 is pooled and not judged, where asked for."""
        from cranfield.qrels.qrels import judged_only
        from cranfield.workflows.frames import qrels_frame

        found = self._work.material.judged(unjudged=unjudged)
        return qrels_frame(found if unjudged else judged_only(found))

    def pool(
        self,
        name: str = "",
        *,
        by: Literal["document", "run", "group", "topic", "depth", "version", "overlap"] = "document",
    ) -> pandas.DataFrame:
        """Give a pool of the collection, the latest unless one is named: its documents, or one table about it."""
        from cranfield.workflows.frames import pool_frame

        return pool_frame(self._work.collection("a pool"), name or self._work.material.told.pool, by)

    def judgments(self, *, layers: str | Sequence[str] = (), every: bool = False) -> pandas.DataFrame:
        """Give the judgments that count now, one row for each assessor and document; `every` event where asked for.

        Without `layers` they are of all layers.
        """
        from cranfield.workflows.frames import judgments_frame
        from cranfield.workflows.inputs import words_of

        return judgments_frame(self._work.collection("a judgment"), layers=words_of(layers), every=every)

    def agreement(
        self,
        by: Literal["overall", "pair", "topic", "time", "probes", "confusion"] = "overall",
        *,
        layers: str | Sequence[str] = ("main",),
        seed: int = 1,
        draws: int = 1000,
        blocks: int = 5,
    ) -> pandas.DataFrame:
        """Say how far assessors agree: one row for each coefficient, with its interval."""
        from cranfield.workflows.frames import agreement_frame
        from cranfield.workflows.inputs import words_of

        store = self._work.collection("agreement")
        return agreement_frame(store, by, layers=words_of(layers), seed=seed, draws=draws, blocks=blocks)

    def report(
        self,
        path: PathLike = "report.html",
        *,
        measures: str | Sequence[str] = ("nDCG@10", "AP", "P@10"),
        public: bool = False,
        card: PathLike | None = None,
    ) -> Path:
        """Write one page about the collection, HTML or Markdown by its name; gives its path.

        `public` leaves out the names of assessors and the titles of documents; `card` is a file for the collection
        card.
        """
        from cranfield.workflows.frames import written_report

        return written_report(
            self._work, Path(path), measures, public=public, card=None if card is None else Path(card)
        )

    def __repr__(self) -> str:
        from cranfield.workflows.frames import in_short

        return in_short(self._work)

    def _repr_html_(self) -> str:
        from cranfield.workflows.frames import as_html

        return as_html(self._work)

    def __rich__(self) -> RenderableType:
        from cranfield.workflows.frames import as_rich

        return as_rich(self._work)


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
    """Open a collection. Its runs are scored by what is judged in it now, or by other `qrels`.

    Those are the name of a release, a file, a frame, or topic -> document -> grade. What is judged now is that of the
    main layer, unless `layers` are named. Verdicts look at the latest pool, at the one that `pool` names, or at what
    `groups`, `pool_depth` and `card` tell, as in `open_files`. `progress=False` shows no bars.
    """
    from cranfield.workflows.inputs import CollectionMaterial, Work, pool_told

    told = pool_told(groups=groups, depth=pool_depth, card=card, pool=pool)
    return Opened(Work(CollectionMaterial.opened(path, qrels, layers, told), progress))


def open_files(
    *,
    qrels: Judged,
    runs: Nameless | Sequence[Nameless] | Mapping[str, Ranked],
    groups: Grouped | None = None,
    pool_depth: int | None = None,
    card: PathLike | None = None,
    progress: bool = True,
) -> Opened:
    """Open qrels and runs that are in no collection.

    `qrels` are a file, a frame, or topic -> document -> grade. `runs` are files or frames, one or a list, or a
    mapping of name -> file, frame, or topic -> document -> score. `groups` say who fed the pool: a file with run tag,
    group and `pooled` or `new` on each line, tab separated; a frame with run, group and role; or run -> group for the
    pooled runs. `pool_depth` is the rank that the pool went down to; `card` a file in which a published collection
    tells of its pool. `progress=False` shows no bars.
    """
    from cranfield.workflows.inputs import FilesMaterial, Work, pool_told

    told = pool_told(groups=groups, depth=pool_depth, card=card)
    return Opened(Work(FilesMaterial.opened(qrels, runs, told), progress))
