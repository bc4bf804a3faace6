"""What there is: derived from the registries, never kept by hand."""

from dataclasses import fields

from cranfield.compare.corrections import corrections
from cranfield.compare.significance import tests
from cranfield.corpus.formats import document_formats, topic_formats
from cranfield.pool.strategies import strategies
from cranfield.qrels.formats import qrels_formats
from cranfield.report.rendering import renderers
from cranfield.report.table import Value
from cranfield.runs.formats import run_formats


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
    rows: list[tuple[Value, ...]] = []
    for kind, registry in (("test", tests), ("correction", corrections)):
        for name, part in registry.items():
            rows.append(
                (kind, name, ", ".join(registry.aliases(name)), (part.__doc__ or "").splitlines()[0].rstrip("."))
            )
    rows.append(
        ("test", "tukey", "", "Tukey's honestly significant difference by randomisation, over all runs at once")
    )
    return rows


def known_strategies() -> list[tuple[Value, ...]]:
    """Give (name, kind, first line of the help, options with their defaults) for every pooling strategy."""
    rows: list[tuple[Value, ...]] = []
    for name, part in strategies.items():
        options = ", ".join(f"{field.name}={field.default}" for field in fields(part))  # type: ignore[arg-type]
        rows.append((name, part.kind, (part.__doc__ or "").splitlines()[0].rstrip("."), options))
    return rows
