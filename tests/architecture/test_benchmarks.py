"""Every benchmark runs to its end, on data so small that only the way is tried."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = {"__init__", "__main__", "generate", "measuring", "trec_eval"}
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem not in PARTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_to_its_end(name: str):
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    environment = {**os.environ, "CRANFIELD_SMALL": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
