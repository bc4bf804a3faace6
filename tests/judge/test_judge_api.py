"""Judging from Python: the words of the subcommands, as methods that give results."""

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.base.errors import CollectionError, CranfieldError
from cranfield.base.text import plain_text
from cranfield.store.store import Store
from cranfield.workflows.judge.judge import Judge


def test_an_assessor_judges_and_the_organiser_sees_it(judging: Store):
    judge = Judge(judging)
    made = judge.assign(["ana", "ben"], topics=["t3"], overlap=1.0).made
    assert [(one.assessor, one.role) for one in made] == [("ana", "primary"), ("ben", "second")]
    session = judge.session("ana", topics=["t3"])
    item = session.next_item()
    assert item is not None
    session.judge(item, 2, seconds=1.0)
    rows = {
        row["topic"]: (row["primary"], row["judged"], row["missing"]) for row in judge.progress().table().records()
    }
    assert rows["t3"] == ("ana", 1, 5)
    by_assessor = judge.progress(by="assessor")
    assert by_assessor.frame()["judged"].tolist() == [1, 0]
    last = by_assessor.frame()["last"][0]
    assert f"{last[:10]} {last[11:16]} " in (plain_text(by_assessor.table()) or "")  # to people to the minute
    assert [note.partition(":")[0] for note in judge.closing_notes(session)] == ["ana"]


def test_packets_go_out_and_come_back(judging: Store, tmp_path: Path):
    made = Judge(judging).packet("eve", tmp_path / "packet.db", topics=["t3"])
    assert made.table().records() == [
        {"fact": "documents", "value": 3},
        {"fact": "topics", "value": 1},
        {"fact": "layer", "value": "main"},
    ]
    assert made.notes[2] == f"merge it with: cranfield judge merge {tmp_path / 'packet.db'}"
    assert Judge(judging).merge(tmp_path / "packet.db").table().rows == ()


@pytest.mark.parametrize("name", ["overlap", "probes"])
@pytest.mark.parametrize("value", ['{"share": 0.5}', '{"share": 7, "by": 2, "after": 1, "seed": 0}', "[1]", "3"])
def test_a_plan_that_makes_no_sense_is_refused_by_name(judging: Store, name: str, value: str):
    with judging.write() as connection:
        connection.execute("INSERT INTO settings VALUES (?, ?)", [name, value])
    with pytest.raises(CollectionError, match=name):
        Judge(judging).assign()
    with pytest.raises(CranfieldError, match=name):
        Judge(judging).session("ana")


def test_a_collection_offers_it(collection: Path):
    with cf.open_collection(collection) as opened:
        assert opened.results.judge.packet_assessor == ""
