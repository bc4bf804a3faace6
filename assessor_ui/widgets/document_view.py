"""The document, wrapped to the width at hand, with its hits, marks and the way that is left."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from assessor_ui.page import Span, index_at, unbroken, wrap
from assessor_ui.reader import Reading
from cranfield.base.records import Topic
from cranfield.base.text import visible, visible_line

LONGEST_LINE = 96
"""Cells of the longest line: longer ones are hard to follow, however wide the terminal is."""

Layers = list[tuple[str, Sequence[Span]]]


class DocumentView(ScrollView, can_focus=False):
    """A page that scrolls. It is drawn line by line: showing another document builds nothing anew."""

    ALLOW_SELECT = False
    _LAYERS = ("title", "facts", "title-hit", "description-hit", "found", "evidence", "look", "mark")
    COMPONENT_CLASSES: ClassVar[set[str]] = set(map("page--{}".format, _LAYERS))

    def __init__(self) -> None:
        super().__init__()
        self._reading = Reading()
        self._text = self._drawn = ""
        self._lines: list[Span] = []
        self._layers: Layers = []
        self.watch(self, "scroll_y", self._tell_the_rest, init=False)

    def show(self, reading: Reading) -> None:
        """Show another document from its top or from the hit that is looked at."""
        self._reading, self._text = reading, reading.page.text
        self._wrap()
        self.scroll_to(y=0, animate=False, immediate=True)
        self.look()

    def look(self) -> None:
        """Show hits and marks as they are now, and bring what is looked at into sight."""
        reading, height = self._reading, self.scrollable_content_region.height
        page, current, marker = reading.page, reading.current, reading.marker
        if page.text is not self._text:
            self._text = page.text
            self.on_resize()
        facts_start = page.title_end + 1 if page.title_end else 0
        self._layers = [  # the lowest first
            *(("evidence", spans) for spans in reading.others),
            ("title", [(0, page.title_end)]),
            ("facts", [(facts_start, page.body_start)]),
            ("evidence", reading.marked),
            ("title-hit", reading.title_hits),
            ("description-hit", reading.description_hits),
            ("found", reading.found),
            ("look", [current] if current is not None and current in reading.stations else []),
            ("mark", [marker.span] if marker else []),
        ]
        if (span := marker.span if marker else current) is not None:
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
            segments.append(Segment(self._drawn[start:end], style))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def on_resize(self) -> None:
        """Wrap anew; the same words stay in sight."""
        position = self.top_position
        self._wrap()
        if self._lines and position:
            self.scroll_to(y=index_at(self._lines, position), animate=False, immediate=True)
        self._tell_the_rest()

    def _wrap(self) -> None:
        width = min(self.scrollable_content_region.width, LONGEST_LINE)
        start = self._reading.page.body_start
        self._drawn = self._text[:start] + unbroken(self._text[start:], width)
        self._lines = wrap(self._drawn, width) if width > 0 else []
        self.virtual_size = Size(width, len(self._lines))

    def _tell_the_rest(self) -> None:
        height = self.scrollable_content_region.height
        below = len(self._lines) - self.scroll_offset.y - height
        if len(self._lines) <= height:
            self.border_subtitle = ""
        elif below <= 0:
            self.border_subtitle = "end"
        else:
            read = 100 * (self.scroll_offset.y + height) // len(self._lines)
            self.border_subtitle = f"{read}% · {below} more line{'s' if below > 1 else ''} ↓ Space"


# The topic, always in sight.


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
