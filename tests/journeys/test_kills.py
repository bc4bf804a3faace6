"""Killed at any moment: the file is sound afterwards, nothing is half there, and the command can be repeated."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import HEARS_CTRL_C
from kept import Kept

from cranfield.store import documents, runs
from cranfield.store.store import open_store
from cranfield.workflows.check import check
from cranfield.workflows.collection import init_collection

KILLS = 1_000 if os.environ.get("CRANFIELD_SOAK") else 6
DOCUMENTS = 12_000
RUNS = 12


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of documents and some runs over them, large enough to be killed in the middle."""
    folder = tmp_path_factory.mktemp("material")
    draw = random.Random(1)
    words = [f"word{number}" for number in range(2_000)]
    with (folder / "documents.jsonl").open("w") as stream:
        for number in range(DOCUMENTS):
            stream.write(json.dumps({"id": f"d{number}", "text": " ".join(draw.choices(words, k=60))}) + "\n")
    for run in range(RUNS):
        with (folder / f"r{run}.run").open("w") as stream:
            for topic in range(40):
                for rank, document in enumerate(draw.sample(range(DOCUMENTS), 500), start=1):
                    stream.write(f"{topic} Q0 d{document} {rank} {1000 - rank} r{run}\n")
    return folder


def killed(words: list[str], after: float) -> bool:
    """Run a command and kill it after some seconds; say whether it was still running."""
    command = [sys.executable, "-m", "cranfield", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(after)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True


def seconds_for(words: list[str]) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "cranfield", *words], check=True, capture_output=True)
    return time.monotonic() - started


def assert_sound(path: Path) -> None:
    with open_store(path) as store:
        assert [finding.wrong for finding in check(store).findings if finding.wrong] == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_killed_while_adding_documents(material: Path, tmp_path: Path):
    whole = tmp_path / "whole.db"
    init_collection(whole, name="whole")
    needed = seconds_for(["corpus", "add", str(material / "documents.jsonl"), "-C", str(whole)])
    draw, hits = random.Random(2), 0
    for attempt in range(KILLS):
        path = tmp_path / f"{attempt}.db"
        init_collection(path, name="test")
        words = ["corpus", "add", str(material / "documents.jsonl"), "-C", str(path)]
        hit = killed(words, draw.uniform(0.3, 1.0) * needed)
        hits, needed = hits + hit, needed if hit else needed * 0.8
        assert_sound(path)
        with open_store(path) as store:
            assert documents.count(store) in (0, DOCUMENTS)
        if attempt == 0:
            seconds_for(words)
            with open_store(path) as store:
                assert documents.count(store) == DOCUMENTS
            assert_sound(path)
        path.unlink()
    assert hits


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_killed_while_submitting_runs(material: Path, tmp_path: Path):
    files = [str(material / f"r{run}.run") for run in range(RUNS)]
    whole = tmp_path / "whole.db"
    init_collection(whole, name="whole")
    needed = seconds_for(["runs", "submit", *files, "-C", str(whole)])
    draw, hits = random.Random(3), 0
    for attempt in range(KILLS):
        path = tmp_path / f"{attempt}.db"
        init_collection(path, name="test")
        words = ["runs", "submit", *files, "-C", str(path)]
        hit = killed(words, draw.uniform(0.3, 1.0) * needed)
        hits, needed = hits + hit, needed if hit else needed * 0.8
        assert_sound(path)
        with open_store(path) as store:
            assert len(runs.facts(store)) in (0, RUNS)
        if attempt == 0:
            seconds_for(words)
            with open_store(path) as store:
                assert len(runs.facts(store)) == RUNS
            assert_sound(path)
    assert hits


def test_ctrl_c_leaves_nothing_half_done(material: Path, tmp_path: Path, kept: Kept):
    path = tmp_path / "c.db"
    init_collection(path, name="test")
    command = [sys.executable, "-m", "cranfield", "corpus", "add", str(material / "documents.jsonl"), "-C", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=HEARS_CTRL_C)
    while not path.with_name("c.db-wal").exists() or path.with_name("c.db-wal").stat().st_size < 100_000:
        assert process.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130
    kept(told)
    assert_sound(path)
    with open_store(path) as store:
        assert documents.count(store) == 0
