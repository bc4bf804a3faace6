"""Pieces of work are done by one process, by several, and by a cluster, with the same results."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spreading
from kept import Kept

from cranfield.base.errors import InputError, UsageError
from cranfield.base.spread import HERE, Cluster, Processes, Workers

SHARED = (np.random.default_rng(1).random(1000), "columns")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    with spreading.dask_cluster(tmp_path_factory.mktemp("dask")) as address:
        yield Cluster(address)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_are_the_same_bit_by_bit_and_in_order(count: int):
    alone = [spreading.drawn(piece, SHARED) for piece in range(20)]
    assert list(Processes(count).map(spreading.drawn, range(20), SHARED)) == alone


def test_products_of_matrices_are_those_of_one_core():
    """As from Python, where all cores are at one product unless there are more processes."""
    rng = np.random.default_rng(5)
    shared = rng.random((499, 301)), rng.random((997, 301)) - 0.5
    alone = [one.tobytes() for one in HERE.map(spreading.product, range(4), shared)]
    assert [one.tobytes() for one in Processes(2).map(spreading.product, range(4), shared)] == alone


def test_on_a_cluster_too(cluster: Cluster):
    alone = list(HERE.map(spreading.drawn, range(20), SHARED))
    assert list(cluster.map(spreading.drawn, range(20), SHARED)) == alone
    assert cluster.count == 2


def test_what_is_shared_is_mapped_and_not_copied():
    assert list(Processes(2).map(spreading.whether_writable, range(4), np.ones(10))) == [False] * 4


def test_no_process_is_begun_for_a_few_pieces():
    assert list(Processes(2).map(spreading.process, range(3), None)) == [os.getpid()] * 3
    assert os.getpid() not in Processes(2).map(spreading.process, range(4), None)


def test_processes_stay_for_the_next_job_until_they_are_let_go():
    workers = Processes(2)
    first, second = ({*workers.map(spreading.process, range(40), None)} for _ in range(2))
    assert second <= first | {process.pid for process in workers.begun._processes.values()}
    workers.close()
    assert not any(Path(f"/proc/{process}").exists() for process in first)


def test_pieces_are_begun_before_anybody_waits_for_them(tmp_path: Path):
    workers = Processes(2)
    results = workers.map(spreading.touch, range(4), tmp_path)
    deadline = time.monotonic() + 60
    while len([*tmp_path.iterdir()]) < 4:
        assert time.monotonic() < deadline, "nobody has begun"
        time.sleep(0.05)
    assert [*results] == [0, 1, 2, 3]
    workers.close()


@pytest.mark.parametrize("workers", [HERE, Processes(2)], ids=["here", "processes"])
def test_an_error_of_a_piece_is_the_error_of_the_whole(workers: Workers):
    with pytest.raises(InputError, match="the third piece is bad"):
        list(workers.map(spreading.refuse, range(10), None))


def test_on_a_cluster_an_error_is_one_too(cluster: Cluster):
    with pytest.raises(InputError, match="the third piece is bad"):
        list(cluster.map(spreading.refuse, range(10), None))


def test_a_process_that_is_killed_is_a_sentence(kept: Kept):
    with kept.raises(InputError):
        list(Processes(2).map(spreading.die, range(4), None))


def test_a_worker_of_a_cluster_that_is_killed_is_survived(tmp_path: Path):
    pytest.importorskip("distributed")
    with spreading.dask_cluster(tmp_path) as address:
        assert list(Cluster(address).map(spreading.die_once, range(40), tmp_path / "died")) == [
            piece * piece for piece in range(40)
        ]
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_scheduler_that_goes_away_is_a_sentence(tmp_path: Path, kept: Kept, caplog: Any, ending: signal.Signals):
    distributed = pytest.importorskip("distributed")
    with spreading.dask_cluster(tmp_path) as address:
        with distributed.Client(address, set_as_default=False) as client:
            scheduler = client.run_on_scheduler(os.getpid)
        workers = Cluster(address)
        results = workers.map(spreading.wait, range(4), tmp_path)
        while not (tmp_path / "0").exists():
            time.sleep(0.05)
        os.kill(scheduler, ending)
        with pytest.raises(InputError) as gone:
            list(results)
        workers.close()
    kept(re.sub(r"tcp://[\d.:]+", "ADDRESS", str(gone.value)))
    assert caplog.text == ""


def test_where_no_scheduler_answers(kept: Kept):
    pytest.importorskip("distributed")
    with kept.raises(UsageError):
        list(Cluster("tcp://127.0.0.1:9").map(spreading.drawn, range(4), SHARED))


def test_what_is_no_client_is_refused(kept: Kept):
    with kept.raises(UsageError):
        Cluster(object())


def test_a_client_that_is_there_is_used_and_left_open(cluster: Cluster):
    from distributed import Client

    with Client(cluster.where, set_as_default=False) as client:
        assert len(list(Cluster(client).map(spreading.drawn, range(4), SHARED))) == 4
        assert client.status == "running"


def test_workers_with_another_version_are_refused(tmp_path: Path, kept: Kept):
    pytest.importorskip("distributed")
    other = tmp_path / "older"
    (other / "sitecustomize.py").parent.mkdir()
    (other / "sitecustomize.py").write_text("import cranfield._version\ncranfield._version.__version__ = '0.0.9'\n")
    running = spreading.dask_cluster(tmp_path, workers=1, path=str(other))
    with running as address, pytest.raises(InputError) as refused:
        list(Cluster(address).map(spreading.drawn, range(4), SHARED))
    kept(re.sub(r"tcp://[\d.:]+", "ADDRESS", str(refused.value)))


def script(folder: Path, *lines: str) -> dict[str, Any]:
    """How to run a program of these lines, which finds the functions of these tests."""
    (folder / "program.py").write_text("\n".join(lines))
    places = os.pathsep.join([str(spreading.ROOT / "tests"), str(spreading.ROOT)])
    command = [sys.executable, str(folder / "program.py"), str(folder)]
    return {
        "args": command,
        "env": {**os.environ, "PYTHONPATH": places, "TMPDIR": str(folder)},
        "start_new_session": True,
    }


def test_a_script_is_not_run_again_by_each_worker(tmp_path: Path):
    job = "print(len(set(Processes(2).map(spreading.process, range(40), None)) - {os.getpid()}) > 0)"
    program = script(tmp_path, "import os, spreading", "from cranfield.base.spread import Processes", job)
    assert subprocess.run(**program, capture_output=True, text=True, check=False).stdout == "True\n"


def test_processes_of_the_command_line_are_copies_unless_threads_are_at_work(tmp_path: Path):
    program = script(
        tmp_path,
        "import sys, threading",
        "import numpy, spreading",
        "from cranfield.base.spread import Processes",
        "spreading.MARK = 'copied'",
        "for ended in (threading.Event(), None):",
        "    if ended: threading.Thread(target=ended.wait).start()",
        "    for ours in (False, True):",
        "        workers = Processes(2, ours=ours)",
        "        print(*set(workers.map(spreading.marked, range(4), numpy.ones(9))))",
        "        workers.close()",
        "    if ended: ended.set(); [one.join() for one in threading.enumerate() if one.name.startswith('Thread')]",
    )
    found = subprocess.run(**program, capture_output=True, text=True, check=True).stdout.splitlines()
    copied = "copied" if sys.platform == "linux" else "anew"
    assert found == ["anew", "anew", "anew", copied]


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")


@pytest.mark.parametrize(
    ("ours", "end", "ending"),
    [
        pytest.param(False, os.killpg, signal.SIGINT, id="ctrl-c in a script"),
        pytest.param(True, os.killpg, signal.SIGINT, id="ctrl-c"),
        pytest.param(True, os.kill, signal.SIGKILL, id="out of memory", marks=ON_LINUX),
    ],
)
def test_whoever_ends_a_job_ends_its_workers_too(tmp_path: Path, ours: bool, end: Any, ending: signal.Signals):
    program = script(
        tmp_path,
        "import signal, sys, pathlib",
        "signal.signal(signal.SIGINT, signal.default_int_handler)",
        "from cranfield.base.spread import Processes",
        "import spreading",
        f"list(Processes(2, ours={ours}).map(spreading.wait, range(9), pathlib.Path(sys.argv[1])))",
    )
    started = subprocess.Popen(**program, stderr=subprocess.DEVNULL)
    while not all((tmp_path / name).exists() for name in "01"):
        time.sleep(0.05)
    end(started.pid, ending)
    assert started.wait(timeout=20) != 0
    until = time.monotonic() + 5
    with suppress(ProcessLookupError):  # nobody of the session is left
        while time.monotonic() < until:
            os.killpg(started.pid, 0)
            time.sleep(0.05)
        pytest.fail("a worker goes on")
