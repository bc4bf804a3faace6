"""The command line from a pool to qrels, as organisers and assessors would type it."""

import contextlib
import csv
import io
import json
import shlex
import sys
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.collection import Collection, open_collection

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


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pooled")
    call(
        "init", "kitchen", "--scale", KITCHEN / "scale.toml", "--guidelines", KITCHEN / "guidelines.md", folder=folder
    )
    call("corpus", "add", KITCHEN / "documents.jsonl", folder=folder)
    call("corpus", "topics", KITCHEN / "topics.trec", folder=folder)
    call("runs", "submit", KITCHEN / "runs.toml", folder=folder)
    call("pool", "build", "depth 2", folder=folder)
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
    call("judge", "import", f"{assessor}.csv", folder=folder)


def test_judging_line_by_line_gives_qrels(kitchen: Path, kept: Kept):
    count = len(in_pool(kitchen, "T01"))
    call("judge", "-a", "ada", "--topic", "T01", "--plain", answers="\n".join(["2"] * count), folder=kitchen)
    _, out, err = call("qrels", "export", folder=kitchen)
    assert sorted(line.split()[2] for line in out.splitlines()) == sorted(in_pool(kitchen, "T01"))
    assert {line.split()[3] for line in out.splitlines()} == {"2"}
    kept(err)


def test_an_export_is_read_by_evaluate_and_by_import_again(kitchen: Path, kept: Kept):
    judged_by(kitchen, "ada", "T01", [3, 0, 1, 2])
    call("qrels", "export", "-o", "qrels.txt", folder=kitchen)
    out = call("evaluate", "--qrels", "qrels.txt", "-m", "P@5", "larder-bm25", "-f", "csv", folder=kitchen).out
    assert rows(out)[0]["run"] == "larder-bm25"
    hashes = {call("qrels", "import", "qrels.txt", "--name", "copy", folder=kitchen).err.split()[-1]}
    for format in ("csv", "tsv", "jsonl"):
        call("qrels", "export", "--to", format, "-o", f"qrels.{format}", folder=kitchen)
        hashes.add(call("qrels", "import", f"qrels.{format}", "--name", format, folder=kitchen).err.split()[-1])
    assert len(hashes) == 1
    kept(call("qrels", "diff", "copy", "qrels.csv", folder=kitchen).err)


def test_a_release_stays_while_judging_goes_on(kitchen: Path, kept: Kept):
    judged_by(kitchen, "ada", "T01", [3, 0])
    out = call("qrels", "release", "v1", "--note", "first", "-f", "json", folder=kitchen).out
    manifest = json.loads(out)
    assert (manifest["judged"], manifest["layers"], manifest["up_to_event"]) == (2, "main", 2)
    judged_by(kitchen, "bob", "T01", [1, 0, 2])
    _, out, err = call("qrels", "diff", "v1", "now", "-f", "csv", folder=kitchen)
    first, _, third = in_pool(kitchen, "T01")[:3]
    assert sorted((row["what"], row["document"], row["before"], row["after"]) for row in rows(out)) == [
        ("added", third, "", "2"),
        ("changed", first, "3", "1"),
    ]
    kept(err)
    listed = rows(call("qrels", "list", "-f", "csv", folder=kitchen).out)
    assert [(row["release"], row["judged"], row["content_hash"]) for row in listed] == [
        ("v1", "2", manifest["content_hash"])
    ]
    assert "WRONG" not in call("check", folder=kitchen).out


def test_three_states_binary_grades_and_rules_are_chosen_on_export(kitchen: Path, kept: Kept):
    judged_by(kitchen, "ada", "T01", [3, 1])
    judged_by(kitchen, "bob", "T01", [0])
    first, second = in_pool(kitchen, "T01")[:2]

    def grades(*options: object) -> dict[str, str]:
        out = call("qrels", "export", *options, folder=kitchen).out
        return {line.split()[2]: line.split()[3] for line in out.splitlines() if line.startswith("T01 ")}

    assert grades() == {first: "0", second: "1"}
    assert grades("--rule", "highest") == {first: "3", second: "1"}
    assert grades("--rule", "highest", "--binary") == {first: "1", second: "0"}
    assert grades("--as-of", 2) == {first: "3", second: "1"}
    whole = grades("--unjudged")
    assert (len(whole), list(whole.values()).count("-1")) == (len(in_pool(kitchen, "T01")), len(whole) - 2)
    assert call("qrels", "rule", "highest", folder=kitchen).out == "highest\n"
    assert grades() == {first: "3", second: "1"}
    err = call("qrels", "export", "--rule", "hihgest", status=2, folder=kitchen).err
    kept(err)


def test_a_packet_goes_out_is_judged_and_comes_back(kitchen: Path, kept: Kept):
    err = call("judge", "packet", "eve", "--topic", "T02", "-o", "packet.db", folder=kitchen).err
    count = len(in_pool(kitchen, "T02"))
    kept(err)
    call("judge", "-C", "packet.db", "--plain", answers="\n".join(["1"] * count), folder=kitchen)
    judged_by(kitchen, "ada", "T02", [3])
    _, out, err = call("judge", "merge", "packet.db", "-f", "csv", folder=kitchen)
    assert [(row["conflict"], row["document"]) for row in rows(out)] == [("disagreement", in_pool(kitchen, "T02")[0])]
    kept(err)
    kept(call("judge", "merge", "packet.db", folder=kitchen).err)
    assert "WRONG" not in call("check", folder=kitchen).out


def test_a_program_judges_in_its_own_layer(kitchen: Path, kept: Kept):
    judged_by(kitchen, "ada", "T01", [3, 0, 1, 2, 0])
    command = shlex.join([sys.executable, "judge.py"])
    _, out, err = call("judge", "with", command, "--as", "words@1", "--parallel", 2, "-f", "csv", folder=kitchen)
    assert {row["coefficient"] for row in rows(out)} >= {"raw", "kappa", "alpha-ordinal"}
    kept(err)
    assert len(call("qrels", "export", folder=kitchen).out.splitlines()) == 5
    both = call("qrels", "export", "--layer", "main", "--layer", "machine/words@1", folder=kitchen).out
    assert len(both.splitlines()) == 83
    kept(call("qrels", "list", folder=kitchen).err)
    err = call("judge", "with", command, "--as", "words@1", folder=kitchen).err
    kept(err)
    err = call("judge", "with", "false", "--as", "other@1", "--topic", "T01", status=1, folder=kitchen).err
    kept(err)


def test_assessors_are_compared_and_their_disputes_decided(kitchen: Path, kept: Kept):
    judged_by(kitchen, "ada", "T01", [3, 0, 1, 2, 0, 1])
    judged_by(kitchen, "bob", "T01", [2, 0, 1, 0, 0, 2])
    out = call("judge", "agreement", "-f", "csv", folder=kitchen).out
    found = {row["coefficient"]: row for row in rows(out)}
    assert (found["raw"]["value"], found["raw"]["items"]) == ("0.5", "6")
    assert float(found["raw"]["low"]) < 0.5 < float(found["raw"]["high"])
    pairs = rows(call("judge", "agreement", "--by", "pair", "-f", "csv", folder=kitchen).out)
    assert {(row["of"], row["and"]) for row in pairs} == {("ada", "bob")}
    shown = call("judge", "agreement", folder=kitchen).out
    kept(shown)
    for kind in ("topic", "probes", "confusion"):
        call("judge", "agreement", "--by", kind, folder=kitchen)
    kept(call("judge", "agreement", "--by", "topics", status=2, folder=kitchen).err)
    _, cases, err = call("judge", "adjudicate", "--list", "-f", "csv", folder=kitchen)
    assert sorted(row["grades"] for row in rows(cases)) == ["0 2", "1 2", "2 3"]
    kept(err)
    _, out, err = call("judge", "adjudicate", "-a", "eve", "--plain", answers="1: half\n1\n1\n", folder=kitchen)
    assert not {"ada", "bob"} & set(out.split())
    kept(call("judge", "adjudicate", "--list", folder=kitchen).err)
    exported = call("qrels", "export", folder=kitchen).out
    assert sorted(line.split()[3] for line in exported.splitlines()) == ["0", "0", "1", "1", "1", "1"]


def test_near_duplicates_get_propagated_grades_on_request(kitchen: Path, kept: Kept):
    call("corpus", "duplicates", "--threshold", 0.5, folder=kitchen)
    clusters = rows(call("corpus", "duplicates", "--stored", "-f", "csv", folder=kitchen).out)
    members = [row["document"] for row in clusters if row["cluster"] == clusters[0]["cluster"]]
    (kitchen / "one.csv").write_text(f"topic,document,grade,assessor\nT01,{members[0]},2,ada\n")
    call("judge", "import", "one.csv", folder=kitchen)
    kept(call("judge", "propagate", folder=kitchen).err)
    out = call("qrels", "export", folder=kitchen).out
    assert out.split("\n")[:-1] == [f"T01 0 {name} 2" for name in sorted(members)]
    kept(call("judge", "propagate", folder=kitchen).err)


def test_wrong_calls_say_what_is_wrong(kitchen: Path, kept: Kept):
    kept(call("qrels", "export", status=1, folder=kitchen).err)
    kept(call("qrels", "release", "v1", status=1, folder=kitchen).err)
    kept(call("judge", "agreement", status=1, folder=kitchen).err)
    kept(call("judge", "import", "nothing.csv", status=1, folder=kitchen).err)
    kept(call("qrels", "diff", "v1", "now", status=2, folder=kitchen).err)
    kept(call("judge", "propagate", status=1, folder=kitchen).err)
    (kitchen / "bad.csv").write_text("topic,document,grade\nT01,K001,77\nT99,K001,1\n")
    err = call("judge", "import", "bad.csv", status=1, folder=kitchen).err
    assert "bad.csv:2" in err
    assert "bad.csv:3" in err
    assert "[off-the-scale]" in err
    assert "[unknown-topic]" in err


def test_an_export_says_from_which_grade_on_documents_are_relevant_where_the_file_cannot(kitchen: Path, kept: Kept):
    judged_by(kitchen, "ada", "T01", [0, 1, 2])
    note = "note: not in the file: relevant from grade 2; in other tools use -m 'AP(rel=2)'"
    assert note in call("qrels", "export", folder=kitchen).err
    kept(call("qrels", "export", "--binary", folder=kitchen).err)
    kept(call("qrels", "export", "--binary-from", "1", status=2, folder=kitchen).err)


def test_a_file_of_qrels_is_overwritten_only_where_that_is_asked_for(kitchen: Path, kept: Kept):
    judged_by(kitchen, "ada", "T01", [0, 1])
    call("qrels", "export", "-o", "q", folder=kitchen)
    before = (kitchen / "q").read_text()
    told = call("qrels", "export", "--binary", "-o", "q", status=2, folder=kitchen).err
    kept(told)
    assert (kitchen / "q").read_text() == before
    call("qrels", "export", "--binary", "-o", "q", "--replace", folder=kitchen)
    assert (kitchen / "q").read_text() != before


def test_from_python_qrels_status_and_check_say_what_the_commands_print(kitchen: Path):
    judged_by(kitchen, "ana", "T01", [2, 0, 1])
    call("qrels", "release", "first", folder=kitchen)
    with open_collection(kitchen / "collection.db") as opened:
        collection = opened.results
        assert isinstance(collection, Collection)
        collection.backup(kitchen / "copy.db")
        made = [
            collection.status(),
            collection.check(),
            collection.qrels.list(),
            collection.qrels.diff("first", "now"),
        ]
        exported = io.BytesIO()
        collection.qrels.export("first").write(exported)
    words = [("status",), ("check",), ("qrels", "list"), ("qrels", "diff", "first", "now")]
    printed = [call(*command, "-f", "jsonl", folder=kitchen).out for command in words]
    assert [len(result.frame()) for result in made[1:]] == [len(text.splitlines()) for text in printed[1:]]
    assert [row[1] for row in made[0].table().rows] == list(json.loads(printed[0]).values())
    assert [row["release"] for row in made[2].table().records()] == ["first"]
    assert exported.getvalue().decode() == call("qrels", "export", "first", folder=kitchen).out
    call("check", "-C", kitchen / "copy.db")
