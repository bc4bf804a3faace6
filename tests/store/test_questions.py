"""Questions in SQL: the numbers of `status`, common questions, and both in Datasette, which only reads."""

import contextlib
import csv
import io
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from command import HEARS_CTRL_C, call
from installed import package
from kept import Kept

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    call("init", "kitchen", "--scale", KITCHEN / "scale.toml", folder=folder)
    call("corpus", "add", KITCHEN / "documents.jsonl", folder=folder)
    call("corpus", "topics", KITCHEN / "topics.trec", folder=folder)
    call("runs", "submit", KITCHEN / "runs.toml", folder=folder)
    call("pool", "build", "depth 5", folder=folder)
    call("judge", "import", KITCHEN / "judgments.csv", folder=folder)
    return folder


@pytest.fixture
def kitchen(judged: Path, tmp_path: Path) -> Path:
    (tmp_path / "collection.db").write_bytes((judged / "collection.db").read_bytes())
    return tmp_path


def answers(folder: Path, sql: str, file: str = "collection.db") -> list[tuple]:
    with contextlib.closing(sqlite3.connect(folder / file)) as plain:
        return plain.execute(sql).fetchall()


def metadata(folder: Path) -> dict:
    call("datasette", "--metadata", "metadata.json", folder=folder)
    return json.loads((folder / "metadata.json").read_text("utf-8"))


def numbers_behind(folder: Path, file: str) -> dict[str, str]:
    """Run the script of `status --sql`, and hold the number in each heading against what its query gives."""
    found = {}
    script = call("status", "--sql", "-C", file, folder=folder).out
    for name, number, query in re.findall(r"-- (.+): ([\d,]+)\n([^;]+);", script):
        found[name] = number.replace(",", "")
        assert answers(folder, query, file) == [(int(found[name]),)], name
    return found


def facts(folder: Path, file: str) -> dict[str, str]:
    rows = csv.DictReader(io.StringIO(call("status", "-f", "csv", "-C", file, folder=folder).out))
    return {row["fact"]: row["value"] for row in rows}


def test_each_number_of_status_is_what_its_query_gives(kitchen: Path):
    found = numbers_behind(kitchen, "collection.db")
    shown = facts(kitchen, "collection.db")
    assert {name for name, value in shown.items() if value.isdigit()} <= set(found)
    assert found | shown == shown | {"judged under an older scale or guidelines": "0"}
    assert found["pooled documents"] == found["judged documents"] == "130"


def test_in_a_packet_the_queries_are_about_its_queue(kitchen: Path):
    call("pool", "build", "depth 7", "--name", "deeper", folder=kitchen)
    call("judge", "packet", "o'hara", "-o", "packet.db", folder=kitchen)
    found = numbers_behind(kitchen, "packet.db")
    assert int(found["pooled documents"]) == int(found["pooled, not judged"]) > 0
    assert found.items() >= {(name, value) for name, value in facts(kitchen, "packet.db").items() if value.isdigit()}


def test_a_script_is_no_table(kitchen: Path, kept: Kept):
    kept(call("status", "--sql", "-f", "csv", folder=kitchen, status=2).err)


def test_the_common_questions_have_these_answers(kitchen: Path, kept: Kept):
    for name, query in metadata(kitchen)["databases"]["collection"]["queries"].items():
        with contextlib.closing(sqlite3.connect(kitchen / "collection.db")) as plain:
            cursor = plain.execute(query["sql"])
            rows = [[column[0] for column in cursor.description], *cursor.fetchmany(5)]
        kept("\n".join([f"{name}: {query['title']}. {query['description']}", *map(str, rows)]))


def test_no_question_hides_a_table_or_a_view_of_its_name(kitchen: Path):
    """Datasette shows the question under the address of both."""
    described = metadata(kitchen)["databases"]["collection"]
    assert {*described["queries"]}.isdisjoint(described["tables"])


def test_the_hardest_topics_have_the_lowest_precision_of_pooled_runs(kitchen: Path):
    asked = metadata(kitchen)["databases"]["collection"]["queries"]["hardest_topics"]["sql"]
    hardest = {topic: mean for _, topic, _, mean, _ in answers(kitchen, asked)}
    pooled = [name for (name,) in answers(kitchen, "SELECT run FROM pool_runs")]
    scored = call("evaluate", *pooled, "-m", "P@5", "--by-topic", "--no-verdict", "-f", "json", folder=kitchen).out
    expected: dict[str, list[float]] = {}
    for row in json.loads(scored):
        expected.setdefault(row["topic"], []).append(row["value"])
    del expected["all"]
    assert hardest == pytest.approx({topic: sum(values) / len(pooled) for topic, values in expected.items()})
    assert list(hardest.values()) == sorted(hardest.values())


def test_contributions_are_those_of_the_view_and_of_the_qrels(kitchen: Path):
    asked = metadata(kitchen)["databases"]["collection"]["queries"]["contributions"]["sql"]
    found = {run: (documents, alone) for _, run, _, documents, _, alone, _ in answers(kitchen, asked)}
    view = answers(kitchen, "SELECT run, documents, only_this_group FROM pool_contributions")
    assert found == {run: (documents, alone) for run, documents, alone in view}
    relevant = sum(row[6] for row in answers(kitchen, asked))
    known = {
        (topic, document) for topic, document in answers(kitchen, "SELECT topic, document FROM qrels WHERE grade > 1")
    }
    senders: dict[tuple, set] = {}
    ranks = "SELECT topic, document, run, group_name FROM pool_ranks JOIN pool_runs USING (pool, run)"
    rows = [row for row in answers(kitchen, ranks) if row[:2] in known]
    for topic, document, _, group in rows:
        senders.setdefault((topic, document), set()).add(group)
    assert relevant == sum(len(senders[row[:2]]) == 1 for row in rows) > 0


def test_datasette_answers_and_does_not_change_anything(kitchen: Path):
    package("datasette")
    with contextlib.closing(sqlite3.connect(kitchen / "collection.db")) as plain:
        plain.execute("CREATE VIEW mine AS SELECT * FROM documents_fts")
    before = (kitchen / "collection.db").read_bytes()
    asked = call("datasette", "--get", "/collection/disagreements.json?_shape=array", folder=kitchen).out
    assert {"topic": "T03", "document": "K109"}.items() <= json.loads(asked)[0].items()
    for sql in ("DELETE FROM judgments", "WITH one AS (SELECT 1) DELETE FROM judgments", "SELECT * FROM mine"):
        path = "/collection.json?" + urlencode({"sql": sql})
        refused = json.loads(call("datasette", "--get", path, folder=kitchen, status=1).out)
        assert refused["ok"] is False
    assert json.loads(call("datasette", "--get", "/-/dashboards/nothing.json", folder=kitchen, status=1).out)
    assert "vega-lite" in call("datasette", "--get", "/-/dashboards/collection", folder=kitchen).out
    assert (kitchen / "collection.db").read_bytes() == before


def test_datasette_serves_this_machine_alone_and_shows_hostile_text_as_text(kitchen: Path):
    package("datasette")
    (kitchen / "hostile.jsonl").write_text('{"id": "h", "title": "<script>alert(1)</script>", "text": "<img src=x>"}')
    call("corpus", "add", "hostile.jsonl", folder=kitchen)
    page = call("datasette", "--get", "/collection/documents?id=h", folder=kitchen).out
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<img src=x>" not in page
    with pytest.MonkeyPatch.context() as patch:
        given: list[list[str]] = []
        patch.setattr("datasette.cli.cli.main", lambda words, **_: given.append(words))
        call("datasette", folder=kitchen)
    assert given[0][given[0].index("--host") + 1] == "127.0.0.1"


def test_a_file_that_nobody_can_write_is_read_as_it_is(kitchen: Path):
    package("datasette")
    (kitchen / "collection.db").chmod(0o444)
    kitchen.chmod(0o555)
    try:
        asked = call("datasette", "--get", "/collection/qrels.json?_shape=array&_size=1", folder=kitchen).out
    finally:
        kitchen.chmod(0o755)
    assert len(json.loads(asked)) == 1


def test_a_file_with_the_trigger_of_a_stranger_is_not_served(kitchen: Path, kept: Kept):
    with contextlib.closing(sqlite3.connect(kitchen / "collection.db")) as plain:
        plain.execute("CREATE TRIGGER mine AFTER INSERT ON leases BEGIN DELETE FROM leases; END")
        plain.commit()
    kept(call("datasette", "--get", "/", folder=kitchen, status=1).err)


def test_without_the_extra_the_error_names_it(kitchen: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "datasette", None)
    kept(call("datasette", folder=kitchen, status=1).err)


@pytest.mark.slow
def test_a_served_collection_shows_what_is_judged_meanwhile_and_ends_with_ctrl_c(kitchen: Path):
    package("datasette")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "cranfield", "datasette", "--port", str(port)]
    served = subprocess.Popen(command, cwd=kitchen, stderr=subprocess.PIPE, text=True, preexec_fn=HEARS_CTRL_C)
    page = f"http://127.0.0.1:{port}/collection/progress_by_topic.json?_shape=array"
    try:
        rows = fetched(page)
        assert sum(row["remaining"] for row in rows) == 0
        call("pool", "build", "depth 7", "--name", "deeper", folder=kitchen)
        assert sum(row["remaining"] for row in fetched(page)) > 0
    finally:
        served.send_signal(signal.SIGINT)
        said = served.communicate(timeout=30)[1]
    assert served.returncode == 0, said
    assert "Traceback" not in said
    call("check", folder=kitchen)


def fetched(page: str) -> list[dict]:
    for _ in range(300):
        with contextlib.suppress(URLError), urlopen(page) as answer:
            return json.load(answer)
        time.sleep(0.1)
    raise AssertionError(f"{page} was not served")


def test_a_past_track_is_answered_from_its_release(tmp_path: Path):
    (tmp_path / "topics.tsv").write_text("1\twings\n", "utf-8")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n1 0 d3 1\n", "utf-8")
    call("init", folder=tmp_path)
    call("corpus", "topics", "topics.tsv", folder=tmp_path)
    call("qrels", "import", "qrels.txt", "--name", "official", folder=tmp_path)
    (asked,) = metadata(tmp_path)["databases"].values()
    found = answers(tmp_path, asked["queries"]["grades_by_topic"]["sql"])
    assert [(topic, grade, documents) for topic, _, grade, _, documents, _ in found] == [("1", 0, 1), ("1", 1, 2)]
