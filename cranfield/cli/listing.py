"""Commands that list what there is, derived from the registries and docstrings; and trec_eval's own command line."""

import inspect
import sys
from typing import Annotated, Any

import typer
from typer import Argument

from cranfield.base.errors import UnknownName
from cranfield.base.registry import Registry, deferred, described_options
from cranfield.cli import completion, console
from cranfield.cli.console import Format
from cranfield.cli.main import Stage
from cranfield.report.rendering import renderers

with deferred:
    from cranfield.base import text as texts
    from cranfield.compare import comparison, significance
    from cranfield.corpus import outside
    from cranfield.corpus import reading as corpus_reading
    from cranfield.evaluate import foreign
    from cranfield.evaluate import measure as measuring
    from cranfield.evaluate.trec_eval import names as trec_names
    from cranfield.evaluate.trec_eval import printing
    from cranfield.pool import stopping, strategy
    from cranfield.qrels import qrels as qrels_core
    from cranfield.runs import reading as runs_reading

stage = Stage()

_CUTOFFS = {"none": "", "optional": "[@k]", "needed": "@k", "level": "@recall"}


@stage.command(
    "trec-eval qrels.txt bm25.run",
    "trec-eval -q -m map -m P.5,10 qrels.txt bm25.run",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
)
def trec_eval(context: typer.Context) -> None:
    """Behave like trec_eval: version 10, or version 9 with --as 9."""
    printed = printing.trec_eval(context.args)
    sys.stdout.buffer.write(printed.output)
    sys.stdout.buffer.flush()
    if {"-h", "--help"} & {*context.args}:
        examples = stage.commands["trec-eval"].examples
        console.put("\nExamples:\n" + "".join(f"  cranfield {line}\n" for line in examples))
    sys.stderr.write(printed.errors)
    raise typer.Exit(printed.status)


@stage.command("measures", "measures nDCG@10")
def measures(
    name: Annotated[
        str, Argument(help="A measure; all are listed without one.", autocompletion=completion.measures)
    ] = "",
    format: Format = "table",
) -> None:
    """List the measures, or explain one."""
    if name:
        console.put(describe_measure(name), prose=True)
    else:
        console.put_table(list_measures(), format)


@stage.command("formats", "formats --format csv")
def formats(format: Format = "table") -> None:
    """List the input and output formats."""
    console.put_table(list_formats(), format)


@stage.command("strategies", "strategies rrf")
def strategies(
    name: Annotated[
        str,
        Argument(help="A strategy or a stopping rule; all are listed without one.", autocompletion=completion.plans),
    ] = "",
    format: Format = "table",
) -> None:
    """List the pooling strategies and stopping rules, or explain one."""
    if name:
        console.put(describe_strategy(name), prose=True)
        return
    console.put_table(list_strategies(), format)
    console.say("formula and source of each: cranfield strategies NAME")


@stage.command("tests", "tests randomisation")
def tests(
    name: Annotated[str, Argument(help="A test or a correction. [default: list all]")] = "",  # noqa: PT028
    format: Format = "table",  # noqa: PT028
) -> None:
    """List significance tests and corrections, or explain one."""
    parts: list[tuple[str, str, list[str], object]] = []
    registries: dict[str, Registry[Any]] = {"test": significance.tests, "correction": comparison.corrections}
    for kind, registry in registries.items():
        parts += [(kind, word, registry.aliases(word), part) for word, part in registry.items()]
        if kind == "test":  # Tukey's is of all runs, not of pairs
            parts.append((kind, comparison.TUKEY, [], comparison.tukey))
    if not name:
        rows = [(kind, word, ", ".join(aliases), _summary(part)) for kind, word, aliases, part in parts]
        named = texts.Column("aliases", "also called"), texts.Column("summary", "description")
        console.put_table(texts.table_of(["kind", "name", *named], rows), format)
        console.say("for formula and source: cranfield tests NAME")
        return
    for kind, word, aliases, part in parts:
        if name in (word, *aliases):
            console.put(f"{_title(word, kind, aliases)}\n\n{inspect.getdoc(part) or ''}\n", prose=True)
            return
    known = [one for _, word, aliases, _ in parts for one in (word, *aliases)]
    raise UnknownName("test or correction", name, known)


def list_formats() -> "texts.Table":
    """Every format: of what, name, summary, whether it is read and written."""
    rows: list[tuple[texts.Value, ...]] = []
    registries: dict[str, Registry[Any]] = {
        "documents": corpus_reading.document_formats,
        "topics": corpus_reading.topic_formats,
        "runs": runs_reading.run_formats,
        "qrels": qrels_core.qrels_formats,
    }
    for noun, registry in registries.items():
        for name, part in registry.items():
            rows.append((noun, name, part.summary, hasattr(part, "read"), hasattr(part, "write")))
    rows += [
        ("documents outside", name, part.summary, True, False) for name, part in outside.document_sources.items()
    ]
    rows += [("tables", name, _summary(renderer), False, True) for name, renderer in renderers.items()]
    return texts.table_of(["of", "format", texts.Column("summary", "description"), "read", "written"], rows)


def list_strategies() -> "texts.Table":
    """Every strategy and stopping rule, with its options and their defaults."""
    rows: list[tuple[texts.Value, ...]] = []
    for name, part in [*strategy.strategies.items(), *stopping.stopping_rules.items()]:
        options = ", ".join(f"{option}={default}" for option, default in part.defaults.items())
        rows.append((name, getattr(part, "kind", "stopping rule"), part.help.splitlines()[0].rstrip("."), options))
    return texts.table_of(["strategy", "kind", texts.Column("summary", "description"), "options"], rows)


def describe_strategy(name: str) -> str:
    """The whole help of a pooling strategy or a stopping rule: formula, edge cases, source, options."""
    rules, known = stopping.stopping_rules, strategy.strategies
    if name in rules:
        part: Any = rules.get(name)
        title, option_as_written = _title(name, "stopping rule", []), f"stop={name}:{{0.default}}"
    else:
        part = known.get(name)
        title, option_as_written = _title(part.name, part.kind, known.aliases(part.name)), "{1}={0.default}"
    lines = [title, "", part.help, ""]
    for option in described_options(part.function):
        written = option_as_written.format(option, option.name.replace("_", "-"))
        lines.append(f"  {written}  {option.help} ({option.values})")
    return "\n".join(lines).rstrip() + "\n"


def list_measures() -> "texts.Table":
    """Every measure, with the names that it has elsewhere."""
    theirs = trec_names.trec_names_of()
    rows = [
        (
            name,
            _CUTOFFS[kind.cutoff],
            ", ".join(f"{parameter.name}={parameter.default}" for parameter in kind.parameters.values()),
            " ".join(measuring.measures.aliases(name)),
            " ".join(theirs.get(name, [])),
            kind.summary,
        )
        for name, kind in measuring.measures.items()
    ]
    return texts.table_of(
        ["measure", "cutoff", "parameters", "also", "trec_eval", texts.Column("what it is", "description")], rows
    )


def describe_measure(name: str) -> str:
    """The whole help of the measure that an expression names."""
    known = measuring.measures
    if name in known:
        kind = known.get(name)
    else:
        (parsed, *_) = measuring.parse_measures([name])
        if isinstance(parsed, measuring.ForeignMeasure):
            return foreign.described(parsed)
        kind = parsed.kind
    lines = [f"{kind.name}{_CUTOFFS[kind.cutoff]}", "", kind.help, ""]
    for parameter in (*kind.parameters.values(), *measuring.COMMON.values()):
        allowed = ", ".join(parameter.choices) or (str(parameter.range) if parameter.range else "")
        lines.append(f"  {parameter.name}={parameter.default!r}{f'  ({allowed})' if allowed else ''}")
    lines.append(f"\nAggregated over topics by: {kind.aggregate}")
    return "\n".join(lines) + "\n"


def _summary(part: object) -> str:
    return (part.__doc__ or "").splitlines()[0].rstrip(".")


def _title(name: str, kind: str, aliases: list[str]) -> str:
    also = f", also called {', '.join(aliases)}" if aliases else ""
    return f"{name} ({kind}{also})"
