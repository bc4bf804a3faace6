"""Files made on the spot, and what reading them gives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cranfield.corpus.reading import read_documents, read_topics

Reader = Callable[..., list[Any]]


@pytest.fixture
def documents_in(tmp_path: Path) -> Reader:
    """Give a function that writes a file and reads it as documents."""

    def read(content: str | bytes, name: str = "file", **options: Any) -> list[Any]:
        return list(read_documents(written(tmp_path / name, content), **options))

    return read


@pytest.fixture
def topics_in(tmp_path: Path) -> Reader:
    """Give a function that writes a file and reads it as topics."""

    def read(content: str | bytes, name: str = "file", **options: Any) -> list[Any]:
        return list(read_topics(written(tmp_path / name, content), **options))

    return read


@pytest.fixture
def brief() -> Callable[[list[Any]], list[Any]]:
    """Give a function that shows problems as (code, severity, lines) among the records."""

    def shown(records: list[Any]) -> list[Any]:
        return [
            (record.code, record.severity, record.lines) if hasattr(record, "severity") else record
            for record in records
        ]

    return shown


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
