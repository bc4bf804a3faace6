"""The report, for Python users."""

from collections.abc import Sequence
from pathlib import Path

from cranfield.errors import UsageError
from cranfield.workflows.notebook_material import CollectionMaterial
from cranfield.workflows.notebook_work import Work, words_of
from cranfield.workflows.report import Wanted, collection_report, write_page
from cranfield.workflows.report_card import report_and_card, write_card


def written_report(work: Work, path: Path, measures: str | Sequence[str], *, public: bool, card: Path | None) -> Path:
    """Write the page about the collection, and its card where one is asked for; gives the path of the page."""
    store = work.collection("a report")
    wanted = Wanted(measures=words_of(measures), public=public, **_qrels_of(work))  # type: ignore[arg-type]
    with work.watched() as progress:
        if card is None:
            made = collection_report(store, wanted, progress=progress)
        else:
            made, told = report_and_card(store, wanted, progress=progress)
            write_card(told, card)
    write_page(made.page, path)
    return path


def _qrels_of(work: Work) -> dict[str, object]:
    """Give the qrels and layers that the collection was opened with, as a report names them."""
    material = work.material
    if not isinstance(material, CollectionMaterial):
        return {}
    qrels, layers = material.qrels, {"layers": material.layers} if material.layers else {}
    if qrels is not None and not isinstance(qrels, str | Path):
        raise UsageError(
            "a report is made of the collection's judgments, a release or a file; these qrels were given"
        )
    return {"qrels": None if qrels is None else str(qrels), **layers}
