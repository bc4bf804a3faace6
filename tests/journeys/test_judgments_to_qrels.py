"""The command line from a pool to qrels, as organisers and assessors would type it."""

import contextlib
import csv
import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from cranfield.cli import main

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
JUDGE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    words = set(asked["topic"]["title"].lower().split())
    hits = len(words & set(asked["document"]["text"].lower().split()))
    answer = {"topic": asked["topic"]["id"], "document": asked["document"]["id"], "grade": min(hits, 3)}
    print(json.dumps(answer), flush=True)
"""


def typed(folder: Path, *words: object, status: int = 0, answers: str = "") -> tuple[str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        patch.setattr(sys, "stdin", io.StringIO(answers))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = main._status([str(word) for word in words])
            out.flush()
    assert ended == status, err.getvalue()
    return out.buffer.getvalue().decode(), err.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pooled")
    typed(folder, "init", "kitchen", "--scale", KITCHEN / "scale.toml", "--guidelines", KITCHEN / "guidelines.md")
    typed(folder, "corpus", "add", KITCHEN / "documents.jsonl")
    typed(folder, "corpus", "topics", KITCHEN / "topics.trec")
    typed(folder, "runs", "submit", KITCHEN / "runs.toml")
    typed(folder, "pool", "build", "depth 2")
    return folder


@pytest.fixture
def kitchen(pooled: Path, tmp_path: Path) -> Path:
    (tmp_path / "collection.db").write_bytes((pooled / "collection.db").read_bytes())
    (tmp_path / "judge.py").write_text(JUDGE)
    return tmp_path


def in_pool(folder: Path, topic: str) -> list[str]:
    import sqlite3

    with contextlib.closing(sqlite3.connect(folder / "collection.db")) as plain:
        query = "SELECT document FROM pool_entries WHERE topic = ? ORDER BY position"
        return [row[0] for row in plain.execute(query, [topic])]


def judged_by(folder: Path, assessor: str, topic: str, grades: list[int]) -> None:
    documents = in_pool(folder, topic)
    lines = ["topic,document,grade,assessor"]
    lines += [f"{topic},{name},{grade},{assessor}" for name, grade in zip(documents, grades, strict=False)]
    (folder / f"{assessor}.csv").write_text("\n".join(lines))
    typed(folder, "judge", "import", f"{assessor}.csv")


def test_judging_line_by_line_gives_qrels(kitchen: Path):
    count = len(in_pool(kitchen, "T01"))
    typed(kitchen, "judge", "-a", "ada", "--topic", "T01", "--plain", answers="\n".join(["2"] * count))
    out, err = typed(kitchen, "qrels", "export")
    assert sorted(line.split()[2] for line in out.splitlines()) == sorted(in_pool(kitchen, "T01"))
    assert {line.split()[3] for line in out.splitlines()} == {"2"}
    assert f"{count} judgments on 1 topic; content hash" in err


def test_an_export_is_read_by_evaluate_and_by_import_again(kitchen: Path):
    judged_by(kitchen, "ada", "T01", [3, 0, 1, 2])
    typed(kitchen, "qrels", "export", "-o", "qrels.txt")
    out, _ = typed(kitchen, "evaluate", "--qrels", "qrels.txt", "-m", "P@5", "larder-bm25", "-f", "csv")
    assert rows(out)[0]["run"] == "larder-bm25"
    hashes = {typed(kitchen, "qrels", "import", "qrels.txt", "--name", "copy")[1].split()[-1]}
    for format in ("csv", "tsv", "jsonl"):
        typed(kitchen, "qrels", "export", "--to", format, "-o", f"qrels.{format}")
        hashes.add(typed(kitchen, "qrels", "import", f"qrels.{format}", "--name", format)[1].split()[-1])
    assert len(hashes) == 1
    assert "say the same" in typed(kitchen, "qrels", "diff", "copy", "qrels.csv")[1]


def test_a_release_stays_while_judging_goes_on(kitchen: Path):
    judged_by(kitchen, "ada", "T01", [3, 0])
    out, _ = typed(kitchen, "qrels", "release", "v1", "--note", "first", "-f", "json")
    manifest = json.loads(out)
    assert (manifest["judged"], manifest["layers"], manifest["up_to_event"]) == (2, "main", 2)
    judged_by(kitchen, "bob", "T01", [1, 0, 2])
    out, err = typed(kitchen, "qrels", "diff", "v1", "now", "-f", "csv")
    first, _, third = in_pool(kitchen, "T01")[:3]
    assert sorted((row["what"], row["document"], row["before"], row["after"]) for row in rows(out)) == [
        ("added", third, "", "2"),
        ("changed", first, "3", "1"),
    ]
    assert "1 added, 0 removed, 1 changed" in err
    listed = rows(typed(kitchen, "qrels", "list", "-f", "csv")[0])
    assert [(row["release"], row["judged"], row["content_hash"]) for row in listed] == [
        ("v1", "2", manifest["content_hash"])
    ]
    by_topic = rows(typed(kitchen, "qrels", "diff", "v1", "now", "--by-topic", "-f", "csv")[0])
    assert by_topic == [{"topic": "T01", "added": "1", "removed": "0", "changed": "1", "same": "1"}]
    matrix = rows(typed(kitchen, "qrels", "diff", "v1", "now", "--matrix", "-f", "csv")[0])
    assert {(row["before"], row["after"], row["pairs"]) for row in matrix} == {
        *(("", "2", "1"), ("0", "0", "1"), ("3", "1", "1"))
    }
    assert "WRONG" not in typed(kitchen, "check")[0]


def test_three_states_binary_grades_and_rules_are_chosen_on_export(kitchen: Path):
    judged_by(kitchen, "ada", "T01", [3, 1])
    judged_by(kitchen, "bob", "T01", [0])
    first, second = in_pool(kitchen, "T01")[:2]

    def grades(*options: object) -> dict[str, str]:
        out, _ = typed(kitchen, "qrels", "export", *options)
        return {line.split()[2]: line.split()[3] for line in out.splitlines() if line.startswith("T01 ")}

    assert grades() == {first: "0", second: "1"}
    assert grades("--rule", "highest") == {first: "3", second: "1"}
    assert grades("--rule", "highest", "--binary") == {first: "1", second: "0"}
    assert grades("--rule", "highest", "--binary-from", 1) == {first: "1", second: "1"}
    assert grades("--up-to-event", 2) == {first: "3", second: "1"}
    whole = grades("--unjudged")
    assert (len(whole), list(whole.values()).count("-1")) == (len(in_pool(kitchen, "T01")), len(whole) - 2)
    assert typed(kitchen, "qrels", "rule", "highest")[0] == "highest\n"
    assert grades() == {first: "3", second: "1"}
    _, err = typed(kitchen, "qrels", "export", "--rule", "hihgest", status=2)
    assert "did you mean 'highest'" in err


def test_a_packet_goes_out_is_judged_and_comes_back(kitchen: Path):
    _, err = typed(kitchen, "judge", "packet", "eve", "--topic", "T02", "-o", "packet.db")
    count = len(in_pool(kitchen, "T02"))
    assert f"wrote packet.db: {count} documents of 1 topic" in err
    typed(kitchen, "judge", "-C", "packet.db", "--plain", answers="\n".join(["1"] * count))
    judged_by(kitchen, "ada", "T02", [3])
    out, err = typed(kitchen, "judge", "merge", "packet.db", "-f", "csv")
    assert [(row["conflict"], row["document"]) for row in rows(out)] == [("disagreement", in_pool(kitchen, "T02")[0])]
    assert f"{count} events taken in by eve" in err
    assert f"0 events taken in, {count} there already" in typed(kitchen, "judge", "merge", "packet.db")[1]
    assert "WRONG" not in typed(kitchen, "check")[0]


def test_a_program_judges_in_its_own_layer(kitchen: Path):
    judged_by(kitchen, "ada", "T01", [3, 0, 1, 2, 0])
    command = shlex.join([sys.executable, "judge.py"])
    out, err = typed(kitchen, "judge", "with", command, "--as", "words@1", "--parallel", 2, "-f", "csv")
    assert {row["coefficient"] for row in rows(out)} >= {"raw", "kappa", "alpha-ordinal"}
    assert "machine/words@1:" in err
    assert "5 documents were judged by both; 100 or more" in err
    assert len(typed(kitchen, "qrels", "export")[0].splitlines()) == 5
    both, _ = typed(kitchen, "qrels", "export", "--layer", "main", "--layer", "machine/words@1")
    assert len(both.splitlines()) == 83
    assert "machine/words@1" in typed(kitchen, "qrels", "list")[1]
    _, err = typed(kitchen, "judge", "with", command, "--as", "words@1")
    assert "0 of 0 documents labelled" in err
    assert "were labelled before" in err
    _, err = typed(kitchen, "judge", "with", "false", "--as", "other@1", "--topic", "T01", status=1)
    assert "the judge ended with status 1" in err


def test_assessors_are_compared_and_their_disputes_decided(kitchen: Path):
    judged_by(kitchen, "ada", "T01", [3, 0, 1, 2, 0, 1])
    judged_by(kitchen, "bob", "T01", [2, 0, 1, 0, 0, 2])
    out, _ = typed(kitchen, "judge", "agreement", "-f", "csv")
    found = {row["coefficient"]: row for row in rows(out)}
    assert (found["raw"]["value"], found["raw"]["items"]) == ("0.5", "6")
    assert float(found["raw"]["low"]) < 0.5 < float(found["raw"]["high"])
    pairs = rows(typed(kitchen, "judge", "agreement", "--by", "pair", "-f", "csv")[0])
    assert {(row["of"], row["and"]) for row in pairs} == {("ada", "bob")}
    shown, _ = typed(kitchen, "judge", "agreement")
    assert "Krippendorff's alpha, grades as ranks" in shown
    for kind in ("topic", "time", "probes", "confusion"):
        typed(kitchen, "judge", "agreement", "--by", kind)
    assert "did you mean 'topic'" in typed(kitchen, "judge", "agreement", "--by", "topics", status=2)[1]
    cases, err = typed(kitchen, "judge", "adjudicate", "--list", "-f", "csv")
    assert sorted(row["grades"] for row in rows(cases)) == ["0 2", "1 2", "2 3"]
    assert "3 cases open" in err
    out, err = typed(kitchen, "judge", "adjudicate", "-a", "eve", "--plain", answers="1: half\n1\n1\n")
    assert not {"ada", "bob"} & set(out.split())
    assert "0 cases open" in typed(kitchen, "judge", "adjudicate", "--list")[1]
    exported, _ = typed(kitchen, "qrels", "export")
    assert sorted(line.split()[3] for line in exported.splitlines()) == ["0", "0", "1", "1", "1", "1"]


def test_near_duplicates_get_propagated_grades_on_request(kitchen: Path):
    typed(kitchen, "corpus", "duplicates", "--threshold", 0.5)
    clusters = rows(typed(kitchen, "corpus", "duplicates", "--stored", "-f", "csv")[0])
    members = [row["document"] for row in clusters if row["cluster"] == clusters[0]["cluster"]]
    (kitchen / "one.csv").write_text(f"topic,document,grade,assessor\nT01,{members[0]},2,ada\n")
    typed(kitchen, "judge", "import", "one.csv")
    assert f"{len(members) - 1} grade" in typed(kitchen, "judge", "propagate")[1]
    out, _ = typed(kitchen, "qrels", "export")
    assert out.split("\n")[:-1] == [f"T01 0 {name} 2" for name in sorted(members)]
    assert "0 grades passed on" in typed(kitchen, "judge", "propagate")[1]


def test_wrong_calls_say_what_is_wrong(kitchen: Path):
    assert "there are no judgments yet" in typed(kitchen, "qrels", "export", status=1)[1]
    assert "nothing to release" in typed(kitchen, "qrels", "release", "v1", status=1)[1]
    assert "there is no overlap" in typed(kitchen, "judge", "agreement", status=1)[1]
    assert "there is no such file" in typed(kitchen, "judge", "import", "nothing.csv", status=1)[1]
    assert "unknown release or file" in typed(kitchen, "qrels", "diff", "v1", "now", status=2)[1]
    assert "no duplicates have been looked for" in typed(kitchen, "judge", "propagate", status=1)[1]
    (kitchen / "bad.csv").write_text("topic,document,grade\nT01,K001,77\nT99,K001,1\n")
    _, err = typed(kitchen, "judge", "import", "bad.csv", status=1)
    assert "bad.csv:2" in err
    assert "bad.csv:3" in err
    assert "[off-the-scale]" in err
    assert "[unknown-topic]" in err


def test_an_export_says_from_which_grade_on_documents_are_relevant_where_the_file_cannot(kitchen: Path):
    judged_by(kitchen, "ada", "T01", [0, 1, 2])
    note = "note: grades from 2 on count as relevant here, which the file does not say: elsewhere -m 'AP(rel=2)'"
    assert note in typed(kitchen, "qrels", "export")[1]
    assert "count as relevant" not in typed(kitchen, "qrels", "export", "--binary")[1]
    assert "count as relevant" not in typed(kitchen, "qrels", "export", "--binary-from", "1")[1]


def test_a_file_of_qrels_is_overwritten_only_where_that_is_asked_for(kitchen: Path):
    judged_by(kitchen, "ada", "T01", [0, 1])
    typed(kitchen, "qrels", "export", "-o", "q")
    before = (kitchen / "q").read_text()
    told = typed(kitchen, "qrels", "export", "--binary", "-o", "q", status=2)[1]
    assert "q exists already; choose another name, or overwrite it with --replace" in told
    assert (kitchen / "q").read_text() == before
    typed(kitchen, "qrels", "export", "--binary-from", "3", "-o", "q", "--replace")
    assert (kitchen / "q").read_text() != before
