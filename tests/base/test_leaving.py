"""The command leaves quickly, and leaves nothing behind or undone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

QRELS = "1 0 a 1\n1 0 b 0\n"
RUN = "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"


def called(folder, *words, **options):
    command = [sys.executable, "-m", "cranfield", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **options)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return tmp_path


def test_what_came_through_a_pipe_is_removed_from_the_disk(folder):
    room = folder / "room"
    room.mkdir()
    words = ["evaluate", "--qrels", "qrels", "-", "-m", "AP", "--no-verdict", "-f", "csv"]
    shown = called(folder, *words, input=RUN, env={**os.environ, "TMPDIR": str(room)})
    assert (shown.returncode, shown.stdout.splitlines()[-1].split(",")[:1]) == (0, ["t"]), shown
    assert list(room.iterdir()) == []


def test_the_status_says_what_happened(folder):
    assert called(folder, "evaluate", "--qrels", "qrels", "run", "--no-verdict").returncode == 0
    assert called(folder, "evaluate", "--qrels", "qrels", "nowhere", "--no-verdict").returncode == 1
    assert called(folder, "evaluate", "--no-such-option").returncode == 2


def test_a_long_table_arrives_whole_in_a_pipe(folder):
    topics = range(20_000)
    (folder / "qrels").write_text("".join(f"{topic} 0 a 1\n" for topic in topics))
    (folder / "run").write_text("".join(f"{topic} Q0 a 1 1 t\n" for topic in topics))
    words = ["evaluate", "--qrels", "qrels", "run", "-m", "AP", "--by-topic", "--no-verdict", "-f", "jsonl"]
    shown = called(folder, *words)
    assert len([line for line in shown.stdout.splitlines() if '"AP"' in line]) >= len(topics)
    assert shown.stdout.endswith("}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_disk_that_is_full_is_no_success(folder):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "cranfield", "evaluate", "--qrels", "qrels", "run", "--no-verdict"]
        status = subprocess.run(command, cwd=folder, stdout=full, stderr=subprocess.PIPE).returncode
    assert status != 0
