"""Plans replayed against known judgments, for Python users."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.report.simulate_tables import outcomes_data
from cranfield.workflows.frames import frame_of_table
from cranfield.workflows.notebook_work import Work, words_of
from cranfield.workflows.simulate import Simulating, simulate_plans

if TYPE_CHECKING:
    import pandas


def simulated_frame(
    work: Work, measures: str | Sequence[str], runs: Sequence[str] | None, how: Simulating
) -> "pandas.DataFrame":
    """Give one row for each plan and measure, as `cranfield simulate -f csv` has them; the attributes have notes."""
    asked = work.asked(words_of(measures), runs, with_ids=True)
    with work.watched() as progress:
        found = simulate_plans(asked, how, store=work.store, progress=progress)
    frame = frame_of_table(outcomes_data(found.outcomes, found.needed, seconds=found.speed.seconds))
    frame.attrs["notes"] = list(found.notes)
    return frame
