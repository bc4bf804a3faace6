"""What there is: derived from the registries, never kept by hand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import UnknownName
from cranfield.base.registry import Registry
from cranfield.base.tables import Table, Value
from cranfield.compare.comparison import TUKEY, tukey
from cranfield.compare.corrections import corrections
from cranfield.compare.significance import tests
from cranfield.corpus.formats import document_formats, topic_formats
from cranfield.pool.stopping import stopping_rules
from cranfield.pool.strategy import strategies
from cranfield.qrels.reading import qrels_formats
from cranfield.report.rendering import renderers
from cranfield.runs.baseline import described_options
from cranfield.runs.reading import run_formats

if TYPE_CHECKING:
    from cranfield.evaluate.trec_eval.printing import Printed


STOPPING = "stopping rule"


def known_formats() -> list[tuple[Value, ...]]:
    """Give (of what, name, summary, is read, is written) for every format."""
    rows: list[tuple[Value, ...]] = []
    for noun, registry in (
        ("documents", document_formats),
        ("topics", topic_formats),
        ("runs", run_formats),
        ("qrels", qrels_formats),
    ):
        for name, part in registry.items():
            rows.append((noun, name, part.summary, hasattr(part, "read"), hasattr(part, "write")))
    for name, renderer in renderers.items():
        summary = (renderer.__doc__ or "").splitlines()[0].rstrip(".")
        rows.append(("tables", name, summary, False, True))
    return rows


def known_tests() -> list[tuple[Value, ...]]:
    """Give (kind, name, aliases, first line of the help) for significance tests and corrections."""
    return [
        (kind, name, ", ".join(aliases), (part.__doc__ or "").splitlines()[0].rstrip("."))
        for kind, name, aliases, part in _all_tests()
    ]


def described_test(name: str) -> str:
    """Give the whole help of a significance test or a correction: formula, edge cases, source."""
    for kind, found, aliases, part in _all_tests():
        if name in (found, *aliases):
            also = f", also called {', '.join(aliases)}" if aliases else ""
            return f"{found} ({kind}{also})\n\n{inspect.getdoc(part) or ''}\n"
    raise UnknownName(
        "test or correction", name, [word for _, found, other, _ in _all_tests() for word in (found, *other)]
    )


def _all_tests() -> list[tuple[str, str, tuple[str, ...], object]]:
    """Give (kind, name, aliases, part) of all tests and corrections. Tukey's test is of all runs, not of pairs."""
    registries: tuple[tuple[str, Registry[Any]], ...] = (("test", tests), ("correction", corrections))
    found = [
        (kind, name, tuple(registry.aliases(name)), part)
        for kind, registry in registries
        for name, part in registry.items()
    ]
    places = [kind for kind, *_ in found]
    found.insert(places.index("correction"), ("test", TUKEY, (), tukey))
    return found


def known_strategies() -> list[tuple[Value, ...]]:
    """Give (name, kind, first line of the help, options with their defaults) of every strategy and stopping rule."""
    rows: list[tuple[Value, ...]] = []
    for name, part in [*strategies.items(), *stopping_rules.items()]:
        options = ", ".join(f"{option}={default}" for option, default in part.defaults.items())
        rows.append((name, getattr(part, "kind", STOPPING), part.help.splitlines()[0].rstrip("."), options))
    return rows


def described_strategy(name: str) -> str:
    """Give the whole help of a pooling strategy or a stopping rule: formula, edge cases, source, options."""
    if name not in stopping_rules.names() and name not in _names(strategies):
        raise UnknownName("pooling strategy or stopping rule", name, [*_names(strategies), *stopping_rules.names()])
    is_rule = name in stopping_rules.names()
    part = stopping_rules.get(name) if is_rule else strategies.get(name)
    found = part.name
    aliases = () if is_rule else strategies.aliases(found)
    also = f", also called {', '.join(aliases)}" if aliases else ""
    lines = [f"{found} ({getattr(part, 'kind', STOPPING)}{also})", "", part.help, ""]
    for option in described_options(part.function):
        given = f"stop={found}:{option.default}" if is_rule else f"{option.name.replace('_', '-')}={option.default}"
        lines.append(f"  {given}  {option.help} ({option.values})")
    return "\n".join(lines).rstrip() + "\n"


def _names(registry: Registry[Any]) -> list[str]:
    return [word for name in registry.names() for word in (name, *registry.aliases(name))]


# What measures there are: derived from the registry and the docstrings, never kept by hand.

_CUTOFFS = {"none": "", "optional": "[@k]", "needed": "@k", "level": "@recall"}


def known_measures() -> list[tuple[Value, ...]]:
    """Give (name, cutoff, parameters, other names, trec_eval's names, what it is) for every measure."""
    from cranfield.evaluate.measure import measures
    from cranfield.evaluate.trec_eval.names import trec_names_of

    theirs = trec_names_of()
    return [
        (
            name,
            _CUTOFFS[kind.cutoff],
            ", ".join(f"{parameter.name}={parameter.default}" for parameter in kind.parameters.values()),
            " ".join(measures.aliases(name)),
            " ".join(theirs.get(name, [])),
            kind.summary,
        )
        for name, kind in measures.items()
    ]


def measures_page(markdown: Callable[[Table], str]) -> str:
    """Give the reference page of all measures: a table, and the whole help of each."""
    from cranfield.base.tables import Column, table_of
    from cranfield.evaluate.measure import measures

    rows = [(f"{row[0]}{row[1]}", *row[3:]) for row in known_measures()]
    parts = [
        "# Measures\n",
        "How they are written, and what every one of them takes: [Evaluate](../evaluate.md#measures).\n",
        markdown(table_of(["measure", "also", Column("trec_eval", "trec_eval"), "what it is"], rows)),
    ]
    parts += [f"## {name}\n\n```text\n{described_measure(name).rstrip()}\n```\n" for name in measures.names()]
    return "\n".join(parts)


def described_measure(expression: str) -> str:
    """Give the whole help of the measure that an expression names."""
    from cranfield.evaluate.expression import parse_measures
    from cranfield.evaluate.foreign import ForeignMeasure, described
    from cranfield.evaluate.measure import COMMON, measures

    known = [*measures.names(), *(alias for name in measures.names() for alias in measures.aliases(name))]
    parsed = None if expression in known else parse_measures([expression])[0]
    if isinstance(parsed, ForeignMeasure):
        return described(parsed)
    kind = measures.get(expression) if parsed is None else parsed.kind
    lines = [f"{kind.name}{_CUTOFFS[kind.cutoff]}", "", kind.help, ""]
    for parameter in (*kind.parameters.values(), *COMMON.values()):
        allowed = ", ".join(parameter.choices) or (str(parameter.range) if parameter.range else "")
        lines.append(f"  {parameter.name}={parameter.default!r}{f'  ({allowed})' if allowed else ''}")
    lines.append(f"\nTopics are put together by: {kind.aggregate}")
    return "\n".join(lines) + "\n"


# Do what trec_eval does.


def as_trec_eval(arguments: Sequence[str]) -> Printed:
    """Give the output, the errors and the status of trec_eval for a command line."""
    from cranfield.evaluate.trec_eval.printing import trec_eval

    return trec_eval(arguments)
