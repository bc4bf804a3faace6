"""Significance letters where there are too many runs for them."""

import csv
import io
from pathlib import Path

import pytest
from command import call

RUNS, TOPICS = 60, 40


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write runs of which each is a little worse than the one before: neighbours do not differ, distant ones do."""
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 r{topic} 1\n" for topic in range(TOPICS)))
    paths = []
    for run in range(RUNS):
        rows = []
        for topic in range(TOPICS):
            at = 1 + run // 2 + (topic * 7 + run * 5) % 11
            documents = [f"r{topic}" if rank == at else f"x{rank}" for rank in range(1, at + 1)]
            rows += [f"{topic} Q0 {one} {rank} {100 - rank} s{run}\n" for rank, one in enumerate(documents, start=1)]
        (tmp_path / f"s{run}").write_text("".join(rows))
        paths.append(f"{tmp_path / f's{run}'}")
    return ["evaluate", "--qrels", f"{tmp_path / 'qrels'}", *paths, "-m", "RR", "--no-verdict", "--letters", "t"]


def test_a_table_marks_those_level_with_the_best_and_data_has_the_letters(files: list[str]):
    ended = call(*files, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert max(len(row["letters"]) for row in rows) > 12
    best = max(rows, key=lambda row: float(row["value"]))
    level = {row["run"] for row in rows if set(row["letters"]) & set(best["letters"])}
    assert 1 < len(level) < RUNS
    ended = call(*files)
    lines = ended.out.splitlines()
    said = (
        "= not significantly different from the best; -f csv has the letters (paired t, Holm, alpha 0.05, 40 topics)"
    )
    assert lines.index(said) > max(place for place, line in enumerate(lines) if line.rstrip().endswith(" ="))
    assert {line.split()[0] for line in lines if line.rstrip().endswith(" =")} == level
