"""What every command prints in every format, the report, the card and the bundle: bytes that are kept.

Renew them after a change that was meant, and read the difference:

    CRANFIELD_RENEW=1 pytest tests/golden/test_output_goldens.py -n0

The collection in `small/` is made anew with a clock that stands still. The version of the program is masked, and
drawings (whose bytes are matplotlib's), styles and scripts too. A number may differ after its ninth digit: processors
round differently.
"""

import contextlib
import json
import re
import shlex
import shutil
import sys
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path

import pytest
from command import call
from kept import RENEW, same

from cranfield._version import __version__
from cranfield.base import text as clock
from cranfield.cli import console, main
from cranfield.cli.listing import list_formats
from cranfield.cli.main import Declared

HERE = Path(__file__).parent
KEPT = HERE / "outputs"
SUFFIXES = {"table": "txt", "markdown": "md", "latex": "tex"}
MOMENT = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)

TABLES = {
    "check": "check",
    "compare": "compare alpha_1 beta delta -m AP -m P@5",
    "corpus-duplicates": "corpus duplicates --threshold 0.5",
    "corpus-outside": "corpus outside",
    "corpus-search": "corpus search kettle scale --count 3",
    "corpus-show": "corpus show D01",
    "corpus-topics": "corpus topics more-topics.tsv",
    "evaluate": "evaluate -m AP -m nDCG@5",
    "evaluate-by-topic": "evaluate alpha_1 delta -m P@5 --by-topic",
    "evaluate-explain": "evaluate alpha_1 --explain 1 --depth 4",
    "formats": "formats",
    "judge-adjudicate": "judge adjudicate --list",
    "judge-agreement": "judge agreement",
    "judge-agreement-by-topic": "judge agreement --by topic",
    "judge-assign": "judge assign Ann Ben",
    "judge-merge": "judge merge packet.db",
    "judge-progress": "judge progress",
    "judge-progress-by-topic": "judge progress --by topic",
    "judge-propagate": "judge propagate",
    "judge-try": "judge try 4 --show",
    "judge-with": "judge with '{python} judge.py' --as words@1",
    "measures": "measures AP",
    "pool-explain": "pool explain 1 D01",
    "pool-show": "pool show",
    "pool-show-by-depth": "pool show --by depth",
    "pool-show-by-group": "pool show --by group",
    "qrels-diff": "qrels diff first other.qrels",
    "qrels-list": "qrels list",
    "qrels-list-one": "qrels list --name first",
    "qrels-release": "qrels release second --rule highest --note 'all & <each>'",
    "reuse": "reuse -m AP",
    "reuse-groups": "reuse delta -m P@5 --table groups",
    "reuse-thresholds": "reuse --thresholds",
    "runs-check": "runs check runs/gamma.run",
    "runs-list": "runs list",
    "runs-make": "runs make bm25 --depth 3",
    "runs-show": "runs show gamma",
    "runs-submit": "runs submit more.run --group epsilon --family lexical",
    "settle": "settle alpha_1 delta -m P@5",
    "simulate": "simulate --plan 'depth 2' --plan 'depth 3' -m AP",
    "status": "status",
    "strategies": "strategies",
    "tests": "tests",
}
"""Every command that prints a table, by the name of its files."""


class StandingClock(datetime):
    """Says the same moment each time."""

    @classmethod
    def now(cls, tz=None):
        return MOMENT if tz is not None else MOMENT.replace(tzinfo=None)


@pytest.fixture(scope="module", autouse=True)
def still():
    """Let the clock stand still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "datetime", StandingClock)
        patch.setattr(clock, "time", MOMENT.timestamp)
        patch.delenv("CRANFIELD_COLLECTION", raising=False)
        yield


@pytest.fixture(scope="module")
def small(still: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small collection: judged by two, with a release and a packet that is out."""
    folder = tmp_path_factory.mktemp("small") / "small"
    shutil.copytree(HERE / "small", folder)
    scale = "--scale '0=no, 1=partly, 2=fully'"
    with contextlib.chdir(folder):
        printed(f"init 'small & <fixed>' {scale} --guidelines guidelines.md --licence CC-BY-4.0")
        printed("corpus add documents.jsonl")
        printed("corpus duplicates --threshold 0.9")
        printed("corpus topics topics.jsonl")
        printed("runs submit runs.toml")
        printed("pool build 'depth 4'")
        printed("judge import judgments.csv")
        printed("qrels release first")
        printed("judge packet Ben --topic 4 -o packet.db")
        printed("judge try 4 -a Cora --plain", answers="1\n0\n2\nq\n")
    return folder


@pytest.fixture
def here(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small collection, as the folder in which commands run."""
    shutil.copytree(small, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


def printed(line: str, answers: str | None = None) -> bytes:
    """Run a command, and give the bytes it prints."""
    return call(*shlex.split(line.format(python=sys.executable)), answers=answers).out.encode()


def masked(text: str) -> str:
    """Take out what changes with the version of the program and of matplotlib, and what is a file of its own."""
    named = text.replace(f"cranfield {__version__}", "cranfield VERSION")
    # The version is a setting, so that the head of the history changes with it.
    named = re.sub(r'("history": \[\s*\d+,\s*"|\bentry \d+, )[0-9a-f]{64}', r"\1HEAD", named)
    return re.sub(r"<(svg|style|script)\b.*?</\1>", r"<\1></\1>", named, flags=re.DOTALL)


def compared(name: str, got: bytes) -> None:
    """Hold bytes against those that are kept; with CRANFIELD_RENEW set, keep them."""
    text, path = masked(got.decode("utf-8")), KEPT / name
    if RENEW:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    same(text, path.read_bytes().decode("utf-8"), name)


def commands_with_tables() -> set[str]:
    """Give the names of all commands that take a format, from the program itself."""
    commands = {" ".join(words): one for words, one in main.declared() if isinstance(one, Declared)}
    return {name for name, one in commands.items() if "format" in signature(one.function).parameters}


def test_every_command_that_prints_a_table_has_kept_bytes():
    kept = [f"{line} " for line in TABLES.values()]
    assert not {name for name in commands_with_tables() if not any(line.startswith(f"{name} ") for line in kept)}


@pytest.mark.parametrize("format", console.table_formats())
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_printed_as_it_was(here: Path, name: str, format: str):
    compared(f"{name}.{SUFFIXES.get(format, format)}", printed(f"{TABLES[name]} --format {format}"))


def written(kind: str) -> list[str]:
    return [row[1] for row in list_formats().rows if row[0] == kind and row[4] and row[1] != "parquet"]


@pytest.mark.parametrize("format", written("qrels"))
def test_qrels_are_written_as_they_were(here: Path, format: str):
    compared(f"qrels-export-{format}.txt", printed(f"qrels export first --to {format}"))


@pytest.mark.parametrize("format", written("runs"))
def test_runs_are_written_as_they_were(here: Path, format: str):
    compared(f"runs-export-{format}.txt", printed(f"runs export gamma --to {format}"))


def test_the_report_is_written_as_it_was(here: Path):
    printed("report -o report.html --card card.json")
    printed("report -o report.md")
    printed("report -o public.html --public -m AP --qrels first")
    for name in ("report.html", "report.md", "public.html", "card.json"):
        compared(name, (here / name).read_bytes())


def test_the_bundle_is_laid_out_as_it_was(here: Path):
    printed("qrels release published --rule highest --bundle bundle")
    for path in sorted((here / "bundle").iterdir()):
        if path.name != "SHA256SUMS":
            compared(f"bundle-{path.name}", path.read_bytes())


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_figures_have_the_same_bytes(here: Path, kind: str):
    for measure in ("AP", "iprec_at_recall"):
        for name in ("one", "two"):
            printed(f"evaluate -m {measure} --plot {name}.{kind}")
        assert Path(f"one.{kind}").read_bytes() == Path(f"two.{kind}").read_bytes()


def test_nothing_is_kept_that_nobody_compares():
    formats = [SUFFIXES.get(format, format) for format in console.table_formats()]
    known = {f"{name}.{suffix}" for name in TABLES for suffix in formats}
    known |= {f"qrels-export-{one}.txt" for one in written("qrels")}
    known |= {f"runs-export-{one}.txt" for one in written("runs")}
    known |= {"report.html", "report.md", "public.html", "card.json"}
    left = {path.name for path in KEPT.iterdir()} - known
    assert {name for name in left if not name.startswith("bundle-")} == set()


def test_the_kept_card_is_json():
    assert json.loads((KEPT / "card.json").read_text(encoding="utf-8"))["licence"] == "CC-BY-4.0"
