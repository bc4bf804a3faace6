"""Every number that a frame has is the one that the command writes, to the last digit."""

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from command import call
from kept import Kept

import cranfield as cf
from cranfield.base.errors import UsageError

FILES = [f"r{run}.run" for run in (1, 2, 3, 4, 5, 9)]
POOL = ("--qrels", "qrels", "--groups", "groups.tsv", "--pool-depth", "3")
MEASURES = ("-m", "P@3", "-m", "nDCG@5", "-m", "AP")
ALIKE = ("qrels", "reference", "test", "correction", "alpha", "tolerance", "draws", "seed")
"""What is the same in all rows of a comparison: a frame has it among its attributes."""


def of_files(folder: Path, *names: str) -> cf.Opened:
    runs = [folder / name for name in names or FILES]
    return cf.open_files(qrels=folder / "qrels", runs=runs, groups=folder / "groups.tsv", pool_depth=3)


def of_collection(path: Path) -> cf.Opened:
    return cf.open_collection(path)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def printed(value: object) -> str:
    """Give a value of a frame as the CSV of the command line has it."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, float) else str(value)


def cells(frame: pd.DataFrame, names: list[str]) -> list[dict[str, str]]:
    return [{name: printed(row[name]) for name in names} for row in frame.to_dict("records")]


def same(frame: pd.DataFrame, text: str, *, without: tuple[str, ...] = ()) -> None:
    """Compare everything; a column of whole numbers with gaps is one of floats in a frame."""
    expected = [{name: cell for name, cell in row.items() if name not in without} for row in table(text)]
    found = cells(frame, list(expected[0]))
    floats = {name for name in found[0] if frame[name].dtype == "float64"}
    assert [
        {name: cell if name not in floats or not cell else repr(float(cell)) for name, cell in row.items()}
        for row in expected
    ] == found
    assert sorted(frame.columns) == sorted(expected[0])


@pytest.mark.parametrize("by_topic", [False, True])
def test_scores_of_files_carry_the_verdicts_that_the_command_gives(pool: Path, by_topic: bool):
    frame = of_files(pool).evaluate(["P@3", "nDCG@5", "AP"], by_topic=by_topic)
    more = ("--by-topic",) if by_topic else ()
    same(
        frame,
        call("evaluate", *FILES, *POOL, *MEASURES, *more, "-f", "csv", folder=pool).out,
        without=("qrels", "reference", "topics"),
    )
    assert frame.attrs["reference"] == "trec_eval 10"
    scored = table(call("evaluate", *FILES, *POOL, "-m", "AP", "-f", "csv", folder=pool).out)
    assert frame.attrs["topics"] == {row["run"]: int(row["topics"]) for row in scored}


def test_scores_of_a_collection_carry_the_verdicts_that_the_command_gives(kitchen: Path):
    with of_collection(kitchen) as opened:
        frame = opened.evaluate(["nDCG@5", "P@5"])
    words = ("evaluate", "-m", "nDCG@5", "-m", "P@5", "-f", "csv")
    same(frame, call(*words, folder=kitchen.parent).out, without=("qrels", "reference", "topics"))
    assert "UNRELIABLE" in set(frame["verdict"])
    assert any("mortar-dense" in note and "UNRELIABLE" in note for note in frame.attrs["notes"])


def test_scores_alone_are_those_without_verdicts(pool: Path):
    frame = of_files(pool).evaluate(["P@3", "AP"], verdicts=False)
    words = ("evaluate", *FILES, *POOL, "-m", "P@3", "-m", "AP", "--no-verdict", "-f", "csv")
    same(frame, call(*words, folder=pool).out, without=("qrels", "reference", "topics"))


def test_pairs_of_files_carry_the_claims_that_the_command_makes(pool: Path):
    frame = of_files(pool).compare(measures=["P@3", "nDCG@5"])
    words = ("compare", *FILES, *POOL, "-m", "P@3", "-m", "nDCG@5", "-f", "csv")
    same(frame, call(*words, folder=pool).out, without=ALIKE)
    assert {name: frame.attrs[name] for name in ALIKE[1:]} == {
        "reference": "trec_eval 10", "test": "t", "correction": "holm", "alpha": 0.05, "tolerance": 0.0,
        "draws": 10_000, "seed": 1,
    }  # fmt: skip
    assert {"robust", "open"} <= set(frame["claim"])


def test_pairs_of_a_collection_carry_the_claims_that_the_command_makes(kitchen: Path):
    with of_collection(kitchen) as opened:
        frame = opened.compare("mortar-dense", "stove-rocchio", "larder-bm25", measures="nDCG@5")
    words = ("compare", "mortar-dense", "stove-rocchio", "larder-bm25", "-m", "nDCG@5", "-f", "csv")
    same(frame, call(*words, folder=kitchen.parent).out, without=ALIKE)
    assert "open" in set(frame["claim"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1}, {"seed": "x"}, {"seed": 1.5}, {"draws": 5}, {"draws": "many"}, {"alpha": "x"}, {"alpha": 1},
        {"tolerance": -1}, {"test": 5}, {"correction": 5},
        {"test": "tukey", "correction": "holm"},
    ],
)  # fmt: skip
def test_what_cannot_be_compared_by_is_an_error_of_ours(pool: Path, wrong: dict[str, object]):
    with pytest.raises(UsageError):
        of_files(pool).compare(measures="P@3", **wrong)


def test_without_verdicts_runs_are_compared_without_claims(pool: Path):
    plain = of_files(pool).compare(measures="P@3", verdicts=False)
    assert "claim" not in plain


def test_reuse_of_files_is_what_the_command_says(pool: Path):
    found = of_files(pool).reuse(measures=["P@3", "nDCG@5", "AP"])
    same(found.runs, call("reuse", *FILES, *POOL, *MEASURES, "-f", "csv", folder=pool).out)


def test_reuse_of_a_collection_is_what_the_command_says(kitchen: Path):
    with of_collection(kitchen) as opened:
        found = opened.reuse("mortar-dense", "whisk-bm25", thresholds={"caution-judged": 0.99})
    options = ("--threshold", "caution_judged=0.99", "-f", "csv")
    same(found.runs, call("reuse", "mortar-dense", "whisk-bm25", *options, folder=kitchen.parent).out)
    shown = found.thresholds.set_index("threshold")["value"]
    assert shown["caution_judged"] == 0.99


PARTS = ["collection", "hold-outs", "groups", "runs"]


@pytest.mark.parametrize("part", PARTS)
def test_every_table_of_reuse_is_a_frame(kitchen: Path, pool: Path, part: str):
    with of_collection(kitchen) as opened:
        found = opened.reuse(measures=["nDCG@5", "P@5"])
    words = ("reuse", "-m", "nDCG@5", "-m", "P@5", "--table", part, "-f", "csv")
    same(getattr(found, part.replace("-", "_")), call(*words, folder=kitchen.parent).out)
    found = of_files(pool).reuse(measures=["P@3"])
    words = ("reuse", *FILES, *POOL, "-m", "P@3", "--table", part, "-f", "csv")
    same(getattr(found, part.replace("-", "_")), call(*words, folder=pool).out)


def test_the_worst_measure_says_how_fair_the_collection_is(kitchen: Path):
    with of_collection(kitchen) as opened:
        found = opened.reuse(measures=["nDCG@5", "P@5"])
    assert found.collection["fairness"].tolist() == ["fair", "with care"]
    assert found.fairness == "with care"


def test_runs_are_described_as_the_command_does(kitchen: Path):
    with of_collection(kitchen) as opened:
        found = opened.reuse("mortar-dense", "stove-rocchio", measures="nDCG@5")
    words = ("reuse", "mortar-dense", "stove-rocchio", "-m", "nDCG@5")
    assert list(found.verdicts()) == call(*words, folder=kitchen.parent).out.splitlines()[:2]


def test_a_list_is_laid_open_as_the_command_does(kitchen: Path):
    with of_collection(kitchen) as opened:
        frame = opened.explain("T01", "mortar-dense", depth=7)
    words = ("evaluate", "--explain", "mortar-dense", "T01", "--depth", "7", "-f", "csv")
    names = ["rank", "document", "grade", "P", "R", "DCG"]
    expected = [[row[name] for name in names] for row in table(call(*words, folder=kitchen.parent).out)]
    assert [list(row.values()) for row in cells(frame, names)] == expected


@pytest.mark.parametrize("everything", [False, True])
def test_what_settles_two_runs_of_a_collection_is_what_the_command_lists(kitchen: Path, everything: bool, kept: Kept):
    with of_collection(kitchen) as opened:
        frame = opened.settle("mortar-dense", "stove-rocchio", measures=["nDCG@5", "P@5"], everything=everything)
    words = ("settle", "mortar-dense", "stove-rocchio", "-m", "nDCG@5", "-m", "P@5", "-f", "csv")
    same(frame, call(*words, *(("--all",) if everything else ()), folder=kitchen.parent).out)
    kept(frame.attrs["notes"][0])


def test_what_settles_two_files_is_what_the_command_lists(pool: Path):
    frame = of_files(pool, "r9.run", "r1.run").settle("r9", "r1", measures="P@3", everything=True)
    same(frame, call("settle", "r9.run", "r1.run", *POOL, "-m", "P@3", "--all", "-f", "csv", folder=pool).out)


@pytest.mark.parametrize("by", ["run", "group", "topic", "depth", "version", "document"])
def test_the_tables_of_a_pool_are_those_of_the_command(kitchen: Path, by: str):
    with of_collection(kitchen) as opened:
        same(opened.pool(by=by), call("pool", "show", "--by", by, "-f", "csv", folder=kitchen.parent).out)  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["overall", "pair", "topic", "confusion"])
def test_agreement_is_what_the_command_says(kitchen: Path, by: str):
    with of_collection(kitchen) as opened:
        frame = opened.agreement(by)  # type: ignore[arg-type]
    same(frame, call("judge", "agreement", "--by", by, "-f", "csv", folder=kitchen.parent).out)


def test_qrels_are_those_that_an_export_writes(kitchen: Path):
    with of_collection(kitchen) as opened:
        frame = opened.qrels()
    lines = [line.split() for line in call("qrels", "export", folder=kitchen.parent).out.splitlines()]
    assert frame.astype(str).values.tolist() == [[topic, document, grade] for topic, _, document, grade in lines]


def test_a_card_is_the_one_the_command_writes_and_stands_in_for_the_runs(pool: Path, tmp_path: Path):
    ours = of_files(pool).reuse(measures=["P@3"]).write_card(tmp_path / "card.json")
    call("reuse", *FILES, *POOL, "-m", "P@3", "--write-card", str(tmp_path / "theirs.json"), folder=pool)
    assert ours.read_text() == (tmp_path / "theirs.json").read_text()
    alone = cf.open_files(qrels=pool / "qrels", runs=pool / "r9.run", card=ours).evaluate("P@3")
    words = ("evaluate", "r9.run", "--qrels", "qrels", "--pool", str(ours), "-m", "P@3", "-f", "csv")
    same(alone, call(*words, folder=pool).out, without=("qrels", "reference", "topics"))


def test_a_report_is_the_one_the_command_writes(kitchen: Path, tmp_path: Path):
    with of_collection(kitchen) as opened:
        path = opened.report(
            tmp_path / "ours.md", measures=["nDCG@5", "P@5"], public=True, card=tmp_path / "card.json"
        )
    call("report", "-o", str(tmp_path / "theirs.md"), "-m", "nDCG@5", "-m", "P@5", "--public", folder=kitchen.parent)
    assert _dateless(path) == _dateless(tmp_path / "theirs.md")
    assert '"documents"' in (tmp_path / "card.json").read_text()


def _dateless(path: Path) -> list[str]:
    """Give the lines but those that tell the moment it was made."""
    return [
        line for line in path.read_text(encoding="utf-8").splitlines() if "2026" not in line and "UTC" not in line
    ]
