"""Data sets of ir_datasets by name, as `irds:NAME` (extra `datasets`): their records, and what is said of them.

What a data set needs is fetched by ir_datasets itself, into its own folder, when it is first read.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any, Literal

from cranfield.base.errors import CranfieldError, InputError, MissingExtra, nearest, quoted
from cranfield.base.tables import Schema
from cranfield.corpus import markup

EXTRA = "datasets"
Fields = dict[str, str]
_LICENCE = re.compile(r"[^.]*\blicen[cs]ed?\b[^.]*(?:\.\d[^.]*)*\.", re.IGNORECASE)
_LEVEL = re.compile(r"\brel=(\d+)")


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

    def has(self, what: Literal["docs", "queries", "qrels", "scoreddocs"]) -> bool:
        """Whether it has documents, topics, qrels or scored documents."""
        return bool(self.itself.has(what))

    def records(self, what: Literal["docs", "queries"], schema: Schema) -> Iterator[tuple[Fields, Fields]]:
        """The parts of each document or topic by the names of the schema, and its other fields."""
        for record in self._each(what):
            values = {name: value for name, value in record._asdict().items() if value is not None}
            fields = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
            roles = schema.roles(fields)
            parts = {role: fields.pop(name) for role, name in roles.items()}
            if what == "docs" and "text" not in parts:  # as ir_datasets would put it together, with the title
                parts = {"id": parts["id"], "text": record.default_text()}
            yield parts, {name: str(value) for name, value in fields.items() if not isinstance(values[name], bytes)}

    def judgments(self) -> Iterator[tuple[str, str, str]]:
        """Topic, document and grade of each judgment."""
        return ((one.query_id, one.doc_id, str(one.relevance)) for one in self._each("qrels"))

    def scored(self) -> Iterator[tuple[str, str, str]]:
        """Topic, document and score of each scored document."""
        return ((one.query_id, one.doc_id, repr(float(one.score))) for one in self._each("scoreddocs"))

    def _each(self, what: Literal["docs", "queries", "qrels", "scoreddocs"]) -> Iterator[Any]:
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

    def about(self) -> About:
        """What ir_datasets knows of it without fetching anything."""
        data_set = self.itself
        said = data_set.documentation() if hasattr(data_set, "documentation") else {}
        counted = data_set.metadata() if hasattr(data_set, "metadata") else {}
        counts = {ours: counted.get(what, {}).get("count") for ours, what in _COUNTED.items()}
        description = " ".join(markup.html_to_text(said.get("desc", ""))[1].split())
        module = sys.modules.get(f"ir_datasets.datasets.{self.name.split('/')[0].replace('-', '_')}")
        terms = str(getattr(module, "DUA", "")) or " ".join(_LICENCE.findall(description))
        levels = [int(level) for word in said.get("official_measures", ()) for level in _LEVEL.findall(str(word))]
        grades = counted.get("qrels", {}).get("fields", {}).get("relevance", {}).get("counts_by_value", {})
        return About(
            title=said.get("pretty_name", ""),
            description=description,
            licence=" ".join(terms.split()),
            citation="\n".join(_cited(said.get("bibtex_ids", ()))),
            meanings=dict(data_set.qrels_handler().qrels_defs() or {}) if self.has("qrels") else {},
            grades=frozenset(map(int, grades)),
            relevant_from=max(levels, default=None),
            counts={what: count for what, count in counts.items() if count is not None},
        )


_COUNTED = {"documents": "docs", "topics": "queries", "judgments": "qrels"}


@dataclass(frozen=True, kw_only=True)
class About:
    """What is known of a data set: its terms, how it is cited, what its grades mean and how many records it has."""

    title: str = ""
    description: str = ""
    licence: str = ""
    citation: str = ""
    meanings: Mapping[int, str] = field(default_factory=dict)
    grades: frozenset[int] = frozenset()
    relevant_from: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


def _cited(keys: Any) -> Iterator[str]:
    """The entries of the bibliography that ir_datasets brings along."""
    text = (resources.files("ir_datasets") / "docs" / "bibliography.bib").read_text("utf-8") if keys else ""
    for key in keys:
        if found := re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", text, re.DOTALL | re.MULTILINE):
            yield found[0]
