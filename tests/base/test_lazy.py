"""Imports that are put off."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

MODULE = """
from cranfield.base.registry import deferred

with deferred:
    import fractions
    from xml.dom import minidom
    from concurrent import futures

before = [name in sys.modules for name in ("fractions", "xml.dom.minidom", "concurrent.futures")]
half = fractions.Fraction(1, 2)
after = [name in sys.modules for name in ("fractions", "xml.dom.minidom", "concurrent.futures")]
print(before, half, after, minidom.parseString.__name__, futures.wait.__name__)
import decimal
print(type(decimal).__name__)
"""


def test_a_module_is_loaded_when_it_is_first_used():
    code = f"import sys\nfor name in ('fractions', 'concurrent.futures'): sys.modules.pop(name, None)\n{MODULE}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = "[False, False, False] 1/2 [True, False, False] parseString wait\nmodule\n"
    assert ended.stdout == expected


def test_only_modules_are_put_off():
    known = {path for root in ("cranfield", "assessor_ui") for path in (ROOT / root).rglob("*.py")}
    wrong = []
    for path in known:
        for block in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(block, ast.With) and ast.unparse(block.items[0]) == "deferred"):
                continue
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and (line.module or "").split(".")[0] in (
                    "cranfield",
                    "assessor_ui",
                ):
                    folder = ROOT / line.module.replace(".", "/")
                    modules = {folder / name.name for name in line.names}
                    if not all(one.is_dir() or one.with_suffix(".py").is_file() for one in modules):
                        wrong.append(f"{path.name}:{line.lineno}")
                elif not isinstance(line, ast.Import | ast.ImportFrom) or "." in line.names[0].name:
                    wrong.append(f"{path.name}:{line.lineno}")
    assert wrong == []
