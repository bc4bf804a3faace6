"""`runs watch`: runs are checked as they arrive, and each gets a report beside it."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from command import HEARS_CTRL_C, call
from kept import Kept

from cranfield.workflows.runs.runs import Arrivals

GOOD = "1 Q0 d1 1 2.5 one\n1 Q0 d2 2 1.5 one\n"
BAD = "1 Q0 d1 1 2.5 two\n1 Q0 d1 2 high two\n"


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    """A folder with a good and a bad run of some time ago, and files that are no runs."""
    folder = tmp_path / "uploads"
    for name, text in {
        "larder/one.run": GOOD,
        "mortar/two.run": BAD,
        "README.md": "# Runs\n",
        ".git/config": "x\n",
        "mortar/three.run.part": "1 Q0 d",
    }.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        os.utime(place, (1, 1))
    return folder


def reports(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.report.txt"))


def test_each_run_gets_a_report_and_errors_give_the_status(uploads: Path, tmp_path: Path, kept: Kept):
    kept(call("runs", "watch", "uploads", "--once", folder=tmp_path, status=1).err)
    assert reports(uploads) == ["larder/one.run.report.txt", "mortar/two.run.report.txt"]
    kept((uploads / "mortar/two.run.report.txt").read_text("utf-8"))


def test_a_run_without_errors_is_not_checked_again_until_it_changes_and_errors_stay_errors(
    uploads: Path, tmp_path: Path, kept: Kept
):
    call("runs", "watch", "uploads", "--once", folder=tmp_path, status=1)
    kept(call("runs", "watch", "uploads", "--once", folder=tmp_path, status=1).err)
    (uploads / "mortar" / "two.run").write_text(GOOD.replace("one", "two"), "utf-8")
    kept(call("runs", "watch", "uploads", "--once", "--every", "0.1", folder=tmp_path).err)


def test_a_run_that_comes_back_is_checked_again(uploads: Path, tmp_path: Path):
    arrivals, run, away = Arrivals(uploads / "larder", 0), uploads / "larder/one.run", tmp_path / "away.run"
    found = [len([*arrivals.look()])]
    for old, new in ((run, away), (away, run)):
        old.rename(new)
        found.append(len([*arrivals.look()]))
    assert found == [1, 0, 1]


def test_runs_are_checked_against_the_collection(uploads: Path, tmp_path: Path):
    call("init", folder=tmp_path)
    (tmp_path / "topics.tsv").write_text("7\twings\n", "utf-8")
    call("corpus", "topics", "topics.tsv", folder=tmp_path)
    call("runs", "watch", "uploads", "--once", folder=tmp_path, status=1)
    assert "unknown-topic" in (uploads / "larder/one.run.report.txt").read_text("utf-8")


def test_an_upload_is_waited_for(uploads: Path, tmp_path: Path):
    """A file that grows is checked when it has stopped: never the beginning of it."""

    def upload() -> None:
        with (uploads / "slow.run").open("w", encoding="utf-8") as stream:
            for rank in range(1, 8):
                stream.write(f"1 Q0 d{rank} {rank} {9 - rank} slow")
                stream.flush()
                time.sleep(0.2)
                stream.write("\n")

    sender = threading.Thread(target=upload)
    sender.start()
    time.sleep(0.1)
    call("runs", "watch", "uploads", "--once", "--every", "0.5", folder=tmp_path, status=1)
    sender.join()
    first, *_ = (uploads / "slow.run.report.txt").read_text("utf-8").splitlines()
    assert first == "uploads/slow.run: 0 errors, 0 warnings"


def test_ctrl_c_ends_it_and_leaves_whole_reports(uploads: Path, tmp_path: Path, kept: Kept):
    command = [sys.executable, "-m", "cranfield", "runs", "watch", "uploads", "--every", "0.1"]
    program = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=HEARS_CTRL_C)
    waited = time.monotonic()
    while len(reports(uploads)) < 2 and time.monotonic() - waited < 60:
        time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    said = program.communicate(timeout=60)[1]
    kept(said)
    assert program.returncode == 0


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, kept: Kept):
    kept(call("runs", "watch", "nowhere", "--once", folder=tmp_path, status=1).err)


def test_what_senders_put_beside_their_runs_leads_nowhere(uploads: Path, tmp_path: Path, kept: Kept):
    """Links out of the folder, folders and huge files in the place of reports, names like those of data sets."""
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret of the organisers\n", "utf-8")
    (uploads / "link.run").symlink_to(secret)
    (uploads / "irds:vaswani").write_text(GOOD, "utf-8")
    (uploads / "bad.parquet").write_bytes(b"PAR1" + bytes(50) + b"PAR1")
    (uploads / "larder/one.run.report.txt").symlink_to(secret)
    (uploads / "mortar/two.run.report.txt").mkdir()
    with (uploads / "irds:vaswani.report.txt").open("wb") as file:
        file.truncate(1 << 40)
    ended = call("runs", "watch", ".", "--once", "--every", "0.1", folder=uploads, status=1)
    kept(ended.err)
    assert reports(uploads) == [
        "bad.parquet.report.txt",
        "irds:vaswani.report.txt",
        "larder/one.run.report.txt",
        "mortar/two.run.report.txt",
    ]
    assert secret.read_text("utf-8") == "a secret of the organisers\n"
    assert not any("secret" in file.read_text() for file in uploads.rglob("*.report.txt") if file.is_file())
