"""The topic, always in sight."""

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import Static

from cranfield.records import Topic
from cranfield.text import visible, visible_line

CORNER, FOOT = "┘", "┴"


class TopicPanel(VerticalScroll, can_focus=False):
    """Title, description and narrative; folded to less of it on request."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._now: tuple[Topic | None, str, bool] = (None, "", False)

    def compose(self) -> ComposeResult:
        """Make the one text it consists of."""
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
        return [_with_foot(strip) for strip in super().render_lines(crop)]

    def on_resize(self) -> None:
        """Say whether there is more below."""
        self.call_after_refresh(self._tell_the_rest)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say whether there is more below."""
        super().watch_scroll_y(old_value, new_value)
        self._tell_the_rest()

    def _tell_the_rest(self) -> None:
        more = self.max_scroll_y > round(self.scroll_y)
        self.border_subtitle = "] more" if more else ""


def topic_content(topic: Topic, fold: str = "full", *, airy: bool = True) -> Content:
    """Give a topic as it is shown."""
    parts = [Content.assemble((visible_line(topic.title), "bold $hit"), (f"  {visible_line(topic.id)}", "$quiet"))]
    if fold != "title" and topic.description.strip():
        parts.append(Content(visible(topic.description.strip())))
    if fold == "full" and topic.narrative.strip():
        parts.append(Content.styled(visible(topic.narrative.strip()), "$soft"))
    return Content("\n\n" if airy else "\n").join(parts)


def _with_foot(strip: Strip) -> Strip:
    *others, last = list(strip) or [Segment("")]
    if not last.text.endswith(CORNER):
        return strip
    return Strip([*others, Segment(last.text[:-1] + FOOT, last.style)], strip.cell_length)
