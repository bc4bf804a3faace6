"""Workers of `files.Workers.map`: processes on this machine, and a Dask cluster.

What all pieces share reaches every worker once, and is read-only there. A function stands at the top of a module,
since a worker finds it by its name.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cranfield._version import __version__
from cranfield.base.errors import InputError, MissingExtra, UsageError, quoted
from cranfield.base.files import Piece, Result, Shared, Work, Workers
from cranfield.base.registry import WithoutPandas, deferred

with deferred:
    import mmap
    import multiprocessing
    import pickle
    import signal
    import tempfile
    from concurrent import futures
    from concurrent.futures import process as pools
    from importlib import metadata

    import distributed


TRIES = 3
"""How often pieces are handed out again after the workers that held what they need have died."""


@dataclass
class Processes(Workers):
    """Processes on this machine."""

    count: int

    def spread(
        self, function: Work[Piece, Shared, Result], pieces: Sequence[Piece], shared: Shared
    ) -> Iterator[Result]:
        count = min(self.count, len(pieces))
        if count < 2:
            yield from super().spread(function, pieces, shared)
            return
        # A matrix is multiplied by one core of each: all of them are busy already.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # A process that is copied (fork) while threads are at work may wait for their locks for ever.
        fresh = multiprocessing.get_context("spawn")
        with _in_a_file(shared) as path:
            pool = futures.ProcessPoolExecutor(count, mp_context=fresh, initializer=_begin, initargs=(path,))
            try:
                waiting = [pool.submit(_do, function, piece) for piece in pieces]
                for place, one in enumerate(waiting):
                    waiting[place] = None  # type: ignore[call-overload]  # a result is not kept longer than the caller keeps it
                    yield one.result()
            except pools.BrokenProcessPool:
                raise InputError(
                    "a worker process was killed; where memory is short, --jobs 1 needs the least"
                ) from None
            except BaseException:  # nobody waits for the rest
                for process in list(pool._processes.values()):
                    process.kill()
                raise
            finally:
                pool.shutdown(cancel_futures=True)


_shared: Any = None
"""What the pieces of this worker process share."""


@contextmanager
def _in_a_file(shared: object) -> Iterator[str]:
    """A file that holds what is shared; arrays lie in it as they do in memory, and all processes map the same."""
    with tempfile.TemporaryDirectory(prefix="cranfield-") as folder:
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(shared, protocol=5, buffer_callback=buffers.append)
        views = [buffer.raw() for buffer in buffers]
        with open(path := os.path.join(folder, "shared"), "wb") as file:  # noqa: PTH118, PTH123 (no pathlib in a worker)
            pickle.dump([len(head), *(view.nbytes for view in views)], file)
            part: Any
            for part in (head, *views):
                file.write(b"\0" * (-file.tell() % 64))  # arrays want to be aligned
                file.write(part)
        yield path


def _begin(path: str) -> None:
    """Make a new process ready: it maps what is shared, and leaves Ctrl-C to the process that began it."""
    global _shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.meta_path.insert(0, WithoutPandas)  # results are arrays, never frames
    with open(path, "rb") as file:  # noqa: PTH123
        sizes, begin = pickle.load(file), file.tell()  # noqa: S301 (this program wrote it)
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    parts = []
    for size in sizes:
        begin += -begin % 64
        parts.append(whole[begin : begin + size])
        begin += size
    _shared = pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301


def _do(function: Work[Any, Any, Result], piece: object) -> Result:
    return function(piece, _shared)


def versions() -> dict[str, str]:
    """What must be the same everywhere for results to be the same."""
    return {"cranfield": __version__, "numpy": metadata.version("numpy"), "python": platform.python_version()}


@dataclass
class Cluster(Workers):
    """A Dask cluster that is already there, by its address or as a `distributed.Client`."""

    where: Any
    count: int = 2  # at least; how many there are is known once it answers

    def spread(
        self, function: Work[Piece, Shared, Result], pieces: Sequence[Piece], shared: Shared
    ) -> Iterator[Result]:
        with self._connected() as client:
            self._check(client)
            done = 0
            for left in reversed(range(TRIES)):
                held = client.scatter(shared, broadcast=True, hash=False)
                waiting = client.map(
                    _checked, pieces[done:], function=function, shared=held, ours=versions(), pure=False
                )
                try:
                    for one in waiting:
                        yield one.result()
                        done += 1
                    return
                except (futures.CancelledError, distributed.KilledWorker) as error:
                    # What was scattered went with the workers that held it, or a piece kills whoever takes it.
                    if not left:
                        raise InputError(
                            f"the workers of the cluster at {self.name} died again and again ({error})"
                        ) from None
                finally:
                    client.cancel(waiting)

    @property
    def name(self) -> str:
        """What messages call it."""
        return quoted(self.where if isinstance(self.where, str) else self.where.scheduler.address)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        if not isinstance(self.where, str):
            yield self.where
            return
        try:
            client: Any = distributed.Client(self.where, timeout=10, set_as_default=False)  # type: ignore[no-untyped-call]
        except ModuleNotFoundError:
            raise MissingExtra("--cluster", "cluster") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"no Dask scheduler answers at {self.name} ({type(error).__name__})") from None
        with client:
            yield client

    def _check(self, client: Any) -> None:
        """Refuse workers on which results could differ."""
        ours = versions()
        theirs = client.run(versions, on_error="return")
        if not theirs:
            raise InputError(f"the cluster at {self.name} has no workers")
        for worker, found in theirs.items():
            _compare(ours, found, worker)
        self.count = sum(client.nthreads().values())


def _checked(piece: Any, *, function: Work[Any, Any, Result], shared: Any, ours: dict[str, str]) -> Result:
    """A piece on a worker of a cluster, which may have come later than the others."""
    _compare(ours, versions(), "a worker")
    return function(piece, shared)


def _compare(ours: dict[str, str], theirs: dict[str, str] | BaseException, worker: str) -> None:
    if isinstance(theirs, BaseException):
        raise InputError(f"{worker} of the cluster cannot run Cranfield ({theirs}); install the same version there")
    for package, version in ours.items():
        if theirs[package] != version:
            raise InputError(
                f"{worker} of the cluster has {package} {theirs[package]}, this machine {version}; install the same"
            )
