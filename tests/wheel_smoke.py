"""Builds sdist and wheel, installs each into an empty environment, and runs the demonstration from there."""

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
    """Do it all in a folder that is thrown away. The wheel is made from the sdist, as installers make it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
        (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        packed = zipfile.ZipFile(wheel).namelist()
        assert "cranfield/py.typed" in packed
        for shipped in (ROOT / "collections").glob("*/collection.toml"):
            assert f"cranfield/_collections/{shipped.parent.name}/collection.toml" in packed
        assert not [entry for entry in packed if entry.startswith(("tests/", "collections/"))]
        for built in (wheel, sdist):
            environment = folder / built.name.removesuffix(".gz").replace(".", "-")
            venv.create(environment, with_pip=True)
            smoke(built, environment)
            print(f"{built.name} installs into an empty environment and runs its demonstration")


def smoke(built: Path, environment: Path) -> None:
    """Install what was built, and see that the program, its pages and its collection came along."""
    python, cranfield = environment / "bin" / "python", environment / "bin" / "cranfield"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", built, cwd=environment)
    assert run(cranfield, "--version", cwd=environment).startswith("cranfield ")
    assert "Usage: cranfield" in run(python, "-m", "cranfield", "--help", cwd=environment)
    assert ".TH CRANFIELD 1" in (environment / "share" / "man" / "man1" / "cranfield.1").read_text("utf-8")
    run(cranfield, "demo", "demo", cwd=environment)
    counts = run(cranfield, "status", "-C", "demo/collection.db", "--format", "csv", cwd=environment)
    assert "documents,240" in counts, counts


if __name__ == "__main__":
    main()
