"""Bars for those who call from Python: in notebooks and on terminals, when it takes long, and nowhere else."""

import io
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import sleep
from types import ModuleType, SimpleNamespace

import pytest
from command import Terminal

import cranfield as cf
from cranfield.base.files import Progress, silent
from cranfield.workflows.display import shown_progress


class Screen:
    """What a cell of a notebook shows, one drawing after the other."""

    def __init__(self) -> None:
        self.drawings: list[str] = []

    def display(self, html: str, *, display_id: bool) -> "Screen":
        assert display_id
        self.update(html)
        return self

    def update(self, html: str) -> None:
        self.drawings.append(html)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A stand-in for IPython in a notebook's kernel."""
    screen = Screen()
    known, shown = ModuleType("IPython"), ModuleType("IPython.display")
    known.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    shown.HTML, shown.display = str, screen.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", known)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return screen


def until(screen: Screen) -> None:
    for _ in range(200):
        if screen.drawings:
            return
        sleep(0.01)


def test_in_a_notebook_a_bar_appears_moves_and_goes_away(notebook: Screen):
    with shown_progress(patience=0.0) as progress:
        until(notebook)
        progress("reading <runs>", 1, 4)
        progress("reading <runs>", 4, 4)
        progress("weighing", 0, None)
    bar = '<div><progress value="{}" max="4"></progress> reading &lt;runs&gt;: {} of 4</div>'
    assert notebook.drawings[-4:] == [
        bar.format(1, 1),
        bar.format(4, 4),
        bar.format(4, 4) + "<div><progress></progress> weighing</div>",
        "",
    ]


def test_a_bar_tells_what_happened_before_it_appeared(notebook: Screen):
    with shown_progress(patience=0.05) as progress:
        progress("reading runs", 3, 4)
        until(notebook)
    assert "3 of 4" in notebook.drawings[1]


def test_work_that_is_soon_done_shows_no_bar(notebook: Screen):
    with shown_progress(patience=30.0) as progress:
        progress("reading runs", 1, 1)
    assert notebook.drawings == []


def test_an_error_takes_the_bar_away(notebook: Screen):
    def failing() -> None:
        with shown_progress(patience=0.0):
            until(notebook)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        failing()
    assert notebook.drawings[-1] == ""


def test_who_wants_none_gets_none(notebook: Screen):
    with shown_progress(wanted=False, patience=0.0) as progress:
        assert progress is silent


def test_a_pipe_gets_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with shown_progress(patience=0.0) as progress:
        assert progress is silent


def test_a_terminal_gets_the_bar_of_the_command_line(monkeypatch: pytest.MonkeyPatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress(patience=0.0) as progress:
        progress("reading runs", 1, 4)
        sleep(0.3)
    assert "reading runs" in terminal.getvalue()


def test_what_is_opened_without_progress_asks_for_none(monkeypatch: pytest.MonkeyPatch):
    asked: list[bool] = []

    def noting(*, wanted: bool) -> AbstractContextManager[Progress]:
        asked.append(wanted)
        return shown_progress(wanted=False)

    monkeypatch.setattr("cranfield.workflows.display.shown_progress", noting)
    for chosen in (True, False):
        asked.clear()
        cf.open_files(qrels={"1": {"a": 1}}, runs={"x": {"1": {"a": 2.0}}}, progress=chosen).evaluate("AP")
        assert set(asked) == {chosen}


def test_reading_files_is_told(pool: Path, notebook: Screen, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cranfield.workflows.display.shown_progress", lambda **_: recorded(told))
    told: list[tuple[str, int, int | None]] = []
    files = cf.open_files(qrels=pool / "qrels", runs=[pool / "r1.run", pool / "r9.run"])
    files.settle("r1", "r9", measures="P@3")
    assert told[:2] == [("reading runs", 1, 2), ("reading runs", 2, 2)]
    assert ("estimating losses", 0, None) in told


@contextmanager
def recorded(told: list[tuple[str, int, int | None]]) -> Iterator[Progress]:
    yield lambda what, done, total: told.append((what, done, total))
