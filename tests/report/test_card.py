"""The card and the bundle say of a release what the release says of itself, and under which terms it may be used."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import call
from kept import Kept

from cranfield.store.store import open_store


@pytest.fixture
def layered(judged: Path, tmp_path: Path) -> Path:
    """The judged collection with a second layer, in which everything is of the highest grade."""
    path = tmp_path / "collection.db"
    call("backup", path, "-C", judged)
    with open_store(path) as store:
        pairs = store.rows("SELECT topic, document FROM pool_entries")
    rows = "".join(f"{topic},{document},3,Carl\n" for topic, document in pairs)
    (tmp_path / "after.csv").write_text(f"topic,document,grade,assessor\n{rows}", encoding="utf-8")
    call("judge", "import", tmp_path / "after.csv", "--layer", "after", "-C", path)
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_card_of_a_bundle_has_the_layers_and_the_rule_of_its_release(layered: Path, tmp_path: Path):
    words = ["--layer", "after", "--layer", "main", "--rule", "highest", "--bundle", tmp_path / "bundle"]
    call("qrels", "release", "both", *words, "-C", layered)
    card = read(tmp_path / "bundle" / "card.json")
    manifest = json.loads(call("qrels", "list", "--name", "both", "-f", "json", "-C", layered).out)
    assert (card["qrels"]["layers"], card["qrels"]["rule"]) == (["after", "main"], ["highest"])
    assert card["qrels"]["grades"] == {"3": card["counts"]["judged"]}
    assert card["qrels"]["up_to_event"] == manifest["up_to_event"]
    assert card["qrels"]["content_hash"] == manifest["content_hash"]


def test_the_agreement_of_a_card_is_that_of_the_layers_of_the_release(layered: Path, tmp_path: Path):
    for name, layer in (("plain", "main"), ("later", "after")):
        call("qrels", "release", name, "--layer", layer, "--bundle", tmp_path / name, "-C", layered)
    assert read(tmp_path / "plain" / "card.json")["agreement"]
    assert read(tmp_path / "later" / "card.json")["agreement"] == []


def test_qrels_of_a_file_have_no_layers_and_no_rule(layered: Path, tmp_path: Path):
    call("qrels", "export", "-o", tmp_path / "there.qrels", "-C", layered)
    call("qrels", "import", tmp_path / "there.qrels", "--name", "sent", "-C", layered)
    for word in (tmp_path / "there.qrels", "sent"):
        call("report", "-o", tmp_path / "r.html", "--qrels", word, "--card", tmp_path / "c.json", "-C", layered)
        told = read(tmp_path / "c.json")["qrels"]
        assert (told["layers"], told["rule"]) == ([], [])
    assert told["file"] == "there.qrels"


def test_the_page_says_which_qrels_its_numbers_are_of(layered: Path, tmp_path: Path, kept: Kept):
    call("qrels", "release", "both", "--layer", "after", "--rule", "highest", "-C", layered)
    for words in (["--qrels", "both"], ["--layer", "after"]):
        call("report", "-o", tmp_path / "r.md", "-m", "P@5", *words, "-C", layered)
        text = (tmp_path / "r.md").read_text(encoding="utf-8")
        assert "| layers | after |" in text
    kept(line for line in text.splitlines() if line.startswith(("| qrels |", "| rule |")))


def test_a_licence_is_kept_shown_and_repeated(tmp_path: Path):
    path = tmp_path / "c.db"
    call("init", "c", "--licence", "CC-BY-4.0", "-C", path)
    assert call("qrels", "licence", "-C", path).out == "CC-BY-4.0\n"
    assert call("qrels", "licence", "ask <us>\n first", "-C", path).out == "ask <us> first\n"
    call("report", "--card", tmp_path / "card.json", "-C", path)
    assert read(tmp_path / "card.json")["licence"] == "ask <us> first"
    assert "<td>ask &lt;us&gt; first</td>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert call("qrels", "licence", "none", "-C", path).out == ""
    call("report", "--card", tmp_path / "card.json", "-C", path)
    assert read(tmp_path / "card.json")["licence"] is None
    assert "<td>none stated</td>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_whole_licence_is_refused_and_no_collection_is_made(tmp_path: Path, kept: Kept):
    words = ["init", "c", "--licence", "word " * 500, "-C", str(tmp_path / "c.db")]
    ended = call(*words, status=2)
    kept(ended.err)
    assert not (tmp_path / "c.db").exists()


def test_nothing_public_names_an_assessor_or_has_the_text_of_a_document(judged: Path, tmp_path: Path):
    path = tmp_path / "collection.db"
    call("backup", path, "-C", judged)
    with open_store(path) as store:
        titles = store.rows("SELECT DISTINCT title FROM documents")
        texts = [text[:40] for (text,) in store.rows("SELECT text FROM documents")]
    call("judge", "assign", "Ada Lovelace", "Bob Hostile", "-C", path)
    (tmp_path / "out").mkdir()
    call("report", "-o", tmp_path / "out.html", "--public", "--card", tmp_path / "out" / "card.json", "-C", path)
    call("report", "-o", tmp_path / "out" / "page.md", "--public", "-C", path)
    call("qrels", "release", "first", "--bundle", tmp_path / "out" / "bundle", "-C", path)
    files = [tmp_path / "out.html", *(file for file in (tmp_path / "out").rglob("*") if file.is_file())]
    assert len(files) > 8
    for file in files:
        said = file.read_text(encoding="utf-8")
        assert not any(name in said for name in ("Ada", "Lovelace", "Bob", "a private note")), file
        assert not any(title in said for (title,) in titles), file
        assert not any(text in said for text in texts), file
