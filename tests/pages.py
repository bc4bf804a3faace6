"""What a page holds, for tests that look for it."""

from collections.abc import Iterator

from cranfield.base.text import Table
from cranfield.report.page import Block, Fold, Page, Switch, TableBlock


def blocks_of(page: Page) -> Iterator[Block]:
    """All blocks of a page, those behind folds too, in order."""
    waiting: list[Block] = [block for one in (*page.answers, *page.sections) for block in one.blocks][::-1]
    while waiting:
        block = waiting.pop()
        yield block
        inside = block.parts if isinstance(block, Switch) else block.blocks if isinstance(block, Fold) else ()
        waiting += reversed(inside)


def tables_of(page: Page) -> dict[str, Table]:
    """The named tables of a page."""
    return {block.name: block.table for block in blocks_of(page) if isinstance(block, TableBlock)}
