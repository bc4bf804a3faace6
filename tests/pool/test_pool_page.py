"""The pages of the docs are made from the strategies, and say what the program does."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import UnknownName
from cranfield.base.registry import described_options
from cranfield.cli.listing import describe_strategy, list_strategies
from cranfield.pool import plan as plan_module
from cranfield.pool.plan import parse
from cranfield.pool.stopping import stopping_rules
from cranfield.pool.strategy import strategies

DOCS = Path(__file__).parents[2] / "docs"
ON_ITS_OWN = {"shuffle", "random-arm"}
"""Yardsticks that nobody has published for their own sake."""


@pytest.fixture
def strategies_page(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    monkeypatch.delitem(sys.modules, "strategies_page", raising=False)
    return import_module("strategies_page")


def test_the_page_is_up_to_date(strategies_page):
    assert (DOCS / "strategies.md").read_text(encoding="utf-8") == strategies_page.page(), "run docs/generate.py"


@pytest.mark.parametrize("name", strategies.names())
def test_every_strategy_has_its_own_explanation_with_a_source(name, strategies_page):
    strategy = strategies.get(name)
    explained = strategy.help
    assert "Source: " in explained or name in ON_ITS_OWN
    assert strategy.summary[-1] != "."
    assert explained in strategies_page.section(name, strategy)


@pytest.mark.parametrize("name", [*strategies.names(), "autotar", *stopping_rules.names()])
def test_every_strategy_and_rule_is_explained_by_name(name):
    part = stopping_rules.get(name) if name in stopping_rules.names() else strategies.get(name)
    explained = describe_strategy(name)
    assert part.help in explained
    for option in described_options(part.function):
        assert option.help in explained
    assert "Source: " in explained or name in ON_ITS_OWN


@pytest.mark.parametrize("name", stopping_rules.names())
def test_the_options_of_a_rule_are_explained_as_they_are_typed(name):
    typed = re.findall(r"^  (\S+)", describe_strategy(name), re.MULTILINE)
    assert len(typed) == len(described_options(stopping_rules.get(name).function))
    for option in typed:
        assert parse(f"sample 9; mtf {option}") == parse(f"sample 9; mtf stop={name}")


def test_a_strategy_that_is_not_there_is_answered_with_the_nearest(kept: Kept):
    with kept.raises(UnknownName):
        describe_strategy("rff")


def test_the_list_has_every_strategy_and_every_rule():
    listed = [row[0] for row in list_strategies().rows]
    assert listed == [*strategies.names(), *stopping_rules.names()]


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
