"""A file as blocks of whole lines, the next one read while the last is parsed.

Two buffers take turns, since fresh memory for every block would cost more than the parsing.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

from cranfield.errors import SourceError
from cranfield.source import LONGEST_LINE, UTF8_BOM, Source

BLOCK = 1 << 23
"""How many bytes are parsed at once: enough work for all threads, little beside the columns of a large run."""


def blocks(source: Source, *, size: int = BLOCK) -> Iterator[memoryview]:
    """Give the decompressed file in blocks that end with a line feed (the last may lack it), without its mark.

    A block is good until the next one is asked for. A line longer than `size` comes in one block all the same.
    """
    with source.open() as stream:
        filled = _Buffer(size)
        filled.fill(stream)
        filled.drop(UTF8_BOM)
        if filled.used < size - len(UTF8_BOM):
            yield from filled.all()
            return
        with ThreadPoolExecutor(max_workers=1) as reader:
            yield from _in_turns(stream, source.name, filled, _Buffer(size), reader)


def _in_turns(
    stream: BinaryIO, name: str, filled: "_Buffer", empty: "_Buffer", reader: ThreadPoolExecutor
) -> Iterator[memoryview]:
    while filled.used:
        end = filled.last_line_end()
        if not end:
            if filled.used > LONGEST_LINE:
                raise SourceError(name, f"a line of more than {LONGEST_LINE >> 20} MB; is this a text file?")
            if not filled.grow(stream):
                yield from filled.all()
                return
            continue
        empty.begin_with(filled.rest(end))
        coming: Future[int] = reader.submit(empty.fill, stream)
        yield filled.until(end)
        if not coming.result():
            yield from empty.all()
            return
        filled, empty = empty, filled


class _Buffer:
    """Bytes that are filled again and again."""

    def __init__(self, size: int) -> None:
        self._bytes = bytearray(size)
        self.used = 0

    def fill(self, stream: BinaryIO) -> int:
        """Read until the buffer is full or the stream ends; give the number of bytes read."""
        start = self.used
        with memoryview(self._bytes) as whole:
            while self.used < len(whole) and (count := stream.readinto(whole[self.used :])):  # type: ignore[attr-defined]
                self.used += count
        return self.used - start

    def grow(self, stream: BinaryIO) -> int:
        """Make room for a line that is longer than the buffer, and read on."""
        self._bytes = self._bytes + bytearray(len(self._bytes))
        return self.fill(stream)

    def begin_with(self, data: bytes) -> None:
        """Forget what was there and start with some bytes."""
        if len(data) >= len(self._bytes):
            self._bytes = bytearray(2 * len(data))
        self._bytes[: len(data)] = data
        self.used = len(data)

    def drop(self, prefix: bytes) -> None:
        """Take away a prefix if it is there."""
        if self._bytes.startswith(prefix):
            self.begin_with(bytes(self._bytes[len(prefix) : self.used]))

    def last_line_end(self) -> int:
        """Give the place after the last line feed, or 0."""
        return self._bytes.rfind(b"\n", 0, self.used) + 1

    def rest(self, start: int) -> bytes:
        """Give a copy of what lies from `start` on."""
        return bytes(self._bytes[start : self.used])

    def until(self, end: int) -> memoryview:
        """Look at the first bytes."""
        return memoryview(self._bytes)[:end]

    def all(self) -> Iterator[memoryview]:
        """Look at everything, if there is anything."""
        if self.used:
            yield self.until(self.used)
