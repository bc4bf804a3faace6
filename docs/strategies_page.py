"""The page of the docs about the pooling strategies, made from the strategies themselves by docs/generate.py."""

from __future__ import annotations

from cranfield.base.registry import described_options
from cranfield.pool.stopping import stopping_rules
from cranfield.pool.strategy import Kind, Strategy, strategies

_HEAD = """\
# Pooling strategies

A [plan](pool.md) names strategies. r_s(d) is the rank of document d in run s, by the [order](runs.md#the-order) of
the run; the rank column of a file is ignored. Ties go to the document with the higher id (in UTF-8 byte order), as
within a run. Scores are rounded to 12 significant digits before they are compared, so that rounding errors of a
machine change nothing. Random draws are hashes of the seed, the topic and the document: the same seed gives the same
pool on every machine.
"""

_KINDS: dict[Kind, str] = {
    "fixed": "Fixed order: known before anything is judged",
    "sampling": "Sampling: random draws with known inclusion probabilities",
    "adaptive": "Adaptive: the next document, given the judgments so far",
}

_RULES = """\
## Stopping rules

`stop=RULE` or `stop=RULE:N` ends an adaptive step; several rules are separated by commas, and the first that applies
ends it.
"""


def page() -> str:
    """Give the whole page as Markdown."""
    return "\n".join([_HEAD, *(_kind(kind) for kind in _KINDS), _RULES, _rules()]) + "\n"


def section(name: str, strategy: Strategy) -> str:
    """Give the part about one strategy: what it is, its formula, its source, its options."""
    rows = [
        f"| `{option.name}` | {option.default} | {option.help} | {option.values} |"
        for option in described_options(strategy.function)
    ]
    options = ["", "| option | default | meaning | values |", "|---|---|---|---|", *rows] if rows else []
    aliases = ", ".join(f"`{alias}`" for alias in strategies.aliases(name))
    also = [f"Also called {aliases}.", ""] if aliases else []
    return "\n".join([f"### {name}", "", *also, strategy.help, *options, ""])


def _kind(kind: Kind) -> str:
    mine = [(name, strategy) for name, strategy in strategies.items() if strategy.kind == kind]
    rows = [f"| [`{name}`](#{name}) | {strategy.summary} |" for name, strategy in mine]
    table = ["| strategy | description |", "|---|---|", *rows, ""]
    return "\n".join([f"## {_KINDS[kind]}", "", *table, *(section(name, strategy) for name, strategy in mine)])


def _rules() -> str:
    rows = []
    for name, rule in stopping_rules.items():
        (number,) = described_options(rule.function)
        rows.append(f"| `{name}` | {number.default} | {rule.summary} |")
    explained = [f"**`{name}`**: {rule.help}\n" for name, rule in stopping_rules.items()]
    return "\n".join(["| rule | N | description |", "|---|---|---|", *rows, "", *explained]).rstrip()
