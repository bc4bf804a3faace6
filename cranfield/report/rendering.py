"""How a table becomes text in a given format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cranfield.base.registry import Registry

if TYPE_CHECKING:
    from cranfield.base.text import Table

Renderer = Callable[["Table"], str]
"""From a table to the text of one format; its docstring's first line is its help."""

renderers: Registry[Renderer] = Registry(
    "output format", package="cranfield.report.renderers", group="cranfield.renderers"
)
