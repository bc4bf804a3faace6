"""The pages of the docs are made from the strategies, and say what the program does."""

import inspect
import re
from pathlib import Path

import pytest

from cranfield.pool import plan as plan_module
from cranfield.pool.parsing import parse
from cranfield.pool.strategies import strategies
from cranfield.pool.strategies_page import page, section

DOCS = Path(__file__).parents[2] / "docs"
ON_ITS_OWN = {"shuffle", "random-arm"}
"""Yardsticks that nobody has published for their own sake."""


def test_the_page_is_up_to_date():
    told = "run: python -m cranfield.pool.strategies_page > docs/strategies.md"
    assert (DOCS / "strategies.md").read_text(encoding="utf-8") == page(), told


@pytest.mark.parametrize("name", strategies.names())
def test_every_strategy_has_its_own_explanation_with_a_source(name):
    strategy = strategies.get(name)
    explained = inspect.getdoc(strategy) or ""
    assert "Source: " in explained or name in ON_ITS_OWN
    assert strategy.summary[-1] != "."
    assert explained in section(name, strategy)


def test_the_grammar_of_the_page_is_that_of_the_program():
    def grammar(text):
        return [line.strip() for line in text.splitlines() if re.match(r"\s*(\w+ +=|\|) ", line)]

    written = grammar((DOCS / "pool.md").read_text(encoding="utf-8").split("```ebnf\n")[1].split("```")[0])
    assert written == grammar(plan_module.__doc__ or "")


def test_every_plan_of_the_page_can_be_used():
    text = (DOCS / "pool.md").read_text(encoding="utf-8")
    plans = re.findall(
        r"^\| `([^`]+)` \|", text.split("<!-- plans -->")[1].split("<!-- end of plans -->")[0], re.MULTILINE
    )
    assert len(plans) > 5
    for plan in plans:
        assert parse(str(parse(plan))) == parse(plan)
