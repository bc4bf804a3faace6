"""The documents of one ranked list, by their ids."""

import pyarrow as pa

from cranfield.evaluate.align import Reference
from cranfield.runs.order import order_as_float32, taken
from cranfield.runs.run import Run


def documents_of(run: Run, topic: str, *, reference: Reference = "10") -> list[str]:
    """Give the documents of a topic, best first."""
    topics = run.topic_ids.to_pylist()
    if topic not in topics:
        return []
    place = topics.index(topic)
    codes = taken(run.documents, order_as_float32(run)) if reference == "9" else run.documents
    chosen = codes[run.offsets[place] : run.offsets[place + 1]]
    return list(run.document_ids.take(pa.array(chosen)).to_pylist())
