"""What lies over the screen: sheets to read (guidelines with scale and topic, all keys), and a line to type in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Markdown, Static

from assessor_ui import keymap, messages
from assessor_ui.messages import Notice
from assessor_ui.page import wrap
from assessor_ui.widgets.bars import NoticeBar
from assessor_ui.widgets.document_view import topic_content
from cranfield.base.records import GradeScale, Topic
from cranfield.base.text import visible, visible_line

if TYPE_CHECKING:
    from assessor_ui.app import AssessorApp


class Paper(VerticalScroll):
    """What scrolls, with letters too."""

    BINDINGS = [("j", "scroll_down", ""), ("k", "scroll_up", ""), ("space", "page_down", "")]  # noqa: RUF012


class Sheet(ModalScreen[None]):
    """A sheet of paper that scrolls and is put away with Esc, q or the key that brought it."""

    BINDINGS = [("escape,q,g,question_mark,enter", "dismiss", "close")]  # noqa: RUF012

    def __init__(self, heading: str, parts: Callable[[int], Sequence[Widget]]) -> None:
        super().__init__()
        self._heading, self._parts = heading, parts

    def compose(self) -> ComposeResult:
        # The parts are made for the cells that a line of the sheet has.
        with Paper(id="sheet") as sheet:
            sheet.border_title = self._heading
            sheet.border_subtitle = "↓↑ Space scroll · Esc closes"
            yield from self._parts(min(self.app.size.width * 9 // 10, 92) - 7)


class TopicCard(Sheet):
    """Another topic over the whole screen. No key goes on before it was seen, and one held down never does."""

    BINDINGS = [("u", "undo", "")]  # noqa: RUF012
    app: AssessorApp

    def __init__(self, topic: Topic, todo: str, last: Notice) -> None:
        parts = [Static(topic_content(topic), classes="part"), Static(todo, markup=False)]
        super().__init__(messages.NEW_TOPIC, lambda _: parts)
        self._last, self._shown = last, 0.0

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield NoticeBar()

    def on_mount(self) -> None:
        self.query_one("#sheet").border_subtitle = "Enter goes on to the document"
        self.query_one(NoticeBar).show(self._last)
        self._shown = time.monotonic()

    def action_dismiss(self, result: None = None) -> None:  # type: ignore[override]
        """Go on to the document."""
        before, self._shown = self._shown, time.monotonic()
        if self._shown - before >= self.app.seen:
            self.dismiss(result)

    def action_undo(self) -> None:
        """Take the answer before back instead."""
        self.app.pop_screen()  # without going on: the answer's own topic comes up
        self.app.perform(self.app.session.undo, answers=True)


def guidelines_parts(topic: Topic | None, scale: GradeScale, guidelines: str, width: int) -> list[Widget]:
    """The topic in full, the scale in full, and the guidelines: the rarest need last."""
    lines = []
    for step in scale.grades:
        counts = " · counts as relevant" if step.grade >= scale.relevant_from else ""
        key = (f" {step.grade} ", "bold $key on $rule")
        lines.append(Content.assemble(key, (f" {visible_line(step.label)}", "bold"), (counts, "$quiet")))
        if step.text.strip():
            lines.append(indent(Content(visible_line(step.text.strip())), width, by=4))
    text = Markdown(visible(guidelines.strip()) or messages.NO_GUIDELINES)
    return [
        *([Static(topic_content(topic), classes="part")] if topic else []),
        Static(Content("\n").join(lines), classes="part"),
        text,
    ]


def keys_parts(groups: keymap.Groups, width: int) -> list[Widget]:
    """A line for each key, under the headings of the groups."""
    digits = "judge with this grade, save and go on (two-digit grades: then Enter)"
    sections = [("Judging", [("0 1 2 …", digits)])]
    marking = [("While marking evidence", keymap.MARKING)] if groups == keymap.GROUPS else []
    for heading, group in [*groups, *marking]:
        sections.append((heading, [(command.shown, command.help) for command in group]))
    parts = []
    for heading, keys in sections:
        lines = [Content.styled(heading, "bold")]
        for key, text in keys:
            lines.append(indent(Content(text), width, by=14, first=Content.styled(f"  {key:<12}", "bold $key")))
        parts.append(Content("\n").join(lines))
    return [Static(Content("\n\n").join(parts), classes="part")]


class Prompt(ModalScreen[str | None]):
    """A question with one line for the answer at the foot of the screen; Esc gives None.

    The document stays in sight, and no judging key fires.
    """

    BINDINGS = [("escape", "dismiss(None)", "leave")]  # noqa: RUF012

    def __init__(self, question: str, value: str = "", *, hint: str = "") -> None:
        super().__init__()
        self._question, self._value, self._hint = question, value, hint

    def compose(self) -> ComposeResult:
        with Horizontal(id="prompt"):
            yield Static(self._question, markup=False, id="question")
            yield Input(self._value, placeholder=self._hint, select_on_focus=False, id="answer")
        yield Static("Enter accepts · Esc cancels", id="prompt-hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


def indent(text: Content, width: int, *, by: int, first: Content | None = None) -> Content:
    """A text wrapped at `width` with every line indented; `first` stands before its first line instead."""
    blank = Content(" " * by)
    spans = wrap(text.plain, max(width - by, 10))
    lines = [blank + text[start:end] for start, end in spans]
    if first is not None:
        lines[:1] = [first + text[start:end] for start, end in spans[:1]]
    return Content("\n").join(lines)
