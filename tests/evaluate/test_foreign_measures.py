"""Measures that only ir_measures has, reached under the same names."""

import builtins
import json
from pathlib import Path

import pytest
from command import call
from kept import Kept
from mappings import qrels_from, ranking_from, run_from

from cranfield.base.errors import ProblemsFound, UsageError
from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.foreign import foreign_values
from cranfield.evaluate.measure import ForeignMeasure, parse_measure, parse_measures
from cranfield.evaluate.scores import score
from cranfield.qrels.reading import SubtopicRow, read_subtopics

ir_measures = pytest.importorskip("ir_measures")

QRELS = "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n"
RUN = "1 Q0 a 1 3 mine\n1 Q0 c 2 3 mine\n1 Q0 x 3 1 mine\n"
DIVERSE = "1 1 a 1\n1 2 a 1\n1 1 b 1\n1 2 b 0\n1 3 c 1\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("qrels", QRELS), ("run", RUN), ("diverse", DIVERSE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def without_ir_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def refuse(name, *arguments, **more):
        if name == "ir_measures":
            raise ImportError(name)
        return imported(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)


def values(*words: str) -> dict[tuple[str, str], float]:
    ended = call("evaluate", *words, "--by-topic", "-f", "json")
    return {(row["measure"], row["topic"]): row["value"] for row in json.loads(ended.out)}


def test_a_name_we_do_not_know_is_asked_of_ir_measures_and_a_known_one_stays_ours():
    found = parse_measures(["Compat(p=0.95) alpha_nDCG(alpha=0.3)@10 AP"])
    assert [str(one) for one in found] == ["Compat", "alpha_nDCG(alpha=0.3)@10", "AP"]
    assert [isinstance(one, ForeignMeasure) for one in found] == [True, True, False]
    assert [str(one) for one in parse_measures(["α_nDCG@5"])] == ["alpha_nDCG@5"]


def test_their_values_stand_beside_ours_in_the_order_asked_for():
    found = values("--qrels", "qrels", "run", "-m", "AP Compat(p=0.8) RR")
    assert list(dict.fromkeys(measure for measure, _ in found)) == ["AP", "Compat(p=0.8)", "RR"]
    ranked = {"1": {"c": 3.0, "a": 2.0, "x": 1.0}}
    judged = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}}
    expected = {one.query_id: one.value for one in ir_measures.iter_calc([ir_measures.Compat(p=0.8)], judged, ranked)}
    assert found["Compat(p=0.8)", "1"] == pytest.approx(expected["1"])
    assert found["Compat(p=0.8)", "2"] == 0.0
    assert found["Compat(p=0.8)", "all"] == pytest.approx(expected["1"] / 2)


def test_they_see_our_order_of_ties():
    qrels, run = qrels_from({"1": {"a": 1}}), run_from({"1": {"a": 1.0, "z": 1.0}})
    aligned = align(qrels, [run])
    (compat,) = parse_measures(["Compat(p=0.5)"])
    tied = foreign_values([compat], [SubtopicRow("1", "0", "a", 1)], [run], aligned)
    second = ranking_from({"1": ["z", "a"]})
    assert tied.tolist() == foreign_values([compat], [SubtopicRow("1", "0", "a", 1)], [second], aligned).tolist()


def test_a_relevant_document_that_is_not_retrieved_stands_below_those_that_are(files: Path):
    """Compat puts documents of one grade in the order of their scores; one that the run lacks has 0 there."""
    (files / "qrels").write_text("1 0 a 1\n1 0 c 1\n1 0 d 1\n", encoding="utf-8")
    (files / "run").write_text("1 Q0 x 1 3 mine\n1 Q0 c 2 2 mine\n1 Q0 y 3 1 mine\n", encoding="utf-8")
    found = values("--qrels", "qrels", "run", "-m", "Compat(p=0.8) Compat(p=0.95)")
    judged = {"1": {"a": 1, "c": 1, "d": 1}}
    ranked = {"1": {"x": 3.0, "c": 2.0, "y": 1.0}}
    for measure in (ir_measures.Compat(p=0.8), ir_measures.Compat(p=0.95)):
        (expected,) = [one.value for one in ir_measures.iter_calc([measure], judged, ranked) if one.query_id == "1"]
        assert 0 < expected < 1
        assert found[str(measure), "1"] == pytest.approx(expected, abs=1e-12)


def test_without_the_extra_the_error_says_which_one_would_bring_it(without_ir_measures, kept: Kept):
    said = call("evaluate", "--qrels", "qrels", "run", "-m", "ERR_IA@10", status=2).err
    kept(said)


@pytest.mark.parametrize("measure", ["alpha_nDGC@10", "alpha_nDCG(foo=1)@10", "INSQ"])
def test_a_wrong_call_is_answered_with_a_sentence(measure: str, kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "run", "-m", measure, status=2)
    kept(ended.err)


def test_a_library_that_ir_measures_lacks_is_named(monkeypatch, kept: Kept):
    monkeypatch.setattr(ir_measures.providers.PyNdEvalProvider, "is_available", lambda self: False)
    said = call("evaluate", "--qrels", "qrels", "run", "-m", "ERR_IA@10", status=2).err
    kept(said)


def test_neither_ties_nor_novelty_go_with_them_nor_arrays_alone(kept: Kept):
    ended = call("evaluate", "--qrels", "qrels", "run", "-m", "Compat", "--ties", "best", status=2)
    kept(ended.err)
    aligned = align(qrels_from({"1": {"a": 1}}), [ranking_from({"1": ["a"]})])
    with kept.raises(UsageError):
        score(aligned, parse_measures(["Compat"]))
    with kept.raises(UsageError):
        parse_measure("Compat")


def test_subtopics_are_read_where_a_document_is_judged_for_several(files: Path):
    rows, qrels, made_of = read_subtopics(Source(files / "diverse"))
    assert rows[1] == SubtopicRow("1", "2", "a", 1)
    assert list(qrels) == [("1", "a", 1), ("1", "b", 1), ("1", "c", 1)]
    assert made_of != qrels.content_hash
    plain = read_subtopics(Source(files / "qrels"))
    assert plain[2] == plain[1].content_hash


def test_the_same_judgment_twice_is_refused_and_so_is_our_measure_on_subtopics(files: Path, kept: Kept):
    (files / "twice").write_text(DIVERSE + "1 2 a 0\n", encoding="utf-8")
    with kept.raises(ProblemsFound):
        read_subtopics(Source(files / "twice"))
    ended = call("evaluate", "--qrels", "diverse", "run", "-m", "AP", status=1)
    kept(ended.err)
    ended = call("evaluate", "--qrels", "diverse", "run", "-m", "AP Compat", status=1)
    kept(ended.err)


def test_diversity_measures_see_the_subtopics():
    pytest.importorskip("pyndeval")
    found = values("--qrels", "diverse", "run", "-m", "StRecall@1 StRecall@2")
    assert (found["StRecall@1", "1"], found["StRecall@2", "1"]) == (pytest.approx(1 / 3), 1.0)


def test_a_foreign_measure_is_explained(kept: Kept):
    ended = call("measures", "alpha_nDCG@10")
    kept(ended.out)
