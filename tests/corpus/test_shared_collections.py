"""The public collections beside a development checkout: counts, and three records each."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from cranfield.base.errors import Problem
from cranfield.base.records import Document, Topic
from cranfield.corpus.near_duplicates import Cluster, find_clusters
from cranfield.corpus.reading import format_of, read_documents, read_topics

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.shared


def documents_of(name: str) -> tuple[list[Document], list[Problem]]:
    found = list(read_documents(SHARED / name))
    return [record for record in found if isinstance(record, Document)], [
        record for record in found if isinstance(record, Problem)
    ]


def topics_of(name: str, **options: str) -> list[Topic | Problem]:
    return list(read_topics(SHARED / name, **options))


def shown(record: Document | Topic) -> tuple[str, str]:
    """The id and a fingerprint of everything else."""
    if isinstance(record, Topic):
        content: list[object] = [record.title, record.description, record.narrative, dict(record.metadata)]
    else:
        content = [record.title, record.text, dict(record.metadata)]
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return record.id, sha256(canonical.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "format", "count", "problems", "records"),
    [
        (
            "cranfield/docs/cran.all.1400.xml",
            "trec",
            1400,
            [("empty-document", 12544), ("empty-document", 25763)],
            [("1", "819d1a10f8c8a313"), ("701", "406fc7ef06f1940d"), ("1400", "411e46ae3ad871bf")],
        ),
        (
            "cranfield/original-glasgow/cran.all.1400",
            "smart",
            1400,
            [
                ("stray-field", 7322),
                ("stray-field", 7324),
                ("empty-document", 13470),
                ("stray-field", 16283),
                ("stray-field", 16320),
                ("empty-document", 27712),
            ],
            [("1", "a0119545900c75cd"), ("701", "fd7e3366ed3f64ce"), ("1400", "1f1e1aef96f23284")],
        ),
        (
            "cacm/docs/cacm.all",
            "smart",
            3204,
            [],
            [("1", "5334bfb2414f55ff"), ("1603", "2d2408fd6baf2381"), ("3204", "f0e7dd9d6fe82407")],
        ),
        (
            "med/docs/MED.ALL",
            "smart",
            1033,
            [],
            [("1", "7796eba8818cafb1"), ("517", "9673378459c27d5e"), ("1033", "932b721d4c8ca641")],
        ),
        (
            "vaswani-npl/docs/doc-text.trec",
            "trec",
            11429,
            [],
            [("1", "deb5563f7712f79c"), ("5715", "52d22f0d0d468026"), ("11429", "4b9f3cd12e1da98d")],
        ),
    ],
)
def test_documents_by_count_and_three_records(name, format, count, problems, records):
    documents, found = documents_of(name)
    assert format_of(SHARED / name, "documents") == format
    assert len(documents) == len({document.id for document in documents}) == count
    assert [(problem.code, *problem.lines) for problem in found] == problems
    assert [shown(documents[place]) for place in (0, count // 2, -1)] == records


def test_both_forms_of_cranfield_are_the_same_but_for_three_documents_with_stray_marks():
    trec, smart = (
        documents_of("cranfield/docs/cran.all.1400.xml")[0],
        documents_of("cranfield/original-glasgow/cran.all.1400")[0],
    )
    assert [document.id for document in trec] == [document.id for document in smart]
    assert [document.title for document in trec] == [document.title for document in smart]
    assert [list(document.metadata.values()) for document in trec] == [
        list(document.metadata.values()) for document in smart
    ]
    differing = [one.id for one, other in zip(trec, smart, strict=True) if one.text != other.text]
    assert differing == ["240", "576", "578"]


def test_a_cacm_record_keeps_all_but_its_citations():
    first = documents_of("cacm/docs/cacm.all")[0][0]
    assert (len(first.title), first.text) == (51, "")
    assert {name: len(value) for name, value in first.metadata.items()} == {
        "bibliography": 19,
        "author": 25,
        "note": 35,
    }


@pytest.mark.parametrize(
    ("name", "format", "count", "records"),
    [
        (
            "cranfield/topics/cran.qry.xml",
            "trec",
            225,
            [("1", "5790e39904134475"), ("165", "2b375afb35df2a7c"), ("365", "c7aad6b4e603293a")],
        ),
        (
            "cranfield/original-glasgow/cran.qry",
            "smart",
            225,
            [("001", "5790e39904134475"), ("165", "2b375afb35df2a7c"), ("365", "c7aad6b4e603293a")],
        ),
        (
            "cacm/topics/topics.cacm.txt",
            "trec",
            64,
            [("1", "bcd72977845f88c4"), ("33", "e5ceff609c95f410"), ("64", "4062bd64368ec84c")],
        ),
        (
            "med/topics/MED.QRY",
            "smart",
            30,
            [("1", "dccbbb07db352b35"), ("16", "7e588c1594e3e543"), ("30", "f14fab461f99605b")],
        ),
        (
            "vaswani-npl/topics/query-text.trec",
            "trec",
            93,
            [("1", "db279ae3a0e29687"), ("47", "50dc6bf38d3b1e2b"), ("93", "b7ff8702189c9854")],
        ),
        (
            "trec-2-adhoc/topics/topics.adhoc.101-150.txt",
            "trec",
            50,
            [("101", "1216e88ff3d6b12d"), ("126", "6b213b9db9405254"), ("150", "39d687726593f3a7")],
        ),
    ],
)
def test_topics_by_count_and_three_records(name, format, count, records):
    topics = topics_of(name)
    assert format_of(SHARED / name, "topics") == format
    assert len({topic.id for topic in topics}) == len(topics) == count
    assert [shown(topics[place]) for place in (0, count // 2, -1)] == records


def test_old_trec_topics_have_descriptions_narratives_and_concepts():
    topics = topics_of("trec-2-adhoc/topics/topics.adhoc.101-150.txt")
    assert all(topic.description and topic.narrative and topic.metadata["concepts"] for topic in topics)
    assert [topic.id for topic in topics if "time" in topic.metadata] == ["105", "117", "121", "128"]


@pytest.mark.parametrize("name", ["cranfield/topics/cran.qry.xml", "cranfield/original-glasgow/cran.qry"])
def test_cranfield_topics_by_position_are_those_of_the_qrels(name):
    qrels = (SHARED / "cranfield/qrels/cranqrel.trec.txt").read_text().split("\n")
    judged = {line.split()[0] for line in qrels if line.strip()}
    topics = topics_of(name, ids="position")
    assert {topic.id for topic in topics} == judged
    assert topics[2].metadata["given_id"].lstrip("0") == "4"


def test_near_duplicates_in_med_and_vaswani():
    def clusters(name: str) -> list[Cluster]:
        return find_clusters((document.id, document.text) for document in documents_of(name)[0])

    (only,) = clusters("med/docs/MED.ALL")
    assert only == Cluster("near", "165", (("165", 1.0), ("183", pytest.approx(25 / 29))))
    found = clusters("vaswani-npl/docs/doc-text.trec")
    assert (len(found), sum(cluster.kind == "exact" for cluster in found)) == (16, 14)
