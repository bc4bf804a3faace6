"""Wrong calls, odd places and hostile surroundings: a sentence, the right status, and nothing half done."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from kept import Kept

from cranfield.workflows.collection import init_collection, open_collection


def cranfield(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "cranfield", *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection with three documents, two topics and one run file."""
    init_collection(tmp_path / "collection.db", name="test")
    texts = {"d1": "the quick brown fox", "d2": "burnt pan, soda", "d3": "soda water über alles"}
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    (tmp_path / "t.tsv").write_text("1\tfox\n2\tsoda\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 3 a\n2 Q0 d2 1 2 a\n2 Q0 d3 2 1 a\n")
    assert cranfield(tmp_path, "corpus", "add", "d.jsonl").returncode == 0
    assert cranfield(tmp_path, "corpus", "topics", "t.tsv").returncode == 0
    return tmp_path


def stored(folder: Path, name: str) -> dict[str, object]:
    return dict(json.loads(cranfield(folder, "runs", "show", name, "-f", "json").stdout))


def test_a_topic_twice_in_a_file_is_the_same_or_a_clash(folder: Path, kept: Kept):
    (folder / "twice.tsv").write_text("7\tx\n7\tx\n")
    kept(cranfield(folder, "corpus", "topics", "twice.tsv").stderr)
    (folder / "clash.tsv").write_text("8\tx\n8\ty\n")
    refused = cranfield(folder, "corpus", "topics", "clash.tsv")
    said = "topic '8' already exists earlier in this file"
    assert (refused.returncode, said in refused.stderr) == (1, True)


def test_clashes_are_told_together_with_other_problems(folder: Path):
    (folder / "bad.jsonl").write_text('{broken\n{"id": "d1", "text": "other"}\n')
    told = cranfield(folder, "corpus", "add", "bad.jsonl").stderr
    assert "bad-json" in told
    assert "document-clash" in told


def test_an_unknown_format_is_refused_before_anything_is_stored(folder: Path, kept: Kept):
    refused = cranfield(folder, "runs", "submit", "a.run", "-f", "xml")
    assert refused.returncode == 2
    kept(refused.stderr)
    assert json.loads(cranfield(folder, "runs", "list", "-f", "json").stdout) == []


def test_options_override_what_runs_toml_says(folder: Path):
    (folder / "runs.toml").write_text('[[run]]\nfile = "a.run"\ngroup = "g"\nrole = "new"\n')
    words = ("--order", "rank", "--names", "file", "--description", "hi", "--contributing")
    assert cranfield(folder, "runs", "submit", "runs.toml", *words).returncode == 0
    facts = stored(folder, "a")
    assert (facts["ordered_by"], facts["description"], facts["group"], facts["role"]) == (
        "rank",
        "hi",
        "g",
        "contributing",
    )


def test_submitting_again_with_other_words_shows_what_is_stored_and_says_so(folder: Path, kept: Kept):
    cranfield(folder, "runs", "submit", "a.run", "--group", "g", "--new")
    again = cranfield(folder, "runs", "submit", "a.run", "--group", "h", "--contributing", "-f", "json")
    (row,) = json.loads(again.stdout)
    assert (row["group"], row["role"], row["result"]) == ("g", "new", "there already")
    kept(again.stderr)


def test_the_same_file_twice_in_one_command_is_one_run(folder: Path):
    done = cranfield(folder, "runs", "submit", "a.run", "a.run", "-f", "json")
    assert [row["result"] for row in json.loads(done.stdout)] == ["submitted", "there already"]


def test_a_single_run_can_be_named_and_is_exported_under_that_name(folder: Path):
    assert cranfield(folder, "runs", "submit", "a.run", "--name", "renamed").returncode == 0
    assert {line.split()[5] for line in cranfield(folder, "runs", "export", "renamed").stdout.splitlines()} == {
        "renamed"
    }
    assert cranfield(folder, "runs", "submit", "a.run", "a.run", "--name", "x").returncode == 2


def test_changed_documents_make_the_known_duplicates_void(folder: Path, kept: Kept):
    (folder / "p.jsonl").write_text('{"id": "p1", "text": "same words"}\n{"id": "p2", "text": "same words"}\n')
    cranfield(folder, "corpus", "add", "p.jsonl")
    kept(cranfield(folder, "corpus", "duplicates").stderr)
    kept(cranfield(folder, "corpus", "duplicates", "--stored").stderr)
    (folder / "p.jsonl").write_text('{"id": "p2", "text": "changed"}\n')
    cranfield(folder, "corpus", "add", "p.jsonl", "--update")
    kept(cranfield(folder, "corpus", "duplicates", "--stored").stderr)
    cranfield(folder, "corpus", "duplicates")
    (folder / "p.jsonl").write_text('{"id": "p3", "text": "more"}\n')
    cranfield(folder, "corpus", "add", "p.jsonl")
    kept(cranfield(folder, "corpus", "duplicates", "--stored").stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "make", "fts5", "--output", "nowhere/x.run"),
        ("runs", "export", "a", "-o", "nowhere/x.run"),
        ("demo", "d.jsonl"),
        ("backup", "nowhere/x.db"),
        ("init", "-C", "nowhere/x.db"),
        ("runs", "check", "nowhere.run"),
        ("corpus", "add", "nowhere.jsonl"),
        ("init", "--scale", "99999999999999999999=x, 0=y", "-C", "x.db"),
        ("init", "--scale", "0=no, 0=also, 1=yes", "-C", "x.db"),
        ("corpus", "duplicates", "--seed", "-1"),
        ("corpus", "duplicates", "--seed", "99999999999999999999"),
        ("runs", "submit", "a.run", "--priority", "99999999999999999999"),
        ("runs", "make", "fts5", "--tag", "../evil"),
        ("runs", "withdraw", "a"),
        ("status", "-C", "d.jsonl"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(folder: Path, words: tuple[str, ...]):
    cranfield(folder, "runs", "submit", "a.run")
    before = sorted(path.name for path in folder.iterdir() if "collection.db-" not in path.name)
    done = cranfield(folder, *words)
    assert done.returncode in (1, 2)
    assert done.stderr.strip()
    assert sorted(path.name for path in folder.iterdir() if "collection.db-" not in path.name) == before


@pytest.mark.parametrize("words", [("status",), ("corpus", "show", "d3"), ("--help",), ("runs", "list", "-f", "csv")])
def test_output_is_utf_8_whatever_the_locale(folder: Path, words: tuple[str, ...]):
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    assert cranfield(folder, *words, **plain).stdout == cranfield(folder, *words).stdout


@pytest.mark.parametrize("target", ["/dev/full", "&-"])
def test_output_that_cannot_be_written_is_no_traceback(folder: Path, target: str, kept: Kept):
    command = f"{sys.executable} -m cranfield corpus show d3 >{target}"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    kept(done.stderr)


def test_standard_output_can_be_named_by_a_dash(folder: Path):
    made = cranfield(folder, "runs", "make", "fts5", "--output", "-").stdout
    assert made.startswith("1 Q0 d1 1 ")
    assert not (folder / "-").exists()


def test_text_files_are_documents_alone_as_in_their_folder_and_unknown_formats_are_listed_once(
    folder: Path, kept: Kept
):
    (folder / "texts").mkdir()
    for name in ("a.txt", "b", "c"):
        (folder / "texts" / name).write_text("some prose\nand more\n")
    told = cranfield(folder, "corpus", "add", "texts/a.txt", "texts/b", "texts/c").stderr
    kept(told)
    kept(cranfield(folder, "corpus", "add", "texts").stderr)


def test_hints_can_be_typed_as_they_stand(folder: Path, kept: Kept):
    told = cranfield(folder, "status", "-C", "./collection.db").stderr
    kept(told.rstrip())
    (folder / "other place.db").write_bytes((folder / "collection.db").read_bytes())
    kept(cranfield(folder, "status", "-C", "other place.db").stderr)


def test_names_are_never_cut_on_a_narrow_terminal(folder: Path):
    for name in ("larder-bm25-with-a-long-name", "larder-bm25-with-a-long-name-2"):
        cranfield(folder, "runs", "submit", "a.run", "--name", name, "--group", "University of Everything")
    program = "import os, pty, sys; os.environ.update(COLUMNS='80', TERM='xterm'); pty.spawn(sys.argv[1:])"
    shown = subprocess.run(
        [sys.executable, "-c", program, sys.executable, "-m", "cranfield", "runs", "list"],
        cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    ).stdout  # fmt: skip
    assert "larder-bm25-with-a-long-name-2" in shown
    assert "…" not in shown


NOT_UTF8 = os.fsdecode(b"\xff")


@pytest.mark.parametrize(
    "words",
    [
        ("corpus", "show", NOT_UTF8),
        ("corpus", "search", NOT_UTF8 + "a"),
        ("runs", "show", NOT_UTF8),
        ("runs", "submit", "a.run", "--group", NOT_UTF8),
        ("runs", "submit", "a.run", "--description", NOT_UTF8),
        ("runs", "submit", "a.run", "--name", NOT_UTF8),
    ],
)
def test_words_that_are_not_utf_8_are_answered_with_a_sentence(folder: Path, words: tuple[str, ...]):
    done = cranfield(folder, *words)
    assert done.returncode == 1
    assert "is not UTF-8" in done.stderr or "is not a valid run name" in done.stderr
    assert json.loads(cranfield(folder, "runs", "list", "-f", "json").stdout) == []


def test_files_whose_names_are_not_utf_8_are_loaded_and_their_names_kept_with_escapes(folder: Path):
    latin = os.fsdecode(b"caf\xe9")
    (folder / f"{latin}.jsonl").write_text('{"id": "e1", "text": "x"}\n')
    (folder / f"{latin}.tsv").write_text("9\tcoffee\n")
    (folder / f"{latin}.run").write_bytes((folder / "a.run").read_bytes())
    assert cranfield(folder, "corpus", "add", f"{latin}.jsonl").returncode == 0
    assert cranfield(folder, "corpus", "topics", f"{latin}.tsv").returncode == 0
    assert cranfield(folder, "runs", "submit", f"{latin}.run").returncode == 0
    assert stored(folder, "a")["file"] == "caf\\xe9.run"
    with open_collection(folder / "collection.db") as store:
        names = [name for (name,) in store.rows("SELECT name FROM sources ORDER BY number")]
    assert names == ["d.jsonl", "t.tsv", "caf\\xe9.jsonl", "caf\\xe9.tsv"]


def test_a_clash_says_what_it_is_and_with_what(folder: Path, kept: Kept):
    (folder / "clash.jsonl").write_text(
        '{broken\n{"id": "n", "text": "1"}\n{"id": "n", "text": "2"}\n{"id": "d1", "text": "3"}\n'
    )
    told = cranfield(folder, "corpus", "add", "clash.jsonl").stderr
    kept(told)


def test_a_taken_name_is_answered_with_names_file_and_without_a_repair(folder: Path, kept: Kept):
    cranfield(folder, "runs", "submit", "a.run")
    (folder / "b.run").write_text("1 Q0 d1 1 9 a\n")
    refused = cranfield(folder, "runs", "submit", "b.run")
    assert (refused.returncode, "--names file" in refused.stderr, "--repair" in refused.stderr) == (1, True, False)
    (folder / "c.run").write_text("1 Q0 d1 1 9 c\n1 Q0 d1 2 8 c\n")
    kept(cranfield(folder, "runs", "submit", "c.run").stderr)


def test_a_withdrawn_run_is_still_shown_and_exported_and_said_to_be_withdrawn(folder: Path, kept: Kept):
    cranfield(folder, "runs", "submit", "a.run")
    before = cranfield(folder, "runs", "export", "a").stdout
    cranfield(folder, "runs", "withdraw", "a", "--because", "a bug")
    shown, written = cranfield(folder, "runs", "show", "a", "-f", "json"), cranfield(folder, "runs", "export", "a")
    assert json.loads(shown.stdout)["because"] == "a bug"
    kept(shown.stderr)
    assert (written.returncode, written.stdout) == (0, before)
    kept(written.stderr)
    assert cranfield(folder, "runs", "show", "b").returncode == 2


def test_a_run_without_a_group_is_said_to_be_a_group_of_its_own(folder: Path, kept: Kept):
    said = "no --group, so each run is its own group: a"
    assert said in cranfield(folder, "runs", "submit", "a.run").stderr
    (folder / "b.run").write_text("1 Q0 d1 1 9 b\n")
    kept(cranfield(folder, "runs", "submit", "b.run", "--group", "g").stderr)


def test_line_ends_in_a_snippet_become_blanks(folder: Path, kept: Kept):
    (folder / "lines.jsonl").write_text(json.dumps({"id": "l", "text": "one\ntwo\tthree\r\nfour"}))
    cranfield(folder, "corpus", "add", "lines.jsonl")
    (hit,) = json.loads(cranfield(folder, "corpus", "search", "two", "-f", "json").stdout)
    assert hit["snippet"] == "one two three four"
    kept(cranfield(folder, "corpus", "search", "two").stdout)


def test_odd_files_and_settings_are_answered_with_a_sentence(folder: Path, kept: Kept):
    (folder / "wide.txt").write_bytes(b"h\0i\0")
    (folder / "deep.toml").write_text("a = " + "[" * 5_000 + "]" * 5_000)
    with closing(sqlite3.connect(folder / "collection.db")) as file:
        file.execute("INSERT INTO settings VALUES ('merge_rule', '[5]'), ('licence', '{}')")
        file.execute("UPDATE settings SET value = '[1]' WHERE name = 'name'")
        file.commit()
    for words in (
        ("corpus", "add", "wide.txt", "--encoding", "utf-16"),
        ("corpus", "add", ""),
        ("judge", "--plain", "-a", ""),
        ("init", "-C", "new.db", "--scale", "deep.toml"),
        ("runs", "submit", "deep.toml"),
        ("runs", "make", "bm25", "--output", "/"),
        ("status",),
        ("qrels", "licence"),
        ("qrels", "export"),
    ):
        done = cranfield(folder, *words)
        assert done.returncode in (1, 2), words
        kept(done.stderr)
    assert not (folder / "new.db").exists()


def test_an_error_that_nobody_foresaw_is_one_sentence_and_a_log(folder: Path):
    (folder / "sitecustomize.py").write_text(
        "import cranfield.workflows.status as module\n"
        "def broken(*_, **__): raise ZeroDivisionError('by hand')\n"
        "module.status = broken\n"
    )
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = cranfield(folder, "status", PYTHONPATH=path, TMPDIR=str(folder))
    assert done.returncode == 70
    assert done.stderr.count("\n") == 1
    (log,) = folder.glob("cranfield-*.log")
    assert str(log) in done.stderr
    assert "ZeroDivisionError: by hand" in log.read_text()
