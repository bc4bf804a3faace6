"""`cranfield evaluate`, `trec-eval` and `measures` on bare files."""

import json
from pathlib import Path

import pytest
from command import call
from kept import Kept

QRELS = "1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 z 0\n"
FIRST = "1 Q0 a 1 2 first\n1 Q0 b 2 1 first\n2 Q0 x 1 2 first\n2 Q0 a 2 1 first\n"
SECOND = "1 Q0 b 1 2 second\n1 Q0 a 2 1 second\n9 Q0 a 1 1 second\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("qrels", QRELS), ("first", FIRST), ("second", SECOND)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_has_a_row_per_run_and_the_topics_are_counted(kept: Kept):
    words = ["evaluate", "--qrels", "qrels", "first", "second", "-m", "AP", "-m", "RR P@5", "--no-verdict"]
    shown = call(*words)
    words = [line.split() for line in shown.out.splitlines() if line.strip() and "──" not in line]
    assert words == [
        ["run", "AP", "RR", "P@5"],
        ["first", "0.5000", "0.5000", "0.1333"],
        ["second", "0.1667", "0.1667", "0.0667"],
        ["qrels", "4980afdab66afe43,", "tie", "order", "as", "in", "trec_eval", "10"],
    ]
    kept(shown.err)


def test_json_lines_are_long_and_carry_what_they_were_made_with():
    ended = call("evaluate", "--qrels", "qrels", "first", "-m", "AP", "--by-topic", "-f", "jsonl")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["run"], row["topic"], row["measure"], row["value"]) for row in rows] == [
        ("first", "1", "AP", 1.0),
        ("first", "2", "AP", 0.5),
        ("first", "3", "AP", 0.0),
        ("first", "all", "AP", 0.5),
    ]
    assert {row["reference"] for row in rows} == {"trec_eval 10"}
    assert {len(row["qrels"]) for row in rows} == {16}


@pytest.mark.parametrize(("topics", "expected"), [("qrels", 1 / 6), ("run", 0.5), ("common", 0.5), ("chosen", 0.25)])
def test_the_topic_set_can_be_chosen(files: Path, topics: str, expected: float):
    (files / "chosen").write_text("1\n# not 2\n\n3\n", encoding="utf-8")
    ended = call("evaluate", "--qrels", "qrels", "second", "-m", "AP", "-f", "json", "--topics", topics)
    assert json.loads(ended.out)[0]["value"] == pytest.approx(expected)


def test_all_problems_of_all_files_are_listed_at_once(files: Path, kept: Kept):
    (files / "qrels").write_text("1 0 a 1.9\n", encoding="utf-8")
    (files / "first").write_text("1 Q0 a 1 abc t\n", encoding="utf-8")
    said = call("evaluate", "--qrels", "qrels", "first", "nowhere", status=1).err
    kept(said)


def test_a_grade_that_is_too_large_is_told_as_what_it_is(files: Path, kept: Kept):
    (files / "qrels").write_text("1 0 a 99999999999\n", encoding="utf-8")
    ended = call("evaluate", "--qrels", "qrels", "first", status=1)
    kept(ended.err)


def test_an_empty_name_of_a_topic_set_is_a_wrong_call(kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "first", "--topics", "", status=2)
    kept(ended.err)


def test_preferences_are_out_of_scope_and_say_so(kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "first", "-m", "prefs_simp", status=2)
    kept(ended.err)


def test_in_a_collection_the_highest_grade_is_that_of_its_scale_though_nobody_has_given_it(files: Path):
    texts = {"documents.jsonl": [{"id": name, "text": name} for name in "abxz"]}
    texts["topics.jsonl"] = [{"id": str(number), "title": "t"} for number in (1, 2, 3, 9)]
    for name, rows in texts.items():
        (files / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for words in (["init", "t", "--scale", "graded"], ["corpus", "add", "documents.jsonl"]):
        call(*words)
    for words in (["corpus", "topics", "topics.jsonl"], ["runs", "submit", "first"]):
        call(*words)
    measures = ["ERR@5", "ERR(max_grade=3)@5", "RBP(gain=scaled)"]
    words = ["evaluate", "--qrels", "qrels", "first", "-f", "json", "--no-verdict"]
    words += [word for measure in measures for word in ("-m", measure)]

    def values(*more: str) -> list[float]:
        ended = call(*words, *more)
        return [row["value"] for row in json.loads(ended.out)]

    (files / "first").rename(files / "elsewhere")
    err, with_three, scaled = values("-C", "collection.db")
    assert err == with_three
    assert scaled == pytest.approx(0.2 * (2 / 3 + 0.8 * 1 / 3) / 3)
    (files / "elsewhere").rename(files / "first")
    (files / "collection.db").rename(files / "kept.db")
    bare, bare_with_three, _ = values()
    assert bare > bare_with_three == with_three


def test_a_run_of_another_collection_is_refused(files: Path, kept: Kept):
    (files / "first").write_text("77 Q0 a 1 1 t\n", encoding="utf-8")
    ended = call("evaluate", "--qrels", "qrels", "first", status=1)
    kept(ended.err)


def test_a_document_ranked_twice_is_refused(files: Path, kept: Kept):
    (files / "first").write_text("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", encoding="utf-8")
    said = call("evaluate", "--qrels", "qrels", "first", status=1).err
    kept(said)


def test_a_document_ranked_twice_is_told_together_with_what_is_wrong_elsewhere(files: Path, kept: Kept):
    (files / "qrels").write_text("1 0 a 1.9\n", encoding="utf-8")
    (files / "first").write_text("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", encoding="utf-8")
    (files / "second").write_text("1 Q0 a 1 2 s\n1 Q0 b 2 abc s\n1 Q0 a 3 1 s\n", encoding="utf-8")
    said = call("evaluate", "--qrels", "qrels", "first", "second", status=1).err
    kept(said)


def test_a_topic_called_all_is_refused_because_its_rows_could_not_be_told_from_the_summary(files: Path, kept: Kept):
    (files / "qrels").write_text(QRELS + "all 0 a 1\n", encoding="utf-8")
    shown = call("evaluate", "--qrels", "qrels", "first", "--by-topic", "-f", "csv", status=1)
    assert shown.out == ""
    kept(shown.err)


@pytest.mark.parametrize("more", [[], ["--no-verdict"], ["--by-topic"]])
@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_a_table_that_is_pasted_elsewhere_carries_what_it_was_made_with_and_its_marks(format, more, kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "first", "second", "-f", format, *more)
    shown = ended.out.replace("\\", "")
    kept(shown)
    if "--no-verdict" not in more:
        assert "~ UNTESTABLE" in shown.replace("textasciitilde{}", "~")
    if "--by-topic" in more:
        kept(shown)


@pytest.mark.parametrize("measure", ["AP", "iprec_at_recall"])
def test_a_figure_says_at_its_foot_what_it_was_made_with(files: Path, measure: str):
    pytest.importorskip("matplotlib")
    words = ["evaluate", "--qrels", "qrels", "first", "second", "--ties", "best", "--no-verdict"]
    call(*words, "-m", measure, "--plot", "drawn.svg")
    drawn = (files / "drawn.svg").read_text(encoding="utf-8")
    assert drawn.count("tie order best (trec_eval 10)") == 2


def test_a_curve_has_the_ties_that_are_asked_for(files: Path):
    from cranfield.evaluate.reading import Request
    from cranfield.workflows.evaluate.evaluate import evaluate

    (files / "tied").write_text("1 Q0 a 1 1 tied\n1 Q0 b 2 1 tied\n", encoding="utf-8")
    asked = {"qrels": files / "qrels", "runs": ("tied",), "topics": "run", "measures": ("iprec_at_recall",)}
    curves = [evaluate(Request(**asked, ties=ties)).scores for ties in ("worst", "expected", "best")]
    assert [float(curve.summary[10, 0]) for curve in curves] == [0.5, 0.75, 1.0]


def test_a_file_with_several_tags_is_told(files: Path):
    (files / "first").write_text(FIRST.replace("2 Q0 a 2 1 first", "2 Q0 a 2 1 other"), encoding="utf-8")
    told = "first: the file has several run tags, also 'other'; all rows are scored as one run"
    ended = call("evaluate", "--qrels", "qrels", "first", "second")
    assert told in ended.err
    (files / "first").write_text(FIRST.replace(" ", "  ").replace("b  2  1  first", "b  2  1  other"))
    ended = call("evaluate", "--qrels", "qrels", "first", "second")
    assert told in ended.err


def test_a_wrong_measure_is_a_wrong_call(kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "first", "-m", "nDGC@10", status=2)
    kept(ended.err)


def test_runs_with_one_tag_are_told_apart_by_their_files(files: Path):
    (files / "copy").write_text(FIRST, encoding="utf-8")
    ended = call("evaluate", "--qrels", "qrels", "first", "copy", "-m", "AP", "-f", "json")
    assert [row["run"] for row in json.loads(ended.out)] == ["first", "copy"]


def test_trec_eval_passes_its_options_through():
    ended = call("trec-eval", "-qm", "map", "--as", "9", "qrels", "first")
    assert ended.out == (
        "map                   \t1\t1.0000\nmap                   \t2\t0.5000\nmap                   \tall\t0.7500\n"
    )
    call("trec-eval", "-m", "map", "qrels", "first", status=4)
    call("trec-eval", status=1)


def test_measures_are_listed_and_explained(kept: Kept):
    ended = call("measures", "-f", "csv")
    kept(ended.out)
    ended = call("measures", "ndcg_cut.10")
    assert "Järvelin" in ended.out
    call("measures", "foo", status=2)


def test_a_stored_run_is_scored_by_its_name(files: Path):
    (files / "documents.jsonl").write_text(
        "".join(json.dumps({"id": name, "text": name}) + "\n" for name in "abxz"), encoding="utf-8"
    )
    (files / "topics.jsonl").write_text(
        "".join(json.dumps({"id": str(number), "title": "t"}) + "\n" for number in (1, 2, 3, 9)), encoding="utf-8"
    )
    call("init", "test", "--scale", "graded")
    call("corpus", "add", "documents.jsonl")
    call("corpus", "topics", "topics.jsonl")
    call("runs", "submit", "first")
    (files / "first").unlink()
    ended = call("evaluate", "--qrels", "qrels", "first", "-m", "AP(rel=1)", "-m", "nDCG@5", "-f", "json")
    rows = json.loads(ended.out)
    assert [row["value"] for row in rows] == [0.5, pytest.approx((1 + 0.6309297535714575) / 3)]


def test_a_word_that_is_a_stored_run_and_a_file_is_an_error(files: Path, kept: Kept):
    (files / "documents.jsonl").write_text('{"id": "a", "text": "a"}\n', encoding="utf-8")
    (files / "topics.jsonl").write_text('{"id": "1", "title": "t"}\n', encoding="utf-8")
    (files / "small").write_text("1 Q0 a 1 1 small\n", encoding="utf-8")
    for words in (["init", "t"], ["corpus", "add", "documents.jsonl"], ["corpus", "topics", "topics.jsonl"]):
        call(*words)
    call("runs", "submit", "small")
    ended = call("evaluate", "--qrels", "qrels", "small", "-C", "collection.db", status=2)
    kept(ended.err)
