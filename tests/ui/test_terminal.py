"""The real program in a real terminal: `cranfield judge` in tmux."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import call

from assessor_ui.screens.judge import SEEN
from cranfield.workflows.collection import open_collection
from cranfield.workflows.judge.judge import Judge

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
PATIENCE = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")]


class Terminal:
    """A terminal of 80 by 24 with a shell command in it."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]

    def start(self, command: str) -> None:
        self._run("new-session", "-d", "-x", "80", "-y", "24", "-s", "chair", command)

    def press(self, *keys: str) -> None:
        self._run("send-keys", "-t", "chair", *keys)

    def grade(self, digit: str) -> None:
        """Press a digit after as long a look as the chair asks for."""
        time.sleep(2 * SEEN)
        self.press(digit)

    @property
    def text(self) -> str:
        return self._run("capture-pane", "-p", "-t", "chair")

    @property
    def process(self) -> int:
        return int(self._run("display-message", "-p", "-t", "chair", "#{pane_pid}"))

    def wait_for(self, words: str) -> str:
        """Wait until words stand on the screen; give the screen."""
        end = time.monotonic() + PATIENCE
        while words not in (shown := self.text):
            assert time.monotonic() < end, f"{words!r} never came; there was:\n{shown}"
            time.sleep(0.05)
        return shown

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("kill-server")

    def _run(self, *words: str) -> str:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        return subprocess.run(
            [*self._tmux, *words], check=True, capture_output=True, text=True, encoding="utf-8", env=environment
        ).stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path / "tmux")
    yield made
    made.close()


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    path = tmp_path / "collection.db"
    for words in (
        f"init kitchen --scale {KITCHEN}/scale.toml --guidelines {KITCHEN}/guidelines.md",
        f"corpus add {KITCHEN}/documents.jsonl",
        f"corpus topics {KITCHEN}/topics.trec",
        f"runs submit {KITCHEN}/runs.toml",
        "pool build --order id",
    ):
        call(*words.split(), *(["depth 5"] if words.startswith("pool") else []), "-C", path)
    return path


def answers(collection: Path) -> list[tuple[str, int | None, str]]:
    """Give what the file holds, latest first."""
    with open_collection(collection) as store:
        past = Judge(store).session("ada").history()
    return [(each.document, each.answer.grade, each.answer.note) for each in past]


def test_judging_in_a_terminal_from_the_first_key_to_the_last(terminal: Terminal, collection: Path):
    judge = f"{sys.executable} -m cranfield judge -C {collection} --assessor ada"
    terminal.start(f"{judge}; echo ended with $?; sleep 60")
    terminal.wait_for("burnt pan cleaning")
    first = terminal.wait_for("highly relevant").splitlines()
    terminal.grade("2")
    terminal.wait_for("saved: 2 relevant")
    terminal.press("c")
    terminal.wait_for("Enter accepts")
    terminal.press("-l", "on 2 counts")
    terminal.wait_for("on 2 counts")
    terminal.press("Enter")
    terminal.wait_for("note: on 2 counts")
    terminal.grade("3")
    terminal.wait_for("saved: 3 highly relevant")
    terminal.grade("1")
    terminal.wait_for("saved: 1 marginal")
    terminal.press("u")
    terminal.wait_for("undone (1 marginal)")
    terminal.press("q")
    terminal.wait_for("ended with 0")
    assert [(grade, note) for _, grade, note in answers(collection)] == [(3, "on 2 counts"), (2, "")]
    assert all(len(line) <= 80 for line in first)


def test_what_the_screen_called_saved_survives_kill_nine(terminal: Terminal, collection: Path):
    terminal.start(f"exec {sys.executable} -m cranfield judge -C {collection} --assessor ada")
    terminal.wait_for("burnt pan cleaning")
    terminal.grade("2")
    terminal.wait_for("saved: 2 relevant")
    terminal.grade("0")
    terminal.wait_for("saved: 0 not relevant")
    os.kill(terminal.process, signal.SIGKILL)
    assert [grade for _, grade, _ in answers(collection)] == [0, 2]


def test_plain_lines_through_a_pipe_judge_the_same_collection(collection: Path):
    judge = [sys.executable, "-m", "cranfield", "judge", "-C", str(collection), "--assessor", "ada", "--plain"]
    told = subprocess.run(judge, input="2\n1: hm\nu\n3\nq\n", capture_output=True, text=True, check=True, timeout=120)
    assert [line for line in told.stdout.splitlines() if line.startswith(("saved:", "undone"))] == [
        "saved: 2 relevant for K003",
        "saved: 1 marginal for K004, with your note",
        "undone (1 marginal): K004 is open again",
        "saved: 3 highly relevant for K004, with your note",
    ]
    assert [(grade, note) for _, grade, note in answers(collection)] == [(3, "hm"), (2, "")]
