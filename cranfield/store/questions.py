"""Questions to a collection in SQL that people can read: what `status` counts, and what Datasette lists and draws.

What the tables and their columns hold is said in the statements that make them; here it is found for Datasette and
for the reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cranfield.store.judging import PACKET
from cranfield.store.store import Store, declared

# What is counted.


class Counts(NamedTuple):
    """How much there is of everything; `pooled`, `judged` and `unjudged` are different (topic, document).

    `older` grades were given under an older scale or older guidelines than those in force.
    """

    documents: int
    clusters: int
    topics: int
    runs: int
    contributing: int
    groups: int
    withdrawn: int
    pools: int
    pooled: int
    judged: int
    unjudged: int
    assessors: int
    releases: int
    older: int


_COUNTS = {
    "documents": "SELECT coalesce(max(number), 0) FROM documents",  # none is ever deleted, and counting takes longer
    "duplicate clusters": "SELECT count(DISTINCT cluster) FROM duplicates",
    "topics": "SELECT count(*) FROM topics",
    "runs": "SELECT count(*) FROM runs WHERE withdrawn IS NULL",
    "contributing runs": "SELECT count(*) FROM runs WHERE withdrawn IS NULL AND role = 'contributing'",
    "groups": "SELECT count(DISTINCT group_name) FROM runs WHERE withdrawn IS NULL",
    "withdrawn runs": "SELECT count(*) FROM runs WHERE withdrawn IS NOT NULL",
    "pools": "SELECT count(*) FROM pools",
    "pooled documents": "SELECT count(*) FROM (SELECT DISTINCT topic, document FROM pool_entries)",
    "judged documents": """SELECT count(*) FROM (
    SELECT DISTINCT topic, document FROM judgments WHERE layer = {layer} AND grade IS NOT NULL)""",
    "pooled, not judged": """SELECT count(*) FROM (
    SELECT topic, document FROM pool_entries UNION SELECT topic, document FROM found_documents) AS wanted
WHERE NOT EXISTS (
    SELECT 1 FROM judgments WHERE judgments.topic = wanted.topic AND judgments.document = wanted.document
    AND layer = {layer} AND grade IS NOT NULL)
AND NOT EXISTS (SELECT 1 FROM topic_drafts WHERE topic_drafts.topic = wanted.topic AND state = 'refused')""",
    "assessors": "SELECT count(*) FROM assessors WHERE kind = 'person'",
    "releases": "SELECT count(*) FROM releases",
    "judged under an older scale or guidelines": """SELECT count(*) FROM judgments
WHERE layer = {layer} AND kind = 'judged' AND assessor NOT IN (SELECT name FROM assessors WHERE kind = 'machine')
AND (scale < (SELECT max(version) FROM scales) OR guidelines < (SELECT max(version) FROM guidelines))""",
}

_IN_QUEUE = f"SELECT count(*) FROM queue_entries JOIN queues ON number = queue WHERE name = '{PACKET}'"
_ANSWERED = """EXISTS (
    SELECT 1 FROM judgments
    WHERE judgments.topic = queue_entries.topic AND judgments.document = queue_entries.document
    AND judgments.layer = {layer} AND assessor = {assessor} AND kind <> 'postponed')"""
_IN_PACKET = {
    "pooled documents": _IN_QUEUE,
    "judged documents": f"{_IN_QUEUE}\nAND {_ANSWERED}",
    "pooled, not judged": f"{_IN_QUEUE}\nAND NOT {_ANSWERED}",
}


def counting(layer: str, *, packet_for: str = "") -> dict[str, str]:
    """The query behind each count, for judgments of one layer; in a packet, for the queue of its assessor."""
    values = {"layer": _text(layer), "assessor": _text(packet_for)}
    chosen = _COUNTS | (_IN_PACKET if packet_for else {})
    return {name: query.format(**values) for name, query in chosen.items()}


def counts(store: Store, queries: Mapping[str, str]) -> Counts:
    """What those queries count, as of one moment."""
    return Counts(*store.row(f"SELECT {', '.join(f'({query})' for query in queries.values())}"))


def _text(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


# What is often asked.


class Question(NamedTuple):
    """A question with its answer in SQL; `drawing` is the answer as Vega-Lite draws it."""

    title: str
    text: str
    sql: str
    drawing: Mapping[str, Any] = {}


def _bars(y: str, x: str, *, by: str = "", colour: str = "") -> dict[str, Any]:
    """Horizontal bars in the order of the rows, side by side where they differ in `by`, and parted by colour."""
    fields = {"y": y, "x": x, "yOffset": by, "color": colour}
    kinds = {"x": "quantitative", "color": "ordinal" if colour == "grade" else "nominal"}
    encoding: dict[str, dict[str, Any]] = {
        name: {"field": field, "type": kinds.get(name, "nominal")} for name, field in fields.items() if field
    }
    encoding["y"]["sort"] = None
    return {"mark": {"type": "bar", "tooltip": True}, "encoding": encoding}


_RELEVANT = """WITH relevant AS (
    SELECT topic, document FROM qrels
    WHERE grade >= (SELECT relevant_from FROM scales ORDER BY version DESC LIMIT 1))
"""

QUESTIONS = {
    "progress_by_topic": Question(
        "Progress",
        "How many pooled documents of each topic are judged.",
        """SELECT pool, progress.topic, title, judged, pooled - judged AS remaining, pooled
FROM progress LEFT JOIN topics ON topics.id = progress.topic
ORDER BY pool, remaining DESC, number""",
        {
            "transform": [{"fold": ["judged", "remaining"], "as": ["state", "documents"]}],
            **_bars("topic", "documents", by="pool", colour="state"),
        },
    ),
    "grades_by_topic": Question(
        "Grades by topic",
        "How many documents of each topic have each grade; relevance starts at relevant_from.",
        """SELECT topic, title, qrels.grade, label, count(*) AS documents, relevant_from
FROM qrels
LEFT JOIN topics ON topics.id = topic
LEFT JOIN scales ON version = (SELECT max(version) FROM scales)
LEFT JOIN grades ON scale = version AND grades.grade = qrels.grade
GROUP BY topic, qrels.grade ORDER BY number, qrels.grade""",
        _bars("topic", "documents", colour="grade"),
    ),
    "hardest_topics": Question(
        "Hardest topics",
        "The mean precision of the pooled runs at the pool depth, lowest first, and how many documents are relevant.",
        _RELEVANT
        + """SELECT pools.name AS pool, topic, title, avg(relevant.document IS NOT NULL) AS mean_precision,
       count(DISTINCT relevant.document) AS relevant
FROM pool_ranks
JOIN pools ON pools.number = pool
LEFT JOIN relevant USING (topic, document)
LEFT JOIN topics ON topics.id = topic
GROUP BY pool, topic ORDER BY pools.name, mean_precision, relevant""",
        _bars("topic", "mean_precision", by="pool"),
    ),
    "contributions": Question(
        "Who contributed what",
        "How many pooled and relevant documents each run ranks in the pool, and how many of them no other group has.",
        _RELEVANT
        + """, ranked AS (
    SELECT pool_ranks.pool, topic, document, pool_ranks.run, group_name
    FROM pool_ranks JOIN pool_runs USING (pool, run)),
alone AS (
    SELECT pool, topic, document FROM ranked GROUP BY pool, topic, document HAVING count(DISTINCT group_name) = 1)
SELECT pools.name AS pool, run, group_name, count(*) AS documents, count(relevant.document) AS relevant,
       count(alone.document) AS only_this_group,
       count(iif(relevant.document IS NULL, NULL, alone.document)) AS relevant_only_this_group
FROM ranked
JOIN pools ON pools.number = ranked.pool
LEFT JOIN relevant USING (topic, document)
LEFT JOIN alone ON alone.pool = ranked.pool AND alone.topic = ranked.topic AND alone.document = ranked.document
GROUP BY ranked.pool, run ORDER BY pools.name, relevant DESC, run""",
        _bars("run", "relevant", by="pool", colour="group_name"),
    ),
    "disagreements": Question(
        "Disagreements",
        "Documents with different grades by several assessors, widest apart first, and the decision if there is one.",
        """SELECT topic, document, title, max(opinion) - min(opinion) AS apart,
       group_concat(assessor || ': ' || opinion, ', ') AS grades, max(decision) AS decision
FROM (
    SELECT topic, document, assessor,
           iif(adjudicated, NULL, grade) AS opinion, iif(adjudicated, grade, NULL) AS decision
    FROM judgments WHERE layer = 'main' AND grade IS NOT NULL AND kind <> 'propagated')
LEFT JOIN documents ON documents.id = document
GROUP BY topic, document HAVING apart > 0 ORDER BY apart DESC, topic, document""",
    ),
    "work_by_assessor": Question(
        "Assessors",
        "What each assessor has judged or decided and how long it took, undone judgments included.",
        """SELECT assessor, layer, count(*) AS judgments, sum(seconds) / 3600 AS hours, avg(seconds) AS mean_seconds,
       min(happened) AS first, max(happened) AS last
FROM judgment_events WHERE kind IN ('judged', 'adjudicated', 'imported')
GROUP BY assessor, layer ORDER BY judgments DESC, assessor""",
    ),
    "days": Question(
        "Judgments by day",
        "How many judgments each assessor made on each day.",
        """SELECT date(happened) AS day, assessor, count(*) AS judgments
FROM judgment_events WHERE kind IN ('judged', 'adjudicated', 'imported')
GROUP BY day, assessor ORDER BY day, assessor""",
        _bars("day", "judgments", colour="assessor"),
    ),
}


# What the tables hold.

_UNSAID = {
    "settings": "settings of the collection as a whole",
    "grades": "the grades of each version of the scale",
    "documents": "what is searched and judged",
    "topics": "the information needs",
    "runs": "the submitted runs; a ranking is one compressed block",
    "pools": "what a pool was made with",
    "pool_topics": "the topics of a pool",
    "assessors": "who judges: people, imports, machines",
    "queue_entries": "the documents of a queue",
    "release_rows": "the qrels of each release",
}
"""What the statements do not say; nobody can change those that made existing files."""

_COLUMN = re.compile(r"^    (\w+) +(?:TEXT|INTEGER|REAL|BLOB)\b[^\n]*?(?:-- ([^\n]*))?$", re.MULTILINE)


def tables() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Each table and view with what it holds, and the same of each of its columns."""
    made, _ = declared()
    for name, text in made.items():
        if text.startswith(("CREATE TABLE", "CREATE VIEW")):
            head = text.partition("\n")[0].partition("-- ")[2]
            yield name, head or _UNSAID[name], dict(_COLUMN.findall(text))


def datasette_metadata(database: str) -> dict[str, Any]:
    """What Datasette is told of a collection under this name: its questions, charts and tables."""
    queries = {name: {"title": one.title, "description": one.text, "sql": one.sql} for name, one in QUESTIONS.items()}
    charts = {
        name: {"title": one.title, "db": database, "query": one.sql, "library": "vega-lite", "display": one.drawing}
        for name, one in QUESTIONS.items()
        if one.drawing
    }
    described = {
        name: {"description": said, "columns": {column: text for column, text in columns.items() if text}}
        for name, said, columns in tables()
    }
    hidden = {name: {"hidden": True} for name in ("_sqlite_migrations", "id_pages", "sqlite_sequence")}
    charted = (
        'Common questions are under Queries; some are also drawn as <a href="/-/dashboards/collection">charts</a>.'
    )
    return {
        "title": "Cranfield",
        "databases": {database: {"description_html": charted, "queries": queries, "tables": described | hidden}},
        "plugins": {"datasette-dashboards": {"collection": {"title": f"Charts of {database}", "charts": charts}}},
    }
