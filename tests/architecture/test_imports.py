"""The arrows of the house: who may import whom, and what may not be imported before it is needed."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = {
    "sqlite_utils",
    "pandas",
    "numpy",
    "pyarrow",
    "scipy",
    "sklearn",
    "textual",
    "matplotlib",
    "rich",
    "datasketch",
}


def test_imports_go_upstream_only():
    linter = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_help_imports_nothing_heavy():
    program = (
        "import sys\n"
        "from cranfield.cli.main import status_of\n"
        "status_of(['--help']); status_of(['runs', 'submit', '--help'])\n"
        "print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage: cranfield" in shown.stdout
    assert HEAVY & set(shown.stderr.split()) == set()


def test_collections_is_data_and_never_a_package():
    assert list((ROOT / "collections").rglob("*.py")) == []
