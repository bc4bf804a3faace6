"""129 runs of 50 topics and 1,000 documents submitted in one command: on two cores, against one."""

import argparse
import tempfile
from pathlib import Path

from benchmarks.generate import Shape, write_collection
from benchmarks.measuring import clear, cranfield, tell


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=129)
    options.add_argument("--repeat", type=int, default=3)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_collection(Shape(runs=asked.runs, groups=43), folder)
        files = sorted((folder / "runs").iterdir())
        database = folder / "c.db"

        def fresh() -> None:
            clear(database)
            cranfield("init", "-C", database, repeat=1)

        words = ["runs", "submit", *files, "-C", database]
        one = cranfield(*words, repeat=asked.repeat, before=fresh, cpus={0})
        two = cranfield(*words, repeat=asked.repeat, before=fresh, cpus={0, 1})
        print(f"{len(files)} runs, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB of text,")
        print(f"  stored in {database.stat().st_size / 1e6:.0f} MB")
        tell("submitted pinned to one core, against two cores (s)", one.seconds, two.seconds, "at least 1.5")


if __name__ == "__main__":
    main()
