"""How a test runs a command: in its own process, since a new one for each would take most of a second."""

import contextlib
import io
import signal
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from cranfield.cli.main import status_of

# What is started in the background of a script ignores Ctrl-C, and so do its children unless they begin with this.
HEARS_CTRL_C = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
IGNORES_CTRL_C = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)


class Ended(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


class Stream(io.TextIOWrapper):
    """A stream in memory, as standard input or output are."""

    def __init__(self, text: str = "") -> None:
        super().__init__(io.BytesIO(text.encode()), "utf-8", newline="")

    def getvalue(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


class Terminal(Stream):
    """A stream that passes for a terminal."""

    def isatty(self) -> bool:
        return True


def call(
    *words: object,
    folder: Path | None = None,
    status: int | None = 0,
    answers: str | None = None,
    terminal: bool = False,
) -> Ended:
    """Run a command in a folder with these answers on standard input; it has to end with this status, if any."""
    out = Terminal() if terminal else Stream()
    err = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder or "."):
        if answers is not None:
            patch.setattr(sys, "stdin", io.StringIO(answers))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = status_of([str(word) for word in words])
    text = out.getvalue()
    assert status in (ended, None), f"cranfield {' '.join(map(str, words))}\n{text}{err.getvalue()}"
    return Ended(ended, text, err.getvalue())
