"""Ctrl-C while a command starts, or waits for a pipe that nobody writes into: it ends at once, and leaves nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from command import HEARS_CTRL_C, IGNORES_CTRL_C

PATIENCE = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    (tmp_path / "room").mkdir()
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


waiting_is_seen = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="nobody can see here whether a process waits"
)


@waiting_is_seen
@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "--qrels", "qrels", "-"],
        ["evaluate", "--qrels", "-", "run"],
        ["evaluate", "--qrels", "qrels", "run", "fifo"],
        ["compare", "--qrels", "qrels", "-", "run"],
        ["runs", "check", "-"],
        ["trec-eval", "qrels", "-"],
    ],
    ids=" ".join,
)
def test_ctrl_c_ends_a_command_that_waits_for_a_pipe(folder: Path, words: list[str]):
    with _started(folder, words, HEARS_CTRL_C) as process:
        _wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        _, told = _ended(process)
    assert process.returncode == 130, told
    assert b"interrupted" in told
    assert b"Traceback" not in told
    assert list((folder / "room").iterdir()) == []


@waiting_is_seen
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_command_from_outside_leaves_no_copy_of_a_pipe(folder: Path, ending: signal.Signals):
    hears_it = partial(signal.signal, ending, signal.SIG_DFL)  # which nohup would keep from it
    with _started(folder, ["runs", "check", "-"], hears_it) as process:
        process.stdin.write(b"1 Q0 a 1 2 t\n" * 100_000)
        _wait_until_it_reads(process.pid)
        process.send_signal(ending)
        _, told = _ended(process)
    assert process.returncode == 128 + ending, told
    assert b"Traceback" not in told
    assert list((folder / "room").iterdir()) == []


@waiting_is_seen
def test_a_command_in_the_background_of_a_script_goes_on_after_ctrl_c(folder: Path):
    with _started(folder, ["evaluate", "--qrels", "qrels", "-", "-m", "P@1"], IGNORES_CTRL_C) as process:
        _wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate((folder / "run").read_bytes(), timeout=PATIENCE)
    assert process.returncode == 0, told
    assert b"1.0000" in shown


def test_ctrl_c_during_the_first_imports_ends_the_command_silently(tmp_path: Path):
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ended = subprocess.run(
        [sys.executable, "-m", "cranfield", "--version"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        preexec_fn=HEARS_CTRL_C,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


def _started(folder: Path, words: list[str], first: Callable[[], object]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "cranfield", *words],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "room")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=first,
    )


def _ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Wait for the end without closing the pipe, which would end the waiting too."""
    stdin, process.stdin = process.stdin, None
    try:
        return process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        stdin.close()


def _wait_until_it_reads(process: int) -> None:
    """Wait until nothing happens any more: a process that uses no time waits for somebody."""
    before, still = -1.0, 0
    for _ in range(PATIENCE * 10):
        time.sleep(0.1)
        used = sum(map(int, Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        still = still + 1 if used == before else 0
        if still >= 5 and used:
            return
        before = used
    pytest.fail("it never waited")
