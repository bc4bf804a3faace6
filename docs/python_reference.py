"""The reference of the Python interface, from its signatures and docstrings."""

import ast
import inspect
from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import Any

import cranfield as cf
from cranfield.collection import Plots
from cranfield.workflows.reuse.reuse import ReusePlots

HEAD = """# Python

`import cranfield as cf` exports these names and no others: {names}.
[From Python](../python.md) shows how they are used. Frames are pandas frames, `Axes` are those of matplotlib.
Every error is a `cf.CranfieldError`.

In the signatures `PathLike` is `str | os.PathLike[str]`; `Judged` are qrels as a file, a frame, or topic -> document
-> grade; `Nameless` is a run as a file or a frame, `Ranked` also as topic -> document -> score; `Grouped` are groups
as a file, a frame, or run -> group; `Clusters` are near-duplicates as a file or document -> cluster.
"""

CLASSES: tuple[tuple[type, str, str], ...] = (
    (cf.Opened, "cf.Opened", "opened"),
    (Plots, "Opened.plot", "opened.plot"),
    (cf.ReuseResult, "cf.ReuseResult", "found"),
    (ReusePlots, "ReuseResult.plot", "found.plot"),
)
"""The classes with the heading each has, and what an instance is called in signatures."""

FIELDS = {
    (
        "ReuseResult",
        "notes",
    ): "Notes on the whole result: which runs contributed to the pool, and whether that was inferred."
}
"""What fields are: Python keeps no docstrings of them."""


def page() -> str:
    """Give the page."""
    parts = [HEAD.format(names=", ".join(f"`{name}`" for name in cf.__all__))]
    parts += [function(thing, f"cf.{thing.__name__}") for thing in (cf.open_files, cf.open_collection)]
    parts += ["".join(described(*one)) for one in CLASSES]
    return "\n".join(parts)


def described(thing: type, heading: str, instance: str) -> Iterator[str]:
    """Give a class: what it is, its properties, its methods, in the order of the source."""
    yield f"## {heading}\n\n{prose(thing)}\n"
    fields = getattr(thing, "__dataclass_fields__", {})
    public = [name for name in (*fields, *vars(thing)) if not name.startswith("_")]
    for name in dict.fromkeys(public):
        value = vars(thing).get(name)
        if inspect.isfunction(value):
            yield "\n" + function(value, f"{instance}.{name}", level=3)
        else:
            yield f"\n### {instance}.{name}\n\n{attribute(thing, name, value)}\n"


def attribute(thing: type, name: str, value: Any) -> str:
    """Give a property or a field with its type."""
    getter = getattr(value, "fget", None) or getattr(value, "func", None)
    if getter is None:
        return f"`{thing.__dataclass_fields__[name].type}`\n\n{FIELDS[thing.__name__, name]}"  # type: ignore[attr-defined]
    return f"`{written(definition(getter).returns)}`\n\n{prose(getter)}"


def function(value: Callable[..., Any], name: str, *, level: int = 2) -> str:
    """Give a function with its signature, one parameter on each line, and its docstring."""
    node = definition(value)
    lines = [f"    {line}," for line in parameters(node.args)]
    arguments = "\n" + "\n".join(lines) + "\n" if lines else ""
    returned = written(ast.Constant(value.__annotations__["return"]))
    code = f"{name}({arguments}) -> {returned}"
    return f"{'#' * level} {name}\n\n```text\n{code}\n```\n\n{prose(value)}\n"


def parameters(given: ast.arguments) -> Iterator[str]:
    """Give the parameters as they stand in the source: that is the same under every version of Python."""
    required = [None] * (len(given.args) - len(given.defaults))
    for one, default in zip(given.args, [*required, *given.defaults], strict=True):
        if one.arg != "self":
            yield parameter(one, default)
    if given.vararg is not None:
        yield f"*{parameter(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield parameter(one, default)


def parameter(one: ast.arg, default: ast.expr | None) -> str:
    """Give one parameter."""
    return f"{one.arg}: {written(one.annotation)}" + ("" if default is None else f" = {ast.unparse(default)}")


def written(annotation: ast.expr | None) -> str:
    """Give a type as one reads it: without the quotes that keep it from being imported, and without packages."""
    if annotation is None:
        return "None"
    quoted = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
    text = annotation.value if quoted else ast.unparse(annotation)  # type: ignore[attr-defined]
    for long, short in (
        ("pandas.", ""),
        ("pd.", ""),
        ("reusing.", ""),
        ("os.PathLike[str]", "PathLike"),
        ("str | PathLike", "PathLike"),
    ):
        text = str(text).replace(long, short)
    return str(text)


def definition(value: Callable[..., Any]) -> ast.FunctionDef:
    """Give a function as it is written."""
    (node,) = ast.parse(dedent(inspect.getsource(value))).body
    assert isinstance(node, ast.FunctionDef)
    return node


def prose(thing: Any) -> str:
    """Give a docstring as paragraphs, each on one line."""
    text = inspect.getdoc(thing) or ""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
