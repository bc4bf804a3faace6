"""The names under which files call topic, document and grade."""

_ROLES = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id"),
    "document": ("document", "document_id", "doc", "doc_id", "docid", "docno", "did", "corpus_id", "pid"),
    "grade": ("grade", "relevance", "rel", "score", "label", "judgment", "judgement"),
}
_BY_NAME = {name: role for role, names in _ROLES.items() for name in names}


def role_of(name: str) -> str | None:
    """Say what a column called `name` holds: topic, document or grade; None for anything else."""
    return _BY_NAME.get(name.strip().lower().replace("-", "_"))
