"""Documents that stay outside are judged like others: fetched ahead, kept as judged, and flagged when they change."""

import json
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command import call
from kept import Kept
from search_server import SearchServer, search_server

from cranfield.base.errors import InputError
from cranfield.judge.session import Item
from cranfield.store.store import open_store
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.session import StoredSession

DOCUMENTS = {
    f"d{number:02}": {"title": f"Title {number}", "text": f"text {number} about soup"} for number in range(1, 11)
}
RUN = "".join(f"t1 Q0 {id} {rank} {100 - rank} one\n" for rank, id in enumerate(DOCUMENTS, start=1))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Go to another machine: one with settings of its own."""

    def go(name: str) -> None:
        for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            monkeypatch.setenv(variable, str(tmp_path / name))

    go("this machine")
    monkeypatch.chdir(tmp_path)
    return go


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with search_server(DOCUMENTS) as running:
        yield running


def begin(*sources: str, folder: Path) -> Path:
    """Make a collection with a pool of ten documents that stay where they are."""
    (folder / "topics.jsonl").write_text('{"id": "t1", "title": "soup"}\n')
    (folder / "one.run").write_text(RUN)
    call("init", "soups", folder=folder)
    call("corpus", "outside", *sources, folder=folder)
    call("corpus", "topics", "topics.jsonl", folder=folder)
    call("runs", "submit", "one.run", folder=folder)
    call("pool", "build", "depth 10", "--order", "plan", folder=folder)
    return folder / "collection.db"


@pytest.fixture
def served(server: SearchServer, machine: object, tmp_path: Path) -> Path:
    collection = begin(server.address, folder=tmp_path)
    server.asked.clear()
    return collection


@pytest.fixture
def sit(tmp_path: Path) -> Iterator[Callable[..., StoredSession]]:
    opened = []

    def seat(assessor: str = "ann", **options: object) -> StoredSession:
        opened.append(open_store(tmp_path / "collection.db"))
        return Judge(opened[-1]).session(assessor, **options)

    yield seat
    for store in opened:
        store.close()


Sit = Callable[..., StoredSession]


def query(path: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


def given(desk: StoredSession) -> Item:
    item = desk.next_item()
    assert item is not None
    return item


def plain(text: str) -> str:
    return re.sub(r"127\.0\.0\.1:\d+", "HOST", text)


def test_the_next_documents_are_fetched_while_one_is_read(served: Path, server: SearchServer, sit: Sit):
    desk = sit()
    assert given(desk).document.text == "text 1 about soup"
    while len(server.asked) < 5:
        time.sleep(0.01)
    assert sorted(server.asked) == [f"/docs/_doc/d{number:02}" for number in range(1, 6)]


def test_nothing_is_asked_of_a_source_while_a_judgment_is_written(served: Path, server: SearchServer, sit: Sit):
    desk = sit()
    item = given(desk)
    server.slow = set(DOCUMENTS)
    started = time.monotonic()
    desk.judge(item, 1, seconds=1.0)
    assert time.monotonic() - started < 1
    assert query(served, "SELECT document, grade FROM judgments") == [("d01", 1)]


def test_what_is_judged_is_kept_with_its_hash_and_nothing_else(served: Path, sit: Sit):
    desk = sit()
    first = given(desk)
    desk.judge(first, 1, seconds=1.0)
    desk.judge(given(desk), None, seconds=1.0)
    desk.judge(given(desk), None, reason="broken", seconds=1.0)
    desk.leave()
    kept = query(served, "SELECT id, text, content_hash FROM kept_documents")
    assert kept == [("d01", "text 1 about soup", first.document.content_hash)]
    assert query(served, "SELECT document_hash FROM judgment_events WHERE grade IS NOT NULL") == [(kept[0][2],)]
    assert query(served, "SELECT count(*) FROM documents") == [(0,)]


def test_years_later_what_was_judged_is_shown_without_its_source(
    served: Path, server: SearchServer, sit: Sit, machine: Callable[[str], None]
):
    desk = sit()
    desk.judge(given(desk), 1, seconds=1.0)
    desk.leave()
    machine("another machine")
    server.asked.clear()
    again = sit().reopen("t1", "d01")
    assert (again.document.text, again.remark, again.missing) == ("text 1 about soup", "", False)
    assert "text 1 about soup" in call("corpus", "show", "d01").out
    assert "/docs/_doc/d01" not in server.asked


def test_a_collection_from_elsewhere_contacts_nothing(
    served: Path, server: SearchServer, tmp_path: Path, machine: Callable[[str], None], kept: Kept
):
    (tmp_path / "secret.txt").write_text("secret")
    machine("the machine of somebody else")
    commands = ["status", "check", "corpus outside", "corpus show", "runs list", "pool show", "qrels export -f trec"]
    for line in commands:
        call(*line.split(), status=None)
    shown = call("judge", "--plain", "-a", "eve", answers="1\nl\n\nquit\n", status=1)
    kept(plain(shown.out))
    shutil.copy("collection.db", "theirs.db")
    shown = call("judge", "--plain", "-a", "eve", "-C", "theirs.db", answers="quit\n", status=0)
    assert "cranfield -C theirs.db corpus outside --approve" in shown.out
    kept(plain(call("corpus", "show", "d01", status=1).err))
    kept(plain(call("judge", "packet", "eve", "-o", "packet.db", status=1).err))
    kept(plain(call("corpus", "outside").out + call("corpus", "outside").err))
    assert server.asked == []
    # Neither does a path that is written into the file by hand.
    with closing(sqlite3.connect(served)) as database, database:
        database.execute("INSERT INTO outside_sources VALUES (2, 'folder', ?, '{}', 1, '')", [str(tmp_path)])
    assert "secret" not in call("corpus", "show", "secret.txt", status=1).out
    call("corpus", "outside", "--approve", server.address)
    assert "text 1 about soup" in call("corpus", "show", "d01").out
    assert "secret" not in call("corpus", "show", "secret.txt", status=1).out


def test_an_approval_is_for_one_collection_and_one_address(
    served: Path, server: SearchServer, tmp_path: Path, machine: object
):
    other = tmp_path / "other"
    other.mkdir()
    call("init", "soups", folder=other)
    with closing(sqlite3.connect(other / "collection.db")) as database, database:
        row = query(served, "SELECT * FROM outside_sources")[0]
        database.execute("INSERT INTO outside_sources VALUES (?, ?, ?, ?, ?, ?)", row)
    server.asked.clear()
    call("corpus", "show", "d01", status=1, folder=other)
    assert server.asked == []


def test_a_slow_document_can_be_postponed_and_not_judged(served: Path, server: SearchServer, sit: Sit, kept: Kept):
    server.slow = {"d01"}
    desk = sit()
    slow = given(desk)
    assert slow.missing
    kept(plain(slow.remark))
    with kept.raises(InputError):
        desk.judge(slow, 1, seconds=1.0)
    desk.judge(slow, None, seconds=1.0)
    started = time.monotonic()
    for number in range(2, 11):
        item = given(desk)
        assert item.document.text == f"text {number} about soup"
        desk.judge(item, 0, seconds=1.0)
    assert time.monotonic() - started < 2
    server.over.set()
    assert given(desk).document.text == "text 1 about soup"
    assert query(served, "SELECT document_hash FROM judgment_events WHERE kind = 'postponed'") == [("",)]


def test_a_source_that_is_gone_is_said_and_enter_tries_again(served: Path, server: SearchServer, kept: Kept):
    server.documents.pop("d01")
    kept(plain(call("judge", "--plain", "-a", "ann", answers="1\n\nl\n2\nquit\n", status=1).out))
    assert query(served, "SELECT document, kind FROM judgments ORDER BY 1") == [("d01", "postponed")]


def test_a_text_that_changed_outside_is_flagged_and_what_was_judged_is_shown(
    served: Path, server: SearchServer, sit: Sit, kept: Kept
):
    desk = sit()
    for _ in range(2):
        desk.judge(given(desk), 1, seconds=1.0)
    desk.leave()
    server.documents["d01"] = {"title": "Title 1", "text": "another text"}
    again = sit().reopen("t1", "d01")
    assert again.document.text == "text 1 about soup"
    kept(again.remark)
    kept([line for line in call("check").err.splitlines() if "SQLite" not in line])
    server.documents.clear()
    kept(plain("\n".join(line for line in call("check").err.splitlines() if "SQLite" not in line)))


def test_two_versions_that_were_judged_are_both_kept_and_flagged(
    served: Path, server: SearchServer, sit: Sit, kept: Kept
):
    ann, ben = sit("ann"), sit("ben")
    call("judge", "assign", "ann", "ben", "--together", "--overlap", "100%")
    ann, ben = sit("ann"), sit("ben")
    first = given(ann)
    server.documents["d01"] = {"title": "Title 1", "text": "another text"}
    second = given(ben)
    assert (first.document.text, second.document.text) == ("text 1 about soup", "another text")
    ann.judge(first, 1, seconds=1.0)
    ben.judge(second, 0, seconds=1.0)
    assert query(served, "SELECT id, text FROM kept_documents") == [
        ("d01", "text 1 about soup"),
        ("d01", "another text"),
    ]
    kept([line for line in call("check").err.splitlines() if "SQLite" not in line])
    kept(ben.reopen("t1", "d01").remark)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE kept_documents SET text = 'x'",
        "DELETE FROM kept_documents",
        "INSERT INTO kept_documents SELECT 9, id, title, text, metadata, 'other', kept FROM kept_documents",
        "UPDATE outside_sources SET place = 'http://127.0.0.2/docs'",
    ],
)
def test_what_is_changed_by_hand_is_found(served: Path, sit: Sit, change: str):
    desk = sit()
    desk.judge(given(desk), 1, seconds=1.0)
    desk.leave()
    triggers = dict(query(served, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    with closing(sqlite3.connect(served)) as database, database:
        for name in ("kept_documents_update", "kept_documents_delete"):
            database.execute(f"DROP TRIGGER {name}")
        database.execute(change)
        for name in ("kept_documents_update", "kept_documents_delete"):
            database.execute(triggers[name])
    assert "WRONG" in call("check", "-f", "csv", status=1).out


def test_a_packet_carries_its_documents(
    served: Path, server: SearchServer, machine: Callable[[str], None], kept: Kept
):
    server.documents.pop("d10")
    kept(plain(call("judge", "packet", "eve", "-o", "packet.db").err))
    assert query(served, "SELECT count(*) FROM kept_documents") == [(9,)]
    machine("the laptop of eve")
    server.asked.clear()
    call("judge", "--plain", "-a", "eve", "-C", "packet.db", answers="1\n" * 9)
    assert query(Path("packet.db"), "SELECT count(*) FROM outside_sources") == [(0,)]
    assert server.asked == []
    machine("this machine")
    call("judge", "merge", "packet.db")
    assert query(served, "SELECT count(*) FROM judgments WHERE grade = 1") == [(9,)]
    assert set(query(served, "SELECT document_hash FROM judgment_events")) == set(
        query(served, "SELECT content_hash FROM kept_documents")
    )


def test_a_program_judges_documents_that_stay_outside(served: Path, tmp_path: Path):
    judge = tmp_path / "judge.py"
    judge.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    grade = int('soup' in asked['document']['text'])\n"
        "    print(json.dumps({'topic': 't1', 'document': asked['document']['id'], 'grade': grade}), flush=True)\n"
    )
    call("judge", "with", f"{sys.executable} {judge}", "--as", "m@1")
    assert query(served, "SELECT count(*), sum(grade) FROM judgments") == [(10, 10)]
    assert query(served, "SELECT count(*) FROM kept_documents") == [(10,)]


def test_search_and_baselines_say_that_they_do_not_cover_them(served: Path, kept: Kept):
    for line in ("corpus search soup", "corpus duplicates", "runs make bm25 -o x.run"):
        kept(call(*line.split(), status=1).err)
    kept(call("judge", "--plain", "-a", "ann", answers="search soup\nquit\n").out.splitlines()[-3:])
    shown = call("status")
    kept(plain(shown.out + shown.err))


def test_a_source_is_removed_and_what_was_judged_stays(served: Path, server: SearchServer, sit: Sit, kept: Kept):
    desk = sit()
    desk.judge(given(desk), 1, seconds=1.0)
    desk.leave()
    call("corpus", "outside", "--remove", server.address)
    assert "text 1 about soup" in call("corpus", "show", "d01").out
    kept(call("corpus", "outside").err)
    kept(call("corpus", "outside", "--remove", "opensearch:http://127.0.0.1:1/never", status=2).err)
    assert "WRONG" not in call("check", "-f", "csv").out


def test_a_source_that_does_not_work_is_not_added(machine: object, tmp_path: Path, kept: Kept):
    call("init", "soups")
    kept(call("corpus", "outside", "jsonl:missing.jsonl", status=1).err)
    (tmp_path / "bad.jsonl").write_text("{}\n")
    kept(call("corpus", "outside", "jsonl:bad.jsonl", status=1).err)
    assert query(tmp_path / "collection.db", "SELECT count(*) FROM outside_sources") == [(0,)]


def test_a_source_with_other_ids_is_noticed_when_it_is_added_and_when_a_pool_is_built(
    machine: object, tmp_path: Path, kept: Kept
):
    for id in DOCUMENTS:
        (tmp_path / "texts" / f"{id}.txt").parent.mkdir(exist_ok=True)
        (tmp_path / "texts" / f"{id}.txt").write_text("soup")
    begin("folder:texts", folder=tmp_path)
    kept(plain(call("pool", "build", "depth 5", "--name", "short").err).replace(str(tmp_path), "HERE"))
    kept(plain(call("corpus", "outside", "folder:texts").err).replace(str(tmp_path), "HERE"))
    (tmp_path / "soups.jsonl").write_text("".join(json.dumps({"id": id, "text": "soup"}) + "\n" for id in DOCUMENTS))
    kept(plain(call("corpus", "outside", "jsonl:soups.jsonl").err).replace(str(tmp_path), "HERE"))


def test_a_report_and_a_release_are_made_without_the_texts(served: Path, sit: Sit):
    desk = sit()
    while item := desk.next_item():
        desk.judge(item, 1, seconds=1.0)
    desk.leave()
    call("qrels", "release", "v1", "--bundle", "bundle")
    assert json.loads(Path("bundle/card.json").read_text())["counts"]["documents_outside"] == 10
    call("report", "-o", "report.html")
    assert "</html>" in Path("report.html").read_text(encoding="utf-8")


def test_a_document_outside_is_judged_at_the_keyboard(machine: object, tmp_path: Path):
    file = tmp_path / "soups.jsonl"
    file.write_text("".join(json.dumps({"id": id, **fields}) + "\n" for id, fields in DOCUMENTS.items()))
    collection = begin("jsonl:soups.jsonl", folder=tmp_path)
    shown = call("judge", "--plain", "-a", "ann", answers="1\n0\nundo\n1\nquit\n").out
    assert shown.count("text 2 about soup") == 2
    assert query(collection, "SELECT document, grade FROM judgments ORDER BY 1") == [("d01", 1), ("d02", 1)]
