"""The names under which files call topic, document and grade, and who gave it when."""

_ROLES = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "docno", "did", "corpus_id", "pid"),
    "grade": ("grade", "relevance", "rel", "score", "label", "judgment", "judgement"),
}
_BESIDE = {
    "assessor": ("assessor", "assessor_id", "judge", "annotator", "rater", "user", "worker"),
    "time": ("time", "timestamp", "date", "happened", "judged_at", "created_at"),
    "note": ("note", "comment", "remark", "explanation", "rationale"),
}
_BESIDE_BY_NAME = {name: role for role, names in _BESIDE.items() for name in names}
_BY_NAME = {name: role for role, names in _ROLES.items() for name in names}


def role_of(name: str) -> str | None:
    """Say what a column called `name` holds: topic, document or grade; None for anything else."""
    return _BY_NAME.get(_plain(name))


def role_in_judgments(name: str) -> str | None:
    """Say the same for a file of judgments, in which there may also be an assessor, a time and a note."""
    return _BY_NAME.get(_plain(name)) or _BESIDE_BY_NAME.get(_plain(name))


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")
