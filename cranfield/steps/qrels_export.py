"""Write qrels to a file that others can read."""

from typing import TYPE_CHECKING, BinaryIO

from cranfield.errors import InputError, UsageError, quoted
from cranfield.steps.qrels_of import NOW, qrels_for
from cranfield.steps.qrels_release import Chosen
from cranfield.store import Store
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels


def exported_qrels(
    store: Store, word: str | None, *, chosen: Chosen | None = None, binary_from: int | None = None
) -> "Qrels":
    """Give the qrels that an export writes; `binary_from` 0 means: from the scale's own first relevant grade."""
    from cranfield.qrels.views import binary

    asked = chosen or Chosen()
    if word not in (None, NOW) and asked != Chosen():
        raise UsageError(f"{quoted(word)} is what it is; layers, rule, moment and unjudged documents are for 'now'")
    event = asked.event(store)
    # A moment is asked of the judgments, never of the only release that stands in for them.
    which = NOW if asked != Chosen() else word
    qrels = qrels_for(
        store, which, with_unjudged=asked.with_unjudged, layers=asked.layers, rule=asked.rule, up_to=event
    )
    if not len(qrels):
        raise InputError(f"there is nothing to write: no grade stands in {' or '.join(asked.layers)}")
    if binary_from is None:
        return qrels
    return binary(qrels, relevant_from=binary_from or current_scale(store)[1].relevant_from)


def write_qrels(qrels: "Qrels", stream: BinaryIO, *, format: str = "trec") -> None:
    """Write qrels in a format that can be written."""
    from cranfield.qrels.format import qrels_formats

    known = qrels_formats.get(format)
    if not hasattr(known, "write"):
        able = ", ".join(name for name, one in qrels_formats.items() if hasattr(one, "write"))
        raise UsageError(f"qrels are not written as {quoted(format)}, only as {able}")
    known.write(qrels, stream)
