"""Figures as they are drawn and written: the numbers of the tables, a footer that is in nobody's way."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from kept import Kept

pytest.importorskip("matplotlib")

from command import call
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from cranfield.report import figures

SCORES = {"a": np.array([0.0, 0.9, 0.3]), "b": np.array([0.3, 0.3, 0.35])}


def test_the_bar_of_a_strip_and_the_order_are_those_of_the_summary_it_is_given(kept: Kept):
    axes = figures.strips("AP(agg='geometric')", SCORES, summary={"a": 0.01, "b": 0.31}, called="its geometric mean")
    assert [text.get_text() for text in axes.get_yticklabels()] == ["b", "a"]
    assert [line.get_xdata()[0] for line in axes.lines[1::2]] == [0.31, 0.01]
    kept(axes.get_xlabel())
    plain = figures.strips("AP", SCORES)
    assert [line.get_xdata()[0] for line in plain.lines[1::2]] == pytest.approx([0.4, 0.95 / 3])
    kept(plain.get_xlabel())


def test_what_is_a_tie_in_a_figure_of_differences_is_what_it_is_told(kept: Kept):
    values = np.array([0.3, -1e-17, 0.04, -0.2, 1e-17])
    axes = figures.differences("Bpref", "a", "b", list("12345"), values, counts=(1, 3, 1))
    kept(axes.get_title())
    colours = [to_hex(bar.get_facecolor()) for bar in axes.patches]
    assert colours == [figures.BLUE, *[figures.LIGHT] * 3, figures.ORANGE]
    alike = figures.differences("AP", "a", "b", ["1", "2"], np.array([-1e-9, 0.0]), counts=(0, 2, 0))
    kept(alike.get_title())


def test_the_axis_of_differences_names_long_runs_on_lines_of_their_own():
    values = np.array([0.1, 0.2])
    axes = figures.differences("AP", "a" * 75, "b" * 75, ["1", "2"], values, counts=(2, 0, 0))
    assert axes.get_ylabel() == f"AP\n{'a' * 16}…{'a' * 15}\n− {'b' * 16}…{'b' * 15}"
    figure = figures.figure_of(axes)
    assert figure.get_tightbbox().height <= figure.get_size_inches()[1] + 0.3


def strips_of(runs: int, name: str) -> Axes:
    return figures.strips("AP", {f"{name}{run}": np.array([0.1, 0.5]) for run in range(runs)})


def curves_of(runs: int, name: str) -> Axes:
    return figures.precision_recall({f"{name}{run}": np.linspace(1, 0, 11) for run in range(runs)})


def differences_of(topics: int, name: str) -> Axes:
    topic_ids = [f"{name}{topic}" for topic in range(topics)]
    return figures.differences("AP", name, "b", topic_ids, np.full(topics, 0.5), counts=(topics, 0, 0))


@pytest.mark.parametrize("draw", [strips_of, curves_of, differences_of])
@pytest.mark.parametrize("many", [1, 34])
@pytest.mark.parametrize("name", ["r", "a-name-that-is-longer-than-an-axis-has-room-for"])
def test_the_footer_stands_just_below_all_that_a_figure_shows(
    draw, many: int, name: str, tmp_path: Path, monkeypatch
):
    figure = figures.figure_of(draw(many, name))
    shown = figure.get_tightbbox()
    seen = []

    def written(path, **_options):
        (footer,) = figure.texts
        seen.append(footer.get_window_extent().transformed(figure.dpi_scale_trans.inverted()))
        Path(path).write_bytes(b"")

    monkeypatch.setattr(figure, "savefig", written)
    figures.save(figure, tmp_path / "figure.png", footer="qrels 0123456789abcdef, order of ties as in trec_eval 10")
    (footer,) = seen
    assert shown.y0 - 0.2 <= footer.y1 < shown.y0
    assert footer.x0 == pytest.approx(shown.x0, abs=0.02)


def test_a_figure_can_be_written_twice_with_the_same_footer(tmp_path: Path):
    figure = figures.figure_of(strips_of(2, "r"))
    for name in ("first.svg", "second.svg"):
        figures.save(figure, tmp_path / name, footer="qrels 0123")
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
    assert (tmp_path / "second.svg").read_text().count("qrels 0123</text>") == 1


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_nobody_is_warned_of_letters_that_the_font_lacks(kind: str, tmp_path: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.save(figures.figure_of(strips_of(2, "日本")), tmp_path / f"x.{kind}")
        assert "日本0" in figures.as_svg(figures.figure_of(strips_of(2, "日本")))


def test_other_warnings_of_a_drawing_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    figure = figures.figure_of(strips_of(2, "r"))

    def written(path, **_options):
        Path(path).write_bytes(b"")
        warnings.warn("something else", UserWarning, stacklevel=1)

    monkeypatch.setattr(figure, "savefig", written)
    with pytest.warns(UserWarning, match="something else"):
        figures.save(figure, tmp_path / "x.png")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs over three topics: one fails on a topic and is best on the others, the other is even."""
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 rel 1\n" for topic in "123"))
    for tag, ranks in (("bold", (1, 1, 0)), ("even日", (2, 2, 2))):
        rows = [
            f"{topic} Q0 {'rel' if place == rank else f'non{place}'} {place} {9 - place} {tag}\n"
            for topic, rank in zip("123", ranks, strict=True)
            for place in (1, 2, 3)
        ]
        (tmp_path / f"{tag[:4]}.run").write_text("".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*words: str) -> str:
    """Give what a command prints and says."""
    return "".join(call(*words, "--qrels", "qrels", "bold.run", "even.run", "--no-verdict")[1:])


@pytest.mark.parametrize(
    ("measure", "best", "bar"),
    [
        ("RR(agg=geometric)", "even日", "its geometric mean (bar)"),
        ("RR(agg=min)", "even日", "its minimum (bar)"),
        ("RR(agg=median)", "bold", "its median (bar)"),
        ("RR", "bold", "its mean (bar)"),
        ("NumRelRet", "even日", "its mean (not the sum) (bar)"),
    ],
)
def test_the_strips_of_a_measure_are_in_the_order_of_its_table(folder: Path, measure: str, best: str, bar: str):
    told("evaluate", "-m", measure, "--plot", "x.svg")
    names = re.findall(r">(bold|even日)</text>", (folder / "x.svg").read_text())
    assert names == [best, *({"bold", "even日"} - {best})]
    assert f"per topic (points) and {bar}</text>" in (folder / "x.svg").read_text()


def test_a_figure_counts_wins_ties_and_losses_as_the_table_does(folder: Path):
    assert " 2/0/1 " in told("compare", "-m", "RR", "--plot", "x.svg")
    assert "won 2, tied 0, lost 1;" in (folder / "x.svg").read_text()


def test_noise_is_a_tie_in_a_figure_too(kept: Kept):
    from cranfield.compare.by_measure import Options, compare_scores
    from cranfield.evaluate.measure import parse_measures
    from cranfield.evaluate.scores import Scores
    from cranfield.workflows.compare import draw_differences

    values = np.array([[[0.1 + 0.2, 0.5, 0.1], [0.3, 0.2, 0.4]]])
    scored = np.ones((2, 3), dtype=bool)
    scores = Scores(tuple(parse_measures(["Bpref"])), ("a", "b"), ("1", "2", "3"), values, scored)
    (compared,) = compare_scores(scores, Options())
    kept(draw_differences(compared, scores.topic_ids).get_title())


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_a_command_says_what_it_has_plotted_and_nothing_of_letters(folder: Path, command: str, kept: Kept):
    kept(told(command, "-m", "RR", "--plot", "x.png"))


@pytest.mark.parametrize(
    ("measure", "shown"),
    [
        ("nDCG@10", "nDCG@10"),
        ("nDCG(gains={1: 0, 2: 1, 3: 2})@5", "nDCG(gains={1: 0, 2: 1, 3: 2})@5"),
        ("nDCG(gains={1: 0.1234567, 2: 0.33333333333, 5: 1234567.25})@5", "nDCG(…)@5"),
        ("RBP(gain='topic', judged_only=True, p=0.123456789)", "RBP(…)"),
    ],
)
def test_a_long_measure_keeps_its_name_and_its_cutoff_on_an_axis(measure: str, shown: str):
    assert figures.measure_label(measure) == shown
