"""How far scores can be trusted, worked out for Python users."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cranfield.workflows.notebook_reuse import ReuseResult
from cranfield.workflows.notebook_work import Work, refuse_unknown, words_of
from cranfield.workflows.reuse import examine_collection
from cranfield.workflows.reuse_asking import about_titles, without_verdict
from cranfield.workflows.trust import trusted

if TYPE_CHECKING:
    from cranfield.reuse.bounds import Closure


def examined(
    work: Work,
    runs: Sequence[str],
    measures: str | Sequence[str],
    *,
    closure: "Closure",
    further: int,
    thresholds: Mapping[str, float] | None,
) -> ReuseResult:
    """Say how far scores can be trusted, by the steps of `cranfield reuse`."""
    refuse_unknown({"closure": closure})
    wanted = work.own_measures(words_of(measures))
    asked = work.asked(words_of(measures), runs or None)
    values = {name.replace("-", "_"): value for name, value in (thresholds or {}).items()}
    with work.watched() as progress:
        field = work.field(asked, progress)
        found = trusted(field, wanted, store=work.store, thresholds=values, closure=closure, further=further)
        progress("holding out runs and groups", 0, None)
        report = examine_collection(field, [trust.measure for trust in found.trusts], thresholds=found.thresholds)
        titles = () if work.store is None else about_titles(work.store, field)
    return ReuseResult(work, found, report, (*found.notes, *titles, *without_verdict(found, wanted)))
