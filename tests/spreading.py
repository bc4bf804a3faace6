"""Pieces of work for tests, where a worker process finds them by name; and a Dask cluster of our own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError

ROOT = Path(__file__).parents[1]


def drawn(piece: int, shared: tuple[NDArray[np.float64], str]) -> tuple[int, float]:
    """A sum that depends on a seed of the piece, and on what is shared."""
    return piece, float(np.random.default_rng(piece).permutation(shared[0])[: piece + 10].sum())


def product(piece: int, shared: tuple[NDArray[np.float64], NDArray[np.float64]]) -> NDArray[np.float64]:
    return shared[0] @ (shared[1] + piece).T


def whether_writable(piece: int, shared: NDArray[np.float64]) -> bool:
    return shared.flags.writeable


def process(piece: int, shared: None) -> int:
    return os.getpid()


MARK = "anew"
"""Another word in the process whose copies are asked for."""


def marked(piece: int, shared: NDArray[np.float64]) -> str:
    return MARK if shared.sum() == len(shared) and not shared.flags.writeable else "not shared"


def refuse(piece: int, shared: None) -> int:
    if piece == 3:
        raise InputError("the third piece is bad")
    return piece


def die(piece: int, shared: None) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return piece


def die_once(piece: int, shared: Path) -> int:
    """Kill the worker that takes the fifth piece first."""
    if piece == 5 and not shared.exists():
        shared.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return piece * piece


def touch(piece: int, shared: Path) -> int:
    (shared / str(piece)).touch()
    return piece


def wait(piece: int, shared: Path) -> None:
    (shared / str(piece)).touch()
    time.sleep(60)


@contextmanager
def dask_cluster(folder: Path, *, workers: int = 2, python: str = sys.executable, path: str = "") -> Iterator[str]:
    """A scheduler and workers as processes on loopback; what is given is the address of the scheduler."""
    file = folder / "scheduler.json"
    begin = [python, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    join = [python, "-m", "distributed.cli.dask_worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard"]
    join += ["--scheduler-file", str(file), "--local-directory", str(folder), "--death-timeout", "60"]
    places = [path, str(ROOT / "tests"), str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "PYTHONWARNINGS": "ignore"}
    started = []
    with (folder / "cluster.log").open("w") as log:
        try:
            for command in [[*begin, "--scheduler-file", str(file)], *[join] * workers]:
                started.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
                while not (file.exists() and file.read_text().endswith("}")):
                    time.sleep(0.05)
            from distributed import Client

            address = json.loads(file.read_text())["address"]
            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=60)
            yield address
        finally:
            for one in reversed(started):
                one.terminate()
            for one in started:
                one.wait()
