"""How long a command takes and how much memory it needs, as a whole process, beside others in one run."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.generate import SMALL


@dataclass(frozen=True)
class Measured:
    """The median over some runs of a command: seconds, and the highest resident memory in bytes."""

    seconds: float
    memory: int


def command(
    words: Sequence[object],
    *,
    repeat: int = 3,
    before: Callable[[], None] | None = None,
    cpus: set[int] | None = None,
) -> Measured:
    """Run a command some times and give the medians; `before` prepares each time, `cpus` pins the process."""
    seconds, memory = [], []
    for _ in range(1 if SMALL else repeat):
        if before:
            before()
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
        )
        told = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        seconds.append(time.perf_counter() - started)
        memory.append(usage.ru_maxrss * 1024)
        if status:
            sys.exit(f"{' '.join(str(word) for word in words)}\n{told.decode()}")
    return Measured(statistics.median(seconds), int(statistics.median(memory)))


def python(program: str, *arguments: object, **options: object) -> Measured:
    """Measure a Python program given as text."""
    return command([sys.executable, "-c", program, *arguments], **options)  # type: ignore[arg-type]


def cranfield(*words: object, **options: object) -> Measured:
    """Measure one of our commands, start-up included."""
    return command([sys.executable, "-m", "cranfield", *words], **options)  # type: ignore[arg-type]


def tell(what: str, ours: float, theirs: float, wanted: str) -> None:
    """Print one ratio and the bound it is held against."""
    print(f"{what:<72} {ours:9.2f} / {theirs:9.2f} = {ours / theirs:6.2f}   ({wanted})", flush=True)


def clear(*paths: Path) -> None:
    """Remove collections that an earlier run has made."""
    for path in paths:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
