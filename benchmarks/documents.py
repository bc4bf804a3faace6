"""A million documents of 1 KB with the search index, against a plain executemany into the same schema."""

import argparse
import json
import random
import tempfile
from pathlib import Path

from benchmarks.generate import SMALL
from benchmarks.measuring import clear, cranfield, python, tell

PLAIN = """
import json, sys
from pathlib import Path
from cranfield.store import open_store
store = open_store(Path(sys.argv[2]))
connection = store.connection
connection.execute("PRAGMA trusted_schema = ON")  # as a write does
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO sources VALUES (1, 'documents', 'x', 'x', 'x', 0, 'x')")
with open(sys.argv[1], encoding="utf-8") as stream:
    rows = ((r["id"], "", r["text"], "{}", "x" * 64, 1) for r in map(json.loads, stream))
    connection.executemany(
        "INSERT INTO documents (id, title, text, metadata, content_hash, source) VALUES (?, ?, ?, ?, ?, ?)", rows)
connection.execute("COMMIT")
store.close()
"""


def write_documents(path: Path, count: int) -> None:
    """Write documents of about 1 KB over a vocabulary with a long tail."""
    draw = random.Random(1)
    words = [f"w{number:x}" for number in range(50_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    sums = [0.0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            text = " ".join(draw.choices(words, cum_weights=sums[1:], k=240))[:1000]
            stream.write(json.dumps({"id": f"doc{number:08}", "text": text}) + "\n")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=1)
    asked = options.parse_args()
    if SMALL:
        asked.count = 200
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = {}
        for count in sorted({asked.count // 10, asked.count}):
            file, database = folder / f"{count}.jsonl", folder / f"{count}.db"
            write_documents(file, count)

            def fresh(database: Path = database) -> None:
                clear(database)
                cranfield("init", "-C", database, repeat=1)

            ours = cranfield("corpus", "add", file, "-C", database, repeat=asked.repeat, before=fresh)
            plain = python(PLAIN, file, database, repeat=asked.repeat, before=fresh)
            tell(f"{count:,} documents added, against executemany (s)", ours.seconds, plain.seconds, "at most 1.5")
            sizes[count] = ours.memory / 1e6
            file.unlink()
            clear(database)
        few, many = sorted(sizes)
        tell(f"memory with {many:,} documents, against {few:,} (MB)", sizes[many], sizes[few], "flat: about 1")


if __name__ == "__main__":
    main()
