"""Installs the lowest declared version of each library into an environment of its own, and runs the journeys there.

    python tests/lowest_versions.py [FOLDER [WORDS FOR PYTEST…]]

Only what `pyproject.toml` declares is held down; what those libraries need themselves is for them to declare.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("baselines", "plots")
TOOLS = ("hypothesis", "pytest", "pytest-timeout", "pytest-xdist")
JOURNEYS = (
    "tests/journeys",
    "-n",
    "2",
    "--dist",
    "worksteal",
    "-m",
    "not soak",
    "-k",
    "not kill and not hostile",
    "-W",
    "default",
)
NO_WHEELS_FROM = (3, 13)
"""The first Python for which the lowest versions were not built; there it is the lowest that were."""


def lowest() -> list[str]:
    """The lowest declared versions, as pip takes them for constraints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = project["dependencies"] + [one for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    bounds = [re.match(r"([\w-]+)>=([\d.]+)", one) for one in declared]
    assert all(bounds), f"a dependency without a lowest version: {declared}"
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


def main() -> None:
    """Make the environment, unless it is there for these versions, and run the journeys in it."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "lowest").resolve()
    python, constraints, versions = folder / "bin" / "python", folder / "lowest.txt", "\n".join(lowest())
    if not constraints.exists() or constraints.read_text("utf-8") != versions:
        venv.create(folder, with_pip=True, clear=True)
        unfinished = folder / "constraints.txt"
        unfinished.write_text(versions, "utf-8")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        wanted = ["-e", f"{ROOT}[{','.join(EXTRAS)}]", *TOOLS]
        if sys.version_info < NO_WHEELS_FROM:
            subprocess.run([*pip, "-c", unfinished, *wanted], check=True)
        else:
            subprocess.run([*pip, "uv"], check=True)
            lowest_there = ["--resolution", "lowest-direct", "--only-binary", ":all:", "--no-binary", "cranfield"]
            subprocess.run(
                [folder / "bin" / "uv", "pip", "install", "--python", python, *lowest_there, *wanted], check=True
            )
        unfinished.rename(constraints)
    print("\n".join(["the journeys with", *(f"  {line}" for line in versions.split("\n"))]), flush=True)
    sys.exit(subprocess.run([python, "-m", "pytest", *(sys.argv[2:] or JOURNEYS)], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
