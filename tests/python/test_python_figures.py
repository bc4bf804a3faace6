"""Figures as matplotlib axes: drawn where one wants them, with the numbers of the frames."""

from pathlib import Path

import pytest
from command import call
from kept import Kept

import cranfield as cf

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    pyplot.close("all")


@pytest.fixture
def files(pool: Path) -> cf.Opened:
    runs = [pool / f"r{run}.run" for run in (1, 2, 3, 4, 5, 9)]
    return cf.open_files(qrels=pool / "qrels", runs=runs, groups=pool / "groups.tsv", pool_depth=3)


def labels(axes: matplotlib.axes.Axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def test_strips_have_the_scores_of_each_topic_and_the_means(files: cf.Opened, kept: Kept):
    axes = files.plot.strips("P@3")
    frame = files.evaluate("P@3", by_topic=True)
    for place, run in enumerate(labels(axes)):
        points, bar = axes.lines[2 * place : 2 * place + 2]
        values = frame[frame["run"] == run].set_index("topic")["value"]
        assert sorted(points.get_xdata().tolist()) == sorted(values.drop("all").tolist())
        assert bar.get_xdata()[0] == pytest.approx(values["all"])
    kept(axes.get_xlabel())


def test_a_curve_has_the_precision_at_eleven_levels(files: cf.Opened):
    axes = files.plot.precision_recall(runs=["r1"])
    frame = files.evaluate([f"IPrec@{level / 10:.1f}" for level in range(11)], runs=["r1"], verdicts=False)
    assert axes.lines[0].get_ydata().tolist() == frame["value"].tolist()


def test_differences_are_those_of_two_runs_on_each_topic(files: cf.Opened):
    axes = files.plot.differences("r1", "r9", "P@3")
    by_topic = files.evaluate("P@3", runs=["r1", "r9"], by_topic=True).pivot(
        index="topic", columns="run", values="value"
    )
    values = (by_topic["r1"] - by_topic["r9"]).drop("all")
    assert sorted(bar.get_height() for bar in axes.patches) == pytest.approx(sorted(values))
    assert axes.get_ylabel() == "P@3\nr1\n− r9"


def test_pictures_of_pool_bias_have_the_numbers_of_the_result(files: cf.Opened):
    found = files.reuse(measures=["P@3", "nDCG@5"])
    runs = found.runs[found.runs["measure"] == "nDCG@5"].set_index("run")
    axes = found.plot.intervals("nDCG@5")
    possible = [[end for end, _ in segment.tolist()] for segment in axes.collections[0].get_segments()]
    assert possible == runs.loc[labels(axes), ["low", "high"]].values.tolist()
    points = [(place, x) for line in axes.lines for x, place in zip(line.get_xdata(), line.get_ydata(), strict=True)]
    assert [x for _, x in sorted(points)] == runs.loc[labels(axes), "score"].tolist()
    assert found.plot.intervals().get_xlabel().startswith("P@3")
    assert len(found.plot.coverage().images[0].get_array()) == 6
    assert sum(bar.get_height() for bar in found.plot.relevant_by_depth().patches) > 0


@pytest.mark.parametrize(
    "draw",
    [
        lambda files, ax: files.plot.strips("P@3", ax=ax),
        lambda files, ax: files.plot.precision_recall(ax=ax),
        lambda files, ax: files.plot.differences("r1", "r2", ax=ax),
        lambda files, ax: files.reuse(measures="P@3").plot.intervals(ax=ax),
        lambda files, ax: files.reuse(measures="P@3").plot.coverage(ax=ax),
        lambda files, ax: files.reuse(measures="P@3").plot.relevant_by_depth(ax=ax),
    ],
    ids=["strips", "precision_recall", "differences", "intervals", "coverage", "relevant_by_depth"],
)
def test_a_figure_is_drawn_on_the_axes_it_is_given_and_leaves_their_figure_as_large_as_it_was(files: cf.Opened, draw):
    figure = Figure(figsize=(3, 2))
    first, second = figure.subplots(1, 2)
    assert draw(files, second) is second
    assert not first.has_data()
    assert figure.get_size_inches().tolist() == [3, 2]
    assert pyplot.get_fignums() == []


def test_without_axes_it_is_a_figure_of_pyplot_that_a_notebook_shows(files: cf.Opened):
    axes = files.plot.strips("P@3")
    assert pyplot.gcf() is axes.figure
    assert axes.figure.get_size_inches()[0] == 6.5


@pytest.mark.parametrize("name", ["intervals", "coverage", "relevant_by_depth", "precision_recall"])
def test_nothing_of_a_figure_is_cut_when_it_is_saved_as_it_is(files: cf.Opened, name: str, tmp_path: Path):
    plots = files.plot if name == "precision_recall" else files.reuse(measures="P@3").plot
    figure = getattr(plots, name)().figure
    figure.savefig(tmp_path / "figure.png")
    needed, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert needed.x0 >= 0
    assert needed.y0 >= 0
    assert needed.x1 <= width
    assert needed.y1 <= height


def test_names_of_curves_stand_beside_them(files: cf.Opened):
    axes = files.plot.precision_recall(runs=["r1", "r2"])
    axes.figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


def test_a_figure_of_python_and_of_the_command_are_the_same_drawing(files: cf.Opened, pool: Path):
    from cranfield.report.figures import own_axes, save

    words = ("--qrels", "qrels", "-m", "P@3", "--plot", "theirs.svg")
    call("evaluate", *(f"r{run}.run" for run in (1, 2, 3, 4, 5, 9)), *words, folder=pool)
    axes = files.plot.strips("P@3", ax=own_axes(6.5, 1.2 + 0.32 * 6))
    made_with = f"qrels {files.evaluate('P@3').attrs['qrels'][:16]}, tie order as in trec_eval 10"
    save(axes.figure, pool / "ours.svg", footer=made_with)
    assert (pool / "ours.svg").read_bytes() == (pool / "theirs.svg").read_bytes()


@pytest.mark.parametrize(
    "call", [lambda found: found.plot.intervals("RR"), lambda found: found.plot.relevant_by_depth()]
)
def test_what_cannot_be_drawn_is_told(pool: Path, call, kept: Kept):
    found = cf.open_files(qrels=pool / "qrels", runs=pool / "r9.run").reuse(measures="P@3")
    with kept.raises(cf.CranfieldError):
        call(found)
