"""The shipped collection is what its collection.toml says, by counts and by three records."""

import csv
import json
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from cranfield.base.records import Document, Topic
from cranfield.corpus.reading import read_documents, read_topics
from cranfield.workflows.collection import parse_scale
from cranfield.workflows.runs.lists import read_requests

FOLDER = Path(__file__).parents[2] / "collections" / "kitchen"
CARD = tomllib.loads((FOLDER / "collection.toml").read_text(encoding="utf-8"))


def documents() -> list[Document]:
    return [one for one in read_documents(FOLDER / "documents.jsonl") if isinstance(one, Document)]


def topics() -> list[Topic]:
    return [one for one in read_topics(FOLDER / "topics.trec") if isinstance(one, Topic)]


def judgments(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_file_has_its_checksum():
    on_disk = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file()}
    assert set(CARD["checksums"]) == on_disk - {"collection.toml", "README.md", "demo.txt"}
    assert {name: sha256((FOLDER / name).read_bytes()).hexdigest() for name in CARD["checksums"]} == CARD["checksums"]


def test_the_counts_are_right():
    requests = read_requests(FOLDER / "runs.toml")
    contributing = [request for request in requests if request.role == "contributing"]
    assert CARD["counts"] == {
        "documents": len(documents()),
        "topics": len(topics()),
        "runs": len(requests),
        "groups": len({request.group for request in requests}),
        "contributing_runs": len(contributing),
        "contributing_groups": len({request.group for request in contributing}),
        "pooled": 130,
        "judgments": sum(row["assessor"] == "reader-1" for row in judgments("judgments.csv")),
        "second_opinions": sum(row["assessor"] == "reader-2" for row in judgments("judgments.csv")),
        "after": len(judgments("after.csv")),
    }


def test_documents_have_sixty_to_a_hundred_and_fifty_words():
    lengths = [len(document.text.split()) for document in documents()]
    assert (min(lengths) >= 60, max(lengths) <= 150) == (True, True)


def test_three_records():
    by_id = {document.id: document for document in documents()}
    assert by_id["K001"].title == "Bamboo bread box, six months on"
    assert by_id["K146"].title == "Clean a burnt pan while it is warm"
    first = topics()[0]
    assert (first.id, first.title) == ("T01", "burnt pan cleaning")
    assert first.narrative.startswith("Highly relevant documents give a complete method")


def test_every_topic_has_title_description_and_narrative():
    assert [topic.id for topic in topics()] == [f"T{number:02}" for number in range(1, 16)]
    assert all(topic.title and topic.description and topic.narrative for topic in topics())


def test_the_scale_has_four_grades_and_is_relevant_from_two():
    scale = parse_scale(str(FOLDER / "scale.toml"))
    assert [step.grade for step in scale.grades] == [0, 1, 2, 3]
    assert scale.relevant_from == 2


def test_two_groups_stay_outside_and_one_is_not_lexical():
    outside = {
        request.group: request.family for request in read_requests(FOLDER / "runs.toml") if request.role == "new"
    }
    assert outside == {"whisk": "lexical", "mortar": "dense"}


@pytest.mark.parametrize("line", (FOLDER / "documents.jsonl").read_text(encoding="utf-8").splitlines()[:3])
def test_a_document_line_has_id_title_text_and_kind(line: str):
    assert list(json.loads(line)) == ["id", "title", "text", "kind"]
