"""Every kind of large job gives the same, bit by bit, by one process, two, five, and on a Dask cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import spreading
from command import call

import cranfield as cf
from cranfield.base import spread
from cranfield.compare import comparison
from cranfield.evaluate import reading
from cranfield.reuse import hold_out
from cranfield.simulate import study

KITCHEN = spreading.ROOT / "collections/kitchen"
RUNS = [str(path) for path in sorted((KITCHEN / "runs").glob("*.run"))]
ROLES = {Path(word).stem: Path(word).stem.partition("-")[0] for word in RUNS if "mortar" not in word}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the small jobs of these tests as if they were large."""
    monkeypatch.setattr(reading, "READ_AT_ONCE", 1)
    monkeypatch.setattr(reading, "MANY", spread.WORTH)
    monkeypatch.setattr(comparison, "DRAWN_AT_ONCE", 1)
    monkeypatch.setattr(hold_out, "SCORED_AT_ONCE", 1)
    monkeypatch.setattr(study, "REPLAYED", 1)
    monkeypatch.setattr(study, "TOPICS_AT_ONCE", 4)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("distributed")
    with spreading.dask_cluster(tmp_path_factory.mktemp("dask")) as address:
        yield address


def evaluated(files: Any) -> pd.DataFrame:
    return files.evaluate("AP P@5", by_topic=True)


def scored(files: Any) -> pd.DataFrame:
    found = files.evaluate("AP P@5", by_topic=True, verdicts=False)
    assert files.results._read is None, "of each run only its scores are kept"
    return found


def compared(files: Any) -> pd.DataFrame:
    return files.compare(measures="nDCG@5", test="randomisation", draws=200)


def reused(files: Any) -> pd.DataFrame:
    return files.reuse(measures="P@5").groups


def simulated(files: Any) -> pd.DataFrame:
    plans = ("depth 3", "mtf until 4", "sample 5", "thompson until 5")
    return files.simulate(*plans, measures="AP", seed=3)


def simulated_at_budgets(files: Any) -> pd.DataFrame:
    plans = ("take", "mtf", "sample 5", "thompson", "mtf-global budget 60 across topics", "depth 1; max-mean")
    return files.simulate(*plans, budgets=[60, 100, 130], measures="AP", seed=3)


JOBS = [evaluated, scored, compared, reused, simulated, simulated_at_budgets]


def done(job: Any, **workers: Any) -> pd.DataFrame:
    opened = {"qrels": KITCHEN / "qrels.txt", "runs": RUNS, "groups": ROLES, "pool_depth": 5, "progress": False}
    with cf.open_files(**opened, **workers) as files:
        return job(files)


@pytest.mark.parametrize("job", JOBS)
def test_any_number_of_processes_gives_the_same(job: Any, monkeypatch: pytest.MonkeyPatch):
    begun = []
    write = spread._write
    monkeypatch.setattr(spread, "_write", lambda shared, path: begun.append(shared) or write(shared, path))
    alone = done(job)
    assert not begun
    for count in (2, 5):
        pd.testing.assert_frame_equal(done(job, jobs=count), alone, check_exact=True)
    assert len(begun) >= 2, "nothing was spread"


@pytest.mark.parametrize("job", JOBS)
def test_a_cluster_gives_the_same(job: Any, cluster: str):
    pd.testing.assert_frame_equal(done(job, cluster=cluster), done(job), check_exact=True)


def test_commands_take_both_options(tmp_path: Path, cluster: str):
    words = ("compare", "--qrels", str(KITCHEN / "qrels.txt"), *RUNS, "-m", "P@5", "--test", "randomisation")
    alone = call(*words, "-f", "csv", "--jobs", "1", folder=tmp_path).out
    assert call(*words, "-f", "csv", "--jobs", "2", folder=tmp_path).out == alone
    assert call(*words, "-f", "csv", "--cluster", cluster, folder=tmp_path).out == alone


def test_a_file_with_errors_is_named_as_if_it_had_been_read_here(tmp_path: Path):
    bad = tmp_path / "bad.run"
    bad.write_text("T01 Q0 K001 1\n")
    words = ("evaluate", "--qrels", str(KITCHEN / "qrels.txt"), *RUNS, str(bad))
    alone = call(*words, "--jobs", "1", status=1, folder=tmp_path).err
    assert call(*words, "--jobs", "2", status=1, folder=tmp_path).err == alone
