"""`cranfield demo`: the whole way on the shipped collection, by the commands a user would type."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which

import typer

from cranfield.cli import console
from cranfield.errors import UsageError


def run_demo(folder: Path) -> None:
    """Make a collection in a new folder from the shipped files; every line is shown before it is run."""
    from cranfield.workflows.shipped import shipped_collection

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: give the demonstration a folder of its own")
    folder.mkdir(parents=True, exist_ok=True)
    kitchen = shipped_collection("kitchen")
    database = folder / "collection.db"
    for sentence, words in _story(kitchen, database, folder):
        if words[:2] == ["judge", "import"] and "--layer" not in words:
            _offer_to_judge(database)
        console.say()
        console.say(f"# {sentence}")
        _run([*words, "-C", str(database)])
    console.say()
    console.say(f"The report is {folder / 'report.html'}: open it in a browser.")
    console.say(f"The collection is {database}. Go on with it, for example: {console.hint('runs list', database)}")
    if which("cranfield") is None and sys.prefix != sys.base_prefix:
        activate = Path(sys.prefix) / "bin" / "activate"
        here = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        console.say(f"This shell does not know the command yet; make it known with: . {here}")


def _offer_to_judge(database: Path) -> None:
    """Ask a person at the terminal whether he wants to sit in the assessor's chair; nobody is asked in a pipe."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    console.say()
    if typer.confirm("Do you want to judge a few documents yourself? (q ends the sitting)", err=True):
        _run(["judge", "--assessor", "you", "--topic", "T01", "-C", str(database)])


def _story(kitchen: Path, database: Path, folder: Path) -> list[tuple[str, list[str]]]:
    return [
        (
            "A collection is one file; it begins with a scale and guidelines.",
            [
                "init",
                "kitchen",
                "--scale",
                f"{kitchen / 'scale.toml'}",
                "--guidelines",
                f"{kitchen / 'guidelines.md'}",
            ],
        ),
        (
            "The documents: 240 short texts about life in the kitchen.",
            ["corpus", "add", f"{kitchen / 'documents.jsonl'}"],
        ),
        ("The topics: fifteen questions, some easy, some hard.", ["corpus", "topics", f"{kitchen / 'topics.trec'}"]),
        ("The documents can be searched at once.", ["corpus", "search", "burnt pan", "--count", "3"]),
        ("Some documents are there twice, or nearly so.", ["corpus", "duplicates", "--threshold", "0.5"]),
        (
            "No search engine at hand? Baseline systems make runs.",
            [
                "runs",
                "make",
                "fts5",
                "--depth",
                "20",
                "--tag",
                "my-first-run",
                "--output",
                f"{folder / 'my-first-run.run'}",
            ],
        ),
        (
            "Runs are checked before they enter; all problems are listed at once.",
            ["runs", "check", f"{kitchen / 'runs.toml'}", f"{folder / 'my-first-run.run'}"],
        ),
        (
            "Eleven runs of eight groups are submitted; two groups stay out of the pool.",
            ["runs", "submit", f"{kitchen / 'runs.toml'}"],
        ),
        ("Here they are.", ["runs", "list"]),
        (
            "The pool: the first five documents of each contributing run are worth judging.",
            ["pool", "build", "depth 5"],
        ),
        ("Who brought what? One group can be the only one to have a document.", ["pool", "show"]),
        ("Why is this document in the pool of topic T01?", ["pool", "explain", "T01", "K146"]),
        ("The pool can be built again, and is the same to the last byte.", ["pool", "verify"]),
        *_judging(kitchen, folder),
        ("The file can prove that it is sound.", ["check"]),
        ("And it knows what comes next.", ["status"]),
    ]


def _judging(kitchen: Path, folder: Path) -> list[tuple[str, list[str]]]:
    """From judgments to a verdict that was right: the story of an outsider that the pool wrongs."""
    measures = ["-m", "P@5", "-m", "nDCG@5", "-m", "AP"]
    return [
        (
            "Two people have read the pooled documents; their recorded judgments are played in.",
            ["judge", "import", f"{kitchen / 'judgments.csv'}"],
        ),
        (
            "The first reader's word counts where they differ.",
            ["judge", "assign", "reader-1", "reader-2", "--together", "--format", "csv"],
        ),
        ("How far do they agree?", ["judge", "agreement"]),
        ("The qrels are frozen under a name and a hash.", ["qrels", "release", "first"]),
        (
            "And written as trec_eval reads them.",
            ["qrels", "export", "first", "--output", f"{folder / 'qrels.txt'}"],
        ),
        (
            "Scores, each with a verdict: the pool knows little of what mortar-dense found, and says so.",
            ["evaluate", *measures],
        ),
        (
            "Which differences are more than chance, and which could turn once everything is read?",
            ["compare", "stove-rocchio", "larder-bm25", "mortar-dense", "-m", "nDCG@5"],
        ),
        (
            "Both outsiders, told in full: one can be trusted, the other cannot.",
            ["reuse", "mortar-dense", "whisk-bm25", "-m", "P@5", "--describe"],
        ),
        (
            "Is mortar-dense worse than ladle-rm3? These documents settle it, the heaviest first.",
            ["settle", "mortar-dense", "ladle-rm3", "-m", "P@5", "--all", "--queue", "settle", "--into", "after"],
        ),
        (
            "They were judged later, with all of the outsiders' first ten, into a layer of its own called after.",
            ["judge", "import", f"{kitchen / 'after.csv'}", "--layer", "after"],
        ),
        (
            "With them the outsider that stood behind three others leads the field.",
            ["evaluate", *measures, "--layer", "main", "--layer", "after"],
        ),
        (
            "Everything on one page, to read, print and publish.",
            ["report", "-m", "P@5", "-m", "nDCG@5", "-m", "AP", "-o", f"{folder / 'report.html'}"],
        ),
    ]


def _run(words: Sequence[str]) -> None:
    """Run one command in this process, as if it had been typed."""
    from cranfield.cli.main import program

    console.say(f"$ cranfield {shlex.join(words)}")
    if status := program(words[0])(args=list(words), prog_name="cranfield", standalone_mode=False):
        raise typer.Exit(status)
