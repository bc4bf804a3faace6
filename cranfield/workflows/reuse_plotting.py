"""The pictures of pool bias, on axes or written to files."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.workflows.trust import Trust, Trusted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cranfield.report.figures import On
    from cranfield.reuse.collection import CollectionReport


def draw_all(found: Trusted, report: "CollectionReport | None", folder: Path) -> Iterator[Path]:
    """Draw everything into a folder; gives each file when it is there."""
    from cranfield.report.figures import save

    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(found, report):
        path = folder / f"{name}.svg"
        save(figure, path)
        yield path


def figures(found: Trusted, report: "CollectionReport | None") -> "Iterator[tuple[str, Figure]]":
    """Give (name, figure): intervals and losses for each measure, coverage, and relevance by depth."""
    from cranfield.report.figures import figure_of

    for trust in found.trusts:
        yield f"intervals-{file_name(trust)}", figure_of(draw_intervals(found, trust))
        if report is not None and "group" in report.levels:
            yield f"hold-out-{file_name(trust)}", figure_of(draw_hold_out(report, trust))
    yield "coverage", figure_of(draw_coverage(found))
    if report is not None:
        yield "relevant-by-depth", figure_of(draw_depths(report))


def file_name(trust: Trust) -> str:
    """Give a measure as part of the name of a file."""
    return "".join(letter if letter.isalnum() else "-" for letter in str(trust.measure)).strip("-")


def draw_intervals(found: Trusted, trust: Trust, *, on: "On" = None) -> "Axes":
    """Draw what the score of each run could be under one measure."""
    import numpy as np

    from cranfield.report.bias_figures import intervals

    assessment = trust.assessment
    runs, fed = slice(0, found.field.asked), [found.field.fed_pool(run) for run in range(found.field.asked)]
    score = assessment.score[runs]
    low, high = (np.where(np.isnan(ends), score, ends) for ends in (assessment.low[runs], assessment.high[runs]))
    upper = score if assessment.loss is None else score + np.nan_to_num(assessment.loss.upper[runs])
    return intervals(
        str(trust.measure),
        assessment.run_names[runs],
        score,
        (low, high),
        upper,
        contributing=np.asarray(assessment.holes.contributed[runs].any(axis=1)),
        pooled=None if None in fed else np.array(fed, dtype=bool),
        on=on,
    )


def draw_hold_out(report: "CollectionReport", trust: Trust, *, on: "On" = None) -> "Axes":
    """Draw what the runs of each group lose under one measure when the group is held out."""
    import numpy as np

    from cranfield.report.bias_figures import hold_out_loss

    own = report.levels["group"].own
    drops = own.drop[own.measures.index(trust.measure)]
    groups = report.levels["group"].uniques.groups
    by_group = [drops[np.flatnonzero(own.group_of_run == number)] for number in range(len(groups))]
    return hold_out_loss(str(trust.measure), groups, by_group, on=on)


def draw_coverage(found: Trusted, *, on: "On" = None) -> "Axes":
    """Draw how much of the top of each run is judged, topic by topic, down to the depth of the first measure."""
    from cranfield.report.bias_figures import coverage

    holes = found.trusts[0].assessment.holes
    runs = found.field.asked
    names = found.field.read.aligned.run_names[:runs]
    return coverage(names, holes.topic_ids, holes.judged[:runs], depth=int(holes.depth.max()), on=on)


def draw_depths(report: "CollectionReport", *, on: "On" = None) -> "Axes":
    """Draw how many new relevant documents each depth of the pool brought."""
    import numpy as np

    from cranfield.report.bias_figures import relevant_by_depth

    gone = report.extrapolation
    reach = gone.to_depth if gone.decay is not None and not gone.refusal else 0
    fitted = gone.decay.new_at(np.arange(1, reach + 1)) if reach and gone.decay is not None else None
    found = report.new_by_depth.relevant.sum(axis=0).astype(np.float64)
    return relevant_by_depth(found, fitted=fitted, until=reach, on=on)
