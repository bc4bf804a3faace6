"""Large jobs on two cores against one: in turns, the best of some repetitions of each side.

    python -m benchmarks.cores [read compare reuse simulate] [--runs 1000] [--repeat 3] [--trec DIR]

`read` reads and scores runs from text, `compare` resamples all pairs of 129 runs, `reuse` holds groups out and ranks
again, `simulate` replays all strategies at 8 budgets for 10 seeds on the runs of TREC-2 in DIR. One core is one
process pinned to it. The load of the machine is printed beside each pair of times: on a busy one they mean little.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.generate import SMALL, Shape, write_collection

SIMULATE = """
import os, sys
import cranfield as cf

PLANS = (
    "borda combanz combmax combmed combmin combmnz combsum condorcet dcg epsilon-greedy fair-take hedge max-mean"
    " max-mean-ns mtc mtf popularity random-arm rbp-a rbp-b rbp-c rrf shuffle take thompson thompson-ns ucb1-tuned"
).split() + ["sample 10", "statap 10", "mtf-global budget 500 across topics"]
BUDGETS = [500, 1000, 2000, 4000, 6000, 8000, 12000, 16000]

if __name__ == "__main__":
    folder, jobs, seeds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    runs = sorted(os.path.join(folder, "runs", name) for name in os.listdir(os.path.join(folder, "runs")))
    (qrels,) = os.listdir(os.path.join(folder, "qrels"))
    options = {"skip_bad": True, "progress": False, "jobs": jobs}
    with cf.open_files(qrels=os.path.join(folder, "qrels", qrels), runs=runs, **options) as files:
        for seed in range(seeds):
            print(files.simulate(*PLANS, budgets=BUDGETS, measures="AP", seed=seed).to_csv())
"""


def timed(words: list[object], cores: set[int]) -> tuple[float, str]:
    """Seconds of a command on some cores, and the hash of what it prints."""
    started = time.perf_counter()
    ended = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    assert ended.returncode == 0, ended.stderr.decode()
    return time.perf_counter() - started, hashlib.sha256(ended.stdout).hexdigest()[:12]


def compared(what: str, words: list[object], jobs: list[object], repeat: int) -> None:
    """Print the best time of one core, of two, and their ratio; both must print the same bytes."""
    best, printed = {1: float("inf"), 2: float("inf")}, set()
    for _ in range(1 if SMALL else repeat):
        for count in (1, 2):
            seconds, digest = timed(
                [*words, *(count if word == "JOBS" else word for word in jobs)], set(range(count))
            )
            best[count] = min(best[count], seconds)
            printed.add(digest)
    same = "same bytes" if len(printed) == 1 else "OTHER BYTES"
    ratio, load = best[1] / best[2], os.getloadavg()[0]
    print(f"{what}: {best[1]:.1f} s on one core, {best[2]:.1f} s on two: {ratio:.2f} x, {same}, load {load:.1f}")


def main() -> None:
    """Generate what is needed, measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("jobs", nargs="*", default=["read", "compare", "reuse"])
    options.add_argument("--runs", type=int, default=8 if SMALL else 1000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--draws", type=int, default=100_000)
    options.add_argument("--trec", type=Path)
    asked = options.parse_args()
    cranfield: list[object] = [sys.executable, "-m", "cranfield"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = asked.runs if "read" in asked.jobs else 129
        if {"read", "compare", "reuse"} & set(asked.jobs):
            write_collection(Shape(runs=many, groups=43, pool_depth=50), folder)
        files = sorted((folder / "runs").iterdir()) if many else []
        given: list[object] = [*cranfield, "JOB", "--qrels", folder / "qrels.txt"]
        tail: list[object] = ["-f", "csv", "--jobs", "JOBS"]
        if "read" in asked.jobs:
            words = ["evaluate" if word == "JOB" else word for word in given]
            compared(f"{many} runs read and scored", [*words, *files, "--no-verdict"], tail, asked.repeat)
        if "compare" in asked.jobs:
            words = ["compare" if word == "JOB" else word for word in given]
            drawn = ["--test", "randomisation", "--draws", asked.draws, "-m", "AP", "--no-verdict"]
            compared("all pairs of 129 runs", [*words, *files[:129], *drawn], tail, asked.repeat)
        if "reuse" in asked.jobs:
            words = ["reuse" if word == "JOB" else word for word in given]
            groups = ["--groups", folder / "groups.tsv", "--pool-depth", 50]
            compared("hold-outs of 129 runs", [*words, *files[:129], *groups], tail, asked.repeat)
        if "simulate" in asked.jobs:
            program = folder / "simulate.py"
            program.write_text(SIMULATE)
            words = [sys.executable, program, asked.trec]
            compared(f"all strategies, {asked.seeds} seeds", words, ["JOBS", asked.seeds], asked.repeat)


if __name__ == "__main__":
    main()
