"""Times the intake of one large run, side by side with the peers, in one run.

    python -m benchmarks.intake [--topics 6980] [--documents 1000] [--rounds 3] [--run FILE]

The yardstick is pyarrow.csv, which merely reads the six columns. The peer is trec_eval where $TREC_EVAL names the
binary (it also evaluates), else pytrec_eval's parse_run. Ours is everything intake does in memory: read, check,
order, hash, code the ids, encode. Times are medians of rounds in which all take turns; each has a process of its
own, so that peak memory is its own too.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.generate import Shape, write_collection

LIMIT_TIME, LIMIT_MEMORY = 8.0, 8.0


def with_pyarrow(run: Path, qrels: Path) -> None:
    """Read the six columns and do nothing with them."""
    import pyarrow.csv

    pyarrow.csv.read_csv(
        run,
        read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True),
        parse_options=pyarrow.csv.ParseOptions(delimiter=" "),
    )


def with_cranfield(run: Path, qrels: Path) -> None:
    """Do all that intake does before the store."""
    from cranfield.base.files import Source
    from cranfield.runs.check import Expectations, check
    from cranfield.runs.encoding import as_ids, codes_of, encode, encode_page
    from cranfield.runs.reading import read_rows
    from cranfield.runs.run import ranked

    rows = read_rows(Source(run))
    check(rows, Expectations())
    ours = ranked(rows)
    ours.content_hash  # noqa: B018
    (topics,), new_topics = codes_of(as_ids([]), [ours.topic_ids])
    (documents,), new_documents = codes_of(as_ids([]), [ours.document_ids])
    encode_page(new_topics)
    encode_page(new_documents)
    encode(ours, topics, documents)


def with_pytrec_eval(run: Path, qrels: Path) -> None:
    """Parse the run into dictionaries."""
    import pytrec_eval

    with run.open() as stream:
        pytrec_eval.parse_run(stream)


def with_trec_eval(run: Path, qrels: Path) -> None:
    """Evaluate the run."""
    subprocess.run([os.environ["TREC_EVAL"], "-m", "map", str(qrels), str(run)], check=True, capture_output=True)


CONTESTANTS: dict[str, Callable[[Path, Path], None]] = {
    "pyarrow.csv": with_pyarrow,
    "cranfield": with_cranfield,
    **({"trec_eval": with_trec_eval} if "TREC_EVAL" in os.environ else {"pytrec_eval": with_pytrec_eval}),
}


def timed_alone(name: str, run: Path, qrels: Path) -> dict[str, float]:
    """Run one contestant in a fresh process: once to warm up, once for the clock. Importing is not counted."""
    files = ["--run", str(run), "--qrels", str(qrels)]
    command = [sys.executable, "-m", "benchmarks.intake", "--contestant", name, *files]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output))


def contest(name: str, run: Path, qrels: Path) -> None:
    """Be the process of one contestant: print seconds, seconds of processor time and peak memory."""
    call = CONTESTANTS[name]
    call(run, qrels)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    wall, processor = time.perf_counter(), time.process_time()
    call(run, qrels)
    seconds = {"seconds": time.perf_counter() - wall, "processor": time.process_time() - processor}
    print(json.dumps({**seconds, "memory": peak}))


def compare(run: Path, qrels: Path, rounds: int) -> None:
    """Let all take turns and print medians and ratios."""
    size = run.stat().st_size
    results = {name: [] for name in CONTESTANTS}
    for _ in range(rounds):
        for name in CONTESTANTS:
            results[name].append(timed_alone(name, run, qrels))
    base = median(one["seconds"] for one in results["pyarrow.csv"])
    print(f"{run.name}: {size / 1e6:,.0f} MB, medians of {rounds} rounds")
    print(f"{'':14}{'seconds':>9}{'x pyarrow':>11}{'processor':>11}{'memory / file':>15}")
    for name, found in results.items():
        seconds, processor, memory = (median(one[key] for one in found) for key in ("seconds", "processor", "memory"))
        print(f"{name:14}{seconds:9.2f}{seconds / base:11.2f}{processor:11.2f}{memory / size:15.2f}")
    print(f"the whole command may take {LIMIT_TIME:g} x pyarrow.csv and {LIMIT_MEMORY:g} x the file in memory")


def main() -> None:
    """Read the options, generate a run if none is given, and compare."""
    parser = argparse.ArgumentParser(description="time the intake of one large run")
    parser.add_argument("--topics", type=int, default=6980)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--ids", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--qrels", type=Path, default=Path("qrels.txt"))
    parser.add_argument("--contestant", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        contest(options.contestant, options.run, options.qrels)
    elif options.run:
        compare(options.run, options.qrels, options.rounds)
    else:
        with tempfile.TemporaryDirectory() as folder:
            shape = Shape(topics=options.topics, documents=options.documents, ids=options.ids)
            write_collection(shape, Path(folder))
            compare(Path(folder) / "runs" / "run000.run", Path(folder) / "qrels.txt", options.rounds)


if __name__ == "__main__":
    main()
