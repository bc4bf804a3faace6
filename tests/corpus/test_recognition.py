"""How the format of a file is recognised."""

import bz2
import gzip
import lzma

import pytest
import zstandard
from kept import Kept

from cranfield.base.errors import InputError, SourceError, UnknownName
from cranfield.base.files import Source
from cranfield.base.records import Document
from cranfield.corpus.reading import document_formats, format_of, read_documents, read_topics, topic_formats

SAMPLES = {
    "trec": b"<DOC><DOCNO>1</DOCNO>text</DOC>\n",
    "smart": b".I 1\n.W\ntext\n",
    "jsonl": b'{"id": "1", "text": "text"}\n',
    "tsv": b"1\ttext\n",
    "csv": b"id,text\n1,text\n",
}
TOPICS = {**SAMPLES, "trec": b"<top><num>1<title>text</top>\n"}
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("packer", PACKERS)
def test_every_format_is_recognised_by_content_and_read_in_every_compression(tmp_path, name, packer):
    path = tmp_path / "no-suffix-at-all"
    path.write_bytes(PACKERS[packer](SAMPLES[name]))
    assert format_of(path, "documents") == name
    assert list(read_documents(path)) == [Document("1", "text")]


@pytest.mark.parametrize("name", TOPICS)
def test_every_topic_format_is_recognised_by_content(tmp_path, name):
    path = tmp_path / "no-suffix-at-all"
    path.write_bytes(TOPICS[name])
    assert format_of(path, "topics") == name
    assert [(topic.id, topic.title) for topic in read_topics(path)] == [("1", "text")]


def test_content_goes_before_the_name(tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_bytes(SAMPLES["trec"])
    assert format_of(path, "documents") == "trec"


def test_the_name_decides_where_the_content_does_not(tmp_path):
    path = tmp_path / "broken.jsonl.gz"
    path.write_bytes(gzip.compress(b"not json\n"))
    assert format_of(path, "documents") == "jsonl"


def test_a_file_that_fits_nothing_is_told_what_each_format_expects(tmp_path, kept: Kept):
    path = tmp_path / "prose"
    path.write_text("Once upon a time.\n")
    with kept.raises(InputError):
        format_of(path, "documents")
    "\n".join(f"  {name}: {form.summary}" for name, form in document_formats.items())


def test_topics_given_as_documents_and_the_reverse_are_told_apart(tmp_path, kept: Kept):
    topics, documents = tmp_path / "asked", tmp_path / "documents"
    topics.write_bytes(TOPICS["trec"])
    documents.write_text("1\turl\ttitle\tbody\n")
    with kept.raises(InputError):
        format_of(topics, "documents")
    with kept.raises(InputError):
        format_of(documents, "topics")


def test_an_unknown_format_lists_the_known(tmp_path, kept: Kept):
    with kept.raises(UnknownName):
        format_of(tmp_path, "documents", "jsnol")


def test_aliases_name_the_same_format(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(SAMPLES["jsonl"])
    assert list(read_documents(path, format="json")) == [Document("1", "text")]


def test_a_missing_file_is_an_error_that_names_it(tmp_path, kept: Kept):
    with kept.raises(SourceError):
        list(read_documents(tmp_path / "absent"))


@pytest.mark.parametrize("name", ["empty.jsonl", "empty.trec", "empty.tsv", "empty.csv", "empty.all"])
def test_a_file_without_documents_is_a_problem(tmp_path, name):
    path = tmp_path / name
    path.touch()
    assert [(problem.code, problem.file) for problem in read_documents(path)] == [("empty", str(path))]


def test_another_encoding_can_be_named(tmp_path):
    path = tmp_path / "old.trec"
    path.write_bytes("<DOC><DOCNO>1</DOCNO>café</DOC>".encode("latin-1"))
    assert list(read_documents(Source(path, "latin-1"))) == [Document("1", "café")]
    path.write_bytes("<DOC><DOCNO>1</DOCNO>café</DOC>".encode("utf-16"))
    assert list(read_documents(Source(path, "utf-16"))) == [Document("1", "café")]


def test_every_format_has_one_line_of_help():
    for formats in (document_formats, topic_formats):
        assert all(form.summary and "\n" not in form.summary for _, form in formats.items())


DOCUMENT = '{"id": "%s", "title": "Wings", "text": "Wings are for flying."}\n'
TOPIC = '{"id": "%s", "title": "wings", "description": "What are wings for?"}\n'


LONG = '{"id": "%s", "text": "' + "wing " * 101 + '"}\n'


@pytest.mark.parametrize("content", [DOCUMENT, LONG], ids=["with a text", "long"])
def test_documents_given_as_topics_are_noticed(content, topics_in, kept: Kept):
    mixed = content % 1 + content % 2 + TOPIC % 3
    *topics, problem = topics_in(mixed, "x.jsonl")
    assert ([topic.id for topic in topics], problem.severity) == (["1", "2", "3"], "error")
    kept(str(problem))
    kept(problem.remedy)
    assert [topic.id for topic in topics_in(content % 1 + TOPIC % 2, "x.jsonl")] == ["1", "2"]


def test_topics_given_as_documents_are_noticed(documents_in, kept: Kept):
    *documents, problem = documents_in(TOPIC % 1 + TOPIC % 2 + DOCUMENT % 3, "x.jsonl")
    assert ([document.id for document in documents], problem.severity) == (["1", "2", "3"], "error")
    kept(str(problem))
    kept(problem.remedy)


def test_topics_are_known_by_their_content_where_only_the_name_speaks_for_documents(documents_in, kept: Kept):
    for name, content in (("x.trec", "<top><num>1<title>text</top>\n"), ("x.csv", "qid,query\n1,wings\n")):
        with kept.raises(InputError):
            documents_in(content, name)


@pytest.mark.parametrize("name", ["topics.txt", "my_topics.tsv", "queries.txt.gz"])
def test_a_file_called_topics_is_not_taken_for_documents(name, tmp_path, kept: Kept):
    with kept.raises(InputError):
        format_of(tmp_path / name, "documents")
    assert format_of(tmp_path / name, "documents", "tsv") == "tsv"


@pytest.mark.parametrize("line", ["q{} 0 d1 1", "wings 0 d{} 1", "wings Q0 d{} 1 2.5 run", "{} what are wings for?"])
def test_a_list_of_something_else_is_no_document(line, documents_in, kept: Kept):
    content = "".join(f"{line}\n".format(number) for number in range(3))
    with kept.raises(InputError):
        documents_in(content, "list.txt")
    assert [document.id for document in documents_in(content, "list.txt", format="text")] == ["list.txt"]
    assert [document.id for document in documents_in(f"A list\n{content}", "list.txt")] == ["list.txt"]
