"""Two calm palettes, light and dark, and which one a terminal asks for."""

import os
from collections.abc import Mapping

from textual.theme import Theme

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
