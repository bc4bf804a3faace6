"""How commands are typed: the examples of the help, where options may stand, plans without quotes, completion."""

import csv
import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from command import Terminal, call
from kept import Kept

from cranfield.cli import console, main

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
INTERACTIVE = {
    "judge",
    "judge --assessor Ann --topic T01",
    "judge try T15",
    "judge try T15 --accept",
    "judge adjudicate",
}
EXAMPLES = [line for _, one in main.declared() for line in one.examples]
RUN = sorted({line for line in EXAMPLES if line.split()[0] not in ("demo", "datasette")} - INTERACTIVE)
JUDGE = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"topic": asked["topic"]["id"], "document": asked["document"]["id"], "grade": 1}), flush=True)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection that is judged and released, among the files that examples name."""
    folder = tmp_path_factory.mktemp("made")
    for name in ("documents.jsonl", "topics.trec", "guidelines.md", "scale.toml", "runs.toml", "judgments.csv"):
        shutil.copy(KITCHEN / name, folder)
    shutil.copytree(KITCHEN / "runs", folder / "runs")
    (folder / "texts").mkdir()
    (folder / "backups").mkdir()
    (folder / "texts" / "pans.md").write_text("# Pans\n\nKeep them dry.\n")
    (folder / "judge.py").write_text(JUDGE)
    (folder / "judge.py").chmod(0o755)
    for file, run in (("bm25.run", "larder-bm25"), ("dense.run", "mortar-dense")):
        text = (KITCHEN / "runs" / f"{run}.run").read_text()
        (folder / file).write_text(text.replace(run, file.removesuffix(".run")))
    lines = """
        init kitchen --scale scale.toml
        corpus add documents.jsonl
        corpus topics topics.trec
        runs submit bm25.run --group larder
        runs submit dense.run --new
        runs submit runs/stove-tfidf.run --group stove
        runs submit runs/ladle-rm3.run --group ladle
        pool build depth 10 --name first
        corpus duplicates
        judge import judgments.csv
        qrels release first
        qrels export first -o qrels.txt
        settle bm25 dense --queue settle
        runs submit runs/trivet-lsa.run --group trivet
        judge packet Ben -o ben.db --days 0
        backup backup.db
        backup recipes.db
        backup recovered.db
    """
    for line in lines.strip().splitlines():
        call(*shlex.split(line), folder=folder)
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the folder in which commands run."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("line", RUN)
def test_an_example_of_the_help_runs_as_it_stands(here: Path, line: str, monkeypatch: pytest.MonkeyPatch):
    words = shlex.split(line)
    if words[0] == "init":
        for file in here.glob("*.db"):
            file.unlink()
    if "-o" in words:
        Path(words[words.index("-o") + 1]).unlink(missing_ok=True)
    monkeypatch.setenv("CRANFIELD_ASSESSOR", "Ann")
    call(*words, answers="q\n")


@pytest.mark.parametrize("line", ["-C recipes.db {}", "{} -C recipes.db", "--collection=recipes.db {}"])
def test_the_collection_may_be_named_before_the_command_or_after_it(here: Path, line: str):
    (here / "collection.db").unlink()
    for command in ("status -f json", "judge progress -f json", "pool show -f json"):
        assert json.loads(call(*shlex.split(line.format(command))).out)
    assert json.loads(call("judge", "-C", "recipes.db", "progress", "-f", "json").out)


def test_the_collection_nearest_to_the_command_counts_and_any_of_them_more_than_the_environment(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CRANFIELD_COLLECTION", "nowhere.db")
    call("-C", "recipes.db", "status")
    call("-C", "nowhere.db", "status", "-C", "recipes.db")
    assert "nowhere.db" in call("status", status=1).err
    assert "-C recipes.db" in call("-C", "recipes.db", "status").err  # what is typed next


def test_a_bundle_that_is_not_there_is_named(here: Path, kept: Kept):
    (here / "collection.db").unlink()
    kept(call("evaluate", "bundel", "bm25.run", status=2).err.partition("Invalid value: ")[2])
    call("init")
    kept(call("evaluate", "bundel", "bm25.run", status=2).err)


def test_a_word_that_an_option_does_not_know_is_told_without_the_words_of_a_library(here: Path):
    told = call("evaluate", "--ties", "none", status=2).err  # the sentence is typer's, and varies
    assert ("'none'" in told, "Value error" in told) == (True, False)


def test_a_plan_needs_no_quotes(here: Path):
    call("pool", "build", "depth", "2", "--name", "bare")
    call("pool", "build", "depth 2", "--name", "quoted")
    shown = [call("pool", "show", "--name", name, "--by", "document", "-f", "csv").out for name in ("bare", "quoted")]
    assert shown[0] == shown[1]


COLOURS = {"UNRELIABLE": "\x1b[31m", "PROVISIONAL": "\x1b[33m", "CAUTION": "\x1b[33m", "POOLED": "\x1b[32m"}


def test_verdicts_have_a_colour_on_a_terminal_and_nowhere_else(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    words = ("evaluate", "-m", "P@5")
    shown = call(*words, terminal=True).out
    seen = {word for word, colour in COLOURS.items() if f"{colour}{word}" in shown}
    assert seen == {word for word in COLOURS if word in shown} != set()
    assert "\x1b[" not in call(*words).out + call(*words, "-f", "markdown", terminal=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert not [colour for colour in COLOURS.values() if colour in call(*words, terminal=True).out]


@pytest.mark.parametrize("line", ["measures infNDCG", "tests randomisation"])
def test_sentences_are_folded_between_words_on_a_terminal(here: Path, line: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "70")
    whole, folded = call(*line.split()).out, call(*line.split(), terminal=True).out
    assert max(map(len, whole.splitlines())) > 70 >= max(map(len, folded.splitlines()))
    assert folded.split() == whole.split()


def test_a_command_to_type_next_is_one_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    console.say("next: judge what is left of the queue: cranfield judge --queue left -C there.db")
    *sentence, command = shown.getvalue().splitlines()
    assert (len(sentence), command) == (2, "  cranfield judge --queue left -C there.db")


def test_reuse_of_a_run_begins_with_the_verdict_on_it(here: Path, kept: Kept):
    kept(call("reuse", "dense", "-m", "P@5", "-m", "AP").out.splitlines()[:3])


def measures(*words: object) -> set[str]:
    return {row["measure"] for row in csv.DictReader(call(*words, "-f", "csv").out.splitlines())}


@pytest.mark.parametrize(
    ("plan", "cutoff"),
    [
        ("depth 5", 5),
        ("depth 3; sample 10% ranks=4-20", 3),
        ("depth 12", 10),
        ("depth 5; rrf until 12; cap 12", 10),
        ("depth 5 by=group", 10),
        ("rrf until 8", 10),
    ],
)
def test_without_measures_scores_go_to_the_depth_of_a_shallower_pool(here: Path, plan: str, cutoff: int):
    call("pool", "build", plan, "--name", "other")
    assert measures("evaluate", "--no-verdict") == {f"nDCG@{cutoff}", "AP(rel=2)", f"P(rel=2)@{cutoff}"}
    assert measures("evaluate", "--no-verdict", "--pool", "first") == {"nDCG@10", "AP(rel=2)", "P(rel=2)@10"}


def test_all_commands_and_a_bundle_go_to_that_depth_and_say_so(here: Path, kept: Kept):
    call("pool", "build", "depth 5", "--name", "other")
    assert measures("compare", "bm25", "dense") == {"nDCG@5", "AP(rel=2)"}
    assert measures("settle", "bm25", "dense") == {"nDCG@5"}
    call("qrels", "release", "second", "--bundle", "bundle")
    call("reuse", "--write-card", "card.json")
    Path("groups.tsv").write_text("".join(f"{run}\t{run}\tpooled\n" for run in ("bm25", "dense")))
    for words in (
        "bundle",
        "--qrels qrels.txt --pool card.json",
        "--qrels qrels.txt --groups groups.tsv --pool-depth 5",
    ):
        kept(call("evaluate", *words.split(), "bm25.run", "dense.run", "--no-verdict").err)


def test_status_knows_what_follows_the_scores(here: Path, kept: Kept):
    ranked = [line.split() for name in ("bm25", "dense") for line in Path(f"{name}.run").read_text().splitlines()]
    pooled = csv.reader(call("pool", "show", "--by", "document", "-f", "csv").out.splitlines()[1:])
    pairs = {(row[0], row[2]) for row in ranked} | {(row[0], row[1]) for row in pooled}
    Path("rest.txt").write_text("".join(f"{topic} 0 {document} 1\n" for topic, document in sorted(pairs)))
    call("judge", "import", "rest.txt", "--assessor", "Ann")
    kept(call("status").err.splitlines()[-1])


def test_of_a_queue_that_adapts_to_judgments_it_is_said_about_how_many_are_missing(here: Path, kept: Kept):
    kept(line for line in call("status").err.splitlines() if "open queue" in line)


def test_scores_and_pools_are_drawn_as_charts_in_the_room_there_is(
    here: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "72")
    for line in ("evaluate -m P@5 -m RR", "evaluate -m iprec_at_recall", "pool show", "pool show --by depth"):
        drawn = call(*line.split(), "--chart").out
        kept(drawn)
        assert max(map(len, drawn.splitlines())) <= 72
    kept(call("evaluate", "bm25", "-m", "Success@1", "--chart").out)  # without an interval, none is explained
    monkeypatch.setenv("COLUMNS", "50")
    kept(call("pool", "show", "--by", "topic", "--chart").out)


@pytest.mark.parametrize(
    "line", ["evaluate --chart -f csv", "pool show --by version --chart", "evaluate --explain bm25 T01 --chart"]
)
def test_a_chart_that_cannot_be_drawn_is_refused(here: Path, kept: Kept, line: str):
    kept(" ".join(call(*line.split(), status=2).err.split()).rpartition("Error: ")[2])  # typers differ before it


def completions(monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    """What bash is offered behind a line."""
    monkeypatch.setenv("_CRANFIELD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"cranfield {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(f"cranfield {line}".split(" ")) - 1))
    ended = call()
    assert ended.err == ""
    return ended.out.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("evaluate ", ["bm25", "dense", "ladle-rm3", "stove-tfidf", "trivet-lsa"]),
        ("evaluate bm", ["bm25"]),
        ("-C recipes.db runs show de", ["dense"]),
        ("compare bm25 --baseline d", ["dense"]),
        ("pool explain T1", ["T10", "T11", "T12", "T13", "T14", "T15"]),
        ("judge --topic T02", ["T02"]),
        ("evaluate -m nDCG", ["nDCG", "nDCG@10", "nDCGRel"]),
        ("evaluate -m P@", ["P@5", "P@10", "P@20", "P@100", "P@1000"]),
        ("pool build rr", ["rrf"]),
        ("simulate --plan dep", ["depth"]),
        ("strategies dep", ["depth"]),
        ("reuse --pool f", ["first"]),
        ("judge --queue ", ["settle"]),
        ("qrels diff f", ["first"]),
        ("ev", ["evaluate"]),
        ("judge adj", ["adjudicate"]),
    ],
)
def test_a_shell_completes_what_there_is(here: Path, monkeypatch: pytest.MonkeyPatch, line: str, offered: list[str]):
    assert completions(monkeypatch, line) == offered


@pytest.mark.parametrize(
    "line",
    ["evaluate ", "pool explain T", "-C qrels.txt evaluate b", "evaluate -f none ", "evaluate --curve b", "zz"],
)
def test_a_shell_gets_nothing_and_no_word_where_nothing_is_known(
    here: Path, monkeypatch: pytest.MonkeyPatch, line: str
):
    (here / "collection.db").write_bytes(b"")
    assert completions(monkeypatch, line) == []
