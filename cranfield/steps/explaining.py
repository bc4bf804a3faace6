"""Lay open the lists of runs for one topic, by the same qrels, order and threshold that scores are made with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.errors import InputError, UsageError, quoted
from cranfield.steps.evaluate_asked import Asked
from cranfield.steps.evaluate_reading import read_in_full
from cranfield.store import Store
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.evaluate.explain import Step


@dataclass(frozen=True)
class Explained:
    """The lists of runs for a topic, each with the name of its run; what they were made with; what is relevant."""

    topic: str
    lists: "tuple[tuple[str, list[Step]], ...]"
    qrels_hash: str
    order: str
    rel: int

    def __iter__(self) -> "Iterator[tuple[str, list[Step]]]":
        return iter(self.lists)


def explain_lists(asked: Asked, topic: str, *, depth: int = 30, store: Store | None = None) -> Explained:
    """Give for each run its name and its list for a topic, laid open.

    Of the measures asked for the threshold counts, which has to be one for all of them.
    """
    from cranfield.evaluate.explain import explain
    from cranfield.evaluate.novelty import novelty_hash

    if not isinstance(topic, str):
        raise UsageError(f"a topic is named by its id, a word: {str(topic)!r}, not {topic!r}")
    if asked.ties == "expected":
        raise UsageError("an expected score is a mean over many lists: there is no single one to lay open")
    if asked.duplicates == "novelty" and asked.ties != "trec":
        raise UsageError("with novelty ties stay as they are: which copy is first hangs on their order")
    rel = _threshold(asked, store)
    clusters = None
    if asked.duplicates == "novelty":
        from cranfield.steps.clusters import clusters_for

        clusters = clusters_for(asked.clusters, store)
    qrels, runs = read_in_full(asked, store)
    reference = asked.like or "10"
    lists = tuple(
        (
            run.tag,
            explain(qrels, run, topic, rel=rel, depth=depth, reference=reference, ties=asked.ties, clusters=clusters),
        )
        for run in runs
    )
    if not any(steps for _, steps in lists):
        names = ", ".join(quoted(name) for name, _ in lists)
        raise InputError(f"there is no document for topic {quoted(topic)} in {names}")
    order = f"trec_eval {reference}" + ("" if asked.ties == "trec" else f", ties {asked.ties}")
    made_of = qrels.content_hash if clusters is None else novelty_hash(qrels, clusters)
    return Explained(topic, lists, made_of, order, rel)


def _threshold(asked: Asked, store: Store | None) -> int:
    """Give the lowest grade that is relevant: what the measures say, else what the collection does."""
    from cranfield.evaluate.expression import own_measures, parse_measures

    usual = 1 if store is None else current_scale(store)[1].relevant_from
    measures = own_measures(parse_measures(asked.measures, threshold=usual))
    idle = [str(one) for one in measures if {name for name, _ in one.settings} - {"rel"}]
    if idle:
        raise UsageError(f"a list is laid open with P, R and DCG; of {idle[0]} nothing but rel could be shown")
    found = {one.rel for one in measures if one.rel is not None}
    if len(found) > 1:
        raise UsageError("a list is laid open for one threshold; these measures have several")
    return found.pop() if found else usual
