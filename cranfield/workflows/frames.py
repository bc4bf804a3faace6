"""What a collection holds, as pandas frames: its qrels, pool, judgments, and how far assessors agree."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import UsageError
from cranfield.workflows.inputs import Inputs, words_of
from cranfield.workflows.report.material import ReportRequest
from cranfield.workflows.report.report import report_on

if TYPE_CHECKING:
    import pandas

    from cranfield.qrels.qrels import Qrels
    from cranfield.store.store import Store


_EVENT_COLUMNS = (
    *("topic", "document", "layer", "assessor", "kind", "grade", "seconds", "confidence", "reason", "note"),
    *(
        "purpose",
        "source",
        "source_name",
        "scale",
        "guidelines",
        "happened",
        "recorded",
        "sequence",
        "uuid",
        "undoes",
    ),
)


def qrels_frame(qrels: Qrels, *, unjudged: bool) -> pandas.DataFrame:
    """Give qrels as topic, document and grade, sorted; the attributes carry their name and hash."""
    import pandas as pd

    from cranfield.qrels.qrels import judged_only

    qrels = qrels if unjudged else judged_only(qrels)

    frame = pd.DataFrame(list(qrels), columns=["topic", "document", "grade"])
    frame.attrs.update(qrels=qrels.content_hash, name=qrels.name)
    return frame


def pool_frame(store: Store, name: str, by: str) -> pandas.DataFrame:
    """Give one table about a pool; the attributes carry its plan, seed and hash."""
    from cranfield.workflows.pool.show import show_pool

    view = show_pool(store, name, by=by)
    frame = view.table().frame()
    frame.attrs.update(view.attributes())
    return frame


def judgments_frame(store: Store, *, layers: Sequence[str], every: bool) -> pandas.DataFrame:
    """Give the judgments that count now, or every event, in the order they were recorded."""
    import pandas as pd

    from cranfield.store.events import events, standing

    found = events(store, layers=layers) if every else standing(store, layers=layers)
    rows = list(map(attrgetter(*_EVENT_COLUMNS), found))
    frame = pd.DataFrame(rows, columns=list(_EVENT_COLUMNS))
    return frame.astype({"grade": "Int64", "seconds": "float64", "confidence": "float64"})


# The report, for Python users.


def written_report(
    inputs: Inputs, path: Path, measures: str | Sequence[str], *, public: bool, card: Path | None
) -> Path:
    """Write the page about the collection, and its card where one is asked for; gives the path of the page."""
    store = inputs.collection("a report")
    request = ReportRequest(measures=words_of(measures), public=public, **_qrels_of(inputs))  # type: ignore[arg-type]
    with inputs.progress() as progress:
        made = report_on(store, request, with_card=card is not None, progress=progress)
    if card is not None:
        made.write_card(card)
    made.write_page(path)
    return path


def _qrels_of(inputs: Inputs) -> dict[str, object]:
    """Give the qrels and layers that the collection was opened with, as a report names them."""
    qrels = inputs.qrels
    if qrels is not None and not isinstance(qrels, str | Path):
        raise UsageError(
            "a report is made of the collection's judgments, a release or a file; these qrels were given"
        )
    return {"qrels": None if qrels is None else str(qrels), "layers": inputs.layers}
