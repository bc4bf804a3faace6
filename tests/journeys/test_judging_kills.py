"""Judgments are never lost: killed at any moment, a full disk, eight processes at once."""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.base.errors import CollectionError, CollectionMoved
from cranfield.store.events import events, projection_faults, standing
from cranfield.store.store import Store, open_store
from cranfield.workflows.check import check
from cranfield.workflows.judge.judge import Judge

SOAK = bool(os.environ.get("CRANFIELD_SOAK"))
KILLS, ROUNDS = (1_000, 200) if SOAK else (20, 3)
PROCESSES, EACH = 8, 500 if SOAK else 40
TOPICS, DEPTH = 50, 100
SCRIPT = "1\n0\n1: with a note\nl\nu\n0\nx torn\n" * 1_000
SAVED = re.compile(
    r"^(?:answer> )?saved: (?:(?P<grade>\d+) [^\n]*?|postponed|cannot judge) for (?P<document>[^\s,;]+)"
)
BACK = re.compile(r"^(?:answer> )?undone \([^)]*\): (?P<document>\S+) is open again")


def cranfield(*words: object) -> list[str]:
    return [sys.executable, "-m", "cranfield", *(str(word) for word in words)]


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with a pool of 5,000 documents, each of one topic alone."""
    folder = tmp_path_factory.mktemp("pooled")
    names = [f"d{number:05}" for number in range(TOPICS * DEPTH)]
    lines = [json.dumps({"id": name, "text": f"the text of {name}"}) for name in names]
    (folder / "documents.jsonl").write_text("\n".join(lines))
    (folder / "topics.jsonl").write_text(
        "\n".join(json.dumps({"id": f"t{topic:02}", "title": f"topic {topic}"}) for topic in range(TOPICS))
    )
    with (folder / "a.run").open("w") as stream:
        for place, name in enumerate(names):
            topic, rank = divmod(place, DEPTH)
            stream.write(f"t{topic:02} Q0 {name} {rank + 1} {DEPTH - rank} a\n")
    for words in (
        ["init", "test"],
        ["corpus", "add", "documents.jsonl"],
        ["corpus", "topics", "topics.jsonl"],
        ["runs", "submit", "--contributing", "a.run"],
        ["pool", "build", f"depth {DEPTH}"],
    ):
        subprocess.run(cranfield(*words), cwd=folder, check=True, capture_output=True)
    return folder / "collection.db"


def confirmed(shown: str) -> list[tuple[str, str, int | None]]:
    """Give what the screen said was saved: (kind, document, grade)."""
    found: list[tuple[str, str, int | None]] = []
    for line in shown.splitlines():
        if saved := SAVED.match(line):
            grade = saved["grade"]
            kind = "judged" if grade else "postponed" if "postponed" in line else "cannot-judge"
            found.append((kind, saved["document"], int(grade) if grade else None))
        elif back := BACK.match(line):
            found.append(("undone", back["document"], None))
    return found


def in_file(store: Store) -> list[tuple[str, str, int | None]]:
    return [(event.kind, event.document, event.grade) for event in events(store)]


def killed_sitting(path: Path, folder: Path, after: float) -> str:
    """Judge in a process of its own, kill it some seconds after its first question, and give what it had shown."""
    screen, script = folder / "screen.txt", folder / "script.txt"
    script.write_text(SCRIPT)
    with screen.open("wb") as out, script.open("rb") as lines:
        process = subprocess.Popen(
            cranfield("judge", "--plain", "-a", "ana", "-C", path), stdin=lines, stdout=out, stderr=subprocess.PIPE
        )
        while b"answer>" not in screen.read_bytes():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.005)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return screen.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(20_000)
def test_each_judgment_that_was_confirmed_survives_a_kill(pooled: Path, tmp_path: Path):
    draw, most, hits = random.Random(5), 0.0, 0
    for attempt in range(KILLS):
        path = Path(shutil.copy(pooled, tmp_path / "collection.db"))
        shown = confirmed(killed_sitting(path, tmp_path, draw.uniform(0.0, 0.4)))
        hits += len(shown) > 5
        with open_store(path) as store:
            kept = in_file(store)
            assert kept[: len(shown)] == shown
            # The last answer may be saved and not yet be shown: never the other way round.
            assert len(kept) - len(shown) <= 1
            assert projection_faults(store) == []
            answers = Counter((event.document, event.assessor) for event in standing(store))
            assert set(answers.values()) <= {1}
            if attempt % 10 == 0:
                assert [finding.wrong for finding in check(store).findings if finding.wrong] == []
        for left in tmp_path.glob("collection.db*"):
            left.unlink()
        most = max(most, len(shown))
    assert hits, "no sitting came far enough to be killed in the middle"


@pytest.mark.slow
@pytest.mark.timeout(20_000)
def test_a_backup_is_put_back_after_a_kill_and_judging_goes_on(pooled: Path, tmp_path: Path):
    path, draw = Path(shutil.copy(pooled, tmp_path / "collection.db")), random.Random(6)
    for number in range(ROUNDS):
        backup = tmp_path / f"{number}.db"
        call("backup", backup, "-C", path)
        with open_store(backup) as store:
            before = in_file(store)
        killed_sitting(path, tmp_path, draw.uniform(0.0, 0.2))
        call("restore", backup, "-C", path)
        with open_store(path) as store:
            assert in_file(store) == before
            assert check(store).wrong == []
        shown = confirmed(killed_sitting(path, tmp_path, draw.uniform(0.0, 0.2)))
        with open_store(path) as store:
            assert in_file(store)[: len(before) + len(shown)] == before + shown
        for left in (backup, *tmp_path.glob("collection.db.replaced-*")):
            left.unlink()


def test_a_backup_is_put_back_only_if_it_is_sound_and_nobody_has_the_file_open(
    pooled: Path, tmp_path: Path, kept: Kept
):
    path = Path(shutil.copy(pooled, tmp_path / "collection.db"))
    call("backup", "sound.db", "-C", path, folder=tmp_path)
    with closing(sqlite3.connect(shutil.copy(tmp_path / "sound.db", tmp_path / "changed.db"))) as changed:
        changed.execute("UPDATE documents SET text = 'other' WHERE id = 'd00007'")
        changed.commit()
    before = path.read_bytes()
    kept(call("restore", "changed.db", folder=tmp_path, status=1).err)
    with open_store(path) as store:
        store.rows("SELECT 1 FROM documents LIMIT 1")
        kept(call("restore", "sound.db", folder=tmp_path, status=1).err)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["changed.db", "collection.db", "sound.db"]
    kept(call("restore", "sound.db", folder=tmp_path).err)
    with open_store(path) as store:
        assert check(store).wrong == []


def test_what_is_wrong_with_a_backup_is_said_of_the_backup(pooled: Path, tmp_path: Path):
    call("backup", "backup.db", "-C", pooled, folder=tmp_path)
    with closing(sqlite3.connect(tmp_path / "backup.db")) as file:
        (size,) = file.execute("PRAGMA page_size").fetchone()
        (page,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'topics'").fetchone()
    with (tmp_path / "backup.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"x" * size)
    said = call("restore", "backup.db", folder=tmp_path, status=1).err
    assert "topics: backup.db is damaged" in said
    assert not re.search("unfinished|cranfield restore", said)


def test_a_backup_of_another_collection_is_not_put_in_the_place_of_this_one(tmp_path: Path, kept: Kept):
    for name in ("one", "two"):
        call("init", name, "-C", f"{name}.db", folder=tmp_path)
    call("backup", "backup.db", "-C", "one.db", folder=tmp_path)
    before = (tmp_path / "two.db").read_bytes()
    kept(re.sub(r"2\d{3}-\S+Z", "WHEN", call("restore", "backup.db", "-C", "two.db", folder=tmp_path, status=1).err))
    assert (tmp_path / "two.db").read_bytes() == before
    (tmp_path / "two.db").write_bytes(b"damaged")
    call("restore", "backup.db", "-C", "two.db", folder=tmp_path)
    call("check", "-C", "two.db", folder=tmp_path)


@pytest.mark.parametrize("harm", ["cut", "overwritten", "other", "missing"])
def test_a_backup_that_cannot_be_read_is_not_replaced_by_itself(harm: str, pooled: Path, tmp_path: Path, kept: Kept):
    path = Path(shutil.copy(pooled, tmp_path / "collection.db"))
    call("backup", "backup.db", "-C", path, folder=tmp_path)
    before, whole = path.read_bytes(), (tmp_path / "backup.db").read_bytes()
    harmed = {"cut": whole[:30_000], "overwritten": whole[:5_000] + b"x" * len(whole[5_000:]), "other": b"x" * 999}
    (tmp_path / "backup.db").unlink()
    if harm in harmed:
        (tmp_path / "backup.db").write_bytes(harmed[harm])
    kept(call("restore", "backup.db", folder=tmp_path, status=1).err)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["wal", "journal"])
def test_a_log_alone_goes_aside_under_the_name_that_is_shown(kind: str, pooled: Path, tmp_path: Path):
    shutil.copy(pooled, tmp_path / "backup.db")
    (tmp_path / f"collection.db-{kind}").write_bytes(b"left")
    shown = call("restore", "backup.db", folder=tmp_path).err.split()[-1]
    assert (tmp_path / shown).read_bytes() == b"left"


def test_a_link_to_a_collection_still_leads_to_it_after_a_restore(pooled: Path, tmp_path: Path):
    (tmp_path / "shared").mkdir()
    file, link = tmp_path / "shared" / "collection.db", tmp_path / "link.db"
    shutil.copy(pooled, file)
    link.symlink_to(file)
    call("backup", "backup.db", "-C", "link.db", folder=tmp_path)
    killed_sitting(link, tmp_path, 0.2)
    call("restore", "backup.db", "-C", "link.db", folder=tmp_path)
    assert link.readlink() == file
    assert not list(tmp_path.glob("link.db?*"))
    assert list(file.parent.glob("collection.db.replaced-*"))
    with open_store(link) as store:
        assert in_file(store) == []
        assert check(store).wrong == []


def test_judging_through_a_link_ends_when_the_log_is_taken_away(pooled: Path, tmp_path: Path):
    (tmp_path / "shared").mkdir()
    shutil.copy(pooled, file := tmp_path / "shared" / "collection.db")
    (tmp_path / "link.db").symlink_to(file)
    with open_store(tmp_path / "link.db") as store:
        desk = Judge(store).session("ana")
        desk.judge(desk.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        file.with_name("collection.db-wal").rename(tmp_path / "taken")
        with pytest.raises(CollectionMoved):
            desk.judge(desk.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]


def test_judging_ends_when_its_link_leads_elsewhere_and_the_file_keeps_its_log(pooled: Path, tmp_path: Path):
    file, other, link = (tmp_path / name for name in ("collection.db", "other.db", "link.db"))
    for copy in (file, other):
        shutil.copy(pooled, copy)
    link.symlink_to(file)
    with open_store(file) as bobs, open_store(link) as anas:
        bob, ana = Judge(bobs).session("bob"), Judge(anas).session("ana")
        for desk in (bob, ana):
            desk.judge(desk.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        link.unlink()
        link.symlink_to(other)
        with pytest.raises(CollectionMoved):
            ana.judge(ana.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        bob.judge(bob.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        with open_store(file) as store:
            assert len(in_file(store)) == 3


@pytest.mark.parametrize("before", [0, 1])
def test_judging_ends_when_the_file_becomes_a_link(before: int, pooled: Path, tmp_path: Path):
    shutil.copy(pooled, file := tmp_path / "collection.db")
    with open_store(file) as store:
        desk = Judge(store).session("ana")
        for _ in range(before):
            desk.judge(desk.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        file.rename(tmp_path / "moved.db")
        file.symlink_to("moved.db")
        with pytest.raises(CollectionMoved, match="became a link"):
            desk.judge(desk.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
    with open_store(file) as store:
        assert len(in_file(store)) >= before


def remove(file: Path, other: Path) -> None:
    file.unlink()


def rename(file: Path, other: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))


def replace_by_another(file: Path, other: Path) -> None:
    shutil.copy(other, file.with_name("synced.db"))
    file.with_name("synced.db").replace(file)


@pytest.mark.parametrize("harm", [remove, rename, replace_by_another])
@pytest.mark.parametrize("before", [0, 1, 4] if not SOAK else range(40))
def test_nothing_is_called_saved_once_the_file_is_gone(harm: object, before: int, pooled: Path, tmp_path: Path):
    file, backup = tmp_path / "collection.db", tmp_path / "backup.db"
    shutil.copy(pooled, file)
    call("backup", backup, "-C", file)
    sitting = subprocess.Popen(
        cranfield("judge", "-C", file, "-a", "ann", "--plain"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert sitting.stdin is not None
    assert sitting.stdout is not None
    shown = ""
    while "for help" not in shown or shown.count("saved:") < before:
        if shown.count("\n") and "for help" in shown and shown.count("typed") == 0:
            sitting.stdin.write("1\n" * before)
            sitting.stdin.flush()
            shown += "typed"
        shown += sitting.stdout.read(1)
    harm(file, backup)  # type: ignore[operator]
    rest, _ = sitting.communicate("1\n1\n", timeout=60)
    assert "saved:" not in rest.replace("NOT saved:", "")
    assert "judging has ended" in rest
    assert sitting.returncode == 1
    if harm is rename:
        # All that was saved is in the file, though it is elsewhere: its log was left behind.
        with closing(sqlite3.connect(tmp_path / "elsewhere.db")) as moved:
            assert moved.execute("SELECT count(*) FROM judgments").fetchone()[0] >= before
    (recovered,) = tmp_path.glob("collection.recovered-*.db")
    assert recovered.name in rest
    if harm is not replace_by_another:
        call("restore", backup, "-C", file)
    call("check", "-C", file)
    call("judge", "merge", recovered, "-C", file, status=1)
    call("judge", "merge", recovered, "--trust", "-C", file)
    call("check", "-C", file)
    # The one that was typed after it was taken, unless the loss was noticed while its document was opened.
    (kept,) = re.findall(r"(\d+) answers? of this session kept", rest)
    assert int(kept) in (before, before + 1)
    with open_store(file) as store:
        assert len(in_file(store)) == int(kept)


def test_a_log_that_is_left_of_a_renamed_file_is_named_and_joined_by_renaming(
    pooled: Path, tmp_path: Path, kept: Kept
):
    file, folder = tmp_path / "collection.db", tmp_path / "left"
    shutil.copy(pooled, file)
    folder.mkdir()
    with open_store(file) as store:
        desk = Judge(store).session("ana")
        desk.judge(desk.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        before = in_file(store)
        # What is there when the session is killed now, after somebody has renamed the file.
        shutil.copy(file, folder / "moved.db")
        shutil.copy(f"{file}-wal", folder)
    for command in ("status", "init"):
        kept(call(command, folder=folder, status=1).err)
    for command in ("status", "check"):
        said = call(command, "-C", "moved.db", folder=folder).err
        kept("".join(line for line in said.splitlines() if "-wal" in line))
    (folder / "moved.db").rename(folder / "collection.db")
    assert "-wal" not in call("check", folder=folder).err
    with open_store(folder / "collection.db") as store:
        assert in_file(store) == before != []


def test_who_has_opened_the_new_file_beside_an_old_log_is_told(pooled: Path, tmp_path: Path):
    file = tmp_path / "collection.db"
    shutil.copy(pooled, file)
    with open_store(file) as bobs:
        bob = Judge(bobs).session("bob")
        bob.judge(bob.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
        replace_by_another(file, pooled)
        with open_store(file) as dans:
            dan = Judge(dans).session("dan")
            dan.judge(dan.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
            with pytest.raises(CollectionMoved):
                bob.judge(bob.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
            with pytest.raises(CollectionMoved):
                dan.judge(dan.next_item(), 1, seconds=1.0)  # type: ignore[arg-type]
            assert "1 answer" in dan.rescue() or "2 answers" in dan.rescue()


def test_dated_backups_leave_those_of_other_collections_alone(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        call("init", name, "-C", tmp_path / name / "collection.db")
    folder = tmp_path / "backups"
    folder.mkdir()
    for name in ("one", "two", "one"):
        call("backup", folder, "--keep", "1", "-C", tmp_path / name / "collection.db")
    assert len(list(folder.iterdir())) == 2


def test_dated_backups_keep_the_latest(pooled: Path, tmp_path: Path):
    (tmp_path / "collection-notes.db").write_text("not a backup")
    for _ in range(3):
        call("backup", tmp_path, "--keep", 2, "-C", pooled)
    copies = sorted(tmp_path.glob("collection-20*.db"))
    assert len(copies) == 2
    copies[0].rename(tmp_path / "collection-2999-01-01T000000.000Z.db")  # by a clock far ahead
    call("backup", tmp_path, "--keep", 2, "-C", pooled)
    before, copies = copies[1], sorted(tmp_path.glob("collection-2*.db"))
    assert [len(copies), copies[0]] == [2, before]
    assert (tmp_path / "collection-notes.db").exists()
    call("check", "-C", copies[-1])


@pytest.mark.slow
def test_after_a_kill_the_work_goes_on_where_it_was(pooled: Path, tmp_path: Path):
    path = Path(shutil.copy(pooled, tmp_path / "collection.db"))
    killed_sitting(path, tmp_path, 0.2)
    with open_store(path) as store:
        before = {event.document for event in standing(store)}
        desk = Judge(store).session("ana", topics=["t00"], clock=lambda: time.time() + 3_600)
        shown = []
        while (item := desk.next_item()) is not None:
            shown.append(item.document.id)
            desk.judge(item, 1, seconds=1)
        put_off = {event.document for event in events(store) if event.kind == "postponed"}
        assert set(shown) & before <= put_off
        assert {event.document for event in standing(store) if event.topic == "t00"} == {
            f"d{number:05}" for number in range(DEPTH)
        }


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_eight_processes_judge_one_collection_at_once(pooled: Path, tmp_path: Path):
    path = Path(shutil.copy(pooled, tmp_path / "collection.db"))
    # Two of the eight sit under one name: they must not get the same documents either.
    names = ["ana", "ana", *(f"assessor{number}" for number in range(PROCESSES - 2))]
    sitting = [
        subprocess.Popen(
            cranfield("judge", "--plain", "-a", name, "-C", path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in sitting:
        assert process.stdin is not None
        process.stdin.write("1\n" * EACH)
        process.stdin.close()
        process.stdin = None
    ended = [process.communicate() for process in sitting]
    assert [process.returncode for process in sitting] == [0] * PROCESSES
    assert [err for _, err in ended if "locked" in err or "Traceback" in err] == []
    shown = [confirmed(out) for out, _ in ended]
    assert [len(one) for one in shown] == [EACH] * PROCESSES
    given = Counter(document for one in shown for _, document, _ in one)
    assert set(given.values()) == {1}
    with open_store(path) as store:
        assert sorted(in_file(store)) == sorted(answer for one in shown for answer in one)
        assert store.rows("SELECT * FROM leases") == []
        assert [finding.wrong for finding in check(store).findings if finding.wrong] == []


def test_a_full_disk_is_told_and_the_sitting_goes_on_when_there_is_room(pooled: Path, tmp_path: Path, kept: Kept):
    path = Path(shutil.copy(pooled, tmp_path / "collection.db"))
    with open_store(path) as store, open_store(path) as reader:
        desk = Judge(store).session("ana")
        item = desk.next_item()
        assert item is not None
        desk.judge(item, 1, seconds=1)
        waiting = desk.next_item()
        assert waiting is not None
        store.connection.execute(f"PRAGMA max_page_count = {store.value('PRAGMA page_count')}")
        before, leases = in_file(reader), reader.rows("SELECT * FROM leases")
        for _ in range(3):
            with kept.raises(CollectionError):
                desk.judge(waiting, 0, seconds=1, note="n" * 100_000)
            assert (in_file(reader), reader.rows("SELECT * FROM leases")) == (before, leases)
            assert projection_faults(reader) == []
        assert desk.next_item() == waiting
        store.connection.execute("PRAGMA max_page_count = 1000000")
        assert desk.judge(waiting, 0, seconds=1, note="n" * 100_000).late is False
        following = desk.next_item()
        assert following is not None
        assert following.position == waiting.position + 1
        assert in_file(reader) == [*before, ("judged", waiting.document.id, 0)]
        assert [finding.wrong for finding in check(reader).findings if finding.wrong] == []
