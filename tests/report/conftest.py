"""A small judged collection with everything a report speaks of, made once for all tests of this folder."""

import csv
import json
from hashlib import sha256
from pathlib import Path

import pytest
from command import call

from cranfield.store.store import open_store

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
HOSTILE = "<script>alert('title')</script>"
ASSESSORS = ("Ada Lovelace", "Bob Hostile")


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of eleven runs and fifteen topics that two people judged; all documents are titled as a script."""
    folder = tmp_path_factory.mktemp("judged")
    path = folder / "collection.db"
    documents = [json.loads(line) for line in (KITCHEN / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
    (folder / "documents.jsonl").write_text(
        "".join(json.dumps({**one, "title": HOSTILE}) + "\n" for one in documents), encoding="utf-8"
    )
    call("init", "kitchen", "--scale", KITCHEN / "scale.toml", "--guidelines", KITCHEN / "guidelines.md", "-C", path)
    call("corpus", "add", folder / "documents.jsonl", "-C", path)
    call("corpus", "topics", KITCHEN / "topics.trec", "-C", path)
    call("runs", "submit", KITCHEN / "runs.toml", "-C", path)
    call("pool", "build", "depth 5", "-C", path)
    write_judgments(path, folder / "judgments.csv")
    call("judge", "import", folder / "judgments.csv", "-C", path)
    return path


def write_judgments(path: Path, file: Path) -> None:
    """Grade the pool by its letters: nothing is relevant for T03, and every third document has a second opinion."""
    with open_store(path) as store:
        pairs = store.rows("SELECT topic, document FROM pool_entries ORDER BY topic, document")
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["topic", "document", "grade", "assessor", "time", "note"])
        for number, (topic, document) in enumerate(pairs):
            drawn = sha256(f"{topic} {document}".encode()).digest()
            grade = 0 if topic == "T03" else drawn[0] % 4
            moment = f"2026-01-{1 + number % 28:02d}T10:00Z"
            writer.writerow([topic, document, grade, ASSESSORS[0], moment, "a private note"])
            if number % 3 == 0:
                writer.writerow([topic, document, (grade + drawn[1] % 2) % 4, ASSESSORS[1], moment, ""])
