"""A data set of ir_datasets, as `irds:NAME`: documents stay in the store that ir_datasets keeps of them."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

from cranfield.base.errors import InputError
from cranfield.base.files import Progress, silent
from cranfield.base.records import Document
from cranfield.base.tables import Schema
from cranfield.corpus import datasets
from cranfield.corpus.outside import document_of, document_sources


@document_sources.register("irds")
class IrDatasets:
    """Documents that are looked up in the document store of a data set."""

    summary = "a data set of ir_datasets by its name (irds:NAME); its own document store is used"
    located = staticmethod(str)

    def __init__(self, place: str, schema: Schema) -> None:
        self._data_set, self._schema, self._lock = datasets.DataSet(place), schema, Lock()

    def prepare(self, progress: Progress = silent) -> int | None:
        """Let ir_datasets get the documents and build its store, which it does only once."""
        with self._data_set.fetching():
            if hasattr(self._store, "build"):
                self._store.build()
            return self._data_set.itself.docs_count()  # type: ignore[no-any-return]

    def fetch(self, id: str) -> Document | None:
        """The document of this id, by the names of its fields; one without a text is what ir_datasets makes of it."""
        with self._lock:  # the stores were not made for threads
            try:
                found = self._store.get(id)
            except KeyError:
                return None
        fields = {name: value for name, value in found._asdict().items() if not isinstance(value, bytes)}
        if "text" not in self._schema.roles(fields):
            fields["text"] = found.default_text()
        return document_of(fields, self._schema)

    @cached_property
    def _store(self) -> Any:
        if not self._data_set.has("docs"):
            raise InputError("this data set has no documents")
        return self._data_set.itself.docs_store()
