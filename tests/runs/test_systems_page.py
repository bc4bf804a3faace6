"""The page of the docs is made from the systems."""

import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

from cranfield.runs.baseline import systems

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def made(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.delitem(sys.modules, "systems_page", raising=False)
    return import_module("systems_page")


def test_the_page_is_up_to_date(made):
    assert (DOCS / "systems.md").read_text(encoding="utf-8") == made.page(), "run: python docs/generate.py"


@pytest.mark.parametrize("name", systems.names())
def test_every_system_has_its_own_explanation_with_a_source(name, made):
    system = systems.get(name)
    explained = inspect.getdoc(system) or ""
    assert "\n\nSource: " in explained
    assert system.summary[-1] != "."
    assert made.section(name, system).startswith(f"## {name}\n\n{explained}")
