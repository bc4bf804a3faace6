"""Hundreds of runs, groups and topics: what would grow without end is bounded, and the page says how."""

from typing import Any

import numpy as np
from kept import Kept

from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import Scores
from cranfield.report import figures as bias_figures
from cranfield.report.figures import figure_of


def scores_of(values: np.ndarray) -> Scores:
    runs, topics = values.shape
    names, topic_ids = tuple(f"run{run}" for run in range(runs)), tuple(str(topic) for topic in range(topics))
    return Scores(tuple(parse_measures(["AP"])), names, topic_ids, values[None], np.ones(values.shape, dtype=bool))


def names_on(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def drawn_intervals(runs: int, *, pooled: np.ndarray | None = None, contributing: np.ndarray | None = None) -> Any:
    score = np.linspace(0.1, 0.5, runs)
    return bias_figures.intervals(
        "AP",
        [f"run{run}" for run in range(runs)],
        score,
        (score - 0.05, score + 0.1),
        np.where(np.arange(runs) == 0, 0.9, score),
        contributing=np.ones(runs, dtype=bool) if contributing is None else contributing,
        pooled=pooled,
    )


def test_of_many_runs_those_are_drawn_that_could_score_highest(kept: Kept):
    axes = drawn_intervals(100)
    assert names_on(axes) == [*(f"run{run}" for run in range(99, 40, -1)), "run0"]
    kept(axes.get_xlabel())
    assert figure_of(axes).get_size_inches()[1] < 20


def test_runs_that_fed_the_pool_less_deep_are_not_called_outsiders():
    contributing, pooled = np.array([True, False, False]), np.array([True, True, False])
    legend = [text.get_text() for text in drawn_intervals(3, contributing=contributing, pooled=pooled).legend_.texts]
    assert legend == ["pooled to the cutoff", "pooled, less deep", "not pooled"]


def test_where_nobody_knows_who_fed_the_pool_nobody_is_called_an_outsider():
    legend = [text.get_text() for text in drawn_intervals(3, contributing=np.zeros(3, dtype=bool)).legend_.texts]
    assert legend == ["contributing runs not known"]


def test_the_picture_of_coverage_does_not_grow_with_runs_and_topics():
    judged = np.ones((556, 2000))
    axes = bias_figures.coverage(
        [f"r{run}" for run in range(556)], [str(topic) for topic in range(2000)], judged, depth=9
    )
    assert max(figure_of(axes).get_size_inches()) <= 16


def test_of_many_curves_the_best_have_colours_and_names_and_the_others_are_grey():
    from matplotlib.colors import to_hex

    from cranfield.report.figures import LIGHT, precision_recall

    for runs, others in ((5, []), (11, ["4 other runs"]), (8, ["1 other run"]), (556, ["549 other runs"])):
        curves = {f"a-run-{run:03d}": np.linspace(1, run / 600, 11) for run in range(runs)}
        axes = precision_recall(curves)
        assert len(axes.lines) == runs
        best = sorted(curves, reverse=True)[:7]
        assert [text.get_text() for text in axes.get_legend().texts] == [*best, *others]
        colours = [to_hex(line.get_color()) for line in axes.lines]
        assert len({*colours} - {LIGHT}) == len(best)
        assert colours.count(LIGHT) == runs - len(best)


def test_the_points_of_very_many_topics_are_one_picture():
    from cranfield.report.figures import as_svg, strips

    few, many = ({f"run{run}": np.linspace(0, 1, topics) for run in range(40)} for topics in (50, 5000))
    assert "<image" not in as_svg(figure_of(strips("AP", few)))
    assert len(as_svg(figure_of(strips("AP", many)))) < 2_000_000


def test_a_long_name_is_cut_in_the_middle_on_an_axis():
    from cranfield.report.figures import label

    assert label("a" * 60 + "-last") == f"{'a' * 20}…{'a' * 14}-last"
    assert label("$x") == r"\$x"
