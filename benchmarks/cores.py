"""Large jobs on two cores against one, on a cluster against processes, and reading against trec_eval.

    python -m benchmarks.cores [read compare reuse simulate dask small] [--runs 1000] [--repeat 1] [--trec DIR]

`read` reads and scores runs from text, all of them and the first 129, by AP, nDCG@10 and P@10, and holds both against
trec_eval called once for each run (benchmarks/trec_eval.py says what that is): 129 runs are timed, and scaled.
`compare` resamples all pairs of 129 runs, `reuse` holds groups and runs out and ranks again,
`simulate` replays all strategies at 8 budgets for some seeds on the runs of TREC-2 in DIR. `dask` does `compare` on
a scheduler and two workers of this machine. `small` scores two small files. One core is one process pinned to it.
The repetitions take turns, and the best of each side counts. Seconds of CPU are of all processes, those of workers
included: on two calm cores a job cannot take less than half of them. The load of the machine is printed beside each
pair of times: on a busy one only the CPU means something. With --repeat 1 all takes about ten minutes.
"""

import argparse
import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import trec_eval
from benchmarks.generate import SMALL, Shape, write_collection

SIMULATE = """
import os, sys
import cranfield as cf

PLANS = (
    "borda combanz combmax combmed combmin combmnz combsum condorcet dcg epsilon-greedy fair-take hedge max-mean"
    " max-mean-ns mtc mtf popularity random-arm rbp-a rbp-b rbp-c rrf shuffle take thompson thompson-ns ucb1-tuned"
).split() + ["sample 10", "statap 10", "mtf-global budget 500 across topics"]
BUDGETS = [500, 1000, 2000, 4000, 6000, 8000, 12000, 16000]

folder, jobs, seeds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
runs = sorted(os.path.join(folder, "runs", name) for name in os.listdir(os.path.join(folder, "runs")))
(qrels,) = os.listdir(os.path.join(folder, "qrels"))
options = {"skip_bad": True, "progress": False, "jobs": jobs}
with cf.open_files(qrels=os.path.join(folder, "qrels", qrels), runs=runs, **options) as files:
    for seed in range(seeds):
        print(files.simulate(*PLANS, budgets=BUDGETS, measures="AP", seed=seed).to_csv())
"""


FEW = 129
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Taken:
    """What a command took: seconds of the clock, and of CPU over all its processes."""

    wall: float
    cpu: float


def timed(words: list[object], cores: set[int]) -> tuple[Taken, str]:
    """What a command takes on some cores, and the hash of what it prints."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    printed = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)  # with what its children took, as far as it waited for them
    process.returncode = status
    assert status == 0, words[:8]
    taken = Taken(time.perf_counter() - started, usage.ru_utime + usage.ru_stime)
    return taken, hashlib.sha256(printed).hexdigest()[:12]


def in_turns(sides: dict[str, tuple[list[object], set[int]]], repeat: int) -> tuple[dict[str, Taken], str]:
    """The best of each side by the clock, and whether all of them print the same bytes."""
    best, printed = dict[str, Taken](), set()
    for _ in range(1 if SMALL else repeat):
        for name, (words, cores) in sides.items():
            taken, digest = timed(words, cores)
            best[name] = min(best.get(name, taken), taken, key=lambda one: one.wall)
            printed.add(digest)
    return best, "same bytes" if len(printed) == 1 else "OTHER BYTES"


def compared(what: str, words: list[object], repeat: int, wanted: str = ">= 1.7") -> Taken:
    """Print what one core takes, what two take, and their ratio; gives that of two. `JOBS` stands for the number."""
    sides = {str(jobs): ([jobs if word == "JOBS" else word for word in words], set(range(jobs))) for jobs in (1, 2)}
    best, same = in_turns(sides, repeat)
    one, two = best["1"], best["2"]
    tell(what, one, two, one.wall / two.wall, f"{wanted}, {same}", "one core", "two")
    return two


def tell(what: str, first: Taken, second: Taken, ratio: float, wanted: str, *names: str) -> None:
    """Print a ratio of times, the CPU behind them, and what is wanted."""
    sides = ", ".join(
        f"{name} {one.wall:.1f} s ({one.cpu:.1f} of CPU)" for name, one in zip(names, (first, second), strict=True)
    )
    print(f"{what}: {ratio:.2f} x ({wanted})   {sides}, load {os.getloadavg()[0]:.1f}", flush=True)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A scheduler and two workers of Dask on this machine."""
    sys.path.insert(0, str(ROOT / "tests"))
    from spreading import dask_cluster

    with dask_cluster(folder) as address:
        yield address


def main() -> None:
    """Generate what is needed, measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("jobs", nargs="*", default=["read", "compare", "dask", "reuse", "small"])
    options.add_argument("--runs", type=int, default=8 if SMALL else 1000)
    options.add_argument("--repeat", type=int, default=1)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--draws", type=int, default=1000 if SMALL else 100_000)
    options.add_argument("--trec", type=Path)
    asked = options.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{name}/compiled"
        measure(asked, Path(name))


def measure(asked: argparse.Namespace, folder: Path) -> None:
    """Measure the jobs that are named."""
    jobs, repeat = set(asked.jobs), asked.repeat
    many = asked.runs if "read" in jobs else min(FEW, asked.runs)
    write_collection(Shape(runs=many, groups=min(43, many), pool_depth=50), folder)
    qrels, files = folder / "qrels.txt", sorted((folder / "runs").iterdir())
    few = files[:FEW]

    def command(job: str, *words: object) -> list[object]:
        return [sys.executable, "-m", "cranfield", job, "--qrels", qrels, *words, "-f", "csv"]

    two_small = command("evaluate", *(ROOT / "collections/kitchen/runs").glob("ladle*"), "--no-verdict")
    two_small[5] = ROOT / "collections/kitchen/qrels.txt"
    timed(two_small, {0})  # compiles the modules
    if "small" in jobs:
        taken, _ = timed(two_small, {0})
        print(f"two small files: {taken.wall:.2f} s ({taken.cpu:.2f} of CPU)", flush=True)
    if "read" in jobs:
        once_for_each, theirs = ["sh", "-c", trec_eval.LOOP, "sh", qrels, *few], list[Taken]()
        if trec_eval.make(folder):
            theirs = sorted((timed(once_for_each, {0})[0] for _ in range(repeat)), key=lambda one: one.wall)
        for runs, wanted in ((files, ">= 7"), (few, ">= 6")):
            words = command("evaluate", *runs, "--no-verdict", "--jobs", "JOBS")
            ours = compared(f"{len(runs)} runs read and scored", words, repeat, ">= 1.7" if runs is files else "")
            for best in theirs[:1]:
                scaled = Taken(best.wall * len(runs) / len(few), best.cpu * len(runs) / len(few))
                tell("  trec_eval", scaled, ours, scaled.wall / ours.wall, wanted, "trec_eval", "two cores")
    drawn = ["--test", "randomisation", "--draws", asked.draws, "-m", "AP", "--no-verdict"]
    if "compare" in jobs:
        compared(f"all pairs of {len(few)} runs", command("compare", *few, *drawn, "--jobs", "JOBS"), repeat)
    if "dask" in jobs:
        with cluster(folder) as address:
            words = command("compare", *few, *drawn)
            sides = {where: ([*words, option, value], {0, 1}) for where, option, value in (
                ("processes", "--jobs", 2), ("Dask", "--cluster", address),
            )}  # fmt: skip
            best, same = in_turns(sides, repeat)
            local, spread = best["processes"], best["Dask"]
            tell("Dask", local, spread, spread.wall / local.wall, f"<= 1.3, {same}", "processes", "Dask")
    if "reuse" in jobs:
        described, names = (folder / "groups.tsv").read_text().splitlines(), {one.stem for one in few}
        (own := folder / "few.tsv").write_text("".join(f"{x}\n" for x in described if x.split("\t")[0] in names))
        groups = ["--groups", own, "--pool-depth", 50]
        compared(f"hold-outs of {len(few)} runs", command("reuse", *few, *groups, "--jobs", "JOBS"), repeat)
    if "simulate" in jobs:
        program = folder / "simulate.py"
        program.write_text(SIMULATE)
        words = [sys.executable, program, asked.trec, "JOBS", asked.seeds]
        compared(f"all strategies, {asked.seeds} seed(s)", words, repeat)


if __name__ == "__main__":
    main()
