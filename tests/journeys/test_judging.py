"""The command line from a pool to judgments, as organiser and assessors would type it."""

import contextlib
import csv
import io
import sqlite3
from pathlib import Path

import pytest
from command import Terminal, call
from kept import Kept

from cranfield.cli.console import name_of_assessor

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
DOCUMENTS = 130


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def judged(folder: Path, assessor: str, said: str, *words: object) -> str:
    return call("judge", "--plain", "-a", assessor, *words, answers=said, folder=folder).out


def query(folder: Path, sql: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(folder / "collection.db")) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen")
    call(
        "init", "kitchen", "--scale", KITCHEN / "scale.toml", "--guidelines", KITCHEN / "guidelines.md", folder=folder
    )
    call("corpus", "add", KITCHEN / "documents.jsonl", folder=folder)
    call("corpus", "topics", KITCHEN / "topics.trec", folder=folder)
    call("runs", "submit", KITCHEN / "runs.toml", folder=folder)
    call("pool", "build", "depth 5", folder=folder)
    return folder


@pytest.fixture
def kitchen(pooled: Path, tmp_path: Path) -> Path:
    (tmp_path / "collection.db").write_bytes((pooled / "collection.db").read_bytes())
    return tmp_path


def test_a_pool_is_judged_to_the_end_by_typed_lines(kitchen: Path, kept: Kept):
    told = judged(kitchen, "ana", "2\n" * DOCUMENTS)
    kept("\n".join(told.splitlines()[-4:]))
    progress = rows(call("judge", "progress", "-f", "csv", folder=kitchen).out)
    assert {(row["judged"], row["missing"]) for row in progress if row["documents"] == row["judged"]} == {
        (row["documents"], "0") for row in progress
    }
    assert sum(int(row["judged"]) for row in progress) == DOCUMENTS
    kept(call("status", folder=kitchen).err)
    call("check", folder=kitchen)


def test_status_leads_to_judging(kitchen: Path, kept: Kept):
    kept(call("status", folder=kitchen).err)
    judged(kitchen, "ana", "2\n0\n")
    _, out, err = call("status", "-f", "csv", folder=kitchen)
    facts = {row["fact"]: row["value"] for row in rows(out)}
    assert (facts["judged documents"], facts["pooled, not judged"], facts["assessors"]) == ("2", "128", "1")
    kept(err)


def test_topics_are_given_out_in_equal_shares_with_overlap(kitchen: Path, kept: Kept):
    _, out, err = call(
        "judge", "assign", "ana", "ben", "--overlap", "20%", "--probes", "3%", "-f", "csv", folder=kitchen
    )
    given = rows(out)
    assert [row["role"] for row in given].count("primary") == 15
    assert [row["role"] for row in given].count("second") == 15
    kept(err)
    for name in ("ana", "ben"):
        judged(kitchen, name, "1\n" * 200)
    twice = query(
        kitchen, "SELECT count(*) FROM (SELECT 1 FROM judgments GROUP BY topic, document HAVING count(*) = 2)"
    )
    (total,) = query(kitchen, "SELECT count(DISTINCT topic || ' ' || document) FROM judgments")
    assert total == (DOCUMENTS,)
    assert 15 <= twice[0][0] <= 40
    progress = call("judge", "progress", "--by", "assessor", "-f", "csv", folder=kitchen)
    assert [(row["assessor"], row["left"]) for row in rows(progress.out)] == [("ana", "0"), ("ben", "0")]
    kept(progress.err)
    call("check", folder=kitchen)


def test_assigning_answers_wrong_calls(kitchen: Path, kept: Kept):
    kept(call("judge", "assign", "ana", "--overlap", "10%", status=2, folder=kitchen).err)
    kept(call("judge", "assign", "ana", "--overlap", "many", status=2, folder=kitchen).err)
    kept(call("judge", "assign", "ana", "--topic", "T99", status=2, folder=kitchen).err)
    kept(call("judge", "assign", folder=kitchen).err)
    call("judge", "assign", "ana", folder=kitchen)
    kept(call("judge", "assign", "ben", status=1, folder=kitchen).err)
    call("judge", "assign", "ben", "cleo", "--topic", "T01", "--together", folder=kitchen)
    given = {
        (row["topic"], row["assessor"]): row["role"]
        for row in rows(call("judge", "assign", "-f", "csv", folder=kitchen).out)
    }
    assert (given["T01", "ben"], given["T01", "cleo"], given["T02", "ana"]) == ("primary", "share", "primary")
    assert ("T01", "ana") not in given


def test_progress_tells_what_could_not_be_judged(kitchen: Path):
    judged(kitchen, "ana", "x the scan is blurred\nl\n3\n")
    told = rows(call("judge", "progress", "--by", "cannot", "-f", "csv", folder=kitchen).out)
    assert [(row["topic"], row["assessor"], row["reason"]) for row in told] == [("T01", "ana", "the scan is blurred")]
    first = rows(call("judge", "progress", "-f", "csv", folder=kitchen).out)[0]
    assert (first["judged"], first["postponed"], first["cannot"]) == ("1", "1", "1")


def test_new_guidelines_mark_the_old_judgments_and_offer_them_again(kitchen: Path, kept: Kept):
    judged(kitchen, "ana", "1\n1\n1\n")
    (kitchen / "g.md").write_text("# Be strict\n")
    told = call("judge", "guidelines", kitchen / "g.md", folder=kitchen).err
    kept(told)
    kept(judged(kitchen, "ana", "0\n0\n", "--rejudge"))
    assert query(kitchen, "SELECT grade, guidelines, count(*) FROM judgments GROUP BY 1, 2 ORDER BY 1") == [
        (0, 2, 2),
        (1, 1, 1),
    ]
    kept(call("judge", "guidelines", kitchen / "g.md", status=1, folder=kitchen).err)


def test_a_new_scale_says_which_grades_are_not_on_it(kitchen: Path, kept: Kept):
    judged(kitchen, "ana", "3\n1\n")
    told = call("judge", "scale", "binary", folder=kitchen).err
    kept(told)
    kept(call("judge", "scale", "binary", status=1, folder=kitchen).err)


def test_a_layer_is_judged_beside_the_main_one(kitchen: Path, kept: Kept):
    judged(kitchen, "ana", "2\n")
    judged(kitchen, "ana", "0\n", "--layer", "after")
    found = query(kitchen, "SELECT layer, topic, document, grade FROM judgments ORDER BY layer")
    assert [(row[0], row[3]) for row in found] == [("after", 0), ("main", 2)]
    assert found[0][1:3] == found[1][1:3]
    told = call("judge", "progress", "--layer", "after", folder=kitchen).err
    kept(told)


def test_a_draft_topic_is_tried_and_accepted(kitchen: Path, kept: Kept):
    told = call("judge", "try", "T03", "-a", "dora", "--plain", answers="2\n0\n" * 13, folder=kitchen).out
    assert told.count("saved:") == int(query(kitchen, "SELECT count(*) FROM tried_hits")[0][0]) > 12
    facts = {
        row["fact"]: row["value"]
        for row in rows(call("judge", "try", "T03", "--show", "-f", "csv", folder=kitchen).out)
    }
    assert (facts["state"], facts["author"], facts["verdict"]) == ("draft", "dora", "fine")
    assert float(facts["at least"]) <= float(facts["expected relevant"]) <= float(facts["at most"])
    kept(call("judge", "try", "T03", "--accept", folder=kitchen).err)
    assert [row["assessor"] for row in rows(call("judge", "assign", "-f", "csv", folder=kitchen).out)] == ["dora"]
    assert query(kitchen, "SELECT DISTINCT layer FROM judgments") == [("try",)]
    kept(call("judge", "try", "T03", "-a", "eve", "--plain", status=1, folder=kitchen).err)
    call("check", folder=kitchen)


def test_a_refused_topic_is_not_judged_any_more(kitchen: Path, kept: Kept):
    call("judge", "try", "T01", "-a", "dora", "--plain", answers="0\n", folder=kitchen)
    kept(call("judge", "try", "T01", "--refuse", "too vague", folder=kitchen).err)
    kept(shown := judged(kitchen, "ana", ""))
    assert "topic T02" in shown
    kept(call("status", folder=kitchen).err)
    call("pool", "build", "depth 3", "--name", "second", folder=kitchen)
    shown = rows(call("pool", "show", "--name", "second", "--by", "topic", "-f", "csv", folder=kitchen).out)
    assert [row["topic"] for row in shown] == [f"T{number:02}" for number in range(2, 16)]
    assert "T01" not in {
        row["topic"] for row in rows(call("judge", "assign", "ana", "-f", "csv", folder=kitchen).out)
    }


def test_wrong_calls_of_try(kitchen: Path, kept: Kept):
    kept(call("judge", "try", "T99", "-a", "x", "--plain", status=2, folder=kitchen).err)
    kept(call("judge", "try", "T01", "--accept", status=1, folder=kitchen).err)
    kept(call("judge", "try", "T01", "--accept", "--show", status=2, folder=kitchen).err)


def test_the_interface_asks_for_a_terminal(kitchen: Path, kept: Kept):
    kept(call("judge", "-a", "ana", status=2, folder=kitchen).err)


def test_a_live_pool_chooses_while_it_is_judged(kitchen: Path):
    call("pool", "build", "depth 2; mtf until 8", "--name", "live", folder=kitchen)
    told = judged(kitchen, "ana", "2\n" * 300, "--pool", "live")
    assert told.count("saved:") == 15 * 8
    progress = rows(call("judge", "progress", "--pool", "live", "-f", "csv", folder=kitchen).out)
    assert {(row["documents"], row["judged"]) for row in progress} == {("8", "8")}
    call("check", folder=kitchen)


def test_the_name_is_asked_once_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setattr("sys.platform", "linux")
    asked = []

    def prompt(text: str, **options: object) -> str:
        asked.append(text)
        return " Ana Beck "

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("typer.prompt", prompt)
    assert [name_of_assessor(""), name_of_assessor(""), name_of_assessor("ben")] == ["Ana Beck", "Ana Beck", "ben"]
    assert len(asked) == 1
    assert (tmp_path / "settings" / "cranfield" / "assessor").read_text() == "Ana Beck\n"


def test_without_a_terminal_the_name_must_be_given(kitchen: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(kitchen / "settings"))
    monkeypatch.delenv("CRANFIELD_ASSESSOR", raising=False)
    kept(call("judge", "--plain", status=2, folder=kitchen).err)
    monkeypatch.setenv("CRANFIELD_ASSESSOR", "ana")
    kept(call("judge", "--plain", answers="1\n", folder=kitchen).out)
