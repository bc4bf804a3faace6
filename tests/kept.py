"""Texts that are kept beside the tests and compared: the sentences that people read.

Each test module has one file, `kept/<module>.txt` in its folder, with a section for each test. Renew them after a
change that was meant, and read the difference:

    CRANFIELD_RENEW=1 pytest tests/pool -n0

The version of the program, the moment and the folders that a test works in are masked. A number may differ after its
ninth digit: processors round differently.
"""

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cranfield._version import __version__

RENEW = bool(os.environ.get("CRANFIELD_RENEW"))
ROOT = Path(__file__).parents[1]

NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{10,}(?:e-?\d+)?(?![\w.])")
"""A number in full precision; a rounded one is text like any other."""

MOMENT = re.compile(r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:?\d\d(?::?\d\d(?:\.\d+)?)?(?:Z| UTC)?)?")
EVENT = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
SECTION = re.compile(r"^=== (.*) ===\n", re.MULTILINE)
NEXT = re.compile(r"^---\n", re.MULTILINE)


def same(got: str, kept: str, name: str) -> None:
    """Hold a text against the one that is kept."""
    if got != kept:
        assert NUMBER.sub("#", got).splitlines() == NUMBER.sub("#", kept).splitlines(), name
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (got, kept)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-12, nan_ok=True), name


def sections_of(file: Path) -> dict[str, list[str]]:
    """Give the texts of each test that a file keeps."""
    if not file.exists():
        return {}
    parts = SECTION.split(file.read_text(encoding="utf-8"))[1:]
    return {name: NEXT.split(text.removesuffix("\n")) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def users_in(module: Path) -> set[str]:
    """Give the names of the tests of a module that keep texts."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {one.name for one in functions if "kept" in {argument.arg for argument in one.args.args}}


class Kept:
    """The texts of one test, in the order in which it shows them."""

    renewed: dict[Path, dict[str, list[str]]] = {}  # noqa: RUF012 (one for the whole session)

    def __init__(self, module: Path, name: str, folders: Path) -> None:
        self.name, self.folders = name, folders
        self.file = module.parent / "kept" / f"{module.stem.removeprefix('test_')}.txt"
        self.texts = [] if RENEW else sections_of(self.file).get(name, [])
        self.shown = 0

    def __call__(self, text: str | Iterable[str]) -> None:
        """Compare the next text, or sentences that stand in a list; with CRANFIELD_RENEW set, keep it."""
        got = self._masked(text if isinstance(text, str) else "\n".join(text))
        self.shown += 1
        if RENEW:
            self.texts.append(got)
            return
        assert self.shown <= len(self.texts), f"nothing is kept for {self.name}, but it shows:\n{got}"
        same(got, self.texts[self.shown - 1], self.name)

    @contextmanager
    def raises(self, kind: type[Exception]) -> Iterator[pytest.ExceptionInfo[Exception]]:
        """Expect an error, and compare what it says."""
        with pytest.raises(kind) as caught:
            yield caught
        self(str(caught.value))

    def end(self) -> None:
        """Remember what was shown, or fail where more is kept than was shown."""
        if RENEW and self.texts:
            self.renewed.setdefault(self.file, {})[self.name] = self.texts
        assert RENEW or self.shown == len(self.texts), f"{self.name} shows less than is kept in {self.file}"

    def _masked(self, text: str) -> str:
        """Take out what differs from one day, machine or version to the next."""
        text = re.sub(re.escape(str(self.folders)) + r"(/\w*\d+\b)?", "TMP", text)
        for value, name in (
            (sys.executable, "PYTHON"),
            (str(ROOT), "ROOT"),
            (f"cranfield {__version__}", "cranfield VERSION"),
        ):
            text = text.replace(value, name)
        text = "".join(f"{line.rstrip()}\n" for line in MOMENT.sub("MOMENT", EVENT.sub("EVENT", text)).splitlines())
        return re.sub(r"^(=== |---$)", r" \1", text, flags=re.MULTILINE)


def write_renewed() -> None:
    """Write what the tests of this session showed; of tests that did not run, keep what they showed before."""
    for file, renewed in Kept.renewed.items():
        ran = {name.split("[")[0] for name in renewed}
        others = users_in(file.parents[1] / f"test_{file.stem}.py") - ran
        before = {name: texts for name, texts in sections_of(file).items() if name.split("[")[0] in others}
        sections = sorted((before | renewed).items())
        file.parent.mkdir(exist_ok=True)
        whole = ["".join([f"=== {name} ===\n", "---\n".join(texts), "\n"]) for name, texts in sections]
        file.write_text("".join(whole), encoding="utf-8")
