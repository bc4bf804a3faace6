"""The SMART format."""

from cranfield.base.records import Document, Topic


def test_fields_become_title_text_and_metadata_and_citations_are_skipped(documents_in):
    content = """.I 1
.T
A Report on Pans
and Kettles
.W
  The text,
on lines.
.B
Kitchen Letters, 1999
.A
Cook, A. B.
Baker,C.
.N
KL990401
.K
soot, soda
.C
3.70
.X
100\t5\t1
.I 002
.T
Title only
"""
    assert documents_in(content) == [
        Document(
            "1",
            "  The text,\non lines.",
            "A Report on Pans and Kettles",
            {
                "bibliography": "Kitchen Letters, 1999",
                "author": "Cook, A. B.\nBaker,C.",
                "note": "KL990401",
                "keywords": "soot, soda",
                "categories": "3.70",
            },
        ),
        Document("002", "", "Title only"),
    ]


def test_crlf_blanks_at_line_ends_and_a_missing_last_line_end(documents_in):
    assert documents_in(".I 1\r\n.W\r\nwashing soda .     \r\n  and so .") == [
        Document("1", "washing soda .\n  and so .")
    ]


def test_a_repeated_author_is_continued(documents_in):
    assert documents_in(".I 1\n.A\nOne\n.A\nTwo\n.W\nx\n") == [Document("1", "x", "", {"author": "One\nTwo"})]


def test_a_field_mark_again_within_the_text_is_told_and_the_text_goes_on(documents_in, brief):
    assert brief(documents_in(".I 1\n.A\nOne\n.W\nx\n.A\ny\n.W\nz\n.B\nbib\n")) == [
        ("stray-field", "warning", (6,)),
        ("stray-field", "warning", (8,)),
        Document("1", "x\ny\nz", "", {"author": "One", "bibliography": "bib"}),
    ]


def test_a_line_that_only_begins_like_a_mark_is_text(documents_in):
    assert documents_in(".I 1\n.W\n.WHAT\n.W x\n.1\n.\n") == [Document("1", ".WHAT\n.W x\n.1\n.")]


def test_bad_records_are_problems_and_reading_goes_on(documents_in, brief):
    content = b".I 1\n.W\na\n.I\n.W\nb\n.I 3\nloose\nloose\n.I 4\n.W\ncaf\xe9\n.I 5\n.W\ne\x00\n.I \xe9\n.W\nf\n"
    assert brief(documents_in(content)) == [
        Document("1", "a"),
        ("no-id", "error", (4,)),
        ("outside", "error", (8,)),
        ("not-utf-8", "error", (12,)),
        ("nul", "warning", (15,)),
        Document("5", "e\ufffd"),
        ("not-utf-8", "error", (16,)),
    ]


def test_text_before_the_first_record_is_a_problem(documents_in, brief):
    assert brief(documents_in("a word\n.I 1\n.W\nx\n", format="smart")) == [
        ("outside", "error", (1,)),
        Document("1", "x"),
    ]


def test_a_topic_is_its_text_or_has_a_title_and_a_description(topics_in):
    content = ".I 001\n.W\nwhich soda cleans\na pan .\n.N\n 1. Smith\n.I 002\n.T\nsoda\n.W\nwhich soda\n"
    assert topics_in(content) == [
        Topic("001", "which soda cleans a pan .", metadata={"note": " 1. Smith"}),
        Topic("002", "soda", "which soda"),
    ]


def test_a_record_beyond_the_limit_is_refused_and_the_next_is_read(documents_in, brief, monkeypatch):
    monkeypatch.setattr("cranfield.corpus.formats.smart.LONGEST_LINE", 1000)
    content = ".I 1\n.W\n" + "x y z\n" * 1000 + ".I 2\n.W\ny\n"
    assert brief(documents_in(content)) == [("too-long", "error", (1,)), Document("2", "y")]
