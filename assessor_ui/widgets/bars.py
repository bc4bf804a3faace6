"""The bars around the document: progress, the scale, what was just saved, the keys."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from assessor_ui import keymap, messages
from assessor_ui.messages import Notice
from cranfield.base.records import GradeScale
from cranfield.base.text import visible_line

_LOOKS = {"saved": ("✓ ", "$saved"), "undone": ("↶ ", "$key"), "trouble": ("✗ ", "bold $trouble")}
"""The sign and the style of a notice; hints have none of their own."""
_METER = 10
_ROOMY, _TIGHT = (1, 3), (0, 2)
"""Blanks around a grade's key, and after its label."""
_APART = 3
"""Blanks between the latest answer and a notice, at least."""


def meter(done: int, of: int) -> str:
    """A small bar: ▰▰▰▱▱."""
    full = _METER * done // of if of else _METER
    return "▰" * full + "▱" * (_METER - full)


class StatusLine(Widget):
    """How far the assessor is, in the topic and in all, and how long it will take."""

    status: reactive[messages.Status] = reactive(("", None, None))

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
    """The grades with their keys."""

    before: reactive[int | None] = reactive(None)
    """The earlier grade of this document."""
    typed = reactive("")
    """The digits typed so far."""

    def __init__(self, scale: GradeScale) -> None:
        super().__init__()
        self._grades = [(step.grade, visible_line(step.label)) for step in scale.grades]

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """The lines that the scale needs at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        """The grades, each whole, on as many lines as they need."""
        for pad, gap in (_ROOMY, _TIGHT):
            cells = []
            for grade, label in self._grades:
                typed = bool(self.typed) and str(grade).startswith(self.typed)
                cells.append(
                    Content.assemble(
                        (f"{grade:^{len(str(grade)) + 2 * pad}}", "bold reverse" if typed else "bold $key on $rule"),
                        " ",
                        (label, "bold underline" if grade == self.before else "$foreground"),
                        " " * gap,
                    )
                )
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
        """Draw the latest answer and the notice; where there is no room for both, what was asked for."""
        notice, last = self._notice, self._last
        if not last.text or notice.kind == "trouble":
            return _content(notice)
        answer, shown = _content(last), _content(notice)
        room = self.size.width - answer.cell_length - shown.cell_length
        if notice in (last, messages.QUIET) or (room < _APART and notice.kind == "aside"):
            return answer
        return shown if room < _APART else Content.assemble(answer, " " * room, shown)


def _content(notice: Notice) -> Content:
    """A notice as it is drawn; of what is in the file, with how to take it back."""
    sign, style = _LOOKS.get(notice.kind, ("", "$foreground"))
    text = Content.styled(f"{sign}{notice.text}", style)
    if notice.kind != "saved":
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
