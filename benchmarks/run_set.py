"""A Parquet set of 200 runs of 500 topics and 1,000 documents (100 million rows), evaluated within 2 GB.

    python -m benchmarks.run_set [--runs 200] [--topics 500] [--texts 10] [--jobs 2] [--keep FOLDER]

The set is generated run by run. Memory is that of all processes together, shared pages counted once (PSS), looked at
ten times a second. Some of the runs are also written as text, and their time is scaled to all of them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.generate import SMALL
from cranfield.runs import reading, sets
from cranfield.runs.run import Run

DEPTH, UNIVERSE, JUDGED = 1000, 4000, 200


def runs(count: int, topics: int) -> Iterator[Run]:
    """Runs of which each has the first 1,000 of 4,000 documents of each topic, in an order of its own."""
    documents = pa.array([f"doc-{number:09d}" for number in range(topics * UNIVERSE)], pa.large_string())
    names = pa.array([f"{number:05d}" for number in range(topics)], pa.large_string())
    first = np.repeat(np.arange(topics, dtype=np.int32) * UNIVERSE, DEPTH)
    for number in range(count):
        draw = np.random.default_rng(number)
        order = np.argsort(draw.random((topics, UNIVERSE), dtype=np.float32) + np.arange(UNIVERSE) / UNIVERSE, axis=1)
        scores = -np.sort(-draw.random((topics, DEPTH)), axis=1).ravel()
        codes = order[:, :DEPTH].astype(np.int32).ravel() + first
        offsets = np.arange(topics + 1) * DEPTH
        yield Run(f"run-{number:04d}", names, offsets, documents, codes, scores, "score")


def write_qrels(path: Path, topics: int) -> None:
    """Judge the documents of each topic that most runs have near the top."""
    with path.open("w") as file:
        for topic in range(topics):
            lines = (f"{topic:05d} 0 doc-{topic * UNIVERSE + one:09d} {one % 3}\n" for one in range(JUDGED))
            file.writelines(lines)


def memory_of(process: int) -> int:
    """The memory of a process and of all that it began, in bytes."""
    total, waiting = 0, [process]
    while waiting:
        one = Path(f"/proc/{waiting.pop()}")
        try:
            lines = (one / "smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
            for thread in (one / "task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return total


def evaluated(qrels: Path, words: list[object], jobs: int) -> tuple[float, float, int]:
    """Seconds, seconds of CPU and the highest memory of an evaluation without verdicts."""
    command = [sys.executable, "-m", "cranfield", "evaluate", "--qrels", qrels, *words, "--no-verdict", "-f", "csv"]
    before, peak, started = os.times(), 0, time.perf_counter()
    process = subprocess.Popen([*map(str, command), "--jobs", str(jobs)], stdout=subprocess.DEVNULL)
    ended = threading.Event()
    threading.Thread(target=lambda: (process.wait(), ended.set())).start()
    while not ended.wait(0.1):
        peak = max(peak, memory_of(process.pid))
    after = os.times()
    assert process.returncode == 0, "the evaluation failed"
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, cpu, peak


def main() -> None:
    """Generate, measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("runs", 200), ("topics", 500), ("texts", 10), ("jobs", 2)):
        options.add_argument(f"--{name}", type=int, default=4 if SMALL else default)
    options.add_argument("--keep", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        whole, qrels, texts = folder / "runs.parquet", folder / "qrels.txt", []
        if not whole.exists():
            write_qrels(qrels, asked.topics)
            with whole.open("wb") as stream:
                sets.write(stream, runs(asked.runs, asked.topics))
        for run in runs(asked.texts, asked.topics):
            texts.append(folder / f"{run.tag}.run")
            with texts[-1].open("wb") as stream:
                reading.run_formats.get("trec").write(run, stream)
        rows = asked.runs * asked.topics * DEPTH
        print(f"{asked.runs} runs, {rows:,} rows, {whole.stat().st_size / 1e6:,.0f} MB of Parquet")
        seconds, cpu, peak = evaluated(qrels, [whole], asked.jobs)
        print(f"evaluated in {seconds:.1f} s, {cpu:.1f} s of CPU, at most {peak / 1e6:,.0f} MB (at most 2,000)")
        share = asked.runs / asked.texts
        text_seconds, text_cpu, text_peak = evaluated(qrels, list(texts), asked.jobs)
        size = share * sum(file.stat().st_size for file in texts) / 1e6
        print(f"as text ({size:,.0f} MB; {asked.texts} of {asked.runs} runs, scaled): {share * text_seconds:.1f} s,")
        print(
            f"  {share * text_cpu:.1f} s of CPU; Parquet / text: {seconds / (share * text_seconds):.2f} of the time,"
        )
        print(
            f"  {cpu / (share * text_cpu):.2f} of the CPU; {len(texts)} texts took at most {text_peak / 1e6:,.0f} MB"
        )


if __name__ == "__main__":
    main()
