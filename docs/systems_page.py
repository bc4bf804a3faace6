"""The page of the docs about the baseline systems, made from the systems themselves.

`python docs/generate.py` writes it anew.
"""

from __future__ import annotations

import inspect
from typing import Any

from cranfield.base.registry import described_options
from cranfield.runs.baseline import systems

_HEAD = """\
# Baseline systems

`cranfield runs make SYSTEM` ranks the documents of a collection for its topics. Use it if you have documents and
topics but no search engine, or to make a pool more diverse. `-s NAME=VALUE` sets an option, as in
`cranfield runs make bm25 -s k1=0.9 -s stemmer=none`. `fts5` needs no other package; the other systems come with the
extra `baselines`: `pip install '.[baselines]'` in the root of the checkout.

All systems are deterministic and do not depend on the order of the documents. Title and text of a document are
indexed together. Scores are rounded to 32-bit floats, so that all evaluators see the same ranking; ties are broken by
document id, descending. Documents that match nothing are not retrieved; a query without a match has an empty ranking.

All systems but `fts5` tokenise text in the same way: compatibility forms and case are folded (NFKC), words are
sequences of letters, digits and combining marks, and each Chinese or Japanese character is a word. Other scripts
without spaces, such as Thai, are not segmented: use `chargrams` for them.
"""


def page() -> str:
    """Give the whole page as Markdown."""
    rows = [f"| [`{name}`](#{name}) | {system.family} | {system.summary} |" for name, system in systems.items()]
    table = "\n".join(["| system | family | description |", "|---|---|---|", *rows])
    return "\n".join([_HEAD, table, *(f"\n{section(name, system)}" for name, system in systems.items())]) + "\n"


def section(name: str, system: Any) -> str:
    """Give the part about one system: what it is, its formula, its source, its options."""
    rows = [
        f"| `{option.name}` | {option.default} | {option.help} | {option.values} |"
        for option in described_options(system)
    ]
    options = ["", "| option | default | meaning | values |", "|---|---|---|---|", *rows] if rows else []
    return "\n".join([f"## {name}", "", inspect.getdoc(system) or system.summary, *options])
