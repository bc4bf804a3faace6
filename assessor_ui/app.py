"""The interface as a terminal program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import Theme

from assessor_ui import messages
from assessor_ui.screens.judge import HELD, SEEN, JudgeScreen
from assessor_ui.screens.lists import Chooser
from assessor_ui.session import Session

TICK_SECONDS = 20.0
PATIENCE_SECONDS = 0.4
"""How long the collection may take before the assessor is told that it is waiting."""

DARK, LIGHT = "cranfield-dark", "cranfield-light"

_COLOURS = {
    "primary": ("#8cb8e8", "#1f5a9e"),
    "foreground": ("#dadcdf", "#26282c"),
    "background": ("#1b1e23", "#fbf9f4"),
    "quiet": ("#969da8", "#646a73"),
    "soft": ("#bfc4cb", "#43474e"),
    "rule": ("#3a4049", "#cfcbc2"),
    "bar": ("#242830", "#efede7"),
    "hit": ("#eac784", "#8a4b00"),
    "weak-hit": ("#b4c9b0", "#3c6640"),
    "found": ("#d3b3ea", "#7a3e9d"),
    "look": ("#1b1e23", "#fffdf8"),
    "look-background": ("#eac784", "#8a4b00"),
    "evidence-background": ("#2e4a3a", "#d5ead6"),
    "mark-background": ("#3f5f8a", "#cbdcf2"),
    "saved": ("#9bd6a6", "#1f6b32"),
    "trouble": ("#ff9f97", "#a3231b"),
    "key": ("#8cb8e8", "#1f5a9e"),
    "block-cursor-background": ("#2f4258", "#d3e0f0"),
    "block-cursor-foreground": ("#e8eaed", "#1d1f22"),
    "block-cursor-text-style": ("bold", "bold"),
    "block-cursor-blurred-background": ("#2f4258", "#d3e0f0"),
    "block-cursor-blurred-foreground": ("#e8eaed", "#1d1f22"),
}
"""Two calm palettes, dark and light; the block cursor is the line of a list that the cursor is on."""


def themes() -> list[Theme]:
    """The dark and the light theme."""
    made = []
    for place, name in enumerate((DARK, LIGHT)):
        colours = {key: both[place] for key, both in _COLOURS.items()}
        primary, foreground, background = (colours.pop(key) for key in ("primary", "foreground", "background"))
        made.append(
            Theme(
                name,
                primary=primary,
                accent=primary,
                foreground=foreground,
                background=background,
                surface=background,
                panel=colours["bar"],
                dark=name == DARK,
                variables=colours,
            )
        )
    return made


def theme_named(wish: str) -> str:
    """The theme for `dark`, `light` or `auto`; auto is light where the terminal says that it is (COLORFGBG)."""
    if wish in ("dark", "light"):
        return DARK if wish == "dark" else LIGHT
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in ("7", "15") else DARK


Answer = TypeVar("Answer")


class AssessorApp(App[int]):
    """A program around one session, which acts in one thread, one call after the other, so that nothing freezes."""

    TITLE = "Cranfield"
    CSS_PATH = "interface.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "leave", "quit", priority=True)]

    def __init__(self, session: Session, *, theme: str = "auto", held: float = HELD, seen: float = SEEN) -> None:
        super().__init__()
        self.session, self.reading = session, JudgeScreen(session)
        self.held, self.seen = held, seen
        self.animation_level = "none"
        for known in themes():
            self.register_theme(known)
        self.theme = theme_named(theme)
        self._turn, self._answering = asyncio.Lock(), False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="judging")

    def get_default_screen(self) -> Screen[None]:
        return self.reading

    def on_mount(self) -> None:
        """Start the clock for leases."""
        self.set_interval(TICK_SECONDS, self._tick)

    @work(group="judging")
    async def _tick(self) -> None:
        if (notice := await self.ask(self.session.tick)) is not None:
            self.reading.show_notice(notice)

    async def ask(self, call: Callable[[], Answer]) -> Answer:
        """Ask the session, after whoever asked before; say so where it takes long."""
        async with self._turn:
            waiting = self.set_timer(PATIENCE_SECONDS, self._say_waiting)
            try:
                return await asyncio.get_running_loop().run_in_executor(self._thread, call)
            finally:
                waiting.stop()
                if self.session.ended.text:
                    self.exit(1)

    def _say_waiting(self) -> None:
        if isinstance(self.screen, JudgeScreen | Chooser):
            self.screen.show_notice(messages.WAITING[self.session.doing])

    @work(group="judging")
    async def perform(self, action: Callable[[], object], *, answers: bool = False) -> None:
        """Let the session do something, then show how things stand.

        While something that answers is on its way no other is taken: its document was not yet seen.
        """
        if answers and self._answering:
            self.reading.show_notice(messages.STILL_BUSY)
            return
        self._answering = self._answering or answers
        try:
            await self.ask(action)
            self.reading.refresh_all()
        finally:
            self._answering = self._answering and not answers

    def do_theme(self) -> None:
        self.theme = LIGHT if self.theme == DARK else DARK

    @work(group="judging")
    async def do_leave(self) -> None:
        """End the session."""
        await self.ask(self.session.leave)
        self.exit(0)

    action_leave = do_leave
