"""All benchmarks, one after the other: `make bench`. Give names to run only some."""

import subprocess
import sys
from pathlib import Path

NOT_ALONE = {"__init__", "__main__", "generate", "measuring"}


def main() -> None:
    """Run each benchmark in a process of its own, so that none warms up the next."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in NOT_ALONE)
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"unknown benchmark {name!r} (known: {', '.join(known)})")
        print(f"\n== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
