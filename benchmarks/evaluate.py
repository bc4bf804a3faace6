"""How fast runs are evaluated, side by side with other evaluators: whole commands, start-up included.

    python -m benchmarks.evaluate [--repeat 3] [--only one|many|measures|ties] [--without PEER…] [--keep FOLDER]

`one`: one run of 6,980 topics and 1,000 documents; `many`: 129 runs of 50 topics and 1,000 documents, from text, and
stored in a collection, evaluated once by a command, and a second time in the same process with the alignment kept;
`measures`: twenty measures against three; `ties`: the run of `one` with scores of one decimal against itself without
ties, from text and stored. Medians of the repetitions, all in one call, the evaluators taking turns. `trec_eval` is
called once for each run; benchmarks/trec_eval.py says what it is. Peers that are not installed are left out, and
named. The data is generated. Seconds are of the clock; work is of all threads together, and hangs less on what
else the machine does.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks import trec_eval
from benchmarks.generate import SMALL, Shape, write_collection

ONE = Shape(topics=6980, documents=1000, runs=1, groups=1, pool_depth=10)
MANY = Shape(topics=50, documents=1000, runs=129, groups=43, pool_depth=100)
THREE = ["AP", "nDCG@10", "P@10"]
MORE = "P@5 P@20 R@100 R@1000 RR Rprec Bpref infAP nDCG nDCG@100 RBP Q ERR Success@10 Judged@10 IPrecAvg BinG"
TWENTY = [*THREE, MORE]

PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as file:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"map", "ndcg_cut.10", "P.10"})
for name in sys.argv[2:]:
    with open(name) as file:
        scores = evaluator.evaluate(pytrec_eval.parse_run(file))
    print(name, sum(topic["map"] for topic in scores.values()) / len(scores))
"""
AGAIN = """
import sys, time
from pathlib import Path
import cranfield
with cranfield.open_collection(sys.argv[1], qrels=Path(sys.argv[2]), progress=False) as opened:
    asked = {"measures": ("AP", "nDCG@10", "P@10"), "runs": sys.argv[3:], "verdicts": False}
    opened.results.evaluate(**asked)
    start, work = time.perf_counter(), time.process_time()
    opened.results.evaluate(**asked).scores.summary
    print(time.perf_counter() - start, time.process_time() - work)
"""
RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(sys.argv[1], kind="trec")
for name in sys.argv[2:]:
    run = Run.from_file(name, kind="trec")
    print(name, evaluate(qrels, run, ["map", "ndcg@10", "precision@10"], make_comparable=True))
"""
LOOP_OF_IR_MEASURES = 'q="$2"; p="$1"; shift 2; for r in "$@"; do "$p" -m ir_measures "$q" "$r" AP nDCG@10 P@10; done'

Command = Callable[[Path, list[Path]], list[str]]
PEERS = ("pytrec_eval", "ir_measures", "ranx")


@dataclass(frozen=True)
class Timed:
    """How long a command took, how long all its threads were at work, and the most memory it held."""

    seconds: float
    work: float
    megabytes: float


def evaluators() -> dict[str, Command]:
    """Give the commands that take part, by name."""
    python = sys.executable
    found: dict[str, Command] = {
        "cranfield": lambda qrels, runs: cranfield(qrels, runs, THREE),
        "with verdicts": lambda qrels, runs: cranfield(qrels, runs, THREE, verdicts=True),
    }
    if os.environ.get("TREC_EVAL"):
        found["trec_eval"] = lambda qrels, runs: ["sh", "-c", trec_eval.LOOP, "sh", str(qrels), *map(str, runs)]
    if find_spec("pytrec_eval"):
        found["pytrec_eval"] = lambda qrels, runs: [python, "-c", PYTREC_EVAL, str(qrels), *map(str, runs)]
    if find_spec("ir_measures"):
        found["ir_measures"] = lambda qrels, runs: [
            "sh", "-c", LOOP_OF_IR_MEASURES,
            "sh", python, str(qrels), *map(str, runs),
        ]  # fmt: skip
    if find_spec("ranx") and not SMALL:  # it compiles itself, each time, for half a minute
        found["ranx"] = lambda qrels, runs: [python, "-c", RANX, str(qrels), *map(str, runs)]
    return found


def cranfield(qrels: Path, runs: list[Path], measures: list[str], *, verdicts: bool = False) -> list[str]:
    """Give our own command; without verdicts it does what the others do."""
    wanted = [word for measure in measures for word in ("-m", measure)] + ([] if verdicts else ["--no-verdict"])
    return [sys.executable, "-m", "cranfield", "evaluate", "--qrels", str(qrels), *map(str, runs), *wanted]


def again(collection: Path, qrels: Path, names: list[str]) -> Timed:
    """Give what the second evaluation takes in one process, with the alignment kept."""
    command = [sys.executable, "-c", AGAIN, str(collection), str(qrels), *names]
    seconds, work = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return Timed(float(seconds), float(work), 0.0)


def stored(runs: list[Path], folder: Path) -> Path:
    """Give a collection with the runs; made where it is not there."""
    collection = folder / "collection.db"
    if not collection.exists():
        begin = [sys.executable, "-m", "cranfield"]
        for words in (["init"], ["runs", "submit", *map(str, runs)]):
            subprocess.run([*begin, *words, "-C", str(collection)], check=True, capture_output=True)
    return collection


def timed(command: list[str]) -> Timed:
    """Run a command and give its time and memory; a command that fails stops the benchmark."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"{command[:6]} failed: {errors.decode()[-500:]}")
    unit = 1 << 10 if sys.platform != "darwin" else 1 << 20
    return Timed(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def in_turns(timers: Mapping[str, Callable[[], Timed]], *, repeat: int) -> dict[str, Timed]:
    """Run everything in turns, and give the median of each."""
    all_times: dict[str, list[Timed]] = {name: [] for name in timers}
    for _ in range(1 if SMALL else repeat):
        for name, timer in timers.items():
            all_times[name].append(timer())
    return {
        name: Timed(
            statistics.median(one.seconds for one in times),
            statistics.median(one.work for one in times),
            max(one.megabytes for one in times),
        )
        for name, times in all_times.items()
    }


def report(title: str, times: dict[str, Timed], *, text: int) -> None:
    """Print seconds, how many times ours that is, work of all threads, and memory as multiples of the text."""
    print(f"\n{title} ({text / 1e6:.0f} MB of text)")
    ours = next(iter(times.values()))
    for name, one in times.items():
        share = one.megabytes * (1 << 20) / text
        faster = one.seconds / ours.seconds
        print(
            f"  {name:16s} {one.seconds:7.2f} s {faster:6.2f} x   {one.work:7.2f} s of work   {share:4.1f} x the text"
        )


def data(shape: Shape, folder: Path) -> tuple[Path, list[Path], int]:
    """Give the qrels, the runs and the size of the text; made where it is not there."""
    if not (folder / "qrels.txt").exists():
        write_collection(shape, folder)
    runs = sorted((folder / "runs").iterdir())
    return folder / "qrels.txt", runs, sum(path.stat().st_size for path in runs)


def with_compiled_modules(folder: Path) -> None:
    """Let all commands find their modules compiled, as after any installation, whatever the environment says."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    (folder / "qrels").write_text("1 0 a 1\n")
    (folder / "run").write_text("1 Q0 a 1 1 t\n")
    for command in evaluators().values():
        timed(command(folder / "qrels", [folder / "run"]))


def timers(qrels: Path, runs: list[Path]) -> dict[str, Callable[[], Timed]]:
    """Give what is timed for some runs; where they are many, also from a collection."""
    found: dict[str, Callable[[], Timed]] = {
        peer: partial(timed, command(qrels, runs)) for peer, command in evaluators().items()
    }
    if len(runs) > 1:
        collection, names = stored(runs, qrels.parent), [run.stem for run in runs]
        command = [*cranfield(qrels, [Path(name) for name in names], THREE), "-C", str(collection)]
        found |= {"stored": partial(timed, command), "stored, again": partial(again, collection, qrels, names)}
    return found


def ties(folder: Path, *, repeat: int) -> None:
    """Print what ties cost: a run whose scores have one decimal, as a multiple of the same run without ties."""
    found: dict[str, Callable[[], Timed]] = {}
    for name, shape in (("one", ONE), ("ties", replace(ONE, digits=1))):
        qrels, (run,), text = data(shape, folder / name)
        of_stored = cranfield(qrels, [Path(run.stem)], THREE)
        found[name] = partial(timed, cranfield(qrels, [run], THREE))
        found[f"{name} stored"] = partial(timed, [*of_stored, "-C", str(stored([run], folder / name))])
    times = in_turns(found, repeat=repeat)
    for title, kind in (("from text", ""), ("stored", " stored")):
        pair = {"without ties": times[f"one{kind}"], "with ties": times[f"ties{kind}"]}
        report(f"ties, {title}", pair, text=text)


def main() -> None:
    """Read the options and run the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=["one", "many", "measures", "ties"])
    parser.add_argument("--without", nargs="*", default=[], help="names of rows to leave out")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        for peer in ("trec_eval", *PEERS):
            if not (trec_eval.make(Path(made)) if peer == "trec_eval" else find_spec(peer)):
                print(f"{peer} is not installed, and left out")
        with_compiled_modules(Path(made))
        for name, shape in (("one", ONE), ("many", MANY)):
            if options.only in (None, name):
                qrels, runs, text = data(shape, folder / name)
                wanted = {peer: timer for peer, timer in timers(qrels, runs).items() if peer not in options.without}
                report(f"{name}: {len(runs)} run(s)", in_turns(wanted, repeat=options.repeat), text=text)
        if options.only in (None, "measures"):
            for name, shape in (("one", ONE), ("many", MANY)):
                qrels, runs, text = data(shape, folder / name)
                both = {
                    "three measures": partial(timed, cranfield(qrels, runs, THREE)),
                    "twenty measures": partial(timed, cranfield(qrels, runs, TWENTY)),
                }
                report(f"measures, {name}", in_turns(both, repeat=options.repeat), text=text)
        if options.only in (None, "ties"):
            ties(folder, repeat=options.repeat)


if __name__ == "__main__":
    main()
