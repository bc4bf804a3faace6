"""Work in independent pieces, and whoever does them: this process, processes on this machine, or a Dask cluster.

What all pieces share reaches every worker once, and is read-only there. A function stands at the top of a module,
since a worker finds it by its name.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import Any, TypeVar

from cranfield._version import __version__
from cranfield.base.errors import InputError, MissingExtra, UsageError, quoted
from cranfield.base.registry import WithoutPandas, deferred

with deferred:
    import ctypes
    import mmap
    import multiprocessing
    import pickle
    import signal
    import tempfile
    import threading
    from concurrent import futures
    from concurrent.futures import process as pools
    from importlib import metadata

    import distributed


Piece = TypeVar("Piece")
Shared = TypeVar("Shared")
Result = TypeVar("Result")
Work = Callable[[Piece, Shared], Result]

WORTH = 4
"""Fewer pieces than this are done here: so long does it take others to begin."""


class Workers:
    """Those who do pieces of work: this process alone, or as `base.spread` has them."""

    count: int = 1
    begun: Any = None
    """What was begun, or connected to, for the first large job, and stays for the next ones."""

    @property
    def is_quick(self) -> bool:
        """Whether they are there at once, so that small jobs are worth it too."""
        return self.begun is not None

    def map(self, function: Work[Piece, Shared, Result], pieces: Sequence[Piece], shared: Shared) -> Iterator[Result]:
        """Give `function(piece, shared)` for every piece, in the order of the pieces, whoever does them and when.

        Neither the pieces nor their seeds may depend on the number of workers: then results are the same bit by bit.
        A piece should take about a second.
        """
        return (self if len(pieces) >= WORTH else HERE).spread(function, pieces, shared)

    def spread(
        self, function: Work[Piece, Shared, Result], pieces: Sequence[Piece], shared: Shared
    ) -> Iterator[Result]:
        """Begin what is worth it elsewhere at once; results are waited for one by one."""
        return (_by_one_core(function, piece, shared) for piece in pieces)

    def close(self) -> None:
        """Let go of whoever was begun or asked for help."""


def _by_one_core(function: Work[Piece, Shared, Result], piece: Piece, shared: Shared) -> Result:
    """A piece done as a process of `--jobs` does it: a product of matrices rounds otherwise on more than one core."""
    try:
        library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
        count, set_count = library.scipy_openblas_get_num_threads64_(), library.scipy_openblas_set_num_threads64_
    except (AttributeError, KeyError, OSError):  # without numpy, or with another library for matrices
        return function(piece, shared)
    set_count(1)
    try:
        return function(piece, shared)
    finally:
        set_count(count)


HERE = Workers()


TRIES = 3
"""How often pieces are handed out again after the workers that held what they need have died."""


@dataclass(eq=False)
class Processes(Workers):
    """Processes on this machine: begun for the first large job, and there for the next ones.

    They are copies of this process (fork), which are there at once, if it is `ours`: the command line, of which all
    is known. A copy that is made while threads are at work may wait for their locks for ever, so wherever there are
    some, and in a script or a notebook, which may have begun anything, processes begin anew (spawn).
    """

    count: int
    ours: bool = False
    begun: Any = None

    @property
    def is_quick(self) -> bool:
        quiet = {"_MainThread", "_RefreshThread"}  # which draws the progress: no piece takes its locks
        is_alone = {type(one).__name__ for one in threading.enumerate()} <= quiet
        return super().is_quick or (self.ours and sys.platform == "linux" and is_alone)

    def spread(
        self, function: Work[Piece, Shared, Result], pieces: Sequence[Piece], shared: Shared
    ) -> Iterator[Result]:
        count = min(self.count, len(pieces))
        if count < 2:
            return super().spread(function, pieces, shared)
        # A matrix is multiplied by one core of each: all of them are busy already.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if self.begun is None or self.begun._broken or self.begun._max_workers < count:
            self.close()
            way = multiprocessing.get_context("fork" if self.is_quick else "spawn")
            self.begun = futures.ProcessPoolExecutor(
                count, mp_context=way, initializer=partial(_begin, ours=self.ours)
            )
        folder = tempfile.TemporaryDirectory(prefix="cranfield-")
        path = os.path.join(folder.name, "shared")  # noqa: PTH118 (no pathlib in a worker)
        _write(shared, path)
        # A new process would begin by running the program of its parent: a script anew, or imports it never needs.
        program, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            waiting = [self.begun.submit(_do, function, piece, path) for piece in pieces]
        finally:
            sys.modules["__main__"] = program
        return self._results(waiting, folder)

    def _results(self, waiting: list[Any], folder: tempfile.TemporaryDirectory[str]) -> Iterator[Any]:
        try:
            for place, one in enumerate(waiting):
                waiting[place] = None  # a result is not kept longer than the caller keeps it
                yield one.result()
        except pools.BrokenProcessPool:
            raise InputError("a worker process was killed; where memory is short, --jobs 1 needs the least") from None
        except BaseException:  # nobody waits for the rest
            for process in list((self.begun._processes or {}).values()):
                process.kill()
            self.close()
            raise
        finally:
            folder.cleanup()

    def close(self) -> None:
        if self.begun is not None:
            self.begun.shutdown(cancel_futures=True)
            self.begun = None


_shared: tuple[str, Any] = "", None
"""What the pieces of this worker process share, and the file it lies in."""


def _write(shared: object, path: str) -> None:
    """Write what is shared to a file; arrays lie in it as they do in memory, and all processes map the same."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(shared, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    with open(path, "wb") as file:  # noqa: PTH123
        pickle.dump([len(head), *(view.nbytes for view in views)], file)
        part: Any
        for part in (head, *views):
            file.write(b"\0" * (-file.tell() % 64))  # arrays want to be aligned
            file.write(part)


def _begin(*, ours: bool) -> None:
    """Make a new process ready: it leaves Ctrl-C and messages to the process that began it, and can be ended."""
    if ours and sys.platform == "linux":  # elsewhere the thread that began it may end before the job does
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(_ENDED_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    logging.disable()
    sys.meta_path.insert(0, WithoutPandas)  # results are arrays, never frames
    keep_memory()


def keep_memory(*, kept: int = -1, mapped: int = 0) -> None:
    """Let the C library keep the memory of large arrays that come and go, which the system would empty each time.

    `kept` are the bytes of free memory that it keeps at most, -1 for all, and `mapped` arrays that it may map anew.
    """
    with suppress(AttributeError, OSError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_KEPT_AT_MOST, kept)
        library.mallopt(_MAPPED_AT_MOST, mapped)
        if kept >= 0:
            library.malloc_trim(0)


_KEPT_AT_MOST, _MAPPED_AT_MOST = -1, -4
_ENDED_WITH_PARENT = 1


def _do(function: Work[Any, Any, Result], piece: object, path: str) -> Result:
    """A piece in a worker process, which maps what is shared when the first piece of a job comes."""
    global _shared
    if _shared[0] != path:
        with open(path, "rb") as file:  # noqa: PTH123
            sizes, begin = pickle.load(file), file.tell()  # noqa: S301 (this program wrote it)
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        parts = []
        for size in sizes:
            begin += -begin % 64
            parts.append(whole[begin : begin + size])
            begin += size
        _shared = path, pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301
    return function(piece, _shared[1])


@cache
def versions() -> dict[str, str]:
    """What must be the same everywhere for results to be the same."""
    return {"cranfield": __version__, "numpy": metadata.version("numpy"), "python": platform.python_version()}


@dataclass(eq=False)
class Cluster(Workers):
    """A Dask cluster that is already there, by its address or as a `distributed.Client`."""

    where: Any
    count: int = 2  # at least; how many there are is known once it answers
    begun: Any = None

    def __post_init__(self) -> None:
        is_client = hasattr(self.where, "scatter") and not getattr(self.where, "asynchronous", False)
        if not (isinstance(self.where, str) or is_client):
            raise UsageError("cluster is the address of a Dask scheduler, or a distributed.Client (not asynchronous)")

    def spread(
        self, function: Work[Piece, Shared, Result], pieces: Sequence[Piece], shared: Shared
    ) -> Iterator[Result]:
        if self.begun is None and isinstance(self.where, str):
            try:
                client: Any = distributed.Client(self.where, timeout=10, set_as_default=False)  # type: ignore[no-untyped-call]
            except ModuleNotFoundError:
                raise MissingExtra("--cluster", "cluster") from None
            except (OSError, ValueError) as error:
                raise UsageError(f"no Dask scheduler answers at {self.name} ({type(error).__name__})") from None
            logging.getLogger("distributed.client").disabled = True  # what has gone wrong is said here, in a sentence
            self.begun = client
        self.begun = self.begun or self.where
        # Workers on which results could differ are refused.
        with self._connected():
            ours, theirs = versions(), self.begun.run(versions, on_error="return")
            if not theirs:
                raise InputError(f"the cluster at {self.name} has no workers")
            for worker, found in theirs.items():
                _compare(ours, found, worker)
            self.count = sum(self.begun.nthreads().values())
            waiting = self._handed_out(function, pieces, shared)
        return self._results(function, pieces, shared, waiting)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Say in one sentence that the scheduler has gone, whichever error of `distributed` that is."""
        name = self.name
        try:
            yield
        except Exception as error:
            if self.begun.status == "running" and not isinstance(error, distributed.comm.core.CommClosedError):
                raise
            raise InputError(f"the Dask scheduler at {name} is gone, or the connection to it broke") from None

    def _handed_out(self, function: Work[Any, Any, Any], pieces: Sequence[Any], shared: object) -> list[Any]:
        held = self.begun.scatter(shared, broadcast=True, hash=False)
        named: Any = {"function": function, "shared": held, "ours": versions()}
        return list(self.begun.map(_checked, pieces, pure=False, **named))

    def _results(
        self, function: Work[Piece, Shared, Result], pieces: Sequence[Piece], shared: Shared, waiting: list[Any]
    ) -> Iterator[Result]:
        done = 0
        for left in reversed(range(TRIES)):
            try:
                for one in waiting:
                    with self._connected():
                        result = one.result()
                    yield result
                    done += 1
                return
            except (futures.CancelledError, distributed.KilledWorker) as error:
                # What was scattered went with the workers that held it, or a piece kills whoever takes it.
                if not left:
                    raise InputError(f"the workers of the cluster at {self.name} died repeatedly ({error})") from None
            finally:
                if self.begun.status == "running":
                    self.begun.cancel(waiting)
            with self._connected():
                waiting = self._handed_out(function, pieces[done:], shared)

    def close(self) -> None:
        if self.begun is not None and isinstance(self.where, str):
            self.begun.close()
        self.begun = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return quoted(
            self.where if isinstance(self.where, str) else getattr(self.where.scheduler, "address", "a closed Client")
        )


def _checked(piece: Any, *, function: Work[Any, Any, Result], shared: Any, ours: dict[str, str]) -> Result:
    """A piece on a worker of a cluster, which may have come later than the others."""
    _compare(ours, versions(), "a worker")
    keep_memory()
    try:
        return _by_one_core(function, piece, shared)
    finally:
        keep_memory(kept=2**16, mapped=2**16)  # a worker is not ours: what was kept goes back, as Dask has it


def _compare(ours: dict[str, str], theirs: dict[str, str] | BaseException, worker: str) -> None:
    if isinstance(theirs, BaseException):
        raise InputError(f"{worker} of the cluster cannot run Cranfield ({theirs}); install the same version there")
    for package, version in ours.items():
        if theirs[package] != version:
            raise InputError(
                f"{worker} of the cluster has {package} {theirs[package]}, this machine {version}; install the same"
            )
