"""Folders of text, Markdown and HTML files, and pages of HTML."""

import gzip
import os

import pytest
from kept import Kept

from cranfield.base.errors import InputError, Problem, SourceError
from cranfield.base.files import Source
from cranfield.base.records import Document
from cranfield.corpus.markup import html_to_text
from cranfield.corpus.reading import format_of, read_documents


def test_each_file_is_a_document_called_by_its_path(tmp_path, brief):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_text("First line\n\nsecond  \n")
    (tmp_path / "a note.md").write_text("intro\n\n## The heading ##\n\n* item\n")
    (tmp_path / "sub" / "c.html").write_text("<title>Page &amp; more</title><p>one<p>two")
    (tmp_path / "sub" / "d.txt.gz").write_bytes(gzip.compress("zipped é".encode()))
    (tmp_path / "sub" / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.txt").write_text("hidden")
    assert format_of(tmp_path, "documents") == "folder"
    assert list(read_documents(tmp_path)) == [
        Document("a%20note.md", "intro\n\n## The heading ##\n\n* item", "The heading"),
        Document("b.txt", "First line\n\nsecond", "First line"),
        Document("sub/c.html", "one\n\ntwo", "Page & more"),
        Document("sub/d.txt.gz", "zipped é", "zipped é"),
    ]


def test_links_out_of_the_folder_are_not_followed_and_named(tmp_path, kept: Kept):
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (outside / "secret.txt").write_text("secret")
    (folder / "a.txt").write_text("open")
    (folder / "again.txt").symlink_to("a.txt")
    (folder / "secret.txt").symlink_to(outside / "secret.txt")
    (folder / "more").symlink_to(outside)
    (folder / "round").symlink_to(folder)
    *links, first, again = read_documents(folder)
    assert (first, again) == (Document("a.txt", "open", "open"), Document("again.txt", "open", "open"))
    kept([f"{link} ({link.severity}; {link.remedy})" for link in links])


def test_files_that_cannot_be_read_are_problems_that_name_them(tmp_path, brief):
    (tmp_path / "a.txt").write_bytes(b"fine\ncaf\xe9")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"x" * 1000)[:-10])
    (tmp_path / "c.txt").write_bytes(b"")
    (tmp_path / "d.txt").write_bytes(b"ok")
    found = list(read_documents(tmp_path))
    assert brief(found) == [
        ("not-utf-8", "error", (2,)),
        ("unreadable", "error", ()),
        ("empty-document", "warning", (1,)),
        Document("c.txt", ""),
        Document("d.txt", "ok", "ok"),
    ]
    assert [problem.file for problem in found[:3]] == [
        str(tmp_path / name) for name in ("a.txt", "b.txt.gz", "c.txt")
    ]


def test_ids_of_different_files_differ(tmp_path):
    names = ["a b.txt", "a%20b.txt", "a_b.txt"]
    for name in names:
        (tmp_path / name).write_text("x")
    assert [document.id for document in read_documents(tmp_path)] == ["a%20b.txt", "a%2520b.txt", "a_b.txt"]


def test_a_file_name_that_is_not_utf_8_gets_an_id_all_the_same(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.txt")).touch()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert [document.id for document in read_documents(tmp_path) if isinstance(document, Document)] == ["caf%E9.txt"]


def test_a_folder_without_documents_says_so(tmp_path):
    (problem,) = read_documents(tmp_path)
    assert (problem.code, problem.file) == ("empty", str(tmp_path))


def test_the_folder_format_wants_a_folder(tmp_path, kept: Kept):
    (tmp_path / "x").write_text("x")
    with kept.raises(SourceError):
        list(read_documents(tmp_path / "x", format="folder"))


@pytest.mark.parametrize(
    ("page", "title", "text"),
    [
        ("<html><head><title>T</title></head><body><p>a\n b</p></body></html>", "T", "a b"),
        ("<h1>The <b>Head</b></h1><h2>Sub</h2>x", "The Head", "The Head\n\nSub\n\nx"),
        ("<style>p {}</style>a<script>if (a<b && c>d) '</p>'</script>b", "", "ab"),
        ("a<br>b<br/>c<li disabled>d<td nowrap>e", "", "a\nb\nc\nd\ne"),
        ("<h2>\n x </h2>\n<pre>\n  kept\n  lines</pre>", "x", "x\n\n  kept\n  lines"),
        ("<a title=\"a > b\" href='x'>link</a> <a href=foo's>more</a>", "", "link more"),
        ("1 < 2 &lt; 3 &nbsp; &copy; AT&T &#x41;", "", "1 < 2 < 3   © AT&T A"),
        ("a<!-- gone --><![CDATA[<kept>]]><?php gone ?>b", "", "a<kept>b"),
        ("open <script> never closed", "", "open"),
        ("<title>A</title><title>B</title>x", "AB", "x"),
    ],
)
def test_a_page_gives_its_title_and_its_text(page, title, text):
    assert html_to_text(page) == (title, text)


def test_a_text_file_alone_is_the_document_it_is_in_its_folder(tmp_path):
    (tmp_path / "a note.txt").write_text("First line\n\nsecond\n")
    (tmp_path / "page.html.gz").write_bytes(gzip.compress(b"<title>Page</title><p>one"))
    in_folder = list(read_documents(tmp_path))
    alone = [record for path in sorted(tmp_path.iterdir()) for record in read_documents(path)]
    assert (
        alone
        == in_folder
        == [Document("a%20note.txt", "First line\n\nsecond", "First line"), Document("page.html.gz", "one", "Page")]
    )


def test_a_text_file_that_is_something_else_is_not_one_document(tmp_path, kept: Kept):
    path = tmp_path / "list.txt"
    path.write_text("<top>\n<num> Number: 1\n<title> wings\n</top>\n")
    with kept.raises(InputError):
        format_of(path, "documents")
    path.write_text("Once upon a time.\n")
    with kept.raises(InputError):
        format_of(path, "topics")
    path.write_text("1\tfirst\n2\tsecond\n")
    assert format_of(path, "documents") == "tsv"


def test_the_one_file_of_a_folder_in_another_encoding_can_be_had_by_itself(tmp_path, kept: Kept):
    (tmp_path / "velo.txt").write_bytes("vélo".encode("latin-1"))
    (tmp_path / "fine.txt").write_text("naïve", encoding="utf-8")
    problems = [record for record in read_documents(tmp_path) if isinstance(record, Problem)]
    kept([problem.remedy for problem in problems])
    assert list(read_documents(Source(tmp_path / "velo.txt", "latin-1"))) == [Document("velo.txt", "vélo", "vélo")]
