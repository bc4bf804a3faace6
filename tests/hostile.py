"""Hostile input: files with bytes changed go through every reader, tampered collections through every command.

    python tests/hostile.py inputs COUNT SEED
    python tests/hostile.py files COUNT SEED

Each must end within its time in a result or in a sentence of ours, leave no file behind, and stay below a limit of
memory. What fails is printed, with the input kept in a folder that is named, and the status is 1.
"""

import bz2
import contextlib
import faulthandler
import gzip
import io
import json
import lzma
import os
import random
import resource
import shlex
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from cranfield.base.errors import CranfieldError
from cranfield.base.files import Source
from cranfield.base.records import BINARY
from cranfield.cli.main import BUG, status_of
from cranfield.corpus import reading as corpus
from cranfield.corpus.reading import document_formats, read_documents, read_topics, topic_formats
from cranfield.evaluate.measure import parse_measures
from cranfield.judge.external import label_from
from cranfield.pool import plan
from cranfield.qrels import reading as qrels
from cranfield.qrels.qrels import qrels_formats
from cranfield.qrels.release import parse_rule
from cranfield.reuse.card import read_card
from cranfield.runs import reading as runs
from cranfield.runs.check import Expectations, check
from cranfield.runs.run import ranked
from cranfield.workflows.collection import parse_scale
from cranfield.workflows.corpus import read_clusters
from cranfield.workflows.recipe import read_recipe
from cranfield.workflows.runs.lists import described, read_requests

ROOT = Path(__file__).parents[1]
KITCHEN, ARTEFACTS = ROOT / "collections" / "kitchen", ROOT / "tests" / "fixtures" / "artefacts"

SECONDS_EACH = {"inputs": 30, "files": 120}
"""How long one input, or one command on a tampered collection, may take; a sound report takes some seconds."""

MEMORY = 2 << 30
"""How much memory all of it may take: 2 GB of data."""


class TooLong(BaseException):
    """The time of one input is over."""


# What is changed.


def beginning(path: Path, size: int = 3000) -> bytes:
    """The first whole lines of a file."""
    return path.read_bytes()[:size].rpartition(b"\n")[0] + b"\n"


RUN = beginning(ARTEFACTS / "whisk.run")
QRELS = beginning(ARTEFACTS / "qrels.txt")
SEEDS: dict[str, list[bytes]] = {
    "run": [
        RUN,
        b"qid,docid,score,rank\n1,a,2.5,1\n1,b,1.5,2\n2,a,7,1\n",
        b"1\ta\t1\n1\tb\t2\n2\tc\t1\n",
        b"# ir_metadata.start\n# tag: x\n# actor:\n#   team: [a]\n# ir_metadata.end\n1 Q0 a 1 2.5 x\n2 Q0 b 1 1 x\n",
        b'{"qid": "1", "docid": "a", "score": 1.5}\n{"qid": 1, "docid": 2, "score": -3, "rank": 1}\n',
    ],
    "qrels": [
        QRELS,
        b"1 0 d1 s1 1\n1 0 d2 s2 0\n2 0 d1 s1 2\n",
        b"query-id\tcorpus-id\tscore\n1\td1\t1\n2\td2\t0\n",
        b'{"topic": "1", "document": "d1", "grade": 1}\n',
        b"1 184 2 \r\n1 29 -1\r\n2 12 3\r\n",
        b"01 1410  0 0.000000\n02 12  0 0\n",
        beginning(KITCHEN / "judgments.csv"),
    ],
    "documents": [
        beginning(KITCHEN / "documents.jsonl", 8000),
        b"<DOC>\n<DOCNO>d1</DOCNO>\n<TITLE>t</TITLE>\n<TEXT>\none &amp; two\n</TEXT>\n</DOC>\n" * 3,
        b".I 1\n.T\ntitle\n.A\nauthor\n.W\ntext\n.X\n1 2 3\n.I 2\n.W\nmore\n",
        b'id,title,text\n1,one,"two, three"\n2,four,five\n',
        b"d1\tfirst text\nd2\tsecond text\n",
        b"# A heading\n\nSome <b>text</b> &eacute; <script>x</script>\n",
    ],
    "topics": [
        beginning(KITCHEN / "topics.trec"),
        b'<topics><topic number="1"><query>one</query><narrative>two</narrative></topic></topics>\n',
        b".I 1\n.W\nwhat\n.I 2\n.W\nwho\n",
        b'{"_id": "1", "text": "one"}\n{"_id": "2", "text": "two"}\n',
    ],
    "groups": [b"# runs\nwhisk\tw\tpooled\nmortar\tm\tnew\nx\ty\tpooled\n"],
    "clusters": [b"d1\tc1\nd2\tc1\nd3\tc2\n"],
    "card": [(ARTEFACTS / "reuse-card.json").read_bytes()],
    "toml": [(KITCHEN / "scale.toml").read_bytes(), b'a = 1\n[b]\nc = [1, 2.5, "x"]\n[[d]]\ne = 1979-05-27\n'],
    "plan": [b"depth(5)", b"depth(5) then rrf(k=60, budget=200)", b"depth(depth=10, priority=1, topics=3)"],
    "measure": [
        b"AP nDCG@10 P(rel=2)@5 RBP(p=.8) Judged@10 infAP",
        b"AP(rel=2,agg=median)@100",
        b"nDCG(gains='0:0,1:3')@20",
    ],
    "rule": [b"majority", b"latest", b"prefer ana, ben; then highest"],
    "label": [b'{"topic": "1", "document": "d1", "grade": 1, "confidence": 0.5, "note": "x"}'],
    "runs.toml": [(KITCHEN / "runs.toml").read_bytes()[:2000]],
    "recipe": [
        b'name = "x"\ntraps = ["y"]\n[files]\ntopics = "t"\n[qrels]\ngrades = { -1 = 0 }\n[counts]\ntopics = 2\n'
    ],
    "run list": [
        b"tag\tteam\tpriority\tfile\na\tb\t1\tx/a.run\nc\td\t2\t\n",
        b"<set><runs><tag>a</tag><organization>b</organization></runs></set>\n",
    ],
}

PIECES = [
    *(bytes([letter]) for letter in b"\0\r\n\t \"'{}[]()<>,;:=-+.&#@\\/%_09aA\x1b\x7f\x80\xc2\xff"),
    *("é \u202e \ufeff \u2028 \ud7ff \U0001f600 ٣ ²".encode().split()),
    *(b"\r\n", b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"0x1p3", b"-0", b"1_000", b"9" * 30, b"\xed\xa0\x80"),
    *(
        b"null",
        b"true",
        b"[]",
        b"{}",
        b'""',
        b'"\\ud800"',
        b"<DOC>",
        b"</DOC>",
        b"<top>",
        b".I ",
        b".W\n",
        b"&#0;",
        b"Q0",
    ),
]


def changed(data: bytes, draw: random.Random) -> bytes:
    """The bytes after one to six changes, and now and then compressed, in another encoding, or very long."""
    for _ in range(draw.choice((1, 1, 2, 3, 6))):
        place, end = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        end = min(end, place + draw.choice((1, 3, 20, 10_000)))
        piece = draw.choice(PIECES)
        before, after, letter = data[:place], data[end:], bytes([draw.randrange(256)])
        other = draw.choice(draw.choice(list(SEEDS.values())))[:500]
        data = draw.choice(
            (
                before + piece + data[place:],
                before + piece + after,
                before + after,
                before,
                data[:end] + data[place:],
                before + letter + data[place + 1 :],
                before + piece * draw.choice((10, 1000, 20_000)) + data[place:],
                before + other + after,
            )
        )[:400_000]
    unusual = draw.random()
    if unusual < 0.04:
        pack = draw.choice((gzip.compress, bz2.compress, lzma.compress, zstandard.compress))
        data = pack(data * draw.choice((1, 1, 50)))
        return data if draw.random() < 0.5 else changed(data, draw)
    return data.decode("utf-8", "replace").encode("utf-16") if unusual < 0.05 else data


# Where it goes: every reader, in the formats it recognises and in those it is told.


def read_run(path: Path, draw: random.Random) -> None:
    rows = runs.read_rows(Source(path), format=draw.choice([None, None, *runs.run_formats.names()]))
    check(rows, Expectations(max_depth=3, topics=["1"]))
    ranked(rows.scored)


def read_qrels(path: Path, draw: random.Random) -> None:
    read: Callable[..., object] = draw.choice((qrels.read_qrels, qrels.read_judgments))
    read(Source(path), format=draw.choice([None, None, *qrels_formats.names()]))


def text_of(path: Path) -> str:
    return Source(path).text()


READERS: dict[str, Callable[[Path, random.Random], object]] = {
    "run": read_run,
    "qrels": read_qrels,
    "documents": lambda path, draw: list(
        read_documents(path, format=draw.choice([None, None, *(set(document_formats.names()) - {"folder"})]))
    ),
    "topics": lambda path, draw: list(
        read_topics(path, format=draw.choice([None, *topic_formats.names()]), ids=draw.choice(("given", "position")))
    ),
    "groups": lambda path, draw: runs.read_groups(Source(path)),
    "clusters": lambda path, draw: read_clusters(Source(path)),
    "card": lambda path, draw: read_card(text_of(path), file="card"),
    "toml": lambda path, draw: parse_scale(str(path)),
    "plan": lambda path, draw: plan.parse(text_of(path)),
    "measure": lambda path, draw: parse_measures(text_of(path).split(" ")),
    "rule": lambda path, draw: parse_rule(text_of(path)),
    "label": lambda path, draw: label_from(text_of(path), BINARY, {("1", "d1")}),
    "runs.toml": lambda path, draw: read_requests(path),
    "recipe": lambda path, draw: read_recipe(path),
    "run list": lambda path, draw: described([], path),
    "subtopics": lambda path, draw: qrels.read_subtopics(Source(path)),
    "encoded": lambda path, draw: list(
        corpus.read_documents(Source(path, draw.choice(("latin-1", "utf-16", "utf-7", "cp1252", "shift_jis"))))
    ),
}
ALSO = {"subtopics": "qrels", "encoded": "documents"}
"""Readers that take what another takes."""

COMMANDS = {
    "run": (
        "runs check INPUT",
        "runs check INPUT --repair OUT",
        "evaluate --qrels qrels INPUT -m AP -m nDCG@10",
        "trec-eval -q qrels INPUT",
        "compare --qrels qrels run INPUT",
        "reuse --qrels qrels run INPUT --groups groups",
        "runs submit INPUT --group g -C c.db",
    ),
    "qrels": (
        "evaluate --qrels INPUT run -m AP",
        "trec-eval -m all_trec INPUT run",
        "qrels import INPUT -C c.db",
        "judge import INPUT -C c.db",
        "qrels diff INPUT qrels",
    ),
    "documents": ("corpus add INPUT -C c.db", "corpus add INPUT --keep-going --update -C c.db"),
    "topics": ("corpus topics INPUT -C c.db", "corpus topics INPUT --update -C c.db"),
    "groups": ("reuse --qrels qrels run --groups INPUT",),
    "clusters": ("evaluate --qrels qrels run --duplicates INPUT",),
    "card": ("reuse --qrels qrels run --pool INPUT", "evaluate --qrels qrels run --pool INPUT"),
    "toml": ("init -C new.db --scale INPUT",),
}


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stop what takes longer; where even that is not heard, the whole process ends, with a traceback."""
    faulthandler.dump_traceback_later(3 * seconds, exit=True)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


def on_alarm(*_: object) -> None:
    raise TooLong


def command_status(words: list[str], answers: str = "") -> str:
    """Run a command here; what is wrong with how it ended, if anything."""
    out, err, before = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(answers)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = status_of(words)
    finally:
        sys.stdin = before
    said = err.getvalue()
    if status == BUG:
        log = Path(said.rpartition(" ")[2].strip())
        details = log.read_text("utf-8").strip()
        log.unlink()
        return f"cranfield {shlex.join(words)}\n{details}"
    if "Traceback" in said or "\x1b" in said:
        return f"cranfield {shlex.join(words)} said\n{said}"
    return ""


class Trial:
    """A folder to work in, what went wrong there so far, and how often what was tried."""

    def __init__(self, what: str, seed: int) -> None:
        self.seconds = SECONDS_EACH[what]
        self.folder = Path(tempfile.mkdtemp(prefix="hostile-"))
        self.kept = Path(tempfile.mkdtemp(prefix="hostile-kept-"))
        self.draw, self.failures, self.tried = random.Random(seed), list[str](), Counter[str]()
        os.chdir(self.folder)
        for name, variables in {"tmp": ["TMPDIR"], "config": ["XDG_CONFIG_HOME", "MPLCONFIGDIR"]}.items():
            Path(name).mkdir()
            os.environ.update(dict.fromkeys(variables, str(self.folder / name)))
        tempfile.tempdir = str(self.folder / "tmp")
        for name, data in (("run", RUN), ("qrels", QRELS), ("groups", SEEDS["groups"][0])):
            Path(name).write_bytes(data)
        Path("fresh.db").write_bytes(gzip.decompress((ARTEFACTS / "collection.db.gz").read_bytes()))
        status_of(["status", "-C", "fresh.db", "-f", "json"])  # upgraded once, not each time
        self.clear()

    def clear(self) -> None:
        """Put the folder in order again, and say what was left there."""
        shutil.rmtree("OUT", ignore_errors=True)
        for path in Path().iterdir():
            if path.name not in ("run", "qrels", "groups", "fresh.db", "tmp", "config"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copy("fresh.db", "c.db")

    def attempt(self, what: str, path: Path, act: Callable[[], str]) -> None:
        """Try one thing, and note a failure with its input."""
        self.tried[what] += 1
        try:
            with limited(self.seconds):
                wrong = act()
        except CranfieldError:
            wrong = ""
        except TooLong:
            wrong = f"took more than {self.seconds} seconds"
        except BaseException:  # noqa: BLE001 (whatever it is, it is noted)
            wrong = traceback.format_exc()
        left = [*Path().glob("*unfinished*"), *Path("tmp").iterdir()]
        for one in left:
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        wrong = wrong or (f"left behind: {left}" if left else "")
        if wrong:
            copy = self.kept / f"{len(self.failures)}-{path.name}"
            with contextlib.suppress(OSError):
                shutil.copy(path, copy)
            self.failures.append(f"{what} ({copy}): {wrong}")
            print(self.failures[-1], flush=True)


def try_inputs(count: int, seed: int) -> Trial:
    """Change files and read them: most by their reader, some by a command."""
    trial = Trial("inputs", seed)
    draw = trial.draw
    kinds = list(READERS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        seeds = SEEDS[ALSO.get(kind, kind)]
        suffix = (
            draw.choice(("", ".txt", ".csv", ".jsonl", ".tsv", ".xml", ".run", ".html", ".md"))
            if "toml" not in kind
            else ".toml"
        )
        path = Path(f"INPUT{suffix}")
        path.write_bytes(changed(draw.choice(seeds), draw))
        if number % 1000 == 999:
            print(f"{number + 1:,} inputs", file=sys.stderr, flush=True)
        if kind in COMMANDS and draw.random() < 0.1:
            words = [str(path) if word == "INPUT" else word for word in draw.choice(COMMANDS[kind]).split()]
            trial.attempt(" ".join(words[:2]), path, lambda words=words: command_status(words))
            trial.clear()
        else:
            read = READERS[kind]
            trial.attempt(kind, path, lambda read=read, path=path: read(path, draw) and "")
            path.unlink()
    return trial


# Collections that a stranger has tampered with.

LOOKS = (
    *(
        "status",
        "check",
        "runs list",
        "pool show",
        "judge progress",
        "judge agreement",
        "qrels list",
        "evaluate -m AP",
    ),
    *(
        "qrels export -o q.txt",
        "reuse",
        "corpus search soup",
        "corpus show d1",
        "judge --plain -a ana",
        "backup b.db",
    ),
    *("report -o r.html", "pool verify", "pool explain T01 d1", "runs show whisk", "compare whisk mortar"),
    "judge merge c.db -C fresh.db",
)
ALTERNATIVES = (
    *(
        None,
        "",
        "x",
        "\0",
        "\x1b[2J",
        "é" * 1000,
        "[" * 5000,
        "{}",
        "[]",
        "null",
        "-1",
        '{"a": 1e999}',
        -1,
        0,
        1 << 62,
    ),
    *(
        1.5,
        float("inf"),
        b"",
        b"\xff" * 100,
        b"\x28\xb5\x2f\xfd" + bytes(50),
        "2999-01-01T00:00:00Z",
        "../../etc/passwd",
    ),
)


def tampered(path: Path, draw: random.Random) -> str:
    """Change a collection in one of many ways, and say how."""
    ways = draw.choice(("bytes", "bytes", "cut", "header", "cells", "cells", "cells", "cells", "table", "schema"))
    data = bytearray(path.read_bytes())
    if ways == "bytes":
        for _ in range(draw.choice((1, 3, 30))):
            place = draw.randrange(100, len(data))
            data[place : place + draw.choice((1, 4, 100))] = draw.randbytes(draw.choice((1, 4, 100)))
    elif ways == "cut":
        del data[draw.randrange(len(data)) :]
    elif ways == "header":
        data[draw.randrange(100)] = draw.randrange(256)
    if ways in ("bytes", "cut", "header"):
        path.write_bytes(data)
        return ways
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db, contextlib.suppress(sqlite3.Error):
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute("PRAGMA ignore_check_constraints = ON")
        tables = [
            name
            for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
            if sql and "sqlite_" not in name and "VIRTUAL" not in sql
        ]
        table = draw.choice(tables)
        if ways == "table":
            how = draw.choice(("DELETE FROM", "DROP TABLE", "DROP"))
            statements = {
                "DROP": [f"DROP TABLE {table}", f"CREATE VIEW {table} AS SELECT 1 AS a"],
                "DELETE FROM": [f"DELETE FROM {table}"],
                "DROP TABLE": [f"DROP TABLE {table}"],
            }
            for statement in statements[how]:
                db.execute(statement)
            return f"{how} {table}"
        if ways == "schema":
            loop = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
            statement = draw.choice(
                (
                    f"CREATE TRIGGER evil AFTER INSERT ON judgment_events BEGIN DELETE FROM {table}; END",
                    f"CREATE VIEW more AS {loop}",
                    f"CREATE TABLE mine AS SELECT * FROM {table}",
                    f"ALTER TABLE {table} ADD COLUMN evil TEXT DEFAULT '=1+1'",
                    "PRAGMA user_version = 99",
                    "PRAGMA application_id = 7",
                )
            )
            db.execute(statement)
            return statement
        for _ in range(draw.choice((1, 1, 3))):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            column, value = draw.choice(columns), draw.choice(ALTERNATIVES)
            only = draw.choice(("", f" WHERE rowid = (SELECT min(rowid) FROM {table})"))
            with contextlib.suppress(sqlite3.Error):
                db.execute(f"UPDATE {table} SET {column} = ?{only}", [value])
        return f"{table}.{column} = {str(value)[:20]!r}"
    return "nothing"


def try_files(count: int, seed: int) -> Trial:
    """Tamper with collections, and run commands on them."""
    trial = Trial("files", seed)
    draw = trial.draw
    kinds = [gzip.decompress((ARTEFACTS / f"{name}.db.gz").read_bytes()) for name in
             ("collection", "collection", "live", "packet-judged", "plans")]  # fmt: skip
    for number in range(count):
        Path("stranger.db").write_bytes(kinds[number % len(kinds)])
        if number % 4:
            status_of(["status", "-C", "stranger.db", "-f", "json"])
        how = tampered(Path("stranger.db"), draw)
        for words in draw.sample(LOOKS, 8):
            shutil.copy("stranger.db", "c.db")
            line = [*words.split(), *([] if "-C" in words else ["-C", "c.db"])]
            trial.attempt(f"{words}: {how}", Path("c.db"), lambda line=line: command_status(line, "1\n0\nq\n"))
            for name in ("q.txt", "r.html", "b.db", "c.db-wal", "c.db-shm"):
                Path(name).unlink(missing_ok=True)
        trial.clear()
    return trial


def main() -> int:
    """Try what is asked for, and say how it went."""
    what, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, on_alarm)
    faulthandler.enable()
    started = time.monotonic()
    trial = (try_inputs if what == "inputs" else try_files)(count, seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    tried = sum(trial.tried.values())
    summary = {"what": what, "count": count, "seed": seed, "tried": tried, "failures": len(trial.failures)}
    print(json.dumps({**summary, "seconds": round(time.monotonic() - started), "peak_mb": peak}))
    os.chdir("/")
    shutil.rmtree(trial.folder)
    if not trial.failures:
        shutil.rmtree(trial.kept)
    return int(bool(trial.failures))


if __name__ == "__main__":
    sys.exit(main())
