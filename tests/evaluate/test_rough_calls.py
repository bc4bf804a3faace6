"""`evaluate` and `compare` under rough treatment: odd input ends in a sentence, never in a wrong number."""

import csv
import io
import json
from pathlib import Path

import pytest

from cranfield.cli.main import _status

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


def evaluate(*words: str, status: int = 0) -> None:
    assert _status(["evaluate", "--no-verdict", "--qrels", "qrels", *words]) == status


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_standard_input_is_taken_once(capsys):
    assert _status(["evaluate", "--no-verdict", "--qrels", "-", "-"]) == 2
    assert "standard input can be read once" in capsys.readouterr().err


def test_a_topic_file_that_names_nothing_is_told(capsys, folder: Path):
    (folder / "none").write_text("# nothing\n\n", encoding="utf-8")
    evaluate("first", "--topics", "none", status=1)
    assert "no topic is named" in capsys.readouterr().err


def test_a_topic_file_may_have_a_mark_and_carriage_returns(capsys, folder: Path):
    (folder / "chosen").write_bytes(b"\xef\xbb\xbf1\r\n2 and more words\r\n1\r\n")
    evaluate("first", "--topics", "chosen", "-m", "AP", "-f", "json")
    assert json.loads(capsys.readouterr().out)[0]["value"] == 0.75


def test_a_file_given_twice_is_a_wrong_call_and_two_files_of_one_name_are_told_apart(capsys, folder: Path):
    evaluate("first", "first", status=2)
    assert "run 'first' is given twice" in capsys.readouterr().err
    (folder / "sub").mkdir()
    (folder / "sub" / "first").write_text(FIRST, encoding="utf-8")
    evaluate("first", "sub/first", "-m", "AP", "-f", "json")
    assert [row["run"] for row in json.loads(capsys.readouterr().out)] == ["first", "sub/first"]


def test_a_name_that_is_neither_stored_nor_a_file_is_told_with_the_nearest(capsys):
    assert _status(["init"]) == 0
    assert _status(["runs", "submit", "first", "second"]) == 0
    capsys.readouterr()
    evaluate("scond", "nowhere", status=1)
    said = capsys.readouterr().err
    assert "scond: there is no such file, and unknown run 'scond'; did you mean 'second'?" in said
    assert "nowhere: there is no such file, and unknown run 'nowhere'" in said


def test_lists_side_by_side_show_where_one_run_has_nothing(capsys):
    evaluate("--explain", "first", "2", "second", "-f", "markdown")
    found = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()[4:6]]
    assert [(row[2], row[7]) for row in found] == [("x", ""), ("a", "")]
    evaluate("--explain", "first", "3", "second", status=1)
    assert "there is no document for topic '3' in 'first', 'second'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ties", "value", "order"),
    [
        ("trec", 0.5, "trec_eval 10"),
        ("best", 2 / 3, "trec_eval 10, ties best"),
        ("worst", 0.5, "trec_eval 10, ties worst"),
    ],
)
def test_scores_of_another_order_of_ties_say_so(capsys, ties: str, value: float, order: str):
    evaluate("tied", "-m", "AP", "--ties", ties, "-f", "csv")
    shown = capsys.readouterr()
    assert [(float(row["value"]), row["reference"]) for row in rows(shown.out)] == [(pytest.approx(value), order)]
    assert f"order of ties {'as in trec_eval 10' if ties == 'trec' else ties}" in shown.err


@pytest.mark.parametrize("measure", ["nDCG(gain='exponential')", "F(beta=1e200)@5"])
def test_what_is_too_large_for_a_measure_is_told_and_no_number(capsys, folder: Path, measure: str):
    (folder / "qrels").write_text("1 0 a 2000\n1 0 b 0\n", encoding="utf-8")
    evaluate("first", "-m", measure, status=1)
    assert "is no number here" in capsys.readouterr().err


def test_the_highest_grade_satisfies_for_sure_however_high_it_is(capsys, folder: Path):
    (folder / "qrels").write_text("1 0 a 2000\n1 0 b 2000\n", encoding="utf-8")
    evaluate("first", "-m", "ERR", "-f", "json")
    assert json.loads(capsys.readouterr().out)[0]["value"] == 1.0


def test_a_cutoff_beyond_all_lists_is_refused(capsys):
    evaluate("first", "-m", "P@99999999999999999999", status=2)
    assert "from 1 up to 1,000,000,000" in capsys.readouterr().err


def compared(*words: str, status: int = 0) -> None:
    assert _status(["compare", "first", "second", "--qrels", "qrels", "-f", "csv", *words]) == status


def test_geometric_means_are_compared_by_logarithms(capsys):
    compared("-m", "gm_map")
    (row,) = rows(capsys.readouterr().out)
    assert row["measure"] == "log AP(agg='geometric')"
    assert float(row["mean_a"]) == pytest.approx(-4.0687, abs=1e-4)


def test_what_is_added_up_is_compared_per_topic_and_a_median_is_not_compared(capsys):
    compared("-m", "NumRet")
    (row,) = rows(capsys.readouterr().out)
    assert (row["measure"], float(row["mean_a"])) == ("NumRet per topic", pytest.approx(4 / 3))
    compared("-m", "AP(agg=median)", status=2)
    assert "cannot be compared topic by topic" in capsys.readouterr().err


def test_saved_scores_of_different_orders_are_refused(capsys, folder: Path):
    for name, order in (("first", ["--ties", "best"]), ("second", ["--as", "9"])):
        evaluate(name, "-m", "AP", "--by-topic", "-f", "csv", *order)
        (folder / f"{name}.csv").write_text(capsys.readouterr().out, encoding="utf-8")
    assert _status(["compare", "--scores", "first.csv", "--scores", "second.csv"]) == 1
    assert "made with different orders of ties" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "inf", "x", ""])
def test_a_saved_score_that_is_no_finite_number_is_told(capsys, folder: Path, value: str):
    lines = ["run,topic,measure,value,qrels", f"a,1,AP,{value},q", "b,1,AP,1,q"]
    (folder / "scores.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert _status(["compare", "--scores", "scores.csv"]) == 1
    assert f"scores.csv:2: the value '{value}' is not a finite number" in capsys.readouterr().err
