"""The documents whose judging decides, for Python users."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.workflows.frames import frame_of_table
from cranfield.workflows.notebook_work import Work, refuse_unknown, words_of
from cranfield.workflows.settle_words import decided, narrowed, purpose_of, queue_table
from cranfield.workflows.settling import keep_queue, made_safe, settled

if TYPE_CHECKING:
    import pandas

    from cranfield.reuse.bounds import Closure
    from cranfield.reuse.queued import QueuedDocument


def settled_frame(
    work: Work,
    first: str,
    second: str | None,
    measures: str | Sequence[str],
    *,
    closure: "Closure",
    everything: bool,
    queue: str,
    into: str,
) -> "pandas.DataFrame":
    """Give what to judge, the heaviest first, and keep it as a queue where that is asked for."""
    refuse_unknown({"closure": closure})
    store = work.collection("a queue") if queue else work.store
    said, documents = _found(work, first, second, words_of(measures), closure, everything=everything)
    frame = frame_of_table(queue_table(documents))
    frame.attrs["notes"] = said
    if queue and store is not None:
        keep_queue(store, queue, documents, purpose="settle", why=purpose_of(first, second), layer=into)
    return frame


def _found(
    work: Work, first: str, second: str | None, measures: Sequence[str], closure: "Closure", *, everything: bool
) -> "tuple[list[str], list[QueuedDocument]]":
    names = [first] if second is None else [first, second]
    wanted, asked = work.own_measures(measures), work.asked(measures, names)
    runs = work.asked(measures, names, with_ids=True).runs
    with work.watched() as progress:
        field = work.field(asked, progress)
        if second is None:
            return narrowed(made_safe(field, wanted, runs, store=work.store), everything=everything)
        return decided(settled(field, wanted, runs, store=work.store, closure=closure), everything=everything)
