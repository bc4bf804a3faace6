"""A page: sections of prose, tables and figures, in the order they are read, for any surface."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

from cranfield.base.tables import Column, Table, Value, printed
from cranfield.base.text import visible, visible_line
from cranfield.report.renderers.markdown import escaped, render_markdown


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
    """A figure: SVG text, what it shows in words for people who do not see it, and what to look for.

    `section` says where on a page it belongs, `figure` is what it was drawn as, to be written as a file.
    """

    name: str
    svg: str
    alternative: str
    caption: str
    data: Table | None = None
    section: str = ""
    figure: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """Text whose lines stay as they are: a plan, a command, guidelines."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind a heading that opens on demand."""

    title: str
    blocks: tuple[Block, ...]
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


# Pages as one HTML file that needs nothing else: no network, no fonts, no library.

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_FILTERED_FROM, _PAIRS_FILTERED_FROM = 8, 30
"""Tables with at least so many rows get a field to filter them; those of two columns are lists that an eye finds its
way in for longer."""
_LONG = 40
"""Cells with more letters are folded into several lines."""


def render_html(page: Page) -> str:
    """Give the page as one HTML document."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{_line(page.title)}</title>"
    yield f"<style>\n{_asset('page.css')}</style>"
    yield "</head>"
    yield "<body>"
    yield '<a class="skip" href="#content">Skip to the content</a>'
    yield from _header(page)
    yield '<div class="frame">'
    yield from _contents(page)
    yield '<main id="content">'
    for section in page.sections:
        yield from _section(section)
    yield "</main>"
    yield "</div>"
    yield from _footer(page)
    yield f"<script>\n{_asset('page.js')}</script>"
    yield "</body>"
    yield "</html>"


def _header(page: Page) -> Iterator[str]:
    yield "<header>"
    yield f"<h1>{_line(page.title)}</h1>"
    if page.subtitle:
        yield f'<p class="subtitle">{_line(page.subtitle)}</p>'
    if page.facts:
        cells = (f"<div><dt>{_line(name)}</dt><dd>{_line(value)}</dd></div>" for name, value in page.facts)
        yield f'<dl class="facts">{"".join(cells)}</dl>'
    yield "</header>"


def _contents(page: Page) -> Iterator[str]:
    yield '<nav aria-label="Contents">'
    yield "<ul>"
    for section in page.sections:
        yield f'<li><a href="#{section.anchor}">{_line(section.title)}</a></li>'
    yield "</ul>"
    yield "</nav>"


def _footer(page: Page) -> Iterator[str]:
    yield "<footer>"
    for sentence in page.foot:
        yield f"<p>{_line(sentence)}</p>"
    yield "</footer>"


def _section(section: Section) -> Iterator[str]:
    yield f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-title">'
    yield f'<h2 id="{section.anchor}-title">{_line(section.title)}</h2>'
    if section.lead:
        yield f'<p class="lead">{_line(section.lead)}</p>'
    for block in section.blocks:
        yield from _block(block)
    yield "</section>"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Prose):
        yield from _prose(block)
    elif isinstance(block, Callout):
        heading = f"<strong>{_line(block.heading)}</strong> " if block.heading else ""
        yield f'<p class="callout {escape(block.tone)}">{heading}{_line(block.text)}</p>'
    elif isinstance(block, TableBlock):
        yield from _table_block(block)
    elif isinstance(block, Drawing):
        yield from _drawing(block)
    elif isinstance(block, Literal):
        label = f' aria-label="{_line(block.label)}"' if block.label else ""
        yield f'<pre tabindex="0" role="region"{label or _UNNAMED}>{escape(visible(block.text))}</pre>'
    else:
        yield from _fold(block)


_UNNAMED = ' aria-label="text"'


def _prose(block: Prose) -> Iterator[str]:
    if block.text:
        yield f"<p>{_line(block.text)}</p>"
    if block.points:
        yield "<ul>" + "".join(f"<li>{_line(point)}</li>" for point in block.points) + "</ul>"


def _fold(block: Fold) -> Iterator[str]:
    hint = f' <span class="hint">{_line(block.hint)}</span>' if block.hint else ""
    yield f"<details><summary>{_line(block.title)}{hint}</summary>"
    for inner in block.blocks:
        yield from _block(inner)
    yield "</details>"


def _table_block(block: TableBlock) -> Iterator[str]:
    if block.folded:
        yield f'<details class="table-fold"><summary>{_line(block.table.caption or block.name)}</summary>'
    yield from _table(block.table, block.name)
    if block.folded:
        yield "</details>"


def _table(table: Table, name: str) -> Iterator[str]:
    label = _line(table.caption or name.replace("-", " "))
    yield f'<div class="table" data-name="{escape(name)}">'
    if not table.facts and len(table.rows) >= (_FILTERED_FROM if len(table.columns) > 2 else _PAIRS_FILTERED_FROM):
        yield (
            '<p class="filter"><label>Filter the rows <input type="search"'
            f' aria-label="Filter the rows of: {label}"></label> <span role="status"></span></p>'
        )
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    yield '<table class="named">' if table.facts else "<table>"
    yield f"<caption>{label}</caption>"
    yield "<thead><tr>" + "".join(_heading(column) for column in table.columns) + "</tr></thead>"
    yield "<tbody>"
    for number, row in enumerate(table.rows):
        yield "<tr>" + "".join(_cells(table, number, row)) + "</tr>"
    yield "</tbody>"
    yield "</table>"
    yield "</div>"
    yield from (f'<p class="note">{_line(note)}</p>' for note in table.notes)
    yield "</div>"


def _heading(column: Column) -> str:
    kind = ' class="number"' if column.numeric else ""
    return f'<th scope="col"{kind}>{_line(column.title)}</th>'


def _cells(table: Table, number: int, row: tuple[Value, ...]) -> Iterator[str]:
    for place, (column, value) in enumerate(zip(table.columns, row, strict=True)):
        text = _line(printed(value, column))
        is_long = len(text) > _LONG
        if (number, place) in table.bold:
            text = f"<strong>{text}</strong>"
        if column.kind == "verdict" and value:
            text = f'<span class="verdict {_class_of(str(value))}">{text}</span>'
        attributes = ' class="number"' if column.numeric else ' class="long"' if is_long else ""
        if isinstance(value, float) and value == value:
            attributes += f' data-value="{value!r}"'
        if is_long and place == 0:
            attributes += f' title="{_line(printed(value, column))}"'
        yield f'<th scope="row"{attributes}>{text}</th>' if place == 0 else f"<td{attributes}>{text}</td>"


def _class_of(verdict: str) -> str:
    return re.sub(r"[^a-z]+", "-", verdict.lower()).strip("-")


def _drawing(block: Drawing) -> Iterator[str]:
    yield f'<figure id="figure-{escape(block.name)}">'
    yield f'<div class="drawing" role="img" aria-label="{_line(block.alternative)}" tabindex="0">'
    yield themed(block.svg, block.name)
    yield "</div>"
    yield f"<figcaption>{_line(block.caption)}</figcaption>"
    if block.data is not None:
        yield "<details><summary>The figure as a table</summary>"
        yield from _table(block.data, f"figure-{block.name}")
        yield "</details>"
    yield "</figure>"


def themed(svg: str, name: str) -> str:
    """Give SVG as it stands inside a page: ids of its own, black and white as the page's ink and paper."""
    body = svg[svg.index("<svg") :] if "<svg" in svg else ""
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    prefix = re.sub(r"[^a-z0-9]+", "-", name.lower())
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r'(href="|url\()#', rf"\1#{prefix}-", body)
    body = re.sub(r"#000000\b", "var(--ink)", body)
    return re.sub(r"#ffffff\b", "var(--paper)", body)


def _line(text: str) -> str:
    """Give foreign text as one harmless line of HTML."""
    return escape(visible_line(text))


def _asset(name: str) -> str:
    return files("cranfield.report").joinpath("assets", name).read_text(encoding="utf-8")


# Pages as Markdown: the same content in the same order, for repositories and mail.


def render_page_markdown(page: Page) -> str:
    """Give the page as Markdown; figures are told in words and as tables."""
    return "\n".join(_lines_page_markdown(page)).rstrip() + "\n"


def _lines_page_markdown(page: Page) -> Iterator[str]:
    yield f"# {escaped(page.title)}"
    yield ""
    if page.subtitle:
        yield from (escaped(page.subtitle), "")
    for name, value in page.facts:
        yield f"- {escaped(name)}: **{escaped(value)}**"
    yield ""
    for section in page.sections:
        yield from _section_page_markdown(section)
    for sentence in page.foot:
        yield from (escaped(sentence), "")


def _section_page_markdown(section: Section) -> Iterator[str]:
    yield from (f"## {escaped(section.title)}", "")
    if section.lead:
        yield from (escaped(section.lead), "")
    for block in section.blocks:
        yield from _block_page_markdown(block, level=3)


def _block_page_markdown(block: Block, *, level: int) -> Iterator[str]:
    if isinstance(block, Prose):
        yield from _prose_page_markdown(block)
    elif isinstance(block, Callout):
        heading = f"**{escaped(block.heading)}** " if block.heading else ""
        yield from (f"> {heading}{escaped(block.text)}", "")
    elif isinstance(block, TableBlock):
        yield render_markdown(block.table)
    elif isinstance(block, Drawing):
        yield from (f"*Figure: {escaped(block.caption)}* {escaped(block.alternative)}", "")
        if block.data is not None:
            yield render_markdown(block.data)
    elif isinstance(block, Literal):
        yield from _literal(block)
    else:
        yield from _fold_page_markdown(block, level=level)


def _prose_page_markdown(block: Prose) -> Iterator[str]:
    if block.text:
        yield from (escaped(block.text), "")
    yield from (f"- {escaped(point)}" for point in block.points)
    if block.points:
        yield ""


def _literal(block: Literal) -> Iterator[str]:
    """Give text in a fence that is longer than any in the text itself."""
    longest = max((len(line) - len(line.lstrip("`")) for line in block.text.splitlines()), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}text", visible(block.text).rstrip("\n"), fence, "")


def _fold_page_markdown(block: Fold, *, level: int) -> Iterator[str]:
    hint = f" ({escaped(block.hint)})" if block.hint else ""
    yield from (f"{'#' * level} {escaped(block.title)}{hint}", "")
    for inner in block.blocks:
        yield from _block_page_markdown(inner, level=level + 1)
