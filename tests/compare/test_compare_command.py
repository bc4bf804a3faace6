"""`cranfield compare`: what its tables and files carry, and what it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest

from cranfield.cli.main import _status

TOPICS = [str(number) for number in range(1, 9)]
RANKS = {
    "good": [1, 1, 1, 2, 1, 1, 2, 1],
    "twin": [1, 1, 1, 2, 1, 1, 2, 1],
    "fair": [2, 2, 3, 2, 2, 3, 2, 4],
    "poor": [9, 8, 9, 7, 9, 8, 9, 9],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 rel 1\n{topic} 0 non1 0\n" for topic in TOPICS))
    (tmp_path / "other").write_text((tmp_path / "qrels").read_text() + "1 0 non2 1\n")
    for name, ranks in RANKS.items():
        lines = [
            f"{topic} Q0 {'rel' if place == rank else f'non{place}'} {place} {20 - place} {name}\n"
            for topic, rank in zip(TOPICS, ranks, strict=True)
            for place in range(1, 11)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(capsys, *words: str, status: int = 0) -> tuple[str, str]:
    ended = _status(list(words))
    shown = capsys.readouterr()
    assert ended == status, shown.err
    return shown.out, " ".join(shown.err.split())


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def compared(capsys, *words: str, status: int = 0) -> tuple[str, str]:
    return typed(capsys, "compare", "--qrels", "qrels", "-m", "RR", "--no-verdict", *words, status=status)


def saved(capsys, name: str, *more: str, qrels: str = "qrels") -> None:
    words = ("evaluate", f"{name}.run", "--qrels", qrels, "-m", "RR", "-m", "AP", "-f", "csv", *more)
    Path(f"{name}.csv").write_text(typed(capsys, *words)[0])


def test_a_system_may_not_swallow_a_run_that_is_called_like_it(capsys):
    words = ("good.run", "fair.run", "poor.run", "--system", "poor=good,fair")
    assert "'poor' is a run of its own" in compared(capsys, *words, status=2)[1]
    out, _ = compared(capsys, "good.run", "fair.run", "poor.run", "--system", "good=good,fair", "-f", "csv")
    assert [(row["a"], row["b"]) for row in rows(out)] == [("good", "poor")]


def test_two_systems_of_one_name_are_refused(capsys):
    words = ("good.run", "fair.run", "poor.run", "--system", "x=good", "--system", "x=fair")
    assert "two systems are called 'x'" in compared(capsys, *words, status=2)[1]


def test_seeds_tell_how_many_they_are_and_how_far_they_lie_apart(capsys):
    words = ("good.run", "fair.run", "poor.run", "--system", "ours=good,fair")
    (row,) = rows(compared(capsys, *words, "-f", "csv")[0])
    assert (row["seeds_a"], row["seeds_b"], row["seed_deviation_b"]) == ("2", "1", "")
    means = [sum(1 / rank for rank in RANKS[name]) / 8 for name in ("good", "fair")]
    assert float(row["seed_deviation_a"]) == pytest.approx(abs(means[0] - means[1]) / 2**0.5)
    shown = compared(capsys, *words)[0]
    assert "between seeds" in shown
    assert f"{abs(means[0] - means[1]) / 2**0.5:.4f}" in shown
    (alone,) = [line for line in shown.splitlines() if line.startswith("poor")]
    assert alone.split() == ["poor", f"{sum(1 / rank for rank in RANKS['poor']) / 8:.4f}", "1", "b"]


def test_every_row_of_data_says_what_it_was_made_with(capsys):
    words = ("good.run", "fair.run", "--as", "9", "--draws", "500", "--seed", "7", "--alpha", "0.01")
    (row,) = rows(compared(capsys, *words, "-f", "csv")[0])
    made = ("test", "correction", "alpha", "tolerance", "draws", "test_draws", "seed", "reference")
    assert [row[name] for name in made] == ["t", "holm", "0.01", "0.0", "500", "0", "7", "trec_eval 9"]
    assert len(row["qrels"]) == 16
    (row,) = rows(compared(capsys, "good.run", "fair.run", "--test", "tukey", "-f", "csv")[0])
    assert (row["test"], row["correction"]) == ("t", "tukey")


@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_tables_that_are_pasted_elsewhere_carry_it_too(capsys, format: str):
    out = compared(capsys, "good.run", "fair.run", "-f", format)[0].replace("\\", "")
    assert out.count("order of ties as in trec_eval 10") == 2
    assert "95% intervals by 10,000 draws, seed 1" in out


@pytest.mark.parametrize("runs", [["good.run", "fair.run"], ["good.run", "fair.run", "poor.run"]])
def test_a_figure_says_at_its_foot_what_it_was_made_with(capsys, runs: list[str]):
    pytest.importorskip("matplotlib")
    (row, *_) = rows(compared(capsys, *runs, "-f", "csv", "--plot", "drawn.svg")[0])
    drawn = Path("drawn.svg").read_text()
    assert drawn.count(f"qrels {row['qrels']}, order of ties as in trec_eval 10") == 2  # seen, and in its metadata
    for kind in ("png", "pdf"):
        compared(capsys, *runs, "--plot", f"drawn.{kind}")
    assert row["qrels"].encode() in Path("drawn.png").read_bytes()


def test_in_markdown_a_blank_line_stands_between_two_tables(capsys):
    lines = compared(capsys, "good.run", "fair.run", "-f", "markdown")[0].splitlines()
    assert lines[next(place for place, line in enumerate(lines) if "against" in line) - 1] == ""


def test_json_has_no_word_that_json_lacks(capsys):
    """Of one topic there is no interval and no effect."""
    Path("qrels").write_text("1 0 rel 1\n")
    for format in ("json", "jsonl"):
        text = compared(capsys, "good.run", "fair.run", "-f", format)[0]
        assert not {"NaN", "Infinity", "-Infinity"} & set(text.replace(",", " ").split())
        found = json.loads(text)
        row = found[0] if format == "json" else found
        assert (row["low"], row["high"], row["effect"]) == (None, None, None)


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_a_p_that_rounds_to_zero_is_below_something(capsys, format: str):
    out = compared(capsys, "good.run", "poor.run", "-f", format)[0].replace(r"\textless{}", "<").replace("\\", "")
    assert out.count("<0.0001") == 2
    assert " 0.0000" not in out


def test_the_p_beside_tukeys_is_called_what_it_is(capsys):
    assert "p (paired t)  Tukey's p" in compared(capsys, "good.run", "fair.run", "--test", "tukey")[0]


def test_discriminative_power_is_named_with_its_share_and_the_smallest_difference(capsys):
    told = compared(capsys, "good.run", "twin.run", "poor.run")[1]
    assert "discriminative power 67% (2 of 3 pairs significant on 8 topics, the smallest difference 0.7" in told


def test_equal_runs_get_no_note_about_equal_differences(capsys):
    assert "2^(1-n)" not in compared(capsys, "good.run", "twin.run")[1]
    for name, rank in (("first", 1), ("second", 2)):
        lines = [
            f"{topic} Q0 {'rel' if place == rank else 'x'} 1 {9 - place} {name}\n"
            for topic in TOPICS
            for place in (1, 2)
        ]
        Path(f"{name}.run").write_text("".join(lines))
    assert "2^(1-n)" in compared(capsys, "first.run", "second.run")[1]


def test_scores_of_two_qrels_name_both_where_they_are_compared_all_the_same(capsys):
    saved(capsys, "good", "--by-topic")
    saved(capsys, "poor", "--by-topic", qrels="other")
    hashes = [rows(Path(f"{name}.csv").read_text())[0]["qrels"] for name in ("good", "poor")]
    words = ("compare", "--scores", "good.csv", "--scores", "poor.csv", "--allow-mixed-qrels", "-f", "csv")
    out, told = typed(capsys, *words)
    assert {row["qrels"] for row in rows(out)} == {"+".join(hashes)}
    assert "made with different qrels" in told
    assert "+".join(hashes) in told


def test_saved_scores_keep_their_reference(capsys):
    for name in ("good", "poor"):
        saved(capsys, name, "--by-topic", "--as", "9", "--ties", "best")
    out, told = typed(capsys, "compare", "--scores", "good.csv", "--scores", "poor.csv", "-f", "csv")
    assert {row["reference"] for row in rows(out)} == {"trec_eval 9, ties best"}
    assert "order of ties as in trec_eval 9, ties best" in told


def test_of_saved_scores_the_measures_that_are_named_are_compared(capsys):
    for name in ("good", "poor"):
        saved(capsys, name, "--by-topic")
    words = ("compare", "--scores", "good.csv", "--scores", "poor.csv", "-f", "csv", "-m")
    assert [row["measure"] for row in rows(typed(capsys, *words, "map")[0])] == ["AP"]
    assert "unknown measure of these scores 'P@5'" in typed(capsys, *words, "P@5", status=2)[1]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--qrels", "qrels"], "--qrels"),
        (["fair.run"], "RUN"),
        (["--as", "9", "--pool-depth", "3"], "--as, --pool-depth"),
    ],
)
def test_what_would_change_nothing_beside_saved_scores_is_refused(capsys, more: list[str], named: str):
    for name in ("good", "poor"):
        saved(capsys, name, "--by-topic")
    said = typed(capsys, "compare", "--scores", "good.csv", "--scores", "poor.csv", *more, status=2)[1]
    assert f"{named} would change nothing" in said


def test_a_file_with_summaries_alone_is_refused_by_its_name(capsys):
    saved(capsys, "good", "--by-topic")
    saved(capsys, "poor")
    said = typed(capsys, "compare", "--scores", "good.csv", "--scores", "poor.csv", status=1)[1]
    assert "poor.csv: no score of a single topic, only summaries" in said


def test_a_file_that_is_something_else_is_one_problem(capsys):
    said = typed(capsys, "compare", "--scores", "good.run", "--scores", "qrels", status=1)[1]
    assert said.count("there is no run; expected what cranfield evaluate --by-topic --format csv writes") == 2
    assert "and 69 more" in said


FEW = ("--topics", "few")
NOTHING = "no pair can be significant at alpha 0.05; take more topics, or --test t"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--test", "sign", *FEW], f"the smallest p on 5 topics is 0.0625 (sign test): {NOTHING}"),
        (
            ["--test", "wilcoxon", *FEW, "fair.run"],
            f"is 0.0625 (Wilcoxon's signed ranks), 3 pairs make that 0.19 after Holm: {NOTHING} or tukey",
        ),
        (["--test", "bootstrap", *FEW, "--draws", "100"], "the smallest p on 5 topics is 0.0625 (paired bootstrap)"),
        (
            ["--test", "tukey", "--draws", "100", "--alpha", "0.005"],
            "with 100 draws no pair can be significant; use --draws 199 or more",
        ),
        (
            ["--test", "bootstrap", "--draws", "100", "--alpha", "0.009"],
            "with 100 draws no pair can be significant; use --draws 111 or more",
        ),
    ],
)
def test_a_test_that_can_find_nothing_says_so_and_what_would_help(capsys, words, told):
    Path("few").write_text("\n".join(TOPICS[:5]))
    assert told in compared(capsys, "good.run", "poor.run", *words)[1]


@pytest.mark.parametrize("test", ["t", "sign", "randomisation", "bootstrap", "tukey"])
def test_a_test_that_can_find_something_says_nothing_of_that(capsys, test):
    assert "can be significant" not in compared(capsys, "good.run", "poor.run", "--test", test)[1]


def test_a_tolerance_is_told_since_tests_do_not_know_it(capsys):
    told = "won/tied/lost: differences up to 0.2 are ties; tests know no such tolerance"
    assert told in compared(capsys, "good.run", "fair.run", "--tolerance", "0.2")[1]
    assert "tolerance" not in compared(capsys, "good.run", "fair.run")[1]


def test_identical_runs_have_no_interval_that_could_be_too_narrow(capsys):
    assert "too narrow" in compared(capsys, "good.run", "fair.run")[1]
    assert "too narrow" not in compared(capsys, "good.run", "twin.run")[1]


def test_what_the_topics_could_show_is_data_too(capsys):
    words = ("good.run", "fair.run", "poor.run", "--difference", "0.1")
    found = rows(compared(capsys, *words, "-f", "csv")[0])
    told = compared(capsys, *words, "-f", "markdown")[0]
    assert (
        len({(row["discriminative_power"], row["detectable_difference"], row["topics_needed"]) for row in found}) == 1
    )
    assert f"discriminative power {float(found[0]['discriminative_power']):.0%}" in told
    assert f"a single true difference of {float(found[0]['detectable_difference']):.4f} would be found" in told
    assert f"a true difference of 0.1 needs {found[0]['topics_needed']} topics" in told
    alone = rows(compared(capsys, "good.run", "twin.run", "-f", "csv")[0])[0]
    assert (alone["detectable_difference"], "topics_needed" in alone) == ("", False)


def test_every_test_and_correction_is_explained(capsys):
    names = [row["name"] for row in rows(typed(capsys, "tests", "-f", "csv")[0])]
    assert {"t", "tukey", "holm", "benjamini-hochberg"} <= set(names)
    for name in names:
        said = typed(capsys, "tests", name)[0]
        assert said.startswith(f"{name} (")
    assert typed(capsys, "tests", "student")[0] == typed(capsys, "tests", "t")[0]
    assert "Source: Student" in typed(capsys, "tests", "t")[0]
    assert "unknown test or correction 'x'" in typed(capsys, "tests", "x", status=2)[1]


@pytest.mark.parametrize("text", ["RR,AP", "AP(rel=1, rel=2)"])
def test_measures_that_mean_something_else_than_they_seem_to_are_refused(capsys, text):
    told = {"RR,AP": "of several each has its own -m, or blanks between them", "AP(rel=1, rel=2)": "rel is set twice"}
    assert told[text] in typed(capsys, "compare", "--qrels", "qrels", "good.run", "fair.run", "-m", text, status=2)[1]
