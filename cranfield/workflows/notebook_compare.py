"""Comparisons for Python users, with what may be said of each pair while documents are unjudged."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cranfield.workflows.compare import Compared, Comparing, compare_runs
from cranfield.workflows.compare_claims import add_said, may_have_verdicts, said_of, why_no_claims
from cranfield.workflows.compare_notes import Wanted, power_notes
from cranfield.workflows.compare_rows import compared_frame, long_records, topic_records
from cranfield.workflows.evaluate import Asked
from cranfield.workflows.evaluate_trust import first_runs
from cranfield.workflows.notebook_work import Work

if TYPE_CHECKING:
    import pandas


def compared(
    work: Work,
    asked: Asked,
    runs: Sequence[str] | None,
    how: Comparing,
    *,
    verdicts: bool,
    power: float,
    difference: float | None,
    by_topic: bool = False,
) -> "pandas.DataFrame":
    """Compare, and say what may be claimed where that can be worked out, and what the topics could have shown.

    With `by_topic` there is a row for each pair and topic, of which nothing is claimed.
    """
    wanted = Wanted(power=power, difference=difference)
    rows_of = partial(long_records, wanted=wanted)
    verdicts = verdicts and not by_topic
    why = list(why_no_claims(asked, how)) if verdicts else []
    told = verdicts and len(asked.runs) > 1 and may_have_verdicts(asked)
    with work.watched() as progress:
        field = work.field(asked, progress) if told else None
        if field is None or why:
            known = work.known(asked)
            found, results = compare_runs(
                asked, how, store=work.store, progress=progress, kept=work.alignment, read=known
            )
        else:
            read = first_runs(field.read, field.asked)
            found, results = compare_runs(asked, how, store=work.store, read=read)
        if field is None:
            records = topic_records(results, found.scores) if by_topic else rows_of(results, found.scores)
            frame = compared_frame(found, results, records, notes=why, by_topic=by_topic)
            return _told(frame, results, wanted)
        full = replace(asked, runs=work.asked(asked.measures, runs, with_ids=True, like=asked.like).runs)
        said = said_of(results, full, how, work.material.told, store=work.store, progress=progress, field=field)
    records = rows_of(results, found.scores)
    add_said(records, said, results)
    return _told(compared_frame(found, results, records, notes=said.notes), results, wanted)


def _told(frame: "pandas.DataFrame", results: "Sequence[Compared]", wanted: Wanted) -> "pandas.DataFrame":
    """Give the frame with what the topics could have shown among its notes."""
    frame.attrs["notes"] = [*frame.attrs["notes"], *power_notes(results, wanted)]
    return frame
