"""One more measure, strategy, format, source, baseline or significance test is one file, and nothing else."""

import subprocess
import sys
from pathlib import Path

MEASURE = '''
from cranfield.evaluate.lists import Lists, Values
from cranfield.evaluate.measure import measure

@measure("FirstIsRelevant", interval="monotone")
def first_is_relevant(lists: Lists, *, rel: int = 1) -> Values:
    """1 where the first document is relevant."""
    return (lists.relevant(rel).within(1).count > 0).astype(float)
'''

STRATEGY = '''
from cranfield.pool.strategy import scored

@scored("deepest", summary="the lowest ranks first")
def deepest(candidates):
    """By the sum of ranks, the largest first."""
    return candidates.summed(candidates.listed_ranks * 1.0)
'''

FORMAT = """
from cranfield.base.files import Source
from cranfield.runs.formats.trec import Trec
from cranfield.runs.reading import run_formats

@run_formats.register("shouted")
class Shouted(Trec):
    summary = "a run behind a line that shouts"
    suffixes = (".shout",)

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        return head.startswith(b"RUN!")
"""

SOURCE = """
from cranfield.base.records import Document
from cranfield.corpus.outside import document_sources

@document_sources.register("shelf")
class Shelf:
    summary = "a shelf with one document on each board"
    located = staticmethod(str.lower)

    def __init__(self, place, schema):
        self.place = place

    def prepare(self, progress):
        return 1

    def fetch(self, id):
        return Document(id, f"on the {self.place}")
"""

TEST = '''
import numpy as np
from cranfield.compare.differences import paired_differences, significance_test

@significance_test("never", title="test that finds nothing")
def never(a, b, *, rng):
    """p is 1, always."""
    differences = paired_differences(a, b)
    many = len(differences.values)
    return differences.result(np.zeros(many), np.ones(many), exact=np.ones(many, dtype=bool))
'''

PROGRAM = """
import importlib, sys
for package, folder in {places!r}.items():
    importlib.import_module(package).__path__.append(folder)
from cranfield.cli.main import status_of
for words in {commands!r}:
    print(">", *words, flush=True)
    if status_of(words):
        sys.exit(f"{{words}} failed")
"""


def test_a_part_is_one_file(tmp_path: Path):
    places = {}
    parts = {
        "evaluate.measures": MEASURE,
        "pool.strategies": STRATEGY,
        "runs.formats": FORMAT,
        "compare.significance": TEST,
        "corpus.sources": SOURCE,
    }
    for package, code in parts.items():
        folder = tmp_path / package
        folder.mkdir()
        (folder / "one_more.py").write_text(code)
        places[f"cranfield.{package}"] = str(folder)
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n2 0 a 0\n")
    (tmp_path / "one.run").write_text("1 Q0 a 1 2 one\n1 Q0 b 2 1 one\n2 Q0 a 1 2 one\n2 Q0 c 2 1 one\n")
    (tmp_path / "two.run").write_text("1 Q0 b 1 2 two\n1 Q0 a 2 1 two\n2 Q0 c 1 2 two\n")
    commands = [
        ["evaluate", "--qrels", "qrels", "one.run", "two.run", "-m", "FirstIsRelevant", "--no-verdict", "-f", "csv"],
        ["compare", "--qrels", "qrels", "one.run", "two.run", "-m", "AP", "--test", "never", "--no-verdict"],
        ["measures", "FirstIsRelevant"],
        ["strategies", "deepest"],
        ["formats", "-f", "csv"],
        ["init", "mine"],
        ["corpus", "outside", "shelf:WALL"],
        ["corpus", "show", "a"],
        ["runs", "submit", "one.run", "two.run"],
        ["pool", "build", "deepest 1"],
        ["pool", "show", "--by", "topic", "-f", "csv"],
    ]
    program = PROGRAM.format(places=places, commands=commands)
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "one,all,FirstIsRelevant,0.5" in ended.stdout
    assert "shouted,a run behind a line that shouts" in ended.stdout
    assert "on the wall" in ended.stdout
