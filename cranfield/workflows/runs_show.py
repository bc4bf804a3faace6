"""List, show, export and withdraw runs."""

from collections.abc import Sequence
from typing import BinaryIO

from cranfield.errors import Problem, UsageError
from cranfield.report.table import Value
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.runs import (
    RunFacts,
    coded_run_by_number,
    facts_of,
    id_table,
    latest_facts,
    latest_number,
    run_facts,
    warnings_of,
    withdraw_run,
)


def list_runs(store: Store, *, withdrawn: bool = False) -> list[RunFacts]:
    """Give the runs in the order they were submitted."""
    return run_facts(store, withdrawn=withdrawn)


def show_run(store: Store, name: str) -> tuple[dict[str, Value], list[Problem]]:
    """Give what is known of one run, withdrawn or not, and what intake found in it and kept."""
    facts = latest_facts(store, name)
    shown: dict[str, Value] = {
        "run": facts.name,
        "tag": facts.tag,
        "group": facts.group_name,
        "family": facts.family,
        "role": facts.role,
        "priority": facts.priority,
        "description": facts.description,
        "ordered by": facts.ordered_by,
        "topics": facts.topics,
        "rows": facts.rows,
        "content hash": facts.content_hash,
        "file": facts.file_name,
        "file SHA-256": facts.file_sha256,
        "submitted": facts.submitted,
    }
    if facts.withdrawn:
        shown |= {"withdrawn": facts.withdrawn, "because": facts.withdrawn_because}
    return shown, warnings_of(store, name)


def export_run(store: Store, name: str, stream: BinaryIO, *, format: str = "trec") -> RunFacts:
    """Write an equivalent file: reading it gives the same topics, documents, order and scores.

    A withdrawn run is written too; the facts that are given say so.
    """
    from cranfield.runs.format import run_formats
    from cranfield.runs.ids import from_coded

    writer = run_formats.get(format)
    facts = latest_facts(store, name)
    coded = coded_run_by_number(store, latest_number(store, name))
    run = from_coded(
        coded,
        id_table(store, "topic"),
        id_table(store, "document"),
        tag=facts.name,
        order=facts.ordered_by,  # type: ignore[arg-type]
    )
    writer.write(run, stream)
    return facts


def withdraw(store: Store, names: Sequence[str], *, because: str) -> None:
    """Take runs out, all or none; their history stays."""
    if not because.strip():
        raise UsageError("a withdrawal needs a reason: --because '…'")
    with store.write():
        for name in names:
            facts_of(store, name)
            withdraw_run(store, name, because=because.strip(), now=now())
