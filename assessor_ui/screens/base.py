"""What all screens have in common: they ask the desk without freezing, and show notices."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from textual.content import Content
from textual.screen import Screen, ScreenResultType

from assessor_ui.messages import Notice
from assessor_ui.widgets.bars import NoticeBar
from assessor_ui.wrapping import wrap

if TYPE_CHECKING:
    from assessor_ui.app import ReaderApp

Asked = TypeVar("Asked")


class ChairScreen(Screen[ScreenResultType]):
    """A screen of the chair."""

    ALLOW_SELECT = False

    @property
    def chair(self) -> "ReaderApp":
        """The program this screen is part of."""
        from assessor_ui.app import ReaderApp

        assert isinstance(self.app, ReaderApp)
        return self.app

    def show_notice(self, notice: Notice) -> None:
        """Show a notice where this screen has a place for it."""
        for bar in self.query(NoticeBar):
            bar.show(notice)

    def do(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that asks the desk, after what was asked before."""
        self.run_worker(work(), group="desk")


def indented(text: Content, width: int, *, indent: int, first: Content | None = None) -> Content:
    """Give a text wrapped at `width` with every line indented; `first` stands before its first line instead."""
    blank = Content(" " * indent)
    lines = [text[line.start : line.end] for line in wrap(text.plain, max(width - indent, 10))]
    heads = [first if first is not None else blank, *([blank] * (len(lines) - 1))]
    return Content("\n").join(head + line for head, line in zip(heads, lines, strict=True))
