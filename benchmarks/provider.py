"""How fast ir_measures is with Cranfield as its provider, beside its default providers, and whether values are equal.

    python -m benchmarks.provider [--repeat 3]

129 runs of 50 topics and 1,000 documents, in each of the forms that ir_measures takes, are evaluated one after the
other by each side, as a script does it. Both sides take turns, and the work of all threads is counted: it hangs less
on what else the machine does. Where each run is passed as `ir_measures.read_trec_run(path)`, reading is part of it.

Of named tuples a loop that only unpacks them is timed too: with the time that the same runs take as mappings, which
need no collecting, it is about the least that an evaluation of named tuples takes in Python.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
from ir_measures import AP, RR, P, R, Rprec, nDCG

from benchmarks.evaluate import MANY
from benchmarks.generate import SMALL, write_collection

MEASURES = {
    "whole lists": [AP, nDCG, nDCG @ 10, P @ 10, R @ 1000, RR, Rprec],
    "one of PyTerrier's": [AP, nDCG @ 10, RR @ 10, R @ 100],
}


def main() -> None:
    """Make the runs, evaluate them in each form, and print the ratios."""
    parser = argparse.ArgumentParser(description="ir_measures with Cranfield and with its default providers")
    parser.add_argument("--repeat", type=int, default=1 if SMALL else 3)
    repeat = parser.parse_args().repeat
    default = ir_measures.providers.FallbackProvider(list(ir_measures.DefaultPipeline.providers))
    import_module("cranfield.ir_measures")
    with tempfile.TemporaryDirectory() as name:
        write_collection(MANY, Path(name))
        qrels = pd.DataFrame(ir_measures.read_trec_qrels(f"{name}/qrels.txt"))
        work, apart = defaultdict[tuple[str, str, int], float](float), 0.0
        unpacking = dict.fromkeys(MEASURES, 0.0)
        for title, measures in MEASURES.items():
            sides = [one.evaluator(measures, qrels) for one in (default, ir_measures.DefaultPipeline)]
            for path in sorted(Path(name, "runs").iterdir()):
                for form, given in forms(path):
                    for _ in range(repeat):
                        values = []
                        for place, side in enumerate(sides):
                            run = given()
                            started = time.process_time()
                            values.append(side.calc_aggregate(run))
                            work[title, form, place] += (time.process_time() - started) / repeat
                        if form == "named tuples":
                            started = time.process_time()
                            for _topic, _document, _score in run:
                                pass
                            unpacking[title] += (time.process_time() - started) / repeat
                        apart = max(apart, *(abs(values[0][one] - values[1][one]) for one in measures))
    for title, form, place in work:
        theirs, ours = work[title, form, 0], work[title, form, 1]
        if place:
            print(f"{title:20s} {form:14s} {theirs:7.2f} / {ours:6.2f} s = {theirs / ours:5.1f} x   (at least 3)")
    for title, loop in unpacking.items():
        mappings, third = work[title, "mappings", 1], work[title, "named tuples", 0] / 3
        least = f"{loop:.3f} s unpacked + {mappings:.3f} s as mappings = {loop + mappings:.3f} s"
        print(f"{title:20s} named tuples: {least}; a third of the default providers' time is {third:.3f} s")
    print(f"all values within {apart:.0e}   (1e-9)")


def forms(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Give a run in each of the forms that ir_measures takes."""
    columns, places = ["query_id", "doc_id", "score"], [0, 2, 4]
    frame = pd.read_csv(path, sep=" ", header=None, usecols=places, names=columns, dtype={0: str, 2: str, 4: float})
    rows = list(map(ir_measures.ScoredDoc, *(frame[column].tolist() for column in columns)))
    nested: dict[str, dict[str, float]] = {}
    for topic, document, score in rows:
        nested.setdefault(topic, {})[document] = score
    yield "frames", lambda: frame
    yield "mappings", lambda: nested
    yield "named tuples", lambda: rows
    yield "files", lambda: ir_measures.read_trec_run(str(path))


if __name__ == "__main__":
    main()
