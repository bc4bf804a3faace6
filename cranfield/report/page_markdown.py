"""Pages as Markdown: the same content in the same order, for repositories and mail."""

from collections.abc import Iterator

from cranfield.report.page import Block, Callout, Drawing, Fold, Literal, Page, Prose, Section, TableBlock
from cranfield.report.renderers.markdown import escaped, render_markdown
from cranfield.text import visible


def render_page_markdown(page: Page) -> str:
    """Give the page as Markdown; figures are told in words and as tables."""
    return "\n".join(_lines(page)).rstrip() + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield f"# {escaped(page.title)}"
    yield ""
    if page.subtitle:
        yield from (escaped(page.subtitle), "")
    for name, value in page.facts:
        yield f"- {escaped(name)}: **{escaped(value)}**"
    yield ""
    for section in page.sections:
        yield from _section(section)
    for sentence in page.foot:
        yield from (escaped(sentence), "")


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {escaped(section.title)}", "")
    if section.lead:
        yield from (escaped(section.lead), "")
    for block in section.blocks:
        yield from _block(block, level=3)


def _block(block: Block, *, level: int) -> Iterator[str]:
    if isinstance(block, Prose):
        yield from _prose(block)
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
        yield from _fold(block, level=level)


def _prose(block: Prose) -> Iterator[str]:
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


def _fold(block: Fold, *, level: int) -> Iterator[str]:
    hint = f" ({escaped(block.hint)})" if block.hint else ""
    yield from (f"{'#' * level} {escaped(block.title)}{hint}", "")
    for inner in block.blocks:
        yield from _block(inner, level=level + 1)
