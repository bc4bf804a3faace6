"""What users may name where a file is expected: a path, a URL that fsspec reaches, one run of a set, a data set.

Only words that a user typed, in a command or in Python, become a `Place`. What stands in a collection, a bundle, a
card or a list of runs is a path and nothing else: no file from elsewhere makes this machine contact an address.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import Any

from cranfield.base.errors import MissingExtra, SourceError, UsageError, quoted
from cranfield.base.registry import deferred

with deferred:
    import fsspec

_URL = re.compile(r"[a-z][a-z0-9+.:-]*://", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/?#]*:[^/?#]*@|://[^/?#]*:(?![0-9]+/)[^?#]*@|https?://[^/?#]*@", re.IGNORECASE)
"""A password, one with a slash in it, which no URL may have, or the token that stands for one."""
_QUERY = re.compile(r"([a-z][a-z0-9+.:-]*:/[^\s?'\"]*)\?[^\s'\")]+", re.IGNORECASE)
_ONE_OF_A_SET = re.compile(r"(.*?(?:\.parquet|/))#(.+)", re.IGNORECASE | re.DOTALL)
_REFUSED = (401, 403)

DATA_SET = "irds:"
"""How the name of a data set of ir_datasets begins."""


class Place(PosixPath):
    """A URL, or one run of a set of runs, such as `runs.parquet#bm25`, where a path is expected.

    `whole` is the file or folder, by its path or its URL. As a path and in messages a URL has no query, which may
    hold a key. The network is asked nothing before the file is read: until then a URL is believed to be a file.
    """

    whole: str
    run: str

    def __new__(cls, word: str) -> Place:
        """The place that a word names."""
        return super().__new__(cls, _without_query(word))

    def __init__(self, word: str) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(_without_query(word))
        one = _ONE_OF_A_SET.fullmatch(word)
        self.whole, self.run = (one[1], one[2]) if one else (word, "")
        if _PASSWORD.search(word):
            raise UsageError("a password in a URL is seen by everyone who sees the command: use the environment")

    def __reduce__(self) -> Any:
        return Place, (self.word,)

    def __str__(self) -> str:
        return _without_query(self.whole) + (f"#{self.run}" if self.run else "")

    __fspath__ = __str__

    @property
    def parent(self) -> Path:  # type: ignore[override]
        """What would be beside a file; of a URL that is nothing that can be read."""
        return Path(str(self)).parent

    @property
    def word(self) -> str:
        """What the user typed."""
        return f"{self.whole}#{self.run}" if self.run else self.whole

    @property
    def data_set(self) -> str:
        """The name of the data set of ir_datasets that is meant, if one is."""
        return self.whole.removeprefix(DATA_SET) if self.whole.startswith(DATA_SET) else ""

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return _URL.match(self.whole) is not None

    def exists(self, **options: Any) -> bool:
        """Whether there is something; a URL is believed."""
        return self.is_remote or bool(self.data_set) or Path(self.whole).exists()

    def is_file(self, **options: Any) -> bool:
        """Whether a run can be read there, and is a file."""
        return self.exists() and not self.data_set

    def is_dir(self, **options: Any) -> bool:
        """No place is a folder of files."""
        return False

    def fetch(self, copy: str, most: int) -> None:
        """Copy the file to this machine; it is refused where it has more than `most` bytes."""
        size = 0

        def count(arrived: int) -> None:
            nonlocal size
            size += arrived
            if size > most:
                raise SourceError(str(self), f"more than {most >> 20:,} MB; make the file smaller, or copy it first")

        self.asked(lambda files, path: files.get_file(path, copy, callback=_counting(count)))

    def asked(self, ask: Callable[[Any, str], Any]) -> Any:
        """What a file system of fsspec answers; what goes wrong is one sentence without anything the library says.

        Its own messages may hold the query of a URL or an access key.
        """
        try:
            return ask(*fsspec.url_to_fs(self.whole))
        except ImportError:
            raise MissingExtra(quoted(str(self)), "remote") from None
        except (SourceError, MemoryError):
            raise
        except FileNotFoundError:
            reason = "no such file"
        except Exception as error:  # noqa: BLE001 (each library behind fsspec has errors of its own)
            known = str(error).startswith("Protocol not known")
            denied = isinstance(error, PermissionError) or getattr(error, "status", None) in _REFUSED
            kind = type(error).__name__
            reason = f"cannot be read, or the connection broke ({kind}); try again, or copy it here first"
            reason = "access denied; are the credentials in the environment right?" if denied else reason
            reason = "fsspec knows no such kind of address" if known else reason
        raise SourceError(str(self), reason) from None


def _counting(count: Callable[[int], None]) -> Any:
    """A callback of fsspec that is told how many bytes arrived."""
    callback = fsspec.callbacks.Callback()
    callback.relative_update = lambda inc=1: count(inc)
    return callback


def _without_query(word: str) -> str:
    return re.split("[?#]", word, maxsplit=1)[0] if _URL.match(word) else word


def without_queries(text: str) -> str:
    """A sentence in which no URL has a query: it may hold a key."""
    return _QUERY.sub(r"\1?…", text) if ":/" in text else text


def located(word: str | os.PathLike[str]) -> Path:
    """The place that a user's word names: a path, unless it is a URL, one run of a set, or a data set."""
    if isinstance(word, Place):
        return word
    text = os.fspath(word)
    is_place = _URL.match(text) or _ONE_OF_A_SET.fullmatch(text) or text.startswith(DATA_SET)
    return Place(text) if is_place else Path(text)


def matching(word: str | os.PathLike[str]) -> list[str]:
    """The files that a URL with * or [ matches, in order; any other word as it is."""
    place = located(word)
    if not isinstance(place, Place) or not place.is_remote or not {"*", "["} & set(str(place)):
        return [place.word if isinstance(place, Place) else os.fspath(word)]

    def listed(files: Any, path: str) -> list[str]:
        files.invalidate_cache()
        return sorted(files.unstrip_protocol(one) for one in files.glob(path))

    found: list[str] = place.asked(listed)
    if not found:
        raise SourceError(str(place), "no file matches")
    return found
