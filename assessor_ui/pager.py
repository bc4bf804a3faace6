"""A long text, a screenful at a time."""

from assessor_ui.wrapping import wrap

_FEWEST = 10
_NOT_WORTH_A_PAGE = 3


class Pager:
    """What is left of a text that is read page by page."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @property
    def left(self) -> int:
        """How many lines have not been given yet."""
        return len(self._lines)

    def begin(self, text: str, *, width: int, height: int) -> str:
        """Give the first page of a text, wrapped at `width`; a page has `height` lines, but never very few."""
        self._lines = [text[line.start : line.end] for line in wrap(text, width)]
        return self.more(height=height)

    def more(self, *, height: int) -> str:
        """Give the next page. Two or three lines that would be left are given with it."""
        size = max(height, _FEWEST)
        size = size if len(self._lines) > size + _NOT_WORTH_A_PAGE else len(self._lines)
        page, self._lines = self._lines[:size], self._lines[size:]
        return "\n".join(page)
