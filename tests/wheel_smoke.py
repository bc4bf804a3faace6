"""Builds the wheel, installs it into an empty environment, and runs the demonstration from there."""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*command: object, cwd: Path) -> str:
    """Run a command, show what went wrong, and give what it printed."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Do it all in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
        (wheel,) = folder.glob("*.whl")
        packed = zipfile.ZipFile(wheel).namelist()
        assert "cranfield/py.typed" in packed
        assert "cranfield/_collections/kitchen/collection.toml" in packed
        assert not [entry for entry in packed if entry.startswith(("tests/", "collections/"))]
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=folder)
        cranfield = folder / "env" / "bin" / "cranfield"
        assert run(cranfield, "--version", cwd=folder).startswith("cranfield ")
        assert "Usage: cranfield" in run(python, "-m", "cranfield", "--help", cwd=folder)
        run(cranfield, "demo", "demo", cwd=folder)
        counts = run(cranfield, "status", "-C", "demo/collection.db", "--format", "csv", cwd=folder)
        assert "documents,240" in counts, counts
        print(f"{wheel.name} installs into an empty environment and runs its demonstration")


if __name__ == "__main__":
    main()
