"""`cranfield compare`: what its tables and files carry, and what it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import Ended, call
from kept import Kept

from cranfield import open_files

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


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def compared(*words: str, status: int = 0) -> Ended:
    return call("compare", "--qrels", "qrels", "-m", "RR", "--no-verdict", *words, status=status)


def test_every_row_of_data_says_what_it_was_made_with():
    words = ("good.run", "fair.run", "--draws", "500", "--seed", "7", "--alpha", "0.01")
    (row,) = rows(compared(*words, "-f", "csv").out)
    made = ("test", "correction", "alpha", "tolerance", "draws", "test_draws", "seed", "reference")
    assert [row[name] for name in made] == ["t", "holm", "0.01", "0.0", "500", "0", "7", "trec_eval 10"]
    assert len(row["qrels"]) == 16
    (row,) = rows(compared("good.run", "fair.run", "--test", "tukey", "-f", "csv").out)
    assert (row["test"], row["correction"]) == ("t", "tukey")


@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_tables_that_are_pasted_elsewhere_carry_it_too(format: str, kept: Kept):
    out = compared("good.run", "fair.run", "-f", format).out.replace("\\", "")
    kept(out)


def test_a_figure_says_at_its_foot_what_it_was_made_with():
    pytest.importorskip("matplotlib")
    runs = ("good.run", "fair.run")
    (row,) = rows(compared(*runs, "-f", "csv", "--plot", "drawn.svg").out)
    drawn = Path("drawn.svg").read_text()
    assert drawn.count(f"qrels {row['qrels']}, tie order as in trec_eval 10") == 2  # seen, and in its metadata
    for kind in ("png", "pdf"):
        compared(*runs, "--plot", f"drawn.{kind}")
    assert row["qrels"].encode() in Path("drawn.png").read_bytes()


def test_in_markdown_a_blank_line_stands_between_two_tables():
    lines = compared("good.run", "fair.run", "-f", "markdown").out.splitlines()
    assert lines[next(place for place, line in enumerate(lines) if "against" in line) - 1] == ""


def test_json_has_no_word_that_json_lacks():
    """Of one topic there is no interval and no effect."""
    Path("qrels").write_text("1 0 rel 1\n")
    for format in ("json", "jsonl"):
        text = compared("good.run", "fair.run", "-f", format).out
        assert not {"NaN", "Infinity", "-Infinity"} & set(text.replace(",", " ").split())
        found = json.loads(text)
        row = found[0] if format == "json" else found
        assert (row["low"], row["high"], row["effect"]) == (None, None, None)


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_a_p_that_rounds_to_zero_is_below_something(format: str):
    out = compared("good.run", "poor.run", "-f", format).out.replace(r"\textless{}", "<").replace("\\", "")
    assert out.count("<0.0001") == 2
    assert " 0.0000" not in out


def test_the_p_beside_tukeys_is_called_what_it_is():
    assert "p (paired t)  Tukey's p" in compared("good.run", "fair.run", "--test", "tukey").out


def test_discriminative_power_is_named_with_its_share_and_the_smallest_difference(kept: Kept):
    told = compared("good.run", "twin.run", "poor.run").err
    kept(told)


def test_equal_runs_get_no_note_about_equal_differences(kept: Kept):
    kept(compared("good.run", "twin.run").err)
    for name, rank in (("first", 1), ("second", 2)):
        lines = [
            f"{topic} Q0 {'rel' if place == rank else 'x'} 1 {9 - place} {name}\n"
            for topic in TOPICS
            for place in (1, 2)
        ]
        Path(f"{name}.run").write_text("".join(lines))
    kept(compared("first.run", "second.run").err)


FEW = ("--topics", "few")


@pytest.mark.parametrize(
    "words",
    [
        ["--test", "sign", *FEW],
        ["--test", "wilcoxon", *FEW, "fair.run"],
        ["--test", "bootstrap", *FEW, "--draws", "100"],
        ["--test", "tukey", "--draws", "100", "--alpha", "0.005"],
        ["--test", "bootstrap", "--draws", "100", "--alpha", "0.009"],
    ],
)
def test_a_test_that_can_find_nothing_says_so_and_what_would_help(words: list[str], kept: Kept):
    Path("few").write_text("\n".join(TOPICS[:5]))
    kept(compared("good.run", "poor.run", *words).err)


@pytest.mark.parametrize("test", ["t", "sign", "randomisation", "bootstrap", "tukey"])
def test_a_test_that_can_find_something_says_nothing_of_that(test, kept: Kept):
    kept(compared("good.run", "poor.run", "--test", test).err)


def test_a_tolerance_is_told_since_tests_do_not_know_it(kept: Kept):
    files = open_files(qrels="qrels", runs=["good.run", "fair.run"])
    told = "won/tied/lost: differences up to 0.2 count as ties; tests use no tolerance"
    assert told in files.compare(tolerance=0.2).attrs["notes"]
    kept(compared("good.run", "fair.run").err)


def test_identical_runs_have_no_interval_that_could_be_too_narrow(kept: Kept):
    kept(compared("good.run", "fair.run").err)
    kept(compared("good.run", "twin.run").err)


def test_what_the_topics_could_show_is_data_too(kept: Kept):
    words = ("good.run", "fair.run", "poor.run")
    found = rows(compared(*words, "-f", "csv").out)
    told = compared(*words, "-f", "markdown").out
    assert len({(row["discriminative_power"], row["detectable_difference"]) for row in found}) == 1
    kept(told)
    alone = rows(compared("good.run", "twin.run", "-f", "csv").out)[0]
    assert alone["detectable_difference"] == ""


def test_every_test_and_correction_is_explained(kept: Kept):
    names = [row["name"] for row in rows(call("tests", "-f", "csv").out)]
    assert {"t", "tukey", "holm", "benjamini-hochberg"} <= set(names)
    for name in names:
        said = call("tests", name).out
        assert said.startswith(f"{name} (")
    assert call("tests", "student").out == call("tests", "t").out
    assert "Source: Student" in call("tests", "t").out
    kept(call("tests", "x", status=2).err)


@pytest.mark.parametrize("text", ["RR,AP", "AP(rel=1, rel=2)"])
def test_measures_that_mean_something_else_than_they_seem_to_are_refused(text):
    told = {"RR,AP": "repeat -m, or separate measures by blanks", "AP(rel=1, rel=2)": "rel is set twice"}
    assert told[text] in call("compare", "--qrels", "qrels", "good.run", "fair.run", "-m", text, status=2).err
