"""The generator that benchmarks stand on."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cranfield.base.files import Source
from cranfield.runs.check import Expectations, check
from cranfield.runs.reading import read_rows
from cranfield.runs.run import ranked

ROOT = Path(__file__).parents[2]


@pytest.fixture
def generate(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    import benchmarks.generate

    return benchmarks.generate


def written(generate, folder: Path, **options: object) -> dict[str, bytes]:
    generate.write_collection(generate.Shape(**options), folder)
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*")) if path.is_file()
    }


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(generate, tmp_path):
    shape = {"topics": 3, "documents": 20, "ids": 500, "runs": 4, "groups": 2, "pool_depth": 5}
    one, two = (written(generate, tmp_path / name, **shape) for name in "ab")
    other = written(generate, tmp_path / "c", **shape, seed=2)
    assert one == two
    assert sorted(one) == sorted(other)
    assert all(one[name] != other[name] for name in one if name != "groups.tsv")


def test_runs_are_clean_and_have_the_shape_asked_for(generate, tmp_path):
    written(generate, tmp_path, topics=300, documents=7, ids=100, runs=2, groups=2, pool_depth=3)
    for path in sorted((tmp_path / "runs").iterdir()):
        rows = read_rows(Source(path))
        assert [found for found in check(rows, Expectations()) if found.severity == "error"] == []
        run = ranked(rows)
        assert (len(run.topic_ids), run.row_count, max(np.diff(run.offsets)), run.tag) == (300, 2100, 7, path.stem)


def test_qrels_judge_just_the_pool_and_runs_of_a_group_are_alike(generate, tmp_path):
    options = {
        "topics": 20,
        "documents": 50,
        "ids": 5000,
        "runs": 4,
        "groups": 2,
        "pooled_groups": 1,
        "pool_depth": 10,
    }
    written(generate, tmp_path, **options, similarity=0.95)
    tops = {}
    for path in sorted((tmp_path / "runs").iterdir()):
        run = ranked(read_rows(Source(path)))
        tops[path.stem] = {(topic, document) for topic, documents, _ in run for document in documents[:10]}
    judged = [line.split() for line in (tmp_path / "qrels.txt").read_text().splitlines()]
    assert {(topic, document) for topic, _, document, _ in judged} == tops["run000"] | tops["run002"]
    assert {grade for *_, grade in judged} == {"0", "1", "2", "3"}
    assert len(tops["run000"] & tops["run002"]) > 1.5 * len(tops["run000"] & tops["run001"])
    assert (tmp_path / "groups.tsv").read_text().splitlines()[:2] == [
        "run000\tgroup000\tpooled",
        "run001\tgroup001\tnew",
    ]
