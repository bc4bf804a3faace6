"""What Python users open: a collection, or bare files. Both give the same interface, and pandas frames come out.

`import cranfield` brings this module along: so nothing heavy is imported here before something is opened.
"""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cranfield.errors import UsageError

if TYPE_CHECKING:
    import os

    import pandas

    from cranfield.runs.groups import Member
    from cranfield.steps.evaluate import Asked
    from cranfield.steps.keeping import KeptAlignment
    from cranfield.store import Store

    PathLike = str | os.PathLike[str]
    Judged = PathLike | Mapping[str, Mapping[str, int]] | pandas.DataFrame
    Ranked = PathLike | Mapping[str, Mapping[str, float]] | pandas.DataFrame
    Clusters = PathLike | Mapping[str, Hashable] | None


class Material(Protocol):
    """Where qrels and runs come from."""

    @property
    def store(self) -> "Store | None":
        """The collection, where it is one."""
        ...

    def names(self) -> tuple[str, ...]:
        """Give the names of all runs."""
        ...

    def members(self) -> "Sequence[Member]":
        """Give who the runs belong to."""
        ...

    def with_runs(self, asked: "Asked", names: Sequence[str] | None, *, with_ids: bool) -> "Asked":
        """Put qrels and runs (None for all) into what is asked; `with_ids` where documents are needed by name."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Opened:
    """Runs and qrels at hand, to be scored and compared as often as one likes: they are read and aligned once.

    The words are those of the command line. A wrong call or bad input is a `CranfieldError`, whose text says what to
    do.
    """

    def __init__(self, material: Material, kept: "KeptAlignment") -> None:
        self._material, self._kept = material, kept

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the collection; files need no closing."""
        self._material.close()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs."""
        return self._material.names()

    @property
    def groups(self) -> "pandas.DataFrame":
        """Who the runs belong to: run, group, and whether it was `pooled` or is `new`."""
        import pandas as pd

        rows = [(one.run, one.group, "pooled" if one.pooled else "new") for one in self._material.members()]
        return pd.DataFrame(rows, columns=["run", "group", "role"])

    def evaluate(
        self,
        measures: str | Sequence[str] = ("AP", "nDCG@10", "P@10", "RR"),
        *,
        runs: Sequence[str] | None = None,
        by_topic: bool = False,
        topics: "str | os.PathLike[str] | Sequence[str]" = "qrels",
        like: Literal["9", "10"] | None = None,
        ties: Literal["trec", "best", "worst", "expected"] = "trec",
        duplicates: Literal["plain", "novelty"] = "plain",
        clusters: "Clusters" = None,
        letters: Literal["tukey", "t"] | None = None,
    ) -> "pandas.DataFrame":
        """Score runs (all, if none is named): one row for each run, topic and measure; topic `all` is the mean.

        `topics` is qrels, common, run, a file of ids, or a list of ids. `like` is the version of trec_eval to be
        reproduced. The frame's `attrs` tell the hash of the qrels, the reference, and in `notes` what the command
        line would say: topics behind the means, ties that matter.
        """
        from cranfield.steps.evaluate import evaluate_and_tell
        from cranfield.steps.evaluate_notes import notes_of
        from cranfield.steps.evaluate_rows import frame_of

        asked = self._asked(
            measures,
            runs,
            topics=topics,
            like=like,
            ties=ties,
            duplicates=duplicates,
            clusters=clusters,
            letters=letters,
        )
        found = evaluate_and_tell(asked, store=self._material.store, kept=self._kept)
        frame = frame_of(found, by_topic=by_topic)
        frame.attrs["notes"] = notes_of(found)
        return frame

    def compare(
        self,
        *runs: str,
        measures: str | Sequence[str] = ("AP", "nDCG@10"),
        baselines: str | Sequence[str] = (),
        test: str = "t",
        correction: str = "holm",
        alpha: float = 0.05,
        tolerance: float = 0.0,
        draws: int = 10_000,
        seed: int = 1,
        systems: Mapping[str, Sequence[str]] | None = None,
        topics: "str | os.PathLike[str] | Sequence[str]" = "qrels",
        like: Literal["9", "10"] | None = None,
        duplicates: Literal["plain", "novelty"] = "plain",
        clusters: "Clusters" = None,
    ) -> "pandas.DataFrame":
        """Compare runs (all of them if none is named): one row for each measure and pair, differences being a − b.

        `systems` maps the name of a system to its runs, which then count as one entry. The frame's `attrs` tell the
        hash of the qrels, and in `notes` what the command line would say.
        """
        from cranfield.steps.compare import Comparing, compare_runs, compared_frame

        asked = self._asked(
            measures, runs or None, topics=topics, like=like, duplicates=duplicates, clusters=clusters
        )
        seeds = {name: tuple(members) for name, members in (systems or {}).items()}
        named = (baselines,) if isinstance(baselines, str) else tuple(baselines)
        how = Comparing(named, test, correction, alpha, tolerance, draws, seed, systems=seeds)
        return compared_frame(*compare_runs(asked, how, store=self._material.store, kept=self._kept))

    def explain(
        self, topic: str, *runs: str, depth: int = 30, like: Literal["9", "10"] | None = None
    ) -> "pandas.DataFrame":
        """Lay open the lists of runs for a topic: each rank with its document, what is known of it, P, R and DCG."""
        import pandas as pd

        from cranfield.steps.evaluate import explain_lists

        asked = self._asked("AP", runs or None, with_ids=True, like=like)
        lists = explain_lists(asked, topic, depth=depth, store=self._material.store)
        columns = ["run", "rank", "document", "grade", "P", "R", "DCG"]
        rows = [
            (run, step.rank, step.document, step.state, step.precision, step.recall, step.dcg)
            for run, steps in lists
            for step in steps
        ]
        return pd.DataFrame(rows, columns=columns)

    def _asked(
        self,
        measures: str | Sequence[str],
        runs: Sequence[str] | None,
        *,
        with_ids: bool = False,
        topics: "str | os.PathLike[str] | Sequence[str]" = "qrels",
        clusters: "Clusters" = None,
        **options: Any,
    ) -> "Asked":
        from cranfield.evaluate.expression import parse_measures
        from cranfield.evaluate.foreign import ForeignMeasure
        from cranfield.qrels.qrels import qrels_of
        from cranfield.steps.evaluate import Asked

        wanted = (measures,) if isinstance(measures, str) else tuple(measures)
        if isinstance(runs, str):
            raise UsageError(f"runs is a list of names: give [{runs!r}]")
        _refuse_unknown(options)
        foreign = any(isinstance(one, ForeignMeasure) for one in parse_measures(wanted))
        asked = Asked(
            qrels=qrels_of([]),
            runs=(),
            measures=wanted,
            topics=_topic_set(topics),
            clusters=clusters if clusters is None or isinstance(clusters, Mapping) else Path(clusters),
            **options,
        )
        return self._material.with_runs(asked, runs, with_ids=with_ids or foreign)


def _topic_set(topics: "str | os.PathLike[str] | Sequence[str]") -> str | tuple[str, ...]:
    """Give the name of a topic set or file, or ids as they are."""
    if isinstance(topics, str) or not isinstance(topics, Sequence):
        return str(topics)
    return tuple(str(topic) for topic in topics)


_CHOICES: Mapping[str, tuple[object, ...]] = {
    "like": (None, "9", "10"),
    "ties": ("trec", "best", "worst", "expected"),
    "duplicates": ("plain", "novelty"),
    "letters": (None, "tukey", "t"),
}


def _refuse_unknown(options: Mapping[str, object]) -> None:
    """Refuse a word that no option knows: a misspelt one must not be taken for the usual case."""
    for name, value in options.items():
        if value not in _CHOICES[name]:
            known = ", ".join(repr(choice) for choice in _CHOICES[name])
            raise UsageError(f"{name} is one of {known}, not {value!r}")


def open_collection(path: "PathLike", *, qrels: "Judged | None" = None) -> Opened:
    """Open a collection. Its runs are scored by what is judged in it now, or by other `qrels`.

    Those are the name of a release, a file, a frame, or topic -> document -> grade.
    """
    from cranfield.steps.keeping import KeptAlignment
    from cranfield.steps.notebook_material import CollectionMaterial

    return Opened(CollectionMaterial.opened(path, qrels), KeptAlignment())


def open_files(
    *,
    qrels: "Judged",
    runs: "Ranked | Sequence[Ranked] | Mapping[str, Ranked]",
    groups: "PathLike | None" = None,
) -> Opened:
    """Open qrels and runs that are in no collection.

    `qrels` are a file, a frame, or topic -> document -> grade. `runs` are files or frames, one or a list, or a
    mapping of name -> file, frame, or topic -> document -> score. `groups` is a file with run tag, group and `pooled`
    or `new` on each line, tab separated.
    """
    from cranfield.steps.keeping import KeptAlignment
    from cranfield.steps.notebook_material import FilesMaterial

    return Opened(FilesMaterial.opened(qrels, runs, groups), KeptAlignment())
