"""A chair to sit in for a test: the program without a terminal, its keys, and what stands on its screen."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path

from fakes import FakeAdjudication, FakeJudging
from kept import Kept
from textual.app import App
from textual.events import Key
from textual.pilot import Pilot

from assessor_ui.app import AssessorApp
from assessor_ui.screens.sheets import TopicCard
from assessor_ui.session import Session

GOLDEN = Path(__file__).parent / "golden"


class Chair:
    """A program that runs, driven by keys."""

    def __init__(self, pilot: Pilot[int], judging: FakeJudging | FakeAdjudication) -> None:
        self.pilot, self.app, self.judging = pilot, pilot.app, judging

    async def settle(self) -> None:
        """Wait until everything that was asked is done and drawn."""
        await self.pilot.pause()
        while any(not worker.is_finished for worker in self.app.workers):
            await self.app.workers.wait_for_complete()
            await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        """Press keys, each after the one before has been dealt with; another topic is passed with Enter before it."""
        for key in keys:
            if isinstance(self.app.screen, TopicCard):
                await self.press_on_card("enter")
            await self.pilot.press(key)
            await self.settle()

    async def press_on_card(self, key: str) -> None:
        """Press a key where another topic is shown."""
        await self.pilot.press(key)
        await self.settle()

    async def type(self, text: str) -> None:
        """Type a text, faster than anybody can."""
        for letter in text:
            event = Key("space" if letter == " " else letter, letter)
            event.set_sender(self.app)
            self.app._driver.send_message(event)  # type: ignore[union-attr]
        await self.settle()

    @property
    def rows(self) -> list[str]:
        """The lines on the screen."""
        return rows_of(self.app)

    @property
    def text(self) -> str:
        """All that is on the screen."""
        return "\n".join(self.rows)

    @property
    def session(self) -> Session:
        """The state machine below."""
        assert isinstance(self.app, AssessorApp)
        return self.app.session


def seated(
    *,
    size: tuple[int, int] = (80, 24),
    theme: str = "dark",
    judging: Callable[[], FakeJudging | FakeAdjudication] = FakeJudging,
    held: float = 0.0,
    seen: float = 0.0,
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Make a test of something that happens in the chair; it may take `kept` too."""

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        def alone() -> None:
            asyncio.run(sit())

        def keeping(kept: Kept) -> None:
            asyncio.run(sit(kept))

        async def sit(*more: Kept) -> None:
            made = judging()
            app = AssessorApp(Session(made), theme=theme, held=held, seen=seen)
            async with app.run_test(size=size) as pilot:
                chair = Chair(pilot, made)
                await chair.settle()
                await test(chair, *more)

        wrapped = functools.wraps(test)(keeping if "kept" in test.__annotations__ else alone)
        del wrapped.__wrapped__  # pytest would look for a fixture called chair
        return wrapped

    return decorate


def rows_of(app: App[int]) -> list[str]:
    """Give the lines on the screen, without the blanks at their ends."""
    return ["".join(segment.text for segment in strip).rstrip() for strip in app.screen._compositor.render_strips()]


def looks_of(app: App[int]) -> list[str]:
    """Give the look of each line: where it changes, and into what."""
    looks = []
    for number, strip in enumerate(app.screen._compositor.render_strips()):
        column, runs = 0, []
        for segment in strip:
            if segment.text.strip():
                runs.append((column, segment.text.strip()[:12], str(segment.style)))
            column += segment.cell_length
        looks += [f"{number:>2} {column:>3} {text!r:<16} {style}" for column, text, style in runs]
    return looks


def picture_of(app: App[int]) -> str:
    """Give the screen as text, with its looks below."""
    return "\n".join([*rows_of(app), "=" * 20, *looks_of(app)]) + "\n"
