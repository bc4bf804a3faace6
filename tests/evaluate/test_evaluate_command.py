"""`cranfield evaluate`, `trec-eval` and `measures` on bare files."""

import json
from pathlib import Path

import pytest

from cranfield.cli.main import _status

QRELS = "1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 z 0\n"
FIRST = "1 Q0 a 1 2 first\n1 Q0 b 2 1 first\n2 Q0 x 1 2 first\n2 Q0 a 2 1 first\n"
SECOND = "1 Q0 b 1 2 second\n1 Q0 a 2 1 second\n9 Q0 a 1 1 second\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("qrels", QRELS), ("first", FIRST), ("second", SECOND)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_has_a_row_per_run_and_the_topics_are_counted(capsys):
    words = ["evaluate", "--qrels", "qrels", "first", "second", "-m", "AP", "-m", "RR P@5", "--no-verdict"]
    assert _status(words) == 0
    shown = capsys.readouterr()
    words = [line.split() for line in shown.out.splitlines() if line.strip() and "──" not in line]
    assert words == [
        ["run", "AP", "RR", "P@5"],
        ["first", "0.5000", "0.5000", "0.1333"],
        ["second", "0.1667", "0.1667", "0.0667"],
        ["qrels", "4980afdab66afe43,", "order", "of", "ties", "as", "in", "trec_eval", "10"],
    ]
    assert "qrels 4980afdab66afe43" not in shown.err
    assert "first: 3 topics scored, 1 missing from the run (scored 0), 1 with nothing relevant" in shown.err
    assert "second: 3 topics scored, 2 missing from the run (scored 0), 1 with nothing relevant" in shown.err
    assert "1 without qrels left out" in shown.err


def test_json_lines_are_long_and_carry_what_they_were_made_with(capsys):
    assert (
        _status(["evaluate", "--qrels", "qrels", "first", "-m", "AP", "--by-topic", "-f", "jsonl", "--as", "9"]) == 0
    )
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["run"], row["topic"], row["measure"], row["value"]) for row in rows] == [
        ("first", "1", "AP", 1.0),
        ("first", "2", "AP", 0.5),
        ("first", "3", "AP", 0.0),
        ("first", "all", "AP", 0.5),
    ]
    assert {row["reference"] for row in rows} == {"trec_eval 9"}
    assert {len(row["qrels"]) for row in rows} == {16}


@pytest.mark.parametrize(("topics", "expected"), [("qrels", 1 / 6), ("run", 0.5), ("common", 0.5), ("chosen", 0.25)])
def test_the_topic_set_can_be_chosen(capsys, files: Path, topics: str, expected: float):
    (files / "chosen").write_text("1\n# not 2\n\n3\n", encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "second", "-m", "AP", "-f", "json", "--topics", topics]) == 0
    assert json.loads(capsys.readouterr().out)[0]["value"] == pytest.approx(expected)


def test_all_problems_of_all_files_are_listed_at_once(capsys, files: Path):
    (files / "qrels").write_text("1 0 a 1.9\n", encoding="utf-8")
    (files / "first").write_text("1 Q0 a 1 abc t\n", encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "first", "nowhere"]) == 1
    said = capsys.readouterr().err
    assert "qrels:1: a grade is not a whole number" in said
    assert "first:1: a score is not a decimal number" in said
    assert "nowhere: there is no such file" in said


def test_a_grade_that_is_too_large_is_told_as_what_it_is(capsys, files: Path):
    (files / "qrels").write_text("1 0 a 99999999999\n", encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "first"]) == 1
    assert "qrels:1: a grade is not a whole number of at most nine digits: '99999999999'" in capsys.readouterr().err


def test_an_empty_name_of_a_topic_set_is_a_wrong_call(capsys):
    assert _status(["evaluate", "--qrels", "qrels", "first", "--topics", ""]) == 2
    assert "topics are qrels, common, run, or a file of ids; nothing was named" in capsys.readouterr().err


def test_preferences_are_out_of_scope_and_say_so(capsys):
    assert _status(["evaluate", "--qrels", "qrels", "first", "-m", "prefs_simp"]) == 2
    assert "out of scope" in capsys.readouterr().err


def test_in_a_collection_the_highest_grade_is_that_of_its_scale_though_nobody_has_given_it(capsys, files: Path):
    texts = {"documents.jsonl": [{"id": name, "text": name} for name in "abxz"]}
    texts["topics.jsonl"] = [{"id": str(number), "title": "t"} for number in (1, 2, 3, 9)]
    for name, rows in texts.items():
        (files / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for words in (["init", "t", "--scale", "graded"], ["corpus", "add", "documents.jsonl"]):
        assert _status(words) == 0
    for words in (["corpus", "topics", "topics.jsonl"], ["runs", "submit", "first"]):
        assert _status(words) == 0
    capsys.readouterr()
    measures = ["ERR@5", "ERR(max_grade=3)@5", "RBP(gain=scaled)"]
    words = ["evaluate", "--qrels", "qrels", "first", "-f", "json", "--no-verdict"]
    words += [word for measure in measures for word in ("-m", measure)]

    def values(*more: str) -> list[float]:
        assert _status([*words, *more]) == 0
        return [row["value"] for row in json.loads(capsys.readouterr().out)]

    (files / "first").rename(files / "elsewhere")
    err, with_three, scaled = values("-C", "collection.db")
    assert err == with_three
    assert scaled == pytest.approx(0.2 * (2 / 3 + 0.8 * 1 / 3) / 3)
    (files / "elsewhere").rename(files / "first")
    (files / "collection.db").rename(files / "kept.db")
    bare, bare_with_three, _ = values()
    assert bare > bare_with_three == with_three


def test_a_run_of_another_collection_is_refused(capsys, files: Path):
    (files / "first").write_text("77 Q0 a 1 1 t\n", encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "first"]) == 1
    assert "run 't' has none of the topics of the qrels qrels" in capsys.readouterr().err


def test_a_document_ranked_twice_is_refused(capsys, files: Path):
    (files / "first").write_text("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "first"]) == 1
    said = capsys.readouterr().err
    assert "first:2: 1 row in 1 topic repeats a document, the first is 'a' in topic '1'" in said


def test_a_document_ranked_twice_is_told_together_with_what_is_wrong_elsewhere(capsys, files: Path):
    (files / "qrels").write_text("1 0 a 1.9\n", encoding="utf-8")
    (files / "first").write_text("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", encoding="utf-8")
    (files / "second").write_text("1 Q0 a 1 2 s\n1 Q0 b 2 abc s\n1 Q0 a 3 1 s\n", encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "first", "second"]) == 1
    said = capsys.readouterr().err
    assert "qrels:1: " in said
    assert "first:2: 1 row in 1 topic repeats a document" in said
    assert "second:2: a score is not a decimal number" in said
    assert "second:3: 1 row in 1 topic repeats a document" in said


def test_a_topic_called_all_is_refused_because_its_rows_could_not_be_told_from_the_summary(capsys, files: Path):
    (files / "qrels").write_text(QRELS + "all 0 a 1\n", encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "first", "--by-topic", "-f", "csv"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "a topic is called 'all'" in shown.err


@pytest.mark.parametrize("more", [[], ["--no-verdict"], ["--by-topic"]])
@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_a_table_that_is_pasted_elsewhere_carries_what_it_was_made_with_and_its_marks(capsys, format, more):
    assert _status(["evaluate", "--qrels", "qrels", "first", "second", "-f", format, "--as", "9", *more]) == 0
    shown = capsys.readouterr().out.replace("\\", "")
    assert "order of ties as in trec_eval 9" in shown
    if "--no-verdict" not in more:
        assert "~ UNTESTABLE" in shown.replace("textasciitilde{}", "~")
    if "--by-topic" in more:
        assert "the topic has unjudged documents" in shown


@pytest.mark.parametrize("more", [[], ["--curve"]])
def test_a_figure_says_at_its_foot_what_it_was_made_with(capsys, files: Path, more: list[str]):
    pytest.importorskip("matplotlib")
    words = ["evaluate", "--qrels", "qrels", "first", "second", "--ties", "best", "--no-verdict"]
    assert _status([*words, "-m", "AP", "--plot", "drawn.svg", *more]) == 0
    drawn = (files / "drawn.svg").read_text(encoding="utf-8")
    assert drawn.count("order of ties best (trec_eval 10)") == 2


def test_a_curve_has_the_ties_that_are_asked_for(files: Path):
    from cranfield.steps.evaluate import Asked, evaluate_and_tell

    (files / "tied").write_text("1 Q0 a 1 1 tied\n1 Q0 b 2 1 tied\n", encoding="utf-8")
    asked = {"qrels": files / "qrels", "runs": ("tied",), "topics": "run", "curve": True}
    curves = [evaluate_and_tell(Asked(**asked, ties=ties)).curve for ties in ("worst", "expected", "best")]
    assert [float(curve.summary[10, 0]) for curve in curves] == [0.5, 0.75, 1.0]


def test_a_file_with_several_tags_is_told(capsys, files: Path):
    (files / "first").write_text(FIRST.replace("2 Q0 a 2 1 first", "2 Q0 a 2 1 other"), encoding="utf-8")
    told = "first: its file carries several tags, also 'other'; all rows were scored as one run"
    assert _status(["evaluate", "--qrels", "qrels", "first", "second"]) == 0
    assert told in capsys.readouterr().err
    (files / "first").write_text(FIRST.replace(" ", "  ").replace("b  2  1  first", "b  2  1  other"))
    assert _status(["evaluate", "--qrels", "qrels", "first", "second"]) == 0
    assert told in capsys.readouterr().err


def test_a_wrong_measure_is_a_wrong_call(capsys):
    assert _status(["evaluate", "--qrels", "qrels", "first", "-m", "nDGC@10"]) == 2
    assert "did you mean 'nDCG'" in capsys.readouterr().err


def test_runs_with_one_tag_are_told_apart_by_their_files(capsys, files: Path):
    (files / "copy").write_text(FIRST, encoding="utf-8")
    assert _status(["evaluate", "--qrels", "qrels", "first", "copy", "-m", "AP", "-f", "json"]) == 0
    assert [row["run"] for row in json.loads(capsys.readouterr().out)] == ["first", "copy"]


def test_trec_eval_passes_its_options_through(capfd):
    assert _status(["trec-eval", "-qm", "map", "--as", "9", "qrels", "first"]) == 0
    assert capfd.readouterr().out == (
        "map                   \t1\t1.0000\nmap                   \t2\t0.5000\nmap                   \tall\t0.7500\n"
    )
    assert _status(["trec-eval", "-m", "map", "qrels", "first"]) == 4
    assert _status(["trec-eval"]) == 1


def test_measures_are_listed_and_explained(capsys):
    assert _status(["measures", "-f", "csv"]) == 0
    assert capsys.readouterr().out.startswith(
        "measure,cutoff,parameters,also,trec_eval,what it is\nAP,[@k],rel=1,AveP MAP,"
    )
    assert _status(["measures", "ndcg_cut.10"]) == 0
    assert "Järvelin" in capsys.readouterr().out
    assert _status(["measures", "foo"]) == 2


def test_a_stored_run_is_scored_by_its_name(capsys, files: Path):
    (files / "documents.jsonl").write_text(
        "".join(json.dumps({"id": name, "text": name}) + "\n" for name in "abxz"), encoding="utf-8"
    )
    (files / "topics.jsonl").write_text(
        "".join(json.dumps({"id": str(number), "title": "t"}) + "\n" for number in (1, 2, 3, 9)), encoding="utf-8"
    )
    assert _status(["init", "test", "--scale", "graded"]) == 0
    assert _status(["corpus", "add", "documents.jsonl"]) == 0
    assert _status(["corpus", "topics", "topics.jsonl"]) == 0
    assert _status(["runs", "submit", "first"]) == 0
    capsys.readouterr()
    (files / "first").unlink()
    assert _status(["evaluate", "--qrels", "qrels", "first", "-m", "AP(rel=1)", "-m", "nDCG@5", "-f", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["value"] for row in rows] == [0.5, pytest.approx((1 + 0.6309297535714575) / 3)]


def test_a_word_that_is_a_stored_run_and_a_file_is_an_error(capsys, files: Path):
    (files / "documents.jsonl").write_text('{"id": "a", "text": "a"}\n', encoding="utf-8")
    (files / "topics.jsonl").write_text('{"id": "1", "title": "t"}\n', encoding="utf-8")
    (files / "small").write_text("1 Q0 a 1 1 small\n", encoding="utf-8")
    for words in (["init", "t"], ["corpus", "add", "documents.jsonl"], ["corpus", "topics", "topics.jsonl"]):
        assert _status(words) == 0
    assert _status(["runs", "submit", "small"]) == 0
    assert _status(["evaluate", "--qrels", "qrels", "small", "-C", "collection.db"]) == 2
    assert "is a stored run and a file" in capsys.readouterr().err
