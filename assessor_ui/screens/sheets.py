"""What lies over the screen: sheets to read (guidelines with scale and topic, all keys), and a line to type in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from assessor_ui import keymap, messages
from assessor_ui.page import cells_of, wrap
from assessor_ui.widgets.document_view import topic_content
from cranfield.base.records import GradeScale, Topic
from cranfield.base.text import visible, visible_line

NARROW = 16
"""Cells of a table's last column below which its cells stand one below the other."""

_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}


class Sheet(ModalScreen[None]):
    """A sheet of paper that scrolls and is put away with Esc, q or the key that brought it."""

    BINDINGS = [  # noqa: RUF012
        ("escape,q,g,question_mark,enter", "dismiss", "close"),
        ("down,j", "scroll(1)", ""),
        ("up,k", "scroll(-1)", ""),
        ("space,pagedown", "scroll(0, 1)", ""),
        ("pageup", "scroll(0, -1)", ""),
        ("home", f"scroll({-keymap.FAR})", ""),
        ("end", f"scroll({keymap.FAR})", ""),
    ]

    def __init__(self, heading: str, parts: Callable[[int], Sequence[Content]]) -> None:
        super().__init__()
        self._heading, self._parts = heading, parts

    def compose(self) -> ComposeResult:
        # The parts are made for the cells that a line of the sheet has.
        with VerticalScroll(id="sheet", can_focus=False) as sheet:
            sheet.border_title = self._heading
            sheet.border_subtitle = "↓↑ Space scroll · Esc closes"
            for part in self._parts(min(self.app.size.width * 9 // 10, 92) - 7):
                yield Static(part, classes="part")

    def action_scroll(self, lines: int, pages: int = 0) -> None:
        """Scroll by lines and pages."""
        sheet = self.query_one("#sheet")
        sheet.scroll_relative(y=lines + pages * max(sheet.size.height - 2, 1), animate=False)


def guidelines_parts(topic: Topic | None, scale: GradeScale, guidelines: str, width: int) -> list[Content]:
    """The topic in full, the scale in full, and the guidelines: the rarest need last."""
    lines = []
    for step in scale.grades:
        counts = " · counts as relevant" if step.grade >= scale.relevant_from else ""
        key = (f" {step.grade} ", "bold $key on $rule")
        lines.append(Content.assemble(key, (f" {visible_line(step.label)}", "bold"), (counts, "$quiet")))
        if step.text.strip():
            lines.append(indent(Content(visible_line(step.text.strip())), width, by=4))
    text = markdown_content(visible(guidelines.strip()) or messages.NO_GUIDELINES, width)
    return [*([topic_content(topic)] if topic else []), Content("\n").join(lines), text]


def keys_parts(groups: keymap.Groups, width: int) -> list[Content]:
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
    return [Content("\n\n").join(parts)]


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
    return Content("\n").join(_behind(_wrapped(text, width - by), blank if first is None else first, by))


# Markdown as styled lines of a given width: the guidelines, drawn at once as one text.


def markdown_content(text: str, width: int) -> Content:
    """A text in Markdown as it is shown, no line wider than `width`."""
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return Content("\n").join(_blocks(SyntaxTreeNode(parsed), width))


def _wrapped(text: Content, width: int) -> list[Content]:
    return [text[start:end] for start, end in wrap(text.plain, max(width, 10))]


def _behind(lines: Sequence[Content], first: Content, by: int) -> Iterator[Content]:
    """Put `first` before the first line, and blanks before the others."""
    for number, line in enumerate(lines):
        yield (Content(" " * by) if number else first) + line


def _blocks(node: SyntaxTreeNode, width: int, *, tight: bool = False) -> list[Content]:
    """The lines of all blocks in a node, with an empty line between two."""
    lines: list[Content] = []
    for block in node.children:
        if lines and not tight:
            lines.append(Content(""))
        match block.type:
            case "heading":
                lines += _wrapped(_inline(block).stylize("bold $key"), width)
            case "bullet_list" | "ordered_list":
                lines += _list(block, width)
            case "blockquote":
                lines += [Content.styled("│ ", "$rule") + line for line in _blocks(block, width - 2)]
            case "table":
                lines += _table(block, width)
            case "hr":
                lines.append(Content.styled("─" * width, "$rule"))
            case "fence" | "code_block":
                code = Content.styled(block.content.rstrip("\n"), "$soft")
                lines += _behind(_wrapped(code, width - 2), Content("  "), 2)
            case "html_block":
                lines += _wrapped(Content(block.content.rstrip("\n")), width)
            case _:
                lines += _wrapped(_inline(block), width)
    return lines


def _list(node: SyntaxTreeNode, width: int) -> list[Content]:
    begin = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    lines: list[Content] = []
    tight = all(block.hidden for item in node.children for block in item.children if block.type == "paragraph")
    for number, item in enumerate(node.children):
        if lines and not tight:
            lines.append(Content(""))
        sign = "• " if begin is None else f"{begin + number}. "
        inside = _blocks(item, width - len(sign), tight=tight) or [Content("")]
        lines += _behind(inside, Content.styled(sign, "$key"), len(sign))
    return lines


def _table(node: SyntaxTreeNode, width: int) -> list[Content]:
    """A table: the last column takes the room that is left and wraps there."""
    rows = [[_inline(cell) for cell in row.children] for part in node.children for row in part.children]
    columns = [
        max(cells_of(cell.plain) for cell in column) for column in zip(*(row[:-1] for row in rows), strict=True)
    ]
    rest = width - sum(columns) - 2 * len(columns)
    lines: list[Content] = []
    for number, row in enumerate(rows):
        look = "$quiet" if not number else ""
        if rest < NARROW:
            lines += [line.stylize(look) for cell in row for line in _wrapped(cell, width)]
            continue
        pads = [
            cell + Content(" " * (room - cells_of(cell.plain) + 2)) for cell, room in zip(row, columns, strict=False)
        ]
        behind = _behind(_wrapped(row[-1], rest), Content("").join(pads), width - rest)
        lines += [line.stylize(look) for line in behind]
    return lines


def _inline(node: SyntaxTreeNode) -> Content:
    """The words of a paragraph, a heading or a cell with their looks."""
    words = Content("")
    for piece in node.children:
        match piece.type:
            case "softbreak":
                words += Content(" ")
            case "hardbreak":
                words += Content("\n")
            case "code_inline":
                words += Content.styled(piece.content, "$soft")
            case "link":
                name, address = _inline(piece), str(piece.attrs.get("href", ""))
                words += name if name.plain == address else name + Content.styled(f" ({address})", "$quiet")
            case kind if kind in _STYLES:
                words += _inline(piece).stylize(_STYLES[kind])
            case _:
                words += _inline(piece) if piece.children else Content(piece.content)
    return words
