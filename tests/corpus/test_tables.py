"""Tab and comma separated files."""

import pytest
from kept import Kept

from cranfield.base.errors import UnknownName, UsageError
from cranfield.base.records import Document, Topic


def test_tab_separated_columns_mean_what_they_mean_in_ms_marco(documents_in):
    assert documents_in('1\tsaid "so\n2\tb\n') == [Document("1", 'said "so'), Document("2", "b")]
    assert documents_in("1\tt\tx\n") == [Document("1", "x", "t")]
    assert documents_in("D1\thttp://u\tt\tx\n") == [Document("D1", "x", "t", {"url": "http://u"})]


def test_a_header_names_the_columns_in_any_order(documents_in):
    assert documents_in("year\tText\tDocid\n1999\tx\t1\n") == [Document("1", "x", "", {"year": "1999"})]


def test_comma_separated_cells_may_be_quoted_and_hold_line_ends(documents_in):
    content = 'id,title,text\r\n1,"a ""title"", quoted","line one\r\nline two"\r\n2,,x\r\n'
    assert documents_in(content) == [Document("1", "line one\nline two", 'a "title", quoted'), Document("2", "x")]


def test_a_comma_separated_file_without_header_is_known_by_its_name(documents_in):
    assert documents_in("1,some text\n2,other\n", "x.csv") == [Document("1", "some text"), Document("2", "other")]


def test_cells_may_be_larger_than_the_csv_module_likes(documents_in):
    text = "word " * 100_000
    assert documents_in(f'id,text\n1,"{text}"\n') == [Document("1", text)]


def test_rows_with_other_columns_are_problems_and_reading_goes_on(documents_in, brief):
    assert brief(documents_in(b"1\ta\n2\n3\tb\tc\n\n5\tcaf\xe9\n6\tx\x00\n\t7\n8\tz", format="tsv")) == [
        Document("1", "a"),
        ("columns", "error", (2,)),
        ("columns", "error", (3,)),
        ("not-utf-8", "error", (5,)),
        ("nul", "warning", (6,)),
        Document("6", "x\ufffd"),
        ("no-id", "error", (7,)),
        Document("8", "z"),
    ]


def test_rows_that_are_no_csv_are_problems_at_their_first_line(documents_in, brief):
    content = 'id,text\n1,"two\nlines"\n2,"bad"x\n3,fine\n4,"never\nclosed\n'
    assert brief(documents_in(content)) == [
        Document("1", "two\nlines"),
        ("bad-csv", "error", (4,)),
        Document("3", "fine"),
        ("bad-csv", "error", (6,)),
    ]


def test_too_many_columns_without_names_say_how_to_name_them(documents_in, kept: Kept):
    (problem,) = documents_in("1\t2\t3\t4\t5\n", format="tsv")
    kept(problem.message)
    kept(problem.remedy)


@pytest.mark.parametrize(
    ("content", "topics"),
    [
        ("1\twhat is\n2\tb\n", [Topic("1", "what is"), Topic("2", "b")]),
        ("qid\tquery\n1\ta\n", [Topic("1", "a")]),
        ("id,title,description,narrative,kind\n1,t,d,n,k\n", [Topic("1", "t", "d", "n", {"kind": "k"})]),
    ],
)
def test_topics_come_as_tables_too(topics_in, content, topics):
    assert topics_in(content) == topics


@pytest.mark.parametrize(
    "content",
    [
        *("title\tdescription\nwings\tthose of birds\n", "name,body\na,some text\n", "docid,url\n1,x\n"),
        *("sku,name,blurb\nA1,Lamp,a lamp\nA2,Tent,a tent\n", "Nr,Frage\n1,lamp\n2,tent\n", "#,words\n1,lamp\n"),
        "label\twords\nlamp\tlight for a desk\ntent\tto sleep in\n",
        "sku,product,blurb,price (€),category\nA1,Lamp,a lamp,12,home\n",
    ],
)
def test_a_header_without_an_id_or_a_text_is_refused_with_the_columns_it_has(
    content, documents_in, topics_in, kept: Kept
):
    name = "x.csv" if "," in content else "x.tsv"
    for read in (documents_in, topics_in):
        (problem,) = read(content, name)
        assert (problem.code, problem.severity, problem.lines) == ("no-column", "error", (1,))
        kept(problem.message)
        kept(problem.remedy)


@pytest.mark.parametrize(
    "first", ["1\ttext", "q1\twhat is a title", "D-7\tBody of water, of the kind that birds like"]
)
def test_a_first_row_that_is_no_header_is_a_record(first, documents_in):
    id, text = first.split("\t")
    assert documents_in(f"{first}\n2\tmore\n") == [Document(id, text), Document("2", "more")]


@pytest.mark.parametrize(
    "content",
    ["lamp,light\ntent,shelter\n", "lamp,light\n", "a,light\nb2,tent\nc,to sit\n", "a1,light\nb2,to sit\nc,x\n"],
)
def test_a_first_row_of_names_like_the_rows_below_is_a_record(content, documents_in):
    rows = [line.split(",") for line in content.splitlines()]
    assert documents_in(content, "x.csv") == [Document(*row) for row in rows]


@pytest.mark.parametrize("columns", [{"id": "sku", "text": "blurp"}, {"id": "sko"}])
def test_with_named_columns_the_first_row_is_a_header(columns, documents_in, kept: Kept):
    (problem,) = documents_in("sku,name,blurb\nA,Lamp,x\nB,Tent,y\n", "x.csv", columns=columns)
    kept(problem.message)
    kept(problem.remedy)


def test_columns_can_be_named(documents_in, topics_in):
    named = {"id": "Short Name", "text": "remarks"}
    assert documents_in("short-name,remarks,title\na,some text,T\n", "x.csv", columns=named) == [
        Document("a", "some text", "T")
    ]
    assert documents_in('{"short_name": "a", "remarks": "some text"}\n', columns=named) == [
        Document("a", "some text")
    ]
    assert topics_in("nr\ttitle\n7\twings\n", "x.tsv", columns={"id": "nr"}) == [Topic("7", "wings")]


@pytest.mark.parametrize("content", ["id,head,body\na,H,text\n", '{"id": "a", "head": "H", "body": "text"}\n'])
def test_a_named_column_that_is_not_there_is_told_with_those_that_are(content, documents_in, kept: Kept):
    *_, problem = documents_in(content, "x.csv" if "," in content[:3] else "x.jsonl", columns={"title": "hed"})
    assert problem.severity == "error"
    kept(problem.message)


def test_semicolons_serve_as_commas(documents_in, topics_in):
    assert documents_in('id;title;text\na;"T;";one, two\n', "x.csv") == [Document("a", "one, two", "T;")]
    assert topics_in("7;wings\n", "x.csv") == [Topic("7", "wings")]


def test_only_known_parts_of_formats_that_name_them_can_be_named(documents_in, kept: Kept):
    with kept.raises(UnknownName):
        documents_in("a,b\n1,2\n", "x.csv", columns={"name": "a"})
    with kept.raises(UsageError):
        documents_in(".I 1\n.W\ntext\n", columns={"id": "a"})
