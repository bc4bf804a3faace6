"""The document, wrapped to the width at hand, with its hits, marks and the way that is left."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from rich.cells import split_graphemes
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from assessor_ui.page import WEIGHTS, Span, index_at, wrap
from assessor_ui.reader import Reading
from cranfield.base.records import Topic
from cranfield.base.text import visible, visible_line

LONGEST_LINE = 96
"""Cells of the longest line: longer ones are hard to follow, however wide the terminal is."""

LOW = 14
"""A view with fewer lines does without the empty line above the text."""

Layers = list[tuple[str, Sequence[Span]]]


class DocumentView(ScrollView, can_focus=False):
    """A page that scrolls. It is drawn line by line: showing another document builds nothing anew."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "page--title",
        "page--facts",
        "page--title-hit",
        "page--description-hit",
        "page--own-hit",
        "page--evidence",
        "page--look",
        "page--mark",
    }

    @dataclass
    class Dragged(Message):
        """A span was drawn with the mouse."""

        span: Span

    def __init__(self) -> None:
        super().__init__()
        self._reading: Reading | None = None
        self._others_evidence: Sequence[Span] = ()
        self._text = ""
        self._lines: list[Span] = []
        self._layers: Layers = []
        self._pressed: int | None = None
        self.watch(self, "scroll_y", self._tell_the_rest, init=False)

    def show(self, what: Reading | str, *, others_evidence: Sequence[Span] = ()) -> None:
        """Show another document from its top or from the hit that is looked at; or a sentence instead of one."""
        self._reading = None if isinstance(what, str) else what
        self._text = what if isinstance(what, str) else what.page.text
        self._others_evidence = others_evidence
        self._wrap()
        self.scroll_to(y=0, animate=False, immediate=True)
        self.look()

    def look(self) -> None:
        """Show hits and marks as they are now, and bring what is looked at into sight."""
        reading, height, span, self._layers = self._reading, self.scrollable_content_region.height, None, []
        if reading is not None:
            if reading.page.text is not self._text:
                self._text = reading.page.text
                self.on_resize()
            page, current, marker = reading.page, reading.current, reading.marker
            span = marker.span if marker else current
            facts_start = page.title_end + 1 if page.title_end else 0
            self._layers = [  # the lowest first
                ("evidence", self._others_evidence),
                ("title", [(0, page.title_end)]),
                ("facts", [(facts_start, page.body_start)]),
                ("evidence", reading.marked),
            ]
            for source in WEIGHTS:
                hits = [(hit.start, hit.end) for hit in reading.hits if hit.term.source == source]
                self._layers.append((f"{source}-hit", hits))
            self._layers += [
                ("own-hit", reading.found),
                ("look", [current] if current is not None and current in reading.stations else []),
                ("mark", [marker.span] if marker else []),
            ]
        if span is not None:
            first, last = index_at(self._lines, span[0]), index_at(self._lines, max(span[1] - 1, span[0]))
            if first < self.scroll_offset.y or last >= self.scroll_offset.y + height:
                self.scroll_to(y=max(first - height // 3, 0), animate=False, immediate=True)
        self._tell_the_rest()
        self.refresh()

    @property
    def top_position(self) -> int:
        """The character of the page that the first line in sight begins with."""
        line = min(self.scroll_offset.y, len(self._lines) - 1)
        return self._lines[line][0] if self._lines else 0

    def render_line(self, y: int) -> Strip:
        """Draw one line, cut where its look changes; a higher layer is drawn over a lower one."""
        number, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if number >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line_start, line_end = self._lines[number]
        covering: list[tuple[str, Span]] = []
        for name, spans in self._layers:
            # The spans of a layer are in order and do not overlap.
            first = bisect_right(spans, line_start, key=lambda span: span[1])
            last = bisect_right(spans, line_end - 1, key=lambda span: span[0])
            covering += [(name, span) for span in spans[first:last]]
        edges = {line_start, line_end}
        for _, (start, end) in covering:
            edges |= {max(start, line_start), min(end, line_end)}
        segments = []
        for start, end in pairwise(sorted(edges)):
            style = self.rich_style
            for name, span in covering:
                if span[0] <= start and end <= span[1]:
                    style += self.get_component_rich_style(f"page--{name}", partial=True)
            segments.append(Segment(self._text[start:end], style))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def on_resize(self) -> None:
        """Wrap anew; the same words stay in sight."""
        position = self.top_position
        self._wrap()
        if self._lines and position:
            self.scroll_to(y=index_at(self._lines, position), animate=False, immediate=True)
        self._tell_the_rest()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start to draw a span."""
        self._pressed = self._position_at(event.x, event.y)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End to draw a span; a mere click draws none."""
        released = self._position_at(event.x, event.y)
        pressed, self._pressed = self._pressed, None
        if self._reading is not None and pressed is not None and released is not None and pressed != released:
            self.post_message(self.Dragged((min(pressed, released), max(pressed, released) + 1)))

    def _wrap(self) -> None:
        width = min(self.scrollable_content_region.width, LONGEST_LINE)
        lines = wrap(self._text, width) if width > 0 else []
        if self._reading is not None and self.scrollable_content_region.height < LOW:
            lines = [line for line in lines if line[0] != self._reading.page.body_start - 1]
        self._lines = lines
        self.virtual_size = Size(width, len(self._lines))

    def _tell_the_rest(self) -> None:
        height = self.scrollable_content_region.height
        below = len(self._lines) - self.scroll_offset.y - height
        if len(self._lines) <= height or not self._reading:
            self.border_subtitle = ""
        elif below <= 0:
            self.border_subtitle = "end"
        else:
            read = 100 * (self.scroll_offset.y + height) // len(self._lines)
            self.border_subtitle = f"{read}% · {below} more line{'s' if below > 1 else ''} ↓ Space"

    def _position_at(self, x: int, y: int) -> int | None:
        gutter = self.gutter
        number = y - gutter.top + self.scroll_offset.y
        if not 0 <= number < len(self._lines):
            return None
        (start, end), column = self._lines[number], x - gutter.left
        for offset, _, cells in split_graphemes(self._text[start:end])[0]:
            if column < cells:
                return start + offset
            column -= cells
        return max(end - 1, start)


# The topic, always in sight.

CORNER, FOOT = "┘", "┴"


class TopicPanel(VerticalScroll, can_focus=False):
    """Title, description and narrative; folded to less of it on request."""

    ALLOW_SELECT = False

    _now: tuple[Topic | None, str, bool] = (None, "", False)

    def compose(self) -> ComposeResult:
        self.watch(self, "scroll_y", self._tell_the_rest, init=False)
        yield Static(classes="topic")

    def show(self, topic: Topic | None, fold: str) -> None:
        """Show a topic; the same one again costs nothing."""
        airy = self.screen.has_class("-wide")
        if (topic, fold, airy) == self._now:
            return
        self._now = (topic, fold, airy)
        self.query_one(Static).update(topic_content(topic, fold, airy=airy) if topic else "")
        self.scroll_home(animate=False)
        self.call_after_refresh(self._tell_the_rest)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the lines; beside the document the frame's corner is the foot of the line between the two."""
        strips = []
        for strip in super().render_lines(crop):
            *others, last = list(strip) or [Segment("")]
            if last.text.endswith(CORNER):
                strip = Strip([*others, Segment(last.text[:-1] + FOOT, last.style)], strip.cell_length)
            strips.append(strip)
        return strips

    def on_resize(self) -> None:
        """Say whether there is more below."""
        self.call_after_refresh(self._tell_the_rest)

    def _tell_the_rest(self) -> None:
        more = self.max_scroll_y > round(self.scroll_y)
        self.border_subtitle = "] more" if more else ""


def topic_content(topic: Topic, fold: str = "full", *, airy: bool = True) -> Content:
    parts = [Content.assemble((visible_line(topic.title), "bold $hit"), (f"  {visible_line(topic.id)}", "$quiet"))]
    if fold != "title" and topic.description.strip():
        parts.append(Content(visible(topic.description.strip())))
    if fold == "full" and topic.narrative.strip():
        parts.append(Content.styled(visible(topic.narrative.strip()), "$soft"))
    return Content("\n\n" if airy else "\n").join(parts)
