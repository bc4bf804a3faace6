"""Saved scores: which measure each is of, which values it may have, and how it is named again."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import CranfieldError, InputError, ProblemsFound, SourceError, UnknownName
from cranfield.workflows.compare.saved_scores import Saved, read_scores

RUNS = {"r1": "abcd", "r2": "dcba", "r3": "bdac"}
GRADES = {"t1": {"a": 3, "b": 1, "c": 0, "d": 2}, "t2": {"a": 1, "b": 3, "c": 2, "d": 1}, "t3": {"c": 1, "d": 3}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    judged = [f"{topic} 0 {one} {grade}\n" for topic, found in GRADES.items() for one, grade in found.items()]
    (tmp_path / "qrels").write_text("".join(judged))
    for name, ranking in RUNS.items():
        lines = [f"{topic} Q0 {one} 1 {9 - place} {name}\n" for topic in GRADES for place, one in enumerate(ranking)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(*measures: str) -> None:
    words = [word for measure in measures for word in ("-m", measure)]
    runs = [f"{name}.run" for name in RUNS]
    out = call("evaluate", *runs, "--qrels", "qrels", *words, "--by-topic", "-f", "csv", "--no-verdict").out
    Path("saved.csv").write_text(out)


def written(*measures: str, values: tuple[float, ...] = (), file: Path = Path("saved.csv")) -> Path:
    """Write scores of two runs on two topics for each measure, which are all the same unless told."""
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["run", "topic", "measure", "value", "qrels"])
        for measure, value in zip(measures, values or (0.5,) * len(measures), strict=True):
            rows.writerows([run, topic, measure, value, "abc"] for run in "ab" for topic in ("1", "2"))
    return file


def measures_of(saved: Saved) -> list[str]:
    return [str(measure) for measure in saved.scores.measures]


@pytest.mark.parametrize("name", ["", " ", "AP P@5", "official", "ndcg_cut", "P.5,10"])
def test_what_is_not_the_name_of_one_measure_is_refused_with_its_lines(name: str, kept: Kept):
    written("RR", name)
    said = call("compare", "--scores", "saved.csv", status=1).err
    kept(said)


def test_a_name_that_is_unknown_or_malformed_is_refused_with_its_lines():
    for name, said in (("nDGC", "unknown measure 'nDGC'"), ("AP(rel=", "AP(rel="), ("P()", "P needs a cutoff")):
        with pytest.raises(ProblemsFound) as refused:
            read_scores([written("RR", name)])
        (problem,) = refused.value.problems
        assert (problem.code, problem.lines, problem.count) == ("bad-measure", (6, 7, 8, 9), 4)
        assert said in problem.message


def test_empty_lines_count_where_a_line_is_named():
    file = written("RR", "official")
    file.write_text(file.read_text().replace("official", "official\n", 1).replace("a,1,RR", "\n\na,1,RR"))
    with pytest.raises(ProblemsFound) as refused:
        read_scores([file])
    assert {problem.code: problem.lines for problem in refused.value.problems} == {
        "no-such-column": (8, 9),
        "bad-measure": (10, 11, 12),
    }


def test_what_csv_cannot_hold_is_refused_with_its_line(kept: Kept):
    file = written("RR")
    file.write_text(file.read_text() + "a,1,RR,0.5," + "x" * 200_000 + "\n")
    with kept.raises(SourceError):
        read_scores([file])
    Path("deep.jsonl").write_text('{"run": ' + "[" * 100_000)
    with kept.raises(InputError):
        read_scores([Path("deep.jsonl")])


def test_two_names_of_one_measure_are_one():
    saved = read_scores([written("map", "AP", "P_5", values=(0.25, 0.25, 0.75))])
    assert measures_of(saved) == ["AP", "P@5"]
    assert saved.scores.values.tolist() == [[[0.25] * 2] * 2, [[0.75] * 2] * 2]


def test_two_names_of_one_measure_with_two_values_are_refused_with_their_lines(kept: Kept):
    with pytest.raises(ProblemsFound) as refused:
        read_scores([written("map", "AP", values=(0.25, 0.75))])
    (problem,) = refused.value.problems
    assert (problem.code, problem.lines) == ("two-values", (6, 7, 8, 9))
    kept(problem.message)


def test_verdicts_go_by_the_names_we_write(kept: Kept):
    row = {"run": "a", "value": 0.5, "qrels": "abc"}
    rows = [row | {"topic": "1", "measure": "map"}, row | {"topic": "all", "measure": "map", "verdict": "SAFE"}]
    Path("saved.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert read_scores([Path("saved.jsonl")]).verdicts == {("AP", "a"): "SAFE"}
    rows[1]["measure"] = "official"
    Path("saved.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    with kept.raises(ProblemsFound):
        read_scores([Path("saved.jsonl")])


def test_a_summary_that_nothing_is_taken_from_may_be_of_anything():
    file = written("AP")
    file.write_text(file.read_text() + "a,all,runid,a,abc\n")
    assert measures_of(read_scores([file])) == ["AP"]


def test_names_with_settings_and_those_of_ir_measures_are_read_as_before():
    names = ["AP(agg='geometric')", "nDCG(gain='exponential')@5", "NumRel"]
    assert measures_of(read_scores([written(*names)])) == names
    pytest.importorskip("ir_measures")
    assert measures_of(read_scores([written("Compat(p=0.9)", "AP")])) == ["Compat(p=0.9)", "AP"]


@given(
    st.lists(
        st.text("APRmap_cut.,@()= {}:'1205\u00e9", max_size=9) | st.sampled_from(["AP", "P@5", "map"]), max_size=4
    )
)
def test_whatever_stands_in_the_column_is_a_measure_or_a_problem(tmp_path_factory, names: list[str]):
    file = written(*names, file=tmp_path_factory.getbasetemp() / "any.csv")
    try:
        saved = read_scores([file])
    except CranfieldError:
        return
    assert len(saved.scores.measures) == len(saved.scores.values)


@pytest.mark.parametrize("measure", ["nDCG(gains={1: -1, 2: 2, 3: 5})@1", "G(gains={1: -3})", "RnDCG(gains={0: -9})"])
def test_what_a_grade_costs_takes_no_score_out_of_range(measure: str):
    evaluated(measure)
    rows = list(csv.DictReader(io.StringIO(Path("saved.csv").read_text())))
    assert any(not 0 <= float(row["value"]) <= 1 for row in rows)
    out = call("compare", "--scores", "saved.csv", "-f", "csv").out
    assert {row["measure"] for row in csv.DictReader(io.StringIO(out))} == {measure}


def test_gains_from_0_up_leave_the_range_as_it_is(kept: Kept):
    with kept.raises(ProblemsFound):
        read_scores([written("nDCG(gains={1: 0, 2: 5})", values=(1.5,))])


EVALUATED = (
    "nDCG(gains={1: 0, 2: 1, 3: 2})@5",
    "nDCG(gain='exponential')@5",
    "AP(rel=2)",
    "nDCG@10",
    "IPrec(rel=2, rounding='9')@0.5",
)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("nDCG@5", EVALUATED[0]),
        ("ndcg_cut.5", EVALUATED[0]),
        ("map", "AP(rel=2)"),
        ("nDCG@10", "nDCG@10"),
        ("IPrec@0.5", EVALUATED[4]),
        (EVALUATED[1], EVALUATED[1]),
    ],
)
def test_a_bare_name_means_what_an_evaluation_made_of_it(asked: str, meant: str):
    file = written(*EVALUATED)
    assert measures_of(read_scores([file], measures=[asked])) == [meant]
    assert measures_of(read_scores([file], measures=[asked, meant])) == [meant]


@pytest.mark.parametrize("asked", ["AP(rel=1)", "AP(rel=3)", "nDCG(gains={1: 0})@5", "nDCG", "nDCG@20"])
def test_what_says_itself_what_it_means_gets_nothing_else(asked: str, kept: Kept):
    with kept.raises(UnknownName):
        read_scores([written(*EVALUATED)], measures=[asked])


def test_a_bare_name_that_could_be_two_is_refused_and_a_saved_bare_one_goes_first(kept: Kept):
    both = ("AP(rel=2)", "AP(rel=3)")
    with kept.raises(UnknownName):
        read_scores([written(*both)], measures=["AP"])
    assert measures_of(read_scores([written(*both, "AP")], measures=["AP"])) == ["AP"]
