"""Lay open the lists of runs for one topic, by the same qrels, order and threshold that scores are made with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from cranfield.errors import InputError, UsageError, quoted
from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.evaluate_reading import read_in_full
from cranfield.workflows.measures_asked import gains_of, measures_asked
from cranfield.store import Store
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.evaluate.explain import Step
    from cranfield.evaluate.measures.gain import GradeGains


_UNSEEN_NAMED = 8


@dataclass(frozen=True)
class Explained:
    """The lists of runs for a topic, each with the name of its run; what they were made with; what is relevant.

    `unseen` are sentences on the relevant documents that are not among those shown.
    """

    topic: str
    lists: "tuple[tuple[str, list[Step]], ...]"
    unseen: tuple[str, ...]
    qrels_hash: str
    order: str
    rel: int
    gains: "GradeGains" = ()

    def __iter__(self) -> "Iterator[tuple[str, list[Step]]]":
        return iter(self.lists)


def explain_lists(asked: Asked, topic: str, *, depth: int = 30, store: Store | None = None) -> Explained:
    """Give for each run its name and its list for a topic, laid open.

    Of the measures asked for the threshold counts, which has to be one for all of them.
    """
    from cranfield.evaluate.explain import explain, relevant_documents
    from cranfield.evaluate.novelty import novelty_hash

    if not isinstance(topic, str):
        raise UsageError(f"a topic is named by its id, a word: {str(topic)!r}, not {topic!r}")
    if asked.ties == "expected":
        raise UsageError("an expected score is a mean over many lists: there is no single one to lay open")
    if asked.duplicates == "novelty" and asked.ties != "trec":
        raise UsageError("with novelty ties stay as they are: which copy is first hangs on their order")
    rel, gains = _scale(asked, store)
    clusters = None
    if asked.duplicates == "novelty":
        from cranfield.workflows.clusters import clusters_for

        clusters = clusters_for(asked.clusters, store)
    qrels, runs = read_in_full(asked, store)
    reference = asked.like or "10"
    explained = partial(explain, rel=rel, gains=gains, reference=reference, ties=asked.ties, clusters=clusters)
    whole = [(run.tag, explained(qrels, run, topic)) for run in runs]
    if not any(steps for _, steps in whole):
        names = ", ".join(quoted(name) for name, _ in whole)
        raise InputError(f"there is no document for topic {quoted(topic)} in {names}")
    order = f"trec_eval {reference}" + ("" if asked.ties == "trec" else f", ties {asked.ties}")
    made_of = qrels.content_hash if clusters is None else novelty_hash(qrels, clusters)
    relevant = relevant_documents(qrels, topic, rel=rel) if clusters is None else {}
    lists = tuple((name, steps[:depth]) for name, steps in whole)
    unseen = tuple(note for name, steps in whole for note in _unseen(name, steps, depth, relevant))
    return Explained(topic, lists, unseen, made_of, order, rel, gains)


def _unseen(name: str, steps: "list[Step]", depth: int, relevant: Mapping[str, int]) -> Iterator[str]:
    """Say which relevant documents are not among those shown, and where they are."""
    further = [f"{step.document} (grade {step.state}, rank {step.rank})" for step in steps[depth:] if step.relevant]
    if further:
        yield f"{name}: relevant further down: {_few(further)}"
    there = {step.document for step in steps}
    missing = [f"{document} (grade {grade})" for document, grade in relevant.items() if document not in there]
    if missing:
        yield f"{name}: relevant and not in the list: {_few(missing)}"


def _few(words: list[str]) -> str:
    more = len(words) - _UNSEEN_NAMED
    return ", ".join(words[:_UNSEEN_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _scale(asked: Asked, store: Store | None) -> "tuple[int, GradeGains]":
    """Give the lowest grade that is relevant, and gains: what the measures say, else what the collection does."""
    from cranfield.evaluate.expression import own_measures

    measures = own_measures(measures_asked(asked.measures, store))
    idle = [str(one) for one in measures if {name for name, _ in one.settings} - {"rel", "gains"}]
    if idle:
        raise UsageError(f"a list is laid open with P, R and DCG; of {idle[0]} only rel and gains could be shown")
    found = {one.rel for one in measures if one.rel is not None}
    if len(found) > 1:
        raise UsageError("a list is laid open for one threshold; these measures have several")
    gains = {
        cast("GradeGains", dict(one.settings).get("gains", ())) for one in measures if "gains" in one.kind.parameters
    }
    if len(gains) > 1:
        raise UsageError("a list is laid open with one gain for each grade; these measures have several")
    scale = None if store is None else current_scale(store)[1]
    usual = (1, ()) if scale is None else (scale.relevant_from, gains_of(scale))
    return found.pop() if found else usual[0], gains.pop() if gains else usual[1]
