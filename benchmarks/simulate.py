"""Simulation: six plans over 40 runs of 50 topics, as one command, reading included; and the same with a curve.

    python -m benchmarks.simulate [--runs 40] [--groups 20]

There is no other program to hold it against: the bound is patience.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.generate import Shape, write_collection
from benchmarks.measuring import cranfield

PLANS = ("depth 10", "depth 20", "take 100", "rrf 100", "depth 2; mtf until 60", "max-mean until 60")
CURVES = ("take", "rrf", "mtf")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("runs", 40), ("groups", 20)):
        options.add_argument(f"--{name}", type=int, default=default)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_collection(Shape(runs=asked.runs, groups=asked.groups, consensus=0.2, pool_depth=50), Path(folder))
        runs = sorted((Path(folder) / "runs").iterdir())
        given = ("simulate", "--qrels", Path(folder) / "qrels.txt", "--groups", Path(folder) / "groups.tsv", *runs)
        plans = [word for plan in PLANS for word in ("--plan", plan)]
        curves = [word for plan in CURVES for word in ("--plan", plan)]
        told = cranfield(*given, *plans, repeat=1)
        print(f"{len(PLANS)} plans over {asked.runs} runs, depth pools without each group too: {told.seconds:.1f} s")
        told = cranfield(*given, *curves, "--budgets", "500,1000,2000,4000,8000", repeat=1)
        print(f"{len(CURVES)} strategies at five budgets up to 8,000 documents: {told.seconds:.1f} s")


if __name__ == "__main__":
    main()
