"""`evaluate` and `compare` under rough treatment: odd input ends in a sentence, never in a wrong number."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import Ended, call
from kept import Kept

QRELS = "1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 z 0\n"
FIRST = "1 Q0 a 1 2 first\n1 Q0 b 2 1 first\n2 Q0 x 1 2 first\n2 Q0 a 2 1 first\n"
SECOND = "1 Q0 b 1 2 second\n1 Q0 a 2 1 second\n9 Q0 a 1 1 second\n"
TIED = "1 Q0 a 1 1 tied\n1 Q0 b 2 1 tied\n2 Q0 a 1 3 tied\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("qrels", QRELS), ("first", FIRST), ("second", SECOND), ("tied", TIED)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(*words: str, status: int = 0) -> Ended:
    return call("evaluate", "--no-verdict", "--qrels", "qrels", *words, status=status)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_standard_input_is_taken_once(kept: Kept):
    ended = call("evaluate", "--no-verdict", "--qrels", "-", "-", status=2)
    kept(ended.err)


def test_a_topic_file_that_names_nothing_is_told(folder: Path, kept: Kept):
    (folder / "none").write_text("# nothing\n\n", encoding="utf-8")
    ended = evaluate("first", "--topics", "none", status=1)
    kept(ended.err)


def test_a_topic_file_may_have_a_mark_and_carriage_returns(folder: Path):
    (folder / "chosen").write_bytes(b"\xef\xbb\xbf1\r\n2 and more words\r\n1\r\n")
    ended = evaluate("first", "--topics", "chosen", "-m", "AP", "-f", "json")
    assert json.loads(ended.out)[0]["value"] == 0.75


def test_a_file_given_twice_is_a_wrong_call_and_two_files_of_one_name_are_told_apart(folder: Path, kept: Kept):
    ended = evaluate("first", "first", status=2)
    kept(ended.err)
    (folder / "sub").mkdir()
    (folder / "sub" / "first").write_text(FIRST, encoding="utf-8")
    ended = evaluate("first", "sub/first", "-m", "AP", "-f", "json")
    assert [row["run"] for row in json.loads(ended.out)] == ["first", "sub/first"]


def test_a_name_that_is_neither_stored_nor_a_file_is_told_with_the_nearest(kept: Kept):
    call("init")
    call("runs", "submit", "first", "second")
    ended = evaluate("scond", "nowhere", status=1)
    said = ended.err
    kept(said)


def test_lists_side_by_side_show_where_one_run_has_nothing(kept: Kept):
    ended = evaluate("--explain", "first", "2", "second", "-f", "markdown")
    found = [[cell.strip() for cell in line.split("|")] for line in ended.out.splitlines()[4:6]]
    assert [(row[2], row[7]) for row in found] == [("x", ""), ("a", "")]
    ended = evaluate("--explain", "first", "3", "second", status=1)
    kept(ended.err)


@pytest.mark.parametrize(
    ("ties", "value", "order"),
    [
        ("trec", 0.5, "trec_eval 10"),
        ("best", 2 / 3, "trec_eval 10, ties best"),
        ("worst", 0.5, "trec_eval 10, ties worst"),
    ],
)
def test_scores_of_another_order_of_ties_say_so(ties: str, value: float, order: str, kept: Kept):
    ended = evaluate("tied", "-m", "AP", "--ties", ties, "-f", "csv")
    shown = ended
    assert [(float(row["value"]), row["reference"]) for row in rows(shown.out)] == [(pytest.approx(value), order)]
    kept(shown.err)


@pytest.mark.parametrize("measure", ["nDCG(gain='exponential')", "F(beta=1e200)@5"])
def test_what_is_too_large_for_a_measure_is_told_and_no_number(folder: Path, measure: str, kept: Kept):
    (folder / "qrels").write_text("1 0 a 2000\n1 0 b 0\n", encoding="utf-8")
    ended = evaluate("first", "-m", measure, status=1)
    kept(ended.err)


def test_the_highest_grade_satisfies_for_sure_however_high_it_is(folder: Path):
    (folder / "qrels").write_text("1 0 a 2000\n1 0 b 2000\n", encoding="utf-8")
    ended = evaluate("first", "-m", "ERR", "-f", "json")
    assert json.loads(ended.out)[0]["value"] == 1.0


def test_a_cutoff_beyond_all_lists_is_refused(kept: Kept):
    ended = evaluate("first", "-m", "P@99999999999999999999", status=2)
    kept(ended.err)


def compared(*words: str, status: int = 0) -> Ended:
    return call("compare", "first", "second", "--qrels", "qrels", "-f", "csv", *words, status=status)


@pytest.mark.parametrize("measure", ["gm_map", "NumRet", "AP(agg=median)"])
def test_only_means_of_measures_of_quality_are_compared(measure: str, kept: Kept):
    kept(compared("-m", measure, status=2).err)


@pytest.mark.parametrize("measure", ["nDCG(gains={-1: 2})", "runid", "relstring"])
def test_measures_that_would_mean_nothing_are_refused(tmp_path: Path, measure: str, kept: Kept):
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n")
    ended = call("evaluate", "--qrels", f"{tmp_path / 'qrels'}", f"{tmp_path / 'run'}", "-m", measure, status=2)
    kept(ended.err)


def test_gains_of_trec_eval_may_have_signs_and_exponents(tmp_path: Path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 2\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    words = [
        "evaluate",
        "--qrels",
        f"{tmp_path / 'qrels'}",
        f"{tmp_path / 'run'}",
        "-m",
        "dcg.1=3.5e0,2=-1",
        "-f",
        "csv",
    ]
    ended = call(*words)
    assert ended.out.splitlines()[1].startswith('t,all,"DCG(gains={1: 3.5, 2: -1})",2.869')


def test_qrels_and_run_that_were_mixed_up_are_told(tmp_path: Path, kept: Kept):
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n")
    ended = call("evaluate", "--qrels", f"{tmp_path / 'run'}", f"{tmp_path / 'qrels'}", "-m", "AP", status=1)
    kept(ended.err)


def test_a_run_with_nothing_of_the_chosen_topics_scores_0(tmp_path: Path, kept: Kept):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n3 0 c 1\n")
    (tmp_path / "weak").write_text("1 Q0 a 1 2 weak\n2 Q0 x 1 2 weak\n")
    (tmp_path / "good").write_text("1 Q0 a 1 2 good\n2 Q0 b 1 2 good\n3 Q0 c 1 2 good\n")
    (tmp_path / "other").write_text("1 Q0 x 1 2 other\n")
    (tmp_path / "two").write_text("2\n")
    (tmp_path / "three").write_text("3\n")
    begin = ["evaluate", "--qrels", f"{tmp_path / 'qrels'}", "-m", "AP", "--no-verdict", "-f", "csv"]
    for topics in ("two", "three"):
        words = [*begin, "--topics", f"{tmp_path / topics}", f"{tmp_path / 'weak'}", f"{tmp_path / 'good'}"]
        ended = call(*words)
        found = [line.split(",")[:4] for line in ended.out.splitlines()[1:]]
        assert found == [["weak", "all", "AP", "0.0"], ["good", "all", "AP", "1.0"]]
    ended = call(*begin, "--topics", f"{tmp_path / 'two'}", f"{tmp_path / 'other'}", f"{tmp_path / 'good'}", status=1)
    kept(ended.err)


def test_runs_of_which_the_same_is_said_share_a_line(tmp_path: Path, kept: Kept):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    runs = []
    for name in "abcdefg":
        rows = [f"1 Q0 a 1 2 {name}\n", *([f"2 Q0 b 1 2 {name}\n"] if name not in "bd" else [])]
        (tmp_path / name).write_text("".join(rows))
        runs.append(f"{tmp_path / name}")
    begin = ["evaluate", "--qrels", f"{tmp_path / 'qrels'}", "-m", "AP", "--no-verdict"]
    ended = call(*begin, *runs)
    kept(ended.err.splitlines())
    ended = call(*begin, *runs[:3])
    kept(ended.err.splitlines())


def test_the_best_run_stands_first_in_tables_and_data_keep_the_order_of_the_runs(tmp_path: Path, kept: Kept):
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    for name, ranked in (("low", "xya"), ("high", "axy"), ("middle", "xay")):
        rows = [f"1 Q0 {document} {place} {9 - place} {name}\n" for place, document in enumerate(ranked, start=1)]
        (tmp_path / name).write_text("".join(rows))
    runs = [f"{tmp_path / name}" for name in ("low", "high", "middle")]
    begin = ["evaluate", "--qrels", f"{tmp_path / 'qrels'}", *runs, "-m", "RR", "-m", "P@3"]
    ended = call(*begin, "--by-topic", "-f", "csv")
    listed = [line.split(",")[0] for line in ended.out.splitlines()[1:]]
    assert listed == ["low"] * 4 + ["high"] * 4 + ["middle"] * 4
    ended = call(*begin)
    rows = [line.split() for line in ended.out.splitlines()[2:5]]
    assert [(row[0], row[1]) for row in rows] == [("high", "1.0000"), ("middle", "0.5000"), ("low", "0.3333")]
    unjudged = call(*begin[:6], "-m", "Unjudged@3").out  # more of it is no better
    assert [line.split()[0] for line in unjudged.splitlines()[2:5]] == ["low", "high", "middle"]
    kept(" ".join(call(*begin, "--best-first", status=2).err.split()))
