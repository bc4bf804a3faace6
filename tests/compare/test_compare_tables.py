"""What `cranfield compare` writes for people, what goes with it where it is pasted, and the scores it refuses."""

import csv
import importlib.util
import io
from pathlib import Path

import pytest
from command import Ended, call
from kept import Kept

TOPICS = [str(number) for number in range(1, 9)]
RANKS = {"ours": [1, 1, 1, 2, 1, 1, 2, 1], "bm25": [2, 2, 3, 2, 2, 3, 2, 4], "poor": [9, 8, 9, 7, 9, 8, 9, 9]}
FILES = {"ours": "new.txt", "bm25": "old.txt", "poor": "poor.txt"}
ABOUT_CLAIMS = "robust, supported and open say whether unjudged documents could reverse a lead"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 rel 1\n{topic} 0 non1 0\n" for topic in TOPICS))
    for name, ranks in RANKS.items():
        lines = [
            f"{topic} Q0 {'rel' if place == rank else f'non{place}'} {place} {20 - place} {name}\n"
            for topic, rank in zip(TOPICS, ranks, strict=True)
            for place in range(1, 11)
            if (name, topic) != ("poor", "8")
        ]
        (tmp_path / FILES[name]).write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(*words: str, status: int = 0) -> Ended:
    return call("compare", *FILES.values(), "--qrels", "qrels", *words, status=status)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_baselines_go_by_file_or_tag():
    by_tag = compared("-m", "AP", "-b", "bm25", "-f", "csv").out
    assert compared("-m", "AP", "-b", "old.txt", "-f", "csv").out == by_tag
    assert [(row["a"], row["b"]) for row in rows(by_tag)] == [("ours", "bm25"), ("poor", "bm25")]


def test_a_baseline_may_be_typed_otherwise_than_its_run():
    Path("runs").mkdir()
    words = ("--qrels", "qrels", "-m", "AP", "-f", "csv", "--no-verdict")
    by_tag = call("compare", "./new.txt", "old.txt", "poor.txt", *words, "-b", "ours").out
    assert call("compare", "./new.txt", "old.txt", "poor.txt", *words, "-b", "new.txt").out == by_tag
    assert call("compare", "new.txt", "old.txt", "poor.txt", *words, "-b", "runs/../new.txt").out == by_tag
    assert [(row["a"], row["b"]) for row in rows(by_tag)] == [("bm25", "ours"), ("poor", "ours")]


def test_the_best_of_a_standing_is_bold():
    out = compared("-m", "RR", "--no-verdict", "-f", "markdown").out
    assert "| ours | **0.8750** | yes |" in out
    assert out.count("**0.") == 1
    assert r"\textbf{0.8750}" in compared("-m", "RR", "--no-verdict", "-f", "latex").out


@pytest.mark.parametrize("measure", ["Unjudged@5", "AP(agg='geometric')", "NumRelRet"])
def test_what_is_no_mean_of_a_quality_is_refused(measure: str, kept: Kept):
    kept(compared("-m", measure, "--no-verdict", status=2).err)


@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_a_pasted_table_carries_what_makes_it_honest(format: str, kept: Kept):
    out = compared("-m", "RR", "-f", format).out.replace("\\", "")
    kept(out)
    assert ABOUT_CLAIMS in out
    plain = compared("-m", "RR", "--no-verdict", "-f", format).out
    assert ABOUT_CLAIMS not in plain


def test_a_pasted_table_tells_of_ties(kept: Kept):
    lines = [f"{topic} Q0 {name} 1 5 tied\n" for topic in TOPICS for name in ("rel", "non1", "non2")]
    Path("poor.txt").write_text("".join(lines))
    out = compared("-m", "RR", "--no-verdict", "-f", "markdown").out
    kept(out)
    kept("\n".join(line for line in compared("-m", "RR").err.splitlines() if "order" in line))


def test_a_piped_table_tells_qrels_and_reference_once(kept: Kept):
    _, out, told = compared("-m", "RR", "--no-verdict")
    kept(out)
    kept(told)


@pytest.mark.parametrize("format", ["table", "csv", "json", "jsonl", "markdown", "latex"])
def test_intervals_on_few_topics_are_commented_on_in_every_format(format: str, kept: Kept):
    words = ("-m", "RR", "--no-verdict", "-f", format)
    kept(compared(*words).err)


@pytest.mark.parametrize(("option", "value"), [("--seed", "-1"), ("--draws", "5")])
def test_a_number_out_of_its_range_is_refused_with_the_name_of_its_option(option: str, value: str):
    _, out, told = compared("-m", "RR", option, value, status=2)  # the rest of the sentence is typer's, and varies
    assert (out, f"Invalid value for '{option}'" in told) == ("", True)


def test_what_cannot_be_is_refused_before_anything_is_written(kept: Kept):
    _, out, told = compared("-m", "RR", "--test", "tukey", "--correction", "bonferroni", status=2)
    assert out == ""
    kept(told)


def test_only_the_measure_that_lacks_a_library_is_accused(kept: Kept):
    pytest.importorskip("ir_measures")
    words = ("-m", "Compat(p=0.95)", "-m", "alpha_nDCG@10")
    if importlib.util.find_spec("pyndeval"):
        pytest.skip("the library behind alpha_nDCG is installed")
    told = compared(*words, status=2).err
    kept(told)
