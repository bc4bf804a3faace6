"""How judging goes on, over all assessors: counts, seconds, refusals."""

from dataclasses import dataclass

from cranfield.store.scales import current_guidelines, current_scale
from cranfield.store.store import Store


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that somebody could not judge, and why."""

    topic: str
    document: str
    assessor: str
    reason: str
    happened: str


def counts_by_assessor(store: Store, layer: str) -> list[tuple[str, str, int]]:
    """Give (assessor, kind, how many answers of it stand)."""
    return store.rows(
        """SELECT assessor, kind, count(*) FROM judgments WHERE layer = ? AND adjudicated = 0
           GROUP BY assessor, kind ORDER BY assessor, kind""",
        layer,
    )


def postponed_by_topic(store: Store, layer: str) -> dict[str, int]:
    """Give how many documents of each topic are put off."""
    query = "SELECT topic, count(*) FROM judgments WHERE layer = ? AND kind = 'postponed' GROUP BY topic"
    return dict(store.rows(query, layer))


def seconds_by_assessor(store: Store, layer: str) -> dict[str, list[float]]:
    """Give the seconds of attention of each assessor's judgments, those that were undone too."""
    found: dict[str, list[float]] = {}
    rows = store.rows(
        """SELECT assessor, seconds FROM judgment_events
           WHERE layer = ? AND kind IN ('judged', 'cannot-judge') AND seconds IS NOT NULL ORDER BY sequence""",
        layer,
    )
    for assessor, seconds in rows:
        found.setdefault(assessor, []).append(seconds)
    return found


def last_seen(store: Store) -> dict[str, str]:
    """Give when each assessor last did something."""
    query = """SELECT name, (SELECT max(happened) FROM judgment_events WHERE assessor = name) FROM assessors"""
    return {name: moment for name, moment in store.rows(query) if moment}


def refusals(store: Store, layer: str) -> list[Refusal]:
    """Give what could not be judged, by topic and document."""
    rows = store.rows(
        """SELECT judgments.topic, judgments.document, judgments.assessor, reason, happened
           FROM judgments JOIN judgment_events ON sequence = event
           WHERE judgments.layer = ? AND judgments.kind = 'cannot-judge' ORDER BY 1, 2, 3""",
        layer,
    )
    return [Refusal(*row) for row in rows]


def judged_pairs(store: Store, layer: str) -> int:
    """Give how many different (topic, document) have a grade."""
    query = (
        "SELECT count(*) FROM (SELECT DISTINCT topic, document FROM judgments WHERE layer = ? AND grade IS NOT NULL)"
    )
    return int(store.value(query, layer))


def open_pairs(store: Store, layer: str) -> int:
    """Give how many different (topic, document) of all pools and finds have no grade."""
    return int(
        store.value(
            """SELECT count(*) FROM (SELECT topic, document FROM pool_entries
                                     UNION SELECT topic, document FROM found_documents) AS wanted
               WHERE NOT EXISTS (SELECT 1 FROM judgments WHERE judgments.topic = wanted.topic
                                 AND judgments.document = wanted.document AND layer = ? AND grade IS NOT NULL)
                 AND NOT EXISTS (SELECT 1 FROM topic_drafts WHERE topic_drafts.topic = wanted.topic
                                 AND state = 'refused')""",
            layer,
        )
    )


def older_than(store: Store, *, scale: int, guidelines: int, layer: str = "", assessor: str = "") -> int:
    """Give how many grades of people stand that were given under an older scale or older guidelines.

    Only those of a layer, or of an assessor, where one is given; what machines said, and draft topics, count not.
    """
    machines = "SELECT name FROM assessors WHERE kind = 'machine'"
    where = f"kind = 'judged' AND (scale < ? OR guidelines < ?) AND assessor NOT IN ({machines})"
    where += " AND layer = ?" if layer else " AND layer <> 'try'"
    where += " AND assessor = ?" if assessor else ""
    values = [scale, guidelines, *(word for word in (layer, assessor) if word)]
    return int(store.value(f"SELECT count(*) FROM judgments WHERE {where}", *values))


def older_now(store: Store, *, layer: str = "", assessor: str = "") -> int:
    """Give the same for the versions in force."""
    scale, guidelines = current_scale(store)[0], current_guidelines(store)[0]
    return older_than(store, scale=scale, guidelines=guidelines, layer=layer, assessor=assessor)


def off_scale(store: Store, *, scale: int) -> int:
    """Give how many standing grades are not on one version of the scale."""
    return int(
        store.value(
            """SELECT count(*) FROM judgments WHERE grade IS NOT NULL
               AND grade NOT IN (SELECT grade FROM grades WHERE grades.scale = ?)""",
            scale,
        )
    )


def release_count(store: Store) -> int:
    """Give how many qrels are frozen."""
    return int(store.value("SELECT count(*) FROM releases"))
