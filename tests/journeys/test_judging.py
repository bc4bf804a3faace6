"""The command line from a pool to judgments, as organiser and assessors would type it."""

import contextlib
import csv
import io
import sqlite3
from pathlib import Path

import pytest

from cranfield.cli import main
from cranfield.cli.who import name_of_assessor

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
DOCUMENTS = 130


def typed(folder: Path, *words: object, said: str = "", status: int = 0) -> tuple[str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("sys.stdin", io.StringIO(said))
        ended = main._status([str(word) for word in words])
        out.flush()
    assert ended == status, err.getvalue()
    return out.buffer.getvalue().decode(), err.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def judged(folder: Path, assessor: str, said: str, *words: object) -> str:
    return typed(folder, "judge", "--plain", "-a", assessor, *words, said=said)[0]


def query(folder: Path, sql: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(folder / "collection.db")) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen")
    typed(folder, "init", "kitchen", "--scale", KITCHEN / "scale.toml", "--guidelines", KITCHEN / "guidelines.md")
    typed(folder, "corpus", "add", KITCHEN / "documents.jsonl")
    typed(folder, "corpus", "topics", KITCHEN / "topics.trec")
    typed(folder, "runs", "submit", KITCHEN / "runs.toml")
    typed(folder, "pool", "build", "depth 5")
    return folder


@pytest.fixture
def kitchen(pooled: Path, tmp_path: Path) -> Path:
    (tmp_path / "collection.db").write_bytes((pooled / "collection.db").read_bytes())
    return tmp_path


def test_a_pool_is_judged_to_the_end_by_typed_lines(kitchen: Path):
    told = judged(kitchen, "ana", "2\n" * DOCUMENTS)
    assert told.count("saved: 2 relevant") == DOCUMENTS
    progress = rows(typed(kitchen, "judge", "progress", "-f", "csv")[0])
    assert {(row["judged"], row["missing"]) for row in progress if row["documents"] == row["judged"]} == {
        (row["documents"], "0") for row in progress
    }
    assert sum(int(row["judged"]) for row in progress) == DOCUMENTS
    assert "next: everything is judged" in typed(kitchen, "status")[1]
    typed(kitchen, "check")


def test_status_leads_to_judging(kitchen: Path):
    assert "next: judge; for several people give out the topics first" in typed(kitchen, "status")[1]
    judged(kitchen, "ana", "2\n0\n")
    out, err = typed(kitchen, "status", "-f", "csv")
    facts = {row["fact"]: row["value"] for row in rows(out)}
    assert (facts["judged documents"], facts["pooled, not judged"], facts["assessors"]) == ("2", "128", "1")
    assert "next: judge: 128 pooled documents without a grade: cranfield judge" in err


def test_topics_are_given_out_in_equal_shares_with_overlap(kitchen: Path):
    out, err = typed(
        kitchen, "judge", "assign", "ana", "ben", "--overlap", "20%", "--seed", 4, "--probes", "3%", "-f", "csv"
    )
    given = rows(out)
    assert [row["role"] for row in given].count("primary") == 15
    assert [row["role"] for row in given].count("second") == 15
    assert "overlap: 0.2 of the documents are judged by 2; seed 4" in err
    assert "probes: after 0.03 of the answers" in err
    for name in ("ana", "ben"):
        judged(kitchen, name, "1\n" * 200)
    twice = query(
        kitchen, "SELECT count(*) FROM (SELECT 1 FROM judgments GROUP BY topic, document HAVING count(*) = 2)"
    )
    (total,) = query(kitchen, "SELECT count(DISTINCT topic || ' ' || document) FROM judgments")
    assert total == (DOCUMENTS,)
    assert 15 <= twice[0][0] <= 40
    progress = typed(kitchen, "judge", "progress", "--by", "assessor", "-f", "csv")
    assert [(row["assessor"], row["left"]) for row in rows(progress[0])] == [("ana", "0"), ("ben", "0")]
    assert "everything is judged, second answers included" in progress[1]
    typed(kitchen, "check")


def test_assigning_answers_wrong_calls(kitchen: Path):
    assert "judged by 2, but only 1 are" in typed(kitchen, "judge", "assign", "ana", "--overlap", "10%", status=2)[1]
    assert "'many' is not a share" in typed(kitchen, "judge", "assign", "ana", "--overlap", "many", status=2)[1]
    assert "unknown pooled topic 'T99'" in typed(kitchen, "judge", "assign", "ana", "--topic", "T99", status=2)[1]
    assert "no topic is assigned" in typed(kitchen, "judge", "assign")[1]
    typed(kitchen, "judge", "assign", "ana")
    assert "every topic has its assessor" in typed(kitchen, "judge", "assign", "ben", status=1)[1]
    typed(kitchen, "judge", "assign", "ben", "cleo", "--topic", "T01", "--together")
    given = {
        (row["topic"], row["assessor"]): row["role"]
        for row in rows(typed(kitchen, "judge", "assign", "-f", "csv")[0])
    }
    assert (given["T01", "ben"], given["T01", "cleo"], given["T02", "ana"]) == ("primary", "share", "primary")
    assert ("T01", "ana") not in given


def test_progress_tells_what_could_not_be_judged(kitchen: Path):
    judged(kitchen, "ana", "x the scan is blurred\nl\n3\n")
    told = rows(typed(kitchen, "judge", "progress", "--by", "cannot", "-f", "csv")[0])
    assert [(row["topic"], row["assessor"], row["reason"]) for row in told] == [("T01", "ana", "the scan is blurred")]
    first = rows(typed(kitchen, "judge", "progress", "-f", "csv")[0])[0]
    assert (first["judged"], first["postponed"], first["cannot"]) == ("1", "1", "1")


def test_new_guidelines_mark_the_old_judgments_and_offer_them_again(kitchen: Path):
    judged(kitchen, "ana", "1\n1\n1\n")
    (kitchen / "g.md").write_text("# Be strict\n")
    told = typed(kitchen, "judge", "guidelines", kitchen / "g.md")[1]
    assert "version 2 of the guidelines is in force" in told
    assert "3 grades given under an older scale or older guidelines; whoever gave them judges again with:" in told
    assert judged(kitchen, "ana", "0\n0\n", "--rejudge").count("you said before: 1 marginal") == 3
    assert query(kitchen, "SELECT grade, guidelines, count(*) FROM judgments GROUP BY 1, 2 ORDER BY 1") == [
        (0, 2, 2),
        (1, 1, 1),
    ]
    assert "in force already" in typed(kitchen, "judge", "guidelines", kitchen / "g.md", status=1)[1]


def test_a_new_scale_says_which_grades_are_not_on_it(kitchen: Path):
    judged(kitchen, "ana", "3\n1\n")
    told = typed(kitchen, "judge", "scale", "binary")[1]
    assert "version 2 of the scale is in force: 0 not relevant, 1 relevant; relevant from 1" in told
    assert "grades that are not on it: 1" in told
    assert "2 grades given under an older scale or older guidelines" in told
    assert "in force already" in typed(kitchen, "judge", "scale", "binary", status=1)[1]


def test_a_layer_is_judged_beside_the_main_one(kitchen: Path):
    judged(kitchen, "ana", "2\n")
    judged(kitchen, "ana", "0\n", "--layer", "after")
    found = query(kitchen, "SELECT layer, topic, document, grade FROM judgments ORDER BY layer")
    assert [(row[0], row[3]) for row in found] == [("after", 0), ("main", 2)]
    assert found[0][1:3] == found[1][1:3]
    told = typed(kitchen, "judge", "progress", "--layer", "after")[1]
    assert "pool, layer after: 1 of 130 documents judged" in told


def test_a_draft_topic_is_tried_and_accepted(kitchen: Path):
    told, _ = typed(kitchen, "judge", "try", "T03", "-a", "dora", "--plain", said="2\n0\n" * 13)
    assert told.count("saved:") == int(query(kitchen, "SELECT count(*) FROM tried_hits")[0][0]) > 12
    facts = {
        row["fact"]: row["value"] for row in rows(typed(kitchen, "judge", "try", "T03", "--show", "-f", "csv")[0])
    }
    assert (facts["state"], facts["author"], facts["verdict"]) == ("draft", "dora", "fine")
    assert float(facts["at least"]) <= float(facts["expected relevant"]) <= float(facts["at most"])
    assert "T03 is accepted; dora is its primary assessor" in typed(kitchen, "judge", "try", "T03", "--accept")[1]
    assert [row["assessor"] for row in rows(typed(kitchen, "judge", "assign", "-f", "csv")[0])] == ["dora"]
    assert query(kitchen, "SELECT DISTINCT layer FROM judgments") == [("try",)]
    assert "tried by 'dora'" in typed(kitchen, "judge", "try", "T03", "-a", "eve", "--plain", status=1)[1]
    typed(kitchen, "check")


def test_a_refused_topic_is_not_judged_any_more(kitchen: Path):
    typed(kitchen, "judge", "try", "T01", "-a", "dora", "--plain", said="0\n")
    assert "T01 is refused (too vague)" in typed(kitchen, "judge", "try", "T01", "--refuse", "too vague")[1]
    assert "document for: " in (shown := judged(kitchen, "ana", ""))
    assert "topic T02" in shown
    assert "note: refused and not judged: T01" in typed(kitchen, "status")[1]
    typed(kitchen, "pool", "build", "depth 3", "--name", "second")
    shown = rows(typed(kitchen, "pool", "show", "--name", "second", "--by-topic", "-f", "csv")[0])
    assert [row["topic"] for row in shown] == [f"T{number:02}" for number in range(2, 16)]
    assert "T01" not in {row["topic"] for row in rows(typed(kitchen, "judge", "assign", "ana", "-f", "csv")[0])}


def test_wrong_calls_of_try(kitchen: Path):
    assert "unknown topic 'T99'" in typed(kitchen, "judge", "try", "T99", "-a", "x", "--plain", status=2)[1]
    assert "was never tried" in typed(kitchen, "judge", "try", "T01", "--accept", status=1)[1]
    assert "one of them" in typed(kitchen, "judge", "try", "T01", "--accept", "--show", status=2)[1]


def test_the_interface_asks_for_a_terminal(kitchen: Path):
    assert "judge with --plain" in typed(kitchen, "judge", "-a", "ana", status=2)[1]


def test_a_live_pool_chooses_while_it_is_judged(kitchen: Path):
    typed(kitchen, "pool", "build", "depth 2; mtf until 8", "--name", "live")
    told = judged(kitchen, "ana", "2\n" * 300, "--pool", "live")
    assert told.count("saved:") == 15 * 8
    progress = rows(typed(kitchen, "judge", "progress", "--pool", "live", "-f", "csv")[0])
    assert {(row["documents"], row["judged"]) for row in progress} == {("8", "8")}
    typed(kitchen, "check")


def test_the_name_is_asked_once_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setattr("sys.platform", "linux")
    asked = []

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def prompt(text: str, **options: object) -> str:
        asked.append(text)
        return " Ana Beck "

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("typer.prompt", prompt)
    assert [name_of_assessor(""), name_of_assessor(""), name_of_assessor("ben")] == ["Ana Beck", "Ana Beck", "ben"]
    assert len(asked) == 1
    assert (tmp_path / "settings" / "cranfield" / "assessor").read_text() == "Ana Beck\n"


def test_without_a_terminal_the_name_must_be_given(kitchen: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(kitchen / "settings"))
    monkeypatch.delenv("CRANFIELD_ASSESSOR", raising=False)
    assert "say who judges: -a NAME, or $CRANFIELD_ASSESSOR" in typed(kitchen, "judge", "--plain", status=2)[1]
    monkeypatch.setenv("CRANFIELD_ASSESSOR", "ana")
    assert "saved: 1 marginal" in typed(kitchen, "judge", "--plain", said="1\n")[0]
