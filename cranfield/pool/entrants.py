"""The runs that enter a pool, with who sent them, all in the same codes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cranfield.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.pool.arrow import indices, named, places
from cranfield.runs.distinct import distinct
from cranfield.runs.encoding import CodedRun
from cranfield.runs.ids import as_ids
from cranfield.runs.run import Codes, Places, Run

ABSENT = -1


@dataclass(frozen=True, eq=False)
class PoolRun:
    """One run: its name, who sent it, and its ranking in codes. A run without a group is a group of its own.

    `priority` is the sender's own order of its runs, 1 first. `content_hash` goes into the manifest.
    """

    name: str
    ranking: CodedRun
    group: str = ""
    family: str = ""
    priority: int = 1
    content_hash: str = ""

    @property
    def team(self) -> str:
        """The group, or the run's own name where it has none."""
        return self.group or self.name


@dataclass(frozen=True, eq=False)
class Numbering:
    """The documents of some runs, numbered by id, descending: `documents[i]` is the code of number i.

    `numbers` is the other way round: the number of each code, meaningless where no run has the document.
    """

    documents: Codes
    numbers: Codes


@dataclass(frozen=True, eq=False)
class PooledRuns:
    """All runs of a pool, in byte order of their names, and the ids that their codes stand for.

    Codes are places in `topic_ids` and `document_ids`. Use `pooled_runs` or `runs_of` to make one.
    """

    runs: tuple[PoolRun, ...]
    topic_ids: pa.Array
    document_ids: pa.Array

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(run.name for run in self.runs)

    @property
    def teams(self) -> tuple[str, ...]:
        """The group of each run."""
        return tuple(run.team for run in self.runs)

    @cached_property
    def codes_by_topic(self) -> dict[str, int]:
        """The code of each topic that some run has, topics in byte order."""
        seen = np.unique(np.concatenate([run.ranking.topics for run in self.runs] or [np.empty(0, np.int32)]))
        pairs = zip(named(self.topic_ids, seen), seen.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: pair[0].encode()))

    @property
    def topics(self) -> list[str]:
        """The ids of the topics that some run has, in byte order."""
        return list(self.codes_by_topic)

    @cached_property
    def depth(self) -> int:
        """The length of the longest list."""
        return max((int(np.diff(run.ranking.offsets).max(initial=0)) for run in self.runs), default=0)

    @cached_property
    def numbering(self) -> Numbering:
        """The documents that some run has, numbered by id, descending in byte order."""
        seen = np.zeros(len(self.document_ids), dtype=bool)
        for run in self.runs:
            seen[run.ranking.documents] = True
        used = np.flatnonzero(seen).astype(np.int32)
        ids = self.document_ids.take(indices(used)).cast(pa.large_binary())
        documents = used[places(pc.sort_indices(ids, sort_keys=[("", "descending")]))]
        numbers = np.empty(len(self.document_ids), dtype=np.int32)
        numbers[documents] = np.arange(len(documents), dtype=np.int32)
        return Numbering(documents, numbers)

    @cached_property
    def places(self) -> Codes:
        """Where each run has each topic code (runs by topics): the place among its topics, or -1."""
        places = np.full((len(self.runs), len(self.topic_ids)), ABSENT, dtype=np.int32)
        for number, run in enumerate(self.runs):
            places[number, run.ranking.topics] = np.arange(len(run.ranking.topics), dtype=np.int32)
        return places

    def cut(self, depth: int | None) -> "PooledRuns":
        """Give the same runs with the first `depth` documents of each topic; None means all of them."""
        if depth is None or depth >= self.depth:
            return self
        return replace(self, runs=tuple(replace(run, ranking=_cut(run.ranking, depth)) for run in self.runs))

    def chosen(self, names: Iterable[str]) -> "PooledRuns":
        """Give only the runs with these names."""
        wanted = set(names)
        return replace(self, runs=tuple(run for run in self.runs if run.name in wanted))


def pooled_runs(runs: Iterable[PoolRun], *, topic_ids: pa.Array, document_ids: pa.Array) -> PooledRuns:
    """Give the runs in byte order of their names, or say that the selection is empty or a name comes twice."""
    ordered = sorted(runs, key=lambda run: run.name.encode())
    if not ordered:
        raise ProblemsFound("there is nothing to pool", [Problem("no-runs", "no run was selected")])
    repeated = sorted({one.name for one, other in pairwise(ordered) if one.name == other.name})
    if repeated:
        raise UsageError(f"two runs are called {', '.join(quoted(name) for name in repeated)}")
    return PooledRuns(tuple(ordered), as_ids(topic_ids), as_ids(document_ids))


def runs_of(runs: Sequence[Run], *, groups: Mapping[str, str] | None = None) -> PooledRuns:
    """Give some runs in codes of their own, made here; `groups` gives the group of a tag."""
    topic_ids, topics = distinct(pa.chunked_array([as_ids(run.topic_ids) for run in runs], pa.large_string()))
    document_ids, documents = distinct(
        pa.chunked_array([as_ids(run.document_ids) for run in runs], pa.large_string())
    )
    topic_starts = np.cumsum([0, *(len(run.topic_ids) for run in runs)])
    document_starts = np.cumsum([0, *(len(run.document_ids) for run in runs)])
    coded = [
        PoolRun(
            run.tag,
            CodedRun(
                topics[topic_starts[place] : topic_starts[place + 1]],
                run.offsets,
                documents[document_starts[place] : document_starts[place + 1]][run.documents],
                run.scores,
            ),
            group=(groups or {}).get(run.tag, ""),
            content_hash=run.content_hash,
        )
        for place, run in enumerate(runs)
    ]
    return pooled_runs(coded, topic_ids=topic_ids, document_ids=document_ids)


def _cut(ranking: CodedRun, depth: int) -> CodedRun:
    counts = np.minimum(np.diff(ranking.offsets), depth)
    offsets: Places = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = np.arange(offsets[-1]) + np.repeat(ranking.offsets[:-1] - offsets[:-1], counts)
    return CodedRun(ranking.topics, offsets, ranking.documents[rows], ranking.scores[rows])
