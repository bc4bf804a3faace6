"""One run of 6,980 topics and 1,000 documents submitted, start-up and store included, against the peers.

The peers: pyarrow.csv merely reading the six columns, and trec_eval (named by $TREC_EVAL) or pytrec_eval's parser.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.generate import Shape, write_collection
from benchmarks.intake import CONTESTANTS, timed_alone
from benchmarks.measuring import clear, cranfield, tell


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--topics", type=int, default=6980)
    options.add_argument("--rounds", type=int, default=3)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_collection(Shape(topics=asked.topics, ids=4_000_000), folder)
        run, qrels, database = folder / "runs" / "run000.run", folder / "qrels.txt", folder / "c.db"

        def fresh() -> None:
            clear(database)
            cranfield("init", "-C", database, repeat=1)

        ours, peers = [], {peer: [] for peer in CONTESTANTS if peer != "cranfield"}
        for _ in range(asked.rounds):
            ours.append(cranfield("runs", "submit", run, "-C", database, repeat=1, before=fresh))
            for peer, times in peers.items():
                times.append(timed_alone(peer, run, qrels)["seconds"])
        seconds, size = median(one.seconds for one in ours), run.stat().st_size
        stored = database.stat().st_size
        print(f"one run of {asked.topics:,} topics, {size / 1e6:,.0f} MB, stored in {stored / 1e6:,.0f} MB")
        for peer, times in peers.items():
            wanted = "at most 8" if peer == "pyarrow.csv" else "at most 1"
            tell(f"submitted, against {peer} (s)", seconds, median(times), wanted)
        tell("peak memory, against the file (MB)", median(one.memory for one in ours) / 1e6, size / 1e6, "below 8")


if __name__ == "__main__":
    main()
