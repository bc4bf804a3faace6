"""The runs of a collection, as an evaluation needs them."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, cast

from cranfield.store import Store
from cranfield.store.runs import fetched_run, id_table, run_facts

if TYPE_CHECKING:
    from cranfield.runs.ids import IdTable
    from cranfield.runs.run import Order, Run


class StoredRuns:
    """The runs of a collection; their ids are read once, so that all runs share them."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._facts = {facts.name: facts for facts in run_facts(store)} if store is not None else {}

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    @cached_property
    def _tables(self) -> "tuple[IdTable, IdTable]":
        store = cast("Store", self._store)
        return id_table(store, "topic"), id_table(store, "document")

    def fetched(self, name: str) -> "Callable[[], Run]":
        """Fetch one run; what is given decodes it, under the name it is stored by, with the ids of the collection."""
        import pyarrow as pa

        from cranfield.runs.run import Run

        decoded = fetched_run(cast("Store", self._store), name)
        topics, documents = self._tables
        order = cast("Order", self._facts[name].ordered_by)

        def run() -> "Run":
            coded = decoded()
            names = topics.ids.take(pa.array(coded.topics))
            return Run(name, names, coded.offsets, documents.ids, coded.documents, coded.scores, order)

        return run
