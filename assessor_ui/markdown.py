"""Markdown as styled lines of a given width: the guidelines, drawn at once as one text.

A widget for each paragraph would take half a second to build. Links are told, never followed; raw HTML is text.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from assessor_ui.wrapping import cells_of, wrap

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

NARROW = 16
"""Cells of a table's last column below which its cells stand one below the other."""

_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}


def markdown_content(text: str, width: int) -> Content:
    """Give a text in Markdown as it is shown, no line wider than `width`."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return Content("\n").join(_blocks(SyntaxTreeNode(parsed), width))


def _wrapped(text: Content, width: int) -> list[Content]:
    return [text[line.start : line.end] for line in wrap(text.plain, max(width, 10))]


def _behind(lines: Sequence[Content], first: Content, indent: int) -> Iterator[Content]:
    """Put `first` before the first line, and blanks before the others."""
    for number, line in enumerate(lines):
        yield (Content(" " * indent) if number else first) + line


def _blocks(node: "SyntaxTreeNode", width: int, *, tight: bool = False) -> list[Content]:
    """Give the lines of all blocks in a node, with an empty line between two."""
    lines: list[Content] = []
    for block in node.children:
        if lines and not tight:
            lines.append(Content(""))
        lines += _block(block, width)
    return lines


def _block(node: "SyntaxTreeNode", width: int) -> list[Content]:
    match node.type:
        case "heading":
            return _wrapped(_inline(node).stylize("bold $key"), width)
        case "bullet_list" | "ordered_list":
            return _list(node, width)
        case "blockquote":
            return [Content.styled("│ ", "$rule") + line for line in _blocks(node, width - 2)]
        case "table":
            return _table(node, width)
        case "hr":
            return [Content.styled("─" * width, "$rule")]
        case "fence" | "code_block":
            return list(
                _behind(_wrapped(Content.styled(node.content.rstrip("\n"), "$soft"), width - 2), Content("  "), 2)
            )
        case "html_block":
            return _wrapped(Content(node.content.rstrip("\n")), width)
        case _:
            return _wrapped(_inline(node), width)


def _list(node: "SyntaxTreeNode", width: int) -> list[Content]:
    begin = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    lines: list[Content] = []
    tight = all(block.hidden for item in node.children for block in item.children if block.type == "paragraph")
    for number, item in enumerate(node.children):
        if lines and not tight:
            lines.append(Content(""))
        sign = "• " if begin is None else f"{begin + number}. "
        inside = _blocks(item, width - len(sign), tight=tight) or [Content("")]
        lines += _behind(inside, Content.styled(sign, "$key"), len(sign))
    return lines


def _table(node: "SyntaxTreeNode", width: int) -> list[Content]:
    """Give a table: the last column takes the room that is left and wraps there."""
    rows = [[_inline(cell) for cell in row.children] for part in node.children for row in part.children]
    columns = [
        max(cells_of(cell.plain) for cell in column) for column in zip(*(row[:-1] for row in rows), strict=True)
    ]
    rest = width - sum(columns) - 2 * len(columns)
    lines: list[Content] = []
    for number, row in enumerate(rows):
        look = "$quiet" if not number else ""
        if rest < NARROW:
            lines += [line.stylize(look) for cell in row for line in _wrapped(cell, width)]
            continue
        pads = [
            cell + Content(" " * (room - cells_of(cell.plain) + 2)) for cell, room in zip(row, columns, strict=False)
        ]
        behind = _behind(_wrapped(row[-1], rest), Content("").join(pads), width - rest)
        lines += [line.stylize(look) for line in behind]
    return lines


def _inline(node: "SyntaxTreeNode") -> Content:
    """Give the words of a paragraph, a heading or a cell with their looks."""
    return Content("").join(_pieces(node))


def _pieces(node: "SyntaxTreeNode") -> Iterator[Content]:
    for piece in node.children:
        match piece.type:
            case "softbreak":
                yield Content(" ")
            case "hardbreak":
                yield Content("\n")
            case "code_inline":
                yield Content.styled(piece.content, "$soft")
            case "link":
                words, address = _inline(piece), str(piece.attrs.get("href", ""))
                yield words if words.plain == address else words + Content.styled(f" ({address})", "$quiet")
            case kind if kind in _STYLES:
                yield _inline(piece).stylize(_STYLES[kind])
            case _:
                yield _inline(piece) if piece.children else Content(piece.content)
