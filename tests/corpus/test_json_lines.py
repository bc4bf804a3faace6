"""JSON lines in the spellings of others."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from writing import documents_as_json

from cranfield.base.records import Document, Topic
from cranfield.corpus.reading import read_documents


@pytest.mark.parametrize(
    ("line", "document"),
    [
        ({"_id": "1", "title": "t", "text": "x", "metadata": {"url": "u"}}, Document("1", "x", "t", {"url": "u"})),
        ({"id": "1", "contents": "x"}, Document("1", "x")),
        ({"id": 1, "title": "t", "body": "x"}, Document("1", "x", "t")),
        ({"doc_id": "1", "text": "x", "url": "u"}, Document("1", "x", "", {"url": "u"})),
        ({"pid": "p1", "passage": "x", "docid": "d1"}, Document("p1", "x", "", {"docid": "d1"})),
        ({"docid": "d1", "segment": "x", "title": "t"}, Document("d1", "x", "t")),
        ({"DOCNO": "1", "Title": "t", "Abstract": "x"}, Document("1", "x", "t")),
        ({"id": " 1 ", "text": ["a", "b"], "title": None}, Document("1", "a\nb")),
        (
            {"id": "1", "text": "x", "year": 1999, "ok": True, "who": {"a": [1, "ü"]}, "none": None, "empty": []},
            Document("1", "x", "", {"year": "1999", "ok": "true", "who": '{"a":[1,"ü"]}'}),
        ),
    ],
)
def test_the_usual_spellings_of_documents_are_known(documents_in, line, document):
    assert documents_in(json.dumps(line)) == [document]


@pytest.mark.parametrize(
    ("line", "topic"),
    [
        ({"_id": "1", "text": "q", "metadata": {}}, Topic("1", "q")),
        ({"query_id": "1", "text": "q"}, Topic("1", "q")),
        ({"qid": 7, "query": "q"}, Topic("7", "q")),
        ({"number": "1", "title": "t", "desc": "d", "narr": "n"}, Topic("1", "t", "d", "n")),
        ({"topic_id": "1", "title": "t", "description": "d", "narrative": "n"}, Topic("1", "t", "d", "n")),
        ({"id": "1", "query": "q", "question": "what?", "narrative": "n"}, Topic("1", "q", "what?", "n")),
        ({"id": "1", "description": "only\nthis"}, Topic("1", "only this", "only\nthis")),
        ({"id": "1", "title": "t", "year": "more"}, Topic("1", "t", "", "", {"year": "more"})),
    ],
)
def test_the_usual_spellings_of_topics_are_known(topics_in, line, topic):
    assert topics_in(json.dumps(line)) == [topic]


def test_an_array_of_objects_is_read_too(documents_in):
    content = '[\n {"id": "1", "text": "a"},\n {"id": "2", "text": "b"}\n]\n'
    assert documents_in(content) == [Document("1", "a"), Document("2", "b")]


def test_bad_lines_are_problems_in_their_place_and_reading_goes_on(documents_in, brief):
    lines = [
        b'\xef\xbb\xbf{"id": "1", "text": "a"}\r',
        b"",
        b'{"id": "2", "text": ',
        b"[1, 2]",
        b'{"text": "no id"}',
        b'{"id": 1.5, "text": "x"}',
        b'{"id": true, "text": "x"}',
        b'{"id": "a b", "text": "x"}',
        b'{"id": "8", "text": "caf\xe9"}',
        b'{"id": "9", "text": "\\u0000 and \\ud800"}',
        b'{"id": "10", "text": ""}',
        b'{"id": "11", "text": "' + b"[" * 10 + b'"}',
        b'{"id": "12", "text": "x", "deep": ' + b"[" * 100_000 + b"}",
        b'{"id": "13", "text": "x", "number": ' + b"9" * 10_000 + b"}",
        b'{"id": "14", "text": "the end"}',
    ]
    assert brief(documents_in(b"\n".join(lines), "x.jsonl")) == [
        Document("1", "a"),
        ("bad-json", "error", (3,)),
        ("not-a-record", "error", (4,)),
        ("no-id", "error", (5,)),
        ("bad-id", "error", (6,)),
        ("bad-id", "error", (7,)),
        ("bad-id", "error", (8,)),
        ("not-utf-8", "error", (9,)),
        ("nul", "warning", (10,)),
        Document("9", "\ufffd and \ufffd"),
        ("empty-document", "warning", (11,)),
        Document("10", ""),
        Document("11", "[" * 10),
        ("bad-json", "error", (13,)),
        ("bad-json", "error", (14,)),
        Document("14", "the end"),
    ]


def test_what_is_no_json_is_told_with_line_and_column(documents_in):
    found = documents_in('{"id": "1", "text": \n{"id": x}\n', "x.jsonl")
    assert [(problem.lines, problem.message) for problem in found] == [
        ((1,), "not JSON: Expecting value where it ends"),
        ((2,), "not JSON: Expecting value at column 8"),
    ]
    found = documents_in('[\n{"id": "1"},\n{"id": x}\n]', "x.json")
    assert [(problem.lines, problem.message) for problem in found] == [
        ((3,), "not JSON: Expecting value at column 8")
    ]


def test_an_object_without_id_is_told_which_names_were_looked_for(documents_in, kept: Kept):
    (problem,) = documents_in('{"identifier": "1", "text": "x"}')
    kept(problem.message)


def test_a_line_beyond_the_limit_is_refused_and_the_next_is_read(documents_in, brief, monkeypatch):
    monkeypatch.setattr("cranfield.base.files.LONGEST_LINE", 1000)
    monkeypatch.setattr("cranfield.corpus.formats.jsonl.LONGEST_LINE", 1000)
    content = f'{{"id": "1", "text": "{"x" * 5000}"}}\n{{"id": "2", "text": "y"}}\n'
    assert brief(documents_in(content)) == [("too-long", "error", (1,)), Document("2", "y")]


def test_a_large_array_is_refused_with_the_way_out(documents_in, monkeypatch, kept: Kept):
    monkeypatch.setattr("cranfield.corpus.formats.jsonl.LONGEST_ARRAY", 1000)
    with kept.raises(Exception):
        documents_in("[" + '{"id": "1", "text": "x"},' * 100 + "{}]")


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp", "Cf"]), min_size=1)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
metadata = st.dictionaries(texts, texts.filter(bool), max_size=3)


@given(st.lists(st.builds(Document, words, texts, texts, metadata), min_size=1))
def test_writing_and_reading_gives_the_same_documents(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("jsonl") / "made.jsonl"
    stream = io.StringIO()
    documents_as_json(documents, stream)
    path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    assert [record for record in read_documents(path) if isinstance(record, Document)] == documents
