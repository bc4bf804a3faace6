"""Data sets of ir_datasets by name, as `irds:NAME` (extra `datasets`): their records, and what is said of them.

What a data set needs is fetched by ir_datasets itself, into its own folder, when it is first read.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, Literal

from cranfield.base.errors import CranfieldError, InputError, MissingExtra, nearest, quoted
from cranfield.base.tables import Schema

EXTRA = "datasets"
Fields = dict[str, str]
What = Literal["docs", "queries", "qrels", "scoreddocs"]


@dataclass(frozen=True)
class DataSet:
    """A data set by its name."""

    name: str

    @cached_property
    def itself(self) -> Any:
        """The data set as ir_datasets has it."""
        try:
            import ir_datasets
        except ImportError:
            raise MissingExtra(f"irds:{self.name}", EXTRA) from None
        try:
            return ir_datasets.load(self.name)
        except KeyError:
            near = nearest(self.name, list(ir_datasets.registry))
            guess = f"; did you mean {quoted(near[0])}?" if near else ""
            raise InputError(f"ir_datasets knows no data set {quoted(self.name)}{guess}") from None

    def has(self, what: What) -> bool:
        """Whether it has documents, topics, qrels or scored documents."""
        return bool(self.itself.has(what))

    def records(self, what: Literal["docs", "queries"], schema: Schema) -> Iterator[tuple[Fields, Fields]]:
        """The parts of each document or topic by the names of the schema, and its other fields."""
        for record in self.each(what):
            values = {name: value for name, value in record._asdict().items() if value is not None}
            fields = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
            roles = schema.roles(fields)
            parts = {role: fields.pop(name) for role, name in roles.items()}
            if what == "docs" and "text" not in parts:  # as ir_datasets would put it together, with the title
                parts = {"id": parts["id"], "text": record.default_text()}
            yield parts, {name: str(value) for name, value in fields.items() if not isinstance(values[name], bytes)}

    def each(self, what: What) -> Iterator[Any]:
        """Each document, topic, judgment or scored document as ir_datasets has it."""
        if not self.has(what):
            nouns = {"docs": "documents", "queries": "topics", "scoreddocs": "scored documents"}
            raise InputError(f"the data set {quoted(self.name)} has no {nouns.get(what, what)}")
        with self.fetching():
            yield from getattr(self.itself, f"{what}_iter")()

    @contextmanager
    def fetching(self) -> Iterator[None]:
        """Say which file is missing and where it must lie, where ir_datasets cannot get it."""
        try:
            yield
        except (CranfieldError, KeyboardInterrupt, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 (each data set has readers and downloads of its own)
            # What was to be fetched is known only to the frames that ir_datasets was in.
            frames: list[Any] = [frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)]
            wanted = next((one for one in reversed(frames) if hasattr(one, "mirrors")), None)
            reason = " ".join(str(error).split()) or type(error).__name__
            if wanted is not None:
                urls = [one.url for one in wanted.mirrors if hasattr(one, "url")]
                local = [one for one in wanted.mirrors if hasattr(one, "_path")]
                place = wanted._cache_path or (local[0]._path if local else "")
                reason = f"a file is missing; get {urls[0]}, and put it at {place}" if urls else local[0]._message
            raise InputError(f"ir_datasets cannot read {quoted(self.name)}: {str(reason).rstrip('.')}") from None

    @property
    def terms(self) -> str:
        """The terms that its users agree to, if ir_datasets has them."""
        module = sys.modules.get(f"ir_datasets.datasets.{self.name.split('/')[0].replace('-', '_')}")
        return " ".join(str(getattr(module, "DUA", "")).split())


def cited(keys: Iterable[str]) -> str:
    """The entries of the bibliography that ir_datasets brings along."""
    text = (resources.files("ir_datasets") / "docs" / "bibliography.bib").read_text("utf-8") if keys else ""
    found = (re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", text, re.DOTALL | re.MULTILINE) for key in keys)
    return "\n".join(one[0] for one in found if one)
