"""What a collection knows about who fed its pool, as verdicts need it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.workflows.pool_inputs import entrants_of_version, queries, reader, with_ids
from cranfield.store import Store
from cranfield.store.pools import facts_of_pool, pool_facts, pool_number, pool_topics, pooled_runs
from cranfield.store.pools_content import versions_of_pool
from cranfield.store.pools_live import ends
from cranfield.store.runs import run_facts

if TYPE_CHECKING:
    from cranfield.pool.plan import Plan
    from cranfield.pool.replay import Labels
    from cranfield.qrels.qrels import Qrels
    from cranfield.reuse.contributors import Contributor
    from cranfield.reuse.provenance import Level, Provenance


@dataclass(frozen=True, eq=False)
class KnownPool:
    """A stored pool: its plan, and the runs that fed it and are still here.

    `depth` is set where the pool is the first so many documents of each run and nothing else: then holding a group
    out is deleting what it alone brought. Any other plan is played again without the group. `finished` is the share
    of the topics for which a live plan has chosen everything.
    """

    name: str
    plan: "Plan"
    seed: int
    contributors: "tuple[Contributor, ...]"
    depth: int | None
    entries: tuple[tuple[str, str, str], ...]
    finished: float = 1.0
    notes: tuple[str, ...] = ()


def known_pool(store: Store, name: str = "") -> KnownPool | None:
    """Give the pool of this name, or the latest; None where there is none."""
    from cranfield.pool.parsing import parse_stored
    from cranfield.reuse.contributors import Contributor

    if not name and not pool_facts(store):
        return None
    facts = facts_of_pool(store, name)
    here = {one.name: one for one in run_facts(store)}
    fed = pooled_runs(store, facts.name)
    gone = [one.run for one in fed if one.run not in here]
    contributors = tuple(Contributor(one.run, one.group_name, here[one.run].family) for one in fed if one.run in here)
    plan = parse_stored(facts.plan_in_full)
    depth = None if facts.one_per_cluster else depth_of(plan)
    return KnownPool(
        name=facts.name,
        plan=plan,
        seed=facts.seed,
        contributors=contributors,
        depth=depth,
        entries=() if depth is not None else tuple(_entries(store, facts.name)),
        finished=_finished(store, facts.name) if plan.is_live else 1.0,
        notes=(f"withdrawn since the pool was made, and not held out: {', '.join(gone)}",) if gone else (),
    )


def _finished(store: Store, name: str) -> float:
    ended, topics = ends(store, pool_number(store, name)), pool_topics(store, name)
    return len(ended) / len(topics) if topics else 1.0


def depth_of(plan: "Plan") -> int | None:
    """Give the depth of a plan that is `depth N` and nothing else; None for every other."""
    from cranfield.pool.plan import Scope, Selection
    from cranfield.pool.strategies.depth import Depth

    (step, *others) = plan.steps
    plain = isinstance(step, Selection) and step.strategy == Depth() and step.scope == Scope()
    return int(step.amount.number) if plain and isinstance(step, Selection) and not others else None


def _entries(store: Store, name: str) -> Iterable[tuple[str, str, str]]:
    return store.rows(
        """SELECT topic, document, run FROM pool_ranks JOIN pools ON number = pool
           WHERE name = ? ORDER BY topic, document, run""",
        name,
    )


def replayed_without_groups(
    store: Store, pool: KnownPool, levels: "Mapping[Level, Provenance]", qrels: "Qrels"
) -> "dict[Level, Provenance]":
    """Play the plan again without each group and each family; labels are looked up in the qrels.

    Single runs are not held out so: their siblings stay, and it would take a replay for each of them.
    """
    from cranfield.reuse.replaying import replayed

    labels = _labels(qrels, store)
    member = {level: _members(pool, level) for level in levels if level != "run"}
    return {
        level: replayed(
            levels[level],
            qrels,
            {group: list(_chosen_without(store, pool, names, labels)) for group, names in groups.items()},
        )
        for level, groups in member.items()
    }


def _members(pool: KnownPool, level: "Level") -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in pool.contributors:
        found.setdefault(one.family if level == "family" else one.group, set()).add(one.run)
    return found


def _chosen_without(store: Store, pool: KnownPool, names: set[str], labels: "Labels") -> Iterable[tuple[str, str]]:
    from cranfield.pool.replay import replay
    from cranfield.pool.shortening import within_lists

    version = versions_of_pool(store, pool.name)[-1].version
    left = [run for run in entrants_of_version(store, pool.name, version) if run.name not in names]
    if not left:
        return []
    runs = with_ids(store, left)
    topics = [topic for topic in pool_topics(store, pool.name) if topic in runs.codes_by_topic]
    held = replay(
        within_lists(pool.plan, runs.depth),
        runs,
        labels,
        topics=topics,
        seed=pool.seed,
        texts=reader(store),
        queries=queries(store),
    )
    return [(one.topic, one.document) for one in held.judged]


def _labels(qrels: "Qrels", store: Store) -> dict[str, dict[str, bool]]:
    from cranfield.store.scales import current_scale

    relevant_from = current_scale(store)[1].relevant_from
    found: dict[str, dict[str, bool]] = {}
    for topic, document, grade in qrels:
        if grade >= 0:
            found.setdefault(topic, {})[document] = grade >= relevant_from
    return found
