"""A full disk is called a full disk, leaves nothing half written, and a sound file that is read-only stays sound."""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.base.errors import CranfieldError
from cranfield.base.writing import whole_file


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    call("demo", "made", folder=folder)
    return folder / "made" / "collection.db"


@pytest.fixture
def full(tmp_path: Path, demo: Path):
    """A disk of its own with a collection on it, and no room for anything more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=1300k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("a disk can be mounted only by root")
    try:
        shutil.copy(demo, disk / "c.db")
        with contextlib.suppress(OSError), (disk / "filling").open("wb", buffering=0) as filling:
            while True:
                filling.write(bytes(4096))
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


COMMANDS = (
    "report -C {demo} -o r.html",
    "report -C c.db -o r.html",
    "runs export larder-bm25 -C {demo} -o x.run",
    "reuse -C {demo} --write-card card.json",
    "backup b.db -C {demo}",
    "init -C new.db",
    "judge --plain -a ana -C c.db",
    "qrels release again -C c.db",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_called_a_full_disk_and_nothing_is_left_on_it(
    full: Path, demo: Path, kept: Kept, command: str
):
    ended = call(*command.format(demo=demo).split(), folder=full, status=1)
    kept([line for line in ended.err.splitlines() if line.startswith("cranfield: ")])
    assert [path.name for path in full.iterdir() if not path.name.startswith("c.db")] == ["filling"]


def test_standard_output_that_is_full_is_said(demo: Path, kept: Kept):
    with Path("/dev/full").open("w") as output:
        words = [sys.executable, "-m", "cranfield", "runs", "list", "-C", str(demo)]
        ended = subprocess.run(words, stdout=output, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    kept([line for line in ended.stderr.splitlines() if line.startswith("cranfield: ")])


def test_a_file_that_finds_no_room_is_not_there_at_all(tmp_path: Path, kept: Kept):
    with kept.raises(CranfieldError), whole_file(tmp_path / "a"), Path("/dev/full").open("wb", buffering=0) as stream:
        stream.write(b"no room")
    assert list(tmp_path.iterdir()) == []


def test_a_sound_file_on_a_read_only_disk_is_sound(tmp_path: Path, demo: Path, kept: Kept):
    shutil.copy(demo, tmp_path / "c.db")
    (tmp_path / "c.db").chmod(0o444)
    binding = ["mount", "--bind", str(tmp_path), str(tmp_path)]
    if not shutil.which("mount") or subprocess.run(binding, capture_output=True).returncode:
        pytest.skip("a folder can be made read-only only by root")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(tmp_path)], check=True)
        kept(call("check", "-C", "c.db", folder=tmp_path).out)
        kept(call("judge", "--plain", "-a", "ana", "-C", "c.db", folder=tmp_path, status=1).err)
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


@pytest.mark.parametrize("name", [b"caf\xe9\n", bytes(3 << 20), b"", b"\xff" * 90])
def test_a_remembered_name_that_is_no_name_is_a_sentence(
    tmp_path: Path, demo: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch, name: bytes
):
    (tmp_path / "cranfield").mkdir()
    (tmp_path / "cranfield" / "assessor").write_bytes(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CRANFIELD_ASSESSOR", raising=False)
    ended = call("judge", "--plain", "-C", demo, status=2, answers="")
    kept([line[:60] for line in ended.err.splitlines() if line.startswith("cranfield: ")])


EMPTY = (
    "corpus add ''",
    "corpus topics ''",
    "runs submit ''",
    "judge -a ''",
    "judge assign ''",
    "qrels release ''",
    "report -o ''",
    "backup ''",
    "evaluate --qrels '' x",
    "pool build --name ''",
    "init -C ''",
    "runs submit x --group ''",
    "runs submit x --group=",
)


@pytest.mark.parametrize("command", EMPTY)
def test_an_empty_word_is_refused_everywhere(tmp_path: Path, kept: Kept, command: str):
    for empty in ("", " "):
        words = [empty if word == "''" else word + empty if word[-1] == "=" else word for word in command.split()]
        kept(call(*words, folder=tmp_path, status=2, answers="").err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["judge --plain", "judge adjudicate --plain"])
def test_a_blank_name_is_refused_and_is_not_the_remembered_one(
    tmp_path: Path, demo: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch, command: str
):
    (tmp_path / "cranfield").mkdir()
    (tmp_path / "cranfield" / "assessor").write_text("Ada")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    kept(call(*command.split(), "-a", "  ", "-C", demo, status=2, answers="").err)


def test_a_collection_with_a_blank_name_is_refused(tmp_path: Path, kept: Kept):
    kept(call("init", " ", folder=tmp_path, status=2).err)
    assert list(tmp_path.iterdir()) == []
