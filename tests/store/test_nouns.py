"""Documents, topics, scales and the search index, kept in the file."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.base.errors import InputError, ProblemsFound, UnknownName
from cranfield.base.records import Document, Grade, GradeScale, Topic
from cranfield.store import documents as stored_documents
from cranfield.store.store import Store
from cranfield.workflows.corpus import Corpus


def add(store: Store, *documents: Document, update: bool = False) -> stored_documents.Added:
    with store.write():
        return stored_documents.add(store, documents, source=1, update=update)


def test_documents_come_back_as_they_went_in(small: Store):
    assert stored_documents.fetch(small, "d2") == Document(
        "d2", "A pan that was burnt can be cleaned with soda.", "Burnt pans", {"kind": "tip"}
    )
    assert [one.id for one, _ in stored_documents.each(small)] == ["d1", "d2", "d3"]
    assert stored_documents.count(small) == 3
    assert stored_documents.fetch(small, "d9") is None


def test_the_same_document_again_is_left_alone_and_another_under_its_id_is_a_clash(small: Store):
    same = stored_documents.fetch(small, "d1")
    assert same is not None
    outcome = add(small, same, Document("d2", "other text"), Document("d4", "new"))
    assert outcome == stored_documents.Added(new=1, same=1, places=(1,))
    assert stored_documents.fetch(small, "d2").text.startswith("A pan")


def test_update_replaces_the_document_and_what_the_index_knows_of_it(small: Store):
    assert add(small, Document("d2", "zebra"), update=True) == stored_documents.Added(new=0, updated=1)
    assert [hit.document for hit in stored_documents.search(small, "zebra")] == ["d2"]
    assert [hit.document for hit in stored_documents.search(small, "burnt")] == []


def test_an_id_twice_in_one_batch_is_found(small: Store):
    assert add(small, Document("x", "one"), Document("x", "one"), Document("x", "two")) == stored_documents.Added(
        1, 1, 0, (2,)
    )


def test_known_ids_are_found_among_many(small: Store):
    assert stored_documents.content_hashes(small, [f"d{number}" for number in range(2_000)]).keys() == {
        "d1",
        "d2",
        "d3",
    }


def test_an_unknown_document_is_answered_with_its_neighbours(small: Store, kept: Kept):
    assert stored_documents.ids_near(small, "D2") == ["d1", "d2", "d3"]
    with kept.raises(UnknownName):
        Corpus(small).show("d22")


def test_search_marks_the_hits_and_ranks_the_best_first(small: Store):
    hits = stored_documents.search(small, "burnt pans")
    assert [hit.document for hit in hits] == ["d2"]
    assert f"{stored_documents.HIT_START}burnt{stored_documents.HIT_END}" in hits[0].snippet
    assert hits[0].score > 0
    assert [name for name, _ in stored_documents.rank(small, "soda cleaning", limit=10)] == ["d3", "d2"]


@pytest.mark.parametrize(
    "query",
    [
        '"',
        '""',
        "AND",
        "OR NOT",
        "a*",
        "x NEAR/2 y",
        "title:fox",
        "^fox",
        "(",
        "fox AND (",
        "'; DROP",
        "-fox",
        "\0",
        "{a b}",
    ],
)
def test_nothing_in_a_query_is_taken_for_syntax(small: Store, query: str):
    assert isinstance(stored_documents.search(small, query), list)


def test_a_query_becomes_quoted_alternatives(kept: Kept):
    kept(stored_documents.match_expression('burnt "cast iron" pan burnt'))
    assert stored_documents.match_expression("!!! ...") == ""


def test_topics_come_back_in_the_order_they_were_given(small: Store):
    assert stored_documents.topics(small) == [Topic("1", "burnt pan"), Topic("2", "fox", "About foxes")]
    with small.write():
        outcome = stored_documents.add(
            small, [Topic("2", "cat"), Topic("10", "new"), Topic("1", "burnt pan")], source=1
        )
    assert outcome == stored_documents.Added(new=1, same=1, places=(0,))
    with small.write():
        assert stored_documents.add(small, [Topic("2", "cat")], source=1, update=True) == stored_documents.Added(
            new=0, updated=1
        )
    assert [topic.title for topic in stored_documents.topics(small)] == ["burnt pan", "cat", "new"]


def test_a_scale_from_one_to_three_is_kept_in_versions(store: Store):
    scale = GradeScale((Grade(1, "no", 0), Grade(2, "partly", 1), Grade(3, "fully", 3, "all of it")), relevant_from=2)
    with store.write():
        assert store.add_scale(scale) == 2
        assert store.add_guidelines("# Judge") == 1
    assert (store.versions(), store.scale()) == ((2, 1), scale)
    assert store.guidelines() == "# Judge"


@pytest.mark.parametrize(
    ("grades", "relevant_from"),
    [
        ([Grade(0, "no", 0)], 0),
        ([Grade(0, "no", 0), Grade(0, "yes", 1)], 0),
        ([Grade(-1, "no", 0), Grade(1, "yes", 1)], 1),
        ([Grade(0, "no", 0), Grade(1, "no", 1)], 1),
        ([Grade(0, "no", 2), Grade(1, "yes", 1)], 1),
        ([Grade(0, "no", 0), Grade(1, "yes", float("nan"))], 1),
        ([Grade(0, "no", 0), Grade(1, "yes", 1)], 0),
    ],
)
def test_a_scale_that_makes_no_sense_is_refused(grades: list[Grade], relevant_from: int, kept: Kept):
    with kept.raises(ProblemsFound):
        GradeScale(tuple(grades), relevant_from)


def test_a_grade_off_the_scale_is_named(kept: Kept):
    scale = GradeScale((Grade(1, "no", 0), Grade(2, "yes", 1)), 2)
    assert (scale.lowest, scale.highest, scale.named(2).label) == (1, 2, "yes")
    with kept.raises(InputError):
        scale.named(3)


def test_a_title_beyond_a_megabyte_is_a_sentence_when_it_comes_and_when_it_is_read(tmp_path: Path, kept: Kept):
    call("init", "x", folder=tmp_path)
    (tmp_path / "d.jsonl").write_text(json.dumps({"id": "d1", "title": "t" * (1 << 20), "text": "x"}) + "\n")
    call("corpus", "add", "d.jsonl", folder=tmp_path)
    (tmp_path / "e.jsonl").write_text(json.dumps({"id": "d2", "title": "t" * 1_100_000, "text": "x"}) + "\n")
    kept(call("corpus", "add", "e.jsonl", folder=tmp_path, status=1).err)
    with closing(sqlite3.connect(tmp_path / "collection.db")) as connection, connection:
        connection.execute("UPDATE documents SET title = title || title")
    kept(call("corpus", "show", "d1", folder=tmp_path, status=1).err)
    assert "title of document 'd1'" in call("check", folder=tmp_path, status=1).err
