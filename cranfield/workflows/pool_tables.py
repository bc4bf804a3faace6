"""A pool as tables: its documents, runs, groups, topics, versions, and what a deeper one would add."""

from typing import TYPE_CHECKING

from cranfield.workflows.pool_show import ShownPool

if TYPE_CHECKING:
    from cranfield.pool.pool import Pool
    from cranfield.report.table import Table

KINDS = ("document", "run", "group", "topic", "depth", "version", "overlap")
"""The tables there are."""


def pool_table(shown: ShownPool, what: str, *, of: str = "run") -> "Table":
    """Give one table about a pool; an overlap is of every two runs, or groups."""
    from cranfield.report.table import Column, table_of

    if what == "document":
        return _documents(shown)
    if what == "topic":
        rows = [(one.topic, one.documents, one.judged, one.ended) for one in shown.topics]
        return table_of(["topic", "documents", "judged", "ended"], rows)
    if what == "group":
        return table_of(["group", "runs", "documents", "only_this_group"], shown.groups)
    if what == "depth":
        return table_of(["depth", "more", "more_in_all", Column("hours", digits=1, numeric=True)], shown.depths)
    if what == "version":
        columns = ["version", "made", "made_by", "runs", "documents", "content_hash"]
        made = [
            (one.version, one.made, one.made_by, runs, new, one.content_hash) for one, runs, new in shown.versions
        ]
        return table_of(columns, made)
    if what == "overlap":
        return table_of([of, f"other_{of}", "shared", "jaccard"], shown.pairs(of))
    return table_of(["run", "group", "documents", "only_this_group"], shown.runs)


def _documents(shown: ShownPool) -> "Table":
    """Give every document in the order of judging; of the runs that have it the one that ranks it highest."""
    from cranfield.report.table import Column, table_of

    pool = shown.pool
    strata = [stratum.name for stratum in pool.stratum_table]
    topics = pool.topic_of_entry.tolist()
    starts = pool.offsets.tolist()
    rows = [
        (pool.topics[topic], document, row - starts[topic] + 1, strata[stratum], chance, version, *known)
        for row, (topic, document, stratum, chance, version, known) in enumerate(
            zip(
                topics,
                pool.ids,
                pool.strata.tolist(),
                [None if chance != chance else chance for chance in pool.probabilities.tolist()],
                pool.versions.tolist(),
                _best(pool),
                strict=True,
            )
        )
    ]
    names = ("topic", "document", "position", "stratum", "probability", "version", "runs", "best_rank", "best_run")
    numeric = {"position", "probability", "version", "runs", "best_rank"}
    return table_of([Column(name, numeric=name in numeric) for name in names], rows)


def _best(pool: "Pool") -> "list[tuple[int, int | None, str | None]]":
    """Give for each document how many runs have it, and the best rank with the first run that has it there."""
    import numpy as np

    counts = np.diff(pool.contribution_offsets)
    many = max(len(pool.sources), 1)
    keys = pool.contribution_ranks.astype(np.int64) * many + pool.contribution_runs
    filled = np.flatnonzero(counts)
    best = np.zeros(len(counts), dtype=np.int64)
    if len(filled):
        best[filled] = np.minimum.reduceat(keys, pool.contribution_offsets[filled])
    return [
        (count, key // many, pool.sources[key % many].name) if count else (0, None, None)
        for count, key in zip(counts.tolist(), best.tolist(), strict=True)
    ]
