"""Write qrels to a file that others can read."""

from typing import TYPE_CHECKING, BinaryIO

from cranfield.errors import InputError, UsageError, quoted
from cranfield.workflows.measures_asked import gains_of
from cranfield.workflows.qrels_binary import binary_qrels
from cranfield.workflows.qrels_notes import older_grades
from cranfield.workflows.qrels_of import qrels_for
from cranfield.workflows.qrels_release import Chosen
from cranfield.store import Store
from cranfield.store.releases import NOW
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels


def exported_qrels(
    store: Store, word: str | None, *, chosen: Chosen | None = None, binary_from: int | None = None
) -> "Qrels":
    """Give the qrels that an export writes; `binary_from` 0 means: as relevant as the scale of each grade says."""
    from cranfield.qrels.views import binary

    asked = chosen or Chosen()
    if word not in (None, NOW) and asked != Chosen():
        raise UsageError(f"{quoted(word)} is what it is; layers, rule, moment and unjudged documents are for 'now'")
    event = asked.event(store)
    # A moment is asked of the judgments, never of the only release that stands in for them.
    which = NOW if asked != Chosen() else word
    give = binary_qrels if binary_from == 0 else qrels_for
    qrels = give(store, which, with_unjudged=asked.with_unjudged, layers=asked.layers, rule=asked.rule, up_to=event)
    if not len(qrels):
        raise InputError(f"there is nothing to write: no grade stands in {' or '.join(asked.layers)}")
    return binary(qrels, relevant_from=binary_from) if binary_from else qrels


def export_warning(store: Store, word: str | None, *, chosen: Chosen | None = None, in_two: bool = False) -> str:
    """Warn of grades that were given on an older scale; empty where there are none.

    In two grades by the scales themselves (`in_two`) each was read by its own.
    """
    asked = chosen or Chosen()
    which = NOW if asked != Chosen() else word
    said = older_grades(store, which, layers=asked.layers, rule=asked.rule, up_to=asked.event(store))
    if not said.older:
        return ""
    return f"{said}; each is written " + ("as relevant or not by its own scale" if in_two else "as it was given")


def scale_lost(store: Store) -> str:
    """Say what a file of graded qrels does not tell: from which grade on documents are relevant, and gains."""
    from cranfield.evaluate.expression import parse_measures

    scale = current_scale(store)[1]
    gains = gains_of(scale)
    said, elsewhere = [], []
    if scale.relevant_from != 1:
        said.append(f"grades from {scale.relevant_from} on count as relevant here")
        elsewhere.append(f"-m 'AP(rel={scale.relevant_from})'")
    if gains:
        said.append("grades have gains of their own")
        elsewhere.append(f"-m '{parse_measures(['nDCG'], gains=gains)[0]}'")
    if not said:
        return ""
    return f"{' and '.join(said)}, which the file does not say: elsewhere {' '.join(elsewhere)}"


def write_qrels(qrels: "Qrels", stream: BinaryIO, *, format: str = "trec") -> None:
    """Write qrels in a format that can be written."""
    from cranfield.qrels.format import qrels_formats

    known = qrels_formats.get(format)
    if not hasattr(known, "write"):
        able = ", ".join(name for name, one in qrels_formats.items() if hasattr(one, "write"))
        raise UsageError(f"qrels are not written as {quoted(format)}, only as {able}")
    known.write(qrels, stream)
