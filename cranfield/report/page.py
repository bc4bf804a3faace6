"""A page: sections of prose, tables and figures, in the order they are read, for any surface."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

from cranfield.base.tables import Table, html_text
from cranfield.base.text import visible
from cranfield.report.renderers.markdown import escaped, render_markdown


@dataclass(frozen=True)
class Prose:
    """A paragraph, or a list of points. Plain text: nothing in it is markup."""

    text: str = ""
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Callout:
    """A sentence that must not be missed; `tone` is good, care, bad or plain."""

    text: str
    tone: str = "plain"
    heading: str = ""


@dataclass(frozen=True)
class TableBlock:
    """A table with a name of its own, under which it is also written as a file. `folded`: shown on demand."""

    name: str
    table: Table
    folded: bool = False


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Literal:
    """Text whose lines stay as they are: a plan, a command, guidelines."""

    text: str
    label: str = ""


@dataclass(frozen=True)
class Fold:
    """Blocks behind a heading that opens on demand."""

    title: str
    blocks: tuple[Block, ...]
    hint: str = ""


Block = Prose | Callout | TableBlock | Drawing | Literal | Fold


@dataclass(frozen=True)
class Section:
    """One subject of a page; `anchor` is made of the title."""

    title: str
    blocks: tuple[Block, ...]
    lead: str = ""

    @property
    def anchor(self) -> str:
        """What a link to this section ends in."""
        return _slug(self.title, "a-z0-9") or "section"


@dataclass(frozen=True)
class Page:
    """A title, what stands below it, and the sections."""

    title: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    foot: tuple[str, ...] = ()


def blocks_of(page: Page) -> Iterator[Block]:
    """All blocks of a page, those behind folds too, in order."""
    waiting = [block for section in reversed(page.sections) for block in reversed(section.blocks)]
    while waiting:
        block = waiting.pop()
        yield block
        waiting += reversed(block.blocks) if isinstance(block, Fold) else ()


def tables_of(page: Page) -> dict[str, Table]:
    """The named tables of a page, those behind figures too."""
    tables: dict[str, Table] = {}
    for block in blocks_of(page):
        if isinstance(block, TableBlock):
            tables[block.name] = block.table
        elif isinstance(block, Drawing) and block.data is not None:
            tables[f"figure-{block.name}"] = block.data
    return tables


# Pages as one HTML file that needs nothing else: no network, no fonts, no library.

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_FILTERED_FROM, _PAIRS_FILTERED_FROM = 8, 30
"""Tables with at least so many rows get a field to filter them; those of two columns are lists that an eye finds its
way in for longer."""
_LONG = 40
"""Cells with more letters are folded into several lines."""


def render_html(page: Page) -> str:
    """The page as one HTML document."""
    assets = files("cranfield.report") / "assets"
    title = html_text(page.title)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>\n{(assets / 'page.css').read_text(encoding='utf-8')}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#content">Skip to content</a>',
        f"<header>\n<h1>{title}</h1>",
    ]
    lines += [f'<p class="subtitle">{html_text(page.subtitle)}</p>'] if page.subtitle else []
    if page.facts:
        cells = (f"<div><dt>{html_text(name)}</dt><dd>{html_text(value)}</dd></div>" for name, value in page.facts)
        lines.append(f'<dl class="facts">{"".join(cells)}</dl>')
    lines += ["</header>", '<div class="frame">', '<nav aria-label="Contents">', "<ul>"]
    lines += [f'<li><a href="#{one.anchor}">{html_text(one.title)}</a></li>' for one in page.sections]
    lines += ["</ul>", "</nav>", '<main id="content">']
    for section in page.sections:
        lines.append(f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-title">')
        lines.append(f'<h2 id="{section.anchor}-title">{html_text(section.title)}</h2>')
        lines += [f'<p class="lead">{html_text(section.lead)}</p>'] if section.lead else []
        for block in section.blocks:
            lines += _html_block(block)
        lines.append("</section>")
    lines += [
        "</main>",
        "</div>",
        "<footer>",
        *(f"<p>{html_text(sentence)}</p>" for sentence in page.foot),
        "</footer>",
    ]
    script = (assets / "page.js").read_text(encoding="utf-8")
    return "\n".join([*lines, f"<script>\n{script}</script>", "</body>", "</html>", ""])


def _html_block(block: Block) -> Iterator[str]:
    match block:
        case Prose(text, points):
            if text:
                yield f"<p>{html_text(text)}</p>"
            if points:
                yield "<ul>" + "".join(f"<li>{html_text(point)}</li>" for point in points) + "</ul>"
        case Callout(text, tone, heading):
            bold = f"<strong>{html_text(heading)}</strong> " if heading else ""
            yield f'<p class="callout {escape(tone)}">{bold}{html_text(text)}</p>'
        case TableBlock(name, table, folded):
            if folded:
                yield f'<details class="table-fold"><summary>{html_text(table.caption or name)}</summary>'
            yield from _html_table(table, name)
            if folded:
                yield "</details>"
        case Drawing(name=name, data=data):
            yield f'<figure id="figure-{escape(name)}">'
            yield f'<div class="drawing" role="img" aria-label="{html_text(block.alternative)}" tabindex="0">'
            yield themed(block.svg, name)
            yield "</div>"
            yield f"<figcaption>{html_text(block.caption)}</figcaption>"
            if data is not None:
                yield "<details><summary>Data of the figure</summary>"
                yield from _html_table(data, f"figure-{name}")
                yield "</details>"
            yield "</figure>"
        case Literal(text, label):
            label = html_text(label or "text")
            yield f'<pre tabindex="0" role="region" aria-label="{label}">{escape(visible(text))}</pre>'
        case Fold(title, blocks, hint):
            beside = f' <span class="hint">{html_text(hint)}</span>' if hint else ""
            yield f"<details><summary>{html_text(title)}{beside}</summary>"
            for inner in blocks:
                yield from _html_block(inner)
            yield "</details>"


def _html_table(table: Table, name: str) -> Iterator[str]:
    label = html_text(table.caption or name.replace("-", " "))
    yield f'<div class="table" data-name="{escape(name)}">'
    if not table.facts and len(table.rows) >= (_FILTERED_FROM if len(table.columns) > 2 else _PAIRS_FILTERED_FROM):
        yield (
            '<p class="filter"><label>Filter rows <input type="search"'
            f' aria-label="Filter rows of: {label}"></label> <span role="status"></span></p>'
        )
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    yield '<table class="named">' if table.facts else "<table>"
    yield f"<caption>{label}</caption>"
    kinds = [' class="number"' if column.numeric else "" for column in table.columns]
    titles = [html_text(column.title) for column in table.columns]
    heads = (f'<th scope="col"{kind}>{title}</th>' for kind, title in zip(kinds, titles, strict=True))
    yield f"<thead><tr>{''.join(heads)}</tr></thead>"
    yield "<tbody>"
    for cells in table.cells(html_text):
        row = []
        for place, cell in enumerate(cells):
            text, is_long = cell.text, len(cell.text) > _LONG
            if cell.bold:
                text = f"<strong>{text}</strong>"
            if cell.is_verdict:
                text = f'<span class="verdict {_slug(str(cell.value).partition(" (")[0], "a-z")}">{text}</span>'
            attributes = ' class="number"' if cell.column.numeric else ' class="long"' if is_long else ""
            if isinstance(cell.value, float) and cell.value == cell.value:
                attributes += f' data-value="{cell.value!r}"'
            if is_long and place == 0:
                attributes += f' title="{cell.text}"'
            row.append(f"<td{attributes}>{text}</td>" if place else f'<th scope="row"{attributes}>{text}</th>')
        yield f"<tr>{''.join(row)}</tr>"
    yield "</tbody>"
    yield "</table>"
    yield "</div>"
    yield from (f'<p class="note">{html_text(note)}</p>' for note in table.notes)
    yield "</div>"


def themed(svg: str, name: str) -> str:
    """SVG for inside a page: ids of its own, black and white as the page's ink and paper."""
    body = svg[svg.index("<svg") :] if "<svg" in svg else ""
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    prefix = re.sub(r"[^a-z0-9]+", "-", name.lower())
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r'(href="|url\()#', rf"\1#{prefix}-", body)
    body = re.sub(r"#000000\b", "var(--ink)", body)
    return re.sub(r"#ffffff\b", "var(--paper)", body)


def _slug(text: str, letters: str) -> str:
    return re.sub(rf"[^{letters}]+", "-", text.lower()).strip("-")


# Pages as Markdown: the same content in the same order, for repositories and mail.


def render_page_markdown(page: Page) -> str:
    """The page as Markdown; figures are described in words and tables."""
    lines = [f"# {escaped(page.title)}", ""]
    lines += [escaped(page.subtitle), ""] if page.subtitle else []
    lines += [*(f"- {escaped(name)}: **{escaped(value)}**" for name, value in page.facts), ""]
    for section in page.sections:
        lines += [f"## {escaped(section.title)}", ""]
        lines += [escaped(section.lead), ""] if section.lead else []
        for block in section.blocks:
            lines += _markdown_block(block, level=3)
    for sentence in page.foot:
        lines += [escaped(sentence), ""]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_block(block: Block, *, level: int) -> Iterator[str]:
    match block:
        case Prose(text, points):
            yield from (escaped(text), "") if text else ()
            yield from (*(f"- {escaped(point)}" for point in points), "") if points else ()
        case Callout(text, _, heading):
            bold = f"**{escaped(heading)}** " if heading else ""
            yield from (f"> {bold}{escaped(text)}", "")
        case TableBlock(_, table):
            yield render_markdown(table)
        case Drawing(data=data):
            yield from (f"*Figure: {escaped(block.caption)}* {escaped(block.alternative)}", "")
            yield from () if data is None else [render_markdown(data)]
        case Literal(text):
            # The fence is longer than any in the text itself.
            longest = max((len(line) - len(line.lstrip("`")) for line in text.splitlines()), default=0)
            fence = "`" * max(3, longest + 1)
            yield from (f"{fence}text", visible(text).rstrip("\n"), fence, "")
        case Fold(title, blocks, hint):
            beside = f" ({escaped(hint)})" if hint else ""
            yield from (f"{'#' * level} {escaped(title)}{beside}", "")
            for inner in blocks:
                yield from _markdown_block(inner, level=level + 1)
