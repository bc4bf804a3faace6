"""What a collection holds, as pandas frames: its qrels, pool, judgments, and how far assessors agree."""

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from cranfield.errors import UnknownName

if TYPE_CHECKING:
    import pandas

    from cranfield.qrels.qrels import Qrels
    from cranfield.workflows.evaluate import Evaluated
    from cranfield.workflows.explaining import Explained
    from cranfield.workflows.trust import Trusted
    from cranfield.store import Store

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
_NUMBERS = {"low", "high", "judged", "loss", "loss_upper"}


def scores_frame(found: "Evaluated", trust: "Trusted | None", *, by_topic: bool) -> "pandas.DataFrame":
    """Give scores as long rows with the columns of verdicts, where there are any; the attributes tell the rest."""
    import pandas as pd

    from cranfield.workflows.evaluate_notes import notes_of
    from cranfield.workflows.evaluate_rows import frame_of, long_rows
    from cranfield.workflows.evaluate_trust import added_to_rows, sentences

    frame = frame_of(found, by_topic=by_topic)
    notes = notes_of(found)
    if trust is not None:
        added = added_to_rows(trust, long_rows(found, by_topic=by_topic))
        for name, cells in added.items():
            frame[name] = pd.Series(cells, dtype="float64" if name in _NUMBERS else "object")
        # The first sentence tells what marks behind scores mean, and there are none here.
        notes += list(sentences(trust))[1:]
    frame.attrs["notes"] = notes
    return frame


def lists_frame(explained: "Explained") -> "pandas.DataFrame":
    """Give lists that are laid open, one row for each run and rank; the attributes tell what they were made with."""
    import pandas as pd

    columns = ["run", "rank", "document", "grade", "P", "R", "DCG"]
    rows = [
        (run, step.rank, step.document, step.state, step.precision, step.recall, step.dcg)
        for run, steps in explained
        for step in steps
    ]
    frame = pd.DataFrame(rows, columns=columns)
    frame.attrs.update(qrels=explained.qrels_hash, reference=explained.order)
    return frame


def qrels_frame(qrels: "Qrels") -> "pandas.DataFrame":
    """Give qrels as topic, document and grade, sorted; the attributes carry their name and hash."""
    import pandas as pd

    frame = pd.DataFrame(list(qrels), columns=["topic", "document", "grade"])
    frame.attrs.update(qrels=qrels.content_hash, name=qrels.name)
    return frame


def pool_frame(store: "Store", name: str, by: str) -> "pandas.DataFrame":
    """Give one table about a pool; the attributes carry its plan, seed and hash."""
    from cranfield.workflows.frames import frame_of_table
    from cranfield.workflows.pool_show import show_pool
    from cranfield.workflows.pool_tables import KINDS, pool_table

    if by not in KINDS:
        raise UnknownName("table of a pool", by, KINDS)
    shown = show_pool(store, name)
    frame = frame_of_table(pool_table(shown, by))
    facts = shown.facts
    frame.attrs.update(name=facts.name, plan=facts.plan, seed=facts.seed, content_hash=facts.content_hash)
    return frame


def judgments_frame(store: "Store", *, layers: Sequence[str], every: bool) -> "pandas.DataFrame":
    """Give the judgments that count now, or every event, in the order they were recorded."""
    import pandas as pd

    from cranfield.store.events import events, standing

    found = events(store, layers=layers) if every else standing(store, layers=layers)
    rows = list(map(attrgetter(*_EVENT_COLUMNS), found))
    frame = pd.DataFrame(rows, columns=list(_EVENT_COLUMNS))
    return frame.astype({"grade": "Int64", "seconds": "float64", "confidence": "float64"})


def agreement_frame(
    store: "Store", by: str, *, layers: Sequence[str], seed: int, draws: int, blocks: int
) -> "pandas.DataFrame":
    """Give how far assessors agree, one row for each coefficient, or the counts of pairs of grades."""
    from cranfield.workflows.agreement_tables import KINDS, long_table
    from cranfield.workflows.frames import frame_of_table
    from cranfield.workflows.judge_agreement import agreement_report

    if by not in KINDS:
        raise UnknownName("table", by, KINDS)
    report = agreement_report(store, layers=layers, seed=seed, draws=draws, blocks=blocks)
    return frame_of_table(long_table(report, by))
