"""The page of the docs about the pooling strategies, made from the strategies themselves by docs/generate.py."""

from __future__ import annotations

from cranfield.base.registry import described_options
from cranfield.pool.stopping import stopping_rules
from cranfield.pool.strategy import Kind, Strategy, strategies

_HEAD = """\
# Pooling strategies

A strategy is a word of a [plan](pool.md). r_s(d) is the rank of document d in run s after the run was put into order;
the rank column of a file plays no part. Where two documents are equal, the one with the higher id (in the byte order
of UTF-8) comes first, as within a run. Scores are rounded to 12 significant digits before they are compared, so that
the last bits of a machine's arithmetic decide nothing. What is left to chance is drawn from a hash of the seed, the
topic and what is drawn: the same seed gives the same pool on every machine.
"""

_KINDS: dict[Kind, str] = {
    "fixed": "Fixed order: known before anything is judged",
    "sampling": "Sampling: drawn by chance, each document with its inclusion probability",
    "adaptive": "Adaptive: the next document, given the judgments so far",
}

_RULES = """\
## Stopping rules

`stop=RULE` or `stop=RULE:N` lets an adaptive step end by itself; several are divided by commas, and the first that
speaks ends it.
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
    table = ["| strategy | what it is |", "|---|---|", *rows, ""]
    return "\n".join([f"## {_KINDS[kind]}", "", *table, *(section(name, strategy) for name, strategy in mine)])


def _rules() -> str:
    rows = []
    for name, rule in stopping_rules.items():
        (number,) = described_options(rule.function)
        rows.append(f"| `{name}` | {number.default} | {rule.summary} |")
    explained = [f"**`{name}`**: {rule.help}\n" for name, rule in stopping_rules.items()]
    return "\n".join(["| rule | N | what it is |", "|---|---|---|", *rows, "", *explained]).rstrip()
