"""Cranfield as a provider of ir_measures, and what PyTerrier, ranx and trectools give and take."""

import gzip
import io
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from installed import package
from kept import Kept

import cranfield as cf

ir_measures = package("ir_measures")
provider = package("cranfield.ir_measures").provider
ir_measures.DefaultPipeline.providers.remove(provider)  # other tests hold us against the default providers
default = ir_measures.providers.FallbackProvider(list(ir_measures.DefaultPipeline.providers))

SAME = [
    *("AP", "AP(rel=2)", "AP@10", "AP(judged_only=True)", "Bpref", "Bpref(rel=2)", "IPrec@0.1", "IPrec(rel=2)@0.7"),
    *(
        "NumQ",
        "NumRel",
        "NumRet",
        "NumRet(rel=2)",
        "P@5",
        "P(rel=2)@10",
        "P(judged_only=True)@5",
        "R@10",
        "R(rel=2)@20",
    ),
    *("RR", "RR(rel=2)", "Rprec", "Rprec(judged_only=True)", "SetAP", "SetF", "SetF(beta=0.5)", "SetP", "SetR"),
    *("SetP(relative=True)", "Success@1", "Success(rel=2)@5", "infAP", "nDCG", "nDCG@10", "nDCG(judged_only=True)@5"),
    *("nDCG(gains={1:3,2:9})@10", "nDCG(gains={0:1,1:2})"),
]


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the import does to ir_measures."""
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", [provider, *default.providers])


def values(calculated) -> dict:
    return {(one.query_id, str(one.measure)): one.value for one in calculated}


@pytest.mark.parametrize("seed", range(6))
def test_values_are_those_of_the_default_providers_for_every_topic(imported, random_data, seed: int):
    measures = [ir_measures.parse_measure(text) for text in SAME]
    qrels, run = random_data(seed, topics=25)
    missing = next(iter(run))
    run = {"unknown": run.pop(missing)} | run
    # One by one: together, the default provider may give plain nDCG the gains of another nDCG.
    expected = {key: value for one in measures for key, value in values(default.iter_calc([one], qrels, run)).items()}
    assert values(provider.iter_calc(measures, qrels, run)) == pytest.approx(expected, abs=1e-9)
    totals = {one: default.calc_aggregate([one], qrels, run)[one] for one in measures}
    assert ir_measures.calc_aggregate(measures, qrels, run) == pytest.approx(totals, abs=1e-9)
    # Measures alone are looked up in fewer documents than all of them together.
    for measure in measures:
        own = {key: value for key, value in expected.items() if key[1] == str(measure)}
        assert values(provider.iter_calc([measure], qrels, run)) == pytest.approx(own, abs=1e-9)


def test_values_that_hang_on_the_order_of_ties_are_equal_where_nothing_is_tied(random_data):
    measures = [ir_measures.RR @ 3]
    qrels, run = random_data(3, ties=False, negative=False)
    assert values(provider.iter_calc(measures, qrels, run)) == pytest.approx(
        values(default.iter_calc(measures, qrels, run)), abs=1e-9
    )


def test_every_form_of_runs_and_qrels_means_the_same(random_data):
    measures = [ir_measures.AP, ir_measures.nDCG @ 10]
    qrels, run = random_data(1)
    judged = [ir_measures.Qrel(topic, one, grade) for topic, rows in qrels.items() for one, grade in rows.items()]
    ranked = [ir_measures.ScoredDoc(topic, one, score) for topic, rows in run.items() for one, score in rows.items()]
    expected = provider.calc_aggregate(measures, qrels, run)
    for some_qrels in (judged, iter(judged), pd.DataFrame(judged)):
        scattered = sorted(ranked, key=lambda row: row.doc_id)
        for some_run in (ranked[::-1], iter(ranked), scattered, iter(scattered), pd.DataFrame(scattered)):
            evaluator = provider.evaluator(measures, some_qrels)
            assert evaluator.calc_aggregate(some_run) == expected
            some_qrels = judged
    assert provider.calc(measures, qrels, []).aggregated == dict.fromkeys(measures, 0.0)


def test_a_file_that_ir_measures_would_read_is_read_here(tmp_path, random_data):
    measures = [ir_measures.AP, ir_measures.nDCG @ 10]
    qrels, run = random_data(1)
    text = "\n".join(
        f"{topic} Q0 {one} 1 {score!r} t\n" for topic, rows in run.items() for one, score in rows.items()
    )
    (tmp_path / "a.run").write_text(text, "utf-8")
    with gzip.open(tmp_path / "a.run.gz", "wt") as stream:
        stream.write(text)
    expected, evaluator = provider.calc_aggregate(measures, qrels, run), provider.evaluator(measures, qrels)
    for file in (text, str(tmp_path / "a.run"), str(tmp_path / "a.run.gz"), io.StringIO(text)):
        rows = ir_measures.read_trec_run(file)
        assert evaluator.calc_aggregate(rows) == expected
        assert list(rows) == []
    begun = ir_measures.read_trec_run(text)
    first = next(begun)
    assert evaluator.calc_aggregate(begun) == evaluator.calc_aggregate([*ir_measures.read_trec_run(text)][1:])
    assert first.query_id in run
    for nothing in (tmp_path / "a.run", text.splitlines()):
        assert list(ir_measures.read_trec_run(nothing)) == []
        with pytest.raises(TypeError, match="a path as a string"):
            evaluator.calc_aggregate(ir_measures.read_trec_run(nothing))
    for line in ("1 Q0 a 1 2.5\n", "1 Q0 a 1 2.5 t t\n"):
        with pytest.raises(ValueError, match="values to unpack"):
            evaluator.calc_aggregate(ir_measures.read_trec_run(line))


def lines_of(rows, between: str = " ", end: str = "\n") -> str:
    return "".join(between.join((topic, "Q0", one, "1", repr(score), "t")) + end for topic, one, score in rows)


@pytest.mark.parametrize("seed", range(4))
def test_an_ordinary_run_file_is_scored_without_making_its_rows(tmp_path, random_data, monkeypatch, seed: int):
    """Any other is read row by row; both ways give what the default providers give."""
    measures = [ir_measures.parse_measure(text) for text in SAME]
    qrels, run = random_data(seed, topics=25)
    missing = next(iter(run))
    run = {"unknown": run.pop(missing)} | run
    rows = [
        (topic, one, score)
        for topic, ranking in run.items()
        for one, score in sorted(ranking.items(), key=lambda pair: -pair[1])
    ]
    path = tmp_path / "a.run"

    def holds(rows, **spelled: str) -> None:
        path.write_text(lines_of(rows, **spelled), "utf-8", newline="")
        read = [*ir_measures.read_trec_run(str(path))]
        expected = {(topic, str(one)): one.DEFAULT for topic in qrels for one in measures}
        for one in measures:  # one by one, as above
            expected |= values(default.iter_calc([one], qrels, read))
        for every in (measures, [ir_measures.AP]):
            evaluator = provider.evaluator(every, qrels)
            found = values(evaluator.iter_calc(ir_measures.read_trec_run(str(path))))
            own = {key: value for key, value in expected.items() if key[1] in {*map(str, every)}}
            assert found == pytest.approx(own, abs=1e-9)

    with monkeypatch.context() as patched:
        patched.setattr("cranfield.ir_measures._rows", None)
        holds(rows)
        holds(rows, between="\t")
        holds([row for row in rows if row[0] == "unknown"])
    for other in (rows[::-1], sorted(rows, key=lambda row: row[1]), [*rows, *rows[::3]], []):
        holds(other)
    holds(rows, between="  ", end="\r\n\n")
    path.write_text(lines_of(rows), "utf-8")
    nothing = provider.evaluator([ir_measures.AP], {"1": {"a": 0}})
    assert nothing.calc_aggregate(ir_measures.read_trec_run(str(path))) == {ir_measures.AP: 0.0}


def half(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    return 0.5


def test_measures_that_a_script_defines_stay_its_own(imported, kept: Kept):
    """Also one with the name of ours, and beside ours."""
    judged, ranked = {"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}
    ours, everywhere = (
        ir_measures.define_byquery(half, "P"),
        ir_measures.define(lambda qrels, run: [("1", 0.25)], "AP"),
    )
    for defined, value in ((ours @ 5, 0.5), (ours, 0.5), (everywhere, 0.25), (ir_measures.define_byquery(half), 0.5)):
        assert not provider.supports(defined)
        both = ir_measures.calc_aggregate([defined, ir_measures.RR], judged, ranked)
        assert both == {defined: value, ir_measures.RR: 0.5}
    with pytest.raises(ValueError, match="unsupported measures: Compat, P@5"):
        provider.calc_aggregate([ours @ 5, ir_measures.Compat, ir_measures.AP], judged, ranked)
    with kept.raises(cf.CranfieldError):
        cf.open_files(qrels=judged, runs={"mine": ranked}).evaluate([ours @ 5, ir_measures.define_byquery(half)])


def test_accuracy_of_ir_measures_is_not_taken_for_ours(imported, kept: Kept):
    judged, ranked = {"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}
    assert ir_measures.calc_aggregate([ir_measures.Accuracy], judged, ranked) == {ir_measures.Accuracy: 0.0}
    with kept.raises(cf.CranfieldError):
        cf.open_files(qrels=judged, runs={"mine": ranked}).evaluate([ir_measures.Accuracy @ 5])


def test_it_comes_first_where_it_can_and_leaves_the_rest_to_others(imported):
    others = ["ERR@10", "Judged@10", "nDCG(dcg='exp-log2')@10", "Compat", "Judged", "alpha_nDCG@10"]
    assert [text for text in others if provider.supports(ir_measures.parse_measure(text))] == []
    judged, ranked = {"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}
    both = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.Compat(p=0.8)], judged, ranked)
    assert both[ir_measures.AP] == 0.5
    with pytest.raises(ValueError, match="not a number"):
        ir_measures.calc_aggregate([ir_measures.AP], judged, {"1": {"a": float("nan")}})


def test_qrels_that_the_default_providers_take_are_taken(imported):
    blank = {"q 1": {"d 1": 1, "d 2": -1}}
    assert provider.calc_aggregate([ir_measures.AP], blank, {"q 1": {"d 1": 1.0}}) == {ir_measures.AP: 1.0}
    assert np.isnan(provider.calc_aggregate([ir_measures.AP], {}, {"1": {"a": 1.0}})[ir_measures.AP])
    rows = {"query_id": [1, 1], "doc_id": [10, 11]}
    frames = pd.DataFrame({**rows, "relevance": [0, 1]}), pd.DataFrame({**rows, "score": [2.0, 1.0]})
    assert provider.calc_aggregate([ir_measures.AP], *frames) == {ir_measures.AP: 0.5}
    for other in ("a.run", [("1", "a", 1.0)]):
        with pytest.raises(ValueError, match="named tuples"):
            provider.calc_aggregate([ir_measures.AP], blank, other)
    with pytest.raises(TypeError, match="strings, not int"):
        provider.calc_aggregate([ir_measures.AP], {"1": {"a": 1}}, {"1": {10: 1.0}})
    assert provider.calc_aggregate([ir_measures.AP], {"1": {"a": 1.0}}, {"1": {"a": 1.0}}) == {ir_measures.AP: 1.0}
    for grade in (1.5, "1"):
        with pytest.raises(ValueError, match="not a whole number"):
            provider.calc_aggregate([ir_measures.AP], {"1": {"a": grade}}, {"1": {"a": 1.0}})
    texts = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"], "score": ["2.5"]})
    for scores in ({"1": {"a": "2.5"}}, texts, [ir_measures.ScoredDoc("1", "a", "2.5")]):
        with pytest.raises(TypeError, match="scores of a run are numbers, not str"):
            provider.calc_aggregate([ir_measures.AP], {"1": {"a": 1}}, scores)


def test_measures_come_in_the_order_of_their_names():
    measures = {ir_measures.RR, ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.P @ 5}
    found = provider.calc_aggregate(measures, {"1": {"a": 1}}, {"1": {"a": 1.0}})
    assert [*map(str, found)] == ["AP", "P@5", "RR", "nDCG@10"]


def test_measures_of_ir_measures_are_measures_here(random_data):
    qrels, run = random_data(2, negative=False)
    files = cf.open_files(qrels=qrels, runs={"mine": run})
    objects = [ir_measures.nDCG @ 10, ir_measures.P(rel=2) @ 5, ir_measures.SetP(relative=True)]
    words = ["nDCG@10", "P(rel=2)@5", "SetP(relative=True)"]
    assert files.evaluate(objects).equals(files.evaluate(words))
    assert files.evaluate(ir_measures.AP)["measure"].tolist() == ["AP"]
    # Its ERR has a fixed highest grade; the same word here has that of the qrels.
    files = cf.open_files(qrels={"1": {"a": 2, "b": 1}}, runs={"mine": {"1": {"b": 2.0, "a": 1.0}}})
    expected = default.calc_aggregate([ir_measures.ERR @ 20], {"1": {"a": 2, "b": 1}}, {"1": {"b": 2.0, "a": 1.0}})
    found = files.evaluate([ir_measures.ERR @ 20, "ERR@20"])
    assert found["measure"].tolist() == ["ERR(max_grade=4)@20", "ERR@20"]
    assert found["value"][0] == pytest.approx(expected[ir_measures.ERR @ 20], abs=1e-5) != found["value"][1]


def test_a_script_needs_one_import_more():
    script = """
        import ir_measures
        from ir_measures import AP
        before = ir_measures.calc_aggregate([AP], {"1": {"a": 1}}, {"1": {"a": 1.0}})
        import cranfield.ir_measures
        evaluator = ir_measures.evaluator([AP], {"1": {"a": 1}})
        assert type(evaluator).__module__ == "cranfield.ir_measures"
        assert evaluator.calc_aggregate({"1": {"a": 1.0}}) == before == {AP: 1.0}
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


QRELS = {"1": {"d1": 2, "d2": 0, "d4": 1}, "2": {"d3": 1}}
RUN = {"1": {"d1": 9.5, "d7": 8.1, "d4": 8.1}, "2": {"d5": 4.0, "d3": 3.0}}


def same_scores(qrels: object, runs: object) -> list[str]:
    """Hold the scores of these against those of plain mappings, and give the names of the runs."""
    files, plain = cf.open_files(qrels=qrels, runs=runs), cf.open_files(qrels=QRELS, runs={"mine": RUN})
    measures = ["AP", "nDCG@10", "P@2"]
    found, expected = (one.evaluate(measures, by_topic=True, verdicts=False) for one in (files, plain))
    assert np.array_equal(found["value"], expected["value"])
    assert files.qrels().equals(plain.qrels())
    return list(files.runs)


@pytest.mark.filterwarnings("ignore")
def test_frames_of_pyterrier_go_in_and_come_out(imported):
    pt = package("pyterrier")
    mine = cf.open_files(qrels=QRELS, runs={"mine": RUN})
    results, judged = mine.run("mine", form="pyterrier"), mine.qrels(form="pyterrier")
    assert results.columns.tolist() == ["run", "qid", "docno", "rank", "score"]
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["one", "two"]})
    ranked = pt.model.add_ranks(results.drop(columns="rank")).merge(topics)
    assert same_scores(judged, {"mine": ranked}) == ["mine"]
    measures = [pt.measures.AP, pt.measures.nDCG @ 10, pt.measures.P @ 2]
    table = pt.Experiment([ranked], topics, judged, eval_metrics=measures, names=["mine"])
    scores = mine.evaluate(measures, verdicts=False)
    assert [table[name].item() for name in scores["measure"]] == pytest.approx(scores["value"].tolist())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_objects_of_ranx_go_in_and_come_out():
    ranx = package("ranx")
    assert same_scores(ranx.Qrels(QRELS), ranx.Run(RUN, name="bm25")) == ["bm25"]
    assert same_scores(ranx.Qrels(QRELS), {"named": ranx.Run(RUN)}) == ["named"]
    mine = cf.open_files(qrels=QRELS, runs={"mine": RUN})
    run, judged = mine.run("mine", form="ranx"), mine.qrels(form="ranx")
    assert (run.name, same_scores(judged, [run])) == ("mine", ["mine"])


@pytest.mark.filterwarnings("ignore")
def test_objects_of_trectools_go_in_and_come_out():
    trectools = package("trectools")
    mine = cf.open_files(qrels=QRELS, runs={"mine": RUN})
    run, judged = mine.run("mine", form="trectools"), mine.qrels(form="trectools")
    assert same_scores(judged, run) == ["mine"]
    assert trectools.TrecEval(run, judged).get_map() == pytest.approx(mine.evaluate("AP")["value"].item())


@pytest.mark.filterwarnings("ignore")
def test_an_empty_object_of_trectools_is_told(kept: Kept):
    trectools = package("trectools")
    with kept.raises(cf.CranfieldError):
        cf.open_files(qrels=QRELS, runs=trectools.TrecRun())
    with kept.raises(cf.CranfieldError):
        cf.open_files(qrels=trectools.TrecQrel(), runs={"mine": RUN}).qrels()


def test_a_run_without_a_name_and_an_unknown_form_are_told(kept: Kept):
    ranx = package("ranx")
    with kept.raises(cf.CranfieldError):
        cf.open_files(qrels=QRELS, runs=ranx.Run(RUN))
    with kept.raises(cf.CranfieldError):
        cf.open_files(qrels=QRELS, runs={"mine": RUN}).qrels(form="pandas")


def test_a_run_comes_back_as_it_is_ranked():
    files = cf.open_files(qrels=QRELS, runs={"mine": RUN})
    rows = files.run("mine").values.tolist()
    assert rows[:3] == [["mine", "1", "d1", 1, 9.5], ["mine", "1", "d7", 2, 8.1], ["mine", "1", "d4", 3, 8.1]]
    assert files.run("mine", form="ir_measures").columns.tolist() == ["run", "query_id", "doc_id", "rank", "score"]


def test_a_condensed_list_may_be_empty_and_its_interpolated_precision_is_left_to_the_default_provider():
    ir_measures = package("ir_measures")
    from cranfield.ir_measures import provider

    assert provider.supports(ir_measures.IPrec @ 0.1)
    assert not provider.supports(ir_measures.IPrec(judged_only=True) @ 0.1)
