"""Progress bars for people; imported only where somebody is looking, since rich is not quick to load."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from cranfield.workflows import watching
from cranfield.text import visible_line


class RateColumn(ProgressColumn):
    """How much is done and how fast it goes."""

    def render(self, task: Task) -> Text:
        """Give "1,200 (300/s)"."""
        rate = f" ({task.speed:,.0f}/s)" if task.speed else ""
        return Text(f"{task.completed:,.0f}{rate}")


@contextmanager
def bar_on(stream: TextIO) -> Iterator[watching.Progress]:
    """Give a reporter that draws one bar per thing that is being done, and takes them away at the end."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), RateColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(visible_line(what), total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield report
