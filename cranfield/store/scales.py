"""Scales and guidelines, in versions: a change never touches what was judged under an earlier one."""

from __future__ import annotations

from hashlib import sha256

from cranfield.base.errors import CollectionError, InputError
from cranfield.base.records import Grade, GradeScale
from cranfield.store.store import Store


def add(store: Store, scale: GradeScale, *, now: str) -> int:
    """Add a new version of the scale and give its number; to be called inside `store.write()`."""
    cursor = store.connection.execute(
        "INSERT INTO scales (relevant_from, created) VALUES (?, ?)", [scale.relevant_from, now]
    )
    version = int(cursor.lastrowid or 0)
    store.connection.executemany(
        "INSERT INTO grades VALUES (?, ?, ?, ?, ?)",
        [(version, step.grade, step.label, step.gain, step.text) for step in scale.grades],
    )
    return version


def current(store: Store) -> tuple[int, GradeScale]:
    """Give the version in force and its scale."""
    version = store.value("SELECT max(version) FROM scales")
    if version is None:
        raise CollectionError(f"{store.path} has no scale: it is damaged; restore it from a backup")
    return version, of_version(store, version)


def of_version(store: Store, version: int) -> GradeScale:
    """Give one version of the scale."""
    relevant_from = store.value("SELECT relevant_from FROM scales WHERE version = ?", version)
    steps = store.rows("SELECT grade, label, gain, description FROM grades WHERE scale = ? ORDER BY grade", version)
    return GradeScale(tuple(Grade(*step) for step in steps), relevant_from)


def add_guidelines(store: Store, text: str, *, now: str) -> int:
    """Add a new version of the guidelines and give its number; to be called inside `store.write()`."""
    digest = sha256(text.encode("utf-8")).hexdigest()
    query = "INSERT INTO guidelines (text, sha256, created) VALUES (?, ?, ?)"
    cursor = store.connection.execute(query, [text, digest, now])
    return int(cursor.lastrowid or 0)


def current_guidelines(store: Store) -> tuple[int, str]:
    """Give the version in force and its text; (0, "") where there are none."""
    row = store.row("SELECT version, text FROM guidelines ORDER BY version DESC LIMIT 1")
    return (int(row[0]), str(row[1])) if row else (0, "")


def copy(store: Store, other: Store) -> None:
    """Copy all versions of scale and guidelines into a new file, under their numbers, inside its `write()`."""
    for table in ("scales", "grades", "guidelines"):
        if rows := store.rows(f"SELECT * FROM {table}"):
            marks = ", ".join("?" * len(rows[0]))
            other.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def guidelines_versions(store: Store) -> dict[int, str]:
    """Give version -> SHA-256 of the text of the guidelines."""
    return dict(store.rows("SELECT version, sha256 FROM guidelines"))


def versions(store: Store) -> dict[int, GradeScale]:
    """Give all versions of the scale."""
    rows = store.rows("SELECT version FROM scales ORDER BY version")
    return {version: of_version(store, version) for (version,) in rows}


def others(store: Store) -> tuple[dict[int, GradeScale], GradeScale]:
    """Give the versions of the scale that say something else than the one in force, and the one in force."""
    scale = current(store)[1]
    return {version: known for version, known in versions(store).items() if known != scale}, scale


def faults(store: Store) -> list[str]:
    """Give the versions of scale and guidelines that make no sense or are not what their hash says."""
    versions = [version for (version,) in store.rows("SELECT version FROM scales ORDER BY version")]
    wrong = [] if versions else ["there is no scale"]
    for version in versions:
        try:
            of_version(store, version)
        except InputError as error:
            wrong.append(f"version {version} of the scale makes no sense: {error}")
    for version, text, known in store.rows("SELECT version, text, sha256 FROM guidelines"):
        if sha256(text.encode("utf-8")).hexdigest() != known:
            wrong.append(f"version {version} of the guidelines is not what its hash says")
    return wrong
