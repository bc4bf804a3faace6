"""Whatever a file holds, reading it ends in records and problems, or in an error of ours."""

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.errors import CranfieldError, Problem
from cranfield.base.records import Document, Topic
from cranfield.corpus.markup import html_to_text
from cranfield.corpus.reading import document_formats, read_documents, read_topics, topic_formats

MB = 1 << (20 if os.environ.get("CRANFIELD_SOAK") else 17)
PACKERS = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,  # as the command line tool does
}
READERS = [
    *((read_documents, name) for name in document_formats.names() if name != "folder"),
    *((read_topics, name) for name in topic_formats.names()),
]
TOKENS = [
    *(b"<DOC>", b"</DOC>", b"<DOCNO>", b"</DOCNO>", b"<top>", b"</top>", b"<num>", b"<title>", b"<TEXT>", b"</TEXT>"),
    *(
        b"<topic number=",
        b"<a b='",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<?",
        b"<!DOCTYPE",
        b"&#",
        b"&amp;",
        b"&#xD800;",
    ),
    *(
        b".I 1\n",
        b".I\n",
        b".W\n",
        b".T\n",
        b".A\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b",",
        b'"',
        b'""',
        b"\\",
        b"\\u0000",
    ),
    *(b'{"id": "1", "text": "x"}\n', b'{"id":', b"[", b"]", b"{", b"}", b"\\ud800", b"null", b"1e999", b"id,text\n"),
    *(
        b"id\ttext\n",
        b"\x00",
        b"\x1b[2J",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xae",
        b"word ",
        b"1",
        b"<",
        b">",
        b"=",
    ),
]
hostile = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join))


def outcome(read, path: Path, name: str | None) -> list[object] | str:
    """What reading gives: records and problems, or the text of our error. Anything else escapes: the test fails."""
    try:
        found = list(read(path, format=name))
    except CranfieldError as error:
        return str(error)
    assert found, "neither a record nor a problem"
    assert all(isinstance(record, Document | Topic | Problem) for record in found)
    for record in found:
        if not isinstance(record, Problem):
            str(record).encode()
            assert "\0" not in str(record)
            assert record.id
            assert not any(letter.isspace() for letter in record.id)
    return found


@pytest.mark.parametrize(("read", "name"), READERS, ids=lambda part: part if isinstance(part, str) else part.args[0])
@given(content=hostile)
def test_any_bytes_end_in_records_problems_or_an_error_of_ours(tmp_path_factory, read, name, content):
    path = tmp_path_factory.getbasetemp() / f"hostile-{read.args[0]}-{name}"
    path.write_bytes(content)
    outcome(read, path, name)
    outcome(read, path, None)


@given(content=hostile.map(lambda data: data.decode("utf-8", "replace")))
def test_any_page_of_html_gives_a_text(content):
    title, text = html_to_text(content)
    assert "\n" not in title
    assert not text.startswith("\n")


SAMPLES = {
    "trec": b"<DOC>\n<DOCNO>1</DOCNO><TITLE>t</TITLE>\n<TEXT>\n<P>a &amp; b</P>\n</TEXT>\n</DOC>\n" * 3,
    "smart": b".I 1\n.T\nt\n.A\na\n.W\ntext\n.X\n1\t2\t3\n" * 3,
    "jsonl": b'{"id": "1", "title": "t", "text": "x", "metadata": {"a": [1, "b"]}}\n' * 3,
    "tsv": b"id\ttitle\ttext\n" + b"1\tt\tx\n" * 3,
    "csv": b"id,title,text\n" + b'1,"t, ""q""","x\ny"\n' * 3,
}


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data())
def test_good_files_with_a_few_bytes_changed_end_well(tmp_path_factory, name, data):
    content = bytearray(SAMPLES[name])
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.sampled_from(TOKENS))
    path = tmp_path_factory.getbasetemp() / f"mutated-{name}"
    path.write_bytes(content)
    outcome(read_documents, path, name)


@pytest.mark.parametrize("packer", PACKERS)
@given(data=st.data())
def test_compressed_files_that_are_cut_or_changed_never_pass_for_whole(tmp_path_factory, packer, data):
    content = b"".join(b'{"id": "%d", "text": "%d"}\n' % (n, n * 7919) for n in range(200))
    packed = bytearray(PACKERS[packer](content))
    path = tmp_path_factory.getbasetemp() / f"packed-{packer}"
    path.write_bytes(packed)
    whole = outcome(read_documents, path, "jsonl")
    path.write_bytes(packed[: data.draw(st.integers(10, len(packed) - 1))])
    assert isinstance(outcome(read_documents, path, "jsonl"), str)
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(packed)
    changed = outcome(read_documents, path, "jsonl")
    assert isinstance(changed, str) or changed == whole or any(isinstance(record, Problem) for record in changed)


LARGE = {
    "an unclosed document": b"<DOC><DOCNO>1</DOCNO>" + b"word " * (2 << 20),
    "one line": b"x" * (10 << 20),
    "start tags": b"<DOC>" * (MB // 8),
    "end tags": b"</DOC>" * (MB // 8),
    "nested tags": b"<DOC><DOCNO>1</DOCNO>" + b"<a>" * MB + b"</a>" * MB + b"</DOC>",
    "different tags": b"<DOC>" + b"".join(b"<t%d>x</u%d>" % (n, n) for n in range(MB // 8)) + b"</DOC>",
    "tags that never end": b"<DOC><DOCNO>1</DOCNO>" + b"<a b=" * MB + b"</DOC>",
    "quotes that never end": b"<DOC><DOCNO>1</DOCNO>" + b"<a b='\" " * MB + b"</DOC>",
    "comments that never end": b"<DOC><DOCNO>1</DOCNO>" + b"<!-- <? <![CDATA[ <!DOCTYPE " * (MB // 4) + b"</DOC>",
    "blanks": b"<DOC><DOCNO>1</DOCNO><TEXT" + b" " * (5 * MB) + b"x</TEXT></DOC>",
    "blank lines": b"<DOC><DOCNO>1</DOCNO>" + b" \n" * MB + b"</DOC>",
    "ampersands": b"<DOC><DOCNO>1</DOCNO>" + b"&#" * (2 * MB) + b"&" * MB + b"</DOC>",
    "brackets": b"<" * (5 * MB),
    "deep json": b'{"id": ' * MB,
    "deep arrays": b"[" * (5 * MB),
    "a json string": b'{"id": "1", "text": "' + b"\\u0000" * MB + b'"}',
    "field marks": b".I 1\n" + b".W\n.A\n" * (MB // 8),
    "quotes": b'id,text\n1,"' + b'""' * (4 * MB),
    "tabs": b"\t" * (5 * MB),
    "line ends": b"\r" * MB + b"\n" * MB,
    "zeros": bytes(5 * MB),
}


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize(("read", "name"), READERS, ids=lambda part: part if isinstance(part, str) else part.args[0])
def test_large_hostile_files_end_before_the_time_is_up(tmp_path, read, name, kind):
    path = tmp_path / "large"
    path.write_bytes(LARGE[kind])
    outcome(read, path, name)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", LARGE)
def test_large_hostile_pages_end_before_the_time_is_up(kind):
    html_to_text(LARGE[kind].decode())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tsv", b"1\tone\r2\ttwo\r3\tthree\r"),
        ("tsv", b"1\tone\n2\ttwo\rmore\n"),
        ("csv", b"id,text\n1,one\r2,two\n"),
        ("jsonl", b'{"id": "1", "text": "x"}\r{"id": "2", "text": "y"}\n'),
        ("smart", b".I 1\n.W\none\r.I 2\r.W\rtwo\n"),
    ],
)
def test_a_lone_carriage_return_is_named_and_never_merges_records(tmp_path, name, content):
    (tmp_path / "file").write_bytes(content)
    found = list(read_documents(tmp_path / "file", format=name))
    assert "lone-carriage-return" in {record.code for record in found if isinstance(record, Problem)}
    assert not [record for record in found if isinstance(record, Document) and "\r" in record.text]
    assert len([record for record in found if isinstance(record, Document)]) <= 1


@pytest.mark.parametrize("name", [name for name in document_formats.names() if name not in ("folder", "text")])
@pytest.mark.parametrize("content", [b"", b"\n", b"id\ttext\n", b"nothing to see\n"])
def test_a_file_without_a_document_is_an_error_in_every_format(tmp_path, name, content):
    (tmp_path / "file").write_bytes(content)
    found = list(read_documents(tmp_path / "file", format=name))
    assert "error" in {record.severity for record in found}
