"""The page of the docs is made from the systems."""

import inspect
from pathlib import Path

import pytest

from cranfield.runs.baselines import systems
from cranfield.runs.systems_page import page, section

PAGE = Path(__file__).parents[2] / "docs" / "systems.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m cranfield.runs.systems_page > docs/systems.md"


@pytest.mark.parametrize("name", systems.names())
def test_every_system_has_its_own_explanation_with_a_source(name):
    system = systems.get(name)
    explained = inspect.getdoc(system) or ""
    assert "\n\nSource: " in explained
    assert system.summary[-1] != "."
    assert section(name, system).startswith(f"## {name}\n\n{explained}")
