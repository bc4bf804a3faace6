"""What a pool was made with, in one hash: a change of it is seen even where the pool would come out the same."""

import json
from hashlib import sha256

from cranfield.store.store import Store

_FACTS = "plan, plan_in_full, grammar, seed, judging_order, one_per_cluster"
_RUN = "run, group_name, priority, content_hash, version"


def inputs_hash(store: Store, number: int, version: int) -> str:
    """Give the hash of what a version of a pool was made with.

    SHA-256 of a JSON list, written without blanks and in ASCII: the words `cranfield-pool-inputs-1`; plan, plan in
    full, version of the grammar, seed, judging order and one-per-cluster (0 or 1); then, for each run up to the
    version in the order of their names, a list of its name, group, priority, content hash and the version it came
    with.
    """
    facts = store.row(f"SELECT {_FACTS} FROM pools WHERE number = ?", number) or ()
    query = f"SELECT {_RUN} FROM pool_runs WHERE pool = ? AND version <= ? ORDER BY run"
    runs = [list(row) for row in store.rows(query, number, version)]
    written = json.dumps(["cranfield-pool-inputs-1", *facts, *runs], separators=(",", ":"))
    return sha256(written.encode("ascii")).hexdigest()


def seal(store: Store, number: int, version: int) -> None:
    """Record the hash in the manifest of a version, inside `store.write()`, when all of it is stored."""
    found = inputs_hash(store, number, version)
    store.connection.execute(
        "UPDATE pool_versions SET inputs_hash = ? WHERE pool = ? AND version = ?", [found, number, version]
    )
