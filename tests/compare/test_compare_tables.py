"""What `cranfield compare` writes for people, what goes with it where it is pasted, and the scores it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest

import cranfield
from cranfield.cli.main import _status

TOPICS = [str(number) for number in range(1, 9)]
RANKS = {"ours": [1, 1, 1, 2, 1, 1, 2, 1], "bm25": [2, 2, 3, 2, 2, 3, 2, 4], "poor": [9, 8, 9, 7, 9, 8, 9, 9]}
FILES = {"ours": "new.txt", "bm25": "old.txt", "poor": "poor.txt"}
ABOUT_CLAIMS = "proved, supported, conservative win and open say what unjudged documents leave of a lead"


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


def typed(capsys, *words: str, status: int = 0) -> tuple[str, str]:
    ended = _status(list(words))
    shown = capsys.readouterr()
    assert ended == status, shown.err
    return shown.out, " ".join(shown.err.split())


def compared(capsys, *words: str, status: int = 0) -> tuple[str, str]:
    return typed(capsys, "compare", *FILES.values(), "--qrels", "qrels", *words, status=status)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def saved(capsys, *words: str) -> str:
    return typed(capsys, "evaluate", *FILES.values(), "--qrels", "qrels", "-m", "AP", "--by-topic", *words)[0]


def test_baselines_and_seeds_go_by_file_or_tag(capsys):
    by_tag = compared(capsys, "-m", "AP", "-b", "bm25", "-f", "csv")[0]
    assert compared(capsys, "-m", "AP", "-b", "old.txt", "-f", "csv")[0] == by_tag
    assert [(row["a"], row["b"]) for row in rows(by_tag)] == [("ours", "bm25"), ("poor", "bm25")]
    seeds = compared(capsys, "-m", "AP", "--system", "S=new.txt,old.txt", "-f", "csv")[0]
    assert [(row["a"], row["b"]) for row in rows(seeds)] == [("S", "poor")]


def test_a_baseline_may_be_typed_otherwise_than_its_run(capsys):
    Path("runs").mkdir()
    words = ("--qrels", "qrels", "-m", "AP", "-f", "csv", "--no-verdict")
    by_tag = typed(capsys, "compare", "./new.txt", "old.txt", "poor.txt", *words, "-b", "ours")[0]
    assert typed(capsys, "compare", "./new.txt", "old.txt", "poor.txt", *words, "-b", "new.txt")[0] == by_tag
    assert typed(capsys, "compare", "new.txt", "old.txt", "poor.txt", *words, "-b", "runs/../new.txt")[0] == by_tag
    assert [(row["a"], row["b"]) for row in rows(by_tag)] == [("bm25", "ours"), ("poor", "ours")]


def test_the_best_of_a_standing_is_bold(capsys):
    out = compared(capsys, "-m", "RR", "--no-verdict", "-f", "markdown")[0]
    assert "| ours | **0.8750** | a |" in out
    assert out.count("**0.") == 1
    assert r"\textbf{0.8750}" in compared(capsys, "-m", "RR", "--no-verdict", "-f", "latex")[0]


def test_a_measure_that_is_no_quality_has_no_best_and_beats_nothing(capsys):
    out = compared(capsys, "-m", "Unjudged@5", "-b", "bm25", "--no-verdict", "-f", "markdown")[0]
    assert "**0." not in out
    assert "| run | Unjudged@5 | higher than |" in out
    assert "beats" not in out
    assert "better than" not in out
    assert "a higher Unjudged@5 does not mean a better run" in out
    assert "**0." in compared(capsys, "-m", "P@5", "-b", "bm25", "--no-verdict", "-f", "markdown")[0]


@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_a_pasted_table_carries_what_makes_it_honest(capsys, format: str):
    out = compared(capsys, "-m", "RR", "-f", format)[0].replace("\\", "")
    assert "poor: 8 topics scored, 1 missing from the run (scored 0)" in out
    assert "on 8 topics these intervals are too narrow" in out
    assert ABOUT_CLAIMS in out
    assert "(paired t, Holm, alpha 0.05)" in out
    plain = compared(capsys, "-m", "RR", "--no-verdict", "-f", format)[0]
    assert ABOUT_CLAIMS not in plain


def test_a_pasted_table_tells_of_ties(capsys):
    lines = [f"{topic} Q0 {name} 1 5 tied\n" for topic in TOPICS for name in ("rel", "non1", "non2")]
    Path("poor.txt").write_text("".join(lines))
    out = compared(capsys, "-m", "RR", "--no-verdict", "-f", "markdown")[0]
    assert "ties: RR of tied is" in out


def test_a_piped_table_tells_qrels_and_reference_once(capsys):
    out, told = compared(capsys, "-m", "RR", "--no-verdict")
    assert out.count("order of ties as in trec_eval 10") == 1
    assert "order of ties" not in told


def test_pairs_by_topic_come_in_every_format(capsys):
    words = ("-m", "RR", "-b", "bm25", "--by-topic", "-f")
    found = rows(compared(capsys, *words, "csv")[0])
    assert list(found[0]) == ["measure", "a", "b", "topic", "score_a", "score_b", "difference", "qrels", "reference"]
    assert len(found) == 16
    first = found[0]
    assert (first["a"], first["b"], first["topic"]) == ("ours", "bm25", "1")
    assert (first["score_a"], first["score_b"], first["difference"]) == ("1.0", "0.5", "0.5")
    assert [row["difference"] for row in json.loads(compared(capsys, *words, "json")[0])] == [
        float(row["difference"]) for row in found
    ]
    assert len(compared(capsys, *words, "jsonl")[0].splitlines()) == 16
    for format in ("table", "markdown", "latex"):
        assert compared(capsys, *words, format)[0].count("0.5000") > 8


@pytest.mark.parametrize("format", ["table", "csv", "json", "jsonl", "markdown", "latex"])
def test_pairs_by_topic_say_nothing_of_intervals_they_do_not_show(capsys, format: str):
    words = ("-m", "RR", "--no-verdict", "-f", format)
    assert "these intervals are too narrow" in compared(capsys, *words)[1]
    assert "interval" not in "".join(compared(capsys, *words, "--by-topic"))


def test_nor_does_their_frame():
    runs = cranfield.open_files(qrels="qrels", runs=list(FILES.values()))
    noted = [" ".join(runs.compare(measures="RR", by_topic=by_topic).attrs["notes"]) for by_topic in (False, True)]
    assert ["intervals are too narrow" in told for told in noted] == [True, False]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seed", "-1"), "Invalid value for '--seed'"),
        (("--draws", "5"), "Invalid value for '--draws'"),
        (("--test", "tukey", "--correction", "bonferroni"), "corrects for all pairs itself"),
        (("--difference", "inf"), "a wanted difference is a number from 0 up"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(capsys, words: tuple[str, ...], said: str):
    out, told = compared(capsys, "-m", "RR", *words, status=2)
    assert out == ""
    assert said in told


def test_a_difference_too_small_to_look_for_costs_no_other_sentence(capsys):
    _, told = compared(capsys, "-m", "RR", "-m", "AP", "--difference", "0.000001")
    assert told.count("needs more than 1,000,000,000 topics") == 2
    assert told.count("discriminative power") == 2


def test_scores_in_json_are_refused_once(capsys):
    Path("scores.json").write_text(saved(capsys, "-f", "json"))
    _, told = typed(capsys, "compare", "--scores", "scores.json", status=1)
    assert (
        told == "cranfield: scores.json: scores are not read from JSON; write JSON lines or CSV, with --format jsonl"
    )


def test_one_missing_score_is_one(capsys):
    lines = saved(capsys, "-f", "csv").splitlines(keepends=True)
    Path("scores.csv").write_text("".join(lines[:1] + lines[2:]))
    told = typed(capsys, "compare", "--scores", "scores.csv", status=1)[1]
    assert "1 score is missing, that is AP of run 'ours' for topic '1'" in told


def test_values_that_a_measure_cannot_have_are_refused_with_their_lines(capsys):
    lines = [line.split(",") for line in saved(capsys, "-f", "csv", "--no-verdict").splitlines()]
    place = lines[0].index("value")
    lines[2][place], lines[4][place] = "7", "-3"
    Path("scores.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    told = typed(capsys, "compare", "--scores", "scores.csv", status=1)[1]
    assert "scores.csv:3: the value 7 of AP lies outside of its range, 0 to 1 (also on line 5)" in told


def test_only_the_measure_that_lacks_a_library_is_accused(capsys):
    pytest.importorskip("ir_measures")
    words = ("-m", "Compat(p=0.95)", "-m", "alpha_nDCG@10")
    if _status(["evaluate", *FILES.values(), "--qrels", "qrels", *words[-2:]]) == 0:
        pytest.skip("the library behind alpha_nDCG is installed")
    capsys.readouterr()
    told = compared(capsys, *words, status=2)[1]
    assert "cranfield: alpha_nDCG@10: ir_measures leaves this to a library" in told
