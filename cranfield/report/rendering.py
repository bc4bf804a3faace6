"""How a table becomes text in a given format."""

from __future__ import annotations

from typing import Protocol

from cranfield.base.registry import Registry
from cranfield.base.tables import Table


class Renderer(Protocol):
    """A function from a table to the text of one format; its docstring's first line is its help."""

    def __call__(self, table: Table, /) -> str:
        """Give the text."""
        ...


renderers: Registry[Renderer] = Registry(
    "output format", package="cranfield.report.renderers", group="cranfield.renderers"
)
