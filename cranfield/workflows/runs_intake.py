"""Read, check and rank run files: what `runs check` and `runs submit` share."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

from cranfield.errors import Problem, ProblemsFound, SourceError
from cranfield.source import Source
from cranfield.workflows.watching import Progress, silent
from cranfield.workflows.workers import workers
from cranfield.store import Store
from cranfield.store.documents import document_count, document_ids, known_among
from cranfield.store.runs import run_facts
from cranfield.store.topics import topic_ids

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from cranfield.runs.check import Expectations
    from cranfield.runs.run import Rows, Run

Order = Literal["score", "rank", "file"]
Names = Literal["tag", "file"]

WORKERS = 2
LOAD_ALL_BELOW = 2_000_000
"""Up to so many documents all ids of the corpus are held in memory to check runs against; above, they are probed."""

log = logging.getLogger("cranfield.workflows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run file, and what its sender says about it."""

    path: Path
    format: str | None = None
    order: Order = "score"
    names: Names = "tag"
    name: str = ""
    group: str = ""
    family: str = ""
    role: str | None = None
    priority: int | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """A run file after reading and checking. `run` is None where errors keep it out."""

    request: Request
    name: str
    problems: tuple[Problem, ...]
    run: "Run | None" = None
    rows: "Rows | None" = None
    content_hash: str = ""
    file_sha256: str = ""

    @property
    def errors(self) -> list[Problem]:
        """What keeps the run out."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """What is kept, and stored with the run."""
        return [problem for problem in self.problems if problem.severity == "warning"]


def examine(
    requests: Sequence[Request], expectations: "Expectations", *, keep_rows: bool = False, progress: Progress = silent
) -> list[Examined]:
    """Read, check and rank files, two at a time: parsing and sorting leave Python's lock most of the time."""
    done: list[Examined] = []
    with workers(WORKERS) as threads:
        for examined in threads.map(
            lambda request: _examine_one(request, expectations, keep_rows=keep_rows), requests
        ):
            done.append(examined)
            progress("checking runs", len(done), len(requests))
    return done


def _examine_one(request: Request, expectations: "Expectations", *, keep_rows: bool) -> Examined:
    from cranfield.runs.check import check
    from cranfield.runs.order import ranked
    from cranfield.runs.reading import read_rows

    source = Source(request.path)
    log.info("reading %s", source.name)
    try:
        rows = read_rows(source, format=request.format)
    except SourceError as error:
        return Examined(request, source.stem, (error.problem,))
    except ProblemsFound as error:
        return Examined(request, source.stem, error.problems)
    given = request.name or (source.stem if request.names == "file" else None)
    problems = tuple(check(rows, replace(expectations, order=request.order, name=given)))
    name = rows.name if given is None else given
    examined = Examined(request, name, problems, rows=rows if keep_rows else None, file_sha256=rows.file_sha256)
    if examined.errors:
        return examined
    run = ranked(rows, order=request.order)
    return replace(examined, run=run, content_hash=run.content_hash)


def expectations_of(store: Store | None, *, max_depth: int = 1000, min_depth: int = 1) -> "Expectations":
    """Give what a collection expects of a run; without a collection, only what every run must keep to."""
    from cranfield.runs.check import Expectations

    if store is None:
        return Expectations(max_depth=max_depth, min_depth=min_depth)
    return Expectations(
        topics=frozenset(topic_ids(store)) or None,
        known_documents=_known_documents(store) if document_count(store) else None,
        max_depth=max_depth,
        min_depth=min_depth,
    )


def _known_documents(store: Store) -> Callable[["pa.Array"], "np.ndarray"]:
    """Give a function that says of each id whether it is a document; safe to call from several threads."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    lock = Lock()
    loaded: list[pa.Array] = []

    def known(ids: pa.Array) -> "np.ndarray":
        with lock:
            if document_count(store) < LOAD_ALL_BELOW:
                if not loaded:
                    loaded.append(pa.array(document_ids(store), pa.large_string()))
                return np.asarray(pc.is_in(ids.cast(pa.large_string()), value_set=loaded[0]))
            words = ids.to_pylist()
            found = known_among(store, words)
            return np.fromiter((word in found for word in words), dtype=bool, count=len(words))

    return known


def standing_hashes(store: Store) -> dict[str, str]:
    """Give the name of each standing run with its content hash."""
    return {facts.name: facts.content_hash for facts in run_facts(store)}
