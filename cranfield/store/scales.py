"""Scales and guidelines, in versions: a change never touches what was judged under an earlier one."""

from cranfield.records import Grade, GradeScale
from cranfield.store.store import Store


def add_scale(store: Store, scale: GradeScale, *, now: str) -> int:
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


def current_scale(store: Store) -> tuple[int, GradeScale]:
    """Give the version in force and its scale."""
    version, relevant_from = store.row("SELECT version, relevant_from FROM scales ORDER BY version DESC LIMIT 1")
    steps = store.rows("SELECT grade, label, gain, description FROM grades WHERE scale = ? ORDER BY grade", version)
    return version, GradeScale(tuple(Grade(*step) for step in steps), relevant_from)


def add_guidelines(store: Store, text: str, *, now: str) -> int:
    """Add a new version of the guidelines and give its number; to be called inside `store.write()`."""
    cursor = store.connection.execute("INSERT INTO guidelines (text, created) VALUES (?, ?)", [text, now])
    return int(cursor.lastrowid or 0)


def current_guidelines(store: Store) -> tuple[int, str]:
    """Give the version in force and its text; (0, "") where there are none."""
    row = store.row("SELECT version, text FROM guidelines ORDER BY version DESC LIMIT 1")
    return (int(row[0]), str(row[1])) if row else (0, "")
