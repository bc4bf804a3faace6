"""The command line from documents to submitted runs, as a user would type it."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import Ended, call
from kept import Kept

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"


class Shell:
    """A folder to type commands in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: object, status: int = 0) -> Ended:
        return call(*words, folder=self.folder, status=status)

    def process(self, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in a process of its own."""
        command = [sys.executable, "-m", "cranfield", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, input=typed)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def kitchen(shell: Shell) -> Shell:
    shell("init", "kitchen", "--scale", KITCHEN / "scale.toml", "--guidelines", KITCHEN / "guidelines.md")
    shell("corpus", "add", KITCHEN / "documents.jsonl")
    shell("corpus", "topics", KITCHEN / "topics.trec")
    return shell


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_way_from_documents_to_submitted_runs(kitchen: Shell, kept: Kept):
    kept(kitchen("runs", "make", "fts5", "--tag", "mine", "--depth", "30").err)
    kept(kitchen("runs", "make", "fts5", "--tag", "long", "--field", "title", "--field", "description").err)
    kept(kitchen("runs", "check", "mine.run", KITCHEN / "runs.toml").err)
    checked = kitchen("runs", "check", "mine.run", KITCHEN / "runs.toml", "--format", "jsonl")
    assert {json.loads(line)["severity"] for line in checked.out.splitlines()} <= {"warning"}
    kitchen("runs", "submit", "mine.run", "--group", "us", "--family", "lexical", "--new")
    submitted = kitchen("runs", "submit", KITCHEN / "runs.toml", "--format", "csv")
    assert [row["result"] for row in rows(submitted.out)] == ["submitted"] * 11
    status = {row["fact"]: row["value"] for row in rows(kitchen("status", "--format", "csv").out)}
    assert status["documents"] == "240"
    assert (status["runs"], status["contributing runs"], status["groups"]) == ("12", "9", "9")
    assert "sound" in kitchen("check").out


def test_submitting_twice_does_nothing_and_says_so(kitchen: Shell, kept: Kept):
    kitchen("runs", "submit", KITCHEN / "runs.toml")
    again = kitchen("runs", "submit", KITCHEN / "runs.toml", "--format", "csv")
    assert {row["result"] for row in rows(again.out)} == {"there already"}
    kept(again.err)
    assert len(rows(kitchen("runs", "list", "--format", "csv").out)) == 11


def test_one_bad_run_keeps_all_of_a_command_out(kitchen: Shell, kept: Kept):
    (kitchen.folder / "bad.run").write_text("T01 Q0 K001 1 2.5 bad\nT99 Q0 K001 1 x bad\nT01 Q0 K001 2 2.5 bad\n")
    refused = kitchen("runs", "submit", KITCHEN / "runs.toml", "bad.run", status=1)
    kept(refused.err)
    assert kitchen("runs", "list", "--format", "csv").out.count("\n") == 1


def test_export_gives_an_equivalent_file(kitchen: Shell, kept: Kept):
    kitchen("runs", "submit", KITCHEN / "runs" / "trivet-lsa.run")
    kitchen("runs", "export", "trivet-lsa", "-o", "again.run")
    original = [line.split() for line in (KITCHEN / "runs" / "trivet-lsa.run").read_text().splitlines()]
    exported = [line.split() for line in (kitchen.folder / "again.run").read_text().splitlines()]
    assert [(row[0], row[2], float(row[4]), row[5]) for row in exported] == [
        (row[0], row[2], float(row[4]), row[5]) for row in original
    ]
    kept(kitchen("runs", "submit", "again.run", "--format", "csv").out)


def test_a_withdrawn_run_stays_in_the_history_and_its_name_is_free(kitchen: Shell, kept: Kept):
    run = KITCHEN / "runs" / "trivet-lsa.run"
    kitchen("runs", "submit", run)
    kitchen("runs", "withdraw", "trivet-lsa", "--because", "wrong index")
    assert rows(kitchen("runs", "list", "--format", "csv").out) == []
    gone = rows(kitchen("runs", "list", "--withdrawn", "--format", "csv").out)
    assert [(row["run"], row["because"]) for row in gone] == [("trivet-lsa", "wrong index")]
    kept(kitchen("runs", "show", "trivet-lsa").err)
    kitchen("runs", "submit", run)
    assert len(rows(kitchen("runs", "list", "--withdrawn", "--format", "csv").out)) == 2
    kitchen("check")


def test_the_same_content_under_another_name_is_kept_with_a_warning(kitchen: Shell, kept: Kept):
    run = KITCHEN / "runs" / "trivet-lsa.run"
    (kitchen.folder / "copy.run").write_text(run.read_text().replace("trivet-lsa", "copycat"))
    kitchen("runs", "submit", run)
    kept(kitchen("runs", "submit", "copy.run").err)
    kept(kitchen("runs", "show", "copycat").err)


def test_two_files_with_one_tag_are_told_apart_by_their_names(kitchen: Shell, kept: Kept):
    for name, system in (("a.run", "fts5"), ("b.run", "tfidf")):
        kitchen("runs", "make", system, "--tag", "same", "--output", name)
    refused = kitchen("runs", "submit", "a.run", "b.run", status=1)
    kept(refused.err)
    kitchen("runs", "submit", "a.run", "b.run", "--names", "file")
    assert [row["run"] for row in rows(kitchen("runs", "list", "--format", "csv").out)] == ["a", "b"]


def test_repair_writes_a_copy_that_is_accepted(kitchen: Shell, kept: Kept):
    (kitchen.folder / "bad.run").write_text(
        "T01 Q0 K001 1 2.5 bad extra\nT01 Q0 K002 2 1.5 bad\nT01 Q0 K001 3 0.5 bad\nT01 Q0 K003 4\n"
    )
    repaired = kitchen("runs", "check", "bad.run", "--repair", "mended")
    assert (kitchen.folder / "mended" / "bad.run").read_text() == "T01 Q0 K001 1 2.5 bad\nT01 Q0 K002 2 1.5 bad\n"
    kept(repaired.err)
    kitchen("runs", "submit", "mended/bad.run")


def test_the_order_a_run_means_is_kept_with_it(kitchen: Shell):
    (kitchen.folder / "ranks.run").write_text("T01 Q0 K001 2 9 r\nT01 Q0 K002 1 1 r\n")
    kitchen("runs", "submit", "ranks.run", "--order", "rank")
    exported = kitchen("runs", "export", "r").out.splitlines()
    assert [line.split()[2] for line in exported] == ["K002", "K001"]
    assert {row["fact"]: row["value"] for row in rows(kitchen("runs", "show", "r", "--format", "csv").out)}[
        "ordered by"
    ] == "rank"


def test_documents_and_topics_of_a_collection_are_checked_against_runs(kitchen: Shell):
    (kitchen.folder / "alien.run").write_text("T01 Q0 K001 1 2 a\nT01 Q0 clueweb 2 1 a\nX9 Q0 K001 1 1 a\n")
    checked = kitchen("runs", "check", "alien.run", "--format", "jsonl", status=1)
    found = {json.loads(line)["code"]: json.loads(line) for line in checked.out.splitlines()}
    assert {"unknown-document", "unknown-topic", "missing-topic"} <= set(found)
    assert found["unknown-document"]["lines"] == [2]
    assert found["unknown-topic"]["lines"] == [3]


def test_runs_are_checked_without_a_collection_too(shell: Shell):
    (shell.folder / "x.run").write_text("1 Q0 a 1 nan t\n1 Q0 b 2 inf t\n")
    checked = shell("runs", "check", "x.run", "--format", "csv", status=1)
    assert {row["code"] for row in rows(checked.out)} >= {"score-nan", "score-infinite"}


def test_files_are_compared_with_each_other_without_a_collection_too(shell: Shell):
    for name, tag in (("a.run", "same"), ("b.run", "same"), ("c.run", "other")):
        score = 3 if name == "b.run" else 2
        (shell.folder / name).write_text(f"1 Q0 a 1 {score} {tag}\n1 Q0 b 2 1 {tag}\n")
    checked = shell("runs", "check", "a.run", "b.run", "c.run", "--format", "csv", status=1)
    found = [(row["file"], row["code"]) for row in rows(checked.out)]
    assert found.count(("a.run", "taken-tag")) == found.count(("b.run", "taken-tag")) == 1
    (shell.folder / "b.run").unlink()
    checked = shell("runs", "check", "a.run", "c.run", "--format", "csv")
    assert [(row["file"], row["code"]) for row in rows(checked.out)] == [("c.run", "identical-run")]


def test_a_bad_document_file_leaves_nothing_behind_unless_asked_to_keep_going(shell: Shell, kept: Kept):
    shell("init")
    (shell.folder / "d.jsonl").write_text('{"id": "a", "text": "one"}\n{broken\n{"id": "b", "text": "two"}\n')
    refused = shell("corpus", "add", "d.jsonl", status=1)
    kept(refused.err)
    assert rows(shell("corpus", "show", "--format", "csv").out) == []
    going = shell("corpus", "add", "d.jsonl", "--keep-going", status=1)
    kept(going.err)
    assert [row["document"] for row in rows(shell("corpus", "show", "--format", "csv").out)] == ["a", "b"]


def test_documents_can_come_through_a_pipe(shell: Shell):
    shell("init")
    assert shell.process("corpus", "add", "-", typed='{"id": "a", "text": "one"}\n').returncode == 0
    assert "one" in shell("corpus", "show", "a").out


def test_the_same_file_again_adds_nothing_and_changed_documents_need_a_word(shell: Shell, kept: Kept):
    shell("init")
    file = shell.folder / "d.jsonl"
    file.write_text('{"id": "a", "text": "one"}\n')
    shell("corpus", "add", file)
    kept(shell("corpus", "add", file).err)
    file.write_text('{"id": "a", "text": "changed"}\n')
    kept(shell("corpus", "add", file, status=1).err)
    kept(shell("corpus", "add", file, "--update").err)
    assert "changed" in shell("corpus", "show", "a").out
    shell("check")


def test_escape_sequences_in_a_document_never_reach_the_terminal(shell: Shell):
    shell("init")
    (shell.folder / "d.jsonl").write_text(
        json.dumps({"id": "a", "title": "\x1b[31mred", "text": "bell\x07 \u202eevil"})
    )
    shell("corpus", "add", "d.jsonl")
    for words in (("corpus", "show", "a"), ("corpus", "show"), ("corpus", "search", "bell")):
        shown = shell(*words).out
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
        assert "␛[31mred" in shown


@pytest.mark.parametrize(
    "words", [("status",), ("init", "--scale", "binry"), ("init", "--scale", "0=no, x"), ("runs", "make", "bm52")]
)
def test_a_wrong_call_is_answered_with_a_sentence(shell: Shell, words: tuple[str, ...], kept: Kept):
    done = shell.process(*words)
    assert done.returncode in (1, 2)
    kept(done.stderr)


def test_an_unknown_system_and_a_wrong_option_are_answered_with_the_nearest(kitchen: Shell, kept: Kept):
    kept(kitchen("runs", "make", "bm52", status=2).err)
    kept(kitchen("runs", "make", "bm25", "-s", "k2=3", status=2).err)


def test_output_that_nobody_reads_is_no_error(kitchen: Shell, kept: Kept):
    command = f"{sys.executable} -m cranfield corpus topics --format jsonl | head -n 1"
    done = subprocess.run(command, shell=True, cwd=kitchen.folder, capture_output=True, text=True)
    assert json.loads(done.stdout)["topic"] == "T01"
    kept(done.stderr)


def test_a_live_collection_is_backed_up(kitchen: Shell, kept: Kept):
    kitchen("backup", "copy.db")
    assert "240" in kitchen("status", "-C", "copy.db").out
    kept(kitchen("backup", "copy.db", status=1).err)


def test_the_demonstration_runs_and_leaves_a_folder_in_use_as_it_is(
    shell: Shell, kept: Kept, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")  # else it says how to find the command
    told = shell("demo", "here")
    kept(told.err)
    before = {path: path.read_bytes() for path in (shell.folder / "here").iterdir()}
    kept(shell("demo", "here").err.splitlines()[0])
    assert {path: path.read_bytes() for path in (shell.folder / "here").iterdir()} == before
    assert (shell.folder / "here-2" / "report.html").is_file()
    kept(shell("demo", ".", status=2).err)


def test_a_run_file_is_overwritten_only_where_that_is_asked_for(kitchen: Shell, kept: Kept):
    kitchen("runs", "make", "fts5", "-o", "-")
    kitchen("runs", "make", "fts5")
    before = (kitchen.folder / "fts5.run").read_text()
    told = kitchen("runs", "make", "fts5", "--depth", "1", status=2).err
    kept(told)
    assert (kitchen.folder / "fts5.run").read_text() == before
    kitchen("runs", "make", "fts5", "--depth", "1", "--replace")
    assert len((kitchen.folder / "fts5.run").read_text().splitlines()) == 15


def test_a_single_file_in_another_encoding_joins_the_others_of_its_folder(shell: Shell, kept: Kept):
    shell("init", "bikes")
    (shell.folder / "bikes").mkdir()
    (shell.folder / "bikes" / "velo.txt").write_bytes("un vélo".encode("latin-1"))
    (shell.folder / "bikes" / "cafe.txt").write_text("un café", encoding="utf-8")
    told = shell("corpus", "add", "bikes", "--keep-going", status=1).err
    kept(told)
    kept(shell("corpus", "add", "bikes/velo.txt", "--encoding", "latin-1").err)
    assert {row["document"]: row["text"] for row in rows(shell("corpus", "show", "-f", "csv").out)} == {
        "cafe.txt": "un café",
        "velo.txt": "un vélo",
    }


def test_a_title_that_the_text_begins_with_is_shown_once_and_a_long_one_is_cut_in_lists(shell: Shell):
    shell("init", "texts")
    (shell.folder / "texts").mkdir()
    (shell.folder / "texts" / "a.txt").write_text("word " * 60 + "\n\nrest")
    shell("corpus", "add", "texts")
    assert shell("corpus", "show", "a.txt").out == f"a.txt\n\n{('word ' * 60).strip()}\n\nrest\n"
    found = shell("corpus", "search", "rest").out.splitlines()[2]
    assert found.split()[:2] == ["a.txt", "0.00"]
    assert f" {('word ' * 60)[:39]}… " in found
    assert "[rest]" in found


def test_the_usage_of_withdraw_shows_that_a_reason_is_needed(shell: Shell):
    assert shell("runs", "withdraw", "--help").out.startswith(
        "Usage: cranfield runs withdraw --because TEXT [OPTIONS] "
    )


def test_risks_of_the_library_are_told_by_check_and_where_several_are_to_judge_and_not_by_status(
    kitchen: Shell, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    monkeypatch.setattr("cranfield.store.files.SQLITE_VERSION", "3.40.1")
    monkeypatch.setattr("cranfield.store.files.file_system_of", lambda path: "nfs")
    kept(kitchen("check").err)
    kept(kitchen("judge", "assign", "ann").err + kitchen("judge", "assign", "ann", "ben", "--again").err)
    told = kitchen("status").err
    assert ("WAL-reset bug" in told, "is on a network file system (nfs)" in told) == (False, True)


def test_a_search_finds_other_forms_of_an_english_word(shell: Shell):
    shell("init", "forms")
    (shell.folder / "a.tsv").write_text("d1\tTwo punctures in a day\nd2\tbread\n")
    shell("corpus", "add", "a.tsv")
    assert [row["document"] for row in rows(shell("corpus", "search", "puncture", "-f", "csv").out)] == ["d1"]
