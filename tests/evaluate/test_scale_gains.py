"""What grades are worth, as the scale of a collection says it."""

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from command import call
from kept import Kept

from cranfield.base.records import Grade, GradeScale

JUDGED = {"1": {"a": 3, "b": 1, "c": 2, "d": 1}, "2": {"a": 1, "e": 3, "f": 2, "g": 1}}
RANKED = {"1": "bcxa", "2": "agef"}
FROM_ONE = "1=no, 2=partly, 3=fully"
GAIN_MEASURES = ["CG@3", "DCG@3", "IdealDCG", "nDCG", "nDCG@3", "nDCGRel", "RnDCG", "G"]


def toml_scale(*steps: tuple[int, float]) -> str:
    return "".join(f'[[grade]]\ngrade = {grade}\nlabel = "g{grade}"\ngain = {gain}\n' for grade, gain in steps)


def collection(folder: Path, scale: str, *, grades: Mapping[int, int] = MappingProxyType({})) -> Path:
    """Make a collection on a scale, with these `grades` for others, and beside it the qrels with grades one lower."""
    documents = sorted({name for ranked in (*JUDGED.values(), *RANKED.values()) for name in ranked})
    (folder / "documents.jsonl").write_text("".join(f'{{"id": "{one}", "text": "{one}"}}\n' for one in documents))
    (folder / "topics.jsonl").write_text("".join(f'{{"id": "{one}", "title": "{one}"}}\n' for one in JUDGED))
    rows = [(topic, one, grades.get(grade, grade)) for topic, found in JUDGED.items() for one, grade in found.items()]
    (folder / "judged").write_text("".join(f"{topic} 0 {one} {grade}\n" for topic, one, grade in rows))
    (folder / "lower").write_text("".join(f"{topic} 0 {one} {grade - 1}\n" for topic, one, grade in rows))
    ranked = [(topic, one, place) for topic, found in RANKED.items() for place, one in enumerate(found, start=1)]
    (folder / "a.run").write_text(
        "".join(f"{topic} Q0 {one} {place} {9 - place} a\n" for topic, one, place in ranked)
    )
    (folder / "uneven.toml").write_text(toml_scale((1, 0), (2, 0.5), (3, 10)))
    call("init", "--scale", scale, folder=folder)
    for words in (["corpus", "add", "documents.jsonl"], ["corpus", "topics", "topics.jsonl"]):
        call(*words, folder=folder)
    call("runs", "submit", "a.run", folder=folder)
    call("judge", "import", "judged", folder=folder)
    return folder


def scores(folder: Path, *words: str, measures: list[str]) -> dict[tuple[str, str], float]:
    asked = [word for measure in measures for word in ("-m", measure)]
    rows = csv.DictReader(io.StringIO(call("evaluate", *words, *asked, "--by-topic", "-f", "csv", folder=folder).out))
    return {(row["topic"], row["measure"]): float(row["value"]) for row in rows}


def test_a_scale_that_begins_above_0_scores_as_one_that_begins_at_0(tmp_path: Path):
    folder = collection(tmp_path, FROM_ONE)
    own = scores(folder, measures=GAIN_MEASURES)
    lower = scores(folder, "a.run", "--qrels", "lower", measures=GAIN_MEASURES)
    assert list(own.values()) == pytest.approx(list(lower.values()))
    assert len(set(own.values())) > 9


def test_the_gains_of_a_scale_are_taken_and_printed(tmp_path: Path):
    folder = collection(tmp_path, "uneven.toml")
    bare = scores(folder, measures=["nDCG@3", "DCG@3"])
    told = scores(folder, measures=["nDCG(gains={1: 0, 2: 0.5, 3: 10})@3", "DCG(gains={1: 0, 2: 0.5, 3: 10})@3"])
    assert bare == told
    assert ("1", "nDCG(gains={1: 0, 2: 0.5, 3: 10})@3") in bare


def test_an_expression_that_speaks_of_gains_is_left_alone(tmp_path: Path):
    folder = collection(tmp_path, "uneven.toml")
    measures = ["nDCG(gain='exponential')@3", "nDCG(gains={3: 7})@3"]
    own = scores(folder, measures=measures)
    assert own == scores(folder, "a.run", "--qrels", "judged", measures=measures)


def test_a_usual_scale_changes_no_name(tmp_path: Path):
    folder = collection(tmp_path, "0=no, 1=a, 2=b, 3=c")
    assert {measure for _, measure in scores(folder, measures=["nDCG@3", "DCG"])} == {"nDCG@3", "DCG"}


def test_measures_of_the_grades_themselves_are_named(tmp_path: Path, kept: Kept):
    folder = collection(tmp_path, FROM_ONE)
    told = call("evaluate", "-m", "ERR@3", "-m", "AP", "-m", "RBP(gain=scaled)", "-m", "nDCG", folder=folder).err
    kept(told)
    told = call(
        "evaluate", "-m", "nDCG(gain='exponential')@3", "-m", "RBPGains", "-m", "DCG(gains={3: 7})", folder=folder
    ).err
    kept(told)
    kept(call("evaluate", "-m", "AP", "-m", "nDCG", "-m", "RBP", folder=folder).err)


def test_it_is_told_where_a_document_without_a_judgment_is_worth_less_than_one_that_is_not_relevant(
    tmp_path: Path, kept: Kept
):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 3 x\n1 Q0 c 2 2 x\n1 Q0 b 3 1 x\n")
    asked = ["evaluate", "--qrels", "qrels", "run", "-m", "nDCG(gains={0: 0.5})@3", "-m", "nDCG(gains={0: -1})@3"]
    told = call(*asked, folder=tmp_path).err
    kept(told)


def test_a_list_is_laid_open_with_the_gains_of_the_scale(tmp_path: Path, kept: Kept):
    folder = collection(tmp_path, "uneven.toml")
    found = json.loads(call("evaluate", "--explain", "a", "1", "-f", "json", folder=folder).out)
    (whole,) = [value for (topic, _), value in scores(folder, measures=["DCG"]).items() if topic == "1"]
    assert found[0]["DCG"] == 0.0
    assert found[-1]["DCG"] == pytest.approx(whole)
    kept(call("evaluate", "--explain", "a", "1", folder=folder).out)


@pytest.mark.parametrize(
    "words",
    [["compare", "-m", "nDCG@3"], ["reuse", "-m", "nDCG@3"], ["simulate", "--plan", "depth 2", "-m", "nDCG@3"]],
)
def test_all_commands_take_the_same_gains(tmp_path: Path, words: list[str]):
    folder = collection(tmp_path, FROM_ONE)
    (folder / "b.run").write_text(
        (folder / "a.run").read_text().replace(" a\n", " b\n").replace("Q0 b 1 8", "Q0 b 1 1")
    )
    call("runs", "submit", "b.run", folder=folder)
    _, shown, told = call(*words, folder=folder)
    assert "nDCG(gains={1: 0, 2: 1, 3: 2})@3" in shown + told


def test_exported_qrels_come_with_what_to_write_elsewhere(tmp_path: Path, kept: Kept):
    folder = collection(tmp_path, "uneven.toml")
    told = call("qrels", "export", "-o", "out.trec", folder=folder).err
    kept(told)
    elsewhere = scores(
        folder, "a.run", "--qrels", "out.trec", measures=["AP(rel=2)", "nDCG(gains={1: 0, 2: 0.5, 3: 10})"]
    )
    assert scores(folder, measures=["AP", "nDCG"]) == elsewhere


def scale_of(*steps: tuple[int, float]) -> GradeScale:
    return GradeScale(tuple(Grade(grade, f"g{grade}", gain) for grade, gain in steps), relevant_from=steps[1][0])


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        (((0, 0), (1, 1), (2, 2)), {}),
        (((0, 0), (1, 1), (3, 3)), {}),
        (((1, 0), (2, 1), (3, 2)), {1: 0, 2: 1, 3: 2}),
        (((5, 0), (6, 1)), {1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 1}),
        (((2, 0), (3, 1), (5, 3)), {1: 0, 2: 0, 3: 1, 4: 1, 5: 3}),
        (((0, 0), (2, 0.5), (4, 1)), {1: 0, 2: 0.5, 3: 0.5, 4: 1}),
        (((0, 0.2), (1, 0.5), (2, 4)), {0: 0.2, 1: 0.5, 2: 4}),
    ],
)
def test_grades_that_a_scale_skips_are_worth_no_more_than_its_steps(steps, named):
    assert dict(scale_of(*steps).own_gains) == named


def test_intervals_ask_only_for_gains_that_the_scale_has(tmp_path: Path):
    (tmp_path / "gaps.toml").write_text(toml_scale((0, 0), (2, 0.5), (4, 1)))
    folder = collection(tmp_path, "gaps.toml", grades={1: 0, 2: 2, 3: 4})
    rows = csv.DictReader(io.StringIO(call("evaluate", "-m", "DCG@4", "--by-topic", "-f", "csv", folder=folder).out))
    (first,) = [row for row in rows if row["topic"] == "1"]
    hole = 1 / math.log2(4)  # the one unjudged document stands at rank 3, and may be worth 1
    assert float(first["high"]) - float(first["value"]) == pytest.approx(hole)
