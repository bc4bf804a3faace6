"""The page of the docs that says how far the program goes: measured figures, and what follows from them.

Made by docs/generate.py. Renew the figures with the commands beside them.
"""

# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

from dataclasses import dataclass

from cranfield.evaluate.reading import VERDICTS

GB = 1e9

TEXT_ROWS, PARQUET_ROWS = 3.6e6, 5.8e6
TEXT_BYTES, PARQUET_BYTES = 55, 10.6
PAIRS, START = 148, 1.0

MEASURED = [
    ("memory of verdicts for each byte of text (6 runs of 500 topics)", f"{VERDICTS} bytes", "`evaluate --jobs 1`"),
    ("rows of text that one core reads, aligns and scores in a second", f"{TEXT_ROWS:,.0f}", "`benchmarks.run_set`"),
    ("rows of a Parquet set, the same", f"{PARQUET_ROWS:,.0f}", "`benchmarks.run_set`"),
    ("bytes of a row: text, Parquet set", f"{TEXT_BYTES}, {PARQUET_BYTES}", "`benchmarks.run_set`"),
    ("200 runs x 500 topics x 1,000 (100 million rows) as a set", "17 s of CPU, 0.5 GB", "`benchmarks.run_set`"),
    ("the same as text (10 runs, scaled)", "27 s of CPU", "`benchmarks.run_set`"),
    (
        "pairs of runs on 50 topics that one core resamples 100,000 times in a second",
        f"{PAIRS}",
        "`compare --jobs 1` on 129 runs",
    ),
    ("a key of an assessor in a collection of a million documents (median)", "1.2 to 1.6 ms", "`benchmarks.judging`"),
    ("`check` of a million documents and 200,000 judgments", "40 s", "`cranfield check`"),
]
"""Each figure with what measured it, on one machine of two cores that others used too."""


@dataclass(frozen=True)
class Machine:
    """What a job runs on; on a cluster the lists of all runs are in the memory of one machine."""

    name: str
    cores: int
    memory: float


MACHINES = [
    Machine("laptop: 8 cores, 16 GB", 8, 16 * GB),
    Machine("server: 64 cores, 512 GB", 64, 512 * GB),
    Machine("cluster: 50 x 16 cores, 64 GB each", 800, 64 * GB),
]

JOBS = [(129, 50, 1_000), (1_000, 50, 1_000), (1_000, 250, 1_000), (10_000, 250, 1_000), (1_000, 7_000, 1_000)]
"""Runs, topics and depth: a track, a large one, many topics, a study of many systems, a set of a search engine's log."""

_HEAD = """\
# How far does it go?

What was measured, and what follows from it. What was measured is one machine with two cores; the rest is multiplication, and says so. Commands:
`python -m benchmarks.run_set`, `benchmarks.cores`, `benchmarks.judging`, in the root of the checkout.

## Measured
"""

_CALCULATED = """\
## Calculated: scores of all runs

Time is a second to start, and rows of text divided by rows per second and core, as if all cores were busy to the end; verdicts take more. Two cores were 1.0 to 1.9 times as fast as one, on a machine that others used too (400 and 1,000 runs of text, `simulate` 1.6 times); beyond that nothing was
measured, and a disk or a network that gives less than 200 MB per second and core of text is slower than this. Verdicts compare documents across runs: the lists of all runs have to be in the memory
of one machine, 1.5 bytes for each byte of text, and where that is more than half of it there are scores without verdicts.
"""

_SERVER, _CLUSTER = (machine.cores / GB for machine in MACHINES[1:])

_BREAKS = f"""\
## What breaks first

| on | first | then |
|---|---|---|
| a laptop | verdicts, with more than {MACHINES[0].memory / 2 / VERDICTS / TEXT_BYTES / 1e6:,.0f} million rows: scores go on without them | \
`compare` of all pairs, which grows with the square of the runs |
| a server | the disk: all cores read {_SERVER * TEXT_ROWS * TEXT_BYTES:,.0f} GB of text per second, or \
{_SERVER * PARQUET_ROWS * PARQUET_BYTES:,.1f} GB of a Parquet set | tables `--by-topic` of many runs: a row for each run, topic and measure is made by one process |
| a cluster of 50 | the object store, which has to give {_CLUSTER * PARQUET_ROWS * PARQUET_BYTES:,.0f} GB of a Parquet set per second | what one process \
does alone: reading qrels, joining scores, verdicts, printing |
| any | documents: a collection that holds a million was measured, and one with ten million that [stay outside](corpus.md#documents-that-stay-outside) | assessors: a key takes 1.2 to 2.5 ms, so that \
one file takes some hundred judgments per second, more than thousands of people make; but it has to lie on a local disk, and teams elsewhere work with packets |
"""


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there are two."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def page() -> str:
    """The page."""
    lines = [_HEAD, "| figure | value | with |", "|---|---|---|"]
    lines += [f"| {figure} | {value} | {command} |" for figure, value, command in MEASURED]
    names = " | ".join(machine.name for machine in MACHINES)
    lines += ["", _CALCULATED, f"| runs x topics x depth | rows | text, Parquet | {names} |"]
    lines.append("|---" * (3 + len(MACHINES)) + "|")
    for runs, topics, depth in JOBS:
        rows = runs * topics * depth
        text = rows * TEXT_BYTES
        cells = [f"{runs:,} x {topics:,} x {depth:,}", f"{rows / 1e6:,.0f} million"]
        cells.append(f"{text / GB:,.1f} GB, {rows * PARQUET_BYTES / GB:,.1f} GB")
        for machine in MACHINES:
            verdicts = "fit" if VERDICTS * text <= machine.memory / 2 else "do not fit"
            cells.append(f"{duration(START + rows / TEXT_ROWS / machine.cores)}; verdicts {verdicts}")
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "All pairs of runs on 50 topics, 100,000 draws each:", "", f"| runs | pairs | {names} |"]
    lines.append("|---" * (2 + len(MACHINES)) + "|")
    for runs in (129, 1_000, 10_000):
        pairs = runs * (runs - 1) // 2
        times = " | ".join(duration(START + pairs / PAIRS / machine.cores) for machine in MACHINES)
        lines.append(f"| {runs:,} | {pairs:,} | {times} |")
    return "\n".join([*lines, "", _BREAKS])
