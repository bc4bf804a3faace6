"""A page: sections of prose, tables and figures, in the order they are read, for any surface."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from math import ceil, floor, log10
from string import Template
from typing import NamedTuple

from cranfield.base.text import Table, html_text, visible
from cranfield.report.renderers.markdown import escaped, render_markdown


class Prose(NamedTuple):
    """A paragraph, or a list of points. Plain text: nothing in it is markup."""

    text: str = ""
    points: tuple[str, ...] = ()


class Callout(NamedTuple):
    """A sentence that must not be missed; `tone` is good, care, bad or plain."""

    text: str
    tone: str = "plain"
    heading: str = ""


class Legend(NamedTuple):
    """What verdicts mean: each with its sentence."""

    verdicts: tuple[tuple[str, str], ...]


Range = tuple[float, float, float, float, float]
"""The lowest value, both ends of where it probably is, the highest, and the value itself."""


class TableBlock(NamedTuple):
    """A table with a name of its own.

    `ranges` are those of the rows: a page draws them in the third column, which has them in words.
    """

    name: str
    table: Table
    ranges: tuple[Range, ...] = ()


class Drawing(NamedTuple):
    """A figure: SVG text, what it shows in words for people who do not see it, and what to look for.

    `section` says where on a page it belongs.
    """

    name: str
    svg: str
    alternative: str
    caption: str
    section: str = ""


class Literal(NamedTuple):
    """Text whose lines stay as they are: a plan, a command, guidelines."""

    text: str
    label: str = ""


class Fold(NamedTuple):
    """Blocks behind a heading that opens on demand."""

    title: str
    blocks: tuple[Block, ...]


class Switch(NamedTuple):
    """Parts of which one is seen at a time, chosen by its title; on paper all of them."""

    label: str
    parts: tuple[Fold, ...]


Block = Prose | Callout | Legend | TableBlock | Drawing | Literal | Fold | Switch


class Section(NamedTuple):
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
    """A title, a sentence below it, the answers that everybody looks for first, and the sections."""

    title: str
    sections: tuple[Section, ...]
    subtitle: str = ""
    answers: tuple[Section, ...] = ()
    foot: tuple[str, ...] = ()


# Pages as one HTML file that needs nothing else: no network, no fonts, no library.

_FILTERED_FROM = 25
"""Tables with so many rows are longer than a screen, and get a field to filter them."""
_WIDE = 3
"""On a phone each row of a table with more columns, or with long text, is a card: its cells below their headings."""
_DRAWN = 2
"""The column in which ranges are drawn."""
_LONG = 40
"""Cells with more letters are folded into several lines."""


def render_html(page: Page) -> str:
    """The page as one HTML document."""

    def text(lines: Iterable[str]) -> str:
        return "".join(f"{line}\n" for line in lines)

    assets = files("cranfield.report") / "assets"
    around, style, script = ((assets / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    answers, sections = (
        [line for one in some for line in _html_section(one)] for some in (page.answers, page.sections)
    )
    links = (f'<li><a href="#{one.anchor}">{html_text(one.title)}</a></li>' for one in page.sections)
    first = ['<div class="answers">', *answers, "</div>"] if answers else []
    return Template(around).substitute(
        title=html_text(page.title),
        style=style,
        subtitle=text([f'<p class="subtitle">{html_text(page.subtitle)}</p>'] if page.subtitle else []),
        content=text([*first, '<nav aria-label="Contents"><ul>', *links, "</ul></nav>", *sections]),
        foot=text(f"<p>{html_text(sentence)}</p>" for sentence in page.foot),
        script=script,
    )


def _html_section(section: Section) -> Iterator[str]:
    yield f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-title">'
    yield f'<h2 id="{section.anchor}-title">{html_text(section.title)}</h2>'
    yield from [f'<p class="lead">{html_text(section.lead)}</p>'] if section.lead else []
    for block in section.blocks:
        yield from _html_block(block)
    yield "</section>"


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
        case Legend(verdicts):
            entries = (
                f"<div><dt>{_badge(level, level)}</dt><dd>{html_text(what)}</dd></div>" for level, what in verdicts
            )
            yield f'<dl class="legend">{"".join(entries)}</dl>'
        case TableBlock(name, table, ranges):
            yield from _html_table(table, name, ranges)
        case Drawing(name=name):
            yield f'<figure id="figure-{escape(name)}">'
            yield f'<div class="drawing" role="img" aria-label="{html_text(block.alternative)}" tabindex="0">'
            yield themed(block.svg, name)
            yield f"</div><figcaption>{html_text(block.caption)}</figcaption></figure>"
        case Literal(text, label):
            label = html_text(label or "text")
            # Lines break between words alone, never at the dashes of an option.
            words = re.sub(r"\S*-\S*", r"<span>\g<0></span>", escape(visible(text)))
            yield f'<pre tabindex="0" role="region" aria-label="{label}">{words}</pre>'
        case Fold(title, blocks):
            yield f"<details><summary>{html_text(title)}</summary>"
            for inner in blocks:
                yield from _html_block(inner)
            yield "</details>"
        case Switch(label, parts):
            group = _slug(label, "a-z0-9")
            yield f'<div class="switch" role="group" aria-label="{html_text(label)}">'
            for place, part in enumerate(parts):
                chosen = f'id="{group}-{place}"{"" if place else " checked"}'
                yield f'<input type="radio" name="{group}" {chosen}>'
                yield f'<label for="{group}-{place}">{html_text(part.title)}</label><div>'
                for inner in part.blocks:
                    yield from _html_block(inner)
                yield "</div>"
            yield "</div>"


def _html_table(table: Table, name: str, ranges: Sequence[Range]) -> Iterator[str]:
    label = html_text(table.caption or name.replace("-", " "))
    yield f'<div class="table" data-name="{escape(name)}">'
    if not table.facts and len(table.rows) >= _FILTERED_FROM:
        yield (
            '<p class="filter"><label>Filter rows <input type="search"'
            f' aria-label="Filter rows of: {label}"></label> <span role="status"></span></p>'
        )
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    titles = [column.title for column in table.columns]
    is_wide = len(titles) > _WIDE or any(len(str(cell)) > _LONG for row in table.rows for cell in row)
    kind = "board" if ranges else "named" if table.facts else "cards" if is_wide else "plain"
    # Where rows are cards, the style sheet repeats the headings in them.
    words = ";".join(f"--c{place}:{json.dumps(title)}" for place, title in enumerate(titles, start=1))
    yield f'<table class="{kind}" style="{html_text(words)}"><caption>{label}</caption>'
    place_of, ticks = _axis(ranges)
    heads = ""
    for place, (column, title) in enumerate(zip(table.columns, titles, strict=True)):
        is_drawn = bool(ranges) and place == _DRAWN
        of_kind = ' class="range"' if is_drawn else ' class="number"' if column.numeric else ""
        heads += f'<th scope="col"{of_kind}>{html_text(title)}{ticks if is_drawn else ""}</th>'
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for number, cells in enumerate(table.cells(html_text)):
        row = []
        for place, cell in enumerate(cells):
            text, is_long = cell.text, len(cell.text) > _LONG
            if cell.bold:
                text = f"<strong>{text}</strong>"
            if cell.is_verdict:
                text = _badge(str(cell.value), text)
            attributes = ' class="number"' if cell.column.numeric else ' class="long"' if is_long else ""
            if ranges and place == _DRAWN:
                level = next((_level(str(one.value)) for one in cells if one.is_verdict), "")
                ends = zip("labhs", map(place_of, ranges[number]), strict=True)
                style = ";".join(f"--{name}:{end}" for name, end in ends)
                text, attributes = f'<span>{text}</span><i class="{level}" style="{style}"></i>', ' class="range"'
            if isinstance(cell.value, float) and cell.value == cell.value:
                attributes += f' data-value="{cell.value!r}"'
            if is_long and place == 0:
                attributes += f' title="{cell.text}"'
            row.append(f"<td{attributes}>{text}</td>" if place else f'<th scope="row"{attributes}>{text}</th>')
        yield f"<tr>{''.join(row)}</tr>"
    yield "</tbody>\n</table>\n</div>"
    yield from (f'<p class="note">{html_text(note)}</p>' for note in table.notes)
    yield "</div>"


def _badge(verdict: str, text: str) -> str:
    return f'<span class="verdict {_level(verdict)}">{text}</span>'


def _level(verdict: str) -> str:
    """The class of a verdict: its level, whatever it says of ranks or pools."""
    return _slug(re.split(r" to rank | \(", verdict)[0], "a-z")


def _axis(ranges: Sequence[Range]) -> tuple[Callable[[float], str], str]:
    """Where a value stands on the axis that ranges share, in per cent; and the round numbers along it."""
    values = [value for one in ranges for value in one if value == value] or [0.0]
    low, span = min(values), max(values) - min(values) or 1.0
    power = 10.0 ** floor(log10(span / 5))
    step = next(power * factor for factor in (1, 2, 5, 10) if 5 * power * factor >= span - 1e-9)
    start, end = floor(low / step + 1e-9), ceil((low + span) / step - 1e-9)

    def place_of(value: float) -> str:
        return f"{100 * (value / step - start) / (end - start):.1f}"

    digits = max(0, -floor(log10(step) + 1e-9))
    marks = (f'<i style="--s:{place_of(one * step)}">{one * step:,.{digits}f}</i>' for one in range(start, end + 1))
    return place_of, f'<span class="axis">{"".join(marks)}</span>'


def themed(svg: str, name: str) -> str:
    """SVG for inside a page: ids of its own, black and white as the page's ink and paper."""
    body = svg[svg.index("<svg") :] if "<svg" in svg else ""
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    prefix = _slug(name, "a-z0-9")
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
    for section in (*page.answers, *page.sections):
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
        case Legend(verdicts):
            yield from (*(f"- **{level}**: {escaped(what)}" for level, what in verdicts), "")
        case TableBlock(_, table):
            yield render_markdown(table)
        case Drawing(alternative=alternative, caption=caption):
            yield from (f"*Figure: {escaped(caption)}* {escaped(alternative)}", "")
        case Literal(text):
            # The fence is longer than any in the text itself.
            longest = max((len(line) - len(line.lstrip("`")) for line in text.splitlines()), default=0)
            fence = "`" * max(3, longest + 1)
            yield from (f"{fence}text", visible(text).rstrip("\n"), fence, "")
        case Fold(title, blocks):
            yield from (f"{'#' * level} {escaped(title)}", "")
            for inner in blocks:
                yield from _markdown_block(inner, level=level + 1)
        case Switch(parts=parts):
            for part in parts:
                yield from _markdown_block(part, level=level)
