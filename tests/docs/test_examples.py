"""Every example of the README and the docs is pasted: from the folder that the page names, in a clean checkout.

A `sh` block is given to a shell as it stands, and goes on in the folder where the one before it ended; a `python`
block runs there too, and all code of a page shares its names; a `sql` block is asked of `collection.db` there, and
prints as the shell of SQLite does. `<!-- status: N -->` before a `sh` block says that its
last command ends with status N; `<!-- not run: WHY -->` leaves a block out; the lines of a block under
`<!-- prints -->` are printed by the `sh` or `sql` block before it. A line of code with
a comment `# -> VALUE` must print as VALUE.
"""

import contextlib
import io
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import call

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (prints|status|not run)(?:: (.*?))? -->\n)?```(\w*)\n(.*?)```", re.DOTALL)
START = re.compile(r"commands start in (?:the root of the checkout|`(.+?)`)")

# What stands for the program in the shell of a page: it hands the command over to this process, where it takes a
# tenth of the time that a new process would need to import everything.
MESSENGER = f"""#!{sys.executable} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as desk:
    desk.connect(os.environ["DESK"])
    desk.sendall(json.dumps([sys.argv[1:], os.getcwd(), sys.stdin.read()]).encode() + b"\\0")
    with desk.makefile() as answer:
        status, out, err = json.load(answer)
sys.stdout.write(out)
sys.stdout.flush()
sys.stderr.write(err)
sys.exit(status)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block and the remark before it."""

    remark: str
    value: str
    language: str
    text: str


class Shell:
    """A shell in a folder, with the program within reach."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder, self.tools = folder, tools
        (tools / "cranfield").write_text(MESSENGER)
        (tools / "cranfield").chmod(0o755)
        self.desk = socket.socket(socket.AF_UNIX)
        self.desk.bind(str(tools / "desk"))
        self.desk.listen()
        self.desk.settimeout(0.02)

    def paste(self, text: str, *, status: int) -> str:
        """Run these commands, give what they print, and stay in the folder where they end."""
        environment = {**os.environ, "DESK": str(self.tools / "desk"), "PATH": f"{self.tools}:{os.environ['PATH']}"}
        ended_in, printed = self.tools / "ended-in", self.tools / "printed"
        script = f"set -e\ntrap 'pwd > {ended_in}' EXIT\n{text}"
        with printed.open("w") as out:
            shell = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
            while shell.poll() is None:
                with contextlib.suppress(TimeoutError):
                    self.serve()
        shown = printed.read_text(encoding="utf-8")
        assert shell.returncode == status, f"{text}\n{shown}"
        self.folder = Path(ended_in.read_text().strip())
        return shown

    def serve(self) -> None:
        """Run the next command that the shell hands over."""
        messenger, _ = self.desk.accept()
        with messenger:
            request = b""
            while not request.endswith(b"\0"):
                request += messenger.recv(65536)
            words, folder, answers = json.loads(request[:-1])
            messenger.sendall(json.dumps(call(*words, folder=Path(folder), answers=answers, status=None)).encode())


def blocks(page: Path) -> list[Block]:
    return [Block(*match.groups(default="")) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the pages may start from, as it is in a clean checkout: nothing that git does not know, or would not."""
    listed = [
        "git",
        "-C",
        ROOT,
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "docs",
        "collections",
    ]
    known = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    for name in known:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run_where_it_says(page: Path, checkout: Path):
    parts = [block for block in blocks(page) if block.remark != "not run"]
    if not any(block.language == "sh" for block in parts):
        return
    (start,) = START.findall(page.read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    printed = ""
    with tempfile.TemporaryDirectory() as tools:
        shell = Shell(checkout / start, Path(tools))
        with contextlib.closing(shell.desk):
            for block in parts:
                if block.remark == "prints":
                    assert [line for line in block.text.splitlines() if line.rstrip() not in printed] == []
                elif block.language == "sh":
                    printed = shell.paste(block.text, status=int(block.value or 0))
                elif block.language == "sql":
                    with contextlib.closing(sqlite3.connect(shell.folder / "collection.db")) as database:
                        printed = "\n".join("|".join(map(str, row)) for row in database.execute(block.text))
                        assert printed
                elif block.language == "python":
                    with contextlib.chdir(shell.folder):
                        run_code(block, names)


def test_no_page_has_commands_that_cannot_be_pasted():
    assert [page.name for page in PAGES if re.search(r"^\$ ", page.read_text(encoding="utf-8"), re.MULTILINE)] == []


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
