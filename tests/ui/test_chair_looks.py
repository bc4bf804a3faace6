"""How the chair looks: golden pictures at three sizes, without colour, and with hostile or unusual text.

`CRANFIELD_UPDATE_GOLDEN=1` draws the pictures anew.
"""

import os
import threading
from collections.abc import Sequence

import pytest
from fakes import FakeJudging
from kept import Kept
from seat import GOLDEN, Chair, picture_of, seated
from textual.color import Color

from assessor_ui.app import DARK, LIGHT, theme_named, themes
from cranfield.base.errors import CollectionBusy, CollectionError
from cranfield.base.records import Document, Topic
from cranfield.judge.session import Item, Saved

SIZES = [(60, 20), (80, 24), (140, 40)]
STATES: dict[str, Sequence[str]] = {
    "judged": ("2", "n"),
    "marking": ("v", "down"),
    "evidence": ("v", "enter"),
    "note": ("c", "h", "m"),
    "guidelines": ("g",),
    "keys": ("question_mark",),
    "topics": ("2", "l", "t"),
    "history": ("2", "l", "h"),
    "search": ("2", "s", "p", "a", "n", "enter"),
    "done": ("0", "0", "0", "0"),
}


def compare(name: str, picture: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("CRANFIELD_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture, encoding="utf-8")
    assert picture == path.read_text(encoding="utf-8")


def picture(keys: Sequence[str], size: tuple[int, int], theme: str = "dark") -> str:
    found: list[str] = []

    @seated(size=size, theme=theme)
    async def draw(chair: Chair) -> None:
        await chair.press(*keys)
        found.append(picture_of(chair.app))

    draw()
    return found[0]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_judging_screen_looks_as_drawn(size: tuple[int, int]):
    compare(f"judged-{size[0]}x{size[1]}", picture(STATES["judged"], size))


@pytest.mark.parametrize("state", [state for state in STATES if state != "judged"])
def test_each_state_looks_as_drawn_at_eighty_by_twenty_four(state: str):
    compare(f"{state}-80x24", picture(STATES[state], (80, 24)))


def test_the_light_theme_looks_as_drawn():
    compare("judged-light-80x24", picture(STATES["judged"], (80, 24), "light"))


def test_without_colour_everything_is_grey_and_still_told_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    drawn = picture(("2", "n"), (80, 24))
    compare("judged-no-colour-80x24", drawn)
    looks = [word for line in drawn.partition("=" * 20)[2].splitlines() for word in line.split() if word[:1] == "#"]
    assert looks
    assert all(look[1:3] == look[3:5] == look[5:7] for look in looks)


@pytest.mark.parametrize("theme", themes(), ids=lambda theme: theme.name)
def test_every_text_has_contrast_enough_to_be_read_all_day(theme):
    colours = theme.variables
    pairs = [(theme.foreground, theme.background), (colours["look"], colours["look-background"])]
    pairs += [
        (colours[name], background)
        for name in ("quiet", "soft", "hit", "weak-hit", "found", "saved", "trouble", "key")
        for background in (theme.background, colours["bar"])
    ]
    pairs += [(theme.foreground, colours[name]) for name in ("evidence-background", "mark-background", "bar")]
    pairs += [(colours[name], colours["evidence-background"]) for name in ("hit", "weak-hit", "found")]
    pairs.append((colours["block-cursor-foreground"], colours["block-cursor-background"]))
    ratios = {pair: contrast(*pair) for pair in pairs}
    assert {pair: round(ratio, 2) for pair, ratio in ratios.items() if ratio < 4.5} == {}


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [part / 255 for part in Color.parse(colour).rgb]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_a_light_terminal_gets_the_light_theme(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COLORFGBG", raising=False)
    assert theme_named("auto") == DARK
    monkeypatch.setenv("COLORFGBG", "15;0")
    assert theme_named("auto") == DARK
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert theme_named("auto") == LIGHT
    assert (theme_named("light"), theme_named("dark")) == (LIGHT, DARK)


def hostile() -> FakeJudging:
    evil = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eabc\u2066 [bold red]no markup[/] [@click=app.quit]x[/] \x00\r\n"
    topic = Topic("T\x1b1", f"title {evil}", f"description {evil}", f"narrative {evil}")
    document = Document("d\x1b1", f"text {evil}", f"document {evil}", {f"key {evil}": f"value {evil}"})
    return FakeJudging(
        topic_list=(topic,), documents=(document,), queues={topic.id: [document.id]}, guidelines=f"guide {evil}"
    )


@seated(judging=hostile, size=(100, 40))
async def test_hostile_text_is_visible_and_harmless_on_every_screen(chair: Chair, kept: Kept):
    shown = chair.text
    for keys in (("g",), ("escape", "question_mark"), ("escape", "t"), ("escape", "2", "h"), ("escape", "s")):
        await chair.press(*keys)
        shown += chair.text
    await chair.type("title text")
    await chair.press("enter")
    shown += chair.text
    assert not set(shown) & set("\x00\x07\x1b\x9b\u202e\u2066\r")
    kept(shown)


def unusual() -> FakeJudging:
    text = "日本語の文章です。鍋が焦げた。 한국어 문장. שלום עולם، مرحبا بالعالم. "
    text += "Cafe\u0301 naïve. 👩\u200d👩\u200d👧 👍🏽 🇩🇪 pan."
    return FakeJudging(documents=(Document("d1", f"{text} " * 3, "鍋 שלום 👍🏽"),), queues={"T1": ["d1"], "T2": []})


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_wide_combining_right_to_left_and_emoji_text_stays_intact(size: tuple[int, int]):
    @seated(size=size, judging=unusual)
    async def read(chair: Chair) -> None:
        joined = "".join("".join(chair.rows).split())
        await chair.press("end")
        joined += "".join("".join(chair.rows).split())
        for piece in (
            "鍋が焦げた。",
            "한국어",
            "שלוםעולם،",
            "مرحبابالعالم.",
            "Cafe\u0301naïve.",
            "👩\u200d👩\u200d👧",
            "👍🏽",
        ):
            assert piece in joined

    read()


@pytest.mark.parametrize("size", [(20, 8), (40, 12), (300, 90)], ids=str)
def test_tiny_and_huge_terminals_do_not_break_it(size: tuple[int, int]):
    @seated(size=size)
    async def judge(chair: Chair) -> None:
        await chair.press("2", "n", "v", "enter", "g", "escape", "h", "escape", "1")
        assert [call[3] for call in chair.judging.log] == [2, 1]

    judge()


@seated()
async def test_a_resized_terminal_keeps_the_words_in_sight(chair: Chair, kept: Kept):
    await chair.pilot.resize_terminal(140, 40)
    await chair.settle()
    kept(chair.text)
    await chair.pilot.resize_terminal(60, 20)
    await chair.settle()
    kept(chair.text)


@seated()
async def test_a_full_disk_is_told_and_the_sitting_goes_on(chair: Chair, kept: Kept):
    chair.judging.trouble = CollectionError("the disk is full: nothing was written")
    await chair.press("2")
    kept(chair.text)
    chair.judging.trouble = None
    await chair.press("2")
    kept(chair.text)


@seated()
async def test_trouble_in_a_list_is_told_there(chair: Chair, kept: Kept):
    chair.judging.trouble = CollectionBusy("somebody is writing")
    await chair.press("t")
    kept(chair.text)
    await chair.press("escape", "h")
    kept(chair.text)
    await chair.press("escape", "s", "p", "enter")
    kept(chair.text)


class SlowToSave(FakeJudging):
    """A judging that waits for a go before it saves."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.go = threading.Event()

    def judge(self, item: Item, grade: int, **answer: object) -> Saved:
        self.go.wait(30)
        return super().judge(item, grade, **answer)  # type: ignore[arg-type]


@seated(judging=SlowToSave)
async def test_waiting_for_a_busy_collection_is_told_and_nothing_is_called_saved_meanwhile(chair: Chair, kept: Kept):
    await chair.pilot.press("2")
    await chair.pilot.pause(0.6)
    kept(chair.text)
    await chair.pilot.press("3", "l", "u")
    kept(chair.text)
    chair.judging.go.set()
    await chair.settle()
    kept(chair.text)
    assert [call[:4] for call in chair.judging.log] == [("judge", "T1", "d1", 2)]


class SlowToOpen(FakeJudging):
    """A judging that waits for a go before it gives the second document."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.go = threading.Event()

    def next_item(self) -> Item | None:
        if self.log:
            self.go.wait(30)
        return super().next_item()


@seated(judging=SlowToOpen)
async def test_a_document_that_opens_slowly_is_told_beside_the_answer_that_is_safe(chair: Chair, kept: Kept):
    await chair.pilot.press("2")
    await chair.pilot.pause(0.6)
    kept(chair.text)
    await chair.pilot.press("3")
    kept(chair.text)
    chair.judging.go.set()
    await chair.settle()
    kept(chair.text)
    assert [call[:4] for call in chair.judging.log] == [("judge", "T1", "d1", 2)]


@seated()
async def test_no_run_rank_score_or_other_assessor_is_on_the_screen(chair: Chair):
    for key in ("g", "escape", "t", "escape", "h", "escape"):
        await chair.press(key)
        assert not {"rank", "score", "run"} & set(chair.text.casefold().split())


def test_at_eighty_columns_the_hints_tell_how_to_end_fold_and_search():
    assert picture(("2",), (80, 24)).split("\n")[23] == (
        " ? keys  q quit  u undo  l later  x cannot  c note  f fold  s search"
    )


def test_where_nothing_is_left_neither_grades_nor_keys_of_a_document_are_shown():
    rows = picture(STATES["done"], (80, 24)).split("\n")[:24]
    assert rows[23] == " ? keys  q quit  u undo  h history  s search  t topics  g guidelines"
    assert not [row for row in rows if "highly relevant" in row]
