"""Screens that are only read: the guidelines with scale and topic, and all keys."""

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from assessor_ui import keymap, messages
from assessor_ui.markdown import markdown_content
from assessor_ui.screens.base import indented
from assessor_ui.widgets.topic_panel import topic_content
from cranfield.records import GradeScale, Topic
from cranfield.text import visible, visible_line


class Sheet(ModalScreen[None]):
    """A sheet of paper that scrolls and is put away with Esc, q or the key that brought it."""

    BINDINGS = [  # noqa: RUF012
        ("escape,q,g,question_mark,enter", "dismiss", "close"),
        ("down,j", "scroll(1)", ""),
        ("up,k", "scroll(-1)", ""),
        ("space,pagedown", "page(1)", ""),
        ("pageup", "page(-1)", ""),
        ("home", "edge(0)", ""),
        ("end", "edge(1)", ""),
    ]

    def compose(self) -> ComposeResult:
        """Make the sheet."""
        with VerticalScroll(id="sheet", can_focus=False) as sheet:
            sheet.border_title = self.heading
            sheet.border_subtitle = "↓↑ Space scroll · Esc closes"
            yield from self.matter()

    @property
    def heading(self) -> str:
        """What stands in the frame."""
        raise TypeError("a sheet has a heading")

    def matter(self) -> ComposeResult:
        """Give what is on the sheet."""
        raise TypeError("a sheet has something on it")

    @property
    def width(self) -> int:
        """The cells a line of the sheet has."""
        return min(self.app.size.width * 9 // 10, 92) - 7

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one("#sheet").scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        """Scroll by pages."""
        sheet = self.query_one("#sheet")
        sheet.scroll_relative(y=pages * max(sheet.size.height - 2, 1), animate=False)

    def action_edge(self, end: int) -> None:
        """Go to the top or to the end."""
        sheet = self.query_one("#sheet")
        sheet.scroll_to(y=sheet.max_scroll_y if end else 0, animate=False)


class GuidelinesSheet(Sheet):
    """The topic in full, the scale in full, and the guidelines."""

    def __init__(self, topic: Topic | None, scale: GradeScale, guidelines: str) -> None:
        super().__init__()
        self._topic, self._scale, self._guidelines = topic, scale, guidelines

    @property
    def heading(self) -> str:
        """What stands in the frame."""
        return "Topic, scale and guidelines"

    def matter(self) -> ComposeResult:
        """Give topic, scale and guidelines, the rarest need last."""
        if self._topic is not None:
            yield Static(topic_content(self._topic), classes="part")
        yield Static(scale_content(self._scale, self.width), classes="part")
        text = visible(self._guidelines.strip()) or messages.NO_GUIDELINES
        yield Static(markdown_content(text, self.width), classes="part")


def scale_content(scale: GradeScale, width: int) -> Content:
    """Give the scale with what each grade means, and from where on a document counts as relevant."""
    lines = []
    for step in scale.grades:
        counts = " · counts as relevant" if step.grade >= scale.relevant_from else ""
        key = (f" {step.grade} ", "bold $key on $rule")
        lines.append(Content.assemble(key, (f" {visible_line(step.label)}", "bold"), (counts, "$quiet")))
        if step.text.strip():
            lines.append(indented(Content(visible_line(step.text.strip())), width, indent=4))
    return Content("\n").join(lines)


class KeysSheet(Sheet):
    """All keys."""

    def __init__(self, groups: keymap.Groups) -> None:
        super().__init__()
        self._groups = groups

    @property
    def heading(self) -> str:
        """What stands in the frame."""
        return "All keys"

    def matter(self) -> ComposeResult:
        """Give the keys in their groups."""
        yield Static(Content("\n").join(key_lines(self._groups, self.width)), classes="part")


def key_lines(groups: keymap.Groups, width: int) -> Iterator[Content]:
    """Give a line for each key, under the headings of the groups."""
    yield Content.styled("Judging", "bold")
    yield _key_line("0 1 2 …", "judge with this grade, save, and go on (grades of two digits: then Enter)", width)
    marking = [("While marking evidence", keymap.MARKING)] if groups == keymap.GROUPS else []
    for heading, group in [*groups, *marking]:
        yield Content("")
        yield Content.styled(heading, "bold")
        for command in group:
            yield _key_line(command.shown, command.help, width)


def _key_line(keys: str, text: str, width: int) -> Content:
    return indented(Content(text), width, indent=14, first=Content.styled(f"  {keys:<12}", "bold $key"))
