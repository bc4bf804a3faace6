"""The judging screen: topic, document, scale, and what was just saved."""

from __future__ import annotations

from textual import events

from assessor_ui import keymap, messages
from assessor_ui.reader import Move
from assessor_ui.screens.lists import HistoryScreen, SearchScreen, TopicsScreen
from assessor_ui.screens.reading import ReadingScreen, table_of_keys
from assessor_ui.session import Session
from assessor_ui.widgets.bars import StatusLine
from assessor_ui.widgets.document_view import DocumentView


class JudgeScreen(ReadingScreen):
    """One document, one topic, one key."""

    session: Session

    def __init__(self, session: Session) -> None:
        super().__init__(session, keymap.GROUPS)
        self._marking_keys = table_of_keys(keymap.MARKING)

    def refresh_all(self) -> None:
        """Show the state of the session."""
        item, done = self.session.item, self.session.progress
        share = (max(item.of - item.to_do, 0), item.of) if item else None
        self.query_one(StatusLine).show(messages.left(item, done), share, done)
        if item is not None and not self.has_class("-wide"):
            self.session.fold_if_crowded(item, lines=self.query_one(DocumentView).scrollable_content_region.height)
        super().refresh_all()

    @property
    def nothing(self) -> tuple[str, str]:
        """What to say where there is no document."""
        nothing = self.session.nothing
        return nothing, messages.what_now(nothing, messages.ALL_DONE_MORE, " · ")

    @property
    def before(self) -> int | None:
        """The assessor's own earlier grade; one of an older scale has no place on this one."""
        item = self.session.item
        return item.before.grade if item and item.before and item.before.scale is None else None

    def handle_first(self, event: events.Key) -> bool:
        """While a span is being marked, keys move the mark, and no digit judges."""
        if self.session.reading is None or self.session.reading.marker is None:
            return False
        action = self._marking_keys.get(event.key)
        if action is not None:
            self.call_next(self.run_action, action)
        return True

    def on_document_view_dragged(self, message: DocumentView.Dragged) -> None:
        """Mark what was drawn with the mouse."""
        self.chair.perform(lambda: self.session.drag_mark(message.span))

    def action_cannot(self) -> None:
        """Ask why the document cannot be judged."""
        self.ask("Cannot judge, because", self.session.cannot, hint="the language, broken text, …")

    # Evidence

    def action_mark(self) -> None:
        """Start marking at the top of what is in sight."""
        position = self.query_one(DocumentView).top_position
        self.chair.perform(lambda: self.session.begin_mark(position))

    def action_mark_move(self, move: Move) -> None:
        """Move or trim the mark."""
        self.chair.perform(lambda: self.session.move_mark(move))

    def action_mark_keep(self) -> None:
        """Keep the mark as evidence."""
        self.chair.perform(self.session.keep_mark)

    def action_mark_drop(self) -> None:
        """Take the mark away."""
        self.chair.perform(self.session.drop_mark)

    def action_mark_leave(self) -> None:
        """Leave the evidence as it is."""
        self.chair.perform(self.session.leave_mark)

    # Places

    def action_topics(self) -> None:
        """Show all topics."""
        self.app.push_screen(TopicsScreen(self.session))

    def action_history(self) -> None:
        """Show the assessor's own answers."""
        self.app.push_screen(HistoryScreen(self.session))

    def action_search(self) -> None:
        """Search the collection."""
        self.app.push_screen(SearchScreen(self.session))

    def action_back(self) -> None:
        """Leave a document that was opened out of turn."""
        self.chair.perform(self.session.back)

    def action_reminder(self) -> None:
        """Turn break reminders off, or on."""
        self.chair.perform(self.session.switch_reminder)
