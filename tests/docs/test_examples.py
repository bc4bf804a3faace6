"""Every example of the README and the docs is run.

The commands of a page's `console` blocks and the code of its `python` blocks are run one after the other in one
folder; all code of a page shares its names. A block under `<!-- file: NAME -->` is the content of a file the commands
use; `<!-- status: N -->` before a `console` block says that its last command ends with status N, and that all lines
of the block that are no commands are printed by them; `<!-- not run: WHY -->` leaves a block out. A line of code with
a comment `# -> VALUE` must print as VALUE.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import call

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (file|status|not run): (.*?) -->\n)?```(\w*)\n(.*?)```", re.DOTALL)
KITCHEN = ROOT / "collections" / "kitchen"


@dataclass(frozen=True)
class Block:
    """A fenced block and the remark before it."""

    remark: str
    value: str
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*match.groups(default="")) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def commands(block: Block) -> Iterator[list[str]]:
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("$ cranfield "):
            yield shlex.split(line.removeprefix("$ cranfield "), comments=True)


def run(words: list[str], status: int) -> str:
    target = Path(words[words.index(">") + 1]) if ">" in words else None
    source = Path(words[words.index("<") + 1]).read_text(encoding="utf-8") if "<" in words else ""
    end = min(words.index(sign) if sign in words else len(words) for sign in "<>")
    ended = call(*words[:end], answers=source, status=status)
    if target:
        target.write_bytes(ended.out.encode())
    return ended.out + ended.err


def furnish(folder: Path) -> None:
    """Lay out the files that examples may name without saying what is in them: those of the shipped collection."""
    for name in ("documents.jsonl", "topics.trec", "guidelines.md", "scale.toml", "runs.toml"):
        (folder / name).write_bytes((KITCHEN / name).read_bytes())
    (folder / "runs").mkdir()
    for run_file in (KITCHEN / "runs").iterdir():
        (folder / "runs" / run_file.name).write_bytes(run_file.read_bytes())
    grades = {"K001": 0, "K003": 3, "K053": 2, "K146": 1}
    lines = [f"{topic} 0 {name} {grade}\n" for topic in ("T01", "T02", "T03") for name, grade in grades.items()]
    (folder / "qrels.txt").write_text("".join(lines))
    (folder / "notes").mkdir()
    (folder / "notes" / "pans.md").write_text("# Pans\n\nKeep them dry.\n")
    (folder / "collections").symlink_to(ROOT / "collections")
    (folder / "texts").symlink_to(ROOT / "docs" / "examples" / "texts")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path):
    furnish(tmp_path)
    with contextlib.chdir(tmp_path):
        for block in blocks(page):
            if block.remark == "file":
                Path(block.value).parent.mkdir(parents=True, exist_ok=True)
                Path(block.value).write_text(block.text, encoding="utf-8")
        names: dict[str, object] = {}
        for block in blocks(page):
            if block.language == "console" and block.remark != "not run":
                run_block(block)
            if block.language == "python" and block.remark != "not run":
                run_code(block, names)


def run_block(block: Block) -> None:
    typed, printed = list(commands(block)), ""
    for place, words in enumerate(typed, start=1):
        expected = int(block.value) if block.remark == "status" and place == len(typed) else 0
        if words[0] == "init":
            Path("collection.db").unlink(missing_ok=True)
        printed += run(words, expected)
    if block.remark == "status":
        whole = block.text.replace("\\\n", " ")
        shown = [line for line in whole.splitlines() if not line.startswith("$ ")]
        assert [line for line in shown if line.rstrip() not in printed] == []


def run_code(block: Block, names: dict[str, object]) -> None:
    """Run a block of Python; what it prints goes nowhere."""
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.text, "a python block", "exec"), names)
        for line in block.text.splitlines():
            code, arrow, expected = line.partition("  # -> ")
            if arrow:
                assert str(eval(code.rpartition(" = ")[2], names)) == expected, line


def links(page: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            yield target


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path):
    assert [target for target in links(page) if not (page.parent / target).exists()] == []
