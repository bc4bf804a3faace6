"""Files that an earlier version wrote: they open, and all that is asked of them is answered as it was.

`tests/fixtures/make_artefacts.py` tells how they were made. Nothing here knows the inside of the program: it is
driven by its commands and by `open_collection` and `open_files`, so that the inside can be changed under it.
"""

import contextlib
import csv
import hashlib
import importlib.util
import io
import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from command import call

import cranfield as cf

FIXTURES = Path(__file__).parents[1] / "fixtures"
_specification = importlib.util.spec_from_file_location("make_artefacts", FIXTURES / "make_artefacts.py")
artefacts = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(artefacts)

NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{10,}(?:e-?\d+)?(?![\w.])")
"""A number in full precision: it may differ after its ninth digit, as processors round differently."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artefacts.unpacked(tmp_path_factory.mktemp("kept") / "files")


@pytest.fixture
def kept(unpacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kept files, a copy that may be changed, as the folder in which commands run."""
    monkeypatch.delenv("CRANFIELD_COLLECTION", raising=False)
    shutil.copytree(unpacked, tmp_path / "kept")
    monkeypatch.chdir(tmp_path / "kept")
    return tmp_path / "kept"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same files, written by the code of today."""
    folder = tmp_path_factory.mktemp("made") / "files"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CRANFIELD_COLLECTION", raising=False)
        artefacts.make(folder)
    return folder


def rows(line: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(artefacts.typed(f"{line} -f csv"))))


def settings(path: Path) -> dict:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return {name: json.loads(value) for name, value in database.execute("SELECT name, value FROM settings")}


@pytest.mark.parametrize("reading", artefacts.READINGS)
def test_what_is_asked_of_older_files_is_answered_as_it_was(kept: Path, reading: str):
    expected = (FIXTURES / "expected" / reading).read_bytes().decode("utf-8")
    got = artefacts.typed(artefacts.READINGS[reading])
    # The history begins when an older file is opened.
    got = "".join(
        line for line in got.splitlines(keepends=True) if not line.lstrip().startswith(("history,", '"history":'))
    )
    assert NUMBER.sub("#", got) == NUMBER.sub("#", expected)
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (got, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-12)


def test_nothing_is_expected_that_nobody_asks():
    assert {path.name for path in (FIXTURES / "expected").iterdir()} == {*artefacts.READINGS, "frames.json"}


@pytest.mark.parametrize("name", artefacts.DATABASES)
def test_an_older_database_is_sound(kept: Path, name: str):
    assert {row["result"] for row in rows(f"check -C {name}.db")} == {"sound"}


def test_python_gets_the_frames_it_got(kept: Path):
    assert artefacts.frames(kept) == json.loads((FIXTURES / "expected" / "frames.json").read_text(encoding="utf-8"))


def test_python_scores_older_files_as_the_command_line_does(kept: Path):
    expected = csv.DictReader(
        (FIXTURES / "expected" / "bundle-evaluate.csv").read_text(encoding="utf-8").splitlines()
    )
    scores = cf.open_files(qrels="bundle/qrels.txt", runs=["mortar.run", "whisk.run"]).evaluate("AP", verdicts=False)
    assert list(scores["value"]) == pytest.approx([float(row["value"]) for row in expected])


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl", "scores.json"])
def test_saved_scores_are_no_longer_compared_and_it_is_said_what_to_type(kept: Path, name: str):
    said = "--scores was removed; compare the runs themselves: cranfield compare RUN RUN… --qrels QRELS"
    assert said in call("compare", "--scores", name, status=2).err


def test_every_stored_plan_is_built_again(kept: Path):
    with contextlib.closing(sqlite3.connect("plans.db")) as database:
        stored = database.execute(
            "SELECT name, plan, plan_in_full, content_hash FROM pools ORDER BY number"
        ).fetchall()
    assert len(stored) == len(artefacts.PLANS) + 1
    for name, _, _, content_hash in stored:
        assert artefacts.typed(f"pool verify -C plans.db --name {name}").split()[-1] == content_hash
    for name, _, in_full, _ in stored[1:]:
        artefacts.typed(f"pool build '{in_full}' -C plans.db --name again-{name}")
    with contextlib.closing(sqlite3.connect("plans.db")) as database:
        again = database.execute("SELECT plan_in_full, content_hash FROM pools ORDER BY number").fetchall()
    assert again[len(stored) :] == [(in_full, content_hash) for _, _, in_full, content_hash in stored[1:]]


def test_a_live_pool_goes_on_choosing(kept: Path):
    before = rows("judge progress -C live.db")
    artefacts.typed("judge --plain -a Cora -C live.db", answers="1\n0\n2\n0\nq\n")
    after = rows("judge progress -C live.db")
    assert sum(int(row["judged"]) for row in after) == sum(int(row["judged"]) for row in before) + 4
    assert "is what its plan says" in artefacts.typed("pool verify -C live.db")


def test_an_older_packet_comes_back_once(kept: Path):
    events = (
        "SELECT count(*), count(DISTINCT uuid) FROM judgment_events WHERE topic = 'T15' AND assessor = 'reader-1'"
    )
    with contextlib.closing(sqlite3.connect("collection.db")) as database:
        before = database.execute(events).fetchone()[0]
        for _ in range(2):
            artefacts.typed("judge merge packet-judged.db")
            assert database.execute(events).fetchone() == (before + 6, before + 6)
    exported = [line.split() for line in artefacts.typed("qrels export").splitlines()]
    assert sorted(grade for topic, _, _, grade in exported if topic == "T15") == ["1", "1", "2"]
    assert {row["result"] for row in rows("check")} == {"sound"}


def test_a_packet_that_went_out_is_judged_and_merged_today(kept: Path):
    artefacts.typed("judge -C packet.db --plain", answers="1\n2: late\nq\n")
    artefacts.typed("judge merge packet.db")
    progress = {row["topic"]: row for row in rows("judge progress --pool pool")}
    assert (progress["T15"]["judged"], progress["T15"]["leased"]) == ("2", "0")


def test_the_sums_of_an_older_bundle_hold(kept: Path):
    lines = Path("bundle/SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: sum_ for sum_, name in (line.split() for line in lines)}
    assert {name: hashlib.sha256(Path("bundle", name).read_bytes()).hexdigest() for name in sums} == sums
    assert {*sums, "SHA256SUMS"} == {path.name for path in Path("bundle").iterdir()}
    facts = json.loads(Path("bundle/card.json").read_text(encoding="utf-8"))["qrels"]
    listed = {row["release"]: row["content_hash"] for row in rows("qrels list")}
    assert facts["content_hash"] == listed["published"]


def test_an_older_bundle_scores_with_its_own_scale_and_card(kept: Path):
    (score,) = rows("evaluate bundle mortar.run -m P@5")
    (by_hand,) = rows("evaluate --qrels bundle/qrels.txt --pool bundle/reuse-card.json mortar.run -m P(rel=2)@5")
    verdicts = {one["verdict"]: one["reason"] for one in (score, by_hand)}
    assert verdicts == {
        "PROVISIONAL": "73% of the pool judged",  # which only the bundle's own card tells
        "UNRELIABLE": "3 of 14 topics mostly unjudged (limit 20%)",
    }
    assert {**score, "verdict": "", "reason": ""} == {**by_hand, "verdict": "", "reason": ""}
    assert rows("evaluate --qrels bundle/qrels.txt --pool bundle/card.json mortar.run -m P(rel=2)@5") == [by_hand]


def test_cards_are_written_as_they_were(kept: Path):
    artefacts.typed("reuse --pool pool --qrels first -m AP -m P@5 -m nDCG@5 --write-card new.json")
    artefacts.typed("report -m nDCG@10 -m AP -m P@10 -o report.md --card new-collection.json")
    for name, new in (("reuse-card.json", "new.json"), ("collection-card.json", "new-collection.json")):
        was, is_now = (json.loads(Path(one).read_text(encoding="utf-8")) for one in (name, new))
        for card in (was, is_now):
            for word in ("made", "made_by", "checksums", "qrels", "counts"):
                card.pop(word, None)
            for measure in card.get("reusability", {}).get("collection", {}).get("measures", []):
                measure.pop("reason", None)  # a sentence, worded anew from time to time
        assert json.dumps(as_it_was(is_now), indent=1) == json.dumps(as_it_was(was), indent=1)


def test_the_names_in_older_files_are_those_that_are_listed(unpacked: Path):
    assert told(unpacked) == artefacts.NAMES.read_text(encoding="utf-8")


def test_the_code_of_today_writes_the_same_names(made: Path):
    """Compared as text: the order of keys and columns belongs to a format too."""
    today, listed = json.loads(told(made)), json.loads(artefacts.NAMES.read_text(encoding="utf-8"))
    del listed["bundle/reuse-card.json"]  # it stands in card.json now
    listed["bundle"].remove("reuse-card.json")
    assert json.dumps(as_it_was(today)) == json.dumps(as_it_was(listed))


LATER = ("finished_pool", "finished_topic", "caution_drift")
LATER += ("to_rank", "complete", "complete_low", "complete_high", "complete_to", "contests")
LATER += ("m0006_live_queues", "fusion", "m0007_history", "history", "packets", "checksum")
LATER += ("m0008_outside", "outside_sources", "kept_documents", "held_documents", "held_documents.metadata")
LATER += ("m0009_run_metadata", "run_metadata", "citation", "about")
LATER += ("unlike", "unlike_groups", "completed_error", "likely", "clear", "decisive")
LATER += ("fewest_unique", "topic_judged")
"""Thresholds and columns that came after the kept files, and the threshold that went."""


def as_it_was(value: object) -> object:
    """The same without what came later, and without the models of reuse cards, which versions 2 and 3 changed.

    Golden files hold what is written today.
    """
    if isinstance(value, list):
        return [as_it_was(one) for one in value if one not in LATER]
    if isinstance(value, str):  # the columns of a table
        return " ".join(word for word in value.split(" ") if word not in LATER)
    if not isinstance(value, dict):
        return value
    gone = ("version", "models", "kappa", "families") if "entries" in value or "kappa" in value else ()
    # A score that looks below the pool had an interval without width; it has none now.
    value = {**value, **{name: "number" for name in ("low", "high") if value.get(name) == "null|number"}}
    return {name: as_it_was(one) for name, one in value.items() if name not in (*gone, *LATER)}


def test_every_strategy_and_stopping_rule_is_in_some_stored_plan(made: Path):
    with contextlib.closing(sqlite3.connect(made / "plans.db")) as database:
        plans = " ".join(row[0] for row in database.execute("SELECT plan_in_full FROM pools"))
    words = [row["strategy"] for row in rows("strategies")]
    assert [word for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", plans)] == []


def told(folder: Path) -> str:
    return json.dumps(artefacts.names(folder), ensure_ascii=False, indent=1) + "\n"


def test_settings_keep_their_values(kept: Path):
    found = settings(kept / "collection.db")
    assert found["merge_rule"] == ["adjudicated", "primary", "latest"]
    assert found["overlap"] == {"share": 0.2, "by": 2, "seed": 0}
    assert found["probes"] == {"share": 0.1, "after": 10, "seed": 0}
    packet = settings(kept / "packet.db")["packet"]
    assert {**packet, "session": ""} == {
        "collection": "kitchen",
        "collection_made": "2026-02-03T04:05:06.000Z",
        "assessor": "reader-1",
        "layer": "main",
        "session": "",
        "up_to_event": packet["up_to_event"],
    }
