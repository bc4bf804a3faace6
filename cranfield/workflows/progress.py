"""Progress shown to whoever called from Python: in a notebook, on a terminal, and nowhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from html import escape
from threading import Lock, Timer
from time import monotonic
from typing import Any

from cranfield.base.files import Progress, silent
from cranfield.base.registry import deferred
from cranfield.base.text import visible_line

with deferred:
    from cranfield.workflows import display

PATIENCE = 1.0
"""How many seconds work may take before a bar appears."""

_PAUSE = 0.1
"""How many seconds lie at least between two drawings of a bar in a notebook."""

Bar = Callable[[], AbstractContextManager[Progress]]


@contextmanager
def shown_progress(*, wanted: bool = True, patience: float = PATIENCE) -> Iterator[Progress]:
    """Give a step something to report to: a bar where somebody is looking, nothing elsewhere."""
    bar = _bar() if wanted else None
    if bar is None:
        yield silent
        return
    with _after(patience, bar) as report:
        yield report


def _bar() -> Bar | None:
    """Give the bar that fits where we are; None where nobody is looking."""
    if _is_notebook():
        return _in_notebook
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return lambda: display.bar_on(sys.stderr)


def _is_notebook() -> bool:
    """Say whether a notebook's kernel runs this: IPython is imported then, and its shell has a kernel."""
    known: Any = sys.modules.get("IPython")
    shell = None if known is None else known.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _after(seconds: float, bar: Bar) -> Iterator[Progress]:
    """Give a reporter whose bar appears after some time, whatever the work is doing then, and is gone at the end."""
    lock, latest, shown, ended = Lock(), dict[str, tuple[int, int | None]](), list[Progress](), list[bool]()
    with ExitStack() as stack:

        def show() -> None:
            with lock:
                if not ended:
                    shown.append(stack.enter_context(bar()))
                    for what, known in latest.items():
                        shown[0](what, *known)

        def report(what: str, done: int, total: int | None) -> None:
            with lock:
                latest[what] = (done, total)
                if shown:
                    shown[0](what, done, total)

        timer = Timer(seconds, show)
        timer.daemon = True
        timer.start()
        try:
            yield report
        finally:
            timer.cancel()
            with lock:
                ended.append(True)


@contextmanager
def _in_notebook() -> Iterator[Progress]:
    """Give a reporter that draws into the output of the cell. That needs no widgets: every front end shows HTML."""
    from IPython.display import HTML  # type: ignore[import-not-found, unused-ignore]
    from IPython.display import display as show

    handle: Any = show(HTML(_drawn({})), display_id=True)
    latest, drawn = dict[str, tuple[int, int | None]](), [0.0]

    def report(what: str, done: int, total: int | None) -> None:
        is_new = what not in latest
        latest[what] = (done, total)
        if is_new or done == total or monotonic() - drawn[0] > _PAUSE:
            drawn[0] = monotonic()
            handle.update(HTML(_drawn(latest)))

    try:
        yield report
    finally:
        handle.update(HTML(""))


def _drawn(latest: dict[str, tuple[int, int | None]]) -> str:
    """Give bars as HTML, one for each thing that is being done; one without an end just moves."""
    rows = []
    for what, (done, total) in latest.items():
        label = escape(visible_line(what))
        if total:
            rows.append(f'<progress value="{done}" max="{total}"></progress> {label}: {done:,} of {total:,}')
        else:
            rows.append(f"<progress></progress> {label}" + (f": {done:,}" if done else ""))
    return "".join(f"<div>{row}</div>" for row in rows or ["<progress></progress>"])
