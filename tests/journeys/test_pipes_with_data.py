"""What comes through pipes is read once, whoever needs it how often: commands say the same as of files."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

RUNS = {"one": "abcdef", "two": "bacxyz", "three": "cabxde"}
TOPICS = [f"{number}" for number in range(8)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    grades = {"a": 1, "b": 0, "c": 1, "d": 0}
    lines = [f"{topic} 0 {document} {grade}\n" for topic in TOPICS for document, grade in grades.items()]
    (tmp_path / "qrels").write_text("".join(lines))
    (tmp_path / "topics").write_text("\n".join(TOPICS[:5]))
    for name, ranking in RUNS.items():
        turned = [ranking[int(topic) % 3 :] + ranking[: int(topic) % 3] for topic in TOPICS]
        lines = [
            f"{topic} Q0 {document} {place} {-place} {name}\n"
            for topic, documents in zip(TOPICS, turned, strict=True)
            for place, document in enumerate(documents, start=1)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return tmp_path


def called(folder: Path, *words: str, piped: str = "") -> str:
    command = [sys.executable, "-m", "cranfield", *words, "-m", "P@3", "-f", "csv"]
    given = (folder / piped).read_text() if piped else None
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, input=given, timeout=100)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


PAIR = ["--qrels", "qrels", "one.run", "two.run"]


@pytest.mark.parametrize(
    ("words", "piped"),
    [
        (["compare", *PAIR], "one.run"),
        (["compare", *PAIR], "qrels"),
        (["compare", *PAIR, "--topics", "topics"], "topics"),
        (["evaluate", *PAIR], "one.run"),
        (["settle", *PAIR], "one.run"),
        (["reuse", *PAIR], "one.run"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_pipe_says_what_the_file_says(folder: Path, words: list[str], piped: str):
    with_pipe = ["-" if word == piped else word for word in words]
    assert called(folder, *with_pipe, piped=piped) == called(folder, *words)


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_pipes_that_one_process_fills_in_turns_do_not_wait_for_each_other(folder: Path, command: str):
    names = ["first", "second", "third"]
    for name in names:
        os.mkfifo(folder / name)
    texts = [(folder / f"{run}.run").read_bytes() for run in RUNS]

    def fill() -> None:
        streams = [(folder / name).open("wb") for name in names]
        for start in range(0, max(map(len, texts)), 16):
            for stream, text in zip(streams, texts, strict=True):
                stream.write(text[start : start + 16])
                stream.flush()
        for stream in streams:
            stream.close()

    filling = threading.Thread(target=fill, daemon=True)
    filling.start()
    piped = called(folder, command, "--qrels", "qrels", *names)
    assert piped == called(folder, command, "--qrels", "qrels", *(f"{run}.run" for run in RUNS))


def test_a_piped_run_that_is_called_like_a_stored_one_is_called_given(folder: Path):
    for words in (["init"], ["runs", "submit", "one.run", "two.run"]):
        subprocess.run([sys.executable, "-m", "cranfield", *words], cwd=folder, check=True, capture_output=True)
    words = ["compare", "-C", "collection.db", "--qrels", "qrels", "-", "one"]
    assert "one (given),one," in called(folder, *words, piped="one.run")
