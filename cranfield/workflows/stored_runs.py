"""The runs of a collection, as an evaluation needs them."""

import logging
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from cranfield.errors import CollectionError, CranfieldError, Problem, ProblemsFound, quoted
from cranfield.store import Store
from cranfield.store.runs import StoredRanking, facts_of, fetched_ranking, id_table, run_facts

if TYPE_CHECKING:
    import pyarrow as pa

    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.coded_pairs import CodedPairs
    from cranfield.qrels.qrels import Qrels
    from cranfield.runs.ids import IdTable
    from cranfield.runs.run import Codes, Order

log = logging.getLogger(__name__)


class StoredName(str):
    """The name of a stored run that nobody typed: it means that run, whatever files lie about."""

    __slots__ = ()


def stored_names(store: Store | None) -> tuple[StoredName, ...]:
    """Give the names of all runs of a collection; none where there is no collection."""
    return tuple(StoredName(facts.name) for facts in run_facts(store)) if store is not None else ()


class StoredRuns:
    """The runs of a collection; their ids are read once, so that all runs share them.

    Where `judged` gives qrels, a run is only held against these, and its ids and scores are not needed. They are
    asked for when the first run is decoded: until then they may still be on their way.
    """

    def __init__(self, store: Store | None, judged: "Callable[[], Qrels | None] | None" = None) -> None:
        self._store, self._judged = store, judged
        self._facts = {facts.name: facts for facts in run_facts(store)} if store is not None else {}
        self._topic_ids: dict[bytes, pa.Array] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    def why_missing(self, name: str) -> str:
        """Say why there is no such run, with the nearest names; nothing where there is no collection."""
        try:
            return "" if self._store is None else facts_of(self._store, name).name
        except CranfieldError as error:
            return str(error)

    @cached_property
    def _tables(self) -> "tuple[IdTable, IdTable]":
        store = cast("Store", self._store)
        return id_table(store, "topic"), id_table(store, "document")

    @cached_property
    def _pairs(self) -> "CodedPairs | None":
        from cranfield.evaluate.coded_pairs import coded_pairs

        qrels = None if self._judged is None else self._judged()
        topics, documents = self._tables
        return None if qrels is None else coded_pairs(qrels, topics.ids, documents.ids)

    def fetched(self, name: str) -> "Callable[[], AnyRun]":
        """Fetch one run; what is given decodes it, under the name it is stored by, with the ids of the collection."""
        log.info("fetching the stored run %s", name)
        _ = self._tables  # read here, since what is given may run in any thread
        return partial(self._decoded, name, fetched_ranking(cast("Store", self._store), name))

    def _decoded(self, name: str, stored: StoredRanking) -> "AnyRun":
        try:
            return self._sound(name, stored)
        except CollectionError as error:
            remedy = "cranfield check says what else is damaged; go back to a backup, or withdraw and submit it again"
            problem = Problem("damaged-run", f"{error} ({quoted(name)})", remedy=remedy)
            raise ProblemsFound(f"run {quoted(name)} cannot be read", [problem]) from None

    def _sound(self, name: str, stored: StoredRanking) -> "AnyRun":
        pairs, order = self._pairs, cast("Order", self._facts[name].ordered_by)
        if pairs is not None:
            ranking = stored.order()
            return pairs.known(ranking, self._named(ranking.topics), name=name, has_ties=order == "score")
        from cranfield.runs.run import Run

        coded, documents = stored.run(), self._tables[1].ids
        return Run(name, self._named(coded.topics), coded.offsets, documents, coded.documents, coded.scores, order)

    def _named(self, topics: "Codes") -> "pa.Array":
        """Give the ids of topics; runs with the same topics share one array."""
        from cranfield.arrow import taken

        key = topics.tobytes()
        if key not in self._topic_ids:
            self._topic_ids[key] = taken(self._tables[0].ids, topics)
        return self._topic_ids[key]
