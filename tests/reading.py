"""Documents and topics as a reader of their files gives them, for tests of what is read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cranfield.base.files import Source
from cranfield.corpus.reading import read_records


def read_documents(path: Path | Source, **options: Any) -> Iterator[Any]:
    """The documents of a file and the problems with it."""
    return read_records("documents", path, **options)


def read_topics(path: Path | Source, **options: Any) -> Iterator[Any]:
    """The topics of a file and the problems with it."""
    return read_records("topics", path, **options)
