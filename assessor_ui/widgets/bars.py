"""The bars around the document: progress, the scale, what was just saved, the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from assessor_ui import keymap, messages
from assessor_ui.messages import Notice
from cranfield.base.records import GradeScale
from cranfield.base.text import visible_line
from cranfield.judge.session import SessionProgress

_STYLES = {
    "saved": "$saved",
    "undone": "$key",
    "trouble": "bold $trouble",
    "hint": "$foreground",
    "aside": "$foreground",
    "break": "bold $hit",
}
_SIGNS = {"saved": "✓ ", "undone": "↶ ", "trouble": "✗ ", "hint": "", "aside": "", "break": "◔ "}
_METER = 10
_ROOMY, _TIGHT = (1, 3), (0, 2)
"""Blanks around a grade's key, and after its label."""
_APART, _WORTH_READING = 3, 10
"""Blanks between the latest answer and a notice, at least; and the cells below which a cut notice says nothing."""


def meter(done: int, of: int) -> str:
    """A small bar: ▰▰▰▱▱."""
    full = _METER * done // of if of else _METER
    return "▰" * full + "▱" * (_METER - full)


class StatusLine(Widget):
    """How far the assessor is, in the topic and in all, and how long it will take."""

    status: reactive[tuple[str, tuple[int, int] | None, SessionProgress | None]] = reactive(("", None, None))
    """What is left, the share of the topic that is done, and the pace."""

    def render(self) -> Content:
        """Draw as much as fits: what is left first, the pace after it."""
        text, share, done = self.status
        left = [part for part in (text, meter(*share) if share else "") if part]
        right = [f"{done.today} today" if done.today else "", messages.pace(done)] if done is not None else []
        right = [part for part in right if part]
        while len(left + right) > 1 and sum(cell_len(part) + 3 for part in [*left, *right]) > self.size.width + 3:
            right.pop(0) if right else left.pop()
        shown = " · ".join(left)
        gap = self.size.width - cell_len(shown) - cell_len(" · ".join(right))
        return Content.assemble((shown, "bold"), " " * max(gap, 1), (" · ".join(right), "$quiet"))


class ScaleBar(Widget):
    """The grades with their keys. A click on one judges."""

    before: reactive[int | None] = reactive(None)
    """The earlier grade of this document."""
    typed = reactive("")
    """The digits typed so far."""

    @dataclass
    class Chosen(Message):
        """A grade was clicked."""

        grade: int

    def __init__(self, scale: GradeScale) -> None:
        super().__init__()
        self._grades = [(step.grade, visible_line(step.label)) for step in scale.grades]

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """The lines that the scale needs at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.size.width))

    def on_click(self, event: events.Click) -> None:
        """Judge with the grade under the mouse."""
        if (grade := event.style.meta.get("grade")) is not None:
            self.post_message(self.Chosen(grade))

    def _lines(self, width: int) -> list[Content]:
        """The grades, each whole, on as many lines as they need."""
        for pad, gap in (_ROOMY, _TIGHT):
            cells = []
            for grade, label in self._grades:
                typed = bool(self.typed) and str(grade).startswith(self.typed)
                cell = Content.assemble(
                    (f"{grade:^{len(str(grade)) + 2 * pad}}", "bold reverse" if typed else "bold $key on $rule"),
                    " ",
                    (label, "bold underline" if grade == self.before else "$foreground"),
                    " " * gap,
                )
                cells.append(cell.stylize(Style.from_meta({"grade": grade})))
            if sum(cell.cell_length for cell in cells) - gap <= width:
                break
        lines = [Content("")]
        for cell in cells:
            if lines[-1] and lines[-1].cell_length + cell.cell_length - gap > width:
                lines.append(Content(""))
            lines[-1] += cell
        return lines


class NoticeBar(Widget):
    """What was just saved and how to take it back, or what went wrong. It says nothing that is not so."""

    _notice: Notice = messages.QUIET
    _last: Notice = messages.QUIET

    def show(self, notice: Notice, last: Notice = messages.QUIET) -> None:
        """Show a notice, beside the latest answer that is in the file."""
        self._notice, self._last = notice, last
        self.set_class(bool(notice.text or last.text), "-loud")
        long = notice.kind == "trouble" or self.render().cell_length > self.size.width > 0
        self.set_class(long, "-long")
        self.refresh(layout=long or self.size.height > 1)

    def render(self) -> Content:
        """Draw the latest answer and the notice.

        Where there is no room for both, the answer is told without its key (the hints below have it); where that is
        not enough, what was asked for stays, and what nobody asked for is cut.
        """
        notice, last = self._notice, self._last
        if not last.text or notice.kind == "trouble":
            return _content(notice)
        if notice in (last, messages.QUIET):
            return _content(last)
        shown = _content(notice, with_key=False)
        for answer in (_content(last), _content(last, with_key=False)):
            room = self.size.width - answer.cell_length
            if shown.cell_length <= room - _APART:
                return Content.assemble(answer, (" " * (room - shown.cell_length), ""), shown)
        if notice.kind != "aside":
            return shown
        if room - _APART < _WORTH_READING:
            return _content(last)
        return Content.assemble(answer, (" " * _APART, ""), shown.truncate(room - _APART, ellipsis=True))


def _content(notice: Notice, *, with_key: bool = True) -> Content:
    """A notice as it is drawn; of what is in the file, with how to take it back."""
    text = Content.styled(f"{_SIGNS[notice.kind]}{notice.text}", _STYLES[notice.kind])
    if notice.kind != "saved" or not with_key:
        return text
    return Content.assemble(text, ("   ", ""), ("u", "bold $key"), (" undo", "$quiet"))


class HintLine(Widget):
    """The most wanted keys, as many as fit."""

    commands: reactive[Sequence[keymap.Command]] = reactive(())

    def render(self) -> Content:
        parts: list[tuple[str, str]] = []
        used = 0
        for command in self.commands:
            used += cell_len(command.shown) + cell_len(command.short) + 3
            if used - 2 > self.size.width:
                break
            parts += [(command.shown, "bold $key"), (f" {command.short}  ", "$quiet")]
        return Content.assemble(*parts)
