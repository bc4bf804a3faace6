"""Sets of runs as Parquet: one file or a folder stands for all of its runs, wherever runs are named."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from command import call
from kept import Kept

import cranfield as cf
from cranfield.evaluate import direct

KITCHEN = Path(__file__).parents[2] / "collections/kitchen"
RUNS = sorted((KITCHEN / "runs").glob("*.run"))[:4]
QRELS = KITCHEN / "qrels.txt"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    call("runs", "pack", *RUNS, "-o", "runs.parquet", folder=tmp_path)
    return tmp_path / "runs.parquet"


def evaluated(runs: object) -> pd.DataFrame:
    with cf.open_files(qrels=QRELS, runs=runs, progress=False) as files:
        return files.evaluate("AP P@5", by_topic=True, verdicts=False)


def same_scores(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Compare scores of the same runs, in whatever order the runs are."""
    frames = [frame.sort_values(["run", "topic", "measure"], ignore_index=True) for frame in (one, other)]
    pd.testing.assert_frame_equal(*frames, check_exact=True)


def test_a_folder_of_run_files_is_packed_into_one_file(tmp_path: Path, kept: Kept):
    kept(call("runs", "pack", KITCHEN / "runs", "-o", "all.parquet", folder=tmp_path).err)
    frame = pd.read_parquet(tmp_path / "all.parquet")
    assert list(frame.columns) == ["run", "topic", "document", "rank", "score"]
    assert frame["run"].nunique() == len(list((KITCHEN / "runs").glob("*.run")))
    call("runs", "pack", KITCHEN / "runs", "-o", "all.parquet", status=2, folder=tmp_path)


def test_a_set_is_evaluated_as_its_files_are_the_short_way(packed: Path, monkeypatch: pytest.MonkeyPatch):
    ways = []
    read = direct.read_direct
    monkeypatch.setattr(direct, "read_direct", lambda *words, **more: ways.append(read(*words, **more)) or ways[-1])
    pd.testing.assert_frame_equal(evaluated(packed), evaluated(RUNS), check_exact=True)
    assert all(way is not None for way in ways), "a run took the long way"


@pytest.mark.parametrize("command", ["evaluate", "compare", "reuse", "simulate"])
def test_every_command_takes_a_set_and_single_runs_of_it(packed: Path, command: str):
    first, second = (f"{packed}#{run.stem}" for run in RUNS[:2])
    words = (command, "--qrels", QRELS)
    whole = call(*words, *RUNS, "-f", "csv", folder=packed.parent).out
    assert call(*words, packed, "-f", "csv", folder=packed.parent).out == whole
    two = call(*words, *RUNS[:2], "-f", "csv", folder=packed.parent).out
    assert call(*words, first, second, "-f", "csv", folder=packed.parent).out == two


def test_a_set_in_another_order_with_other_names_gives_the_same_scores(packed: Path, tmp_path: Path):
    """As pandas and PyTerrier write it: shuffled rows, qid, docno and name, in one file or in folders by run."""
    frame = pd.read_parquet(packed).sample(frac=1, random_state=1)
    frame = frame.rename(columns={"run": "name", "topic": "qid", "document": "docno"})
    frame.to_parquet(tmp_path / "mixed.parquet")
    frame.to_parquet(tmp_path / "folders", partition_cols=["name"])
    for made in ("mixed.parquet", "folders"):
        same_scores(evaluated(tmp_path / made), evaluated(RUNS))


def test_folders_by_topic_keep_ids_that_look_like_numbers(tmp_path: Path):
    frame = pd.DataFrame(
        {"run": ["a", "a", "b"], "topic": ["007", "8", "007"], "document": ["x", "y", "x"], "score": [2.0, 1.0, 3.0]}
    )
    frame.to_parquet(tmp_path / "by-topic", partition_cols=["topic"])
    qrels = pd.DataFrame({"topic": ["007", "8"], "document": ["x", "y"], "grade": [1, 1]})
    with cf.open_files(qrels=qrels, runs=tmp_path / "by-topic", progress=False) as files:
        found = files.evaluate("AP", verdicts=False)
    assert found[["run", "value"]].values.tolist() == [["a", 1.0], ["b", 0.5]]


def test_each_file_of_a_set_keeps_the_types_that_it_has(tmp_path: Path):
    """The topics 7 of pandas' integers and 007 of its text are two, and scores are not rounded to those of others."""
    first = {"run": [1, 1], "topic": [7, 8], "document": ["x", "y"], "score": np.array([1, 2], np.float32)}
    second = {"run": ["b", "b", "01"], "topic": ["007", "007", "8"], "document": ["x", "y", "y"]}
    pd.DataFrame(first).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({**second, "score": [1 + 1e-12, 1, 2]}).to_parquet(tmp_path / "2.parquet")
    qrels = pd.DataFrame({"topic": ["7", "8", "007"], "document": ["x", "y", "x"], "grade": [1, 1, 1]})
    for verdicts in (True, False):
        with cf.open_files(qrels=qrels, runs=tmp_path, progress=False) as files:
            found = files.evaluate("AP", by_topic=True, verdicts=verdicts)
        one = found.loc[found["topic"] != "all"].pivot(index="run", columns="topic", values="value")
        assert one.loc[["1", "b", "01"], ["7", "8", "007"]].values.tolist() == [[1, 1, 0], [0, 0, 1], [0, 1, 0]]


def test_a_set_is_packed_again_with_the_columns_of_pyterrier(packed: Path, tmp_path: Path):
    call("runs", "pack", packed, "-o", "terrier.parquet", "--columns", "pyterrier", folder=tmp_path)
    frame = pd.read_parquet(tmp_path / "terrier.parquet")
    assert list(frame.columns) == ["name", "qid", "docno", "rank", "score"]
    assert frame["rank"].min() == 0
    pd.testing.assert_frame_equal(evaluated(tmp_path / "terrier.parquet"), evaluated(RUNS), check_exact=True)


def test_the_runs_of_a_set_are_checked_and_submitted_one_by_one(packed: Path, tmp_path: Path):
    call("init", "kitchen", folder=tmp_path)
    call("runs", "check", packed, folder=tmp_path)
    call("runs", "submit", packed, folder=tmp_path)
    submitted = pd.read_csv(pd.io.common.StringIO(call("runs", "list", "-f", "csv", folder=tmp_path).out))
    assert set(submitted["run"]) == {run.stem for run in RUNS}
    again = call("runs", "submit", *RUNS, "-f", "csv", folder=tmp_path).out
    assert again.count("there already") == len(RUNS)


def test_no_row_group_has_rows_of_two_runs(packed: Path):
    facts = pyarrow.parquet.ParquetFile(packed).metadata
    for number in range(facts.num_row_groups):
        known = facts.row_group(number).column(0).statistics
        assert known.min == known.max


def test_what_is_wrong_with_a_set_is_one_sentence(packed: Path, tmp_path: Path, kept: Kept):
    table = pyarrow.parquet.read_table(packed)
    nameless = table.set_column(0, "run", pa.array([None] * 3 + ["a"] * (len(table) - 3), pa.string()))
    pyarrow.parquet.write_table(nameless, tmp_path / "nameless.parquet")
    (tmp_path / "broken.parquet").write_bytes(packed.read_bytes()[:2000])
    (tmp_path / "empty").mkdir()
    nameless.to_pandas().to_parquet(tmp_path / "by-run", partition_cols=["run"])
    for word in ("nameless.parquet", "by-run", "broken.parquet", "runs.parquet#nobody", "gone.parquet#a", "empty"):
        kept(call("evaluate", "--qrels", QRELS, word, status=1, folder=tmp_path).err)


def test_files_with_errors_are_not_packed(tmp_path: Path, kept: Kept):
    (tmp_path / "bad.run").write_text("T01 Q0 K001 1\n")
    (tmp_path / "same.run").write_text(RUNS[0].read_text())
    kept(call("runs", "pack", RUNS[0], "bad.run", "same.run", "-o", "set.parquet", status=1, folder=tmp_path).err)
    assert not (tmp_path / "set.parquet").exists()


def test_a_set_that_would_grow_is_refused_before_its_names_are_read(tmp_path: Path, kept: Kept):
    """Names and ids of a thousand letters, each repeated: 30 million rows are 250 KB."""
    rows = 10_000_000
    codes = pa.array(np.arange(rows) == rows - 1).cast(pa.int32())
    columns = {
        name: pa.DictionaryArray.from_arrays(codes, [f"{name}{'x' * 1000}", "y"])
        for name in ("run", "topic", "document")
    }
    table = pa.table({**columns, "score": np.zeros(rows)})
    options = {"write_statistics": False, "store_schema": False}
    with pyarrow.parquet.ParquetWriter(tmp_path / "bomb.parquet", table.schema, **options) as writer:
        for _ in range(3):
            writer.write_table(table, row_group_size=rows)
    (tmp_path / "qrels").write_text("1 0 d 1\n")
    for command in ("runs check bomb.parquet", "evaluate --qrels qrels bomb.parquet", "runs check bomb.parquet#y"):
        kept(call(*command.split(), folder=tmp_path, status=1).err)


@pytest.mark.parametrize(
    "names",
    [
        pa.array([{"x": "a"}, {"x": "b"}]),
        pa.array([["a"], ["b"]]),
        pa.array([b"a\xff", b"b"]),
        pa.array(["a", None]),
        pa.array([1.5, float("nan")]),
        pa.array(["https://127.0.0.1:9/x#../../etc.parquet#x", "\x1b[2J\n"]),
        pa.array(["../other.parquet#a", "/#"]),
    ],
    ids=["struct", "list", "bytes", "null", "float", "url", "path"],
)
def test_hostile_names_of_runs_lead_nowhere(tmp_path: Path, kept: Kept, names: pa.Array):
    table = pa.table({"run": names, "topic": ["1", "1"], "document": ["d", "e"], "score": [1.0, 2.0]})
    pyarrow.parquet.write_table(table, tmp_path / "set.parquet")
    ended = call("runs", "check", "set.parquet", folder=tmp_path, status=1)
    assert "\x1b" not in ended.err
    kept(ended.err)


def test_a_column_that_is_there_twice_is_a_sentence(tmp_path: Path, kept: Kept):
    columns = {"run": ["a"], "topic": ["1"], "document": ["d"], "score": [1.0]}
    table = pa.table([*columns.values(), ["b"]], names=[*columns, "run"])
    pyarrow.parquet.write_table(table, tmp_path / "set.parquet")
    kept(call("runs", "check", "set.parquet", folder=tmp_path, status=1).err)


def test_a_folder_of_sets_has_no_link_to_another(packed: Path, tmp_path: Path, kept: Kept):
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets/all.parquet").symlink_to(packed)
    kept(call("runs", "check", "sets", folder=tmp_path, status=1).err)
