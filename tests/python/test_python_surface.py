"""The public surface: what `import cranfield` exports, what it costs, and that users' type checkers see it."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.collection import Plots
from cranfield.workflows.reuse.reuse import ReusePlots

HEAVY = {"pandas", "numpy", "pyarrow", "scipy", "matplotlib", "textual", "sqlite3", "sqlite_utils", "typer", "rich"}

EXPORTED = ["CranfieldError", "Opened", "ReuseResult", "__version__", "open_collection", "open_files"]

PUBLIC = {
    cf.Opened: [
        *("agreement", "close", "compare", "evaluate", "explain", "groups", "judgments", "plot", "pool", "qrels"),
        *("report", "reuse", "run", "runs", "settle", "simulate"),
    ],
    cf.ReuseResult: [
        *("about_collection", "collection", "fairness", "groups", "hold_outs", "notes", "plot", "runs"),
        *("table", "tables", "thresholds", "verdicts", "write_card"),
    ],
    Plots: ["differences", "precision_recall", "strips"],
    ReusePlots: ["coverage", "intervals", "relevant_by_depth"],
}

SCRIPT = """
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

import cranfield as cf

files: cf.Opened = cf.open_files(
    qrels={"1": {"a": 1}}, runs={"x": {"1": {"a": 2.0}}, "y": Path("y.run")}, groups={"x": "us"}, pool_depth=10
)
scores: pd.DataFrame = files.evaluate(["AP", "nDCG@10"], runs=["x"], ties="worst", verdicts=False)
names: tuple[str, ...] = files.runs
pairs: pd.DataFrame = files.compare("x", "y", measures="AP", test="tukey")
found: cf.ReuseResult = files.reuse("x", thresholds={"tolerance": 0.02})
verdicts: pd.DataFrame = found.runs
said: tuple[str, ...] = tuple(found.verdicts())
card: Path = found.write_card("card.json")
axes: Axes = found.plot.intervals("AP")
same: Axes = files.plot.strips("AP", ax=axes)
queue: pd.DataFrame = files.settle("x", "y")
with cf.open_collection(Path("c.db"), qrels="v1", layers=["main"], progress=False) as collection:
    page: Path = collection.report("report.html", public=True)
    pool: pd.DataFrame = collection.pool(by="run")
files.evaluate("AP", ties="besst")  # wrong
files.settle("x", "y", until="surely")  # wrong
cf.open_files(qrels="q", runs=3)  # wrong
number: int = found.fairness  # wrong
try:
    files.explain("1", "x")
except cf.CranfieldError as error:
    print(error)
"""


def test_these_are_the_exports_and_they_cost_no_import_of_anything_heavy():
    program = (
        "import sys, cranfield; print(*cranfield.__all__); print(*{name.partition('.')[0] for name in sys.modules})"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    exported, imported = said.splitlines()
    assert exported.split() == EXPORTED
    assert HEAVY & set(imported.split()) == set()


def test_scoring_imports_neither_figures_nor_terminals():
    program = (
        "import sys, cranfield as cf\n"
        "cf.open_files(qrels={'1': {'a': 1}}, runs={'x': {'1': {'a': 2.0}}}).evaluate('AP')\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert {"matplotlib", "textual", "typer", "rich"} & set(said.split()) == set()


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_these_are_the_public_names_and_each_says_what_it_is(thing: type):
    fields = getattr(thing, "__dataclass_fields__", {})
    public = sorted({name for name in (*vars(thing), *fields) if not name.startswith("_")})
    assert public == sorted(PUBLIC[thing])
    assert [name for name in public if name not in fields and not inspect.getdoc(getattr(thing, name))] == []


@pytest.mark.slow
def test_what_users_write_is_checked_strictly_against_our_types(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(script)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    wrong = [line for line in checked.stdout.splitlines() if "error" in line]
    places = [SCRIPT.splitlines()[int(line.split(":")[1]) - 1] for line in wrong[:-1]]
    assert places == [line for line in SCRIPT.splitlines() if line.endswith("# wrong")], checked.stdout
