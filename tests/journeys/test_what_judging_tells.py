"""What the commands of judging and of qrels tell beside their data: changed scales, samples, junk, packets."""

import contextlib
import json
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest
from command import call
from kept import Kept

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
OLDER = "3 grades were given on an older scale, 1 of them is not on the present one"


@pytest.fixture(scope="module")
def with_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("with_runs")
    call("init", "kitchen", "--scale", KITCHEN / "scale.toml", folder=folder)
    call("corpus", "add", KITCHEN / "documents.jsonl", folder=folder)
    call("corpus", "topics", KITCHEN / "topics.trec", folder=folder)
    call("runs", "submit", KITCHEN / "runs.toml", folder=folder)
    return folder


@pytest.fixture
def kitchen(with_runs: Path, tmp_path: Path) -> Path:
    (tmp_path / "collection.db").write_bytes((with_runs / "collection.db").read_bytes())
    return tmp_path


@pytest.fixture
def pooled(kitchen: Path) -> Path:
    call("pool", "build", "depth 2", folder=kitchen)
    return kitchen


@pytest.fixture
def changed(pooled: Path) -> Path:
    """Ana has said marginal, highly relevant and not relevant; then the scale became no and yes."""
    call("judge", "--plain", "-a", "ana", answers="1\n3\n0\nq\n", folder=pooled)
    call("judge", "scale", "0=no, 1=yes", folder=pooled)
    return pooled


def judge_all(folder: Path, grade: int = 1) -> None:
    with contextlib.closing(sqlite3.connect(folder / "collection.db")) as plain:
        pairs = plain.execute("SELECT DISTINCT topic, document FROM pool_entries").fetchall()
    lines = [f"{topic} 0 {document} {grade}" for topic, document in pairs]
    (folder / "all.qrels").write_text("\n".join(lines) + "\n")
    call("judge", "import", "all.qrels", folder=folder)


def test_every_way_out_tells_of_grades_of_an_older_scale(changed: Path, kept: Kept):
    _, out, told = call("qrels", "export", "--binary", folder=changed)
    assert [line.split()[3] for line in out.splitlines()].count("1") == 1, "marginal was not relevant"
    kept(told)
    kept(call("qrels", "export", folder=changed).err)
    kept(call("qrels", "release", "r", folder=changed).err)
    for which in ((), ("--qrels", "r")):
        told = call("evaluate", "whisk-bm25", "-m", "P@5", *which, folder=changed).err
        kept(told)
    told = call("judge", "progress", folder=changed).err
    kept(told)
    _, out, told = call("status", folder=changed)
    kept(out)
    kept(told)
    _, out, told = call("judge", "--plain", "-a", "ana", answers="history\nq\n", folder=changed)
    kept(out)
    kept(told)


def test_agreement_tells_of_opinions_on_an_older_scale(changed: Path, kept: Kept):
    with contextlib.closing(sqlite3.connect(changed / "collection.db")) as plain:
        pairs = plain.execute("SELECT topic, document FROM judgments ORDER BY event").fetchall()
    rows = "".join(f"{topic},{document},1,bob\n" for topic, document in pairs)
    (changed / "bob.csv").write_text(f"topic,document,grade,assessor\n{rows}")
    call("judge", "import", "bob.csv", folder=changed)
    _, out, told = call("judge", "agreement", "-f", "csv", folder=changed)
    kept(told)
    assert "all,,positive,0.5," in out, "relevant for ana is one of three, for bob all"


def test_nothing_is_told_where_the_scale_never_changed(pooled: Path):
    call("judge", "--plain", "-a", "ana", answers="1\n3\n0\nq\n", folder=pooled)
    for words in (("qrels", "export"), ("evaluate", "whisk-bm25", "-m", "P@5"), ("judge", "progress"), ("status",)):
        assert "older" not in "".join(call(*words, folder=pooled)[1:])


def test_a_sampled_pool_is_evaluated_by_its_strata(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 2; stratified strata=1-5:60,6-20:20", folder=kitchen)
    judge_all(kitchen, 2)
    told = call("qrels", "export", "--unjudged", "-o", "sample.qrels", folder=kitchen).err
    kept(told)
    call("runs", "export", "whisk-bm25", "-o", "whisk.run", folder=kitchen)
    call("qrels", "release", "r", "--unjudged", folder=kitchen)
    wanted = ("-m", "xinfAP(rel=2)", "-m", "statAP(rel=2)", "-m", "infNDCG", "-f", "csv")
    _, stored, said = call("evaluate", "whisk-bm25", *wanted, folder=kitchen)
    kept(said)
    frozen = call("evaluate", "whisk-bm25", "--qrels", "r", *wanted, folder=kitchen).out
    filed = call("evaluate", "--qrels", "sample.qrels", "whisk.run", *wanted, folder=kitchen).out
    assert _values(stored) == _values(frozen) == _values(filed)
    kept(call("qrels", "export", "--unjudged", "--to", "csv", folder=kitchen).err)


def _values(table: str) -> list[list[str]]:
    return [line.split(",")[:4] for line in table.splitlines()]


def test_a_draw_by_weight_is_warned_of(kitchen: Path, kept: Kept):
    call("pool", "build", "statap 10", folder=kitchen)
    judge_all(kitchen)
    told = call("evaluate", "whisk-bm25", "-m", "statAP", folder=kitchen).err
    kept(told)


def test_junk_is_not_called_pooled_but_not_judged(pooled: Path, kept: Kept):
    with contextlib.closing(sqlite3.connect(pooled / "collection.db")) as plain:
        query = "SELECT document FROM pool_entries WHERE topic = 'T01' ORDER BY document"
        first, second, third, *_ = [row[0] for row in plain.execute(query)]
    (pooled / "web.qrels").write_text(f"T01 0 {first} -2\nT01 0 {second} -1\nT01 0 {third} 2\n")
    told = call("judge", "import", "web.qrels", folder=pooled).err
    kept(told)
    call("qrels", "import", "web.qrels", "--name", "web", folder=pooled)
    told = call("qrels", "export", "web", folder=pooled).err
    kept(told)


def test_a_topic_is_not_refused_without_a_reason(pooled: Path, kept: Kept):
    call("judge", "try", "T12", "--plain", "-a", "ana", answers="1\nq\n", folder=pooled)
    kept(call("judge", "try", "T12", "--refuse", " ", status=2, folder=pooled).err)


def test_the_labels_of_a_judge_come_with_the_ends_of_their_intervals(pooled: Path, kept: Kept):
    judge_all(pooled)
    (pooled / "judge.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    for _ in range(15):\n"
        "        print('thinking')\n"
        "    print(json.dumps({'topic': asked['topic']['id'], 'document': asked['document']['id'], 'grade': 1}))\n"
    )
    command = f"{shlex.quote(sys.executable)} judge.py"
    _, out, told = call(
        "judge", "with", command, "--as", "m@1", "--topic", "T01", "--batch", "50", "-f", "json", folder=pooled
    )
    (raw,) = [row for row in json.loads(out) if row["coefficient"] == "raw"]
    assert (raw["of"], raw["and"], raw["value"], raw["low"], raw["high"]) == ("people", "machine/m@1", 1.0, 1.0, 1.0)
    kept(told)


def test_what_a_packet_keeps_away_comes_back_in_days(pooled: Path, kept: Kept):
    call("judge", "packet", "eve", "-o", "packet.db", folder=pooled)
    out = call("judge", "--plain", "-a", "ana", answers="q\n", folder=pooled).out
    kept(out)
    told = call("judge", "--plain", "-a", "eve", answers="q\n", folder=pooled).err
    kept(told)
    _, out, told = call("status", "-C", "packet.db", folder=pooled)
    kept(out)
    kept(told)


def test_a_live_pool_that_is_judged_so_far_is_judged_on(kitchen: Path, kept: Kept):
    call("pool", "build", "depth 1; mtf 8", folder=kitchen)
    judge_all(kitchen)
    told = call("status", folder=kitchen).err
    kept(told)
