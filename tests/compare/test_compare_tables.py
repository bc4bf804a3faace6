"""What `cranfield compare` writes for people, what goes with it where it is pasted, and the scores it refuses."""

import csv
import importlib.util
import io
import json
from pathlib import Path

import pytest
from command import Ended, call
from kept import Kept

import cranfield

TOPICS = [str(number) for number in range(1, 9)]
RANKS = {"ours": [1, 1, 1, 2, 1, 1, 2, 1], "bm25": [2, 2, 3, 2, 2, 3, 2, 4], "poor": [9, 8, 9, 7, 9, 8, 9, 9]}
FILES = {"ours": "new.txt", "bm25": "old.txt", "poor": "poor.txt"}
ABOUT_CLAIMS = "robust, supported, conservative win and open say whether unjudged documents could reverse a lead"


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


def test_baselines_and_seeds_go_by_file_or_tag():
    by_tag = compared("-m", "AP", "-b", "bm25", "-f", "csv").out
    assert compared("-m", "AP", "-b", "old.txt", "-f", "csv").out == by_tag
    assert [(row["a"], row["b"]) for row in rows(by_tag)] == [("ours", "bm25"), ("poor", "bm25")]
    seeds = compared("-m", "AP", "--system", "S=new.txt,old.txt", "-f", "csv").out
    assert [(row["a"], row["b"]) for row in rows(seeds)] == [("S", "poor")]


def test_a_baseline_may_be_typed_otherwise_than_its_run():
    Path("runs").mkdir()
    words = ("--qrels", "qrels", "-m", "AP", "-f", "csv", "--no-verdict")
    by_tag = call("compare", "./new.txt", "old.txt", "poor.txt", *words, "-b", "ours").out
    assert call("compare", "./new.txt", "old.txt", "poor.txt", *words, "-b", "new.txt").out == by_tag
    assert call("compare", "new.txt", "old.txt", "poor.txt", *words, "-b", "runs/../new.txt").out == by_tag
    assert [(row["a"], row["b"]) for row in rows(by_tag)] == [("bm25", "ours"), ("poor", "ours")]


def test_the_best_of_a_standing_is_bold():
    out = compared("-m", "RR", "--no-verdict", "-f", "markdown").out
    assert "| ours | **0.8750** | a |" in out
    assert out.count("**0.") == 1
    assert r"\textbf{0.8750}" in compared("-m", "RR", "--no-verdict", "-f", "latex").out


def test_a_measure_that_is_no_quality_has_no_best_and_beats_nothing(kept: Kept):
    out = compared("-m", "Unjudged@5", "-b", "bm25", "--no-verdict", "-f", "markdown").out
    kept(out)
    assert "**0." in compared("-m", "P@5", "-b", "bm25", "--no-verdict", "-f", "markdown").out


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


def test_a_piped_table_tells_qrels_and_reference_once(kept: Kept):
    _, out, told = compared("-m", "RR", "--no-verdict")
    kept(out)
    kept(told)


def test_pairs_by_topic_come_in_every_format():
    words = ("-m", "RR", "-b", "bm25", "--by-topic", "-f")
    found = rows(compared(*words, "csv").out)
    assert list(found[0]) == ["measure", "a", "b", "topic", "score_a", "score_b", "difference", "qrels", "reference"]
    assert len(found) == 16
    first = found[0]
    assert (first["a"], first["b"], first["topic"]) == ("ours", "bm25", "1")
    assert (first["score_a"], first["score_b"], first["difference"]) == ("1.0", "0.5", "0.5")
    assert [row["difference"] for row in json.loads(compared(*words, "json").out)] == [
        float(row["difference"]) for row in found
    ]
    assert len(compared(*words, "jsonl").out.splitlines()) == 16
    for format in ("table", "markdown", "latex"):
        assert compared(*words, format).out.count("0.5000") > 8


@pytest.mark.parametrize("format", ["table", "csv", "json", "jsonl", "markdown", "latex"])
def test_pairs_by_topic_say_nothing_of_intervals_they_do_not_show(format: str, kept: Kept):
    words = ("-m", "RR", "--no-verdict", "-f", format)
    kept(compared(*words).err)
    assert "interval" not in "".join(compared(*words, "--by-topic")[1:])


def test_nor_does_their_frame():
    runs = cranfield.open_files(qrels="qrels", runs=list(FILES.values()))
    noted = [" ".join(runs.compare(measures="RR", by_topic=by_topic).attrs["notes"]) for by_topic in (False, True)]
    assert ["intervals are too narrow" in told for told in noted] == [True, False]


@pytest.mark.parametrize(("option", "value"), [("--seed", "-1"), ("--draws", "5")])
def test_a_number_out_of_its_range_is_refused_with_the_name_of_its_option(option: str, value: str):
    _, out, told = compared("-m", "RR", option, value, status=2)  # the rest of the sentence is typer's, and varies
    assert (out, f"Invalid value for '{option}'" in told) == ("", True)


@pytest.mark.parametrize(
    "words", [("--test", "tukey", "--correction", "bonferroni"), ("--difference", "inf")], ids=["words2", "words3"]
)
def test_what_cannot_be_is_refused_before_anything_is_written(words: tuple[str, ...], kept: Kept):
    _, out, told = compared("-m", "RR", *words, status=2)
    assert out == ""
    kept(told)


def test_a_difference_too_small_to_look_for_costs_no_other_sentence(kept: Kept):
    told = compared("-m", "RR", "-m", "AP", "--difference", "0.000001").err
    kept(told)


def test_only_the_measure_that_lacks_a_library_is_accused(kept: Kept):
    pytest.importorskip("ir_measures")
    words = ("-m", "Compat(p=0.95)", "-m", "alpha_nDCG@10")
    if importlib.util.find_spec("pyndeval"):
        pytest.skip("the library behind alpha_nDCG is installed")
    told = compared(*words, status=2).err
    kept(told)
