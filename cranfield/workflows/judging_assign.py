"""Share topics out among assessors, and plan what is judged twice and what is shown again."""

from collections.abc import Sequence

from cranfield.errors import InputError, UnknownName, UsageError
from cranfield.judge.assignment import Assigned, Overlap, check_names, equal_shares, together
from cranfield.judge.probes import Probes
from cranfield.workflows.judging import checked_name
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.assignments import (
    assigned,
    plan_overlap,
    plan_probes,
    planned_overlap,
    planned_probes,
    put_assignments,
)
from cranfield.store.drafts import refused_topics
from cranfield.store.events import add_assessor
from cranfield.store.pools import documents_to_judge, pool_facts, pool_topics
from cranfield.store.topics import topic_ids

__all__ = ["assign_topics", "assigned", "plan", "planned_overlap", "planned_probes"]


def assign_topics(
    store: Store,
    assessors: Sequence[str],
    *,
    topics: Sequence[str] = (),
    pool: str = "",
    again: bool = False,
    shared: bool = False,
    overlap: Overlap | None = None,
    probes: Probes | None = None,
) -> list[Assigned]:
    """Give topics to assessors in equal shares, or all to all of them where they are `shared`.

    Without `topics`, those that nobody has yet, or `again` all. A topic's earlier assignment is replaced; judgments
    stay. What is planned for overlap and probes stays as it was where nothing else is said.
    """
    names = [checked_name(store, name) for name in assessors]
    sizes = _sizes(store, pool)
    chosen = _chosen(store, sizes, topics, again=again)
    twice = planned_overlap(store) if overlap is None else overlap
    seconds = twice.by - 1 if twice.share and not shared else 0
    check_names(names, seconds=seconds if overlap is not None else 0)
    if shared:
        made = together(chosen, names)
    else:
        made = equal_shares({topic: sizes[topic] for topic in chosen}, names, seconds=min(seconds, len(names) - 1))
    with store.write():
        for name in names:
            add_assessor(store, name, now=now())
        put_assignments(store, made, topics=chosen, now=now())
        plan(store, overlap=overlap, probes=probes)
    return made


def plan(store: Store, *, overlap: Overlap | None, probes: Probes | None) -> None:
    """Plan overlap and probes, inside `store.write()`; what is None stays as it was."""
    if overlap is not None:
        plan_overlap(store, overlap)
    if probes is not None:
        plan_probes(store, probes)


def _sizes(store: Store, pool: str) -> dict[str, int]:
    """Give how many documents each topic has in a pool; before there is one, all topics are taken for equal."""
    known = pool_facts(store)
    if not known and not pool:
        topics = dict.fromkeys(topic_ids(store), 1)
    else:
        name = pool or known[-1].name
        if name not in [facts.name for facts in known]:
            raise UnknownName("pool", name, [facts.name for facts in known])
        topics = {topic: len(documents_to_judge(store, name, topic)) for topic in pool_topics(store, name)}
    refused = refused_topics(store)
    return {topic: size for topic, size in topics.items() if topic not in refused}


def _chosen(store: Store, sizes: dict[str, int], topics: Sequence[str], *, again: bool) -> list[str]:
    if again and topics:
        raise UsageError("say which topics, or that all are to be given out again, not both")
    unknown = [topic for topic in topics if topic not in sizes]
    if unknown:
        raise UnknownName("pooled topic", unknown[0], sizes)
    if topics:
        return list(dict.fromkeys(topics))
    taken = set() if again else {one.topic for one in assigned(store)}
    chosen = [topic for topic in sizes if topic not in taken]
    if not chosen:
        raise InputError("every topic has its assessor; name topics with --topic, or give all out again with --again")
    return chosen
