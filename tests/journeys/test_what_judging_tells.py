"""What the commands of judging and of qrels tell beside their data: changed scales, samples, junk, packets."""

import contextlib
import io
import json
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest

from cranfield.cli import main

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
OLDER = "3 grades were given on an older scale, 1 of them is not on the present one"


def typed(folder: Path, *words: object, status: int = 0, answers: str = "") -> tuple[str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        patch.setattr(sys, "stdin", io.StringIO(answers))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = main._status([str(word) for word in words])
            out.flush()
    assert ended == status, err.getvalue()
    return out.buffer.getvalue().decode(), err.getvalue()


@pytest.fixture(scope="module")
def with_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("with_runs")
    typed(folder, "init", "kitchen", "--scale", KITCHEN / "scale.toml")
    typed(folder, "corpus", "add", KITCHEN / "documents.jsonl")
    typed(folder, "corpus", "topics", KITCHEN / "topics.trec")
    typed(folder, "runs", "submit", KITCHEN / "runs.toml")
    return folder


@pytest.fixture
def kitchen(with_runs: Path, tmp_path: Path) -> Path:
    (tmp_path / "collection.db").write_bytes((with_runs / "collection.db").read_bytes())
    return tmp_path


@pytest.fixture
def pooled(kitchen: Path) -> Path:
    typed(kitchen, "pool", "build", "depth 2")
    return kitchen


@pytest.fixture
def changed(pooled: Path) -> Path:
    """Ana has said marginal, highly relevant and not relevant; then the scale became no and yes."""
    typed(pooled, "judge", "--plain", "-a", "ana", answers="1\n3\n0\nq\n")
    typed(pooled, "judge", "scale", "0=no, 1=yes")
    return pooled


def judge_all(folder: Path, grade: int = 1) -> None:
    with contextlib.closing(sqlite3.connect(folder / "collection.db")) as plain:
        pairs = plain.execute("SELECT DISTINCT topic, document FROM pool_entries").fetchall()
    lines = [f"{topic} 0 {document} {grade}" for topic, document in pairs]
    (folder / "all.qrels").write_text("\n".join(lines) + "\n")
    typed(folder, "judge", "import", "all.qrels")


def test_every_way_out_tells_of_grades_of_an_older_scale(changed: Path):
    out, told = typed(changed, "qrels", "export", "--binary")
    assert [line.split()[3] for line in out.splitlines()].count("1") == 1, "marginal was not relevant"
    assert f"warning: {OLDER}; each is written as relevant or not by its own scale" in told
    assert f"warning: {OLDER}; each is written as it was given" in typed(changed, "qrels", "export")[1]
    assert f"warning: {OLDER}; each is frozen as it was given" in typed(changed, "qrels", "release", "r")[1]
    for which in ((), ("--qrels", "r")):
        told = typed(changed, "evaluate", "whisk-bm25", "-m", "P@5", *which)[1]
        assert f"warning: {OLDER}; all are read by the present one, with its gains, relevant from 1" in told
    told = typed(changed, "judge", "progress")[1]
    again = "whoever gave them judges again with: cranfield judge --rejudge"
    assert f"3 grades given under an older scale or older guidelines; {again}" in told
    out, told = typed(changed, "status")
    assert "judged under an older scale or guidelines" in out
    assert "note: 3 grades from before scale or guidelines changed: cranfield judge --rejudge" in told
    out, told = typed(changed, "judge", "--plain", "-a", "ana", answers="history\nq\n")
    assert "1 marginal (older scale)" in out
    assert "3 answers of yours from before the scale or guidelines changed" in out
    assert "give them again with: cranfield judge --rejudge" in told


def test_agreement_tells_of_opinions_on_an_older_scale(changed: Path):
    with contextlib.closing(sqlite3.connect(changed / "collection.db")) as plain:
        pairs = plain.execute("SELECT topic, document FROM judgments ORDER BY event").fetchall()
    rows = "".join(f"{topic},{document},1,bob\n" for topic, document in pairs)
    (changed / "bob.csv").write_text(f"topic,document,grade,assessor\n{rows}")
    typed(changed, "judge", "import", "bob.csv")
    out, told = typed(changed, "judge", "agreement", "-f", "csv")
    assert "warning: 3 of 6 opinions were given on an older scale" in told
    assert "all,,positive,0.5," in out, "relevant for ana is one of three, for bob all"


def test_nothing_is_told_where_the_scale_never_changed(pooled: Path):
    typed(pooled, "judge", "--plain", "-a", "ana", answers="1\n3\n0\nq\n")
    for words in (("qrels", "export"), ("evaluate", "whisk-bm25", "-m", "P@5"), ("judge", "progress"), ("status",)):
        assert "older" not in "".join(typed(pooled, *words))


def test_a_sampled_pool_is_evaluated_by_its_strata(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 2; stratified strata=1-5:60,6-20:20")
    judge_all(kitchen, 2)
    told = typed(kitchen, "qrels", "export", "--unjudged", "-o", "sample.qrels")[1]
    assert "the stratum of each document stands before its grade" in told
    typed(kitchen, "runs", "export", "whisk-bm25", "-o", "whisk.run")
    typed(kitchen, "qrels", "release", "r", "--unjudged")
    wanted = ("-m", "xinfAP(rel=2)", "-m", "statAP(rel=2)", "-m", "infNDCG", "-f", "csv")
    stored, said = typed(kitchen, "evaluate", "whisk-bm25", *wanted)
    assert "the qrels are a sample" in said
    frozen = typed(kitchen, "evaluate", "whisk-bm25", "--qrels", "r", *wanted)[0]
    filed = typed(kitchen, "evaluate", "--qrels", "sample.qrels", "whisk.run", *wanted)[0]
    assert _values(stored) == _values(frozen) == _values(filed)
    assert "csv has no place for the strata" in typed(kitchen, "qrels", "export", "--unjudged", "--to", "csv")[1]


def _values(table: str) -> list[list[str]]:
    return [line.split(",")[:4] for line in table.splitlines()]


def test_a_draw_by_weight_is_warned_of(kitchen: Path):
    typed(kitchen, "pool", "build", "statap 10")
    judge_all(kitchen)
    told = typed(kitchen, "evaluate", "whisk-bm25", "-m", "statAP")[1]
    assert "warning: the sample drew documents with different probabilities" in told


def test_junk_is_not_called_pooled_but_not_judged(pooled: Path):
    with contextlib.closing(sqlite3.connect(pooled / "collection.db")) as plain:
        query = "SELECT document FROM pool_entries WHERE topic = 'T01' ORDER BY document"
        first, second, third, *_ = [row[0] for row in plain.execute(query)]
    (pooled / "web.qrels").write_text(f"T01 0 {first} -2\nT01 0 {second} -1\nT01 0 {third} 2\n")
    told = typed(pooled, "judge", "import", "web.qrels")[1]
    assert "1 judgment imported, 1 row left out (pooled but not judged)" in told
    assert "warning: 1 row with a grade of -2 or below (junk) left out" in told
    typed(pooled, "qrels", "import", "web.qrels", "--name", "web")
    told = typed(pooled, "qrels", "export", "web")[1]
    assert "1 judgment on 1 topic, 1 pooled but not judged, 1 junk (grade -2 or below);" in told


def test_a_difference_that_is_only_what_was_not_judged_is_told(pooled: Path):
    typed(pooled, "judge", "--plain", "-a", "ana", answers="1\nq\n")
    typed(pooled, "qrels", "release", "r", "--unjudged")
    told = typed(pooled, "qrels", "diff", "r", "now")[1]
    assert "of these are only rows for what is pooled and not judged" in told
    assert "which one side leaves out: --unjudged adds such rows to now" in told
    assert typed(pooled, "qrels", "diff", "r", "now", "--unjudged")[1] == "r and now say the same\n"


def test_a_topic_is_not_refused_without_a_reason(pooled: Path):
    typed(pooled, "judge", "try", "T12", "--plain", "-a", "ana", answers="1\nq\n")
    assert "say why the topic is refused" in typed(pooled, "judge", "try", "T12", "--refuse", "", status=1)[1]


def test_the_labels_of_a_judge_come_with_the_ends_of_their_intervals(pooled: Path):
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
    out, told = typed(
        pooled, "judge", "with", command, "--as", "m@1", "--topic", "T01", "--batch", "50", "-f", "json"
    )
    (raw,) = [row for row in json.loads(out) if row["coefficient"] == "raw"]
    assert (raw["of"], raw["and"], raw["value"], raw["low"], raw["high"]) == ("people", "machine/m@1", 1.0, 1.0, 1.0)
    assert "more like this (bad-answer)" in told


def test_what_a_packet_keeps_away_comes_back_in_days(pooled: Path):
    typed(pooled, "judge", "packet", "eve", "-o", "packet.db")
    out, _ = typed(pooled, "judge", "--plain", "-a", "ana", answers="q\n")
    assert "try again in up to 14 days" in out
    told = typed(pooled, "judge", "--plain", "-a", "eve", answers="q\n")[1]
    assert "in a packet of yours, or in another sitting, open or cut off: the first comes back in 14 days" in told
    assert "others have before them" not in told
    out, told = typed(pooled, "status", "-C", "packet.db")
    assert "packet for" in out
    assert "documents judged; then send the file back: cranfield judge -C packet.db" in told


def test_a_live_pool_that_is_judged_so_far_is_judged_on(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 1; mtf 8")
    judge_all(kitchen)
    told = typed(kitchen, "status")[1]
    assert "next: judge on: 15 topics of a live pool will get more documents: cranfield judge" in told
