"""Pooling: depth 100 against trectools, every fixed strategy over 129 runs, and the step of every adaptive one.

    python -m benchmarks.pool [--trectools PYTHON]

trectools is measured with the interpreter given (or this one, if it has it), on the same runs read from files.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np

from benchmarks.generate import Shape, _document_ids, _topic_ids, rankings, write_run
from benchmarks.measuring import tell
from cranfield.base.records import BINARY
from cranfield.judge.events import Event
from cranfield.pool.build import build
from cranfield.pool.candidates import PooledRuns, PoolRun, candidates_of, pooled_runs
from cranfield.pool.plan import parse
from cranfield.pool.strategy import Start, Strata, strategies
from cranfield.runs.encoding import CodedRun
from cranfield.store.events import append_events
from cranfield.store.live_pools import choices
from cranfield.store.pools import documents_to_judge, pool_topics
from cranfield.store.store import open_store
from cranfield.workflows.collection import init_collection
from cranfield.workflows.pool.live import Refiller
from cranfield.workflows.pool.pool import Pool
from cranfield.workflows.runs.submit import Request, submit_runs

THEIRS = """
import sys, time, pathlib
from trectools import TrecPoolMaker, TrecRun
started = time.perf_counter()
runs = [TrecRun(str(path)) for path in sorted(pathlib.Path(sys.argv[1]).iterdir())]
read = time.perf_counter()
pool = TrecPoolMaker().make_pool(runs, strategy="topX", topX=100)
pooled = time.perf_counter()
print(read - started, pooled - read, sum(len(documents) for documents in pool.pool.values()))
"""


def coded(shape: Shape) -> PooledRuns:
    """Give generated runs as they come out of a collection: codes, and the ids they stand for."""
    offsets = np.arange(shape.topics + 1, dtype=np.int64) * shape.documents
    topics = np.arange(shape.topics, dtype=np.int32)
    runs = [
        PoolRun(
            ranking.tag,
            CodedRun(topics, offsets, ranking.documents.ravel().astype(np.int32), ranking.scores.ravel()),
            group=f"group{number % shape.groups:03d}",
        )
        for number, ranking in enumerate(rankings(shape))
    ]
    ids = [str(topic) for topic in _topic_ids(0, shape.topics)]
    return pooled_runs(runs, topic_ids=ids, document_ids=_document_ids(np.arange(shape.ids)))


def seconds(plan: str, runs: PooledRuns, *, repeat: int = 3) -> tuple[float, int]:
    """Give the best time of building a pool, and its size. What the runs remember is made anew each time."""
    times = []
    for _ in range(repeat):
        fresh = PooledRuns(runs.runs, runs.topic_ids, runs.document_ids)
        started = time.perf_counter()
        pool = build(parse(plan), fresh)
        times.append(time.perf_counter() - started)
    return min(times), len(pool)


def against_trectools(python: str) -> None:
    """Pool 77 runs at depth 100, ours and theirs."""
    shape = Shape(runs=77, groups=40)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "runs")
        files.mkdir()
        for ranking in rankings(shape):
            write_run(ranking, files / f"{ranking.tag}.run")
        command = whole_command(Path(folder), files)
        asked = subprocess.run([python, "-W", "ignore", "-c", THEIRS, files], capture_output=True, text=True)
    ours, size = seconds("depth 100", coded(shape))
    print(f"depth 100 over 77 runs x 50 topics x 1,000: {size:,} documents with all their runs and ranks")
    if asked.returncode:
        why = asked.stderr.strip().splitlines()[-1]
        print(f"  ours {ours:.3f} s, the whole command {command:.2f} s; not compared: {why}")
        return
    read, pooled, count = (float(word) for word in asked.stdout.split()[-3:])
    print(f"  trectools: {count:,.0f} documents, {read:.1f} s reading, {pooled:.1f} s pooling")
    tell("the pooling itself: trectools against ours (s)", pooled, ours, "at least 20")
    tell("trectools reading and pooling against our whole command (s)", read + pooled, command, "at least 8")


def whole_command(folder: Path, files: Path, *, repeat: int = 3) -> float:
    """Give the best time of `cranfield pool build`, from its start to a stored pool, over submitted runs."""
    cranfield = [sys.executable, "-m", "cranfield"]
    collection = ["-C", str(folder / "collection.db")]

    def typed(*words: str) -> float:
        started = time.perf_counter()
        subprocess.run([*cranfield, *words, *collection], capture_output=True, check=True)
        return time.perf_counter() - started

    typed("init", "benchmark")
    typed("runs", "submit", "--contributing", *(str(path) for path in sorted(files.iterdir())))
    return min(typed("pool", "build", "depth 100", "--name", f"pool{number}") for number in range(repeat))


def steps(runs: PooledRuns, names: list[str]) -> Iterator[tuple[str, float]]:
    """Give (strategy, milliseconds from a judgment to the next document) on the first topic."""
    candidates = candidates_of(runs, next(iter(runs.codes_by_topic)))
    print(f"one step at {len(runs.runs)} runs and {len(candidates):,} candidates, in ms:")
    rng = np.random.default_rng(1)
    nobody = np.zeros(len(candidates), dtype=bool)
    for name in names:
        state = strategies.get(name)(Start(candidates, 1))
        choice = state.choose(nobody)
        times = []
        for _ in range(200):
            started = time.perf_counter()
            state.learn(choice[0], bool(rng.random() < 0.3))
            choice = state.choose(nobody)
            times.append(time.perf_counter() - started)
        yield name, 1000 * float(np.median(times))


def refills(plan: str, folder: Path) -> tuple[int, float]:
    """Give how many candidates a stored topic has, and the milliseconds of one refill after one judgment.

    129 runs are submitted; the time is that of `Refiller.refill`: reading what is new, choosing, writing the record.
    """
    files = folder / "runs"
    files.mkdir()
    shape = Shape(runs=129, groups=43, topics=2, documents=1500)
    for ranking in rankings(shape):
        write_run(ranking, files / f"{ranking.tag}.run")
    init_collection(folder / "live.db", name="benchmark", scale=BINARY)
    with open_store(folder / "live.db") as store:
        submit_runs(store, [Request(path=path, role="contributing") for path in files.iterdir()], max_depth=1500)
        Pool(store).build(plan)
        refiller, topic = Refiller(store, "pool"), pool_topics(store, "pool")[0]
        rng, times = np.random.default_rng(1), []
        waiting = documents_to_judge(store, "pool", topic)
        while len(times) < 200:
            with store.write():
                append_events(store, [_judged(topic, document, rng) for document in waiting])
                started = time.perf_counter()
                refiller.refill(topic, batch=1)
                times.append(time.perf_counter() - started)
            waiting = [choices(store, 1)[-1].document]
        return len(refiller.live.at(topic).candidates), 1000 * float(np.median(times))


def _judged(topic: str, document: str, rng: np.random.Generator) -> Event:
    grade = int(rng.random() < 0.3)
    return Event(
        uuid=str(uuid4()), kind="judged", topic=topic, document=document, assessor="a", happened="2026", grade=grade
    )


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trectools", default=sys.executable, help="an interpreter that has trectools")
    asked = options.parse_args()
    against_trectools(asked.trectools)
    runs = coded(Shape(runs=129, groups=43))
    print("every fixed or sampling strategy over 129 runs x 50 topics x 1,000, in seconds:")
    for name, part in strategies.items():
        if part.kind != "adaptive":
            plan = name if isinstance(part.amount, Strata) else f"{name} 100"  # strata have rates of their own
            print(f"  {name:<16} {seconds(plan, runs, repeat=1)[0]:7.2f}", flush=True)
    adaptive = [name for name, part in strategies.items() if part.kind == "adaptive" and name != "cal"]
    for name, time_taken in steps(coded(Shape(runs=129, groups=43, topics=1, documents=1500)), adaptive):
        print(f"  {name:<16} {time_taken:7.2f}", flush=True)
    for plan in ("depth 5; hedge until 1400", "depth 5; max-mean-ns until 1400", "depth 5; mtf until 1400"):
        with tempfile.TemporaryDirectory() as folder:
            candidates, milliseconds = refills(plan, Path(folder))
        print(f"one judgment in, one document out of a collection, {plan}: {milliseconds:.2f} ms", end=" ")
        print(f"(129 runs, {candidates:,} candidates; below 10 wanted)", flush=True)


if __name__ == "__main__":
    main()
