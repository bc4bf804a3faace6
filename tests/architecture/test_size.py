"""Functions and modules are small enough to read from top to bottom, and none is a fragment of another."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "cranfield").rglob("*.py"), *(ROOT / "assessor_ui").rglob("*.py")])
LONGEST_MODULE = 600
LONGEST_FUNCTION = 80
SHORTEST_MODULE = 150
PARTS = {
    "formats",
    "strategies",
    "measures",
    "significance",
    "baselines",
    "migrations",
    "renderers",
    "reports",
    "sources",
}


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1


def test_no_module_is_longer_than_six_hundred_lines():
    lengths = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_no_function_is_longer_than_eighty_lines():
    assert [(name, size) for path in MODULES for name, size in functions(path) if size > LONGEST_FUNCTION] == []


def test_no_module_is_a_fragment_of_its_only_importer():
    """A short module that one other module of its package imports, and nobody else, belongs inside that one."""
    importers: dict[str, set[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers.setdefault(name, set()).add(_module(path))
    fragments = [
        _module(path)
        for path in MODULES
        if path.name != "__init__.py"
        and path.read_text(encoding="utf-8").count("\n") < SHORTEST_MODULE
        and not PARTS & set(path.parts)
        and len(known := importers.get(_module(path), set())) == 1
        and _package(next(iter(known))) == _package(_module(path))
    ]
    assert fragments == []


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _package(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "cranfield" else parts[0]


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=str)
def test_an_init_file_holds_nothing_but_exports(path: Path):
    allowed = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
    body = ast.parse(path.read_text(encoding="utf-8")).body
    others = [ast.unparse(node).split("\n")[0] for node in body if not isinstance(node, allowed)]
    by_name = {"if TYPE_CHECKING:", "def __getattr__(name: str) -> Any:", "def __dir__() -> list[str]:"}
    assert set(others) <= by_name  # exports that are imported when they are first used
