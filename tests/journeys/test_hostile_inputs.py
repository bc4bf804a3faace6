"""Files with bytes changed and tampered collections end in a result or a sentence, in time, within a limit of memory.

What is tried is in `tests/hostile.py`; here it runs in a process of its own, which has the limits.
"""

import bz2
import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from command import call
from kept import Kept

HOSTILE = Path(__file__).parents[1] / "hostile.py"
MEMORY = 3 << 30


def tried(what: str, count: int, seed: int) -> None:
    words = [sys.executable, "-W", "ignore", str(HOSTILE), what, str(count), str(seed)]
    ended = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-5000:]
    print(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_three_hundred_changed_inputs():
    tried("inputs", 300, 1)


@pytest.mark.slow
def test_eight_tampered_collections():
    tried("files", 8, 1)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(4))
def test_a_hundred_thousand_changed_inputs(part: int):
    tried("inputs", 25_000, 100 + part)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(2))
def test_two_hundred_tampered_collections(part: int):
    tried("files", 100, 200 + part)


EXPLODING = {
    "newlines": b"\n",
    "one-line": b"x",
    "bad-rows": b"x\n",
    "rows": b"1 Q0 d 1 1 t\n",
    "cells": b"a,b,1\r\n",
    "nested": b"[",
    "comments": b"#\n",
    "nuls": b"\0",
    "documents": b"<DOC>\n",
    "objects": b"{}\n",
}
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress}


def exploding() -> list[object]:
    """Each content in each compression, some of them in the ordinary run, all in the long one."""
    quick = {("newlines", "bz2"), ("rows", "zst"), ("nested", "gz")}
    pairs = [(content, packer) for content in EXPLODING for packer in PACKERS]
    return [pytest.param(*pair, marks=pytest.mark.slow if pair in quick else pytest.mark.soak) for pair in pairs]


@pytest.mark.parametrize(("content", "packer"), exploding())
@pytest.mark.timeout(1800)
def test_a_small_file_of_a_gigabyte_ends_in_a_sentence_within_three_gigabytes(
    tmp_path: Path, content: str, packer: str
):
    one = EXPLODING[content]
    member = PACKERS[packer](one * ((32 << 20) // len(one)))
    (tmp_path / "bomb").write_bytes(member * 32)
    (tmp_path / "qrels").write_text("1 0 d 1\n")
    (tmp_path / "run").write_text("1 Q0 d 1 1 t\n")
    call("init", "-C", "c.db", folder=tmp_path)
    commands = (
        ["evaluate", "--qrels", "bomb", "run"],
        ["runs", "check", "bomb"],
        ["corpus", "add", "bomb", "-C", "c.db"],
    )
    for words in commands:
        ended = subprocess.run(
            [sys.executable, "-m", "cranfield", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        assert (ended.returncode, "memory" in ended.stderr) == (1, False), ended.stderr[-2000:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bomb", "c.db", "qrels", "run"]


def test_a_file_of_errors_is_not_read_to_its_end_unless_that_is_wanted(tmp_path: Path):
    (tmp_path / "bad.jsonl").write_text("{}\n" * 150_000)
    call("init", "-C", "c.db", folder=tmp_path)
    assert "101,000 errors" in call("corpus", "add", "bad.jsonl", "-C", "c.db", folder=tmp_path, status=1).err
    going = call("corpus", "add", "bad.jsonl", "--keep-going", "-C", "c.db", folder=tmp_path, status=1)
    assert "150,000 errors" in going.err


@pytest.mark.parametrize(
    "command",
    [
        "evaluate --qrels /dev/zero run",
        "evaluate --qrels qrels /dev/urandom",
        "runs check /dev/zero",
        "corpus add /dev/zero -C c.db",
        "corpus topics /dev/urandom -C c.db",
        "judge import /dev/zero -C c.db",
        "reuse --qrels qrels run --groups /dev/zero",
        "reuse --qrels qrels run --pool /dev/zero",
        "evaluate --qrels qrels run --duplicates /dev/zero",
        "trec-eval qrels /dev/zero",
        "init -C new.db --guidelines /dev/zero",
        "status -C /dev/zero",
        "judge merge /dev/zero -C c.db",
        "restore /dev/zero -C c.db",
    ],
)
def test_a_device_is_no_file_for_any_command(tmp_path: Path, kept: Kept, command: str):
    (tmp_path / "qrels").write_text("1 0 d 1\n")
    (tmp_path / "run").write_text("1 Q0 d 1 1 t\n")
    call("init", "-C", "c.db", folder=tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "cranfield", *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode in (1, 2)
    kept(ended.stderr)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.db", "qrels", "run"]


@pytest.mark.parametrize(
    "text",
    ["x = " + "9" * 20_000, "a = " + "[" * 50_000, "a" + ".a" * 20_000 + " = 1", "a = 1\n" * 200_000],
    ids=["digits", "nested", "dotted", "long"],
)
def test_hostile_settings_are_a_sentence(tmp_path: Path, kept: Kept, text: str):
    (tmp_path / "scale.toml").write_text(text)
    kept(call("init", "-C", "c.db", "--scale", "scale.toml", folder=tmp_path, status=1).err)
    assert [path.name for path in tmp_path.iterdir()] == ["scale.toml"]


@pytest.mark.parametrize(
    "command",
    [
        "runs submit run --list runs.tsv",
        "qrels export --as-of DIGITS",
        "simulate --budgets DIGITS --plan depth-5",
        "init -C new.db --scale 0=a,DIGITS=b",
        "evaluate --qrels qrels run -m P@DIGITS -m P(rel=DIGITS) -m nDCG(gains={DIGITS:1}) -m ndcg.DIGITS=1",
        "evaluate --qrels qrels run -m P_DIGITS",
        "trec-eval -l DIGITS -m P.DIGITS -m ndcg.DIGITS=1 qrels run",
    ],
)
@pytest.mark.parametrize("count", [400, 5000])
def test_numbers_without_end_are_a_sentence(tmp_path: Path, command: str, count: int):
    (tmp_path / "qrels").write_text("1 0 d 1\n")
    (tmp_path / "run").write_text("1 Q0 d 1 1 t\n")
    (tmp_path / "runs.tsv").write_text(f"tag\tteam\tpriority\nt\tx\t{'9' * count}\n")
    call("init", "-C", "c.db", folder=tmp_path)
    collection = () if "-C" in command or "--qrels" in command or "trec" in command else ("-C", "c.db")
    words = [word.replace("DIGITS", "9" * count) for word in command.split()]
    assert call(*words, *collection, folder=tmp_path, status=None).status in (0, 1, 2)
