"""What measures there are: derived from the registry and the docstrings, never kept by hand."""

from collections.abc import Callable

from cranfield.report.table import Table, Value

_CUTOFFS = {"none": "", "optional": "[@k]", "needed": "@k", "level": "@recall"}


def known_measures() -> list[tuple[Value, ...]]:
    """Give (name, cutoff, parameters, other names, trec_eval's names, what it is) for every measure."""
    from cranfield.evaluate.measure import measures
    from cranfield.evaluate.trec_names import trec_names_of

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
    from cranfield.evaluate.measure import measures
    from cranfield.report.table import Column, table_of

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
