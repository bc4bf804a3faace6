"""The chair as a terminal program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import Theme

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.reader import Reader
from assessor_ui.screens.judge import JudgeScreen
from assessor_ui.screens.reading import HELD, SEEN, ChairScreen, ReadingScreen
from assessor_ui.session import BREAK_AFTER_MINUTES, Session
from cranfield.judge.session import Desk

# Two calm palettes, light and dark, and which one a terminal asks for.

DARK, LIGHT = "cranfield-dark", "cranfield-light"

_DARK = {
    "quiet": "#969da8",
    "soft": "#bfc4cb",
    "rule": "#3a4049",
    "bar": "#242830",
    "hit": "#eac784",
    "weak-hit": "#b4c9b0",
    "own-hit": "#d3b3ea",
    "look": "#1b1e23",
    "look-background": "#eac784",
    "evidence-background": "#2e4a3a",
    "mark-background": "#3f5f8a",
    "saved": "#9bd6a6",
    "trouble": "#ff9f97",
    "key": "#8cb8e8",
}
_LIGHT = {
    "quiet": "#646a73",
    "soft": "#43474e",
    "rule": "#cfcbc2",
    "bar": "#efede7",
    "hit": "#8a4b00",
    "weak-hit": "#3c6640",
    "own-hit": "#7a3e9d",
    "look": "#fffdf8",
    "look-background": "#8a4b00",
    "evidence-background": "#d5ead6",
    "mark-background": "#cbdcf2",
    "saved": "#1f6b32",
    "trouble": "#a3231b",
    "key": "#1f5a9e",
}


def themes() -> tuple[Theme, Theme]:
    """Give the dark and the light theme."""
    return (
        Theme(
            DARK,
            primary="#8cb8e8",
            accent="#8cb8e8",
            foreground="#dadcdf",
            background="#1b1e23",
            surface="#1b1e23",
            panel="#242830",
            dark=True,
            variables=_DARK | _block("#2f4258", "#e8eaed"),
        ),
        Theme(
            LIGHT,
            primary="#1f5a9e",
            accent="#1f5a9e",
            foreground="#26282c",
            background="#fbf9f4",
            surface="#fbf9f4",
            panel="#efede7",
            dark=False,
            variables=_LIGHT | _block("#d3e0f0", "#1d1f22"),
        ),
    )


def _block(background: str, foreground: str) -> dict[str, str]:
    """Give the look of the line the cursor is on."""
    return {
        "block-cursor-background": background,
        "block-cursor-foreground": foreground,
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": background,
        "block-cursor-blurred-foreground": foreground,
    }


def palette() -> dict[str, str]:
    """Give the colours that the styles name, as the dark theme has them."""
    return dict(_DARK)


def theme_named(wish: str, environment: Mapping[str, str] | None = None) -> str:
    """Give the theme for `dark`, `light` or `auto`; auto is light where the terminal says that it is (COLORFGBG)."""
    if wish in ("dark", "light"):
        return DARK if wish == "dark" else LIGHT
    background = (os.environ if environment is None else environment).get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in ("7", "15") else DARK


Asked = TypeVar("Asked")

TICK_SECONDS = 20.0
PATIENCE_SECONDS = 0.4
"""How long the desk may take before the assessor is told that it is waiting."""


class ReaderApp(App[int]):
    """A program around one reader. The desk is asked in one thread, one call after the other, so nothing freezes."""

    TITLE = "Cranfield"
    CSS_PATH = "chair.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "leave", "quit", priority=True)]

    def __init__(
        self,
        reader: Reader,
        screen: ReadingScreen,
        *,
        theme: str = "auto",
        held: float = HELD,
        seen: float = SEEN,
    ) -> None:
        super().__init__()
        self._reader, self._reading = reader, screen
        self.held, self.seen = held, seen
        self.animation_level = "none"
        for known in themes():
            self.register_theme(known)
        self.theme = theme_named(theme)
        self._turn, self._answering = asyncio.Lock(), False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="desk")

    def get_default_screen(self) -> Screen[None]:
        """Give the screen with topic and document."""
        return self._reading

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give the colours that the styles name."""
        return palette()

    async def ask(self, call: Callable[[], Asked]) -> Asked:
        """Ask the desk, after whoever asked before; say so where it takes long."""
        async with self._turn:
            waiting = self.set_timer(PATIENCE_SECONDS, self._say_waiting)
            try:
                return await asyncio.get_running_loop().run_in_executor(self._thread, call)
            finally:
                waiting.stop()

    def perform(self, action: Callable[[], object]) -> None:
        """Let the reader do something, then show how things stand."""
        self.run_worker(self._perform(action), group="desk")

    async def _perform(self, action: Callable[[], object]) -> None:
        await self.ask(action)
        self.show_all()

    def answer(self, action: Callable[[], object]) -> None:
        """Let the reader answer. While an answer is on its way no other is taken: its document was not yet seen."""
        if self._answering:
            saving = self._reader.doing == "saving"
            self.show_notice(messages.STILL_SAVING if saving else messages.STILL_OPENING)
            return
        self._answering = True
        self.run_worker(self._answer(action), group="desk")

    async def _answer(self, action: Callable[[], object]) -> None:
        try:
            await self._perform(action)
        finally:
            self._answering = False

    def show_all(self) -> None:
        """Show how things stand."""
        self._reading.refresh_all()

    def show_notice(self, notice: Notice) -> None:
        """Show a notice below the document."""
        self._reading.show_notice(notice)

    def _say_waiting(self) -> None:
        if isinstance(self.screen, ChairScreen):
            self.screen.show_notice(messages.waiting_for(self._reader.doing))

    def switch_theme(self) -> None:
        """Change between dark and light."""
        self.theme = LIGHT if self.theme == DARK else DARK

    def leave(self) -> None:
        """End the sitting."""
        self.run_worker(self._leave(), group="desk")

    def action_leave(self) -> None:
        """End the sitting."""
        self.leave()

    async def _leave(self) -> None:
        await self.ask(self._reader.leave)
        self.exit(0)


class ChairApp(ReaderApp):
    """One assessor's sitting."""

    def __init__(self, session: Session, *, theme: str = "auto", held: float = HELD, seen: float = SEEN) -> None:
        super().__init__(session, JudgeScreen(session), theme=theme, held=held, seen=seen)
        self.session = session

    def on_mount(self) -> None:
        """Start the clock for leases and breaks."""
        self.set_interval(TICK_SECONDS, lambda: self.run_worker(self._tick(), group="desk"))

    async def _tick(self) -> None:
        notice: Notice | None = await self.ask(self.session.tick)
        if notice is not None:
            self.show_notice(notice)


def run(
    desk: Desk,
    *,
    break_after_minutes: int | None = BREAK_AFTER_MINUTES,
    theme: str = "auto",
    language: str = "english",
) -> int:
    """Let an assessor judge; give the exit status. `theme` is dark, light or auto; `language` that of the stemmer."""
    session = Session(desk, break_after_minutes=break_after_minutes, language=language)
    app = ChairApp(session, theme=theme)
    status = app.run()
    if status is None:
        session.leave()
    return app.return_code or status or 0
