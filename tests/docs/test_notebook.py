"""The notebook runs where it lies: its cells give what it shows, and leave the figure it is about.

`CRANFIELD_RENEW=1` writes it anew, with what its cells give.
"""

import shutil
from pathlib import Path

import nbformat
import pytest
from kept import RENEW
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "how-to" / "two-runs-to-a-figure.ipynb"


def given(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """What the cells of a notebook give, as text."""
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[one.get("text") or one["data"]["text/plain"] for one in cell.outputs] for cell in codes]


@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries
def test_the_notebook_goes_from_two_runs_to_a_figure(tmp_path: Path):
    folder = tmp_path / NOTEBOOK.relative_to(ROOT).parent
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "collections" / "kitchen", tmp_path / "collections" / "kitchen")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    shown = given(notebook)
    NotebookClient(
        notebook, timeout=240, record_timing=False, resources={"metadata": {"path": str(folder)}}
    ).execute()
    if RENEW:
        notebook.metadata.language_info = {"name": "python"}
        nbformat.write(notebook, NOTEBOOK)
    else:
        assert given(notebook) == shown
    figures = [tmp_path / "build" / name for name in ("two-runs.pdf", "two-runs.svg")]
    assert all(figure.stat().st_size > 5_000 for figure in figures)
