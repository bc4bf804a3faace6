"""The reference page of the Python interface is what the program itself says."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_of_the_python_interface_is_up_to_date(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.delitem(sys.modules, "python_reference", raising=False)
    page = import_module("python_reference").page()
    written = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert written.partition("-->\n\n")[2] == page, "run python docs/generate.py"


def test_every_exported_name_is_on_the_page():
    import cranfield as cf

    written = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in cf.__all__ if f"`{name}`" not in written] == []
