"""TREC topics in their many forms, and topics numbered by position."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from writing import TOPIC_WRITERS

from cranfield.base.records import Topic
from cranfield.corpus.markup import tidied
from cranfield.corpus.reading import read_topics, topic_formats

OLD = """<top>

<head> Topics for a Test

<num> Number: 051
<dom> Domain: Household
<title> Topic:  Burnt Pans

<desc> Description:
A document tells
how to clean them.

<smry> Summary:
Short.

<narr> Narrative:
A relevant document is so.

And so.

<con> Concept(s):
1. soda
2. vinegar

<fac> Factor(s):

<nat> Nationality: any

</nat>
<time> Time: current
<time> Time: past
</fac>
<def> Definition(s):

</top>
"""


def test_old_topics_have_labels_and_no_end_tags(topics_in):
    assert topics_in(OLD) == [
        Topic(
            "051",
            "Burnt Pans",
            "A document tells\nhow to clean them.",
            "A relevant document is so.\n\nAnd so.",
            {
                "domain": "Household",
                "summary": "Short.",
                "concepts": "1. soda\n2. vinegar",
                "nationality": "any",
                "time": "current\npast",
            },
        )
    ]


def test_topics_with_end_tags_and_crlf(topics_in):
    content = "<?xml version='1.0'?>\n<xml>\n<top>\n<num> 4</num> \n<title>\nwhat\nis .\n</title>\n</top></xml>"
    content = content.replace("\n", "\r\n")
    assert topics_in(content) == [Topic("4", "what is .")]


def test_a_label_in_the_middle_of_a_field_stays(topics_in):
    content = "<top><num>Number: 1<title>The Topic: a title<desc>Description: a Description: b</top>"
    assert topics_in(content) == [Topic("1", "The Topic: a title", "a Description: b")]


def test_xml_topics_have_attributes_and_numbered_subtopics(topics_in):
    content = """<track>
<topic number="1" type="faceted">
<query> kettle scale </query>
<description> Find out <b>why</b> it forms. </description>
<subtopic number="1" type="nav"> Hard water. </subtopic>
<subtopic number="2" type="inf"> How to remove it. </subtopic>
</topic></track>"""
    assert topics_in(content) == [
        Topic(
            "1",
            "kettle scale",
            "Find out why it forms.",
            "",
            {"type": "faceted", "subtopic": "1: Hard water.\n2: How to remove it."},
        )
    ]


def test_a_question_beside_a_query_is_the_description(topics_in):
    fields = "<query>q</query><question>what?</question><narrative>n</narrative>"
    content = f"<topics><topic number='7'>{fields}</topic></topics>"
    assert topics_in(content) == [Topic("7", "q", "what?", "n")]


def test_a_topic_without_title_is_asked_by_its_description_or_by_all_it_has(topics_in):
    content = (
        '<topics><topic number="1"><description>A pan of\ncopper.</description></topic>'
        '<topic number="2"><metal>Copper</metal><stain>Soot</stain></topic></topics>'
    )
    assert topics_in(content) == [
        Topic("1", "A pan of copper.", "A pan of\ncopper."),
        Topic("2", "Copper; Soot", "", "", {"metal": "Copper", "stain": "Soot"}),
    ]


def test_topics_in_document_tags_are_their_text(topics_in):
    content = "<DOC>\n<DOCNO> 2 </DOCNO>\n\n Recipes with\nlentils\n\nSmith, B.\n</DOC>\n"
    assert topics_in(content) == [Topic("2", "Recipes with lentils Smith, B.")]


def test_only_the_first_kind_of_record_tag_starts_topics(topics_in):
    assert topics_in("<top><num>1</num><topic>inner</topic><title>t</title></top>") == [
        Topic("1", "t", "", "", {"topic": "inner"})
    ]


def test_bad_topics_are_problems_and_reading_goes_on(topics_in, brief):
    content = "<top><num>1<title>a</top>\n<top><title>b</top>\n<top><num>3</top>\n<top><num>4<title>d</top>"
    assert brief(topics_in(content)) == [
        Topic("1", "a"),
        ("no-id", "error", (2,)),
        ("empty-topic", "error", (3,)),
        Topic("4", "d"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.qry", ".I 001\n.W\na\n.I 004\n.W\nb\n"),
        ("t.trec", "<top><num>001<title>a</top><top><num>004<title>b</top>"),
        ("t.jsonl", '{"id": "001", "title": "a"}\n{"id": "004", "title": "b"}\n'),
        ("t.tsv", "001\ta\n004\tb\n"),
    ],
)
def test_topics_can_be_called_by_their_position_in_every_format(topics_in, name, content):
    assert topics_in(content, name, ids="position") == [
        Topic("1", "a", metadata={"given_id": "001"}),
        Topic("2", "b", metadata={"given_id": "004"}),
    ]
    assert topics_in(content, name) == [Topic("001", "a"), Topic("004", "b")]


def test_behind_a_bad_record_no_topic_has_a_position(topics_in, brief):
    content = '{"id": "1", "title": "a"}\n{"id": "2"\n{"id": "3", "title": "c"}\n'
    found = topics_in(content, "t.jsonl", ids="position")
    assert brief(found) == [
        Topic("1", "a", metadata={"given_id": "1"}),
        ("bad-json", "error", (2,)),
        ("no-position", "error", ()),
    ]


words = st.text(st.sampled_from("abc019-_.é"), min_size=1, max_size=8)
texts = st.text(st.sampled_from("ab<>&;#/!-é\n :"), max_size=40).map(tidied).map(str.strip)
titles = st.one_of(texts, st.just("Topic: x")).map(lambda text: " ".join(text.split())).filter(bool)
notes = st.one_of(texts, st.just("Narrative: x"), st.just("Description: x"))
metadata = st.dictionaries(words, texts.filter(bool), max_size=3)
topics = st.lists(st.builds(Topic, words, titles, notes, notes, metadata), min_size=1)


@pytest.mark.parametrize("name", ["trec", "jsonl"])
@given(topics=topics)
def test_writing_and_reading_gives_the_same_topics(tmp_path_factory, name, topics):
    path = tmp_path_factory.mktemp("topics") / "made"
    stream = io.StringIO()
    TOPIC_WRITERS[name](topics, stream)
    path.write_text(stream.getvalue(), encoding="utf-8")
    assert list(read_topics(path, format=name)) == topics


def test_every_format_writes_topics_that_it_reads(tmp_path):
    written = [Topic("1", "a title"), Topic("02", 'with "quotes", commas'), Topic("x", ".W as text")]
    assert set(TOPIC_WRITERS) == set(topic_formats.names())
    for name, write in TOPIC_WRITERS.items():
        path = tmp_path / name
        with path.open("w", encoding="utf-8") as stream:
            write(written, stream)
        assert list(read_topics(path, format=name)) == written, name
