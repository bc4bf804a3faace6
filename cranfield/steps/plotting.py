"""Figures of scores and differences, written to files."""

from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.evaluate.scores import Scores
    from cranfield.steps.compare import Compared

LEVELS = tuple(f"IPrec@{level / 10:.1f}" for level in range(11))
"""The measures behind a precision–recall curve."""


def plot_comparison(compared: "Compared", topics: tuple[str, ...], path: Path) -> str:
    """Draw one pair as differences per topic, several runs as strips; give what was drawn."""
    from cranfield.report.figures import differences, save, strips

    scores = compared.scores
    if len(compared.results) == 1:
        (pair,) = compared.results
        first, second = (scores.labels.index(name) for name in (pair.a, pair.b))
        values = scores.values[first] - scores.values[second]
        save(differences(compared.measure, pair.a, pair.b, topics, values), path)
        return f"the difference of {pair.a} and {pair.b} on each topic"
    save(strips(compared.measure, dict(zip(scores.labels, scores.values, strict=True))), path)
    return f"{compared.measure} of each run on each topic"


def refuse_other_kinds(path: Path | None) -> None:
    """Refuse a file name that means no kind of figure, before anything is done."""
    from cranfield.report.figures import kind_of

    if path is not None:
        kind_of(path)


def plot_scores(scores: "Scores", path: Path) -> str:
    """Draw the first measure as strips; give what was drawn."""
    from cranfield.report.figures import save, strips

    chosen = {
        name: scores.values[0, place][scores.scored[place]]
        for place, name in enumerate(scores.run_names)
        if scores.scored[place].any()
    }
    if not chosen:
        raise UsageError("there is no topic to draw")
    save(strips(str(scores.measures[0]), chosen), path)
    return f"{scores.measures[0]} of each run on each topic"


def plot_curves(scores: "Scores", path: Path) -> str:
    """Draw precision–recall curves from scores of the eleven levels; give what was drawn."""
    from cranfield.report.figures import precision_recall, save

    curves = {name: scores.summary[:, place] for place, name in enumerate(scores.run_names)}
    save(precision_recall(curves), path)
    return "interpolated precision at eleven recall levels"
