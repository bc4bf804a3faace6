"""A page: sections of prose, tables and figures, in the order they are read, for any surface."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cranfield.report.table import Table


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph, or a list of points. Plain text: nothing in it is markup."""

    text: str = ""
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Callout:
    """A sentence that must not be missed; `tone` is good, care, bad or plain."""

    text: str
    tone: str = "plain"
    heading: str = ""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table with a name of its own, under which it is also written as a file. `folded`: shown on demand."""

    name: str
    table: Table
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure: SVG text, what it shows in words for people who do not see it, and what to look for."""

    name: str
    svg: str
    alternative: str
    caption: str
    data: Table | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """Text whose lines stay as they are: a plan, a command, guidelines."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind a heading that opens on demand."""

    title: str
    blocks: "tuple[Block, ...]"
    hint: str = ""


Block = Prose | Callout | TableBlock | Drawing | Literal | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """One subject of a page; `anchor` is made of the title."""

    title: str
    blocks: tuple[Block, ...]
    lead: str = ""

    @property
    def anchor(self) -> str:
        """What a link to this section ends in."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "section"


@dataclass(frozen=True, slots=True)
class Page:
    """A title, what stands below it, and the sections."""

    title: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    foot: tuple[str, ...] = ()


def blocks_of(page: Page) -> Iterator[Block]:
    """Give all blocks of a page, those behind folds too, in order."""
    for section in page.sections:
        yield from _unfolded(section.blocks)


def _unfolded(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from _unfolded(block.blocks)


def tables_of(page: Page) -> dict[str, Table]:
    """Give the named tables of a page, those behind figures too."""
    found: dict[str, Table] = {}
    for block in blocks_of(page):
        if isinstance(block, TableBlock):
            found[block.name] = block.table
        elif isinstance(block, Drawing) and block.data is not None:
            found[f"figure-{block.name}"] = block.data
    return found
