"""TREC SGML documents."""

import io

from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from writing import documents_as_trec

from cranfield.base.records import Document
from cranfield.corpus.markup import tidied
from cranfield.corpus.reading import read_documents


def test_a_document_has_number_title_text_and_the_rest_as_metadata(documents_in):
    assert documents_in("""
<DOC>
<DOCNO> HERALD-7 </DOCNO>
<PROFILE>_K-12</PROFILE>
<DATE>990401</DATE>
<HEADLINE>
The Herald  1 April
Kitchen News
</HEADLINE>
<TEXT>
First line,
second line.
</TEXT>
<PUB>The Herald</PUB>
</DOC>
""") == [
        Document(
            "HERALD-7",
            "First line,\nsecond line.",
            "The Herald 1 April Kitchen News",
            {"profile": "_K-12", "date": "990401", "pub": "The Herald"},
        )
    ]


def test_tags_may_be_small_have_attributes_and_stand_on_one_line(documents_in):
    one_line = '<doc lang="en"><docno>1</docno><ttl>T</ttl><text type=a>x</text></doc><doc><docno>2</docno>y</doc>'
    assert documents_in(one_line) == [Document("1", "x", "T", {"lang": "en"}), Document("2", "y")]


def test_text_may_lie_loose_in_the_document(documents_in):
    assert documents_in("<DOC>\n<DOCNO>1</DOCNO>\ncopper pans\nconduct heat\n</DOC>\n") == [
        Document("1", "copper pans\nconduct heat")
    ]


def test_several_texts_and_lead_paragraphs_are_joined_in_order(documents_in):
    content = "<DOC><DOCNO>1</DOCNO><LP>lead</LP><TEXT>one</TEXT><SO>s</SO><TEXT>two</TEXT></DOC>"
    assert documents_in(content) == [Document("1", "lead\n\none\n\ntwo", "", {"so": "s"})]


def test_markup_within_the_text_goes_and_paragraphs_stay(documents_in):
    content = (
        "<DOC><DOCNO>1</DOCNO><TEXT><P>a <F P=105>b</F></P><P>c<BR>d<!-- gone <b> --></P> x<I>y</I></TEXT></DOC>"
    )
    assert documents_in(content) == [Document("1", "a  b\n\nc\nd\n\n xy")]


def test_entities_are_resolved_and_bare_signs_stay(documents_in):
    content = (
        "<DOC><DOCNO>1</DOCNO><TEXT>AT&amp;T &lt;b&gt; &#233;&eacute;&hyph; R&D a<b and c>d 10^8 < 2^27</TEXT></DOC>"
    )
    assert documents_in(content) == [Document("1", "AT&T <b> éé- R&D a<b and c>d 10^8 < 2^27")]


def test_cdata_is_text(documents_in):
    assert documents_in("<DOC><DOCNO>1</DOCNO><TEXT><![CDATA[a <b> & c]]></TEXT></DOC>") == [
        Document("1", "a <b> & c")
    ]


def test_a_page_of_html_in_a_document_gives_its_title_and_text(documents_in):
    content = (
        "<DOC><DOCNO>W-1</DOCNO><DOCHDR>\nhttp://a.example/\nHTTP/1.1 200 OK\n</DOCHDR>\n<html><head>"
        "<title>A page</title><script>if (a<b) x</script></head><body><h1>Head</h1><dd>text</dd></body></html></DOC>"
    )
    assert documents_in(content) == [
        Document("W-1", "Head\n\n text", "A page", {"dochdr": "http://a.example/\nHTTP/1.1 200 OK"})
    ]


def test_a_number_may_be_an_attribute(documents_in):
    assert documents_in('<doc id="12" url="http://w" title="Kettle">\nKettles are\n</doc>') == [
        Document("12", "Kettles are", "Kettle", {"url": "http://w"})
    ]


def test_docid_is_metadata_beside_docno_and_the_number_without_it(documents_in):
    content = "<DOC><DOCNO>H-1</DOCNO><DOCID>7</DOCID>x</DOC><DOC><DOCID>8</DOCID>y</DOC>"
    assert documents_in(content) == [Document("H-1", "x", "", {"docid": "7"}), Document("8", "y")]


def test_an_empty_document_comes_with_a_warning(documents_in, brief, kept: Kept):
    content = "<DOC><DOCNO>471</DOCNO><TITLE></TITLE></DOC>\n<DOC><DOCNO>472</DOCNO><TITLE>t</TITLE></DOC>"
    found = documents_in(content)
    assert brief(found) == [("empty-document", "warning", (1,)), Document("471", ""), Document("472", "", "t")]
    kept(found[0].message)


def test_bad_records_are_problems_in_their_place_and_reading_goes_on(documents_in, brief, kept: Kept):
    content = (
        b"<DOC><DOCNO>1</DOCNO>a</DOC>\n"
        b"<DOC>no number</DOC>\n"
        b"<DOC><DOCNO>a b</DOCNO>x</DOC>\n"
        b"<DOC><DOCNO>4</DOCNO>\ncaf\xe9</DOC>\n"
        b"<DOC><DOCNO>5</DOCNO>nul\x00here</DOC>\n"
        b"</DOC>\n"
        b"lost\n"
        b"<DOC><DOCNO>6</DOCNO>open\n"
        b"<DOC><DOCNO>7</DOCNO>cut off"
    )
    found = documents_in(content)
    assert brief(found) == [
        Document("1", "a"),
        ("no-id", "error", (2,)),
        ("bad-id", "error", (3,)),
        ("not-utf-8", "error", (5,)),
        ("nul", "warning", (6,)),
        Document("5", "nul\ufffdhere"),
        ("no-start", "error", (7,)),
        ("outside", "warning", (8,)),
        ("unclosed", "warning", (9,)),
        Document("6", "open"),
        ("unclosed", "error", (10,)),
    ]
    assert {record.file for record in found if hasattr(record, "file")} == {found[1].file}
    kept(found[3].remedy)


def test_a_declaration_and_a_root_around_the_documents_are_no_text(documents_in):
    content = '<?xml version="1.0"?>\n<!DOCTYPE docs>\n<xml>\n<doc><docno>1</docno>a</doc>\n</xml>\n'
    assert documents_in(content) == [Document("1", "a")]


def test_entities_of_a_dtd_are_never_expanded(documents_in):
    content = (
        '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]>\n'
        "<DOC><DOCNO>1</DOCNO>&b; &x;</DOC>"
    )
    assert documents_in(content)[-1] == Document("1", "&b; &x;")


def test_crlf_and_a_byte_order_mark_change_nothing(documents_in):
    content = "<DOC>\r\n<DOCNO>1</DOCNO>\r\n<TEXT>\r\na\r\nb\r\n</TEXT>\r\n</DOC>\r\n"
    assert documents_in("\ufeff" + content) == [Document("1", "a\nb")]


def test_records_longer_than_the_blocks_that_are_read_stay_whole(documents_in):
    size = 700_000
    content = "".join(f"<DOC><DOCNO>{n}</DOCNO>{str(n) * size}</DOC>\n" for n in range(5))
    assert documents_in(content) == [Document(str(n), str(n) * size) for n in range(5)]


def test_where_the_blocks_that_are_read_end_changes_nothing(documents_in, monkeypatch):
    content = "".join(f"<DOC>\n<DOCNO>{n}</DOCNO>\n{'x' * 500}\n</DOC>\n" for n in range(50)) + "<DOC>cut"
    whole = documents_in(content)
    monkeypatch.setattr("cranfield.corpus.markup._BLOCK", 7)
    assert documents_in(content) == whole
    assert len(whole) == 51


def test_a_tag_that_is_never_closed_is_no_field(documents_in):
    content = "<DOC><DOCNO>1</DOCNO>a <NOTE>b</OTHER> c</DOC>"
    assert documents_in(content) == [Document("1", "a  b  c")]


def test_a_record_beyond_the_limit_is_refused_and_the_next_is_read(documents_in, brief, monkeypatch):
    monkeypatch.setattr("cranfield.corpus.markup.LARGEST_RECORD", 1000)
    content = f"<DOC><DOCNO>1</DOCNO>{'x' * 5000}</DOC>\n<DOC><DOCNO>2</DOCNO>y</DOC>"
    assert brief(documents_in(content)) == [("too-long", "error", (1,)), Document("2", "y")]


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)
texts = st.text(st.sampled_from("ab<>&;#/!-[]é\n \"'="), max_size=40).map(tidied)
lines = texts.map(lambda text: " ".join(text.split()))
metadata = st.dictionaries(words, texts.filter(bool), max_size=3)


@given(
    st.lists(st.builds(Document, words.filter(lambda word: "\ufeff" not in word), texts, lines, metadata), min_size=1)
)
def test_writing_and_reading_gives_the_same_documents(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("trec") / "made.trec"
    stream = io.StringIO()
    documents_as_trec(documents, stream)
    path.write_text(stream.getvalue(), encoding="utf-8")
    assert [record for record in read_documents(path, format="trec") if isinstance(record, Document)] == documents


def test_text_without_any_record_is_an_error_after_the_warning(documents_in, brief):
    assert brief(documents_in("just words\n", format="trec")) == [
        ("outside", "warning", (1,)),
        ("empty", "error", ()),
    ]


def test_bytes_outside_of_records_must_be_utf_8_too(documents_in, brief):
    record = b"<DOC><DOCNO>1</DOCNO>x</DOC>\n"
    found = documents_in(record + b"\ncaf\xe9\n" + record.replace(b"1", b"2"), format="trec")
    assert brief(found) == [Document("1", "x"), ("not-utf-8", "error", (3,)), Document("2", "x")]


def test_characters_at_the_edge_of_a_block_are_not_taken_for_another_encoding(documents_in):
    for shift in range(4):
        outside = "." * shift + "€" * 800_000
        found = documents_in(outside + "<DOC><DOCNO>1</DOCNO>x</DOC>", format="trec")
        assert {record.code for record in found[:-1]} == {"outside"}
