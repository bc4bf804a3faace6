"""Figures of scores and differences, on axes or written to files."""

from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import UsageError
from cranfield.steps.evaluate_notes import made_with

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cranfield.evaluate.scores import Scores
    from cranfield.report.figures import On
    from cranfield.steps.compare import Compared

LEVELS = tuple(f"IPrec@{level / 10:.1f}" for level in range(11))
"""The measures behind a precision–recall curve."""


def plot_comparison(compared: "Compared", scores: "Scores", path: Path) -> str:
    """Draw one pair as differences per topic, several runs as strips; give what was drawn.

    `scores` are those the comparison is of.
    """
    from cranfield.report.figures import figure_of, save, strips

    entries = compared.scores
    if len(compared.results) == 1:
        (pair,) = compared.results
        save(figure_of(draw_differences(compared, scores.topic_ids)), path, footer=made_with(scores))
        return f"the difference of {pair.a} and {pair.b} on each topic"
    drawn = strips(compared.measure, dict(zip(entries.labels, entries.values, strict=True)))
    save(figure_of(drawn), path, footer=made_with(scores))
    return f"{compared.measure} of each run on each topic"


def draw_differences(compared: "Compared", topics: tuple[str, ...], *, on: "On" = None) -> "Axes":
    """Draw the differences of the first pair of a comparison, topic by topic."""
    from cranfield.report.figures import differences

    scores, pair = compared.scores, compared.results[0]
    first, second = (scores.labels.index(name) for name in (pair.a, pair.b))
    return differences(compared.measure, pair.a, pair.b, topics, scores.values[first] - scores.values[second], on=on)


def refuse_other_kinds(path: Path | None) -> None:
    """Refuse a file name that means no kind of figure, before anything is done."""
    from cranfield.report.figures import kind_of

    if path is not None:
        kind_of(path)


def plot_scores(scores: "Scores", path: Path) -> str:
    """Draw the first measure as strips; give what was drawn."""
    from cranfield.report.figures import figure_of, save

    save(figure_of(draw_strips(scores)), path, footer=made_with(scores))
    return f"{scores.measures[0]} of each run on each topic"


def draw_strips(scores: "Scores", *, on: "On" = None) -> "Axes":
    """Draw the first measure as strips."""
    from cranfield.report.figures import strips

    chosen = {
        name: scores.values[0, place][scores.scored[place]]
        for place, name in enumerate(scores.run_names)
        if scores.scored[place].any()
    }
    if not chosen:
        raise UsageError("there is no topic to draw")
    return strips(str(scores.measures[0]), chosen, on=on)


def plot_curves(scores: "Scores", path: Path) -> str:
    """Draw precision–recall curves from scores of the eleven levels; give what was drawn."""
    from cranfield.report.figures import figure_of, save

    save(figure_of(draw_curves(scores)), path, footer=made_with(scores))
    return "interpolated precision at eleven recall levels"


def draw_curves(scores: "Scores", *, on: "On" = None) -> "Axes":
    """Draw precision–recall curves from scores of the eleven levels."""
    from cranfield.report.figures import precision_recall

    return precision_recall({name: scores.summary[:, place] for place, name in enumerate(scores.run_names)}, on=on)
