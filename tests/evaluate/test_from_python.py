"""`import cranfield as cf`: the same words as on the command line, frames out."""

from pathlib import Path

import pandas as pd
import pytest
from command import call
from kept import Kept

import cranfield as cf

QRELS = "1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 z 0\n"
FIRST = "1 Q0 a 1 2 first\n1 Q0 b 2 1 first\n2 Q0 x 1 2 first\n2 Q0 a 2 1 first\n"
SECOND = "1 Q0 b 1 2 second\n1 Q0 a 2 1 second\n9 Q0 a 1 1 second\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("qrels", QRELS), ("first.run", FIRST), ("second.run", SECOND)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def files() -> cf.Opened:
    return cf.open_files(qrels="qrels", runs=["first.run", "second.run"])


def collection() -> cf.Opened:
    call("init", "-C", "c.db")
    call("runs", "submit", "first.run", "second.run", "-C", "c.db", "--group", "us")
    return cf.open_collection("c.db", qrels="qrels")


def rows(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(frame.itertuples(index=False, name=None))


def scores(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    return rows(frame[["run", "topic", "measure", "value"]])


VERDICTS = ["low", "high", "judged", "loss", "loss_upper", "verdict", "reason"]
VERDICTS += ["to_rank", "complete", "complete_low", "complete_high", "complete_to"]


@pytest.mark.parametrize("opened", [files, collection])
def test_scores_are_a_long_frame_that_carries_what_it_was_made_with(opened, kept: Kept):
    with opened() as runs:
        assert runs.runs == ("first", "second")
        frame = runs.evaluate(["AP", "P@1"])
        by_topic = runs.evaluate("AP", runs=["second"], by_topic=True)
    assert frame.columns.tolist() == ["run", "topic", "measure", "value", *VERDICTS]
    assert scores(frame) == [
        ("first", "all", "AP", 0.5),
        ("first", "all", "P@1", pytest.approx(1 / 3)),
        ("second", "all", "AP", pytest.approx(1 / 6)),
        ("second", "all", "P@1", 0.0),
    ]
    assert (len(frame.attrs["qrels"]), frame.attrs["reference"]) == (64, "trec_eval 10")
    kept(frame.attrs["notes"][0])
    assert [row[1] for row in rows(by_topic)] == ["1", "2", "3", "all"]


@pytest.mark.parametrize("opened", [files, collection])
def test_runs_are_read_and_aligned_once(opened, monkeypatch: pytest.MonkeyPatch):
    with opened() as runs:
        runs.evaluate("AP")
        monkeypatch.setattr("cranfield.evaluate.align.align", None)
        again = runs.evaluate("P@5")
        pairs = runs.compare(measures="P@5", verdicts=False)
    assert again["value"].tolist() == pytest.approx([2 / 15, 1 / 15])
    assert pairs[["a", "b", "wins", "ties", "losses"]].values.tolist() == [["first", "second", 1, 2, 0]]


def test_a_file_is_read_once_whatever_is_asked_of_it(folder: Path):
    runs = files()
    runs.evaluate("AP")
    for name in ("qrels", "first.run", "second.run"):
        (folder / name).unlink()
    assert scores(runs.evaluate("AP", topics="common", runs=["first"])) == [("first", "all", "AP", 0.75)]
    assert scores(runs.evaluate("AP", topics=["1"], runs=["second"])) == [("second", "all", "AP", 0.5)]


def test_runs_that_are_asked_for_in_turn_are_not_taken_for_each_other():
    runs = files()
    for name, value in (("first", 0.5), ("second", 1 / 6), ("first", 0.5)):
        assert scores(runs.evaluate("AP", runs=[name])) == [(name, "all", "AP", pytest.approx(value))]


def test_comparison_is_a_frame_with_a_row_for_each_pair():
    frame = files().compare("second", "first", measures=["AP"], baselines="first", test="randomisation")
    assert frame[["measure", "a", "b", "topics"]].values.tolist() == [["AP", "second", "first", 3]]
    assert frame["difference"].tolist() == pytest.approx([-1 / 3])
    assert "qrels" not in frame
    assert len(frame.attrs["qrels"]) == 64


def test_a_list_is_laid_open():
    frame = files().explain("2", "first")
    assert rows(frame[["run", "rank", "document", "grade", "P"]]) == [
        ("first", 1, "x", "not pooled", 0.0),
        ("first", 2, "a", "1", 0.5),
    ]


def test_novelty_adds_columns_and_takes_the_verdicts_away():
    opened = cf.open_files(
        qrels={"1": {"a": 1, "b": 1}}, runs={"copies": {"1": {"a": 2.0, "b": 1.0}}, "one": {"1": {"b": 1.0}}}
    )
    novel = opened.evaluate("P@2", duplicates="novelty", clusters={"a": "x", "b": "x"})
    assert novel.columns.tolist() == ["run", "topic", "measure", "value", "plain"]
    assert rows(novel[["value", "plain"]]) == [(0.5, 1.0), (0.5, 0.5)]


def test_frames_mappings_and_files_can_be_mixed():
    frame = pd.DataFrame({"qid": [1, 1], "docno": ["b", "a"], "score": [2, 1]})
    runs = {"frame": frame, "mapping": {"1": {"a": 2.0, "b": 1}}, "file": "first.run"}
    opened = cf.open_files(qrels=pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "relevance": [1]}), runs=runs)
    assert opened.runs == ("frame", "mapping", "file")
    assert opened.evaluate("RR")["value"].tolist() == [0.5, 1.0, 1.0]


def test_a_frame_can_hold_several_runs():
    frame = pd.DataFrame(
        {"run": ["u", "v", "u"], "topic": "1", "document": ["a", "b", "b"], "score": [2.0, 1.0, 1.0]}
    )
    opened = cf.open_files(qrels="qrels", runs=frame)
    assert opened.evaluate("P@1", topics=["1"])[["run", "value"]].values.tolist() == [["u", 1.0], ["v", 0.0]]


def test_groups_say_who_the_runs_belong_to(folder: Path, kept: Kept):
    (folder / "groups.tsv").write_text("second\tthem\tnew\nfirst\tus\tpooled\n", encoding="utf-8")
    opened = cf.open_files(qrels="qrels", runs=["first.run", "second.run"], groups="groups.tsv")
    assert rows(opened.groups) == [("second", "them", "new"), ("first", "us", "pooled")]
    with collection() as stored:
        assert rows(stored.groups) == [("first", "us", "pooled"), ("second", "us", "pooled")]
    (folder / "groups.tsv").write_text("third\tthem\tnew\n", encoding="utf-8")
    with kept.raises(cf.CranfieldError):
        _ = cf.open_files(qrels="qrels", runs="first.run", groups="groups.tsv").groups


def test_a_collection_scores_a_file_beside_its_runs(folder: Path):
    (folder / "third.run").write_text(FIRST.replace("first", "third"), encoding="utf-8")
    with collection() as runs:
        assert scores(runs.evaluate("AP", runs=["second", "third.run"]))[1] == ("third", "all", "AP", 0.5)


def test_measures_of_ir_measures_see_the_documents():
    pytest.importorskip("ir_measures")
    (value, _) = files().evaluate("Compat(p=0.95)")["value"]
    assert 0 < value < 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"qrels": "nope", "runs": ["nowhere"]}, "nope: no such file\n  nowhere: no such file"),
        ({"qrels": "qrels", "runs": {"1": {"a": 2.0}}}, "looks like a single run"),
        ({"qrels": "qrels", "runs": [{"1": {"a": 2.0}}]}, "needs a name"),
        ({"qrels": "qrels", "runs": []}, "no run to evaluate"),
        ({"qrels": "qrels", "runs": 3}, "runs are files, frames, or a mapping"),
        ({"qrels": "qrels", "runs": {"": "first.run"}}, "the name of a run is a non-empty string"),
        ({"qrels": 3, "runs": "first.run"}, "qrels are a mapping of topic -> document -> grade"),
        ({"qrels": "qrels", "runs": "first.run", "groups": "qrels"}, "qrels:1: not a run tag, a tab"),
    ],
)
def test_what_cannot_be_opened_is_told_at_once(given: dict[str, object], message: str):
    with pytest.raises(cf.CranfieldError) as refused:
        cf.open_files(**given)  # type: ignore[arg-type]
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda runs: runs.evaluate("AP", runs=["frist"]), "unknown run 'frist'; did you mean 'first'"),
        (lambda runs: runs.evaluate("AP", runs="first"), "runs is a list of names"),
        (lambda runs: runs.evaluate([]), "no measure requested"),
        (lambda runs: runs.evaluate("AP", ties="besst"), "ties is one of"),
        (lambda runs: runs.evaluate("AP", topics=["77"]), "1 topic without qrels: '77'"),
        (lambda runs: runs.compare("first"), "at least two runs"),
        (lambda runs: runs.compare("first", "first"), "run 'first' is listed twice"),
    ],
)
def test_a_wrong_call_is_told(call, message: str):
    with pytest.raises(cf.CranfieldError) as refused:
        call(files())
    assert message in str(refused.value)


def test_without_qrels_a_collection_takes_what_is_judged_in_it_now(folder: Path, kept: Kept):
    collection().close()
    with cf.open_collection("c.db") as runs, kept.raises(cf.CranfieldError):
        runs.evaluate("AP")
    (folder / "binary").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n3 0 z 0\n", encoding="utf-8")
    call("judge", "import", "binary", "-C", "c.db")
    with cf.open_collection("c.db") as runs:
        found = runs.evaluate("AP")
    assert scores(found) == [("first", "all", "AP", 0.5), ("second", "all", "AP", pytest.approx(1 / 6))]


def test_a_release_is_named_like_a_file(folder: Path, kept: Kept):
    collection().close()
    (folder / "binary").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n3 0 z 0\n", encoding="utf-8")
    call("judge", "import", "binary", "-C", "c.db")
    call("qrels", "release", "v1", "-C", "c.db")
    with cf.open_collection("c.db", qrels="v1") as runs:
        assert runs.evaluate("AP", runs=["first"])["value"].tolist() == [0.5]
    with cf.open_collection("c.db", qrels="nowhere") as runs, kept.raises(cf.CranfieldError):
        runs.evaluate("AP")


@pytest.mark.parametrize(
    "call",
    [
        lambda: files().evaluate(7),
        lambda: files().evaluate([1]),
        lambda: files().explain(1, "first"),
        lambda: files().evaluate("AP", duplicates="novelty"),
    ],
)
def test_a_wrong_call_is_a_sentence_in_the_words_of_python(call, kept: Kept):
    with kept.raises(cf.CranfieldError):
        call()


def test_a_comparison_tells_how_it_was_made_and_what_the_topics_could_have_shown(kept: Kept):
    frame = files().compare(measures="AP", test="tukey", alpha=0.1, draws=500, seed=3)
    made = {name: frame.attrs[name] for name in ("test", "correction", "alpha", "draws", "seed", "reference")}
    assert made == {
        "test": "t", "correction": "tukey", "alpha": 0.1, "draws": 500, "seed": 3, "reference": "trec_eval 10"
    }  # fmt: skip
    kept(frame.attrs["notes"][-1])


def test_a_list_laid_open_tells_what_it_was_made_with():
    frame = files().explain("1", "first")
    assert frame.attrs["qrels"] == files().evaluate("AP").attrs["qrels"]
    assert frame.attrs["reference"] == "trec_eval 10"
